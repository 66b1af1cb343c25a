"""Lesson 04, gradient checking: difference quotients of functions of one number, their errors, and cheap checks.

Differences of whole arrays are the student's to write; here are the scalar ones that the lesson
takes apart, and the checks that need only a direction.
"""

import numpy as np

# u, half the gap between 1 and the next number: the largest relative error of one rounding.
UNIT_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24}


def central_difference(f, x, h):
    """f: number -> number, x, h > 0 -> (f(x + h) − f(x − h)) / 2h, in the precision of x."""
    return (f(x + h) - f(x - h)) / (2 * h)


def forward_difference(f, x, h):
    """f, x, h > 0 -> (f(x + h) − f(x)) / h, in the precision of x."""
    return (f(x + h) - f(x)) / h


def complex_step(f, x, h=1e-100):
    """f: complex -> complex, analytic and real on the real line -> Im f(x + ih) / h.

    No difference is taken, so nothing cancels and h may be tiny. Squire and Trapp 1998,
    doi:10.1137/S003614459631241X.
    """
    return np.imag(f(x + 1j * h)) / h


def truncation_error(third, h):
    """|f'''|, h -> h² |f'''| / 6: what a central difference is off by on exact numbers."""
    return h**2 * np.abs(third) / 6


def rounding_error(value, h, precision="float64"):
    """|f|, h -> u |f| / h: what rounding f(x ± h) costs a central difference."""
    return UNIT_ROUNDOFF[precision] * np.abs(value) / h


def best_step(value=1.0, third=1.0, precision="float64"):
    """|f|, |f'''| -> h* = (3 u |f| / |f'''|)^(1/3), where h² |f'''| / 6 + u |f| / h is least."""
    if third == 0:
        raise ValueError("f''' is 0: a central difference has no truncation error; take a large h")
    return (3 * UNIT_ROUNDOFF[precision] * abs(value) / abs(third)) ** (1 / 3)


def best_error(value=1.0, third=1.0, precision="float64"):
    """The error model h² |f'''| / 6 + u |f| / h at its best step."""
    h = best_step(value, third, precision)
    return truncation_error(third, h) + rounding_error(value, h, precision)


def relative_gap(a, b):
    """Two numbers -> |a − b| / max(|a|, |b|), 0 for two zeros."""
    return 0.0 if a == b else abs(a - b) / max(abs(a), abs(b))


def directional_check(f, gradient, x, rng, h=1e-5):
    """f: array -> number, its gradient at x (as x) -> the relative gap of one random direction's slope.

    Compares (f(x + hv) − f(x − hv)) / 2h with ⟨gradient, v⟩ for a random v of length 1: two
    evaluations, however many entries x has.
    """
    v = rng.normal(size=np.shape(x))
    v /= np.linalg.norm(v)
    return relative_gap((f(x + h * v) - f(x - h * v)) / (2 * h), float(np.sum(gradient * v)))


def adjoint_gap(jvp, vjp, x, y, rng):
    """jvp(w) (as y), vjp(v) (as x) -> the relative gap of ⟨v, J w⟩ and ⟨Jᵀ v, w⟩ for random v, w.

    The adjoint identity holds for every linear map: it tests a backward against its forward without
    any step size.
    """
    w, v = rng.normal(size=np.shape(x)), rng.normal(size=np.shape(y))
    return relative_gap(float(np.sum(v * jvp(w))), float(np.sum(vjp(v) * w)))
