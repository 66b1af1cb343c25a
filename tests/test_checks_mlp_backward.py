"""The checks of `mlp_backward`: their truth, what counts as matrix form, and how they name mistakes."""

import itertools

import numpy as np
import pytest

from backprop_course.checks import mlp_backward as checks
from backprop_course.checks._core import CheckFailed, close
from backprop_course.checks.mlp_mistakes import PIPELINE, STAGES, choices, computed, forward

from .bank.mlp_backward import PLAIN
from .references import define, reference

RNG = np.random.default_rng(7)


def message(check, code, seed=0) -> str:
    """What the check says of the answer, '' where it passes."""
    try:
        check(define(code, "mlp_backward"), seed)
    except CheckFailed as failed:
        return str(failed)
    return ""


def edited(*edits) -> str:
    code = PLAIN
    for find, put in edits:
        assert find in code
        code = code.replace(find, put)
    return code


# ---- the truth -----------------------------------------------------------------------------


@pytest.mark.parametrize("soft", [False, True])
def test_the_truth_is_the_slope_of_the_loss_along_any_direction(soft):
    case = checks.random_case(RNG, 5, 4, 3, 2, soft=soft)
    right = checks.gradients(case)
    v = {s: RNG.normal(size=g.shape) for s, g in right.items()}

    def along(t):
        moved = [p + t * v[s] for p, s in zip(case[2:], checks.SYMBOLS, strict=True)]
        return checks.loss(case.X, case.Y, *moved)

    h = 1e-6  # rounding u L / h ≈ 1e-10, truncation h² ≈ 1e-12
    slope = (along(h) - along(-h)) / (2 * h)
    assert slope == pytest.approx(sum(np.sum(v[s] * right[s]) for s in right), abs=1e-8)


def test_the_truth_is_what_pytorch_computes():
    torch = pytest.importorskip("torch")
    case = checks.random_case(RNG, 5, 4, 3, 2, soft=True)
    X, Y, *parameters = (torch.tensor(a) for a in case)
    W1, b1, W2, b2 = (p.requires_grad_() for p in parameters)
    torch.nn.functional.cross_entropy(torch.relu(X @ W1 + b1) @ W2 + b2, Y).backward()
    for symbol, parameter in zip(checks.SYMBOLS, (W1, b1, W2, b2), strict=True):
        assert close(parameter.grad.numpy(), checks.gradients(case)[symbol], 1e-12)


def test_the_worked_example_is_that_of_the_curriculum():
    # Row 3.8: log 2, and the four gradients.
    case, right = checks.worked_example()
    assert checks.loss(*case) == pytest.approx(np.log(2))
    assert all(close(checks.gradients(case)[s], right[s], 1e-14) for s in right)


def test_the_reference_agrees_with_the_truth_far_within_the_tolerance():
    for seed in range(20):
        case = checks.random_case(np.random.default_rng(seed), 6, 5, 4, 3, soft=True)
        result = checks.run(reference("mlp_backward"), case)
        assert all(close(result[s], g, 1e-13) for s, g in checks.gradients(case).items())


# ---- matrix form ---------------------------------------------------------------------------

