"""Generated notebooks: fresh, the same every time, and without answers where students look."""

import ast
import re

import build
import nbformat
import pytest

from .conftest import ROOT

LESSONS = [p.stem for p in build.LESSONS]
EXERCISES = [p.stem for p in build.EXERCISES]
COMMITTED = sorted(ROOT.glob("lessons/**/*.ipynb")) + sorted(ROOT.glob("solutions/*.ipynb"))


def source(name):
    return next(p for p in [*build.LESSONS, *build.EXERCISES] if p.stem == name)


def answers(name):
    """The code between the solution marks of an exercise."""
    cells = build.read(source(name)).cells
    return [m[3] for c in cells for m in build.SOLUTION.finditer(c.source)]


@pytest.fixture(scope="module")
def rebuilt():
    return {
        where: build.execute(nb, where.parent) if run else nb
        for where, nb, run in build.targets([])
    }


def test_the_notebooks_are_exactly_those_that_have_a_source(rebuilt):
    assert set(COMMITTED) == set(rebuilt)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_rebuild_gives_the_committed_bytes(path, rebuilt):
    assert nbformat.writes(rebuilt[path]) + "\n" == path.read_text(), "stale: make notebooks"


def test_the_anki_deck_is_fresh():
    assert build.DECK.read_text() == build.deck(), "stale: make notebooks"


def test_the_table_in_the_readme_is_fresh():
    assert (ROOT / "README.md").read_text() == build.readme(), "stale: make notebooks"


