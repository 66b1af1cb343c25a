"""Lesson 05, memory: what training keeps, what a transformer layer keeps, and how checkpointing trades it.

A `Tape` runs a chain of layers that only count. A schedule decides what it keeps and what it runs
again; nothing here is a formula for the result, everything is counted while it happens.
"""

import functools
import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass, field

from .optional import require

# ---- counting what PyTorch saves -----------------------------------------------------------


def saved_numbers(function, *inputs):
    """function(*tensors) -> how many numbers autograd saves for its backward, each storage once.

    Parameters, and their transposed views, are there anyway and are not counted.
    """
    torch = require("torch", "counting saved tensors")
    seen = {}

    def pack(tensor):
        owner = tensor if tensor._base is None else tensor._base
        if not (owner.is_leaf and owner.requires_grad):
            seen[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        function(*inputs)
    return sum(seen.values()) // inputs[0].element_size()


# ---- a transformer layer, term by term -----------------------------------------------------


def gpt_layer_terms(s, b, h, a):
    """Sequence s, batch b, width h, heads a -> bytes kept by one GPT layer, by what keeps them.

    16-bit activations, dropout masks of one byte. The sum is s b h (34 + 5 a s / h).
    Korthikanti et al., arXiv 2205.05198, section 4.1.
    """
    full, scores = s * b * h, a * s * s * b  # numbers in an activation, in all heads' score grids
    return {
        "layer norms: their two inputs": 4 * full,
        "Q, K, V: their shared input": 2 * full,
        "Q and K, for the scores": 4 * full,
        "softmax: its output": 2 * scores,
        "dropout on the scores: its mask": scores,
        "dropout on the scores: its output": 2 * scores,
        "V": 2 * full,
        "output projection: its input": 2 * full,
        "dropout after attention: its mask": full,
        "MLP: input of the first linear layer": 2 * full,
        "MLP: input of the GELU": 8 * full,
        "MLP: input of the second linear layer": 8 * full,
        "dropout after the MLP: its mask": full,
    }


# ---- schedules on an instrumented tape -----------------------------------------------------


@dataclass
class Tape:
    """A chain of n layers, run forward and backward by a schedule, and what happens on the way.

    events: (what, layer, live), live being the number of activations kept after it; what is "run",
    "rerun" or "back". Activation 0 is the input, activation i the output of layer i.
    """

    n: int
    calls: int = 0
    live: set = field(default_factory=set)
    events: list = field(default_factory=list)
    stored: int | None = None  # live activations when the forward pass ends
    reached: int = 0
    next_back: int = 0

    def __post_init__(self):
        self.next_back = self.n
        self.live = {0}

    def run(self, layer, *, keep_input, keep_output=True):
        """Compute activation `layer` from activation layer − 1, which must be there."""
        if layer - 1 not in self.live:
            raise RuntimeError(f"layer {layer} needs activation {layer - 1}, which was not kept")
        self.calls += 1
        what = "run" if layer > self.reached else "rerun"
        self.reached = max(self.reached, layer)
        self.live.add(layer)
        if not keep_input:
            self.live.discard(layer - 1)
        if not keep_output:
            self.live.discard(layer)
        self.events.append((what, layer, len(self.live)))

    def end_forward(self):
        self.stored = len(self.live)

    def back(self, layer):
        """The backward step of a layer: it needs its input and its output, and frees the output."""
        if layer != self.next_back:
            raise RuntimeError(f"the next backward step is layer {self.next_back}, not {layer}")
        if not {layer - 1, layer} <= self.live:
            raise RuntimeError(f"backward of layer {layer} lacks an activation")
        self.live.discard(layer)
        self.next_back -= 1
        self.events.append(("back", layer, len(self.live)))

    @property
    def peak(self):
        """The most activations that were alive at once."""
        return max(live for _, _, live in self.events)


def check_sizes(n, segments=1):
    if n < 1 or not 1 <= segments <= n:
        raise ValueError(f"need 1 <= segments <= n, got n = {n}, segments = {segments}")


def keep_everything(n):
    """No checkpointing: n layers -> the finished tape."""
    check_sizes(n)
    tape = Tape(n)
    for layer in range(1, n + 1):
        tape.run(layer, keep_input=True)
    tape.end_forward()
    for layer in range(n, 0, -1):
        tape.back(layer)
    return tape


def sequential(n, segments):
    """As torch.utils.checkpoint.checkpoint_sequential: n layers in segments -> the finished tape.

    Each segment but the last keeps its input alone and has n // segments layers; the last keeps all.
    """
    check_sizes(n, segments)
    size = n // segments
    starts = [k * size for k in range(segments)]
    tape = Tape(n)
    for layer in range(1, n + 1):
        tape.run(layer, keep_input=layer - 1 in starts or layer - 1 >= starts[-1])
    tape.end_forward()
    for start, end in reversed(list(zip(starts, [*starts[1:], n], strict=True))):
        if end < n:
            for layer in range(start + 1, end + 1):
                tape.run(layer, keep_input=True)
        for layer in range(end, start, -1):
            tape.back(layer)
    return tape


def sqrt_schedule(n):
    """sequential with about √n segments (Chen et al., arXiv 1604.06174)."""
    return sequential(n, max(1, round(math.sqrt(n))))


def recursive(n):
    """Halving: keep the middle, go back over the right half, then over the left -> the tape.

    O(log n) activations for O(n log n) forward steps (Chen et al., arXiv 1604.06174).
    """
    check_sizes(n)
    return _bisect(n, lambda low, high: (low + high) // 2)


def revolve(n, slots):
    """The schedule of Griewank and Walther that runs fewest forward steps with `slots` checkpoints.

    A slot holds one activation from which layers are run again; the input takes one of them.
    ACM TOMS 26, 2000, doi:10.1145/347837.347846.
    """
    check_sizes(n)
    if slots < 1:
        raise ValueError(f"slots is {slots}: the input needs one")
    return _bisect(n, lambda low, high, free=slots: _best_split(high - low, free) + low, slots)


@functools.cache
def fewest_steps(n, slots):
    """Forward steps beyond the last layer's own that going back over n layers needs, with slots.

    steps(n, c) = min over k of k + steps(n − k, c − 1) + steps(k, c); with one slot n (n − 1) / 2.
    """
    if n <= 1:
        return 0
    if slots == 1:
        return n * (n - 1) // 2
    return min(k + fewest_steps(n - k, slots - 1) + fewest_steps(k, slots) for k in range(1, n))


def _best_split(n, slots):
    """How many layers to advance before the next checkpoint."""
    return min(
        range(1, n),
        key=lambda k: k + fewest_steps(n - k, slots - 1) + fewest_steps(k, slots),
    )


def _bisect(n, middle, slots=None):
    """Go back over 1..n from activation 0, by checkpoints at `middle(low, high)`."""
    tape = Tape(n)

    def advance(low, high):
        """From checkpoint `low` to activation `high`, keeping nothing in between."""
        for layer in range(low + 1, high + 1):
            tape.run(layer, keep_input=layer - 1 == low)

    def back_over(low, high, free):
        if high - low == 1:
            tape.run(high, keep_input=True)
            if high == n:
                tape.end_forward()
            tape.back(high)
            return
        if free == 1:  # no room for another checkpoint: start from `low` for every layer
            for layer in range(high, low, -1):
                if layer - 1 > low:
                    advance(low, layer - 1)
                back_over(layer - 1, layer, free)
                tape.live.discard(layer - 1)
                tape.live.add(low)
            return
        split = middle(low, high) if free is None else middle(low, high, free)
        advance(low, split)
        back_over(split, high, free and free - 1)
        tape.live.discard(split)
        back_over(low, split, free)

    back_over(0, n, slots)
    return tape


# ---- measuring a real run ------------------------------------------------------------------

_MEASURE = """
import json, sys, torch
from torch.utils.checkpoint import checkpoint_sequential
layers, width, batch, segments, grad, linear = json.loads(sys.argv[1])
torch.set_num_threads(1)
def block(width):
    maps = [torch.nn.Linear(width, width, bias=False)] if linear else []
    return torch.nn.Sequential(*maps, torch.nn.Tanh())
def peak():
    # Not ru_maxrss: it starts at the size of the process that started this one.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
def run(layers, width, batch, segments):
    net = torch.nn.Sequential(*[block(width) for _ in range(layers)])
    x = torch.ones(batch, width, requires_grad=True)
    start = peak()
    with torch.set_grad_enabled(grad):
        y = checkpoint_sequential(net, segments, x, use_reentrant=False) if segments else net(x)
    if grad:
        y.sum().backward()
    return peak() - start
run(2, 8, 2, min(segments, 2))  # the first checkpoint call imports modules: not what we measure
print(run(layers, width, batch, segments) / 1024)
"""


def measured_peak(layers, width, batch, *, segments=0, grad=True, linear=True):
    """Layers, width, batch -> peak growth in MiB of a fresh process that runs them forward and back.

    A layer is Linear+tanh, or tanh alone with linear=False. segments = 0 keeps everything;
    grad=False only runs forward, under no_grad. Linux, from /proc/self/status; needs PyTorch.
    Raises RuntimeError with what the process said when it cannot measure.
    """
    require("torch", "measuring the memory of a PyTorch run")
    job = json.dumps([layers, width, batch, segments, grad, linear])
    # A fixed threshold: every tensor goes back to the system when it is freed, none is hoarded.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", _MEASURE, job]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the measuring process failed:\n{done.stderr[-2000:]}")
    return float(done.stdout)
