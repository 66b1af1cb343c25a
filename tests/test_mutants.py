"""Every mutant of a reference answer is refused by a check, unless it is the same function."""

import contextlib
import importlib
import io
import signal

import pytest

from backprop_course.checks._core import CheckFailed, StudentStopped

from .mutants import mutants
from .references import define, source_of

EXERCISE = {
    "mlp_backward": "mlp_backward",
    "numerical_gradient": "numerical_gradient",
    "rel_error": "numerical_gradient",
    "checkpoint_counts": "checkpoint_counts",
    "Value": "value",
}
# Mutants that are the same function on every legal argument, and why.
EQUIVALENT = {
    "mlp_backward": {
        "P = E / E.sum(axis=1, keepdims=True) → P = E / E.sum(axis=-1, keepdims=True)": (
            "the last axis of a matrix is axis 1"
        ),
        "E = np.exp(Z2 - Z2.max(axis=1, keepdims=True)) → E = np.exp(Z2 - Z2.max(axis=-1, keepdims=True))": (
            "the last axis of a matrix is axis 1"
        ),
    },
    "numerical_gradient": {
        "def numerical_gradient(f, x, h=1e-05): → def numerical_gradient(f, x, h=-1e-05):": (
            "the central difference is the same for h and −h"
        ),
    },
    "rel_error": {
        "return float(np.max(np.abs(a - b) / size)) → return np.max(np.abs(a - b) / size)": (
            "np.float64 is a float"
        ),
        "size = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-300) → size = np.maximum(np.maximum(np.abs(a), np.abs(b)), 2e-300)": (
            "any tiny number guards 0/0"
        ),
    },
    "checkpoint_counts": {},
    "Value": {
        "return self * -1.0 → return self / -1.0": "x · (−1) = x / (−1)",
        "self.data, self.grad = (float(data), 0.0) → self.data, self.grad = (data, 0.0)": (
            "Python's integers and floats mix"
        ),
        "return Value(self.data + other.data, (self, other), (1.0, 1.0)) → return Value(self.data + other.data, (other, self), (1.0, 1.0))": (
            "both slopes of a sum are 1"
        ),
        "return Value(max(self.data, 0.0), (self,), (float(self.data > 0),)) → return Value(max(self.data, 0.0), (self,), (self.data > 0,))": (
            "True counts as 1"
        ),
        "return self + -as_value(other) → return self + -other": "+ wraps a plain number itself",
        "return self * as_value(other) ** (-1) → return self * other ** (-1)": (
            "* wraps a plain number itself"
        ),
    },
}


@contextlib.contextmanager
def at_most(seconds: float):
    """Stop what runs in this block, as the judge would: a mutant may loop for ever."""

    def stop(*_):
        raise StudentStopped(f"it ran longer than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def survives(name: str, code: str) -> bool:
    """Whether the code passes every check of the function or class `name`."""
    module = importlib.import_module(f"backprop_course.checks.{EXERCISE[name]}")
    checks = [getattr(module, check) for check in module.__all__]
    try:
        student = define(code, name)
        with contextlib.redirect_stdout(io.StringIO()), at_most(10):
            for check in checks:
                if check.student == name:
                    check(student, 0)
    except (CheckFailed, StudentStopped):
        return False
    except Exception:  # the cell itself does not run
        return False
    return True


@pytest.mark.parametrize("name", EXERCISE)
def test_the_mutants_that_pass_are_those_known_to_be_equivalent(name):
    made = mutants(source_of(name))
    assert len(made) >= 15
    survivors = {what for what, code in made.items() if survives(name, code)}
    assert survivors == set(EQUIVALENT[name])


def test_a_mutant_differs_in_one_place_and_says_which():
    made = mutants("def f(a, b):\n    return a @ b + 1")
    assert "return a @ b + 1 → return a @ b.T + 1" in made
    assert "return a @ b + 1 → return a @ b" in made
    assert all(code.startswith("def f(a, b):\n    return ") for code in made.values())
