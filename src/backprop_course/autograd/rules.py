"""The rules of `Tensor` as one table: for each operation its forward and one VJP per input.

forward(*inputs, **options) -> Y
VJP(dY, Y, *inputs, **options) -> gradient of its input, before the sum over broadcast axes.

To teach the engine a new operation, add a line here, or at run time to RULES.
"""

import numpy as np

from backprop_course.activations import cross_entropy, cross_entropy_backward, gelu, gelu_backward


def _expand(V, X, axis, keepdims):
    """V, the result of reducing X over `axis`, with the reduced axes back as axes of length 1."""
    return V if keepdims or axis is None else np.expand_dims(V, axis)


def _mean_vjp(dY, Y, X, axis, keepdims):
    return _sum_vjp(dY, Y, X, axis, keepdims) * (Y.size / X.size)


def _sum_vjp(dY, Y, X, axis, keepdims):
    return np.broadcast_to(_expand(dY, X, axis, keepdims), X.shape)


def _max_vjp(dY, Y, X, axis, keepdims):
    """Entries that tie share the gradient equally."""
    is_max = np.equal(X, _expand(Y, X, axis, keepdims))
    return is_max * (_expand(dY, X, axis, keepdims) / is_max.sum(axis, keepdims=True))


def _index_vjp(dY, Y, X, index):
    """An entry that was read twice receives both gradients: `dX[index] += dY` would keep one."""
    dX = np.zeros_like(X)
    np.add.at(dX, index, dY)
    return dX


def _matmul(A, B):
    if np.ndim(A) < 2 or np.ndim(B) < 2:
        raise ValueError(
            f"A @ B with shapes {np.shape(A)} and {np.shape(B)}: expected matrices, or stacks of "
            "them; reshape a vector to one row (1, n) or one column (n, 1) first"
        )
    return A @ B


def _transpose(M):
    return np.swapaxes(M, -1, -2)


def _permute_vjp(dY, Y, X, axes):
    """The inverse permutation brings every axis back."""
    return dY.transpose(None if axes is None else np.argsort(np.mod(axes, X.ndim)))


RULES = {
    "add": (np.add, lambda dY, Y, A, B: dY, lambda dY, Y, A, B: dY),
    "subtract": (np.subtract, lambda dY, Y, A, B: dY, lambda dY, Y, A, B: -dY),
    "multiply": (np.multiply, lambda dY, Y, A, B: dY * B, lambda dY, Y, A, B: dY * A),
    "divide": (np.divide, lambda dY, Y, A, B: dY / B, lambda dY, Y, A, B: -dY * Y / B),
    "matmul": (
        _matmul,
        lambda dY, Y, A, B: dY @ _transpose(B),
        lambda dY, Y, A, B: _transpose(A) @ dY,
    ),
    "power": (
        lambda X, n: X**n,
        lambda dY, Y, X, n: dY * (n * X ** (n - 1) if n else 0.0),
    ),
    "exp": (np.exp, lambda dY, Y, X: dY * Y),
    "log": (np.log, lambda dY, Y, X: dY / X),
    "tanh": (np.tanh, lambda dY, Y, X: dY * (1 - Y**2)),
    "relu": (lambda X: np.maximum(X, 0), lambda dY, Y, X: dY * (X > 0)),
    "gelu": (gelu, lambda dY, Y, X: gelu_backward(dY, X)),
    "sum": (np.sum, _sum_vjp),
    "mean": (np.mean, _mean_vjp),
    "max": (np.max, _max_vjp),
    "reshape": (lambda X, shape: X.reshape(*shape), lambda dY, Y, X, shape: dY.reshape(X.shape)),
    "transpose": (np.transpose, _permute_vjp),
    "index": (lambda X, index: X[index], _index_vjp),
    "cross_entropy": (
        cross_entropy,
        lambda dY, Y, Z, target: dY * cross_entropy_backward(Z, target),
    ),
}