@pytest.mark.parametrize("path", COMMITTED, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_notebook_holds_no_time_path_address_error_or_widget(path):
    nb = nbformat.read(path, as_version=4)
    text = path.read_text()
    assert not re.search(r"iopub\.|shell\.execute_reply|\"execution\":", text)
    assert not re.search(r"(?<![\w./])/(?:home|tmp|usr|Users|mnt|var)/\w", text)
    assert not re.search(r"\bat 0x[0-9a-f]{6,}|ipykernel_\d+", text)
    assert "widgets" not in nb.metadata
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error"
            assert output.get("name") != "stderr"


@pytest.mark.parametrize("name", EXERCISES)
def test_no_line_of_an_answer_is_in_a_notebook_for_students(name):
    lines = {line.strip() for a in answers(name) for line in a.splitlines()}
    telling = {line for line in lines if len(line) > 24 and not line.startswith(("#", '"', "def "))}
    assert telling, "the exercise has no answer between its marks"
    for path in ROOT.glob("lessons/**/*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                found = telling & {line.strip() for line in cell.source.splitlines()}
                assert not found, f"{path.name} holds {found}"
                assert "SOLUTION" not in cell.source


@pytest.mark.parametrize("name", EXERCISES)
def test_the_graded_functions_are_not_in_the_package(name):
    graded = {
        node.name
        for a in build.read(source(name)).cells
        if a.metadata.get("solution")
        for node in ast.parse(a.source).body
        if isinstance(node, ast.FunctionDef)
    }
    for path in (ROOT / "src" / "backprop_course").rglob("*.py"):
        tree = ast.parse(path.read_text())
        defined = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
        assert not defined & graded, f"{path.name} defines {defined & graded}"


@pytest.mark.parametrize("name", EXERCISES)
def test_each_check_of_a_blank_exercise_fails_with_the_message_for_a_blank(name):
    from nbclient import NotebookClient

    nb = nbformat.read(ROOT / "lessons" / "exercises" / f"{name}.ipynb", as_version=4)
    NotebookClient(nb, timeout=120, kernel_name="python3", allow_errors=True).execute()
    checks = [c for c in nb.cells if c.metadata.get("nbgrader", {}).get("grade")]
    assert len(checks) >= 5
    for cell in checks:
        errors = [o for o in cell.outputs if o.output_type == "error"]
        assert len(errors) == 1, cell.source
        assert "blank" in errors[0].evalue, errors[0].evalue
        assert len(errors[0].traceback) <= 3, "the library's own lines are shown"


@pytest.mark.parametrize("name", EXERCISES)
def test_exercise_cells_carry_the_grading_metadata_of_schema_3(name):
    nb = build.exercise_source(source(name))
    graded = [c.metadata.nbgrader for c in nb.cells if "nbgrader" in c.metadata]
    assert all(m.schema_version == 3 for m in graded)
    assert [m for m in graded if m.solution] and all(not m.locked for m in graded if m.solution)
    assert all(m.locked and m.points > 0 for m in graded if m.grade)
    ids = [m.grade_id for m in graded]
    assert len(ids) == len(set(ids))


POINTS = {"mlp_backward": 10, "numerical_gradient": 10, "checkpoint_counts": 6, "value": 10}


@pytest.mark.parametrize("name", EXERCISES)
def test_points_add_up(name):
    cells = build.read(source(name)).cells
    assert sum(c.metadata.get("points", 0) for c in cells) == POINTS[name]


@pytest.mark.parametrize("name", LESSONS)
def test_your_turn_checks_say_blank_at_first_and_right_with_the_answers_in(name, rebuilt):
    turns = [c for c in build.read(source(name)).cells if "turn" in c.metadata.get("tags", [])]
    if not turns:
        pytest.skip("no your-turn cell in this lesson")
    blank = rebuilt[ROOT / "lessons" / f"{name}.ipynb"]
    answered = build.execute(build.lesson(source(name), answered=True), ROOT / "lessons")
    for nb, sign in ((blank, "not answered yet"), (answered, "✓")):
        code = [c for c in nb.cells if c.cell_type == "code"]
        checks = [
            b for a, b in zip(code, code[1:], strict=False) if "turn" in a.metadata.get("tags", [])
        ]
        assert len(checks) == len(turns)
        for check in checks:
            said = "".join(o.get("text", "") for o in check.outputs)
            assert sign in said, check.source + "\n" + said


@pytest.mark.parametrize("path", COMMITTED, ids=lambda p: str(p.relative_to(ROOT)))
def test_badge_and_install_cell_come_from_the_one_setting(path):
    cells = nbformat.read(path, as_version=4).cells
    name = path.stem
    place = f"lessons/{name}.ipynb" if name in LESSONS else f"lessons/exercises/{name}.ipynb"
    assert build.colab_badge(place) in cells[0].source
    assert cells[1].source == build.install_cell().source


@pytest.mark.parametrize("name", LESSONS)
def test_code_cells_stay_short(name):
    for cell in build.read(source(name)).cells:
        if cell.cell_type == "code" and "turn" not in cell.metadata.get("tags", []):
            lines = [line for line in cell.source.splitlines() if line.strip()]
            assert len(lines) <= 14, cell.source


@pytest.mark.parametrize("name", LESSONS)
def test_no_quiz_shows_its_answer_before_a_click(name):
    for cell in build.lesson(source(name)).cells:
        if cell.cell_type == "markdown":
            outside = re.sub(r"<details>.*?</details>", "", cell.source, flags=re.S)
            assert "✓ Right" not in outside and "<details open" not in cell.source


def test_a_quiz_without_exactly_one_right_option_is_refused():
    with pytest.raises(build.SourceError, match="exactly one"):
        build.quiz("What?\n- ( ) this :: no\n- ( ) that :: no")


def test_a_quiz_line_without_a_reply_is_refused():
    with pytest.raises(build.SourceError, match=":: reply"):
        build.quiz("What?\n- (x) this\n- ( ) that :: no")


def test_a_quiz_becomes_one_closed_reveal_per_option():
    text = build.quiz("What is `x < y`?\n- ( ) `a < b` :: no\n- (x) c :: because")
    assert text.count("<details><summary>") == 2
    assert "<code>a &lt; b</code>" in text
    assert "**✓ Right.** because" in text


def test_a_stub_stands_where_the_answer_was():
    cell = "def f(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION"
    assert build.stub_of(cell) == "def f(x):\n    ...  # your turn"
    assert build.answer_of(cell) == "def f(x):\n    return 2 * x"
    given = "### BEGIN SOLUTION\n### STUB a = ...\n### STUB b = ...\na = 1\nb = 2\n### END SOLUTION"
    assert build.stub_of(given) == "a = ...\nb = ..."
    assert build.answer_of(given) == "a = 1\nb = 2"


def test_ids_depend_on_the_text_of_a_cell_only():
    path = source(LESSONS[0])
    first, second = build.lesson(path), build.lesson(path)
    assert [c.id for c in first.cells] == [c.id for c in second.cells]
    assert len({c.id for c in first.cells}) == len(first.cells)


@pytest.mark.parametrize("repository", ["no-slash", "a/b/c", "https://github.com/a/b", ""])
def test_a_repository_that_is_not_owner_and_name_is_refused(repository):
    with pytest.raises(SystemExit, match="owner/name"):
        build.with_repository("", repository)


def test_the_repository_is_changed_in_the_one_setting():
    text = build.with_repository((ROOT / "pyproject.toml").read_text(), "someone/else")
    assert 'Repository = "https://github.com/someone/else"' in text
