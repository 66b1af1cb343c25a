"""Checks of `checkpoint_counts(n_layers, segments)`, and the names of its mistakes.

The oracle is a tape: it does what torch.utils.checkpoint.checkpoint_sequential does, layer by
layer, and counts. No formula is compared with another.
"""

import functools

import numpy as np

from ._core import behaviour, call, fail, name_of, named, what_came

STUDENT_NAMES = ("checkpoint_counts",)
SECTION = "Lesson 05, checkpoint_sequential counted."


class Tape:
    """Layers that only count: `calls` of them, and the activations `saved` for the backward."""

    def __init__(self):
        self.calls, self.saved, self.made = 0, set(), 0

    def layer(self, x: int, save: bool) -> int:
        """Run one Linear+ReLU on activation number x; saving keeps its input and its output."""
        self.calls, self.made = self.calls + 1, self.made + 1
        if save:
            self.saved |= {x, self.made}
        return self.made


def run(n_layers: int, segments: int) -> tuple[int, int]:
    """(forward calls, stored activations), by running the segments on a tape.

    Every segment but the last has n_layers // segments layers and keeps its input alone; the
    last runs as usual. Going back, each of the others runs its layers once more.
    """
    size = n_layers // segments
    lengths = [size] * (segments - 1) + [n_layers - size * (segments - 1)]
    tape, x, inputs = Tape(), 0, []
    for number, length in enumerate(lengths, 1):
        checkpointed = number < segments
        if checkpointed:
            inputs.append((x, length))
            tape.saved.add(x)
        for _ in range(length):
            x = tape.layer(x, save=not checkpointed)
    stored = len(tape.saved)
    for x, length in reversed(inputs):
        for _ in range(length):
            x = tape.layer(x, save=True)
    return tape.calls, stored


def guesses(n: int, s: int) -> dict[str, tuple[int, int]]:
    """What each known mistake would have returned, by the sentence that names it."""
    calls, stored = run(n, s)
    k, up = n // s, -(-n // s)
    return {
        "the last segment is not checkpointed: its layers run once, not twice": (2 * n, stored),
        "the last segment is not checkpointed: it stores an activation per layer, and runs once": (
            2 * n,
            s + 1,
        ),
        "the last segment is not checkpointed: all its activations stay": (calls, s + 1),
        "only the inputs of segments are counted: the last segment's activations stay too": (
            calls,
            s,
        ),
        "the recomputation is missing: checkpointed segments run forward twice": (n, stored),
        "the recomputed layers alone are counted: add the n_layers of the forward pass": (
            calls - n,
            stored,
        ),
        "one segment is missing in the recomputation: all but the last run again": (
            calls - k,
            stored,
        ),
        "segments have n_layers // segments layers, rounded down; the last takes what is left": (
            n + up * (s - 1),
            s - 1 + max(n - up * (s - 1), 0) + 1,
        ),
        "the last segment takes what is left: n_layers − k (segments − 1) layers, not k": (
            n + k * (s - 1),
            s - 1 + k + 1,
        ),
        "one stored activation is missing: the last layer's output is one of them": (
            calls,
            stored - 1,
        ),
        "the input of the last segment is counted twice": (calls, stored + 1),
        "the two numbers are in the other order: (forward_calls, stored_activations)": (
            stored,
            calls,
        ),
        "nothing is checkpointed in this count: only segments = 1 stores everything": (n, n + 1),
        "this is the textbook estimate segments + n_layers / segments, not what PyTorch does": (
            2 * n,
            s + k,
        ),
    }


def two(result) -> tuple[int, int]:
    if result is None:
        fail(
            "checkpoint_counts returned None: end it with `return forward_calls, stored_activations`."
        )
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        fail(
            f"checkpoint_counts returned {what_came(result)}: expected two integers, (calls, stored)."
        )
    for name, value in zip(("forward_calls", "stored_activations"), result, strict=True):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer, float, np.floating)):
            fail(f"{name} is {what_came(value)}: expected an integer.")
        if isinstance(value, (float, np.floating)):
            fail(f"{name} is the float {value}: counts are integers; divide with //, not /.")
    return int(result[0]), int(result[1])


