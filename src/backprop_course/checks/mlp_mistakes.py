"""How `mlp_backward` goes wrong: each stage of the backward pass with the slips that happen in it.

A mistake is a formula: what it computes is compared with what the student's function returned, so
that a name is given on evidence only. `diagnose` finds the fewest mistakes that explain everything.
"""

import functools
import itertools
from typing import NamedTuple

import numpy as np

from ._core import close


class Mistake(NamedTuple):
    """One way to get a stage wrong: what it computes, and the sentence that names it."""

    compute: object
    sentence: str
    section: str = ""


def forward(case) -> dict:
    """The values of the forward pass by name, beside the arguments of `case`."""
    Z1 = case.X @ case.W1 + case.b1
    A1 = np.maximum(Z1, 0)
    Z2 = A1 @ case.W2 + case.b2
    P = softmax(Z2, axis=1)
    return case._asdict() | {"Z1": Z1, "A1": A1, "Z2": Z2, "P": P, "B": len(case.X)}


def softmax(Z, axis):
    E = np.exp(Z - Z.max(axis=axis, keepdims=True))
    return E / E.sum(axis=axis, keepdims=True)


def with_slope(v):
    """G where the loss's slope p − y was sent through the softmax once more."""
    D = v["P"] - v["Y"]
    return v["P"] * (D - (D * v["P"]).sum(axis=1, keepdims=True)) / v["B"]


def argmax_labels(Y):
    return np.eye(Y.shape[1])[Y.argmax(axis=1)]


CE = "Lesson 03, section 3.4: softmax and cross-entropy."
MEAN = "Lesson 03, section 3.6: the batch mean."
LINEAR = "Lesson 02, section 2.2: the backward of a linear layer."
RELU = "Lesson 03, section 3.1: ReLU."

