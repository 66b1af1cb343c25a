"""Colab as a platform under test: its Python and versions, our wheel, every notebook, no torch.

`make test` prepares .venv-colab where a Python 3.13 is found (see Makefile, tests/colab-pins.txt).
"""

import json
import subprocess
import sys

import pytest

from .conftest import ROOT

COLAB = ROOT / ".venv-colab" / "bin" / "python"
PINS = dict(
    line.replace("-", "_").split("==")
    for line in (ROOT / "tests" / "colab-pins.txt").read_text().split("\n")
    if "==" in line
)
NOTEBOOKS = sorted([*ROOT.glob("lessons/*.ipynb"), *ROOT.glob("solutions/*.ipynb")])

pytestmark = pytest.mark.skipif(
    not COLAB.exists(), reason="no Colab environment: `make test-colab` needs a Python 3.13"
)

# Runs in Colab's environment. Prints what a student would see when a notebook stops.
RUN = """
import sys, nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
nb = nbformat.read(sys.argv[1], as_version=4)
try:
    NotebookClient(nb, timeout=300, kernel_name="python3").execute()
except CellExecutionError as error:
    sys.exit(str(error))
"""
SHOW_ERROR = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("from backprop_course.checks._core import CheckFailed")
shell.run_cell("def deep():\\n    raise CheckFailed('dW1 is B times too large')\\ndeep()")
"""


def run(*arguments, **options):
    return subprocess.run(
        [str(COLAB), *map(str, arguments)], capture_output=True, text=True, **options
    )


def versions():
    done = run("-m", "pip", "list", "--format=json", "--disable-pip-version-check", check=True)
    return {p["name"].lower().replace("-", "_"): p["version"] for p in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The versions before and after our wheel is installed, with no package index at hand."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    run("-m", "pip", "uninstall", "--yes", "backprop-course", check=True)
    before = versions()
    run("-m", "pip", "install", "--no-index", wheel, check=True)
    return before, versions()


def test_the_environment_is_what_colab_ships(installed):
    before, _ = installed
    assert {name: before[name] for name in PINS} == PINS
    assert "torch" not in before


def test_installing_the_course_moves_no_version(installed):
    before, after = installed
    assert after.pop("backprop_course")
    assert after == before


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_notebook_runs_top_to_bottom(path, installed, tmp_path):
    done = run("-c", RUN, path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_failed_check_shows_its_message_and_no_traceback(installed):
    done = run("-c", SHOW_ERROR, check=True)
    shown = done.stdout + done.stderr
    assert "dW1 is B times too large" in shown
    assert "deep()" not in shown and "Traceback" not in shown
