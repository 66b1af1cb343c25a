"""Answers to `numerical_gradient` and `rel_error`."""

from . import edited

PLAIN = """\
import numpy as np

def numerical_gradient(f, x, h=1e-5):
    x = np.array(x, dtype=float)
    gradient = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        old = x[i]
        x[i] = old + h
        up = f(x)
        x[i] = old - h
        down = f(x)
        x[i] = old
        gradient[i] = (up - down) / (2 * h)
    return gradient

def rel_error(a, b):
    gap = np.abs(a - b)
    size = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-300)
    return float(np.max(gap / size))
"""
REL = PLAIN[PLAIN.index("def rel_error") :]
NUM = PLAIN[: PLAIN.index("def rel_error")]

RIGHT = {
    "plain": PLAIN,
    "in place, restored": PLAIN.replace(
        "    x = np.array(x, dtype=float)\n",
        "    x = np.asarray(x)\n    if x.dtype != float:\n        x = x.astype(float)\n",
    ),
    "unit vectors": """\
import numpy as np

def numerical_gradient(f, x, h=1e-5):
    x = np.asarray(x, dtype=float)
    steps = h * np.eye(x.size).reshape(x.size, *x.shape)
    slopes = [(f(x + e) - f(x - e)) / (2 * h) for e in steps]
    return np.array(slopes, dtype=float).reshape(x.shape)

"""
    + REL,
    "nditer": """\
import numpy as np

def numerical_gradient(f, x, h=1e-5):
    x = np.array(x, dtype=float)
    out = np.zeros_like(x)
    it = np.nditer(x, flags=["multi_index"])
    while not it.finished:
        i = it.multi_index
        a, b = x.copy(), x.copy()
        a[i] += h
        b[i] -= h
        out[i] = (f(a) - f(b)) / (a[i] - b[i])
        it.iternext()
    return out

"""
    + REL,
    "flat": """\
import numpy as np

def numerical_gradient(f, x, h=1e-5):
    flat = np.array(x, dtype=float).ravel()
    shape = np.shape(x)

    def at(i, step):
        moved = flat.copy()
        moved[i] += step
        return float(f(moved.reshape(shape)))

    return np.array([(at(i, h) - at(i, -h)) / (2 * h) for i in range(flat.size)]).reshape(shape)

"""
    + REL,
    "half of each": PLAIN.replace("(up - down) / (2 * h)", "up / (2 * h) - down / (2 * h)"),
    "loop of rel_error": NUM
    + """\
def rel_error(a, b):
    worst = 0.0
    for p, q in zip(np.ravel(a), np.ravel(b)):
        if p != q:
            worst = max(worst, abs(p - q) / max(abs(p), abs(q)))
    return worst
""",
    "a 0-d array of rel_error": PLAIN.replace(
        "float(np.max(gap / size))", "np.array(np.max(gap / size))"
    ),
    "where": PLAIN.replace(
        "    return float(np.max(gap / size))\n",
        "    return np.where(gap == 0, 0, gap / size).max()\n",
    ),
}

BLANK = "def numerical_gradient(f, x, h=1e-5):\n    raise NotImplementedError()\n\ndef rel_error(a, b):\n    raise NotImplementedError()\n"

