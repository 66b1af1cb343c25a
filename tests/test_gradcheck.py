"""gradcheck: difference quotients, their error models, and the cheap checks; curriculum rows 4.1 to 4.5."""

import math

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from backprop_course import gradcheck as gc
from backprop_course.checks.turns.gradcheck import check_best_step
from backprop_course.figures.gradcheck import v_curve

from .formulas import displayed

LESSON = "04_gradient_checking"


def test_the_best_steps_and_errors_are_those_of_row_4_1():
    assert f"{gc.best_step():.1e} {gc.best_error():.1e}" == "6.9e-06 2.4e-11"
    best = gc.best_step(precision="float32"), gc.best_error(precision="float32")
    assert "{:.1e} {:.1e}".format(*best) == "5.6e-03 1.6e-05"


@pytest.mark.parametrize(
    ("h", "error"),
    [
        (1e-1, 9.0e-4),
        (1e-3, 9.0e-8),
        (1e-5, 1.1e-11),
        (1e-7, 1.9e-10),
        (1e-9, 3.0e-9),
        (1e-11, 1.2e-6),
    ],
)
def test_the_errors_of_the_sine_are_of_the_size_of_row_4_2(h, error):
    came = abs(gc.central_difference(math.sin, 1.0, h) - math.cos(1))
    # rounding depends on the last bits of a machine's sine: the size is held, not the digits
    assert came == pytest.approx(error, rel=0.02) if h > 1e-4 else came < 20 * error


def test_the_error_of_exp_at_0_is_that_of_row_4_2():
    assert f"{abs(gc.central_difference(math.exp, 0.0, 1e-4) - 1):.1e}" == "1.7e-09"


@given(st.floats(0.1, 10), st.floats(0.1, 10))
def test_the_best_step_is_where_the_error_model_is_least(value, third):
    def model(h):
        return gc.truncation_error(third, h) + gc.rounding_error(value, h)

    h = gc.best_step(value, third)
    assert model(h) <= min(model(0.9 * h), model(1.1 * h))
    assert gc.best_error(value, third) == model(h)


def test_a_straight_line_has_no_best_step():
    with pytest.raises(ValueError, match="no truncation error"):
        gc.best_step(1.0, 0.0)


def test_taylors_formula_gives_the_displayed_error_terms():
    assert displayed(
        LESSON, r"\frac{f(x+h) - f(x-h)}{2h} = f'(x) + \tfrac{h^2}{6} f'''(x) + O(h^4)"
    )
    assert displayed(LESSON, r"\frac{f(x+h) - f(x)}{h} = f'(x) + \tfrac{h}{2} f''(x) + O(h^2)")
    h, a = sympy.Symbol("h"), sympy.symbols("a1:6")
    poly = sum(c * h**k / sympy.factorial(k) for k, c in enumerate(a, 1))  # f(x + h) − f(x)
    central = sympy.expand((poly - poly.subs(h, -h)) / (2 * h))
    assert [central.coeff(h, k) for k in range(3)] == [a[0], 0, a[2] / 6]
    forward = sympy.expand(poly / h)
    assert [forward.coeff(h, k) for k in range(2)] == [a[0], a[1] / 2]


def test_the_displayed_best_step_makes_the_derivative_of_the_model_0():
    assert displayed(LESSON, r"h^* = \left( \frac{3\,u\,|f|}{|f'''|} \right)^{1/3}")
    assert displayed(LESSON, r"\tfrac{h}{3} |f'''| - \tfrac{u |f|}{h^2} = 0")
    h, u, f, third = sympy.symbols("h u f t", positive=True)
    slope = sympy.diff(h**2 * third / 6 + u * f / h, h)
    assert sympy.simplify(slope - (h * third / 3 - u * f / h**2)) == 0
    best = (3 * u * f / third) ** sympy.Rational(1, 3)
    assert sympy.simplify(slope.subs(h, best)) == 0
    values = {u: gc.UNIT_ROUNDOFF["float64"], f: 2.0, third: 5.0}
    assert math.isclose(best.subs(values), gc.best_step(2.0, 5.0))


def test_the_complex_step_is_right_to_the_last_digits():
    slope = gc.complex_step(lambda z: np.exp(z) * np.sin(z), 1.0)
    assert gc.relative_gap(slope, math.e * (math.sin(1) + math.cos(1))) < 1e-15


@given(st.integers(0, 10_000))
def test_one_direction_tells_a_right_gradient_from_a_wrong_one(seed):
    rng = np.random.default_rng(seed)
    A, x = rng.normal(size=(5, 4)), rng.normal(size=4)
    gradient = A.T @ np.cos(A @ x)

    def f(x):
        return np.sum(np.sin(A @ x))

    # the slope along one direction may be small beside the gradient: rounding is relative to f
    assert gc.directional_check(f, gradient, x, np.random.default_rng(seed)) < 1e-4
    assert gc.directional_check(f, 1.1 * gradient, x, np.random.default_rng(seed)) > 0.05


@given(st.integers(0, 10_000))
def test_the_adjoint_identity_holds_for_a_matrix_and_its_transpose(seed):
    rng = np.random.default_rng(seed)
    A, x, y = rng.normal(size=(5, 4)), np.zeros(4), np.zeros(5)
    assert gc.adjoint_gap(lambda w: A @ w, lambda v: A.T @ v, x, y, rng) < 1e-9
    assert gc.adjoint_gap(lambda w: A @ w, lambda v: 2 * A.T @ v, x, y, rng) > 0.1


def test_the_turn_names_what_is_wrong_with_a_step(capsys):
    right = gc.best_step(math.sin(1), math.cos(1))
    for h, words in (
        (right, "✓"),
        (gc.best_step(math.cos(1), math.sin(1)), "swapped"),
        (right / 3 ** (1 / 3), "factor 3 is missing"),
        (1e-10, "cube root"),
        (-1.0, "positive"),
        (..., "not answered yet"),
    ):
        check_best_step(h)
        assert words in capsys.readouterr().out


def test_the_picture_marks_the_best_step():
    alt = v_curve(np.sin, math.cos(1), math.cos(1), 1.0, name="sin").alt
    assert f"{gc.best_step(math.sin(1), math.cos(1)):.1e}" in alt
