"""The judge against functions that other exercises ask for: callbacks, classes, drivers, arguments changed in place."""

import json
import platform
import re
import subprocess
import sys

import nbformat
import numpy as np
import pytest

from backprop_course.grading import sandbox
from backprop_course.grading.inside import isolate, wire
from backprop_course.grading.judge import free_names, grade
from backprop_course.grading.sandbox import Limits, SandboxUnavailable, Zygote
from backprop_course.grading.secret import course_secret, seed_for

from .bank import checkpoint_counts, mlp_backward, numerical_gradient
from .conftest import ROOT
from .references import source_of

LIMITS = Limits(cell_seconds=3, submission_seconds=9, callbacks=2000)


@pytest.fixture(scope="module")
def zygote():
    zygote = Zygote(LIMITS)
    yield zygote
    zygote.stop()


def blank(exercise: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / "lessons" / "exercises" / f"{exercise}.ipynb", as_version=4)


def graded(zygote, exercise: str, *codes: str, seed: int = 7):
    """(graded notebook, total, all that it says) for a notebook that holds these cells alone."""
    cells = [{"cell_type": "code", "source": code, "metadata": {}} for code in codes]
    nb, scores = grade(json.dumps({"cells": cells}).encode(), blank(exercise), seed, zygote)
    said = "\n".join(str(o) for c in nb.cells for o in c.get("outputs", []))
    return nb, sum(scores.values()), said


def total(zygote, exercise: str, *codes: str, seed: int = 7) -> float:
    return graded(zygote, exercise, *codes, seed=seed)[1]


# ---- nothing deserved is lost ----

ANSWERED = {"mlp_backward": 10, "numerical_gradient": 10, "checkpoint_counts": 6, "value": 10}
FUNCTIONS = {"numerical_gradient": ("numerical_gradient", "rel_error"), "value": ("Value",)}


@pytest.mark.parametrize("exercise", ANSWERED)
@pytest.mark.parametrize("seed", [0, 1, 2**63])
def test_the_reference_gets_all_points_for_any_seed(exercise, seed, zygote):
    codes = [source_of(name) for name in FUNCTIONS.get(exercise, (exercise,))]
    assert total(zygote, exercise, *codes, seed=seed) == ANSWERED[exercise]


BANKS = {
    "mlp_backward": mlp_backward,
    "numerical_gradient": numerical_gradient,
    "checkpoint_counts": checkpoint_counts,
}
RIGHT = [(e, name) for e, bank in BANKS.items() for name in bank.RIGHT]


@pytest.mark.parametrize(("exercise", "name"), RIGHT)
def test_every_right_answer_of_the_bank_gets_all_points(exercise, name, zygote):
    assert total(zygote, exercise, BANKS[exercise].RIGHT[name]) == ANSWERED[exercise]


def test_an_untouched_stub_does_not_undo_an_answer_in_another_cell(zygote):
    stub = next(c.source for c in blank("numerical_gradient").cells if "def rel_error" in c.source)
    assert total(zygote, "numerical_gradient", numerical_gradient.PLAIN, stub) == 10


def test_every_wrong_answer_of_the_bank_is_told_the_same_as_in_the_notebook(zygote):
    for exercise, bank in BANKS.items():
        for name in list(bank.WRONG)[:6]:
            _, score, said = graded(zygote, exercise, bank.source(name))
            assert score < ANSWERED[exercise], name
            assert bank.WRONG[name][1] in said.replace("\\'", "'").replace("\\n", "\n"), name


def test_an_argument_changed_in_place_is_seen(zygote):
    code = mlp_backward.PLAIN.replace("\n    ", "\n    X -= 1; X += 1\n    ", 1)
    code = code.replace("X -= 1; X += 1", "W1 *= 1.5")
    nb, _, said = graded(zygote, "mlp_backward", code)
    assert "changed during the call" in said


def test_a_regrade_gives_the_same_notebook(zygote):
    one, two = (graded(zygote, "mlp_backward", mlp_backward.source("no mean"))[0] for _ in range(2))
    assert one == two


# ---- nothing undeserved is given ----

MLP = "def mlp_backward(X, Y, W1, b1, W2, b2):\n"
NUM = "import numpy as np\ndef numerical_gradient(f, x, h=1e-5):\n"
ENGINES = {
    "the course's own engine": "from backprop_course.autograd import Value\n",
    "another engine": "from micrograd.engine import Value\n",
    "an engine in disguise": "from micrograd.engine import Value as V\nclass Value(V):\n    pass\n",
    "an engine inside": (
        "import torch\nclass Value:\n    def __init__(self, x): self.t = torch.tensor(float(x), requires_grad=True)\n"
        "    def __getattr__(self, name): return getattr(self.t, name)\n"
    ),
}


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_from_a_library_earns_nothing(name, zygote):
    assert total(zygote, "value", ENGINES[name]) == 0