# Stages in backward order. Each entry computes the stage from v, the values so far; the first is
# the right one. G is the adjoint of the logits Z2, H that of A1, M the ReLU's slope, G1 = H * M.
PIPELINE = {
    "G": [
        Mistake(lambda v: (v["P"] - v["Y"]) / v["B"], ""),
        Mistake(
            lambda v: v["P"] - v["Y"],
            "exactly {B} times too large, and B is {B}: the mean over the batch was left out",
            MEAN,
        ),
        Mistake(
            lambda v: (v["P"] - v["Y"]) / v["B"] ** 2,
            "exactly {B} times too small, and B is {B}: the batch mean is taken twice",
            MEAN,
        ),
        Mistake(
            lambda v: (v["P"] - v["Y"]) / v["P"].size,
            "exactly {K} times too small, and K is {K}: divide by B alone, not by B·K",
            MEAN,
        ),
        Mistake(
            lambda v: (v["P"] - v["Y"]) / v["Y"].shape[1],
            "divided by the number of classes K = {K}: divide by the batch size B = {B}",
            MEAN,
        ),
        Mistake(
            lambda v: (v["Y"] - v["P"]) / v["B"],
            "the sign is wrong: the adjoint of the logits is P − Y, not Y − P",
            CE,
        ),
        Mistake(
            lambda v: (v["Z2"] - v["Y"]) / v["B"],
            "the softmax is missing: the logits stand where P = softmax(Z2) belongs",
            CE,
        ),
        Mistake(
            lambda v: v["P"] / v["B"],
            "Y was not subtracted: the adjoint of the logits is (P − Y) / B",
            CE,
        ),
        Mistake(
            lambda v: (softmax(v["Z2"], axis=0) - v["Y"]) / v["B"],
            "the softmax runs over the examples: each row of P should sum to 1, so use axis=1",
            CE,
        ),
        Mistake(
            lambda v: (softmax(v["Z2"], axis=None) - v["Y"]) / v["B"],
            "the softmax is normalised over the whole array: each row of P should sum to 1",
            CE,
        ),
        Mistake(
            with_slope,
            "the softmax's slope is applied twice: P − Y holds it already",
            CE,
        ),
        Mistake(
            lambda v: (v["P"] - v["Y"]) * v["P"] * (1 - v["P"]) / v["B"],
            "P (1 − P) is applied on top of P − Y: P − Y holds the softmax's slope already",
            CE,
        ),
        Mistake(
            lambda v: (v["P"] - argmax_labels(v["Y"])) / v["B"],
            "Y was rounded to its largest entry: soft labels count with all their weights",
            CE,
        ),
        Mistake(
            lambda v: -v["Y"] / v["P"] / v["B"],
            "stops at the probabilities: −Y / P is the adjoint of P, P − Y that of the logits",
            CE,
        ),
        Mistake(
            lambda v: 2 * (v["P"] - v["Y"]) / v["B"],
            "exactly 2 times too large: no factor 2 comes from a cross-entropy",
            CE,
        ),
        Mistake(
            lambda v: (softmax(v["Z1"] @ v["W2"] + v["b2"], axis=1) - v["Y"]) / v["B"],
            "the forward pass left out the ReLU: the logits are relu(Z1) W2 + b2",
            RELU,
        ),
        Mistake(
            lambda v: (softmax(v["A1"] @ v["W2"], axis=1) - v["Y"]) / v["B"],
            "the forward pass left out the bias b2",
            LINEAR,
        ),
        Mistake(
            lambda v: (
                (softmax(np.maximum(v["X"] @ v["W1"], 0) @ v["W2"] + v["b2"], axis=1) - v["Y"])
                / v["B"]
            ),
            "the forward pass left out the bias b1",
            LINEAR,
        ),
    ],
    "dW2": [
        Mistake(lambda v: v["A1"].T @ v["G"], ""),
        Mistake(lambda v: v["Z1"].T @ v["G"], "uses Z1 where A1 = relu(Z1) belongs", LINEAR),
        Mistake(
            lambda v: (v["G"].T @ v["A1"]).reshape(v["W2"].shape),
            "transposed: dW2 is A1ᵀ G, not Gᵀ A1 in another shape",
            LINEAR,
        ),
        Mistake(lambda v: (v["Z1"] > 0).T @ v["G"], "uses the mask where A1 belongs", LINEAR),
        Mistake(
            lambda v: v["A1"].T @ v["G"] / v["B"],
            "exactly {B} times too small, and B is {B}: 1/B enters once, with G",
            MEAN,
        ),
        Mistake(lambda v: -v["A1"].T @ v["G"], "the sign is wrong", LINEAR),
    ],
    "db2": [
        Mistake(lambda v: v["G"].sum(axis=0), ""),
        Mistake(
            lambda v: v["G"].mean(axis=0),
            "exactly {B} times too small, and B is {B}: sum the rows of G, 1/B is in it",
            MEAN,
        ),
        Mistake(lambda v: np.zeros_like(v["b2"]), "all zeros", LINEAR),
        Mistake(lambda v: v["G"][0], "only the first row of G: sum over all rows", LINEAR),
        Mistake(lambda v: v["G"][-1], "only the last row of G: sum over all rows", LINEAR),
        Mistake(lambda v: -v["G"].sum(axis=0), "the sign is wrong", LINEAR),
    ],
    "H": [
        Mistake(lambda v: v["G"] @ v["W2"].T, ""),
        Mistake(
            lambda v: (
                v["G"] @ v["W2"].reshape(v["W2"].shape[::-1])
                if v["W2"].shape[0] != v["W2"].shape[1]
                else None
            ),
            "W2 was reshaped where its transpose W2ᵀ belongs",
            LINEAR,
        ),
        Mistake(
            lambda v: v["G"] @ v["W2"] if v["W2"].shape[0] == v["W2"].shape[1] else None,
            "W2 stands where its transpose belongs: the adjoint of A1 is G W2ᵀ",
            LINEAR,
        ),
    ],
    "M": [
        Mistake(lambda v: v["Z1"] > 0, ""),
        Mistake(lambda v: np.ones_like(v["Z1"]), "the ReLU's mask is missing", RELU),
        Mistake(lambda v: v["Z1"] <= 0, "the ReLU's mask is inverted: keep where Z1 > 0", RELU),
        Mistake(
            lambda v: v["X"] @ v["W1"] > 0,
            "the ReLU's mask was taken without the bias: use Z1 = X W1 + b1",
            RELU,
        ),
        Mistake(lambda v: v["A1"], "multiplied by A1: the slope of a ReLU is 0 or 1", RELU),
        Mistake(lambda v: v["Z1"], "multiplied by Z1: the slope of a ReLU is 0 or 1", RELU),
        Mistake(
            lambda v: v["H"] > 0,
            "the mask comes from the adjoint of A1: it belongs to Z1, the ReLU's input",
            RELU,
        ),
        Mistake(
            lambda v: (v["X"] > 0) if v["X"].shape == v["Z1"].shape else None,
            "the mask comes from X, the wrong layer: it belongs to Z1",
            RELU,
        ),
        Mistake(
            lambda v: (v["Z2"] > 0) if v["Z2"].shape == v["Z1"].shape else None,
            "the mask comes from the logits, the wrong layer: it belongs to Z1",
            RELU,
        ),
    ],
    "dW1": [
        Mistake(lambda v: v["X"].T @ v["G1"], ""),
        Mistake(
            lambda v: (v["G1"].T @ v["X"]).reshape(v["W1"].shape),
            "transposed: dW1 is Xᵀ G1, not G1ᵀ X in another shape",
            LINEAR,
        ),
        Mistake(
            lambda v: v["X"].T @ v["G1"] / v["B"],
            "exactly {B} times too small, and B is {B}: 1/B enters once, with G",
            MEAN,
        ),
        Mistake(lambda v: -v["X"].T @ v["G1"], "the sign is wrong", LINEAR),
    ],
    "db1": [
        Mistake(lambda v: v["G1"].sum(axis=0), ""),
        Mistake(
            lambda v: v["G1"].mean(axis=0),
            "exactly {B} times too small, and B is {B}: sum the rows of G1, 1/B is in it",
            MEAN,
        ),
        Mistake(lambda v: np.zeros_like(v["b1"]), "all zeros", LINEAR),
        Mistake(lambda v: v["G1"][0], "only the first row of G1: sum over all rows", LINEAR),
        Mistake(lambda v: v["G1"][-1], "only the last row of G1: sum over all rows", LINEAR),
        Mistake(
            lambda v: v["H"].sum(axis=0),
            "sums the adjoint of A1: the ReLU's mask is missing in it",
            RELU,
        ),
        Mistake(lambda v: -v["G1"].sum(axis=0), "the sign is wrong", LINEAR),
    ],
}
# Which stages each gradient passes through.
STAGES = {
    "dW2": ("G", "dW2"),
    "db2": ("G", "db2"),
    "dW1": ("G", "H", "M", "dW1"),
    "db1": ("G", "H", "M", "db1"),
}


