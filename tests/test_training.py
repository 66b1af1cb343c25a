"""training: the classifier's backward pass against central differences and PyTorch, and its bugs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backprop_course.activations import cross_entropy
from backprop_course.checks.turns.training import check_train_digits
from backprop_course.figures import training as figures
from backprop_course.training import (
    BUGS,
    RIGHT,
    accuracy,
    forward,
    gradient_norms,
    gradients,
    init_mlp,
    load_digits,
    sgd_step,
    train,
)

sizes = st.lists(st.integers(1, 6), min_size=2, max_size=4).map(lambda s: (*s, 3))


def batch(n, B, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(B, n)), rng.integers(0, 3, B)


@given(sizes, st.integers(1, 5), st.integers(0, 2**31))
def test_the_gradients_of_any_mlp_are_pytorchs(sizes, B, seed):
    torch = pytest.importorskip("torch")
    X, labels = batch(sizes[0], B, seed)
    layers = init_mlp(*sizes, seed=seed)
    loss, grads = gradients(X, labels, layers)
    A = torch.tensor(X)
    leaves = [[torch.tensor(P, requires_grad=True) for P in layer] for layer in layers]
    for k, (W, b) in enumerate(leaves):
        A = (A.relu() if k else A) @ W + b
    reference = torch.nn.functional.cross_entropy(A, torch.tensor(labels))
    reference.backward()
    assert loss == pytest.approx(reference.item(), rel=1e-12)
    for layer, slopes in zip(leaves, grads, strict=True):
        for P, dP in zip(layer, slopes, strict=True):
            np.testing.assert_allclose(dP, P.grad.numpy(), rtol=1e-9, atol=1e-13)


def central_difference(P, index, loss, h=1e-5):
    here = P[index]
    P[index] = here + h
    up = loss()
    P[index] = here - h
    down = loss()
    P[index] = here
    return (up - down) / (2 * h)


def test_every_entry_of_every_gradient_agrees_with_central_differences():
    # Curriculum 7.1: relative error below 1e-7 in float64 on random weights.
    X, labels = batch(5, 4, seed=3)
    layers = init_mlp(5, 7, 6, 3, seed=3)
    _, grads = gradients(X, labels, layers)

    def loss():
        return cross_entropy(forward(X, layers)[0], labels)

    for layer, slopes in zip(layers, grads, strict=True):
        for P, dP in zip(layer, slopes, strict=True):
            numeric = [central_difference(P, index, loss) for index in np.ndindex(P.shape)]
            gap = np.linalg.norm(numeric - dP.ravel()) / np.linalg.norm(dP)
            assert gap < 1e-7


@pytest.mark.parametrize("bug", BUGS)
def test_each_bug_runs_without_an_error_and_is_wrong(bug):
    X, labels = batch(6, 5, seed=1)
    layers = init_mlp(6, 6, 6, 3, seed=1)
    right, wrong = (gradients(X, labels, layers, rules)[1] for rules in (RIGHT, BUGS[bug]))
    gaps = [
        np.linalg.norm(r - w) / max(np.linalg.norm(r), np.linalg.norm(w))
        for layer, other in zip(right, wrong, strict=True)
        for r, w in zip(layer, other, strict=True)
    ]
    assert max(gaps) > 0.1


def test_leaving_out_the_mean_multiplies_every_gradient_by_the_batch_size():
    X, labels = batch(4, 5, seed=2)
    layers = init_mlp(4, 6, 3, seed=2)
    right = gradient_norms(gradients(X, labels, layers)[1])
    left_out = gradient_norms(gradients(X, labels, layers, BUGS["mean left out"])[1])
    twice = gradient_norms(gradients(X, labels, layers, BUGS["mean taken twice"])[1])
    np.testing.assert_allclose(left_out, 5 * np.array(right), rtol=1e-12)
    np.testing.assert_allclose(twice, np.array(right) / 5, rtol=1e-12)


def test_a_step_moves_weights_against_the_gradient_in_place():
    W, b = np.ones((2, 3)), np.ones(3)
    sgd_step([(W, b)], [(np.full((2, 3), 2.0), np.full(3, 4.0))], rate=0.5)
    np.testing.assert_array_equal(W, np.zeros((2, 3)))
    np.testing.assert_array_equal(b, -np.ones(3))


def test_weights_start_with_variance_two_over_the_number_of_inputs():
    (W, b), _ = init_mlp(400, 300, 10, seed=0)
    assert np.var(W) == pytest.approx(2 / 400, rel=0.02)
    assert not b.any()


def test_gradients_keep_float32():
    X, labels = batch(4, 5, seed=2)
    _, grads = gradients(X.astype(np.float32), labels, init_mlp(4, 6, 3, dtype=np.float32))
    assert {dP.dtype for layer in grads for dP in layer} == {np.dtype(np.float32)}


@pytest.fixture(scope="module")
def digits():
    pytest.importorskip("sklearn")
    return load_digits()


def test_the_digits_are_1797_images_in_the_unit_interval(digits):
    X, labels, X_test, labels_test = digits
    assert len(X) + len(X_test) == len(labels) + len(labels_test) == 1797
    assert X.shape[1] == 64
    assert X.min() == 0
    assert X.max() == 1


def test_ten_seeds_of_ten_pass_95_percent_in_500_steps(digits):
    # Curriculum 7.1.
    for seed in range(10):
        layers = init_mlp(64, 64, 10, seed=seed)
        train(digits, layers, steps=500, seed=seed)
        assert accuracy(*digits[2:], layers) > 0.95


def test_a_wrong_mask_ends_as_good_as_the_right_one(digits):
    # Lesson 07, prediction 1.
    layers = init_mlp(64, 64, 64, 10, seed=0)
    history = train(digits, layers, steps=300, rules=BUGS["mask of the next layer"])
    assert history["accuracy"][-1] > 0.95


def test_masks_of_neighbouring_layers_differ_in_about_half_of_their_entries(digits):
    # Lesson 07, section 7.5.
    (_, Z1), (_, Z2), _ = forward(digits[0], init_mlp(64, 64, 64, 10, seed=0))[1]
    assert 0.4 < np.mean((Z1 > 0) != (Z2 > 0)) < 0.6


def test_gradients_that_are_not_zeroed_grow(digits):
    right, held = (
        train(digits, init_mlp(64, 64, 10, seed=0), steps=30, zero_grad=zero)["norms"]
        for zero in (True, False)
    )
    np.testing.assert_array_equal(right[0], held[0])
    assert (held[-1] > 3 * right[-1]).all()


def answer(X, labels, layers, steps=500, rate=0.5):
    """What lesson 07's your-turn cell asks for."""
    rng = np.random.default_rng(0)
    for _ in range(steps):
        rows = rng.integers(0, len(X), 64)
        sgd_step(layers, gradients(X[rows], labels[rows], layers)[1], rate)
    return layers


