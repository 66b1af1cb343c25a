"""Pictures of lesson 04: the error of a difference quotient against its step."""

import numpy as np

from .. import gradcheck as gc
from .style import ERROR, MUTED, PARAMETER, VALUE, Picture, axes


def v_curve(f, slope, third, at, *, name="f", precision="float64") -> Picture:
    """|central difference − slope| against h, measured, with both error models dashed.

    f: float -> float; its values are rounded to `precision`. slope and third are f' and f''' at `at`.
    """
    kind = np.dtype(precision).type
    steps = np.logspace(-13, 0, 105) if precision == "float64" else np.logspace(-6, 0, 73)

    def rounded(x):
        # NumPy's own functions differ in the last bit between processors; this does not.
        return kind(f(float(x)))

    quotients = [gc.central_difference(rounded, kind(at), kind(h)) for h in steps]
    errors = np.abs(np.array(quotients, dtype=float) - slope)
    value = abs(f(at))
    best = gc.best_step(value, third, precision)
    figure, ax = axes(height=3.4)
    ax.loglog(steps, np.maximum(errors, 1e-17), ".", color=VALUE, ms=4, label="measured")
    ax.loglog(steps, gc.truncation_error(third, steps), "--", color=PARAMETER, label="h² |f‴| / 6")
    bound = gc.rounding_error(value, steps, precision)
    ax.loglog(steps, bound, ":", color=ERROR, label="u |f| / h")
    ax.axvline(best, color=MUTED, lw=1)
    ax.annotate(f"best h ≈ {best:.1e}", (best, 0.6), xycoords=("data", "axes fraction"), fontsize=9)
    low = 1e-14 if precision == "float64" else 1e-8
    ax.set(xlabel="step h", ylabel="error", ylim=(low, 10), title=f"{name} in {precision}")
    ax.legend(loc="lower left", fontsize=8)
    return Picture(
        figure,
        f"The error of a central difference of {name} at {at:g} in {precision} against the step, both axes "
        "logarithmic. It forms a V: from the right it falls with h squared along one dashed line, to the "
        f"left of {best:.1e} it rises with 1/h, scattered about the other.",
    )
