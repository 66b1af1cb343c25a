"""gradcheck: difference quotients, their error models and the cheap checks; lesson 04."""

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


COS_1 = math.cos(1)


def error(h, f=math.sin, x=1.0, slope=COS_1):
    return abs(gc.central_difference(f, x, h) - slope)


# ---- the formulas that the lesson prints, derived again by sympy ---------------------------


def series_of(quotient):
    """The Taylor series in h of quotient(f, x, h) − f'(x) for a general f, up to h²."""
    x, h = sympy.symbols("x h")
    d = sympy.symbols("f0:6")  # f and its derivatives at x

    def f(shift):
        return sum(d[k] * (shift - x) ** k / math.factorial(k) for k in range(6))

    return sympy.Poly(sympy.expand(sympy.simplify(quotient(f, x, h) - d[1])), h), d


def test_the_central_differences_error_starts_with_h_squared_f_triple_prime_over_6():
    series, d = series_of(gc.central_difference)
    assert series.coeff_monomial(1) == series.coeff_monomial("h") == 0
    assert series.coeff_monomial("h**2") == d[3] / 6
    assert displayed(
        LESSON, r"\frac{f(x+h) - f(x-h)}{2h} = f'(x) + \tfrac{h^2}{6} f'''(x) + O(h^4)"
    )
    assert gc.truncation_error(-12.0, 0.5) == 0.5  # 0.25 · 12 / 6


def test_the_forward_differences_error_starts_with_h_f_double_prime_over_2():
    series, d = series_of(gc.forward_difference)
    assert series.coeff_monomial(1) == 0
    assert series.coeff_monomial("h") == d[2] / 2
    assert displayed(LESSON, r"\frac{f(x+h) - f(x)}{h} = f'(x) + \tfrac{h}{2} f''(x) + O(h^2)")


def test_the_best_step_is_where_the_derivative_of_the_error_model_is_zero():
    h, u, f, third = sympy.symbols("h u f third", positive=True)
    model = h**2 * third / 6 + u * f / h
    (best,) = sympy.solve(sympy.diff(model, h), h)
    assert sympy.simplify(best - (3 * u * f / third) ** sympy.Rational(1, 3)) == 0
    assert sympy.diff(model, h, 2).is_positive
    assert displayed(LESSON, r"h^* = \left( \frac{3\,u\,|f|}{|f'''|} \right)^{1/3}")
    assert displayed(LESSON, r"E'(h) = \tfrac{h}{3} |f'''| - \tfrac{u\,|f|}{h^2} = 0")
    assert sympy.simplify(model.subs(h, best) - sympy.Rational(3, 2) * u * f / best) == 0
    assert displayed(LESSON, r"E(h^*) = \tfrac32\,u\,|f| / h^*")
    number = best.subs({u: 2**-53, f: 0.7, third: 3})
    assert gc.best_step(0.7, 3.0) == pytest.approx(float(number), rel=1e-12)


def test_the_forward_differences_best_step_is_near_the_root_of_u():
    h, u, f, second = sympy.symbols("h u f second", positive=True)
    model = h * second / 2 + 2 * u * f / h
    (best,) = sympy.solve(sympy.diff(model, h), h)
    assert sympy.simplify(best - 2 * sympy.sqrt(u * f / second)) == 0
    assert sympy.simplify(model.subs(h, best) - 2 * sympy.sqrt(u * f * second)) == 0
    assert displayed(LESSON, r"h = 2\sqrt{u |f| / |f''|}")
    assert displayed(LESSON, r"2\sqrt{u |f| |f''|}")


def test_the_complex_steps_error_is_h_squared_f_triple_prime_over_6():
    d = sympy.symbols("f0:4", real=True)
    h = sympy.symbols("h", positive=True)
    value = sum(d[k] * (sympy.I * h) ** k / math.factorial(k) for k in range(4))
    assert sympy.expand(sympy.im(value) / h) == d[1] - d[3] * h**2 / 6
    assert displayed(
        LESSON,
        r"f(x + ih) = f(x) + i h f'(x) - \tfrac{h^2}{2} f''(x) - \tfrac{i h^3}{6} f'''(x) + \dots",
    )


def test_the_relative_error_is_the_one_displayed():
    assert displayed(
        LESSON, r"\frac{|g_{\text{num}} - g|}{\max(|g_{\text{num}}|, |g|, \text{tiny})}"
    )
    assert gc.relative_gap(3.0, 4.0) == 0.25
    assert gc.relative_gap(0.0, 0.0) == 0.0
    assert gc.relative_gap(-1e-200, 1e-200) == 2.0


# ---- curriculum 4.1: the best steps and their errors ---------------------------------------


@pytest.mark.parametrize(
    "precision, u, step, left",
    [("float64", 1.1e-16, "6.9e-06", "2.4e-11"), ("float32", 6.0e-8, "5.6e-03", "1.6e-05")],
)
def test_the_best_step_and_what_it_leaves(precision, u, step, left):
    assert gc.UNIT_ROUNDOFF[precision] == pytest.approx(u, rel=0.02)
    assert gc.UNIT_ROUNDOFF[precision] == np.finfo(precision).eps / 2
    assert f"{gc.best_step(precision=precision):.1e}" == step
    assert f"{gc.best_error(precision=precision):.1e}" == left


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(0.2, 5))
def test_no_other_step_makes_the_error_model_smaller(value, third, factor):
    h = factor * gc.best_step(value, third)
    model = gc.truncation_error(third, h) + gc.rounding_error(value, h)
    assert gc.best_error(value, third) <= model * (1 + 1e-12)


