"""Answers to `checkpoint_counts`."""

from . import edited

PLAIN = """\
def checkpoint_counts(n_layers, segments):
    if segments < 1 or segments > n_layers:
        raise ValueError("need 1 <= segments <= n_layers")
    k = n_layers // segments
    last = n_layers - k * (segments - 1)
    calls = n_layers + k * (segments - 1)
    stored = (segments - 1) + last + 1
    return calls, stored
"""

RIGHT = {
    "plain": PLAIN,
    "a list": PLAIN.replace("return calls, stored", "return [calls, stored]"),
    "simulated": """\
def checkpoint_counts(n_layers, segments):
    if not 1 <= segments <= n_layers:
        raise ValueError("segments")
    bounds, start = [], 0
    for _ in range(segments - 1):
        bounds.append((start, start + n_layers // segments))
        start = bounds[-1][1]
    calls, kept = 0, set()
    for a, b in bounds:
        kept.add(a)
        calls += 2 * (b - a)
    for layer in range(start, n_layers):
        kept |= {layer, layer + 1}
        calls += 1
    return calls, len(kept)
""",
    "modulo": PLAIN.replace("n_layers - k * (segments - 1)", "k + n_layers % segments"),
    "twice minus the last": PLAIN.replace("n_layers + k * (segments - 1)", "2 * n_layers - last"),
    "divmod": PLAIN.replace("k = n_layers // segments", "k, left = divmod(n_layers, segments)"),
    "NumPy integers": PLAIN.replace(
        "return calls, stored", "import numpy as np\n    return np.int64(calls), np.int64(stored)"
    ),
    "a sum over segments": PLAIN.replace(
        "calls = n_layers + k * (segments - 1)", "calls = sum([2 * k] * (segments - 1)) + last"
    ),
}

TABLE = "{(16, 1): (16, 17), (16, 2): (24, 10), (16, 4): (28, 8), (16, 8): (30, 10), (16, 16): (31, 17)}"

WRONG = {
    "blank": (
        "def checkpoint_counts(n_layers, segments):\n    raise NotImplementedError()\n",
        "still blank",
    ),
    "last segment checkpointed": (
        [
            ("n_layers + k * (segments - 1)", "2 * n_layers"),
            ("(segments - 1) + last + 1", "segments + 1"),
        ],
        "the last segment is not checkpointed",
    ),
    "all run twice": ([("n_layers + k * (segments - 1)", "2 * n_layers")], "run once, not twice"),
    "last segment stores its input": ([("last + 1", "2")], "the last segment is not checkpointed"),
    "inputs of segments only": (
        [("(segments - 1) + last + 1", "segments")],
        "only the inputs of segments",
    ),
    "no recomputation": (
        [("n_layers + k * (segments - 1)", "n_layers")],
        "the recomputation is missing",
    ),
    "recomputation only": ([("n_layers + k", "k")], "the recomputed layers alone"),
    "one segment less": (
        [("n_layers + k * (segments - 1)", "n_layers + k * (segments - 2)")],
        "one segment is missing",
    ),
    "ceil for floor": ([("n_layers // segments", "-(-n_layers // segments)")], "rounded down"),
    "last like the others": ([("n_layers - k * (segments - 1)", "k")], "takes what is left"),
    "no output": ([("last + 1", "last")], "one stored activation is missing"),
    "one too many": ([("last + 1", "last + 2")], "counted twice"),
    "swapped": ([("return calls, stored", "return stored, calls")], "in the other order"),
    "nothing checkpointed": (
        [
            ("n_layers + k * (segments - 1)", "n_layers"),
            ("(segments - 1) + last + 1", "n_layers + 1"),
        ],
        "nothing is checkpointed",
    ),
    "textbook estimate": (
        [
            ("n_layers + k * (segments - 1)", "2 * n_layers"),
            ("(segments - 1) + last + 1", "segments + k"),
        ],
        "textbook estimate",
    ),
    "float division": ([("//", "/")], "divide with //"),
    "a table": (
        f"def checkpoint_counts(n_layers, segments):\n    return {TABLE}[n_layers, segments]\n",
        "KeyError",
    ),
    "no error": ([("raise ValueError", "print")], "raise a ValueError"),
    "an assertion": (
        [('raise ValueError("need 1 <= segments <= n_layers")', "assert False")],
        "raised AssertionError",
    ),
    "wrong at one segment": (
        [("    return", "    if segments == 1:\n        return 2 * n_layers, 2\n    return")],
        "checkpoint_counts(1, 1) is (2, 2), expected (1, 2)",
    ),
    "returns one": ([("return calls, stored", "return calls")], "expected two integers"),
    "returns nothing": ([("    return calls, stored\n", "")], "returned None"),
    "refuses one layer a segment": (
        [("segments > n_layers", "segments >= n_layers")],
        "raised ValueError",
    ),
}

# It says for which arguments the answer is wrong, and there is nothing more to it.
UNNAMED = ("wrong at one segment", "a table")


def source(name: str) -> str:
    """The code of the wrong answer `name`."""
    return edited(PLAIN, WRONG[name][0])
