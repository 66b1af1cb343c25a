"""Checks of `mlp_backward(X, Y, W1, b1, W2, b2)`, and the names of its mistakes.

The truth is the loss alone, differentiated by the complex step (Squire & Trapp 1998,
doi:10.1137/S003614459631241X): Im L(θ + ih) / h has no rounding error of its own, so that it is
good to a few units in the last place. No backward pass is written here to be compared with;
mlp_mistakes.py writes many wrong ones, to recognise them.
"""

import itertools
from typing import NamedTuple

import numpy as np

from ._core import (
    CheckFailed,
    as_array,
    behaviour,
    call,
    close,
    drive,
    fail,
    first_difference,
    shape_text,
    what_came,
)
from .mlp_mistakes import CE, LINEAR, RELU, diagnose, forward

STUDENT_NAMES = ("mlp_backward",)
SYMBOLS = ("dW1", "db1", "dW2", "db2")
# Sums of at most some hundred products of numbers near 1 lose a few dozen units of 2^-53 = 1.1e-16;
# 1e-10 leaves room for any order of summation, and is far below what any mistake changes.
TOLERANCE = 1e-10


class Case(NamedTuple):
    """X (B, n), Y (B, K), W1 (n, m), b1 (m,), W2 (m, K), b2 (K,): the arguments, in order."""

    X: np.ndarray
    Y: np.ndarray
    W1: np.ndarray
    b1: np.ndarray
    W2: np.ndarray
    b2: np.ndarray


def loss(X, Y, W1, b1, W2, b2):
    """Mean softmax cross-entropy of relu(X W1 + b1) W2 + b2, for real or complex parameters."""
    Z1 = X @ W1 + b1  # (B, m)
    Z2 = np.where(Z1.real > 0, Z1, 0) @ W2 + b2  # (B, K)
    top = Z2.real.max(axis=1, keepdims=True)  # (B, 1)
    log_sum = np.log(np.exp(Z2 - top).sum(axis=1)) + top[:, 0]  # (B,)
    return np.mean((Y.sum(axis=1) * log_sum) - (Y * Z2).sum(axis=1))


def gradients(case: Case) -> dict[str, np.ndarray]:
    """dW1, db1, dW2, db2 by the complex step, one entry at a time."""
    out, h = {}, 1e-100
    for position, symbol in zip((2, 3, 4, 5), SYMBOLS, strict=True):
        parameter = case[position]
        out[symbol] = np.zeros(parameter.shape)
        for index in np.ndindex(parameter.shape):
            nudged = parameter.astype(complex)
            nudged[index] += 1j * h
            arguments = [*case[:position], nudged, *case[position + 1 :]]
            out[symbol][index] = loss(*arguments).imag / h
    return out


def random_case(rng, B, n, m, K, *, soft=False) -> Case:
    """A case with all kinds of entries; pre-activations stay clear of ReLU's joint."""
    Y = np.eye(K)[rng.integers(K, size=B)]  # (B, K)
    if soft:
        weight = rng.uniform(0.05, 0.6, size=(B, 1))
        Y = (1 - weight) * Y + weight * rng.dirichlet(np.ones(K), size=B)
    while True:
        X, W1 = rng.normal(size=(B, n)), rng.normal(size=(n, m))
        b1, b2 = rng.normal(size=m), rng.normal(size=K)
        Z1 = X @ W1 + b1
        case = Case(X, Y, W1, b1, rng.normal(size=(m, K)), b2)
        # On both sides of the joint, and changed by the bias somewhere.
        if (Z1 <= 0).any() and ((Z1 > 0) != (X @ W1 > 0)).any() and well_conditioned(case):
            return case


def well_conditioned(case: Case) -> bool:
    """Whether nothing in the case is nearly 0, where every right answer keeps fewer digits.

    A pre-activation is off by a few 2^-53, so 1e-3 tells its sign and keeps 12 digits; P − Y is
    off by a few 2^-53 whatever its size, so that some entry above 1e-2 keeps 13 of them.
    """
    v = forward(case)
    clear = np.abs(v["Z1"]).min() > 1e-3 and (v["Z1"] > 0).any()
    return bool(clear and np.abs(v["P"] - case.Y).max() > 1e-2)


