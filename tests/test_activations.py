"""activations: every backward against sympy, nudging, identities and PyTorch; stability; lesson 03."""

import math

import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from backprop_course import activations as act
from backprop_course.checks.turns.activations import check_gelu_slope, check_softmax_vjp
from backprop_course.figures import activations as figures
from backprop_course.matrix import linear, linear_backward

from .formulas import displayed

LESSON = "03_activations"
ELEMENTWISE = ("relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid")
SMOOTH = ELEMENTWISE[1:]
ROWWISE = ("softmax", "log_softmax")

x = sp.Symbol("z", real=True)
SYMBOLIC = {
    "gelu": x * (1 + sp.erf(x / sp.sqrt(2))) / 2,
    "gelu_tanh": x / 2 * (1 + sp.tanh(sp.sqrt(2 / sp.pi) * (x + sp.Rational("0.044715") * x**3))),
    "silu": x / (1 + sp.exp(-x)),
    "tanh": sp.tanh(x),
    "sigmoid": 1 / (1 + sp.exp(-x)),
}
shapes = st.lists(st.integers(1, 6), min_size=2, max_size=2, unique=True)
seeds = st.integers(0, 2**31)


def pair(name):
    return getattr(act, name), getattr(act, f"{name}_backward")


def exactly(expression, points):
    """sympy's expression at the points, in 250 digits (1 + erf cancels), rounded once."""
    with mpmath.workdps(250):
        f = sp.lambdify(x, expression, "mpmath")
        return np.array([float(f(mpmath.mpf(float(p)))) for p in points])


def nudged(f, Z, dY, h=1e-5):
    """⟨dY, f(Z)⟩ differentiated by central differences with respect to each entry of Z."""
    slopes = np.empty_like(Z)
    for i in np.ndindex(Z.shape):
        step = np.zeros_like(Z)
        step[i] = h
        slopes[i] = np.sum((f(Z + step) - f(Z - step)) * dY) / (2 * h)
    return slopes


def logits(shape, seed, size=2.0):
    rng = np.random.default_rng(seed)
    return size * rng.normal(size=shape), rng.normal(size=shape)


# ---- elementwise ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMOOTH)
def test_values_and_slopes_are_those_sympy_derives(name):
    f, backward = pair(name)
    points = np.array([-8.5, -6, -2, -1, -0.7518, -1e-9, 0, 1e-9, 0.3, 1, 2, 5, 12])
    np.testing.assert_allclose(f(points), exactly(SYMBOLIC[name], points), rtol=1e-12, atol=1e-15)
    slope = exactly(sp.diff(SYMBOLIC[name], x), points)
    np.testing.assert_allclose(backward(1.0, points), slope, rtol=1e-10, atol=2e-15)


@pytest.mark.parametrize("name", ["gelu", "silu", "tanh", "sigmoid"])
def test_slopes_keep_their_digits_far_out(name):
    points = np.array([-30.0, -20, -12, 12, 20, 30])
    slope = exactly(sp.diff(SYMBOLIC[name], x), points)
    np.testing.assert_allclose(pair(name)[1](1.0, points), slope, rtol=1e-12)


def test_the_normal_distribution_function_keeps_its_digits_far_out():
    points = np.array([-37.0, -20, -8, -3, -1, -0.1, 0, 0.1, 1, 3, 8])
    with mpmath.workdps(40):
        right = np.array([float(mpmath.ncdf(mpmath.mpf(float(p)))) for p in points])
    # Φ's own condition number is about z² in the left tail: rounding z already costs z² u.
    assert (np.abs(act.normal_cdf(points) / right - 1) < 1e-15 * (2 + points**2)).all()


@pytest.mark.parametrize("name", ELEMENTWISE)
@given(shape=shapes, seed=seeds)
def test_elementwise_backward_agrees_with_nudging(name, shape, seed):
    f, backward = pair(name)
    Z, dY = logits(shape, seed)
    Z[np.abs(Z) < 1e-3] = 0.5  # nudging must not cross the kink
    np.testing.assert_allclose(backward(dY, Z), nudged(f, Z, dY), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*ELEMENTWISE, *ROWWISE])