def ask(checkpoint_counts, n: int, s: int) -> tuple[int, int]:
    return two(call(checkpoint_counts, n, s))


# Two unrelated pairs, even and uneven, that tell all the guesses apart.
EVIDENCE = ((15, 3), (23, 5))


def judge(checkpoint_counts, pairs) -> None:
    """Compare with the tape; name the mistake when two unrelated pairs show it."""
    for n, s in pairs:
        came, right = ask(checkpoint_counts, n, s), run(n, s)
        if came == right:
            continue
        says = (
            f"checkpoint_counts({n}, {s}) is {came}, expected {right}: forward calls first, then "
            "stored activations"
        )
        try:
            results = [ask(checkpoint_counts, *pair) for pair in EVIDENCE]
        except AssertionError:
            fail(f"{says}. {SECTION}")
        fits = [
            {sentence for sentence, guess in guesses(*pair).items() if guess == result}
            for pair, result in zip(EVIDENCE, results, strict=True)
        ]
        named = sorted(fits[0] & fits[1])
        fail(f"{says}. " + (f"It looks as if {named[0]}. " if named else "") + SECTION)


@behaviour("the table for 16 layers", "checkpoint_counts")
def check_table(checkpoint_counts, rng):
    """1, 2, 4, 8 and 16 segments."""
    judge(checkpoint_counts, [(16, s) for s in (2, 4, 8, 16, 1)])


@behaviour("one segment: nothing is checkpointed", "checkpoint_counts")
def check_one_segment(checkpoint_counts, rng):
    """Every layer runs once, and every activation stays."""
    judge(checkpoint_counts, [(int(n), 1) for n in (1, 2, *rng.integers(3, 60, 3))])


@behaviour("one layer a segment", "checkpoint_counts")
def check_one_layer_a_segment(checkpoint_counts, rng):
    """As many segments as layers."""
    judge(checkpoint_counts, [(int(n), int(n)) for n in (2, 3, *rng.integers(4, 60, 3))])


@behaviour("uneven splits", "checkpoint_counts")
def check_uneven(checkpoint_counts, rng):
    """segments does not divide n_layers: the last segment is longer."""
    pairs = [(7, 2), (10, 4), (23, 5), (64, 7)]
    sizes = rng.integers(2, 8, size=(3, 2))
    judge(checkpoint_counts, pairs + [(int(k * s + s - 1), int(s)) for k, s in sizes])


@behaviour("random numbers of layers and segments, up to 200", "checkpoint_counts")
def check_random(checkpoint_counts, rng):
    """No table of answers reaches this far."""
    layers = [int(n) for n in rng.integers(65, 201, 12)]
    judge(checkpoint_counts, [(n, int(rng.integers(2, n))) for n in layers])


@behaviour("bad arguments are refused", "checkpoint_counts")
def check_bad_arguments(checkpoint_counts, rng):
    """ValueError unless 1 <= segments <= n_layers; good arguments still work."""
    for n, s in ((4, 0), (4, 5), (0, 0), (3, -1), (0, 1)):
        asked = functools.partial(refuses, checkpoint_counts)
        outcome = call(named(asked, name_of(checkpoint_counts)), n, s)
        if outcome != "ValueError":
            fail(
                f"checkpoint_counts({n}, {s}) {outcome}: raise a ValueError unless "
                "1 <= segments <= n_layers."
            )
    judge(checkpoint_counts, [(12, 3)])


def refuses(checkpoint_counts, n: int, s: int) -> str:
    """What the call does: "ValueError", "raised KeyError" or "returned 3"."""
    try:
        result = checkpoint_counts(n, s)
    except NotImplementedError:
        raise
    except Exception as error:
        kind = getattr(error, "kind", type(error).__name__)
        if kind == "NotImplementedError":
            raise
        return kind if kind == "ValueError" else f"raised {kind}"
    return f"returned {result!r}"


__all__ = [name for name in globals() if name.startswith("check_")]