def computed(symbol: str, choice: tuple[int, ...], v: dict) -> np.ndarray | None:
    """The gradient `symbol` with entry choice[i] at its i-th stage, or None if shapes forbid it."""
    v = dict(v)
    for stage, number in zip(STAGES[symbol], choice, strict=True):
        with np.errstate(all="ignore"):
            v[stage] = PIPELINE[stage][number].compute(v)
        if v[stage] is None:
            return None
        if stage == "M":
            v["G1"] = v["H"] * v["M"]
    return v[symbol]


@functools.cache
def choices(symbol: str) -> list[tuple[int, ...]]:
    """All pipelines with one or two mistakes, those with one first."""
    ranges = [range(len(PIPELINE[stage])) for stage in STAGES[symbol]]
    count = {c: sum(n > 0 for n in c) for c in itertools.product(*ranges)}
    return sorted((c for c, mistakes in count.items() if 1 <= mistakes <= 2), key=count.get)


def matches(guess: np.ndarray | None, came: np.ndarray) -> bool:
    # 1e-9 leaves room for another order of operations; chance does not agree twice.
    return guess is not None and close(guess, came, 1e-9)


def explanations(symbol: str, sound: set[str], results: list, values: list) -> list[frozenset]:
    """The smallest sets of mistakes (stage, number) that give `symbol` as it came in all cases.

    A stage in `sound` holds no mistake, since a gradient that passes through it came out right.
    """
    found = []
    for choice in choices(symbol):
        mistakes = frozenset(sn for sn in zip(STAGES[symbol], choice, strict=True) if sn[1])
        if found and len(mistakes) > len(found[0]):
            break
        if sound & {stage for stage, _ in mistakes}:
            continue
        pairs = zip(values, results, strict=True)
        if all(matches(computed(symbol, choice, v), r[symbol]) for v, r in pairs):
            found.append(mistakes)
    return found


def diagnose(wrong: list[str], results: list, cases: list) -> list[tuple[list[str], Mistake]]:
    """(symbols it spoils, mistake) for each of the fewest mistakes that explain the wrong symbols.

    results: the student's gradients by name, for each of the `cases`.
    """
    values = [forward(case) for case in cases]
    sound = {stage for symbol in STAGES if symbol not in wrong for stage in STAGES[symbol]}
    options = {s: explanations(s, sound, results, values) for s in STAGES if s in wrong}
    options = {symbol: found for symbol, found in options.items() if found}
    if not options:
        return []
    best = min(itertools.product(*options.values()), key=lambda sets: len(frozenset().union(*sets)))
    spoiled: dict[tuple[str, int], list[str]] = {}
    for symbol, mistakes in zip(options, best, strict=True):
        for mistake in sorted(mistakes):
            spoiled.setdefault(mistake, []).append(symbol)
    return [(symbols, PIPELINE[stage][number]) for (stage, number), symbols in spoiled.items()]