def worked_example() -> tuple[Case, dict[str, np.ndarray]]:
    """The example of lesson 03, small enough to redo by hand, and its gradients."""
    case = Case(
        X=np.array([[1.0, -1.0], [-1.0, 0.0]]),
        Y=np.eye(2),
        W1=np.array([[1.0, 2.0], [-1.0, 1.0]]),
        b1=np.zeros(2),
        W2=np.array([[1.0, -1.0], [-2.0, 2.0]]),
        b2=np.zeros(2),
    )
    right = {
        "dW1": np.array([[-0.5, 1.0], [0.5, -1.0]]),
        "db1": np.array([-0.5, 1.0]),
        "dW2": np.array([[-0.5, 0.5], [-0.25, 0.25]]),
        "db2": np.zeros(2),
    }
    return case, right


# ---- the verdict ---------------------------------------------------------------------------


def four(result) -> tuple:
    """The student's result, if it is four things."""
    if result is None:
        fail("mlp_backward returned None: end it with `return dW1, db1, dW2, db2`.")
    if not isinstance(result, (tuple, list)):
        fail(f"mlp_backward returned {what_came(result)}: expected the tuple (dW1, db1, dW2, db2).")
    if len(result) != 4:
        fail(f"mlp_backward returned {len(result)} values: expected 4, (dW1, db1, dW2, db2).")
    return tuple(result)


def arrays(result, case: Case) -> dict[str, np.ndarray]:
    """The student's four gradients by name, each of its parameter's shape, or a failed check."""
    result = four(result)
    shapes = [case[i].shape for i in (2, 3, 4, 5)]
    came = [np.shape(r) for r in result if isinstance(r, (np.ndarray, np.generic))]
    if came != shapes and hard_coded(result):
        fail(HARD_CODED)
    if came != shapes and sorted(came) == sorted(shapes):
        fail(
            f"The gradients come in another order: shapes {', '.join(map(shape_text, came))}, "
            f"expected {', '.join(map(shape_text, shapes))} for (dW1, db1, dW2, db2)."
        )
    for symbol, value, shape in zip(SYMBOLS, result, shapes, strict=True):
        explain_shape(symbol, value, shape, case)
    return {s: as_array(s, r, p) for s, r, p in zip(SYMBOLS, result, shapes, strict=True)}


ALL_ZERO = "All four gradients are zero: the shapes are right, nothing is computed yet."
HARD_CODED = "These are the gradients of the worked example, whatever the arguments are."


def hard_coded(values) -> bool:
    pairs = zip(values, worked_example()[1].values(), strict=True)
    return all(isinstance(v, np.ndarray) and np.array_equal(v, answer) for v, answer in pairs)


def explain_shape(symbol: str, value, shape, case: Case) -> None:
    """Name what the wrong shapes that everyone meets once come from."""
    came = np.shape(value) if isinstance(value, (np.ndarray, np.generic)) else shape
    if came == shape:
        return
    B, says = len(case.X), f"{symbol} has shape {shape_text(came)}, expected {shape_text(shape)}"
    if symbol.startswith("dW") and came == shape[::-1]:
        first = "X" if symbol == "dW1" else "A1"
        fail(f"{says}: transposed. The rule is {first}ᵀ G, in the shape of the weights. {LINEAR}")
    if symbol.startswith("db") and came == (1, *shape):
        fail(f"{says}: drop the extra axis (sum without keepdims=True). {LINEAR}")
    if symbol.startswith("db") and came == (B, *shape):
        fail(
            f"{says}: sum over the {B} examples, axis 0. A bias is used once per example. {LINEAR}"
        )
    if symbol.startswith("db") and came == (B,):
        fail(f"{says}: the sum runs over the wrong axis. Sum over the examples, axis=0. {LINEAR}")
    if symbol.startswith("db") and came == ():
        fail(f"{says}: the sum runs over everything. Sum over the examples only, axis=0. {LINEAR}")


def wrong_symbols(result: dict, right: dict) -> list[str]:
    return [s for s in SYMBOLS if not close(result[s], right[s], TOLERANCE)]


def run(mlp_backward, case: Case) -> dict[str, np.ndarray]:
    return arrays(call(mlp_backward, *case), case)


def judge(mlp_backward, case: Case, right: dict, rng) -> None:
    """Compare with the truth; on a difference say which mistake it is, or where it begins."""
    try:
        result = run(mlp_backward, case)
    except CheckFailed as failed:
        # Where shapes collide, square parameters may still show which formula it was.
        fail(str(failed), *name_mistakes(mlp_backward, SQUARE, rng))
    if not (wrong := wrong_symbols(result, right)):
        return
    if hard_coded(result.values()):
        fail(HARD_CODED)
    if not any(gradient.any() for gradient in result.values()):
        fail(ALL_ZERO)
    named = name_mistakes(mlp_backward, DIFFERENT, rng) or name_mistakes(mlp_backward, SQUARE, rng)
    if named:
        fail(*named, f"Here, with {sizes_text(case)}: {where(result, right, wrong)}")
    fail(*unnamed(mlp_backward, case, result, right, wrong))


