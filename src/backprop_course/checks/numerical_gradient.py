"""Checks of `numerical_gradient(f, x, h)` and `rel_error(a, b)`, and the names of their mistakes.

The oracle is algebra: on a cubic a central difference is off by h² times a number that is known, a
forward one by h times another. With large steps every slip has a value of its own, far above rounding. `f` is watched while the student's function calls it: where it is evaluated says what was nudged.
"""

import numpy as np

from ._core import as_array, behaviour, call, close, fail, first_difference, what_came

STUDENT_NAMES = ("numerical_gradient", "rel_error")
# |f| stays below 400 for at most 24 entries, so u|f|/h ≈ 400 · 1.1e-16 / 0.05 ≈ 1e-12 for the steps used.
TOLERANCE = 1e-11
STEPS = "Lesson 04, the central difference."


class Cubic:
    """f(x) = Σ c x³ + (Σ w x)³, which keeps the points at which it was called; c, w (...) as x.

    The second term ties the coordinates together: one that was left moved changes the others.
    """

    def __init__(self, c, w, kind=float):
        self.c, self.w, self.kind, self.points = np.asarray(c), np.asarray(w), kind, []

    def __call__(self, x):
        point = np.array(x, dtype=np.float64)
        self.points.append(point)
        return self.kind(np.sum(self.c * point**3) + np.sum(self.w * point) ** 3)

    def slope(self, x):
        return 3 * self.c * x**2 + 3 * self.w * np.sum(self.w * x) ** 2

    def bend(self, x):
        """Half the second derivative: what a forward difference is off by, per h."""
        return 3 * self.c * x + 3 * self.w**2 * np.sum(self.w * x)

    def central(self, x, h):
        """(f(x + h e) − f(x − h e)) / 2h for each entry: exact, since third derivatives are constant."""
        return self.slope(np.asarray(x, float)) + (self.c + self.w**3) * h**2

    def one_sided(self, x, h):
        """(f(x + h e) − f(x)) / h for each entry."""
        return self.central(x, h) + self.bend(np.asarray(x, float)) * h


def cubic(rng, shape, kind=float) -> tuple[Cubic, np.ndarray]:
    """A cubic and a point for it, entries between 1/2 and 2 in size, of either sign."""
    c, x = (rng.uniform(0.5, 2, shape) * rng.choice([-1.0, 1.0], shape) for _ in range(2))
    return Cubic(c, rng.uniform(0.2, 0.5, shape), kind), x


def guesses(f: Cubic, x, h) -> dict[str, np.ndarray]:
    """What each known mistake would have returned, by the sentence that names it."""
    x = np.asarray(x, float)
    central, forward = f.central(x, h), f.one_sided(x, h)
    everything = np.full(x.shape, (f(x + h) - f(x - h)) / (2 * h))
    return {
        "the difference is divided by h, not by 2h: the two points are 2h apart": 2 * central,
        "this is the forward difference (f(x+h) − f(x)) / h: take f(x+h) and f(x−h)": forward,
        "this is the backward difference (f(x) − f(x−h)) / h: take f(x+h) and f(x−h)": f.one_sided(
            x, -h
        ),
        "/ 2 * h divides by 2 and multiplies by h: write / (2 * h)": central * h * h,
        "the difference was not divided by 2h": central * 2 * h,
        "it was divided by h twice": central * 2 / h,
        "the sign is wrong: f(x+h) − f(x−h), not the other way round": -central,
        "the forward difference was divided by 2h: it belongs over h": forward / 2,
        "the two points are h/2 away from x: step by h to each side": f.central(x, h / 2),
        "the two points are 2h away from x: step by h to each side": f.central(x, 2 * h),
        "h is ignored: the result is the same for every h": f.central(x, 1e-5),
        "all coordinates were moved at once: move one, leave the others": everything,
        "it is all zeros": np.zeros(x.shape),
    }


