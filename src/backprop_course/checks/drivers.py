"""Experiments on a student's object that need more than one call of it: plain data in and out.

A driver runs beside the student's object: in the notebook's kernel, or, when a submission is
graded, in the sandbox. So this file needs nothing but Python and NumPy, and it holds no answer.
"""

import gc
import sys

import numpy as np

AUTOGRAD_LIBRARIES = (
    "torch",
    "jax",
    "tensorflow",
    "autograd",
    "micrograd",
    "mxnet",
    "tinygrad",
    "backprop_course.autograd",
)


class Counted(np.ndarray):
    """An array that counts the operations done with it and with what they give."""

    operations = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        # A ufunc made by np.vectorize or np.frompyfunc calls Python once per entry.
        by_entry = all(set(signature) <= set("O->") for signature in ufunc.types)
        Counted.operations += max(np.size(x) for x in inputs) if by_entry else 1
        plain = [np.asarray(x) if isinstance(x, Counted) else x for x in inputs]
        if out is not None:
            kwargs["out"] = tuple(np.asarray(x) if isinstance(x, Counted) else x for x in out)
        result = getattr(ufunc, method)(*plain, **kwargs)
        if out is not None:
            return out[0] if len(out) == 1 else out
        return counted(result)

    def __array_function__(self, function, types, arguments, kwargs):
        Counted.operations += 1
        return super().__array_function__(function, types, arguments, kwargs)


def counted(value):
    if isinstance(value, tuple):
        return tuple(counted(v) for v in value)
    return value.view(Counted) if isinstance(value, np.ndarray) else value


def count_operations(function, *arguments) -> tuple[int, list[str]]:
    """How much one call of `function` does, and which autograd libraries it enters.

    The count is of array operations plus Python instructions: an expression on whole arrays
    costs the same for 8 rows as for 64, while any loop over rows, however hidden, costs more.
    """
    instructions, modules = 0, set()

    def watch(frame, event, _):
        nonlocal instructions
        instructions += event == "opcode"
        modules.add(frame.f_globals.get("__name__", ""))
        frame.f_trace_opcodes = True
        return watch

    # First on plain arrays: imports and first-call set-up do not count, and libraries that refuse
    # an array subclass show themselves.
    traced(watch, function, [a.copy() for a in arguments])
    if libraries := autograd_libraries(modules):
        return 0, libraries
    Counted.operations = instructions = 0
    traced(watch, function, [counted(a.copy()) for a in arguments])
    return instructions + Counted.operations, []


def traced(watch, function, arguments) -> None:
    """Call function(*arguments) with `watch` as its trace function."""
    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()  # a finalizer that happens to run now is not the student's doing
    sys.settrace(watch)
    try:
        with np.printoptions(threshold=0, edgeitems=1):  # nor is the length of a printed array
            function(*arguments)
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()


def autograd_libraries(modules: set[str]) -> list[str]:
    return [
        library
        for library in AUTOGRAD_LIBRARIES
        if any(f"{module}.".startswith(f"{library}.") for module in modules)
    ]


# ---- programs of scalar expressions, for Value ----------------------------------------------

# A program is a list of steps; a step's result is the value with its number. ("leaf", 2.0) is a
# Value; (name, argument, ...) is an operation whose arguments are numbers of earlier steps (int)
# or plain numbers (float).
SCALAR_OPS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "neg": lambda a: -a,
    "relu": lambda a: a.relu(),
    "exp": lambda a: a.exp(),
    "log": lambda a: a.log(),
    "tanh": lambda a: a.tanh(),
}


class TooManyCalls(Exception):
    """The budget of function calls is used up: an exponential walk would not end."""


def build_values(Value, program) -> list:
    """The student's Values for all steps of a program."""
    values = []
    for name, *arguments in program:
        if name == "leaf":
            values.append(Value(arguments[0]))
        else:
            given = [values[a] if isinstance(a, int) else a for a in arguments]
            values.append(SCALAR_OPS[name](*given))
    return values


def run_program(Value, program, budget: int = 0, times: int = 1) -> tuple[list, list]:
    """(data of every step, grad of every step) after the last step's backward().

    budget: how many function calls backward may make, 0 for any number. times: how often
    backward is called, the leaves' grad set to 0.0 before each call but the first.
    """
    values = build_values(Value, program)
    leaves = [v for v, (name, *_) in zip(values, program, strict=True) if name == "leaf"]
    for _ in range(times):
        for leaf in leaves:
            leaf.grad = 0.0
        backward_within(values[-1], budget)
    return [plain(v, "data") for v in values], [plain(v, "grad") for v in values]


def backward_within(value, budget: int) -> None:
    calls = 0

    def count(frame, event, _):
        nonlocal calls
        calls += event == "call"
        if calls > budget:
            raise TooManyCalls

    if budget:
        sys.setprofile(count)
    try:
        value.backward()
    finally:
        if budget:
            sys.setprofile(None)


def plain(value, attribute: str):
    """data or grad as a float; None where the attribute is missing or no number."""
    try:
        return float(getattr(value, attribute))
    except (AttributeError, TypeError, ValueError):
        return None


def chain(Value, length: int) -> tuple[float, float]:
    """(data, grad of the leaf) of y = y * 1.0 + 0.5, over and over, `length` nodes deep."""
    x = y = Value(2.0)
    for _ in range(length // 2):
        y = y * 1.0 + 0.5
    y.backward()
    return plain(y, "data"), plain(x, "grad")


def fan(Value, uses: int) -> tuple[float, float]:
    """(data, grad of the leaf) of a balanced sum in which one Value is used `uses` times."""
    x = Value(3.0)
    level = [x * 2.0 for _ in range(uses)]
    while len(level) > 1:
        pairs = [a + b for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    level[0].backward()
    return plain(level[0], "data"), plain(x, "grad")


DRIVERS = {
    "count_operations": count_operations,
    "run_program": run_program,
    "chain": chain,
    "fan": fan,
}
