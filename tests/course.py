"""A course folder for tests: the real configuration and commands, a place of its own."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import build
import nbformat

from .conftest import ROOT

# Called by its path, as in README: nothing here depends on an activated environment.
NBGRADER = Path(sys.executable).with_name("nbgrader")


class Course:
    """nbgrader's folders under `root`, with every exercise released."""

    def __init__(self, root: Path, exercises: list[str]):
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "autograde" / "nbgrader_config.py", root)
        for path in (p for p in build.EXERCISES if p.stem in exercises):
            name = path.stem
            build.write(build.exercise_source(path), root / "source" / name / f"{name}.ipynb")
            self.nbgrader("generate_assignment", name)

    def nbgrader(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess:
        """Run a stock nbgrader command in the course folder."""
        environment = os.environ | {
            "PATH": "/usr/bin:/bin",
            "XDG_DATA_HOME": str(self.root / "data"),  # the course secret goes here
        }
        done = subprocess.run(
            [NBGRADER, *arguments], cwd=self.root, env=environment, capture_output=True, text=True
        )
        if check and done.returncode:
            raise AssertionError(f"nbgrader {' '.join(arguments)}\n{done.stdout}\n{done.stderr}")
        return done

    def blank(self, exercise: str) -> nbformat.NotebookNode:
        """The released notebook, as a student gets it."""
        path = self.root / "release" / exercise / f"{exercise}.ipynb"
        return nbformat.read(path, as_version=4)

    def submit(self, student: str, exercise: str, answers: dict[str, str]) -> Path:
        """Hand in the release with the solution cells named in `answers` (grade_id -> code)."""
        nb = self.blank(exercise)
        for cell in nb.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            cell.source = answers.get(name, cell.source)
        path = self.root / "submitted" / student / exercise / f"{exercise}.ipynb"
        build.write(nb, path)
        return path

    def scores(self) -> dict[tuple[str, str], float]:
        """(student, exercise) -> score, as `nbgrader export` writes it."""
        self.nbgrader("export", "--to=scores.csv")
        with open(self.root / "scores.csv", newline="") as file:
            rows = csv.DictReader(file)
            return {(r["student_id"], r["assignment"]): float(r["raw_score"] or 0) for r in rows}

    def feedback(self, student: str, exercise: str) -> str:
        return (self.root / "feedback" / student / exercise / f"{exercise}.html").read_text()
