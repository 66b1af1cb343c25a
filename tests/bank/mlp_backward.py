"""Answers to `mlp_backward`."""

from . import edited

PLAIN = """\
import numpy as np

def mlp_backward(X, Y, W1, b1, W2, b2):
    B = len(X)
    Z1 = X @ W1 + b1
    A1 = np.maximum(Z1, 0)
    Z2 = A1 @ W2 + b2
    E = np.exp(Z2 - Z2.max(axis=1, keepdims=True))
    P = E / E.sum(axis=1, keepdims=True)
    G2 = (P - Y) / B
    dW2 = A1.T @ G2
    db2 = G2.sum(axis=0)
    H = G2 @ W2.T
    G1 = H * (Z1 > 0)
    dW1 = X.T @ G1
    db1 = G1.sum(axis=0)
    return dW1, db1, dW2, db2
"""

RIGHT = {
    "plain": PLAIN,
    "einsum": """\
import numpy as np

def mlp_backward(X, Y, W1, b1, W2, b2):
    Z1 = np.einsum("bi,ij->bj", X, W1) + b1
    A1 = np.where(Z1 > 0, Z1, 0.0)
    Z2 = np.einsum("bj,jk->bk", A1, W2) + b2
    Z2 = Z2 - Z2.max(1)[:, None]
    P = np.exp(Z2) / np.exp(Z2).sum(1)[:, None]
    G2 = (P - Y) / X.shape[0]
    G1 = np.einsum("bk,jk->bj", G2, W2) * np.sign(A1)
    return (np.einsum("bi,bj->ij", X, G1), np.einsum("bj->j", G1),
            np.einsum("bj,bk->jk", A1, G2), np.einsum("bk->k", G2))
""",
    "helpers": """\
import numpy as np

def softmax(Z):
    E = np.exp(Z - np.max(Z, axis=-1, keepdims=True))
    return E / np.sum(E, axis=-1, keepdims=True)

def linear_backward(G, A, W):
    return G @ W.T, A.T @ G, G.sum(axis=0)

def mlp_backward(X, Y, W1, b1, W2, b2):
    mask = (X @ W1 + b1) > 0
    A1 = (X @ W1 + b1) * mask
    G2 = (softmax(A1 @ W2 + b2) - Y) / len(Y)
    dA1, dW2, db2 = linear_backward(G2, A1, W2)
    _, dW1, db1 = linear_backward(dA1 * mask, X, W1)
    return dW1, db1, dW2, db2
""",
    "log-softmax": PLAIN.replace(
        "    P = E / E.sum(axis=1, keepdims=True)\n",
        "    P = np.exp(Z2 - Z2.max(1, keepdims=True) - np.log(E.sum(1, keepdims=True)))\n",
    ),
    "a list": PLAIN.replace("return dW1, db1, dW2, db2", "return [dW1, db1, dW2, db2]"),
    "ones for sums": PLAIN.replace("G2.sum(axis=0)", "np.ones(B) @ G2").replace(
        "G1.sum(axis=0)", "np.ones(B) @ G1"
    ),
    "a mask by item assignment": PLAIN.replace(
        "    G1 = H * (Z1 > 0)\n", "    G1 = H.copy()\n    G1[Z1 <= 0] = 0\n"
    ),
    "the mean at the end": PLAIN.replace("(P - Y) / B", "P - Y").replace(
        "return dW1, db1, dW2, db2", "return dW1 / B, db1 / B, dW2 / B, db2 / B"
    ),
    "softmax's Jacobian, spelled out": PLAIN.replace(
        "    G2 = (P - Y) / B\n",
        "    J = P[:, :, None] * np.eye(P.shape[1]) - P[:, :, None] * P[:, None, :]\n"
        "    S = Y.sum(axis=1, keepdims=True)\n"
        "    G2 = (P * S - Y) / B + 0 * J.sum(axis=2)\n",
    ),
    "a loop over the classes": PLAIN.replace(
        "    db2 = G2.sum(axis=0)\n",
        "    db2 = np.array([G2[:, k].sum() for k in range(G2.shape[1])])\n",
    ),
    "chatty": PLAIN.replace(
        "    B = len(X)\n",
        "    import sys, warnings\n    B = len(X)\n    print('shape', X.shape)\n"
        "    warnings.warn('hello')\n    print('careful', file=sys.stderr)\n    np.log(np.zeros(1))\n",
    ),
}