@pytest.mark.parametrize(
    ("train", "verdict"),
    [
        (answer, "✓ digits above 95%"),
        (lambda X, labels, layers: ..., "not answered yet"),
        (lambda X, labels, layers: layers, "have not moved"),
        (lambda X, labels, layers: answer(X, labels, layers, steps=9, rate=-0.5), "against"),
        (lambda X, labels, layers: answer(X, labels, layers, steps=30), "train longer"),
    ],
)
def test_the_your_turn_cell_is_told_what_is_wrong(train, verdict, digits, capsys):
    with np.errstate(all="ignore"):
        check_train_digits(train)
    assert verdict in capsys.readouterr().out


@pytest.mark.filterwarnings("error")
def test_figures_draw_without_a_warning_and_say_what_they_show(digits):
    runs = {
        name: train(digits, init_mlp(64, 64, 10, seed=0), steps=40, zero_grad=zero)
        for name, zero in (("right", True), ("H", False))
    }
    pictures = {
        "12 handwritten digits": figures.digits(digits[0], digits[1]),
        "falls from 2.46 to about": figures.learning_curves(runs["right"]),
        "12 hidden units": figures.first_layer_gradients(np.eye(64)),
        "for: right, H": figures.gradient_norms(runs),
        "Accuracy at the end: right 8": figures.symptoms(runs),
        "so caught: B.": figures.error_dots({"A": [1e-12, 1e-9], "B": [0.1, 1e-9]}),
    }
    for words, picture in pictures.items():
        assert words in picture.alt
        assert picture.png().startswith(b"\x89PNG")