def test_every_backward_is_pytorchs_and_keeps_the_dtype(name, dtype):
    torch = pytest.importorskip("torch")
    F = torch.nn.functional
    theirs = {
        "gelu_tanh": lambda t: F.gelu(t, approximate="tanh"),
        "softmax": lambda t: t.softmax(-1),
        "log_softmax": lambda t: t.log_softmax(-1),
    }.get(name, getattr(F, name, None))
    f, backward = pair(name)
    Z, dY = (a.astype(dtype) for a in logits((5, 7), 0))
    t = torch.tensor(Z, requires_grad=True)
    theirs(t).backward(torch.tensor(dY))
    tolerance = (
        {"rtol": 1e-10, "atol": 1e-13} if dtype == "float64" else {"rtol": 1e-4, "atol": 1e-6}
    )
    for came, right in ((f(Z), theirs(t).detach()), (backward(dY, Z), t.grad)):
        assert came.dtype == dtype
        np.testing.assert_allclose(came, right.numpy(), **tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*ELEMENTWISE, *ROWWISE])
def test_nothing_overflows_at_a_thousand(name, dtype):
    f, backward = pair(name)
    Z = np.array([[-1000, -100, 0, 100, 1000]], dtype=dtype)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert np.isfinite(f(Z)).all()
        assert np.isfinite(backward(np.ones_like(Z), Z)).all()


def test_relu_sends_nothing_back_at_the_kink_and_no_negative_zero():
    Z = np.array([-1.0, -0.0, 0.0, 5e-324, 1.0])
    came = act.relu_backward(-np.ones(5), Z)
    assert came.tolist() == [0, 0, 0, -1, -1]
    assert not np.signbit(came[:3]).any()


# ---- softmax and cross-entropy -------------------------------------------------------------


@pytest.mark.parametrize("name", ROWWISE)
@given(shape=shapes, seed=seeds)
def test_rowwise_backward_agrees_with_nudging_and_the_jacobian(name, shape, seed):
    f, backward = pair(name)
    Z, dY = logits(shape, seed)
    came = backward(dY, Z)
    np.testing.assert_allclose(came, nudged(f, Z, dY), rtol=1e-7, atol=1e-9)
    for row, d, z in zip(came, dY, Z, strict=True):
        p, eye = act.softmax(z), np.eye(len(z))
        J = np.diag(p) - np.outer(p, p) if name == "softmax" else eye - p  # (k, j): ∂out_k/∂z_j
        np.testing.assert_allclose(row, d @ J, rtol=1e-12, atol=1e-14)


def test_sympy_derives_the_softmax_jacobian_and_p_minus_y():
    z = sp.symbols("z:3", real=True)
    y = sp.symbols("y:2", real=True)
    y = (*y, 1 - sum(y))  # any target that sums to 1
    total = sum(sp.exp(a) for a in z)
    p = [sp.exp(a) / total for a in z]
    for k in range(3):
        for j in range(3):
            assert sp.simplify(sp.diff(p[k], z[j]) - (p[k] * int(k == j) - p[k] * p[j])) == 0
    loss = -sum(a * b for a, b in zip(y, z, strict=True)) + sp.log(total)
    for k in range(3):
        assert sp.simplify(sp.diff(loss, z[k]) - (p[k] - y[k])) == 0
        assert sp.simplify(sp.diff(sp.log(total), z[k]) - p[k]) == 0


