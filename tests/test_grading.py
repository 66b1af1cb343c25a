"""Grading from end to end: sample submissions through nbgrader's own commands, every score compared."""

import html
import re
import subprocess

import nbformat
import pytest

from .course import NBGRADER, Course
from .references import source_of
from .samples import BANKS, SAMPLES, hand_in


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = Course(tmp_path_factory.mktemp("course") / "backprop", list(BANKS))
    hand_in(course)
    for exercise in BANKS:
        course.nbgrader("autograde", exercise, check=False)
        course.nbgrader("generate_feedback", exercise)
    return course


@pytest.fixture(scope="module")
def scores(course):
    return course.scores()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: f"{s.exercise}-{s.student}")
def test_a_submission_gets_the_score_it_deserves(sample, scores):
    assert scores[sample.student, sample.exercise] == sample.score


def test_the_feedback_of_a_wrong_answer_holds_the_words_of_the_check(course):
    for sample in (s for s in SAMPLES if s.student.startswith("wrong-")):
        names = {n.replace(" ", "-"): n for n in BANKS[sample.exercise].WRONG}
        words = BANKS[sample.exercise].WRONG[names[sample.student.removeprefix("wrong-")]][1]
        page = html.unescape(
            re.sub(r"<[^>]+>", "", course.feedback(sample.student, sample.exercise))
        )
        assert words in page
        assert "site-packages" not in page and "_core.py" not in page


def test_the_feedback_of_an_endless_loop_says_that_it_was_stopped(course):
    assert "stopped: it ran for more than 10 s" in html.unescape(
        course.feedback("never-ends", "checkpoint_counts")
    )


def test_a_warning_on_stderr_costs_nothing(scores):
    assert scores["right-and-chatty", "mlp_backward"] == 10


def test_no_graded_cell_shows_a_value_that_could_be_read_as_partial_credit(course):
    path = course.root / "autograded" / "right" / "mlp_backward" / "mlp_backward.ipynb"
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            assert [o.output_type for o in cell.outputs] == ["stream"]


@pytest.mark.parametrize("exercise", BANKS)
def test_generate_solution_gives_the_answered_notebook(exercise, course):
    course.nbgrader("generate_solution", exercise)
    path = course.root / "solution" / exercise / f"{exercise}.ipynb"
    code = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells)
    assert source_of(exercise).splitlines()[-1] in code


def test_validate_accepts_a_right_notebook_and_refuses_a_blank_one(course):
    for student, verdict in (("right", "Success"), ("blank", "The following")):
        folder = course.root / "submitted" / student / "checkpoint_counts"
        done = subprocess.run(
            [NBGRADER, "validate", "checkpoint_counts.ipynb"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        assert verdict in done.stdout + done.stderr


def test_a_release_is_the_notebook_that_students_have(course):
    import build

    for exercise in BANKS:
        released = build.finish(course.blank(exercise))
        committed = nbformat.read(
            build.ROOT / "lessons" / "exercises" / f"{exercise}.ipynb", as_version=4
        )
        assert released == committed