def test_the_best_step_without_a_third_derivative_is_refused_in_words():
    with pytest.raises(ValueError, match="no truncation error"):
        gc.best_step(1.0, 0.0)


# ---- curriculum 4.2: measured --------------------------------------------------------------


@pytest.mark.parametrize("h, came", [(1e-1, "9.0e-04"), (1e-3, "9.0e-08")])
def test_the_formulas_error_for_sin_at_1(h, came):
    assert f"{error(h):.1e}" == came


@pytest.mark.parametrize(
    "h, written", [(1e-5, 1.1e-11), (1e-7, 1.9e-10), (1e-9, 3e-9), (1e-11, 1.2e-6)]
)
def test_roundings_error_for_sin_at_1_is_what_the_lesson_quotes_within_a_few_units(h, written):
    # Rounding may differ in the last bit of sin, which is 1e-16 / 2h in the quotient.
    assert abs(error(h) - written) < max(0.1 * written, 2.0**-53 / h)
    model = gc.truncation_error(math.cos(1), h) + 1.6 * gc.rounding_error(math.sin(1), h)
    assert error(h) < model


def test_the_error_for_exp_at_0_and_a_step_of_1e_minus_4():
    assert f"{error(1e-4, math.exp, 0.0, 1.0):.1e}" == "1.7e-09"


@given(st.floats(0.3, 1.2), st.floats(-5, -1))
def test_the_error_of_sin_stays_below_the_model(x, exponent):
    h = 10.0**exponent
    # Two more roundings than the model counts: those of x ± h, worth u |x| |f'| / h.
    model = gc.truncation_error(math.cos(x), h) + 2 * gc.rounding_error(math.sin(x) + x, h)
    assert error(h, x=x, slope=math.cos(x)) < 1.01 * model


def test_a_difference_quotient_keeps_the_precision_of_x():
    for kind in (np.float32, np.float64):
        assert gc.central_difference(np.sin, kind(1), kind(0.01)).dtype == kind
        assert gc.forward_difference(np.sin, kind(1), kind(0.01)).dtype == kind


# ---- the cheap checks ----------------------------------------------------------------------


@given(st.floats(-3, 3))
def test_the_complex_step_is_right_to_the_last_digits(x):
    slope = gc.complex_step(lambda z: np.exp(z) * np.sin(z), x)
    exact = np.exp(x) * (np.sin(x) + np.cos(x))
    assert abs(slope - exact) < 1e-14 * np.exp(x)


def bowl(x):
    return float(np.sum(np.tanh(x) ** 2))


def bowl_gradient(x):
    return 2 * np.tanh(x) * (1 - np.tanh(x) ** 2)


shapes = st.lists(st.integers(1, 5), min_size=0, max_size=3).map(tuple)


@given(shapes, st.integers(0, 2**31))
def test_one_direction_accepts_a_right_gradient(shape, seed):
    rng = np.random.default_rng(seed)
    x, v = rng.uniform(0.2, 1, size=shape), np.random.default_rng(seed + 1)
    gap = gc.directional_check(bowl, bowl_gradient(x), x, v)
    assert gap < 1e-4  # a direction nearly orthogonal to the gradient has a small slope


@given(shapes.filter(lambda s: math.prod(s) > 1), st.integers(0, 2**31))
def test_one_direction_sees_one_wrong_entry(shape, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.2, 1, size=shape)
    wrong = bowl_gradient(x)
    wrong.flat[0] *= 1.5
    assert gc.directional_check(bowl, wrong, x, np.random.default_rng(seed + 1)) > 1e-4


def test_the_directions_slope_is_divided_by_nothing_else():
    # f(x) = 3x: along v = ±1 the slope is ±3, whatever the generator draws.
    rng = np.random.default_rng(0)
    assert gc.directional_check(lambda x: 3 * float(x[0]), np.array([3.0]), np.ones(1), rng) < 1e-9
    assert gc.directional_check(
        lambda x: 3 * float(x[0]), np.array([6.0]), np.ones(1), rng
    ) == pytest.approx(0.5)


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 2**31))
def test_the_adjoint_identity_holds_for_the_transpose(n, m, seed):
    rng = np.random.default_rng(seed)
    A, x, y = rng.normal(size=(m, n)), np.zeros(n), np.zeros(m)
    assert gc.adjoint_gap(lambda w: A @ w, lambda v: v @ A, x, y, rng) < 1e-10
    scaled = gc.adjoint_gap(lambda w: A @ w, lambda v: 2 * v @ A, x, y, rng)
    assert scaled == pytest.approx(0.5)


def test_the_adjoint_identity_refuses_what_is_not_linear():
    rng = np.random.default_rng(0)
    A, x, y = rng.normal(size=(6, 4)), np.zeros(4), np.zeros(6)
    assert gc.adjoint_gap(lambda w: A @ w, lambda v: A.T @ np.abs(v), x, y, rng) > 1e-3


# ---- your turn, and the picture ------------------------------------------------------------


@pytest.mark.parametrize(
    "answer, said",
    [
        (8.04e-6, "✓"),
        (..., "not answered yet"),
        (5.98e-6, "swapped"),
        (5.57e-6, "factor 3"),
        (-1e-5, "positive"),
        ("1e-5", "str"),
        (1e-2, "times the best step"),
    ],
)
def test_the_check_of_the_best_step_names_the_mistake(answer, said, capsys):
    check_best_step(answer)
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("precision, best", [("float64", "8.0e-06"), ("float32", "6.5e-03")])
def test_the_v_curve_marks_the_best_step(precision, best):
    picture = v_curve(math.sin, math.cos(1), math.cos(1), 1.0, name="sin", precision=precision)
    assert best in picture.alt and precision in picture.alt
    assert picture.png() == picture.png()