def name_mistake(numerical_gradient, rng) -> str:
    """The mistake that explains the results on two unrelated cases, or ''."""
    found = None
    for shape, h in (((3,), 0.0625), ((2, 2), 0.25)):
        f, x = cubic(rng, shape)
        came = np.asarray(call(numerical_gradient, f, x, h))
        if came.shape != shape or came.dtype.kind != "f":
            return ""
        # A difference with the default step carries its rounding error, u|f|/h ≈ 1e-10.
        fits = {s for s, g in guesses(f, x, h).items() if close(g, came, 1e-8)}
        found = fits if found is None else found & fits
    return min(found, default="")


def judge(numerical_gradient, f: Cubic, x, h, rng) -> None:
    """Compare with the central difference's exact value; name what differs."""
    given = x.copy() if isinstance(x, np.ndarray) else x
    came = call(numerical_gradient, f, given, h, copy=False)
    came = as_array("The gradient", came, np.shape(x))
    right = f.central(x, h)
    if close(came, right, TOLERANCE):
        return
    if mistake := name_mistake(numerical_gradient, rng):
        fail(f"With h = {h}: {mistake}. {STEPS}")
    fail(*where(f, np.asarray(x, float), h, came, right))


def where(f: Cubic, x, h, came, right) -> list[str]:
    """The first wrong entry, and what the calls of f give away."""
    lines = [f"For a cubic f with h = {h}, {first_difference('entry', came, right, TOLERANCE)}."]
    moved = {int(np.sum(point != x)) for point in f.points if point.shape == x.shape}
    if moved - {0, 1}:
        lines.append(
            f"f was called with {max(moved)} coordinates away from x at once: put one back "
            "before you move the next."
        )
    elif not moved - {0}:
        lines.append("f was never called with a coordinate moved.")
    return [*lines, STEPS]


@behaviour("a number, a vector, a matrix, 3-d and 0-d arrays", "numerical_gradient")
def check_shapes(numerical_gradient, rng):
    """The gradient is float64 and has the shape of x, whatever that is."""
    f, x = cubic(rng, ())
    for point in (float(x), np.array(float(x))):
        judge(numerical_gradient, f, point, 0.125, rng)
    for shape in ((4,), (2, 3), (2, 3, 4), (1, 1)):
        judge(numerical_gradient, *cubic(rng, shape), 0.125, rng)
    f, x = cubic(rng, (3, 4))
    transposed = Cubic(f.c.T, f.w.T)
    judge(numerical_gradient, transposed, x.T, 0.125, rng)  # not contiguous in memory


@behaviour("it follows h, and its error falls as h²", "numerical_gradient")
def check_follows_step(numerical_gradient, rng):
    """Steps from 1/2 down to 1/16, and the default."""
    for h in (0.5, 0.25, 0.0625):
        judge(numerical_gradient, *cubic(rng, (3,)), h, rng)
    f, x = cubic(rng, (3,))
    came = as_array("The gradient", call(numerical_gradient, f, x), x.shape)
    # h = 1e-5: truncation h² ≈ 1e-10 and rounding u|f|/h ≈ 50 · 1.1e-16 / 1e-5 ≈ 5e-10.
    if not close(came, f.central(x, 1e-5), 2e-8):
        fail(
            f"Without h the step should be 1e-5: {first_difference('entry', came, f.slope(x), 2e-8)}."
        )
    reach = max((np.abs(point - x).max() for point in f.points), default=0.0)
    if abs(reach - 1e-5) > 1e-9:
        fail(f"Without h the step should be 1e-5: f was called {reach:.3g} away from x.")


@behaviour("an array of integers", "numerical_gradient")
def check_integers(numerical_gradient, rng):
    """x may hold integers: adding h to an integer array changes nothing, or fails."""
    f, _ = cubic(rng, (3,))
    x = rng.integers(1, 4, size=3) * rng.choice([-1, 1], size=3)
    as_array("The gradient", call(numerical_gradient, f, x, 0.125), x.shape)
    if all((point == np.round(point)).all() for point in f.points):
        fail(
            "x holds integers, and f was called at integers alone: adding h to an integer array "
            "rounds it away. Work on a float64 copy: np.array(x, dtype=float)."
        )
    judge(numerical_gradient, f, x, 0.125, rng)


