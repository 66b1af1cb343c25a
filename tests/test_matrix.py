"""matrix: every backward against nudging and against PyTorch or the adjoint identity; costs; lesson 02."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from backprop_course.checks.turns.matrix import check_unbroadcast
from backprop_course.figures.matrix import products_to_scale
from backprop_course.matrix import (
    bias,
    bias_backward,
    frobenius,
    linear,
    linear_backward,
    linear_flops,
    training_flops,
    unbroadcast,
)

from .formulas import displayed

# Three sizes that all differ, 1 among them: a missing transpose cannot pass unseen.
sizes = st.lists(st.integers(1, 9), min_size=3, max_size=3, unique=True)
seeds = st.integers(0, 2**31)
LESSON = "02_matrix_backward"


def layer(B, n, m, seed, dtype=np.float64):
    """X, W, b and an upstream gradient, all random."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=s).astype(dtype) for s in ((B, n), (n, m), (m,), (B, m))]


def nudged(f, array, dY, h=1e-4):
    """⟨dY, f(array)⟩ differentiated with respect to each entry: exact where f is linear, but for rounding."""
    slopes = np.empty_like(array)
    for i in np.ndindex(array.shape):
        step = np.zeros_like(array)
        step[i] = h
        slopes[i] = ((f(array + step) - f(array - step)) * dY).sum() / (2 * h)
    return slopes


def close(came, right, rtol=1e-9):
    """Within rtol of the largest entry: rounding in a sum is relative to its terms, not to its result."""
    assert np.shape(came) == np.shape(right)
    assert np.abs(came - right).max() <= rtol * max(np.abs(right).max(), 1e-3)


# ---- the linear layer ----------------------------------------------------------------------


@given(sizes, seeds)
def test_a_linear_layers_backward_agrees_with_nudging(sizes, seed):
    X, W, b, dY = layer(*sizes, seed)
    dX, dW, db = linear_backward(dY, X, W, b)
    close(dX, nudged(lambda X: linear(X, W, b), X, dY))
    close(dW, nudged(lambda W: linear(X, W, b), W, dY))
    close(db, nudged(lambda b: linear(X, W, b), b, dY))


@given(sizes, seeds)
def test_a_linear_layers_backward_satisfies_the_adjoint_identity(sizes, seed):
    X, W, b, dY = layer(*sizes, seed)
    VX, VW, Vb, _ = layer(*sizes, seed + 1)
    dX, dW, db = linear_backward(dY, X, W, b)
    forward = frobenius(dY, VX @ W + X @ VW + Vb)  # ⟨dY, J v⟩
    backward = frobenius(dX, VX) + frobenius(dW, VW) + db @ Vb  # ⟨Jᵀ dY, v⟩
    size = np.abs(dY).sum() * np.abs(np.concatenate([VX.ravel(), VW.ravel(), Vb])).sum()
    assert abs(forward - backward) <= 1e-12 * (1 + size)


@given(sizes, seeds, st.sampled_from(["float32", "float64"]))
def test_a_linear_layers_backward_is_pytorchs(sizes, seed, dtype):
    torch = pytest.importorskip("torch")
    X, W, b, dY = layer(*sizes, seed, dtype)
    x, w, c = (torch.tensor(a, requires_grad=True) for a in (X, W, b))
    (x @ w + c).backward(torch.tensor(dY))
    for came, leaf in zip(linear_backward(dY, X, W, b), (x, w, c), strict=True):
        assert came.dtype == dtype
        close(came, leaf.grad.numpy(), 1e-12 if dtype == "float64" else 1e-5)


@given(sizes, seeds)
def test_a_bias_sends_the_adjoint_on_and_collects_its_column_sums(sizes, seed):
    B, _, m = sizes
    X, _, b, dY = layer(B, m, m, seed)
    dX, db = bias_backward(dY, X, b)
    close(dX, nudged(lambda X: bias(X, b), X, dY))
    close(db, nudged(lambda b: bias(X, b), b, dY))


def test_without_a_bias_no_gradient_of_one_comes_back():
    X, W, _, dY = layer(2, 3, 4, 0)
    assert len(linear_backward(dY, X, W)) == 2


def test_the_inputs_are_not_changed():
    arrays = layer(5, 3, 4, 0)
    before = [a.copy() for a in arrays]
    X, W, b, dY = arrays
    linear(X, W, b), linear_backward(dY, X, W, b)
    assert all(np.array_equal(a, c) for a, c in zip(arrays, before, strict=True))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, W, b, dY: linear(X, W.T), r"X has shape \(5, 3\), W \(4, 3\): expected"),
        (lambda X, W, b, dY: linear(X[0], W), r"X has shape \(3,\)"),
        (lambda X, W, b, dY: linear(X, W, b[:, None]), r"b has shape \(4, 1\), expected \(4,\)"),
        (lambda X, W, b, dY: linear_backward(dY.T, X, W), r"dY has shape \(4, 5\), X \(5, 3\)"),
        (lambda X, W, b, dY: linear_backward(dY, X[None], W), r"expected \(B, m\), \(B, n\)"),
        (lambda X, W, b, dY: unbroadcast(dY, (5, 3)), r"\(5, 3\) does not broadcast to \(5, 4\)"),
        (lambda X, W, b, dY: unbroadcast(dY, (1, 5, 4)), "does not broadcast"),
        (lambda X, W, b, dY: frobenius(X, W), "one shape"),
        (lambda X, W, b, dY: products_to_scale(0, 2, 3), "B is 0"),
    ],
)
def test_a_wrong_shape_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call(*layer(5, 3, 4, 0))