def test_the_checks_own_oracle_cannot_be_called(zygote):
    code = (
        "from backprop_course.checks.mlp_backward import gradients, Case\n"
        + MLP
        + "    return tuple(gradients(Case(X, Y, W1, b1, W2, b2)).values())\n"
    )
    assert total(zygote, "mlp_backward", code) == 0


def test_answers_to_the_notebooks_own_cases_earn_nothing(zygote):
    """What the visible check draws, seed 0, is not what the judge draws."""
    recorded = (
        mlp_backward.PLAIN.replace("def mlp_backward", "def right")
        + "\nimport backprop_course, numpy as np\n"
        + MLP
        + "    return [np.zeros_like(a) for a in (W1, b1, W2, b2)]\n"
    )
    assert total(zygote, "mlp_backward", recorded) <= 1


CALLBACKS = {
    "without end": ("    while True: f(x)\n", "more than 2000 times"),
    "with too much": ("    f(np.zeros(10**7))\n    return x\n", "16 MiB"),
    "with a string": ("    return f('x' * 1000)\n", "raised"),
    "with itself": ("    return f(f)\n", "raised"),
    "with nothing": ("    return f()\n", "raised"),
    "by a number that is not there": (
        "    import wire, socket\n    s = socket.socket(fileno=3)\n"
        "    wire.send(s, {'do': 'call back', 'number': 99}, [x])\n    wire.receive(s)\n",
        "a call of a function that is not there",
    ),
    "by a number that is none": (
        "    import wire, socket\n    s = socket.socket(fileno=3)\n"
        "    wire.send(s, {'do': 'call back', 'number': '__class__'}, [x])\n    wire.receive(s)\n",
        "a call of a function that is not there",
    ),
    "after the call": (
        "    global kept\n    kept = globals().get('kept', f)\n    return kept(np.ones(3)) + np.zeros(np.shape(x))\n",
        "",
    ),
}


@pytest.mark.parametrize("name", CALLBACKS)
def test_calling_back_wrongly_earns_nothing(name, zygote):
    body, words = CALLBACKS[name]
    _, score, said = graded(zygote, "numerical_gradient", NUM + body)
    assert score == 0
    assert words in said


def test_a_forged_count_of_operations_is_all_that_a_forger_gets(zygote):
    """Promised in autograde/README.md as *not* prevented: measurements made beside the student's object."""
    loop = mlp_backward.source("a loop")
    honest = total(zygote, "mlp_backward", loop)
    forger = (
        "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Worker':\n"
        "        o.drivers['count_operations'] = lambda *a: (10, [])\n"
    )
    assert total(zygote, "mlp_backward", forger, loop) <= honest + 2


# ---- limits ----


def test_a_behaviour_that_hits_a_limit_does_not_cost_the_others(zygote):
    code = numerical_gradient.PLAIN.replace(
        "def rel_error(a, b):\n", "def rel_error(a, b):\n    while np.size(a) == 10: pass\n"
    )
    _, score, said = graded(zygote, "numerical_gradient", code)
    assert score == 9.5
    assert "rel_error was stopped: it ran for more than 3 s" in said


def test_a_whole_submission_has_a_limit_too(zygote):
    cells = ["while True: pass"] * 5
    _, score, said = graded(zygote, "checkpoint_counts", *cells, checkpoint_counts.PLAIN)
    assert score == 0
    assert "the submission ran for more than 9 s in all" in said


def test_what_cells_print_is_kept_within_bounds(zygote):
    _, _, said = graded(zygote, "checkpoint_counts", "print('kept')", "print('x' * 10**6)")
    assert "kept" in said and "more output was dropped" in said
    assert len(said) < 2 * LIMITS.printed


# ---- the parts ----


def test_one_submission_cannot_affect_the_next(zygote):
    spoil = (
        "import numpy, builtins, os, tempfile\nnumpy.zeros = None\nbuiltins.len = None\n"
        "for folder in ('/tmp', '/dev/shm'):\n    open(folder + '/left', 'w').write('x')\n"
    )
    assert total(zygote, "checkpoint_counts", spoil) == 0
    look = "import os, builtins\nprint(os.listdir('/tmp'), os.listdir('/dev/shm'), builtins.len)\n"
    _, score, said = graded(zygote, "checkpoint_counts", look, checkpoint_counts.PLAIN)
    assert score == 6
    assert "[] [] <built-in function len>" in said


def test_without_bubblewrap_grading_is_refused_with_what_to_install(monkeypatch):
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    with pytest.raises(SandboxUnavailable, match="apt install bubblewrap"):
        Zygote(LIMITS)


def test_where_bubblewrap_may_not_run_grading_is_refused_with_what_to_allow(monkeypatch):
    monkeypatch.setattr(
        sandbox, "bubblewrap", lambda *how: ["sh", "-c", "echo no namespaces >&2; exit 1"]
    )
    with pytest.raises(SandboxUnavailable, match="allow user namespaces.*no namespaces"):
        Zygote(LIMITS)