WRONG = {
    "blank": (BLANK, "still blank"),
    "forward": ([("x[i] = old - h", "x[i] = old"), ("(2 * h)", "h")], "the forward difference"),
    "backward": ([("x[i] = old + h", "x[i] = old"), ("(2 * h)", "h")], "the backward difference"),
    "forward over 2h": ([("x[i] = old - h", "x[i] = old")], "forward difference was divided by 2h"),
    "missing 2": ([("(2 * h)", "h")], "divided by h, not by 2h"),
    "precedence": ([("/ (2 * h)", "/ 2 * h")], "divides by 2 and multiplies by h"),
    "not divided": ([(" / (2 * h)", "")], "was not divided by 2h"),
    "divided twice": ([("/ (2 * h)", "/ h / h")], "divided by h twice"),
    "sign": ([("up - down", "down - up")], "the sign is wrong"),
    "half a step": (
        [("old + h", "old + h / 2"), ("old - h", "old - h / 2"), ("(2 * h)", "h")],
        "h/2 away",
    ),
    "two steps": (
        [("old + h", "old + 2 * h"), ("old - h", "old - 2 * h"), ("(2 * h)", "(4 * h)")],
        "2h away",
    ),
    "ignores h": ([("    x = np.array", "    h = 1e-5\n    x = np.array")], "h is ignored"),
    "too small a step": ([("    x = np.array", "    h = 1e-12\n    x = np.array")], "h"),
    "all coordinates": (
        [
            ("x[i] = old + h", "keep = x.copy(); x += h"),
            ("x[i] = old - h", "x -= 2 * h"),
            ("        x[i] = old\n", "        x[...] = keep\n"),
        ],
        "all coordinates were moved at once",
    ),
    "left where it was moved": ([("        x[i] = old\n", "")], "at once: put one back"),
    "not restored": (
        [("np.array(x, dtype=float)", "np.asarray(x, dtype=float)"), ("        x[i] = old\n", "")],
        "put each coordinate back",
    ),
    "restored by rounding": (
        [
            ("np.array(x, dtype=float)", "np.asarray(x, dtype=float)"),
            ("x[i] = old + h", "x[i] += h"),
            ("x[i] = old - h", "x[i] -= 2 * h"),
            ("x[i] = old\n", "x[i] += h\n"),
        ],
        "rounded and need not be x",
    ),
    "integers kept": ([("np.array(x, dtype=float)", "np.array(x)")], "holds integers"),
    "float32": (
        [
            ("dtype=float)", "dtype='float32')"),
            ("np.zeros(x.shape)", "np.zeros(x.shape, 'float32')"),
        ],
        "float32",
    ),
    "float32 inside": ([("np.array(x, dtype=float)", "np.array(x, dtype='float32')")], "entry"),
    "vectors only": ([("np.ndindex(x.shape)", "range(len(x))")], "raised"),
    "flattened": ([("return gradient", "return gradient.ravel()")], "shape"),
    "a list": ([("return gradient", "return gradient.tolist()")], "list"),
    "one number": ([("return gradient", "return gradient.sum()")], "shape"),
    "zeros": ([("return gradient", "return 0 * gradient")], "all zeros"),
    "stops early": ([("        gradient[i] =", "        return\n        gradient[i] =")], "None"),
    "first coordinate only": (
        [
            (
                "        gradient[i] = (up - down) / (2 * h)\n",
                "        gradient[i] = (up - down) / (2 * h)\n        break\n",
            )
        ],
        "entry",
    ),
    "asks f for a float": ([("up = f(x)", "up = f(x).hex() and f(x)")], "AttributeError"),
    "mean": ([("np.max(gap", "np.mean(gap")], "the mean over the entries"),
    "sum": ([("np.max(gap", "np.sum(gap")], "the sum over the entries"),
    "smallest": ([("np.max(gap", "np.min(gap")], "the smallest over the entries"),
    "absolute": ([("gap / size", "gap")], "absolute error"),
    "over the sum": (
        [
            (
                "size = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-300)",
                "size = np.abs(a) + np.abs(b) + 1e-300",
            )
        ],
        "divided by |a| + |b|",
    ),
    "over a": (
        [
            (
                "size = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-300)",
                "size = np.maximum(np.abs(a), 1e-300)",
            )
        ],
        "divided by |a| alone",
    ),
    "over b": (
        [
            (
                "size = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-300)",
                "size = np.maximum(np.abs(b), 1e-300)",
            )
        ],
        "divided by |b| alone",
    ),
    "largest over largest": (
        [("np.max(gap / size)", "np.max(gap) / np.max(size)")],
        "largest difference over the largest entry",
    ),
    "norms": (
        [
            (
                "np.max(gap / size)",
                "np.linalg.norm(gap) / max(np.linalg.norm(a), np.linalg.norm(b), 1e-300)",
            )
        ],
        "a norm of the difference",
    ),
    "sign kept": ([("gap = np.abs(a - b)", "gap = a - b")], "take |a − b|"),
    "floor of 1": ([("1e-300", "1.0")], "tiny only guards 0/0"),
    "floor of 1e-8": ([("1e-300", "1e-8")], "the number that guards 0/0 is too large"),
    "0/0": (
        [
            (
                "np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-300)",
                "np.maximum(np.abs(a), np.abs(b))",
            )
        ],
        "is nan",
    ),
    "an array": ([("float(np.max(gap / size))", "gap / size")], "one number is wanted"),
}

# The message says which entry differs, or where the code stopped.
UNNAMED = ("too small a step", "float32 inside", "first coordinate only", "vectors only")


def source(name: str) -> str:
    """The code of the wrong answer `name`."""
    return edited(PLAIN, WRONG[name][0])