VECTORISED = {
    "optimised einsum": [
        ("X.T @ G1", "np.einsum('bi,bk,jk,bj->ij', X, G2, W2, (Z1 > 0) * 1.0, optimize=True)")
    ],
    "tensordot": [("X.T @ G1", "np.tensordot(X, G1, axes=(0, 0))")],
    "all outer products at once": [("A1.T @ G2", "(A1[:, :, None] * G2[:, None, :]).sum(0)")],
    "dot": [("X.T @ G1", "X.T.dot(G1)"), ("X @ W1", "np.dot(X, W1)")],
    "np.matrix": [("X.T @ G1", "np.asarray(np.asmatrix(X).T * np.asmatrix(G1))")],
    "asserts": [("B = len(X)", "B = len(X); assert np.allclose(Y.sum(1), 1)")],
    "out=": [("np.maximum(Z1, 0)", "np.maximum(Z1, 0, out=np.empty(Z1.shape))")],
    "prints of whole arrays": [("B = len(X)", "B = len(X); print(X, Y)")],
    "garbage with finalizers": [
        (
            "B = len(X)",
            "B = len(X); F = type('F', (), {'__del__': lambda self: sum(range(9))}); f = F(); f.f = f",
        )
    ],
}
LOOPS = {
    "for": [("dW2 = A1.T @ G2", "dW2 = 0 * W2\n    for a, g in zip(A1, G2): dW2 += np.outer(a, g)")],
    "blocks of 16": [
        ("A1.T @ G2", "sum(A1[i:i + 16].T @ G2[i:i + 16] for i in range(0, B, 16))")
    ],
    "comprehension": [("np.maximum(Z1, 0)", "np.array([np.maximum(z, 0) for z in Z1])")],
    "map of a ufunc": [("A1.T @ G2", "sum(map(np.multiply.outer, A1, G2))")],
    "list(map)": [("np.maximum(Z1, 0)", "np.array(list(map(lambda z: np.maximum(z, 0), Z1)))")],
    "vectorize of a lambda": [("np.maximum(Z1, 0)", "np.vectorize(lambda z: max(z, 0.0))(Z1)")],
    "vectorize of a builtin": [("np.maximum(Z1, 0)", "np.vectorize(max)(Z1, 0.0)")],
    "frompyfunc": [("np.maximum(Z1, 0)", "np.frompyfunc(max, 2, 1)(Z1, 0.0).astype(float)")],
    "fromiter": [
        ("np.maximum(Z1, 0)", "np.fromiter((max(z, 0) for z in Z1.flat), float).reshape(Z1.shape)")
    ],
    "recursion": [
        ("import numpy as np\n", "import numpy as np\n\ndef f(A, G):\n"
         "    return np.outer(A[0], G[0]) + (f(A[1:], G[1:]) if len(A) > 1 else 0)\n"),
        ("A1.T @ G2", "f(A1, G2)"),
    ],
    "threads": [
        ("A1.T @ G2", "sum(Pool(1).map(np.outer, np.asarray(A1), np.asarray(G2)))"),
        ("import numpy as np\n",
         "import numpy as np\nfrom concurrent.futures import ThreadPoolExecutor as Pool\n"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORISED)
def test_whole_array_code_is_matrix_form(name):
    assert message(checks.check_matrix_form, edited(*VECTORISED[name])) == ""


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_over_examples_is_seen_however_hidden(name):
    code = edited(*LOOPS[name])
    assert message(checks.check_random_batches, code) == ""
    assert "once per example" in message(checks.check_matrix_form, code)


LIBRARIES = {
    "torch": (
        "import torch\ndef mlp_backward(X, Y, *parameters):\n"
        "    X, Y = torch.tensor(X), torch.tensor(Y)\n"
        "    W1, b1, W2, b2 = p = [torch.tensor(a, requires_grad=True) for a in parameters]\n"
        "    torch.nn.functional.cross_entropy(torch.relu(X @ W1 + b1) @ W2 + b2, Y).backward()\n"
        "    return tuple(a.grad.numpy() for a in p)\n"
    ),
    "autograd": (
        "import autograd.numpy as np\nfrom autograd import grad\n"
        "def loss(p, X, Y):\n    W1, b1, W2, b2 = p\n"
        "    Z = np.maximum(X @ W1 + b1, 0) @ W2 + b2\n    Z = Z - np.max(Z, axis=1, keepdims=True)\n"
        "    return np.mean(np.log(np.sum(np.exp(Z), axis=1)) - np.sum(Y * Z, axis=1))\n"
        "def mlp_backward(X, Y, *p):\n    return grad(loss)(tuple(p), X, Y)\n"
    ),
    "micrograd": PLAIN.replace("    B =", "    from micrograd.engine import Value\n    Value(2) * 3\n    B ="),
    "backprop_course.autograd": PLAIN.replace(
        "    B =", "    from backprop_course.autograd import Value\n    Value(2) * 3\n    B ="
    ),
}  # fmt: skip


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_autograd_library_is_refused_by_name(library):
    pytest.importorskip(library)
    assert message(checks.check_random_batches, LIBRARIES[library]) == ""
    said = message(checks.check_matrix_form, LIBRARIES[library])
    assert f"This calls {library}: write the backward pass yourself" in said


def test_tensors_in_place_of_arrays_are_called_tensors():
    pytest.importorskip("torch")
    code = edited(("return dW1,", "import torch\n    return torch.tensor(dW1),"))
    for check in (checks.check_shapes, checks.check_worked_example, checks.check_matrix_form):
        assert "dW1 is a torch tensor" in message(check, code)


# ---- names ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "noise",
    [
        "    dW1 = dW1 + 1e-3",
        "    dW1[0, 0] *= 1.5",
        "    dW1 = dW1 * np.random.default_rng(0).normal(size=dW1.shape)",
        "    dW1 = dW1 * 1.37",
        "    dW1 = dW1 + X.T @ H",
    ],
)
def test_an_unknown_mistake_gets_no_name_but_the_first_wrong_entry(noise):
    code = edited(("    return dW1", f"{noise}\n    return dW1"))
    said = message(checks.check_random_batches, code)
    assert "expected" in said and "Right already: db1, dW2, db2." in said
    known = {m.sentence.split("{")[0] for stage in PIPELINE.values() for m in stage if m.sentence}
    assert not [sentence for sentence in known if sentence in said]


def test_a_coincidence_on_one_case_gives_no_name():
    # Right but for batches of 4, where the mean is left out: one of the two cases has B = 4.
    code = edited(("(P - Y) / B", "(P - Y) / (B if B != 4 else 1)"))
    assert "mean" not in message(checks.check_random_batches, code)


TWO = {
    "no mean, inverted mask": (
        [("(P - Y) / B", "P - Y"), ("(Z1 > 0)", "(Z1 <= 0)")],
        ["the mean over the batch was left out", "the ReLU's mask is inverted"],
    ),
    "sign, Z1 for A1": (
        [("(P - Y)", "(Y - P)"), ("A1.T @ G2", "Z1.T @ G2")],
        ["P − Y, not Y − P", "uses Z1 where A1"],
    ),
    "no softmax, db1 averaged": (
        [("(P - Y)", "(Z2 - Y)"), ("G1.sum(axis=0)", "G1.mean(axis=0)")],
        ["the softmax is missing", "sum the rows of G1"],
    ),
    "db2 first row, mask without the bias": (
        [("G2.sum(axis=0)", "G2[0]"), ("(Z1 > 0)", "(X @ W1 > 0)")],
        ["only the first row of G:", "without the bias"],
    ),
    "a known one and an unknown one": (
        [("(P - Y) / B", "P - Y"), ("X.T @ G1", "X.T @ G1 + 0.1")],
        ["the mean over the batch was left out"],
    ),
}


@pytest.mark.parametrize("name", TWO)
def test_two_mistakes_at_once_are_both_named_where_both_can_be_shown(name):
    edits, sentences = TWO[name]
    said = message(checks.check_random_batches, edited(*edits))
    assert all(sentence in said for sentence in sentences), said


def test_a_name_comes_with_its_evidence_and_the_lesson():
    assert message(checks.check_worked_example, edited(("(P - Y) / B", "P - Y"))) == (
        "✗ the worked example\n"
        "dW2, db2, dW1, db1: exactly 4 times too large, and B is 4: "
        "the mean over the batch was left out. Lesson 03, section 3.6: the batch mean.\n"
        "Seen on two random batches, the first with B = 4, n = 3, m = 5, K = 2.\n"
        "Here, with B = 2, n = 2, m = 2, K = 2: dW2[0, 0] is -1, expected -0.5. Right already: db2."
    )


def sentence(symbol, choice) -> str:
    (number,) = [i for i, n in enumerate(choice) if n]
    return PIPELINE[STAGES[symbol][number]][choice[number]].sentence


@pytest.mark.parametrize("symbol", STAGES)
def test_two_cases_tell_every_mistake_in_the_table_from_every_other(symbol):
    rng = np.random.default_rng(3)
    values = [forward(checks.random_case(rng, *size, soft=True)) for size in checks.SQUARE]
    single = [c for c in choices(symbol) if np.count_nonzero(c) == 1]
    results = {c: [computed(symbol, c, v) for v in values] for c in single}
    results = {c: r for c, r in results.items() if not any(x is None for x in r)}
    for a, b in itertools.combinations(results, 2):
        if all(close(x, y, 1e-9) for x, y in zip(results[a], results[b], strict=True)):
            # Factors commute: one gradient cannot tell at which stage they came in.
            both = {sentence(symbol, a), sentence(symbol, b)}
            assert all("exactly" in s or "sign" in s or "mask is missing" in s for s in both)


def test_reading_an_example_at_the_joint_wrongly_is_named():
    assert "Z1 > 0, not Z1 >= 0" in message(
        checks.check_worked_example, edited(("(Z1 > 0)", "(Z1 >= 0)"))
    )


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([(" - Z2.max(axis=1, keepdims=True)", "")], "exp overflows. Subtract each row's largest"),
        (
            [
                (
                    "G2 = (P - Y) / B",
                    "D = -Y / P / B\n    G2 = P * (D - (D * P).sum(axis=1, keepdims=True))",
                )
            ],
            "a probability rounds to 0, and something divides by it",
        ),
        ([("    return dW1", "    return dW1 * np.nan")], "dW1[0, 0] is nan"),
        ([("(P - Y) / B", "-Y / P / B")], "stops at the probabilities"),
    ],
)
def test_what_is_not_finite_is_traced_to_its_cause(edits, words):
    assert words in message(checks.check_stable, edited(*edits))