def test_an_unknown_processor_or_system_is_refused(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(SandboxUnavailable, match="x86-64 and aarch64"):
        Zygote(LIMITS)
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxUnavailable, match="needs Linux"):
        Zygote(LIMITS)


def test_trusted_submissions_get_the_same_scores_without_a_sandbox(zygote):
    plain = Zygote(LIMITS, isolated=False)
    try:
        for exercise, bank in BANKS.items():
            for code in (bank.PLAIN, bank.source(next(iter(bank.WRONG)))):
                assert total(plain, exercise, code) == total(zygote, exercise, code)
        _, score, said = graded(plain, "checkpoint_counts", "while True: pass")
        assert score == 0 and "it ran for more than 3 s" in said
    finally:
        plain.stop()


def verdict(program, architecture: int, number: int, first_argument: int = 0) -> int:
    """Run a seccomp program by hand."""
    data = {
        isolate.ARCHITECTURE: architecture,
        isolate.NUMBER: number,
        isolate.FIRST_ARGUMENT: first_argument,
    }
    value = at = 0
    while True:
        code, yes, no, operand = program[at]
        at += 1
        if code == isolate.LOAD:
            value = data[operand]
        elif code == isolate.RETURN:
            return operand
        else:
            tests = {isolate.EQUAL: value == operand, isolate.AT_LEAST: value >= operand}
            at += yes if tests.get(code, bool(value & operand)) else no


@pytest.mark.parametrize(("machine", "unshare", "read"), [("x86_64", 272, 0), ("aarch64", 97, 63)])
def test_the_filter_refuses_what_it_should_on_each_processor(machine, unshare, read, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: machine)
    program, (architecture, clone, refused) = isolate.program(), isolate.MACHINES[machine]
    assert unshare in refused
    for number in (*refused, *isolate.REFUSED_EVERYWHERE, 0x40000000):
        assert verdict(program, architecture, number) == isolate.NOT_PERMITTED
    assert verdict(program, architecture, isolate.CLONE3) == isolate.NOT_THERE
    assert verdict(program, architecture, clone, isolate.NEWUSER | 17) == isolate.NOT_PERMITTED
    assert verdict(program, architecture, clone, 17) == isolate.ALLOW
    assert verdict(program, architecture, read) == isolate.ALLOW
    assert verdict(program, architecture + 1, read) == isolate.NOT_PERMITTED


class Pipe:
    """A socket whose other end is this process."""

    def __init__(self):
        self.data = b""

    def sendall(self, data):
        self.data += data

    def recv(self, size):
        piece, self.data = self.data[:size], self.data[size:]
        return piece


@pytest.mark.parametrize(
    "value",
    [None, True, -3, 2.5, "é", [1, [2]], (1, ()), {"a": 1, 2: None}, np.float32(0.1), np.arange(6).reshape(2, 3),
     np.arange(6.0).reshape(2, 3).T, np.array(2.0), np.zeros((0, 3)), np.array([True]), np.array([1j]),
     np.arange(4, dtype=">i4"), float("inf")],
    ids=repr,
)  # fmt: skip
def test_plain_data_crosses_as_it_was(value):
    pipe = Pipe()
    wire.send(pipe, {"a": 1}, value)
    message, came = wire.receive(pipe)
    assert message == {"a": 1} and type(came) is type(value)
    if isinstance(value, np.ndarray):
        assert came.shape == value.shape and np.array_equal(came, value)
        assert came.flags.f_contiguous == value.flags.f_contiguous
    else:
        assert came == value


def test_an_object_crosses_as_its_types_name_alone():
    pipe = Pipe()
    wire.send(pipe, {}, re.compile("x"))
    came = wire.receive(pipe)[1]
    assert type(came).__name__ == "Pattern" and not vars(came)


def test_names_that_a_check_cell_takes_from_the_student():
    source = (
        "from a.b import check_x\nimport numpy as np\ny = np.ones(2)\ncheck_x(mlp_backward, len(y))"
    )
    assert free_names(source) == ["mlp_backward"]


def test_the_secret_is_made_once_outside_the_repository(tmp_path, monkeypatch):
    monkeypatch.delenv("BACKPROP_COURSE_SECRET", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (first, made), (second, again) = course_secret(), course_secret()
    assert made and not again and first == second and len(first) >= 32
    file = tmp_path / "backprop_course" / "secret"
    assert file.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("BACKPROP_COURSE_SECRET", str(tmp_path / "other"))
    assert course_secret()[0] != first


def test_seeds_differ_between_students_exercises_and_secrets():
    seeds = {seed_for(s, who, what) for s in (b"1", b"2") for who in "ab" for what in "xy"}
    assert len(seeds) == 8 and seed_for(b"1", "a", "x") in seeds


def test_the_judges_side_imports_nothing_from_a_submissions_folder(tmp_path):
    (tmp_path / "numpy.py").write_text("raise SystemExit('imported')")
    code = f"import os; os.chdir({str(tmp_path)!r}); import backprop_course.grading.judge"
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