# Two unrelated cases each, (B, n, m, K): all dimensions different, or all parameters square.
DIFFERENT = ((4, 3, 5, 2), (3, 5, 2, 6))
SQUARE = ((5, 3, 3, 3), (4, 2, 2, 2))


def name_mistakes(mlp_backward, sizes, rng) -> list[str]:
    """A sentence for each mistake that two cases of these sizes show; none if they show none."""
    cases = [random_case(rng, *size, soft=True) for size in sizes]
    try:
        results = [run(mlp_backward, case) for case in cases]
    except CheckFailed:
        return []
    rights = [gradients(case) for case in cases]
    if order := permuted(results, rights):
        return [order]
    wrong = [
        symbol
        for symbol in SYMBOLS
        if all(symbol in wrong_symbols(*pair) for pair in zip(results, rights, strict=True))
    ]
    B, K = cases[0].Y.shape
    named = [
        f"{', '.join(symbols)}: {mistake.sentence.format(B=B, K=K)}. {mistake.section}"
        for symbols, mistake in diagnose(wrong, results, cases)
    ]
    seen = f"Seen on two random batches, the first with {sizes_text(cases[0])}."
    return [*named, seen] if named else []


def permuted(results, rights) -> str:
    """Right arrays under wrong names, which only square parameters let through."""
    for order in itertools.permutations(SYMBOLS):
        if order != SYMBOLS and all(
            close(result[slot], right[symbol], TOLERANCE)
            for result, right in zip(results, rights, strict=True)
            for slot, symbol in zip(SYMBOLS, order, strict=True)
        ):
            return f"The gradients come as ({', '.join(order)}): expected ({', '.join(SYMBOLS)})."
    return ""


def sizes_text(case: Case) -> str:
    B, n = case.X.shape
    return f"B = {B}, n = {n}, m = {len(case.b1)}, K = {len(case.b2)}"


def where(result, right, wrong) -> str:
    """The first wrong entry, and what is right already."""
    symbol = next(s for s in ("db2", "dW2", "db1", "dW1") if s in wrong)  # in backward order
    fine = [s for s in SYMBOLS if s not in wrong]
    already = f" Right already: {', '.join(fine)}." if fine else ""
    return first_difference(symbol, result[symbol], right[symbol], TOLERANCE) + "." + already


def unnamed(mlp_backward, case, result, right, wrong) -> list[str]:
    """No known mistake: where it differs, on the worked example if it shows there."""
    small, answer = worked_example()
    came = run(mlp_backward, small)
    if spoiled := wrong_symbols(came, answer):
        return [f"On the worked example: {where(came, answer, spoiled)}"]
    return [f"With {sizes_text(case)}: {where(result, right, wrong)}"]


# ---- the behaviours ------------------------------------------------------------------------


@behaviour("shapes and dtypes of the four gradients", "mlp_backward")
def check_shapes(mlp_backward, rng):
    """Each gradient is a float64 array of its parameter's shape, whatever B, n, m and K are."""
    for size in ((4, 3, 5, 2), (1, 2, 3, 4), (6, 1, 2, 3)):
        case = random_case(rng, *size) if size[0] > 1 else small_batch(rng, size)
        run(mlp_backward, case)
    zero = random_case(rng, 4, 3, 5, 2)
    result = run(mlp_backward, zero)
    if all(not value.any() for value in result.values()):
        fail(ALL_ZERO)


def small_batch(rng, size):
    """A batch of one example: its pre-activations need not change sign with the bias."""
    B, n, m, K = size
    while True:
        case = Case(
            rng.normal(size=(B, n)),
            np.eye(K)[rng.integers(K, size=B)],
            rng.normal(size=(n, m)),
            rng.normal(size=m),
            rng.normal(size=(m, K)),
            rng.normal(size=K),
        )
        if well_conditioned(case):
            return case


