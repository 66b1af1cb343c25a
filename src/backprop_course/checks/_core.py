"""What every check is made of: a behaviour, a verdict, a quiet way to call a student's function.

A check is a plain function of the student's function. It passes with one printed line, or raises
`CheckFailed`, which shows its message and no traceback. The student's function may live in another
process and be represented here by a proxy: only numbers, strings, arrays, tuples, lists, dicts
and (as arguments) callables cross.
"""

import contextlib
import contextvars
import functools
import io
import linecache
import os
import random
import traceback
import warnings
import zlib

import numpy as np

SEED = contextvars.ContextVar("seed of the cases that checks draw", default=0)


class CheckFailed(AssertionError):
    """A behaviour that is not there yet. The message is for the student."""

    def _render_traceback_(self):
        """Called by IPython in place of a traceback, in version 7.34 as in current ones."""
        return str(self).splitlines()


class StudentRaised(Exception):
    """What a proxy raises when the student's code raised: (type name, message, line, its text)."""

    def __init__(self, kind: str, message: str, line: int | None = None, text: str = ""):
        super().__init__(kind, message, line, text)
        self.kind, self.message, self.line, self.text = kind, message, line, text


class StudentStopped(Exception):
    """What a proxy raises when the student's process was stopped; its text names the limit."""


@contextlib.contextmanager
def seeded(seed: int):
    """Within this block checks draw their cases from `seed`; outside it, from 0."""
    token = SEED.set(seed)
    try:
        yield
    finally:
        SEED.reset(token)


def fail(*sentences: str):
    """End the check: the behaviour is not there, and this is why."""
    raise CheckFailed("\n".join(sentences))


def behaviour(label: str, student: str):
    """Make `check(student, rng)` a check of the behaviour `label` of the function named `student`.

    Cases come from `rng`, a generator fixed by the seed and the label. What is made takes the
    student's function, and a seed where the ambient one is not wanted: check(function, seed=None).
    """

    def decorate(function):
        @functools.wraps(function)
        def check(answer, seed: int | None = None) -> None:
            start = SEED.get() if seed is None else seed
            try:
                function(answer, np.random.default_rng([start, zlib.crc32(label.encode())]))
            except CheckFailed as verdict:
                # A new exception, so that not even the chain shows the library's own lines.
                failed = CheckFailed(f"✗ {label}\n{verdict}")
            else:
                print(f"✓ {label}")
                return
            raise failed

        check.label, check.student = label, student
        return check

    return decorate