@given(B=st.integers(1, 6), K=st.integers(1, 7), seed=seeds, soft=st.booleans())
def test_cross_entropys_backward_agrees_with_nudging_and_pytorch(B, K, seed, soft):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    Z = 2 * rng.normal(size=(B, K))
    Y = act.softmax(rng.normal(size=(B, K))) if soft else rng.integers(0, K, B)
    came = act.cross_entropy_backward(Z, Y)
    np.testing.assert_allclose(
        came, nudged(lambda Z: act.cross_entropy(Z, Y), Z, 1.0), rtol=1e-7, atol=1e-9
    )
    t = torch.tensor(Z, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(t, torch.tensor(Y))
    loss.backward()
    assert math.isclose(act.cross_entropy(Z, Y), loss.item(), rel_tol=1e-12, abs_tol=1e-14)
    np.testing.assert_allclose(came, t.grad.numpy(), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_logits_of_a_thousand_give_the_exact_loss_and_gradient(dtype):
    Z = np.array([[1000, 0, -1000], [1000, 1000, -1000]], dtype=dtype)
    labels = np.array([2, 0])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        loss, dZ = act.cross_entropy(Z, labels), act.cross_entropy_backward(Z, labels)
    assert loss.dtype == dZ.dtype == dtype
    assert loss == pytest.approx(
        (2000 + math.log(2)) / 2, rel=1e-15 if dtype == "float64" else 1e-7
    )
    assert dZ.tolist() == [[0.5, 0, -0.5], [-0.25, 0.25, 0]]
    # log ½ itself, not the difference of two rounded thousands
    assert act.log_softmax(Z)[1, 0] == np.log(np.array(0.5, dtype))


def test_targets_take_the_dtype_of_the_logits():
    Z = np.zeros((2, 3), np.float32)
    for Y in (np.array([0, 2]), np.eye(3)[[0, 2]], np.eye(3, dtype=int)[[0, 2]]):
        assert act.targets(Z, Y).dtype == act.cross_entropy_backward(Z, Y).dtype == np.float32


@pytest.mark.parametrize(
    ("Z", "Y", "words"),
    [
        (
            np.zeros((0, 3)),
            np.zeros(0, int),
            r"Z has shape \(0, 3\): expected \(B, K\) with at least",
        ),
        (np.zeros((2, 0)), np.zeros(2, int), "at least one example and class"),
        (np.zeros(3), np.zeros(3, int), r"expected \(B, K\)"),
        (np.zeros((2, 3)), np.array([0, 3]), "labels from 0 to 3: expected 0 to 2"),
        (np.zeros((2, 3)), np.array([-1, 0]), "labels from -1"),
        (np.zeros((2, 3)), np.array([0.0, 1.0]), r"Y is float64 \(2,\): expected labels"),
        (np.zeros((2, 3)), np.zeros((3, 2)), "rows"),
        (np.zeros((2, 3)), np.ones((2, 3)), "does not sum to 1"),
    ],
)
def test_what_is_no_batch_or_no_target_is_refused(Z, Y, words):
    for f in (act.cross_entropy, act.cross_entropy_backward):
        with pytest.raises(ValueError, match=words):
            f(Z, Y)


# ---- curriculum numbers --------------------------------------------------------------------


def test_curriculum_3_2_gelus_at_five_points_and_their_gaps_on_a_grid():
    z = np.array([-2.0, -1, 0, 1, 2])
    exact, tanh = act.gelu_backward(1.0, z), act.gelu_tanh_backward(1.0, z)
    assert np.round(exact, 6).tolist() == [-0.085232, -0.083315, 0.5, 1.083315, 1.085232]
    assert np.round(tanh, 6).tolist() == [-0.086099, -0.082964, 0.5, 1.082964, 1.086099]
    assert (round(float(act.normal_cdf(1.0)), 4), round(act.normal_pdf(1.0), 4)) == (0.8413, 0.2420)
    grid = np.linspace(-6, 6, 120_001)
    assert f"{np.abs(act.gelu(grid) - act.gelu_tanh(grid)).max():.12f}" == "0.000473235519"
    slope = act.gelu_backward(1.0, grid)
    gap = np.abs(slope - act.gelu_tanh_backward(1.0, grid)).max()
    assert f"{gap:.12f}" == "0.000868451829"
    nudged = (act.gelu_tanh(grid + 1e-5) - act.gelu_tanh(grid - 1e-5)) / 2e-5
    # round-off in the difference is near 1e-11, so the last digits of 0.000868451840 may vary
    assert np.abs(slope - nudged).max() == pytest.approx(0.000868451840, abs=2e-11)


def test_curriculum_3_2_gelu_is_least_near_minus_three_quarters():
    z = np.linspace(-1, -0.5, 50_001)
    assert z[act.gelu(z).argmin()] == pytest.approx(-0.7518, abs=1e-4)
    assert act.gelu(z).min() == pytest.approx(-0.1700, abs=1e-4)


def test_curriculum_3_4_and_3_5_logits_2_1_0():
    Z, Y = np.array([[2.0, 1, 0]]), np.array([1])
    assert np.round(act.softmax(Z)[0], 4).tolist() == [0.6652, 0.2447, 0.09]
    dZ = act.cross_entropy_backward(Z, Y)[0]
    assert np.round(dZ, 4).tolist() == [0.6652, -0.7553, 0.09]
    assert abs(dZ.sum()) < 1e-15
    assert round(128_256**2 / 1e9, 1) == 16.4


def test_curriculum_3_8_the_worked_example():
    X, W1 = np.array([[1.0, -1], [-1, 0]]), np.array([[1.0, 2], [-1, 1]])
    W2, labels = np.array([[1.0, -1], [-2, 2]]), np.array([0, 1])
    Z1 = linear(X, W1)
    A1 = act.relu(Z1)
    Z2 = linear(A1, W2)
    assert Z1.tolist() == [[2, 1], [-1, -2]]
    assert A1.tolist() == [[2, 1], [0, 0]]
    assert not Z2.any()
    assert act.cross_entropy(Z2, labels) == pytest.approx(math.log(2), rel=1e-15)
    G2 = act.cross_entropy_backward(Z2, labels)
    dA1, dW2, db2 = linear_backward(G2, A1, W2, np.zeros(2))
    G1 = act.relu_backward(dA1, Z1)
    _, dW1, db1 = linear_backward(G1, X, W1, np.zeros(2))
    assert G2.tolist() == [[-0.25, 0.25], [0.25, -0.25]]
    assert dW2.tolist() == [[-0.5, 0.5], [-0.25, 0.25]]
    assert db2.tolist() == [0, 0]
    assert dA1.tolist() == [[-0.5, 1], [0.5, -1]]
    assert G1.tolist() == [[-0.5, 1], [0, 0]]
    assert dW1.tolist() == [[-0.5, 1], [0.5, -1]]
    assert db1.tolist() == [-0.5, 1]


# ---- what lesson 03 displays ---------------------------------------------------------------

SIGMA, PHI = act.sigmoid, act.normal_cdf


def gelu_tanh_slope(z):
    c = math.sqrt(2 / math.pi)
    t = np.tanh(c * (z + 0.044715 * z**3))
    return (1 + t) / 2 + z / 2 * (1 - t**2) * c * (1 + 3 * 0.044715 * z**2)


FORMULAS = [
    (
        r"\text{gelu}'(z) = \Phi(z) + z\,\varphi(z)",
        lambda z: PHI(z) + z * act.normal_pdf(z),
        "gelu",
    ),
    (
        r"\text{gelu}_{\tanh}'(z) = \tfrac12 (1 + t) + \tfrac12\, z\,(1 - t^2)\,\sqrt{2/\pi}\,"
        r"\left(1 + 3 \cdot 0.044715\, z^2\right)",
        gelu_tanh_slope,
        "gelu_tanh",
    ),
    (r"\sigma' = \sigma\,(1 - \sigma)", lambda z: SIGMA(z) * (1 - SIGMA(z)), "sigmoid"),
    (
        r"\tanh' = \frac{\cosh \cdot \cosh - \sinh \cdot \sinh}{\cosh^2} = 1 - \tanh^2",
        lambda z: 1 - np.tanh(z) ** 2,
        "tanh",
    ),
    (
        r"\text{silu}'(z) = \sigma(z)\,\left(1 + z\,(1 - \sigma(z))\right)",
        lambda z: SIGMA(z) * (1 + z * (1 - SIGMA(z))),
        "silu",
    ),
]


@pytest.mark.parametrize(("formula", "code", "name"), FORMULAS, ids=[name for *_, name in FORMULAS])
def test_the_displayed_slope_is_that_of_the_code(formula, code, name):
    assert displayed(LESSON, formula)
    z = np.linspace(-6, 6, 41)
    np.testing.assert_allclose(pair(name)[1](1.0, z), code(z), rtol=1e-9, atol=1e-14)


def test_the_displayed_rules_of_softmax_and_loss_are_those_of_the_code():
    Z, V = logits((4, 3), 0)
    P, Y = act.softmax(Z), act.softmax(V)
    assert displayed(LESSON, r"p \odot \left(v - v^{\mathsf T} p\right)")
    vjp = [p * (v - v @ p) for p, v in zip(P, V, strict=True)]
    np.testing.assert_allclose(act.softmax_backward(V, Z), vjp, rtol=1e-12)
    assert displayed(LESSON, r"J = \text{diag}(p) - p\,p^{\mathsf T}")
    assert displayed(
        LESSON, r"\frac{\partial p_k}{\partial z_j} = -\frac{e^{z_k} e^{z_j}}{S^2} = -p_k\, p_j"
    )
    assert displayed(LESSON, r"\frac{\partial L}{\partial z} = p - y")
    assert displayed(LESSON, r"G = dZ = \frac{P - Y}{B}")
    np.testing.assert_allclose(act.cross_entropy_backward(Z, Y), (P - Y) / 4, rtol=1e-13)
    assert displayed(LESSON, r"L = -z_c + \log \sum_j e^{z_j}")
    loss = -Z[0, 2] + np.log(np.exp(Z[0]).sum())
    assert act.cross_entropy(Z[:1], np.array([2])) == pytest.approx(loss, rel=1e-14)
    assert displayed(LESSON, r"\log \sum_j e^{z_j} = m + \log \sum_j e^{z_j - m}")
    np.testing.assert_allclose(act.log_sum_exp(Z), np.log(np.exp(Z).sum(axis=1)), rtol=1e-13)


def test_the_displayed_recursion_of_the_mlp_theorem_holds_for_three_layers():
    assert displayed(LESSON, r"G_{l-1} = (G_l W_l^{\mathsf T}) \odot \sigma'(Z_{l-1})")
    assert displayed(
        LESSON, r"dW_l = A_{l-1}^{\mathsf T} G_l, \qquad db_l = \mathbf 1^{\mathsf T} G_l"
    )
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=s) for s in ((4, 5), (5, 6), (6, 3))]
    X, labels = rng.normal(size=(7, 4)), rng.integers(0, 3, 7)

    def forward(W):
        Zs, As = [], [X]
        for w in W:
            Zs.append(As[-1] @ w)
            As.append(act.gelu(Zs[-1]))
        return Zs, As

    Zs, As = forward(weights)
    G = act.cross_entropy_backward(Zs[-1], labels)
    for i in (2, 1, 0):

        def loss(w, i=i):
            return act.cross_entropy(forward([*weights[:i], w, *weights[i + 1 :]])[0][-1], labels)

        np.testing.assert_allclose(
            As[i].T @ G, nudged(loss, weights[i], 1.0), rtol=1e-6, atol=1e-10
        )
        if i:
            G = (G @ weights[i].T) * act.gelu_backward(1.0, Zs[i - 1])