@behaviour("the worked example", "mlp_backward")
def check_worked_example(mlp_backward, rng):
    """The example that lesson 03 computes by hand; ReLU's slope at 0 is 0."""
    case, right = worked_example()
    judge(mlp_backward, case, right, rng)
    joint = case._replace(X=np.array([[1.0, -1.0], [0.0, 0.0]]))  # Z1 is exactly 0 in row 2
    result = run(mlp_backward, joint)
    if not close(result["db1"], gradients(joint)["db1"], TOLERANCE):
        fail(
            "db1 is wrong where a pre-activation is exactly 0: the ReLU's slope there is 0, "
            f"so the mask is Z1 > 0, not Z1 >= 0. {RELU}"
        )


@behaviour("random batches of several sizes, with hard and soft labels", "mlp_backward")
def check_random_batches(mlp_backward, rng):
    """All dimensions different, B = 1, K = 2, labels one-hot and smoothed."""
    for size, soft in (((4, 3, 5, 2), False), ((3, 5, 2, 6), True), ((7, 2, 4, 3), True)):
        case = random_case(rng, *size, soft=soft)
        judge(mlp_backward, case, gradients(case), rng)
    one = small_batch(rng, (1, 3, 4, 2))
    judge(mlp_backward, one, gradients(one), rng)


@behaviour("logits of ±1000", "mlp_backward")
def check_stable(mlp_backward, rng):
    """Finite and right where exp(1000) would overflow."""
    case = random_case(rng, 3, 2, 4, 5)
    judge(mlp_backward, case, gradients(case), rng)  # what fails here has nothing to do with size
    logits = forward(case)["Z2"]
    scale = 2000 / np.ptp(logits)
    # The label of each example is its least likely class: every adjoint is there to be seen.
    Y = np.eye(5)[logits.argmin(axis=1)]
    large = case._replace(Y=Y, W2=case.W2 * scale, b2=scale * (case.b2 - logits.max()) + 1000)
    shifted = [case._replace(b2=case.b2 + 1000), random_case(rng, 4, 3, 2, 3)]
    shifted[1] = shifted[1]._replace(b2=shifted[1].b2 + 1000)
    symbol = not_finite(mlp_backward, large)
    if symbol and all(not_finite(mlp_backward, one) for one in shifted):
        fail(
            f"{symbol} is not finite when logits reach ±1000: exp overflows. Subtract each row's "
            f"largest logit before exp; the softmax does not change. {CE}"
        )
    if symbol:
        fail(
            f"{symbol} is not finite when logits reach ±1000, though exp does not overflow: a "
            f"probability rounds to 0, and something divides by it or takes its log. {CE}"
        )
    judge(mlp_backward, large, gradients(large), rng)


def not_finite(mlp_backward, case: Case) -> str:
    """The first gradient with an entry that is no finite number, or ''."""
    result = zip(SYMBOLS, four(call(mlp_backward, *case)), strict=True)
    return next((s for s, v in result if not np.isfinite(np.asarray(v, float)).all()), "")


@behaviour("the inputs stay as they were", "mlp_backward")
def check_inputs_unchanged(mlp_backward, rng):
    """None of the six arguments is changed."""
    case = random_case(rng, 4, 3, 5, 2, soft=True)
    given = Case(*[a.copy() for a in case])
    result = arrays(call(mlp_backward, *given, copy=False), case)
    changed = [f for f in Case._fields if not np.array_equal(getattr(case, f), getattr(given, f))]
    if changed:
        fail(
            f"{' and '.join(changed)} changed during the call: `a -= b` and `a[i] = b` change the "
            "array itself, and so its owner's; `a = a - b` makes a new one."
        )
    if wrong_symbols(result, gradients(case)):
        judge(mlp_backward, case, gradients(case), rng)


@behaviour("matrix form: no loop over examples, no autograd", "mlp_backward")
def check_matrix_form(mlp_backward, rng):
    """The number of operations does not grow with the batch; it is counted, not guessed."""
    few, many = random_case(rng, 8, 3, 5, 4), random_case(rng, 136, 3, 5, 4)
    judge(mlp_backward, few, gradients(few), rng)
    counts = []
    for case in (few, many):
        count, libraries = drive("count_operations", mlp_backward, *case)
        if libraries:
            fail(f"This calls {libraries[0]}: write the backward pass yourself, with NumPy alone.")
        counts.append(count)
    # One instruction for each of the 128 further examples is a loop; whole-array code adds none.
    if counts[1] - counts[0] >= 128:
        fail(
            f"136 examples took {counts[1]} operations, 8 took {counts[0]}: something runs once per "
            "example (a loop, a comprehension, map, np.vectorize, apply_along_axis). "
            f"A product of whole matrices sums over the examples by itself. {LINEAR}"
        )


__all__ = [name for name in globals() if name.startswith("check_")]