@behaviour("x is restored bit for bit", "numerical_gradient")
def check_restored(numerical_gradient, rng):
    """Afterwards x holds the same bits: x + h − h is not always x."""
    f, x = cubic(rng, (2, 3))
    x = x / 3  # has no short binary form
    given = x.copy()
    came = call(numerical_gradient, f, given, 0.1, copy=False)
    if not np.array_equal(given, x):
        gap = np.abs(given - x).max()
        if gap < 1e-12:
            fail(
                f"x changed by up to {gap:.1e}: x + h − h is rounded and need not be x. "
                "Keep the old value and put it back, or work on a copy."
            )
        fail(
            f"x changed by up to {gap:.3g}: put each coordinate back before the next, or work on a copy."
        )
    came = as_array("The gradient", came, x.shape)
    if np.shares_memory(came, given):
        fail("The gradient is x itself: return a new array.")
    judge(numerical_gradient, f, x, 0.125, rng)


@behaviour("functions that return NumPy scalars", "numerical_gradient")
def check_numpy_scalars(numerical_gradient, rng):
    """f may return np.float64 or a 0-d array, as np.sum and np.mean do."""
    for kind in (np.float64, np.array):
        judge(numerical_gradient, *cubic(rng, (3,), kind), 0.125, rng)


# ---- rel_error -----------------------------------------------------------------------------


def error_of(rel_error, a, b) -> float:
    came = call(rel_error, a, b)
    if isinstance(came, np.ndarray) and came.shape:
        fail(
            f"rel_error returned {what_came(came)}: one number is wanted, the largest over all entries."
        )
    if isinstance(came, complex) or not isinstance(came, (int, float, np.number, np.ndarray)):
        fail(f"rel_error returned {what_came(came)}: expected a float.")
    came = float(came)
    if np.isnan(came):
        fail(
            "rel_error is nan: where both entries are 0 the error is 0. Guard 0/0 with a tiny number."
        )
    return came


def relative(a, b) -> np.ndarray:
    return np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))


def known_errors(a, b) -> dict[str, float]:
    """What each known mistake would have returned, by the sentence that names it."""
    gap, size = np.abs(a - b), np.maximum(np.abs(a), np.abs(b))
    norm = np.linalg.norm
    return {
        "this is the mean over the entries: take the largest": (gap / size).mean(),
        "this is the sum over the entries: take the largest": (gap / size).sum(),
        "this is the smallest over the entries: take the largest": (gap / size).min(),
        "this is the absolute error |a − b|: divide by max(|a|, |b|)": gap.max(),
        "divided by |a| + |b|: divide by max(|a|, |b|)": (gap / (np.abs(a) + np.abs(b))).max(),
        "divided by |a| alone: divide by max(|a|, |b|)": (gap / np.abs(a)).max(),
        "divided by |b| alone: divide by max(|a|, |b|)": (gap / np.abs(b)).max(),
        "the largest difference over the largest entry: divide entry by entry first": gap.max()
        / size.max(),
        "a norm of the difference over a norm: divide entry by entry first": norm(a - b)
        / max(norm(a), norm(b)),
        "the sign was kept: take |a − b|": ((a - b) / size).max(),
        "a floor of 1 under the denominator: tiny only guards 0/0": (
            gap / np.maximum(size, 1)
        ).max(),
        "1 was added to the denominator: tiny only guards 0/0": (gap / (size + 1)).max(),
    }


