"""Runs one submission's cells inside the sandbox and answers the judge's calls of its functions.

The student's code shares this process: it may change anything here. So nothing here is trusted;
the judge takes plain data from it, within bounds, and decides alone.
"""

import builtins
import contextlib
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import io
import linecache
import os
import sys
import traceback
import types

import numpy as np
import wire
from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

NO_SHELL = "Shell commands are not run while grading: this line did nothing."
NO_INPUT = "input() has no one to ask while grading: give the value in the code."


# ---- IPython without a terminal -------------------------------------------------------------


class Printed(DisplayHook):
    """The value of a cell's last expression, as one line of text."""

    def __call__(self, result=None):
        if result is not None:
            print(repr(result))


class Shell(InteractiveShell):
    """Cells and magics as in IPython; no history, no shell, and errors are reported, not printed."""

    displayhook_class = Printed

    def init_virtualenv(self):
        """Nothing: no environment is activated here."""

    def init_sys_path(self):
        """Nothing: files beside the notebook are data, not modules."""

    def showtraceback(self, *arguments, **options):
        pass

    showsyntaxerror = showtraceback

    def system(self, command):
        print(NO_SHELL)

    system_piped = system_raw = system

    def getoutput(self, command, split=True, depth=0):
        print(NO_SHELL)
        return [] if split else ""

    def enable_gui(self, gui=None):
        pass

    def enable_matplotlib(self, gui=None):
        return "agg", "agg"


def make_shell() -> Shell:
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.cache_size = 0
    shell = Shell.instance(config=config)
    shell.register_magic_function(lambda line: print(NO_SHELL), magic_name="pip")
    shell.register_magic_function(lambda line: print(NO_SHELL), magic_name="conda")
    builtins.input = no_input
    shell.run_cell("pass", store_history=False)  # what IPython does once is done before the fork
    return shell


def no_input(prompt=""):
    raise RuntimeError(NO_INPUT)


# ---- libraries that would do the exercise ---------------------------------------------------


class Absent(types.ModuleType):
    """A library that may be imported but not used: an import beside the answer costs nothing."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *arguments, **options):
        raise RuntimeError(
            f"{self.__name__} is not there while grading: write it with NumPy alone."
        )

    def __mro_entries__(self, bases):
        self()


class AbsentFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: list[str]):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if any(f"{name}.".startswith(f"{absent}.") for absent in self.names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Absent(spec.name)

    def exec_module(self, module):
        pass


# ---- what the judge asks for -----------------------------------------------------------------


class Bounded(io.StringIO):
    """Text output up to a limit; the rest is dropped, and said to be."""

    def __init__(self, limit: int):
        super().__init__()
        self.room = limit

    def write(self, text):
        if 0 < self.room < len(text):
            super().write(text[: self.room] + "\n… (more output was dropped)\n")
        elif self.room > 0:
            super().write(text)
        self.room -= len(text)
        return len(text)

    def close(self):
        """Nothing: sys.stdout.close() in a cell must not take the cell's output with it."""


class Worker:
    """One session: the judge's requests, one after the other, on one socket."""

    def __init__(self, sock, shell: Shell, drivers: dict, output_limit: int):
        self.sock, self.shell, self.drivers, self.output_limit = sock, shell, drivers, output_limit
        self.requests = {
            "cell": self.cell,
            "call": self.call,
            "drive": self.drive,
            "describe": self.describe,
        }

    def answer(self) -> None:
        message, value = wire.receive(self.sock, self.remote)
        printed = Bounded(self.output_limit)
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                reply = self.requests[message["do"]](message, value)
            status = {"status": "ok"}
        except BaseException as error:
            status, reply = {"status": "error", "error": report(error)}, None
        try:
            wire.send(self.sock, status | {"printed": printed.getvalue()}, reply)
        except wire.BadFrame as error:
            failure = {"kind": "ValueError", "message": str(error), "line": None, "text": ""}
            wire.send(self.sock, {"status": "error", "error": failure, "printed": ""})

    def cell(self, message, source):
        result = self.shell.run_cell(source, store_history=False)
        if error := result.error_before_exec or result.error_in_exec:
            raise error

    def call(self, message, arguments):
        function = self.shell.user_ns[message["name"]]
        return run_and_compare(function, arguments)

    def drive(self, message, arguments):
        subject, driver = self.shell.user_ns[message["name"]], self.drivers[message["driver"]]
        return run_and_compare(functools.partial(driver, subject), arguments)

    def describe(self, message, name):
        """missing, broken (no function), library (defined in no cell) or own."""
        if name not in self.shell.user_ns:
            return "missing"
        value = self.shell.user_ns[name]
        if isinstance(value, Absent):
            return "library"
        if not callable(value):
            return "broken"
        return "own" if defined_here(value) else "library"

    def remote(self, number: int):
        """A function that lives with the judge: calling it is a request the other way."""

        def f(*arguments):
            wire.send(self.sock, {"do": "call back", "number": number}, list(arguments))
            message, value = wire.receive(self.sock)
            if message["status"] != "ok":
                raise RuntimeError(f"f raised {message['error']}")
            result, changed = value
            wire.carry_back(arguments, changed)
            return result

        return f


def run_and_compare(function, arguments):
    """(result, what became of each array argument); a result that is an argument is sent as such."""
    before = wire.copies(arguments)
    result = function(*arguments)
    changed = wire.changes(arguments, before)
    same = next((i for i, a in enumerate(arguments) if result is a and before[i] is not None), -1)
    return [same, None if same >= 0 else result, changed]


def report(error: BaseException) -> dict:
    """The error as plain data, with the last line that is a cell's."""
    line, text = None, ""
    frames = [(f.filename, f.lineno, f.line) for f in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        frames.append((str(error.filename), error.lineno, error.text))
    for filename, number, source in reversed(frames):
        if in_cell(filename):
            line, text = number, (source or linecache.getline(filename, number or 0)).strip()
            break
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    if isinstance(error, MemoryError):
        message = "more memory than a submission may use"
    return {
        "kind": type(error).__name__[:100],
        "message": str(message)[:2000],
        "line": line,
        "text": text[:200],
    }


def in_cell(filename: str) -> bool:
    return not filename.startswith("<frozen") and not os.path.exists(filename)


def defined_here(value) -> bool:
    """Whether a function, or a class with its methods and bases, was written in a cell."""
    if isinstance(value, types.FunctionType):
        value = getattr(value, "__wrapped__", value)
        return in_cell(value.__code__.co_filename)
    if isinstance(value, type):
        own = [v for v in vars(value).values() if isinstance(v, types.FunctionType)]
        bases = [b for b in value.__mro__[1:] if b.__module__ not in ("builtins", "typing", "abc")]
        return value.__module__ == "__main__" and all(map(defined_here, [*bases, *own]))
    # A C function is a library's; np.vectorize(f), partial(f) and the like are made in a cell.
    return not isinstance(value, (types.BuiltinFunctionType, np.ufunc))


def load_drivers(path: str) -> dict:
    spec = importlib.util.spec_from_file_location("drivers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.DRIVERS


SHELL = make_shell()


def serve(sock, options: dict) -> None:
    """Answer until the judge hangs up."""
    os.chdir(options["tmp"])
    if options["absent"]:
        sys.meta_path.insert(0, AbsentFinder(options["absent"]))
    worker = Worker(sock, SHELL, load_drivers(options["drivers"]), options["limits"]["printed"])
    with contextlib.suppress(EOFError, OSError):
        while True:
            worker.answer()