WRONG = {
    "blank": (
        "def mlp_backward(X, Y, W1, b1, W2, b2):\n    raise NotImplementedError()",
        "still blank",
    ),
    "no mean": ([("(P - Y) / B", "P - Y")], "the mean over the batch was left out"),
    "mean twice": ([("(P - Y) / B", "(P - Y) / B / B")], "the batch mean is taken twice"),
    "mean over all entries": ([("(P - Y) / B", "(P - Y) / P.size")], "divide by B alone"),
    "divided by K": ([("(P - Y) / B", "(P - Y) / P.shape[1]")], "number of classes"),
    "sign": ([("(P - Y)", "(Y - P)")], "P − Y, not Y − P"),
    "factor 2": ([("(P - Y)", "2 * (P - Y)")], "2 times too large"),
    "no softmax": ([("(P - Y)", "(Z2 - Y)")], "the softmax is missing"),
    "no targets": ([("(P - Y)", "P")], "Y was not subtracted"),
    "softmax over examples": (
        [
            ("E.sum(axis=1, keepdims=True)", "E.sum(axis=0, keepdims=True)"),
            ("Z2.max(axis=1, keepdims=True)", "Z2.max(axis=0, keepdims=True)"),
        ],
        "the softmax runs over the examples",
    ),
    "softmax over everything": (
        [
            ("E.sum(axis=1, keepdims=True)", "E.sum()"),
            ("Z2.max(axis=1, keepdims=True)", "Z2.max()"),
        ],
        "normalised over the whole array",
    ),
    "unstable softmax": ([(" - Z2.max(axis=1, keepdims=True)", "")], "exp overflows"),
    "softmax's slope twice": (
        [("G2 = (P - Y) / B", "D = (P - Y) / B; G2 = P * (D - (D * P).sum(1, keepdims=True))")],
        "the softmax's slope is applied twice",
    ),
    "P(1-P)": ([("(P - Y) / B", "(P - Y) * P * (1 - P) / B")], "P (1 − P) is applied on top"),
    "adjoint of P": ([("(P - Y) / B", "-Y / P / B")], "stops at the probabilities"),
    "labels rounded": (
        [("(P - Y) / B", "(P - np.eye(P.shape[1])[Y.argmax(1)]) / B")],
        "soft labels count with all their weights",
    ),
    "no ReLU forward": ([("A1 = np.maximum(Z1, 0)", "A1 = Z1")], "left out the ReLU"),
    "no b1": ([("X @ W1 + b1", "X @ W1")], "left out the bias b1"),
    "no b2": ([("A1 @ W2 + b2", "A1 @ W2")], "left out the bias b2"),
    "mask missing": ([("H * (Z1 > 0)", "H")], "mask is missing"),
    "mask inverted": ([("(Z1 > 0)", "(Z1 <= 0)")], "mask is inverted"),
    "mask at zero": ([("(Z1 > 0)", "(Z1 >= 0)")], "slope there is 0"),
    "mask without bias": ([("(Z1 > 0)", "(X @ W1 > 0)")], "without the bias"),
    "mask from the adjoint": ([("(Z1 > 0)", "(H > 0)")], "comes from the adjoint"),
    "mask from X": ([("(Z1 > 0)", "(X > 0)")], "wrong layer"),
    "mask from the logits": ([("(Z1 > 0)", "(Z2 > 0)")], "wrong layer"),
    "times A1": ([("H * (Z1 > 0)", "H * A1")], "multiplied by A1"),
    "times Z1": ([("H * (Z1 > 0)", "H * Z1")], "multiplied by Z1"),
    "Z1 for A1": ([("A1.T @ G2", "Z1.T @ G2")], "Z1 where A1"),
    "mask for A1": ([("A1.T @ G2", "(Z1 > 0).T @ G2")], "mask where A1 belongs"),
    "W2 for its transpose": ([("G2 @ W2.T", "G2 @ W2")], "W2 stands where its transpose"),
    "W2 reshaped": ([("G2 @ W2.T", "G2 @ W2.reshape(W2.shape[::-1])")], "W2 was reshaped"),
    "dW2 transposed": ([("A1.T @ G2", "G2.T @ A1")], "transposed"),
    "dW1 transposed": ([("X.T @ G1", "G1.T @ X")], "transposed"),
    "dW2 reshaped": ([("A1.T @ G2", "(G2.T @ A1).reshape(W2.shape)")], "transposed"),
    "dW1 reshaped": ([("X.T @ G1", "(G1.T @ X).reshape(W1.shape)")], "transposed"),
    "dW1 averaged again": ([("X.T @ G1", "X.T @ G1 / B")], "1/B enters once"),
    "db2 averaged": ([("G2.sum(axis=0)", "G2.mean(axis=0)")], "1/B is in it"),
    "db1 averaged": ([("G1.sum(axis=0)", "G1.mean(axis=0)")], "1/B is in it"),
    "biases averaged": ([(".sum(axis=0)", ".mean(axis=0)")], "1/B is in it"),
    "db2 not summed": ([("G2.sum(axis=0)", "G2")], "sum over the"),
    "db2 over classes": ([("G2.sum(axis=0)", "G2.sum(axis=1)")], "wrong axis"),
    "db1 2-d": ([("G1.sum(axis=0)", "G1.sum(axis=0, keepdims=True)")], "drop the extra axis"),
    "db1 over everything": ([("G1.sum(axis=0)", "G1.sum()")], "runs over everything"),
    "db1 without the mask": ([("G1.sum(axis=0)", "H.sum(axis=0)")], "mask is missing"),
    "db2 first row": ([("G2.sum(axis=0)", "G2[0]")], "only the first row"),
    "db2 zeros": ([("G2.sum(axis=0)", "np.zeros_like(b2)")], "all zeros"),
    "order of results": (
        [("return dW1, db1, dW2, db2", "return dW2, db2, dW1, db1")],
        "another order",
    ),
    "weights before biases": (
        [("return dW1, db1, dW2, db2", "return dW1, dW2, db1, db2")],
        "another order",
    ),
    "zeros": (
        [("return dW1, db1, dW2, db2", "return 0 * dW1, 0 * db1, 0 * dW2, 0 * db2")],
        "All four gradients are zero",
    ),
    "worked example, hard-coded": (
        [
            (
                "return dW1, db1, dW2, db2",
                "return (np.array([[-.5, 1], [.5, -1]]), np.array([-.5, 1]),"
                " np.array([[-.5, .5], [-.25, .25]]), np.zeros(2))",
            )
        ],
        "whatever the arguments are",
    ),
    "changes Y": ([("G2 = (P - Y) / B", "Y -= P; G2 = -Y / B")], "Y changed during the call"),
    "changes X": ([("    return dW1", "    X *= 2\n    return dW1")], "X changed during the call"),
    "a loop": ([("A1.T @ G2", "sum(np.outer(a, g) for a, g in zip(A1, G2))")], "once per example"),
    "hidden vectorize": (
        [("(Z1 > 0)", "np.vectorize(lambda z: 1.0 if z > 0 else 0.0)(np.asarray(Z1))")],
        "once per example",
    ),
    "hidden map": (
        [("A1.T @ G2", "sum(map(np.multiply.outer, A1, G2))")],
        "once per example",
    ),
    "apply_along_axis": (
        [("H * (Z1 > 0)", "np.apply_along_axis(lambda r: r, 1, H) * (Z1 > 0)")],
        "once per example",
    ),
    "float32": ([("    return dW1", "    dW1 = dW1.astype('float32')\n    return dW1")], "float32"),
    "forgot to return": ([("    return dW1, db1, dW2, db2", "")], "returned None"),
    "three results": ([("return dW1, db1, dW2, db2", "return dW1, db1, dW2")], "3 values"),
    "lists": ([("return dW1", "return dW1.tolist()")], "dW1 is a list"),
    "complex": ([("return dW1", "return dW1 + 0j")], "complex"),
    "not a number": ([("return dW1", "return dW1 * np.nan")], "finite"),
    "a dict": ([("return dW1, db1, dW2, db2", "return {'dW1': dW1}")], "a dict"),
    "too few parameters": ([("X, Y, W1, b1, W2, b2)", "X, Y, W1, b1, W2)")], "TypeError"),
    "a misspelt name": ([("dW1 = X.T @ G1", "dW1 = X.T @ G3")], "line 15"),
    "an index out of range": ([("dW1 = X.T @ G1", "dW1 = X.T @ G1[99]")], "IndexError"),
    "when tired: mean twice and no mask": (
        [("(P - Y) / B", "(P - Y) / B / B"), ("H * (Z1 > 0)", "H")],
        "the batch mean is taken twice",
    ),
    "two slips: sign, bias averaged": (
        [("(P - Y)", "(Y - P)"), ("G1.sum(axis=0)", "G1.mean(axis=0)")],
        "P − Y, not Y − P",
    ),
}

# The message says where it stopped: that is all there is to know.
UNNAMED = ("a misspelt name", "an index out of range")


def source(name: str) -> str:
    """The code of the wrong answer `name`."""
    return edited(PLAIN, WRONG[name][0])
