"""Attacks and damaged files, each through real `nbgrader autograde`, with the score it deserves."""

import html
import re
import sqlite3
from pathlib import Path

import nbformat
import pytest

from .course import Course
from .hostile import damage
from .hostile.attacks import ATTACKS, RIGHT
from .hostile.damage import DAMAGE, REFUSED

EXERCISE = "checkpoint_counts"
MARK = "1.25"  # this batch's own limit, in the command line of each of its processes
CASES = {**{k: s for k, (_, s) in ATTACKS.items()}, **{k: s for k, (_, s) in DAMAGE.items()}}


def student(name: str) -> str:
    return re.sub(r"\W+", "-", name)


class Batch:
    """All cases in one course, graded by one command."""

    def __init__(self, root: Path):
        self.course = Course(root, [EXERCISE])
        secret = root / "data" / "backprop_course" / "secret"  # fixed: the same cases in every run
        secret.parent.mkdir(parents=True)
        secret.write_text("a secret of the tests, not of a course")
        blank = self.course.blank(EXERCISE)
        damage.STUB = damage.answer(blank).source
        for name, (code, _) in ATTACKS.items():
            self.course.submit(student(name), EXERCISE, {EXERCISE: code})
        for name, (hand_in, _) in DAMAGE.items():
            nb = self.course.blank(EXERCISE)
            damage.answer(nb).source = RIGHT
            hand_in(nb, root / "submitted" / student(name) / EXERCISE)
        self.before = listing(root)
        self.done = self.course.nbgrader(
            "autograde",
            EXERCISE,
            f"--Judge.cell_seconds={MARK}",
            "--Judge.submission_seconds=5",
            f"--Judge.memory={1 << 30}",
            check=False,
        )
        self.scores = self.course.scores()

    def told(self, name: str) -> str:
        """What the feedback page will show: text cells and outputs of the graded notebook."""
        cells = self.autograded(name).cells
        texts = [c.source for c in cells if c.cell_type == "markdown"]
        return "\n".join(texts + [str(o) for c in cells for o in c.get("outputs", [])])

    def autograded(self, name: str) -> nbformat.NotebookNode:
        folder = self.course.root / "autograded" / student(name) / EXERCISE
        return nbformat.read(folder / f"{EXERCISE}.ipynb", as_version=4)


def listing(root: Path) -> set[Path]:
    return {p for p in root.rglob("*") if p.parts[len(root.parts)] != "autograded"}


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    return Batch(tmp_path_factory.mktemp("hostile") / "course")


def test_there_are_at_least_eighty_cases():
    assert len(CASES) >= 80


@pytest.mark.parametrize("name", CASES)
def test_each_gets_the_score_it_deserves(name, batch):
    assert batch.scores.get((student(name), EXERCISE)) == CASES[name]


def test_the_batch_reports_every_submission_and_that_some_need_a_look(batch):
    report = batch.done.stdout + batch.done.stderr
    assert batch.done.returncode == 1
    assert f"{len(CASES)} graded" in report
    assert f"submission {len(CASES)} of {len(CASES)}" in report and "s left" in report
    assert "Could not be read, scored 0, need a look" in report
    for name in REFUSED:
        assert re.search(rf"^ *{student(name)} +0 / 6 +refused: ", report, re.M), name


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_pending_and_says_why(name, batch):
    assert REFUSED[name] in batch.told(name)
    assert pending(batch.course.root, student(name)) == 6


def test_the_feedback_page_says_it_too(batch):
    name = "a web page"
    batch.course.nbgrader("generate_feedback", EXERCISE, f"--student={student(name)}")
    page = html.unescape(re.sub(r"<[^>]+>", "", batch.course.feedback(student(name), EXERCISE)))
    assert REFUSED[name] in page


def pending(root: Path, who: str) -> int:
    """How many of a student's cells wait for a person."""
    with sqlite3.connect(root / "gradebook.db") as database:
        query = (
            "select count(*) from grade join submitted_notebook n on n.id = grade.notebook_id "
            "join submitted_assignment a on a.id = n.assignment_id "
            "where a.student_id = ? and needs_manual_grade"
        )
        return database.execute(query, [who]).fetchone()[0]


def test_nothing_that_must_stay_inside_got_out(batch):
    for name in CASES:
        for cell in batch.autograded(name).cells:
            for output in cell.get("outputs", []):
                assert "LEAK" not in str(output), name


def test_no_file_is_written_but_the_graders_own(batch):
    after = {p.relative_to(batch.course.root) for p in listing(batch.course.root) - batch.before}
    allowed = {"gradebook.db", ".nbgrader.log", "scores.csv", "feedback", "data"}
    assert {p.parts[0] for p in after} <= allowed
    for name in CASES:
        folder = batch.course.root / "autograded" / student(name) / EXERCISE
        assert {p.name for p in folder.iterdir()} <= {f"{EXERCISE}.ipynb"}, name


def test_no_process_is_left_behind(batch):
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert f'"cell_seconds": {MARK}' not in path.read_bytes().decode(errors="replace")
        except OSError:
            continue  # it ended meanwhile


def test_the_feedback_says_what_was_repaired(batch):
    for name, words in {
        "all metadata lost": "Grading marks were lost and put back",
        "points raised": "Grading marks were changed and put back",
        "checks edited": "was edited; the released one was put back",
        "checks deleted": "Cells were missing and added",
        "a wrong answer then a right one": "the last one that runs counts",
        "utf 16": "was saved in utf-16",
        "renamed by colab": "The file was named 'Copy of checkpoint_counts.ipynb'",
        "answer turned into markdown": "run as code again",
    }.items():
        assert words in batch.told(name), name


def test_the_feedback_names_the_limit_that_was_met(batch):
    for name, words in {
        "a loop in the cell": "it ran for more than 1.25 s",
        "8 GB": "more memory than a submission may use",
        "os._exit in the function": "its process ended",
        "library code": "it comes from a library",
        "a scratch cell that asks": "input() has no one to ask",
    }.items():
        assert words in batch.told(name), name
