"""Lesson 07: train the classifier of lesson 03 by hand, and debug it by its gradients.

The network is a list of layers `[(W1, b1), (W2, b2), ...]` with a ReLU between neighbours. Its
backward pass is built from a few rules, `RIGHT`; each entry of `BUGS` gets one of them wrong.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import NamedTuple

import numpy as np

from backprop_course.activations import cross_entropy, cross_entropy_backward, relu_backward
from backprop_course.optional import require


def load_digits(test_fraction=0.25, seed=0, dtype=np.float64):
    """-> X (N, 64) in [0, 1], labels (N,) in 0..9, then X and labels of the test set.

    1797 handwritten digits of 8 by 8 pixels, from scikit-learn, shuffled by `seed`.
    """
    digits = require("sklearn.datasets", "the digits data set").load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    X, labels = (digits.data / 16).astype(dtype)[order], digits.target[order]
    n_test = round(test_fraction * len(labels))
    return X[n_test:], labels[n_test:], X[:n_test], labels[:n_test]


def init_mlp(*sizes, seed=0, dtype=np.float64):
    """Layer sizes (n, m, ..., K) -> [(W (n, m), b (m,)), ...]: W normal with variance 2/n, b 0.

    He et al., arXiv 1502.01852: this keeps the size of the ReLU activations over depth.
    """
    rng = np.random.default_rng(seed)
    return [
        ((rng.normal(size=(n, m)) * np.sqrt(2 / n)).astype(dtype), np.zeros(m, dtype))
        for n, m in zip(sizes[:-1], sizes[1:], strict=True)
    ]


def forward(X, layers):
    """X (B, n) -> logits Z (B, K), cache: for each layer its input A and pre-activation Z."""
    A, cache = X, []
    for W, b in layers:
        Z = A @ W  # (B, m)
        Z += b
        cache.append((A, Z))
        A = np.maximum(Z, 0)
    return Z, cache


class Rules(NamedTuple):
    """What a backward pass is made of; swap one to see what its mistake does."""

    loss: Callable  # (Z (B, K), labels (B,)) -> dZ (B, K)
    weights: Callable  # (dZ (B, m), A (B, n)) -> dW (n, m), db (m,)
    inputs: Callable  # (dZ (B, m), W (n, m)) -> dA (B, n)
    relu: Callable  # (dA (B, n), Z (B, n)) -> dZ (B, n)
    saved: Callable = list  # what the backward pass finds in the cache


RIGHT = Rules(
    loss=cross_entropy_backward,
    weights=lambda dZ, A: (A.T @ dZ, dZ.sum(axis=0)),
    inputs=lambda dZ, W: dZ @ W.T,
    relu=relu_backward,
)


def gradients(X, labels, layers, rules=RIGHT):
    """X (B, n), labels (B,) -> mean loss, [(dW, db), ...] in the order of the layers.

    The first layer's input needs no gradient, so its product dZ @ W.T is never computed.
    """
    Z, cache = forward(X, layers)
    loss, dZ = cross_entropy(Z, labels), rules.loss(Z, labels)
    cache, grads = rules.saved(cache), []
    for k in reversed(range(len(layers))):
        grads.append(rules.weights(dZ, cache[k][0]))
        if k:
            dZ = rules.relu(rules.inputs(dZ, layers[k][0]), cache[k - 1][1])
    return loss, grads[::-1]


def sgd_step(layers, grads, rate):
    """Move every weight against its gradient, in place. `grads` is used up."""
    for parameters, slopes in zip(layers, grads, strict=True):
        for P, dP in zip(parameters, slopes, strict=True):
            dP *= rate  # `P -= rate * dP` makes a copy: 6% of a step at 784-512-10, batch 64
            P -= dP


def accuracy(X, labels, layers):
    """Share of the examples whose largest logit is that of their label."""
    return float(np.mean(forward(X, layers)[0].argmax(axis=1) == labels))


def gradient_norms(grads):
    """[(dW, db), ...] -> the length of each dW as a vector, layer by layer."""
    return [float(np.linalg.norm(dW)) for dW, _ in grads]


def train(data, layers, steps=500, batch=64, rate=0.5, seed=0, rules=RIGHT, zero_grad=True):
    """Plain SGD, in place. -> history: a dict of arrays, one entry a step.

    data: X, labels, X_test, labels_test.  zero_grad=False adds each gradient to the last ones, the
    mistake of a forgotten `zero_grad()`.  loss: of the batch, before the step.  norms: (steps,
    layers).  accuracy: on the test set, every 10 steps, at the steps in `measured`.
    """
    X, labels, X_test, labels_test = data
    rng, held = np.random.default_rng(seed), None
    history = {"loss": [], "norms": [], "accuracy": [], "measured": []}
    for step in range(steps + 1):
        if step % 10 == 0 or step == steps:
            history["measured"].append(step)
            history["accuracy"].append(accuracy(X_test, labels_test, layers))
        if step == steps:
            break
        rows = rng.integers(0, len(X), batch)
        loss, grads = gradients(X[rows], labels[rows], layers, rules)
        if not zero_grad:
            held = grads if held is None else _added(held, grads)
            grads = deepcopy(held)
        history["loss"].append(loss)
        history["norms"].append(gradient_norms(grads))
        sgd_step(layers, grads, rate)
        _snap(layers)
    return {name: np.array(values) for name, values in history.items()}


def _snap(layers, grid=2.0**-20):
    """Round the weights to a grid, so that a run is the same however a CPU orders its sums.

    Otherwise the last bits differ from one machine to the next, and in a run that is wrong or
    unstable such differences grow until the curves are others.
    """
    for parameters in layers:
        for P in parameters:
            np.round(P / grid, out=P)
            P *= grid


def _added(held, grads):
    return [(dW + eW, db + eb) for (dW, db), (eW, eb) in zip(held, grads, strict=True)]


def _mask_of_the_next_layer(cache):
    """Every pre-activation replaced by that of the layer above, where the widths agree."""
    shifted = [Z for _, Z in cache[1:]] + [cache[-1][1]]
    return [(A, S if S.shape == Z.shape else Z) for (A, Z), S in zip(cache, shifted, strict=True)]


def _first_input_overwritten(cache):
    """The batch's buffer was filled with the next batch before the backward pass read it."""
    (A, Z), *rest = cache
    return [(np.roll(A, 1, axis=0), Z), *rest]


# Each is RIGHT with one rule wrong, in a way that runs without an error.
BUGS = {
    "mean left out": RIGHT._replace(loss=lambda Z, y: len(Z) * cross_entropy_backward(Z, y)),
    "mean taken twice": RIGHT._replace(loss=lambda Z, y: cross_entropy_backward(Z, y) / len(Z)),
    "dW transposed": RIGHT._replace(
        weights=lambda dZ, A: (
            dZ.T @ A if dZ.shape == A.shape else A.T @ dZ,
            dZ.sum(axis=0),
        )
    ),
    "W instead of W.T": RIGHT._replace(
        inputs=lambda dZ, W: dZ @ (W if W.shape[0] == W.shape[1] else W.T)
    ),
    "mask of the next layer": RIGHT._replace(saved=_mask_of_the_next_layer),
    "mask from h >= 0": RIGHT._replace(relu=lambda dA, Z: dA * (np.maximum(Z, 0) >= 0)),
    "input overwritten": RIGHT._replace(saved=_first_input_overwritten),
}
