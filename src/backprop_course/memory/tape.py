"""Checkpoint schedules on a tape: a chain of layers that only count.

A schedule decides what is kept and what runs again. Nothing here is a formula for the result: the
tape counts while the schedule runs, and refuses a step whose input is not there.
"""

import functools
import math
from dataclasses import dataclass, field
from typing import NamedTuple


class Event(NamedTuple):
    """what ("run", "rerun" or "back"), the layer, and the activations kept after it."""

    what: str
    layer: int
    kept: frozenset


@dataclass
class Tape:
    """A chain of n layers. Activation 0 is the input, activation i the output of layer i."""

    n: int
    kept: set = field(default_factory=lambda: {0})
    events: list = field(default_factory=list)
    stored: int | None = None  # activations kept when the forward pass ends
    reached: int = 0  # the last layer that has run
    pending: int = 0  # the layer whose backward step comes next

    def __post_init__(self):
        if self.n < 1:
            raise ValueError(f"n is {self.n}: expected at least one layer")
        self.pending = self.n

    def run(self, layer, *, keep_input):
        """Compute activation `layer` from activation layer − 1; keep that one or drop it."""
        if layer - 1 not in self.kept:
            raise RuntimeError(f"layer {layer} needs activation {layer - 1}, which was not kept")
        what = "run" if layer > self.reached else "rerun"
        self.reached = max(self.reached, layer)
        self.kept.add(layer)
        if not keep_input:
            self.kept.remove(layer - 1)
        self.events.append(Event(what, layer, frozenset(self.kept)))
        if what == "run" and layer == self.n:
            self.stored = len(self.kept)

    def back(self, layer):
        """The backward step of a layer: it needs its input and its output, and frees the output."""
        if layer != self.pending:
            raise RuntimeError(f"the next backward step is layer {self.pending}, not {layer}")
        if not {layer - 1, layer} <= self.kept:
            raise RuntimeError(f"backward of layer {layer} lacks its input or its output")
        self.kept.remove(layer)
        self.pending -= 1
        self.events.append(Event("back", layer, frozenset(self.kept)))

    def drop(self, activation):
        """Forget a checkpoint that is no longer needed."""
        self.kept.remove(activation)

    @property
    def calls(self):
        """Forward calls of layers, recomputation included."""
        return sum(event.what != "back" for event in self.events)

    @property
    def peak(self):
        """The most activations that were kept at once."""
        return max(len(event.kept) for event in self.events)


def keep_everything(n):
    """No checkpointing: n layers -> the finished tape."""
    return _segmented(n, [0], last_kept=True)


def sequential(n, segments):
    """As torch.utils.checkpoint.checkpoint_sequential: n layers in segments -> the finished tape.

    Each segment but the last keeps its input alone and has n // segments layers; the last keeps all.
    """
    return _segmented(n, _starts(n, segments), last_kept=True)


def every_segment(n, segments):
    """As `sequential`, but the last segment too keeps its input alone and runs again -> the tape."""
    return _segmented(n, _starts(n, segments), last_kept=False)


def sqrt_schedule(n):
    """`sequential` with about √n segments (Chen et al., arXiv 1604.06174)."""
    return sequential(n, max(1, round(math.sqrt(n))))


def recursive(n):
    """Halving: keep the middle, go back over the right half, then over the left -> the tape.

    O(log n) activations for O(n log n) forward calls (Chen et al., arXiv 1604.06174).
    """
    return _divided(n, math.inf, lambda length, slots: length // 2)


def revolve(n, slots):
    """The schedule of Griewank and Walther that runs fewest layers with `slots` checkpoints -> the tape.

    A slot holds an activation from which layers run again; the network's input takes one of them.
    ACM TOMS 26, 2000, doi:10.1145/347837.347846.
    """
    if slots < 1:
        raise ValueError(f"slots is {slots}: the network's input needs one")
    return _divided(n, slots, _best_split)


def _starts(n, segments):
    if not 1 <= segments <= n:
        raise ValueError(f"need 1 <= segments <= n, got segments = {segments}, n = {n}")
    return [k * (n // segments) for k in range(segments)]


def _segmented(n, starts, last_kept):
    """Keep the inputs of segments; run each segment again before going back over it."""
    tape, ends = Tape(n), [*starts[1:], n]
    for layer in range(1, n + 1):
        inside_last = last_kept and layer > starts[-1]
        tape.run(layer, keep_input=inside_last or layer - 1 in starts)
    for start, end in zip(reversed(starts), reversed(ends), strict=True):
        if end < n or not last_kept:
            for layer in range(start + 1, end + 1):
                tape.run(layer, keep_input=True)
        for layer in range(end, start, -1):
            tape.back(layer)
    return tape


def _divided(n, slots, split):
    """Go back over all layers, with checkpoints `split(length, free slots)` layers apart."""
    tape = Tape(n)

    def advance(low, high):
        """From checkpoint `low` to activation `high`, keeping nothing in between."""
        for layer in range(low + 1, high + 1):
            tape.run(layer, keep_input=layer - 1 == low)

    def back_over(low, high, free):
        """Layers low + 1 to high, from checkpoint `low`, which holds one of the free slots."""
        while high - low > 1:
            # With no slot left for a second checkpoint every layer starts again from `low`.
            middle = high - 1 if free == 1 else low + split(high - low, free)
            advance(low, middle)
            back_over(middle, high, max(free - 1, 1))
            tape.drop(middle)
            high = middle
        tape.run(high, keep_input=True)
        tape.back(high)

    back_over(0, n, slots)
    return tape


@functools.cache
def fewest_steps(n, slots):
    """n layers, slots -> the fewest forward calls beyond each layer's own, before its backward step.

    t(n, c) = min over k of k + t(n − k, c − 1) + t(k, c); t(1, c) = 0; t(n, 1) = n (n − 1) / 2.
    """
    if n == 1:
        return 0
    if slots == 1:
        return n * (n - 1) // 2
    return min(_cost(k, n, slots) for k in range(1, n))


def _cost(k, n, slots):
    return k + fewest_steps(n - k, slots - 1) + fewest_steps(k, slots)


def _best_split(n, slots):
    return min(range(1, n), key=lambda k: _cost(k, n, slots))
