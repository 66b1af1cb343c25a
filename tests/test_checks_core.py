"""How checks speak and what they leave alone, whatever the exercise."""

import ast
import inspect
import linecache
import random
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

from backprop_course.checks import _core as core
from backprop_course.checks.drivers import DRIVERS, count_operations

from .conftest import ROOT
from .references import define


@core.behaviour("doubles a number", "double")
def check_double(double, rng):
    x = rng.uniform(1, 2)
    if core.call(double, x) != 2 * x:
        core.fail("double(x) should be 2 * x.", "Reread: nothing.")


def failure(check, function, *arguments) -> str:
    with pytest.raises(core.CheckFailed) as caught:
        check(function, *arguments)
    return str(caught.value)


def raising(lines: str) -> str:
    return failure(check_double, define(f"def double(x):\n{lines}", "double"))


def test_a_pass_prints_one_line(capsys):
    assert check_double(lambda x: 2 * x) is None
    assert capsys.readouterr() == ("✓ doubles a number\n", "")


def test_a_failure_opens_with_the_behaviour_and_hides_where_the_library_raised():
    with pytest.raises(core.CheckFailed) as caught:
        check_double(abs)
    assert str(caught.value).splitlines() == [
        "✗ doubles a number",
        "double(x) should be 2 * x.",
        "Reread: nothing.",
    ]
    assert caught.value._render_traceback_() == str(caught.value).splitlines()
    assert caught.value.__context__ is None


def test_ipython_shows_the_message_alone():
    cell = (
        "from backprop_course.checks._core import fail\n"
        "def deep(): fail('dW1 is', 'too large')\n"
        "deep()"
    )
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        f"InteractiveShell.instance().run_cell({cell!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout + done.stderr).strip().splitlines() == ["dW1 is", "too large"]


def test_cases_depend_on_the_seed_alone():
    seen = []
    for options in ({}, {}, {"seed": 1}):
        check_double(lambda x: seen.append(x) or 2 * x, **options)
    with core.seeded(1):
        check_double(lambda x: seen.append(x) or 2 * x)
    assert seen[0] == seen[1] != seen[2] == seen[3]


def test_a_blank_is_called_blank():
    assert "double is still blank" in raising("    raise NotImplementedError()")


def test_a_not_implemented_error_with_a_message_is_the_students_own():
    said = raising("    raise NotImplementedError('later')")
    assert "NotImplementedError: later" in said and "blank" not in said


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("    y = x\n    return y / 0", "ZeroDivisionError: float division by zero in line 3"),
        ("    return z", "NameError: name 'z' is not defined in line 2 of its cell: `return z`"),
        ("    raise SystemExit(3)", "SystemExit: 3 in line 2"),
        ("    import numpy as np\n    return np.ones(2) @ np.ones(3)", "in line 3 of its cell"),
        ("    return double(x)", "RecursionError"),
        ("    assert x < 0, 'negative'", "AssertionError: negative in line 2"),
    ],
)
def test_an_exception_is_told_with_the_students_own_line(lines, words):
    assert words in raising(lines)


def test_the_number_of_parameters_is_compared_with_the_exercise():
    assert "compare the line `def ...`" in failure(
        check_double, define("def double(): 1", "double")
    )


def test_a_name_that_is_no_function_any_more_is_said_to_be_so():
    assert "is not a function any more" in failure(check_double, 3.0)


def test_what_another_process_reports_reads_the_same():
    def remote(_):
        raise core.StudentRaised("NameError", "name 'z' is not defined", 2, "return z")

    remote.__name__ = "double"
    assert failure(check_double, remote) == raising("    return z")

    def stopped(_):
        raise core.StudentStopped("it ran longer than 10 seconds.")

    assert "was stopped: it ran longer than 10 seconds." in failure(check_double, stopped)


