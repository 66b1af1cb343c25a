"""Killed, locked out, full: the gradebook holds old scores or new ones, and a rerun finishes."""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .bank.checkpoint_counts import PLAIN, source
from .course import Course

EXERCISE = "checkpoint_counts"
STUDENTS = ("ada", "emmy", "sofia")
VERSIONS = (PLAIN, source("no error"))
ROWS = """
    select a.student_id, c.name, g.auto_score, g.manual_score, g.needs_manual_grade
    from grade g join submitted_notebook n on n.id = g.notebook_id
    join submitted_assignment a on a.id = n.assignment_id join base_cell c on c.id = g.cell_id
    order by a.student_id, c.name
"""


def rows(root: Path) -> list[tuple]:
    with sqlite3.connect(root / "gradebook.db") as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
        return database.execute(ROWS).fetchall()


def scores(root: Path) -> dict[str, tuple]:
    """student -> automatic scores of the cells, in order."""
    out: dict[str, tuple] = {}
    for student, _, score, *_ in rows(root):
        out[student] = (*out.get(student, ()), score)
    return out


def make(root: Path) -> Course:
    course = Course(root, [EXERCISE])
    secret = root / "data" / "backprop_course" / "secret"
    secret.parent.mkdir(parents=True)
    secret.write_text("a secret of the tests, not of a course")
    hand_in(course, 0)
    return course


def hand_in(course: Course, version: int) -> None:
    for student in STUDENTS:
        course.submit(student, EXERCISE, {EXERCISE: VERSIONS[version]})


