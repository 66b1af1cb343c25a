"""Your turn in lesson 04: the best step."""

from ...gradcheck import best_step
from ._say import report

__all__ = ["check_best_step"]


@report("the best step for sin at 1 in float64")
def check_best_step(h):
    import math

    right = best_step(math.sin(1), math.cos(1))
    if not isinstance(h, (int, float)):
        return f"h is a {type(h).__name__}, expected a number"
    if h <= 0:
        return f"h is {h}: a step is positive"
    if abs(h - right) < 0.02 * right:
        return True
    if abs(h - best_step(math.cos(1), math.sin(1))) < 0.02 * right:
        return "f and f''' are swapped: f belongs above, f''' below"
    if abs(h - right / 3 ** (1 / 3)) < 0.02 * right:
        return "the factor 3 is missing: it comes from differentiating h²"
    return (
        f"{h:.2g} is {h / right:.2g} times the best step: u is 1.1e-16, and the root is a cube root"
    )
