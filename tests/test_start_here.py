"""Lesson 00: its map of the course agrees with the lessons and exercises; curriculum rows 0.2, 0.3."""

import re

import build
import pytest

from backprop_course.chain_rule import Graph

TEXT = "\n".join(c.source for c in build.read(build.LESSONS[0]).cells)
ROWS = re.findall(r"^\| \[(.+?)\]\((\w+)\.ipynb\) \| (\d+) \| (.+?) \| (.*?) ?\|$", TEXT, re.M)


def test_the_map_names_every_lesson_with_its_title_and_minutes():
    real = []
    for path in build.LESSONS[1:]:
        first = build.read(path).cells[0].source
        title = first.splitlines()[0].removeprefix("# ")
        real.append((title, path.stem, re.search(r"(\d+) minutes", first)[1]))
    assert [row[:3] for row in ROWS] == real


def test_the_map_names_every_exercise_after_its_lesson_with_its_points():
    for _, lesson, _, _, exercise in ROWS:
        name = build.EXERCISE_AFTER.get(lesson)
        if name is None:
            assert exercise == ""
            continue
        cells = build.read(build.HERE / "exercises" / f"{name}.py").cells
        points = sum(c.metadata.get("points", 0) for c in cells)
        assert exercise == f"[{name}](exercises/{name}.ipynb), {points:g} points"
    assert len(build.EXERCISE_AFTER) == 4


def test_the_map_adds_up_the_points():
    points = sum(int(n) for row in ROWS for n in re.findall(r"(\d+) points", row[4]))
    assert f"{points} points in all" in TEXT


@pytest.mark.parametrize("lesson", [row[1] for row in ROWS])
def test_a_lesson_needs_only_lessons_that_come_before_it(lesson):
    number = int(lesson[:2])
    needs = next(row[3] for row in ROWS if row[1] == lesson)
    assert all(int(n) < number for n in re.findall(r"(?<![.\d])\d(?![.\d])", needs))


def test_the_answers_of_row_0_2_are_the_right_options():
    right = re.findall(r"- \(x\) (.+?) ::", TEXT)
    assert right == ["`2F`", "`1e-5`", "`1.5`"]
    assert round((3 * 2**-53) ** (1 / 3), 6) == 7e-6
    g = Graph("two uses that send 1.0 and 0.5")
    g.input("a", 1.0)
    g.op("q", "add", "a", g.op("p", "half", "a"))
    assert g.backward()["a"] == 1.5