# A server that has nbgrader imported forks a grader for each line it reads: a start takes no second.
SERVER = """
import os, sys, nbgrader.apps
import backprop_course.grading.batch
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        sys.stdin.close()
        os.setsid()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1), os.dup2(null, 2)
        nbgrader.apps.AutogradeApp.launch_instance(line.split())
        os._exit(0)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Server:
    def __init__(self, root: Path):
        environment = os.environ | {"XDG_DATA_HOME": str(root / "data")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER], cwd=root, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def grade(self, *options: str, kill_after: float | None = None) -> int:
        print(EXERCISE, *options, file=self.process.stdin, flush=True)
        pid = int(self.process.stdout.readline())
        if kill_after is not None:
            time.sleep(kill_after)
            with contextlib.suppress(ProcessLookupError):  # it was quicker
                os.kill(pid, signal.SIGKILL)
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """An undisturbed course: (its folder, scores of each version, rows at the end, seconds a run)."""
    course = make(tmp_path_factory.mktemp("undisturbed") / "course")
    server, expected = Server(course.root), []
    for version in (0, 1):
        hand_in(course, version)
        started = time.monotonic()
        assert server.grade("--force") == 0
        seconds = time.monotonic() - started
        expected.append(scores(course.root)["ada"])
    server.process.stdin.close()
    return course, expected, rows(course.root), seconds


def test_killed_at_fifty_points_each_student_has_old_scores_or_new_ones(graded, tmp_path):
    _, (right, wrong), final, seconds = graded
    assert right != wrong
    course = make(tmp_path / "course")
    server, rng, killed = Server(course.root), random.Random(5), 0
    nothing = (None,) * len(right)
    allowed, options = {nothing, right}, []  # nobody was graded before
    while killed < 50:
        if killed == 10 and not options:
            assert server.grade() == 0  # the rerun finishes what the killed ones began
            assert set(scores(course.root).values()) == {right}
            allowed, options = {right, wrong}, ["--force"]
        hand_in(course, (killed // 10) % 2)
        if server.grade(*options, kill_after=rng.uniform(0, seconds)) == -signal.SIGKILL:
            killed += 1
        else:
            seconds *= 0.9  # it was quicker than when it was measured
        assert set(scores(course.root).values()) <= allowed, killed
    hand_in(course, 1)
    assert server.grade("--force") == 0
    server.process.stdin.close()
    assert rows(course.root) == final
    assert not [p for p in course.root.rglob("*.new")]


def test_what_a_killed_run_left_half_done_is_graded_again_without_force(graded):
    course, (_, wrong), *_ = graded
    file = course.root / "autograded" / "ada" / EXERCISE / f"{EXERCISE}.ipynb"
    whole = file.read_bytes()
    file.chmod(0o644)
    file.write_bytes(whole[:500])
    course.nbgrader("autograde", EXERCISE)
    assert file.read_bytes() == whole
    assert scores(course.root)["ada"] == wrong


def test_a_locked_gradebook_is_named_and_nothing_is_lost(graded):
    course, *_ = graded
    before = rows(course.root)
    with sqlite3.connect(course.root / "gradebook.db", isolation_level=None) as database:
        database.execute("BEGIN EXCLUSIVE")
        done = course.nbgrader("autograde", EXERCISE, "--force", check=False)
        database.execute("ROLLBACK")
    assert done.returncode == 1
    assert "gradebook.db cannot be written (database is locked)" in done.stderr
    assert "Nothing was graded" in done.stderr
    assert rows(course.root) == before
    assert (course.root / "autograded" / "ada" / EXERCISE / f"{EXERCISE}.ipynb").exists()


def test_a_folder_that_cannot_be_written_is_named(graded, tmp_path):
    course, *_ = graded
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    done = course.nbgrader(
        "autograde", EXERCISE, f"--CourseDirectory.autograded_directory={blocked}/x", check=False
    )
    assert done.returncode == 1
    assert "cannot be written" in done.stderr and "Nothing was graded" in done.stderr


def test_a_full_disk_is_named_before_anything_is_touched(graded):
    course, *_ = graded
    before = rows(course.root)
    config = course.root / "nbgrader_config.py"
    kept = config.read_text()
    config.write_text(kept + "\nimport backprop_course.grading.batch as b\nb.ROOM = 1 << 60\n")
    done = course.nbgrader("autograde", EXERCISE, "--force", check=False)
    config.write_text(kept)
    assert done.returncode == 1
    assert "MB left: make room first" in done.stderr
    assert rows(course.root) == before


def test_a_score_given_by_hand_stays_and_is_pointed_out(graded):
    course, (right, wrong), *_ = graded
    with sqlite3.connect(course.root / "gradebook.db") as database:
        database.execute("update grade set manual_score = 0.75")
    hand_in(course, 0)
    done = course.nbgrader("autograde", EXERCISE, "--force")
    hand_in(course, 1)
    assert "the score given by hand, 0.75, stays" in done.stderr
    assert {(manual, wait) for _, _, _, manual, wait in rows(course.root)} == {(0.75, 1)}
    assert scores(course.root)["ada"] == right


def test_without_bubblewrap_nothing_is_graded_unless_submissions_are_trusted(graded, tmp_path):
    course, *_ = graded
    before = rows(course.root)
    empty = tmp_path / "bin"
    empty.mkdir()
    config = course.root / "nbgrader_config.py"
    kept = config.read_text()
    config.write_text(
        kept + "\nimport backprop_course.grading.sandbox as s\ns.shutil.which = lambda name: None\n"
    )
    refused = course.nbgrader("autograde", EXERCISE, "--force", check=False)
    assert refused.returncode == 1 and "apt install bubblewrap" in refused.stderr
    assert rows(course.root) == before
    trusted = course.nbgrader("autograde", EXERCISE, "--force", "--Judge.trusted=True", check=False)
    config.write_text(kept)
    assert trusted.returncode == 0 and "run without a sandbox" in trusted.stderr


def test_the_place_of_a_new_secret_is_printed(graded, tmp_path, monkeypatch):
    course, *_ = graded
    monkeypatch.setenv("BACKPROP_COURSE_SECRET", str(tmp_path / "new"))
    first = course.nbgrader("autograde", EXERCISE, "--force").stderr
    second = course.nbgrader("autograde", EXERCISE, "--force").stderr
    assert f"Made the course secret {tmp_path / 'new'}" in first
    assert "Made the course secret" not in second