def test_curriculum_3_7_the_adjoint_shrinks_or_grows_by_root_two_a_layer():
    kept = np.array(figures.adjoint_sizes(30, 64, np.sqrt(2 / 64), 0))
    assert 0.3 < kept[-1] / kept[0] < 3
    for variance, factor in ((1 / 64, 0.5**0.5), (4 / 64, 2**0.5)):
        sizes = figures.adjoint_sizes(30, 64, np.sqrt(variance), 0)
        # the same random numbers, scaled: the ratio to He's is the factor to the depth, exactly
        assert sizes[-1] / kept[-1] == pytest.approx(factor**30, rel=1e-9)


@pytest.mark.parametrize(
    "draw", [figures.values_and_slopes, figures.gelu_gap, figures.slopes_over_depth]
)
def test_each_picture_draws_and_says_what_it_shows(draw):
    picture = draw()
    assert len(picture.alt) > 60
    assert picture.png() == draw().png()


# ---- your-turn checks ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slope", "words"),
    [
        (lambda z: act.gelu_backward(1.0, z), "✓"),
        (lambda z: ..., "not answered yet"),
        (lambda z: act.normal_cdf(z), "Φ(z) alone"),
        (lambda z: act.normal_cdf(z) + act.normal_pdf(z), "factor z is missing"),
        (lambda z: act.gelu_tanh_backward(1.0, z), "✗"),
        (lambda z: 1.0, "it has shape ()"),
        (lambda z: z / [], "✗"),
    ],
)
def test_the_check_of_gelus_slope_says_what_is_wrong(slope, words, capsys):
    check_gelu_slope(slope)
    assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    ("vjp", "words"),
    [
        (lambda v, p: p * (v - (v * p).sum(axis=-1, keepdims=True)), "✓"),
        (
            lambda v, p: np.stack(
                [(np.diag(q) - np.outer(q, q)) @ w for q, w in zip(p, v, strict=True)]
            ),
            "✓",
        ),
        (lambda v, p: ..., "not answered yet"),
        (lambda v, p: p * v, "diagonal part alone"),
        (lambda v, p: p * (v - (v * p).sum()), "one sum for each row"),
        (lambda v, p: v * p * (1 - p), "sigmoid's slope"),
        (lambda v, p: v, "it is not p"),
        (lambda v, p: v[0], "it has shape (5,)"),
    ],
)
def test_the_check_of_softmaxs_vjp_says_what_is_wrong(vjp, words, capsys):
    check_softmax_vjp(vjp)
    assert words in capsys.readouterr().out