def test_a_driver_runs_beside_an_object_in_another_process():
    class Proxy:
        __name__ = "double"

        def __call__(self, x):
            raise core.StudentStopped("called")

        def __backprop_drive__(self, name, *arguments):
            return name, arguments

    assert core.drive("count_operations", Proxy(), 3) == ("count_operations", (3,))


def test_nothing_the_student_does_reaches_the_notebook(capfd):
    def loud(x):
        print("out")
        print("err", file=sys.stderr)
        warnings.warn("careful", stacklevel=1)
        random.seed(1)
        np.random.seed(1)
        np.log(np.zeros(1))
        return 2 * x

    random.seed(5)
    np.random.seed(5)
    state, numpy_state = random.getstate(), np.random.get_state()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_double(loud)
    assert capfd.readouterr() == ("✓ doubles a number\n", "")
    assert random.getstate() == state
    assert all(
        np.array_equal(a, b) for a, b in zip(np.random.get_state(), numpy_state, strict=True)
    )


def test_a_call_hands_over_copies_unless_told_otherwise():
    x = np.zeros(3)

    def spoil(a):
        a += 1

    core.call(spoil, x)
    assert not x.any()
    core.call(spoil, x, copy=False)
    assert x.all()


class FakeTensor:
    pass


FakeTensor.__module__ = "torch"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "dW is None: expected a NumPy array of float64 with shape (2, 3)"),
        ([[1.0]], "dW is a list"),
        ("no", "dW is a str"),
        (FakeTensor(), "dW is a torch tensor"),
        (np.ones((2, 3)) * 1j, "dW is complex"),
        (np.ones((3, 2)), "dW has shape (3, 2)"),
        (np.float64(1), "dW has shape () (a single number)"),
        (np.ones((2, 3), np.float32), "dW holds float32"),
        (np.ones((2, 3), object), "dW holds object"),
        (np.array([[1, 1, 1], [1, np.nan, 1]]), "dW[1, 1] is nan"),
        (np.array([[1, np.inf, 1], [1, 1, 1]]), "dW[0, 1] is inf"),
    ],
)
def test_each_wrong_type_has_its_own_sentence(value, words):
    with pytest.raises(core.CheckFailed) as caught:
        core.as_array("dW", value, (2, 3))
    assert words in str(caught.value)


def test_a_driver_needs_nothing_but_python_and_numpy():
    tree = ast.parse(inspect.getsource(sys.modules[count_operations.__module__]))
    roots = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in (
            [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
        )
    }
    assert roots <= set(sys.stdlib_module_names) | {"numpy"}
    assert all(callable(driver) for driver in DRIVERS.values())


def test_counting_leaves_an_outer_trace_as_it_was():
    def trace(*_):
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        count_operations(lambda a: a + 1, np.ones(3))
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)


def test_closeness_is_relative_to_the_whole_array():
    assert core.close([1.0, 1e-12], [1.0, 0.0], 1e-10)
    assert not core.close([1.0, 1e-9], [1.0, 0.0], 1e-10)
    assert not core.close([1.0, np.nan], [1.0, np.nan], 1e-10)
    assert not core.close([1.0], [[1.0]], 1e-10)


def test_the_source_of_a_defined_answer_is_known_to_tracebacks():
    define("def f(x):\n    return x", "f")
    assert linecache.getline("<cell of f>", 2) == "    return x"


def test_every_section_that_a_check_sends_students_to_is_there():
    folder = ROOT / "src" / "notebooks" / "lessons"
    sections = r'"Lesson (\d\d), (?:section ([\d.]+): )?(.+?)\."'
    found = 0
    for path in (ROOT / "src" / "backprop_course" / "checks").glob("*.py"):
        for lesson, number, title in re.findall(sections, path.read_text()):
            for source in folder.glob(f"{lesson}_*.py"):
                headings = re.findall(r"^# ## (.+)", source.read_text(), re.M)
                wanted = f"{number} {title}".strip().lower()
                assert any(wanted in h.lower() for h in headings), (path.name, wanted)
                found += 1
    assert found >= 7