@contextlib.contextmanager
def quiet():
    """No warning, no output and no change of global random state leaves this block."""
    state, numpy_state = random.getstate(), np.random.get_state()
    try:
        with (
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(state)
        np.random.set_state(numpy_state)


def name_of(function) -> str:
    return getattr(function, "__name__", type(function).__name__)


def call(function, *arguments, copy: bool = True):
    """The result of function(*arguments); what it raises becomes a failed check that says where.

    Arrays go over as copies unless `copy` is false, so that one call cannot spoil the next.
    """
    name = name_of(function)
    if not callable(function):
        fail(f"{name} is not a function any more: a later cell gave this name to something else.")
    if copy:
        arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        with quiet():
            return function(*arguments)
    except CheckFailed:
        raise
    except NotImplementedError as error:
        if str(error):
            fail(raised(name, error))
        fail(blank(name))
    except StudentStopped as stopped:
        fail(f"{name} was stopped: {stopped}")
    except (Exception, SystemExit) as error:
        fail(raised(name, error))


def drive(driver: str, student, *arguments):
    """Run a driver of drivers.py beside the student's object, here or in its own process."""
    from .drivers import DRIVERS

    remote = getattr(type(student), "__backprop_drive__", None)
    run = functools.partial(remote, student, driver) if remote else None
    return call(
        named(run or functools.partial(DRIVERS[driver], student), name_of(student)), *arguments
    )


def named(function, name: str):
    function.__name__ = name
    return function


def blank(name: str) -> str:
    return f"{name} is still blank: replace `raise NotImplementedError()` by your code and run it."


def raised(name: str, error: BaseException) -> str:
    """One sentence for an exception: its type, its message, and the student's own line."""
    if isinstance(error, StudentRaised):
        if error.kind == "NotImplementedError" and not error.message:
            return blank(name)
        kind, message, line, text = error.kind, error.message, error.line, error.text
    else:
        kind, message = type(error).__name__, str(error)
        line, text = students_line(error)
    where = (f" in line {line} of its cell" + f": `{text}`" * bool(text)) if line else ""
    what = f"{kind}: {message}" if message else kind
    if kind == "TypeError" and "positional argument" in message:
        what += " (compare the line `def ...` with the one in the exercise)"
    return f"{name} raised {what}{where}"


def students_line(error: BaseException) -> tuple[int | None, str]:
    """Number and text of the last line that is in no file: code of a notebook cell."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not os.path.exists(frame.filename) and not frame.filename.startswith("<frozen"):
            text = frame.line or linecache.getline(frame.filename, frame.lineno)
            return frame.lineno, text.strip()
    return None, ""


def shape_text(shape: tuple[int, ...]) -> str:
    """(3,) or (2, 4), as NumPy prints shapes; () is "a single number"."""
    return str(tuple(shape)) if shape else "() (a single number)"


def what_came(value) -> str:
    """A short description of a value of the wrong kind."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {shape_text(value.shape)}"
    article = "an" if type(value).__name__[0].lower() in "aeiou" else "a"
    return "None" if value is None else f"{article} {type(value).__name__}"


def as_array(symbol: str, value, shape: tuple[int, ...], dtype=np.float64) -> np.ndarray:
    """`value` if it is a real array of this shape, else a failed check that says what came."""
    expected = f"expected a NumPy array of {np.dtype(dtype)} with shape {shape_text(shape)}"
    if type(value).__module__.split(".")[0] in {"torch", "jax", "jaxlib", "tensorflow"}:
        library = type(value).__module__.split(".")[0]
        fail(f"{symbol} is a {library} tensor: {expected}. Write it with NumPy alone.")
    if value is None:
        fail(f"{symbol} is None: {expected}. Is a `return` missing, or an in-place method used?")
    if isinstance(value, (list, tuple)):
        fail(f"{symbol} is {what_came(value)}: {expected}. np.array(...) makes one.")
    if not isinstance(value, (np.ndarray, np.generic)):
        fail(f"{symbol} is {what_came(value)}: {expected}.")
    value = np.asarray(value)
    if value.dtype.kind == "c":
        fail(f"{symbol} is complex: {expected}. The gradient of a real loss is real.")
    if value.shape != tuple(shape):
        fail(f"{symbol} has shape {shape_text(value.shape)}: {expected}.")
    if value.dtype != dtype:
        fail(f"{symbol} holds {value.dtype}: {expected}.")
    if not np.isfinite(value).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])
        fail(f"{symbol}{list(where)} is {value[where]}: every entry should be a finite number.")
    return value


def close(a, b, tolerance: float) -> bool:
    """Whether two arrays of one shape agree to `tolerance`, relative to the larger one's scale.

    The scale is that of the whole array, and at least 1e-6: an entry that happens to be almost 0
    is not held to more digits than the sum that gave it, of terms near 1, was computed with.
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.shape != b.shape or not np.isfinite(a).all():
        return False
    scale = max(np.abs(a).max(initial=1e-6), np.abs(b).max(initial=0))
    return bool(np.abs(a - b).max(initial=0) <= tolerance * scale)


def first_difference(symbol: str, got: np.ndarray, expected: np.ndarray, tolerance: float) -> str:
    """The first entry that differs, with what was expected and what came."""
    scale = np.abs(expected).max(initial=1e-300)
    wrong = np.argwhere(np.abs(got - expected) > tolerance * scale)
    where = tuple(int(i) for i in wrong[0]) if len(wrong) else (0,) * got.ndim
    at = f"[{', '.join(map(str, where))}]" if where else ""
    return f"{symbol}{at} is {got[where]:.6g}, expected {expected[where]:.6g}"
