"""What a clean clone promises: one set of versions, a light import, verbs with help."""

import re
import subprocess
import sys
import tomllib

import pytest

from backprop_course.optional import optional, require

from .conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIREMENTS = [
    *PROJECT["dependencies"],
    *(r for group in PROJECT["optional-dependencies"].values() for r in group),
]


def pins(text):
    return dict(re.findall(r"^(?:    - )?([\w.-]+)==(\S+)$", text.lower(), re.M))


PINNED = pins((ROOT / "constraints.txt").read_text())
CONDA = pins((ROOT / "environment.yml").read_text())


def name_of(requirement):
    return re.match(r"[\w.-]+", requirement)[0].lower()


def version(text):
    return tuple(int(n) for n in re.findall(r"\d+", text))


@pytest.mark.parametrize("requirement", sorted(set(REQUIREMENTS)))
def test_each_requirement_is_pinned_at_or_above_its_lower_bound(requirement):
    name, bound = name_of(requirement), requirement.split(">=")[1]
    assert version(PINNED[name]) >= version(bound)


def test_environment_yml_names_what_pyproject_names_in_the_versions_of_the_constraints():
    assert set(CONDA) == {name_of(r) for r in REQUIREMENTS}
    assert {name: PINNED[name] for name in CONDA} == CONDA


def test_the_core_depends_on_numpy_and_matplotlib_only():
    assert {name_of(r) for r in PROJECT["dependencies"]} == {"numpy", "matplotlib"}


def test_the_lower_bounds_of_the_core_admit_what_colab_ships():
    colab = pins((ROOT / "tests" / "colab-pins.txt").read_text())
    for requirement in PROJECT["dependencies"]:
        name, bound = requirement.split(">=")
        assert version(colab[name]) >= version(bound)


def test_importing_the_package_imports_neither_torch_nor_matplotlib_nor_widgets():
    code = (
        "import sys, backprop_course.chain_rule, backprop_course.matrix, backprop_course.autograd,"
        " backprop_course.memory, backprop_course.checks.mlp_backward;"
        "print([m for m in ('torch', 'matplotlib', 'ipywidgets', 'nbgrader') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_optional_dependency_is_one_sentence_that_says_what_to_install(
    monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        require("torch", "counting saved tensors")
    expected = "PyTorch is not installed, and counting saved tensors needs it: pip install torch"
    assert str(caught.value) == expected
    assert optional("torch") is None
    assert capsys.readouterr().out.count("\n") == 1


def test_an_import_that_fails_inside_an_installed_package_is_not_renamed(monkeypatch, tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("import a_part_that_is_missing")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_part_that_is_missing"):
        require("torch", "counting saved tensors")


def test_make_help_lists_every_verb_on_a_line():
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    verbs = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert re.findall(r"^  make ([a-z-]+) +\S", done.stdout, re.M) == verbs


def tracked_files():
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in done.stdout.split("\0") if name]


def test_no_tracked_file_holds_a_path_of_a_machine():
    # Written in pieces, so that this file does not find itself.
    path = re.compile(r"(?<![\w.])/(?:" + "|".join(["wo" + "rk", "ro" + "ot", "ho" + "me"]) + ")/")
    texts = [f for f in tracked_files() if f.suffix not in {".png"} and f.is_file()]
    found = [f.name for f in texts if path.search(f.read_text("utf-8", "replace"))]
    assert found == []