# ---- broadcasting --------------------------------------------------------------------------


@given(mutually_broadcastable_shapes(num_shapes=1, base_shape=(2, 3, 4), max_dims=3), seeds)
def test_unbroadcast_is_the_adjoint_of_broadcasting(shapes, seed):
    (shape,), full = shapes.input_shapes, shapes.result_shape
    rng = np.random.default_rng(seed)
    dY, v = rng.normal(size=full), rng.normal(size=shape)
    dX = unbroadcast(dY, shape)
    assert dX.shape == shape
    close(np.sum(dX * v), np.sum(dY * np.broadcast_to(v, full)), 1e-11)
    close(dX, nudged(lambda x: np.broadcast_to(x, full), v, dY))


@pytest.mark.parametrize("shape", [(), (4,), (1,), (3, 1), (1, 4), (1, 1), (2, 1, 1), (2, 3, 4)])
def test_unbroadcast_is_what_pytorch_does(shape):
    torch = pytest.importorskip("torch")
    dY = np.random.default_rng(0).normal(size=(2, 3, 4))
    x = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
    x.expand(2, 3, 4).backward(torch.tensor(dY))
    close(unbroadcast(dY, shape), x.grad.numpy(), 1e-12)


# ---- costs ---------------------------------------------------------------------------------


def test_pytorch_counts_the_same_flops_and_none_for_an_input_that_needs_no_gradient():
    pytest.importorskip("torch")
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    count = linear_flops(20, 30, 40)
    w = torch.ones(30, 40, requires_grad=True)
    for needs in (True, False):
        x = torch.ones(20, 30, requires_grad=needs)
        with FlopCounterMode(display=False) as forward:
            y = x @ w
        with FlopCounterMode(display=False) as backward:
            y.sum().backward()
        assert forward.get_total_flops() == count["forward"]
        assert backward.get_total_flops() == count["dW"] + (count["dX"] if needs else 0)


def test_curriculum_2_4_llamas_matrix_and_six_flops_per_weight_and_token():
    count = linear_flops(1, 4096, 14336)
    assert round(count["forward"] / 1e6, 1) == 117.4
    assert round((count["dX"] + count["dW"]) / 1e6, 1) == 234.9
    assert sum(count.values()) == training_flops(4096 * 14336, 1) == 6 * 4096 * 14336


# ---- what lesson 02 prints and shows -------------------------------------------------------


def test_curriculum_2_1_two_by_two_by_hand():
    X, W, dY = np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]]), np.array([[1, 2], [-1, 0]])
    dX, dW = linear_backward(dY, X, W)
    assert linear(X, W).tolist() == [[19, 22], [43, 50]]
    assert dX.tolist() == [[17, 23], [-5, -7]]
    assert dW.tolist() == [[-2, 2], [-2, 4]]


def test_the_displayed_rules_are_those_of_the_code():
    X, W, b, G = layer(5, 3, 4, 0)
    dX, dW, db = linear_backward(G, X, W, b)
    assert displayed(LESSON, r"dX = G W^{\mathsf T}, \qquad dW = X^{\mathsf T} G, \qquad db =")
    close(dX, G @ W.T)
    close(dW, X.T @ G)
    assert displayed(LESSON, r"dW_{kl} = \sum_i G_{il}\, X_{ik}")
    close(dW, np.einsum("il,ik->kl", G, X))
    assert displayed(LESSON, r"dX_{ik} = \sum_j G_{ij}\, W_{kj}")
    close(dX, np.einsum("ij,kj->ik", G, W))
    assert displayed(LESSON, r"db_j = \sum_i G_{ij}")
    close(db, np.einsum("ij->j", G))
    assert displayed(LESSON, r"dW = \sum_{i=1}^{B} x_i\, g_i^{\mathsf T}")
    close(dW, sum(np.outer(x, g) for x, g in zip(X, G, strict=True)))
    assert displayed(LESSON, r"\langle A, B C \rangle = \langle A C^{\mathsf T}, B \rangle")
    assert displayed(LESSON, r"\langle A, B C \rangle = \langle B^{\mathsf T} A, C \rangle")
    close(frobenius(G, X @ W), frobenius(G @ W.T, X))
    close(frobenius(G, X @ W), frobenius(X.T @ G, W))


def test_a_formula_with_a_wrong_sign_is_not_found_in_the_lesson():
    assert not displayed(LESSON, r"db_j = -\sum_i G_{ij}")


def test_the_picture_of_the_products_names_every_shape():
    alt = products_to_scale(3, 4, 5).alt
    assert "X (3 by 4) times W (4 by 5) is Y (3 by 5)" in alt
    assert products_to_scale(1, 1, 2).png()


# ---- the your-turn check -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("undo", "words"),
    [
        (unbroadcast, "✓"),
        (lambda dY, shape: ..., "not answered yet"),
        (lambda dY, shape: dY, "the result has shape (4, 3)"),
        (lambda dY, shape: unbroadcast(dY, shape) * np.prod(shape) / dY.size, "not their mean"),
        (lambda dY, shape: np.ones(shape), "the numbers differ"),
        (lambda dY, shape: dY[7], "IndexError"),
    ],
)
def test_the_check_of_unbroadcast_says_what_is_wrong(undo, words, capsys):
    check_unbroadcast(undo)
    assert words in capsys.readouterr().out
