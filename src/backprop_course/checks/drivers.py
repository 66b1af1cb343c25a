"""Experiments on a student's object that need more than one call of it: plain data in and out.

A driver runs beside the student's object: in the notebook's kernel, or, when a submission is
graded, in the sandbox. So this file needs nothing but Python and NumPy, and it holds no answer.
"""

import sys

import numpy as np

AUTOGRAD_LIBRARIES = ("torch", "jax", "tensorflow", "autograd", "mxnet", "cupy", "tinygrad")


class Counted(np.ndarray):
    """An array that counts the operations done with it and with what they give."""

    operations = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        Counted.operations += 1
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
    function(*[a.copy() for a in arguments])  # imports and first-call set-up do not count
    instructions, libraries = 0, set()

    def watch(frame, event, _):
        nonlocal instructions
        instructions += event == "opcode"
        top = frame.f_globals.get("__name__", "").split(".")[0]
        if top in AUTOGRAD_LIBRARIES:
            libraries.add(top)
        frame.f_trace_opcodes = True
        return watch

    arrays = [counted(a.copy()) for a in arguments]
    Counted.operations, before = 0, sys.gettrace()
    sys.settrace(watch)
    try:
        function(*arrays)
    finally:
        sys.settrace(before)
    return instructions + Counted.operations, sorted(libraries)


DRIVERS = {"count_operations": count_operations}