def pair(rng, scale=1.0) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors whose entries differ by 5 to 40 percent, at several sizes."""
    a = rng.uniform(1, 2, 5) * rng.choice([-1, 1], 5) * 10.0 ** rng.permutation([-2, -1, 0, 1, 2])
    return scale * a, scale * a * (1 + rng.choice([-1, 1], 5) * rng.uniform(0.05, 0.4, 5))


def telling_pair(rng) -> tuple[np.ndarray, np.ndarray]:
    """A pair on which the right value and all known mistakes differ by a tenth of a percent."""
    while True:
        a, b = pair(rng)
        values = np.sort([relative(a, b).max(), *known_errors(a, b).values()])
        if (np.diff(values) > 1e-3 * np.abs(values[1:])).all():
            return a, b


def refuse(rel_error, rng, otherwise: str):
    """Fail with the mistake that two unrelated pairs show, or else with the sentence given."""
    found = None
    for a, b in (telling_pair(rng), telling_pair(rng)):
        came = error_of(rel_error, a, b)
        fits = {s for s, value in known_errors(a, b).items() if close(value, came, 1e-9)}
        found = fits if found is None else found & fits
    if found:
        fail(
            f"rel_error of two vectors is {came:.4g}, expected {relative(a, b).max():.4g}: {min(found)}."
        )
    fail(otherwise)


def compare(rel_error, a, b, rng) -> None:
    came, right = error_of(rel_error, a, b), relative(a, b).max()
    if not close(came, right, 1e-9):
        first = f"rel_error([{a.flat[0]:.4g}, …], [{b.flat[0]:.4g}, …])"
        refuse(rel_error, rng, f"{first} is {came:.6g}, expected {right:.6g}.")


@behaviour("the largest over the entries, not the mean", "rel_error")
def check_largest(rel_error, rng):
    """One entry that is far off decides; any shape is taken."""
    a, b = pair(rng)
    compare(rel_error, a, b, rng)
    a, b = (np.concatenate(both) for both in zip(pair(rng), pair(rng), strict=True))
    came = error_of(rel_error, a.reshape(2, 5), b.reshape(2, 5))
    if not close(came, relative(a, b).max(), 1e-9):
        refuse(rel_error, rng, "For a matrix, take the largest over all its entries.")


@behaviour("the same at every scale, from 1e-12 to 1e12", "rel_error")
def check_scale_free(rel_error, rng):
    """Multiplying both arrays by a number changes nothing."""
    for scale in (1e-12, 1e-6, 1.0, 1e6, 1e12):
        a, b = pair(rng, scale)
        came, right = error_of(rel_error, a, b), relative(a, b).max()
        if not close(came, right, 1e-9):
            says = f"With entries near {scale:g} rel_error is {came:.4g}, expected {right:.4g}"
            hint = ": the number that guards 0/0 is too large, or added; take about 1e-300"
            refuse(rel_error, rng, says + hint * (scale < 1) + ".")


@behaviour("two zeros give 0", "rel_error")
def check_zeros(rel_error, rng):
    """An entry that is 0 in both arrays has no error; beside others it decides nothing."""
    if (came := error_of(rel_error, np.zeros(3), np.zeros(3))) != 0:
        fail(f"Two zeros give {came:g}: their error is 0.")
    a, b = pair(rng)
    a[2] = b[2] = 0
    came, right = (
        error_of(rel_error, a, b),
        np.delete(relative(a + (a == 0), b + (b == 0)), 2).max(),
    )
    if not close(came, right, 1e-9):
        fail(
            f"With a pair of zeros among the entries rel_error is {came:.4g}, expected {right:.4g}."
        )
    if not close(error_of(rel_error, np.array([0.0, 1]), np.array([1e-3, 1])), 1.0, 1e-6):
        refuse(
            rel_error,
            rng,
            "A zero against a number that is not 0 is an error of 1: |a − b| / max(|a|, |b|).",
        )


@behaviour("symmetric in a and b", "rel_error")
def check_symmetric(rel_error, rng):
    """rel_error(a, b) is rel_error(b, a), and both are right."""
    a, b = pair(rng)
    if not close(error_of(rel_error, a, b), error_of(rel_error, b, a), 1e-9):
        refuse(
            rel_error,
            rng,
            "rel_error(a, b) is not rel_error(b, a): divide by the larger of |a| and |b|.",
        )
    compare(rel_error, a, b, rng)


__all__ = [name for name in globals() if name.startswith("check_")]
