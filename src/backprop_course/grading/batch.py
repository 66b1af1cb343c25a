"""nbgrader's autograde, plugged in by configuration: see autograde/nbgrader_config.py.

`Submissions`, the exporter, reads what students handed in; `Judge` stands where nbgrader has Execute;
`SaveScores` writes a submission's scores in one transaction. nbgrader names its converter class in code: the exporter,
which it makes first, turns the converter into a `Batch`, which loses nothing when killed and reports at the end.
"""

import datetime
import os
import re
import shutil
import sqlite3
import stat
import time
import warnings
from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from nbconvert.writers import FilesWriter
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution, parse_utc
from traitlets import Bool, Float, Integer

from .judge import judge
from .repair import KEY, LARGEST, Refused, refuse, repair
from .sandbox import Limits, SandboxUnavailable, Zygote
from .secret import course_secret, secret_path, seed_for

ROOM = 50 << 20  # bytes that must be free before a batch starts


# ---- files ---------------------------------------------------------------------------------


def plain_name(name: str) -> str:
    """mlp_backward for 'MLP_Backward (1).ipynb', 'Copy of mlp_backward.ipynb', 'mlp_backward-Copy1.ipynb'."""
    stem = (
        name.lower()
        .removesuffix(".ipynb")
        .removesuffix(".json")
        .removesuffix(".txt")
        .removesuffix(".ipynb")
    )
    for extra in ("copy of ", "kopie von ", "copie de "):
        stem = stem.removeprefix(extra)
    return stem.split("-copy")[0].split("(")[0].strip().replace(" ", "_").replace("-", "_")


def find(folder: Path, exercise: str) -> Path | None:
    """The file that was handed in for an exercise: by its name, or nearly, or the only one."""
    if os.path.lexists(folder / f"{exercise}.ipynb"):
        return folder / f"{exercise}.ipynb"
    files = [
        p
        for p in sorted(folder.iterdir())
        if ".ipynb" in p.name.lower() and not p.name.startswith(".")
    ]
    near = [p for p in files if plain_name(p.name) == exercise] or files
    return max(near, key=lambda p: p.lstat().st_mtime, default=None) if near else None


def read(path: Path, folder: Path) -> bytes:
    """The bytes of a file that lies in the student's folder, and is a file."""
    if path.is_symlink() and folder.resolve() not in path.resolve().parents:
        raise Refused("The file is a link to something outside the submission's folder.")
    try:
        # Not opened to wait for: a pipe would block for ever.
        descriptor = os.open(path.resolve(), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise Refused(f"The file cannot be opened ({error.strerror}).") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refused("This is no file that can be read.")
    with open(descriptor, "rb") as file:
        return file.read(LARGEST + 1)


def write_safely(path: Path, text: str) -> None:
    """Write beside, flush to disk, rename: a reader meets the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    with open(beside, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


class SafeWriter(FilesWriter):
    """nbconvert's writer of one file, by write_safely."""

    def write(self, output, resources, notebook_name=None, **_):
        name = f"{notebook_name}{resources.get('output_extension', '')}"
        write_safely(Path(self.build_directory, name), output)
        return str(Path(self.build_directory, name))


def graded(path: Path) -> dict | None:
    """What an autograded notebook says of its grading; None unless it is complete."""
    try:
        found = nbformat.read(path, as_version=4).metadata.get(KEY, {})
    except (OSError, ValueError, AttributeError, nbformat.ValidationError):
        return None
    return found if found.get("graded") else None


# ---- nbgrader's three places -----------------------------------------------------------------


class Submissions(NotebookExporter):
    """Reads a submission in whatever state it arrived, and hands on the repaired notebook."""

    def __init__(self, **options):
        super().__init__(**options)
        if type(self.parent) is Autograde:
            self.parent.__class__ = Batch
            self.parent.writer = SafeWriter(parent=self.parent)

    def from_filename(self, filename, resources=None, **options):
        batch, where = self.parent, resources["nbgrader"]
        if not batch._sanitizing:
            return super().from_filename(filename, resources, **options)
        release = batch.release(where["assignment"], where["notebook"])
        notebook = self.read(Path(filename).parent, where["notebook"], release)
        resources = self._init_resources(resources)
        return self.from_notebook_node(notebook, resources, **options)

    @staticmethod
    def read(folder: Path, exercise: str, release):
        notes: list[str] = []
        path = find(folder, exercise)
        if path is None:
            return refuse(release, "No notebook was handed in.")
        if path.name != f"{exercise}.ipynb":
            notes.append(f"The file was named {path.name!r}.")
        try:
            return repair(read(path, folder), release, notes)
        except Refused as reason:
            return refuse(release, str(reason))


class Judge(NbGraderPreprocessor):
    """Stands in place of nbgrader's Execute."""

    trusted = Bool(False, help="Submissions are trusted: run them without a sandbox.").tag(
        config=True
    )
    cell_seconds = Float(Limits.cell_seconds, help="Time for a cell or a behaviour.").tag(
        config=True
    )
    submission_seconds = Integer(
        Limits.submission_seconds, help="Wall and CPU time for a submission."
    ).tag(config=True)
    memory = Integer(Limits.memory, help="Bytes that a process may use.").tag(config=True)

    zygotes: dict[tuple, Zygote] = {}  # one for each set of options, kept warm for the batch

    def zygote(self) -> Zygote:
        limits = Limits(self.cell_seconds, self.submission_seconds, self.memory)
        options = (limits, not self.trusted)
        if options not in self.zygotes:
            self.zygotes[options] = Zygote(limits, isolated=not self.trusted)
        return self.zygotes[options]

    def preprocess(self, nb, resources):
        where = resources["nbgrader"]
        release = self.parent.parent.release(where["assignment"], where["notebook"])
        seed = seed_for(course_secret()[0], where["student"], where["notebook"])
        for _ in range(2):
            try:
                return judge(nb, release, seed, self.zygote()), resources
            except OSError:  # the warm parent was killed: once more, with a new one
                self.stop()
        nb.metadata[KEY]["refused"] = "Its code ended the sandbox that it ran in, twice."
        return judge(nb, release, seed, self.zygote()), resources

    @classmethod
    def stop(cls) -> None:
        while cls.zygotes:
            cls.zygotes.popitem()[1].stop()


class SaveScores(NbGraderPreprocessor):
    """Scores and comments of one submission, in one transaction: all of them or none."""

    def preprocess(self, nb, resources):
        where = resources["nbgrader"]
        key = (where["notebook"], where["assignment"], where["student"])
        pending = bool(nb.metadata.get(KEY, {}).get("refused"))
        with Gradebook(where["db_url"]) as gradebook:
            notebook = gradebook.find_submission_notebook(*key)
            grades = {grade.name: grade for grade in notebook.grades}
            comments = {comment.name: comment for comment in notebook.comments}
            for cell in nb.cells:
                if is_grade(cell):
                    self.save(cell, grades[cell.metadata.nbgrader.grade_id], pending)
                if is_solution(cell):
                    unchanged = cell.metadata.nbgrader.get("checksum") == compute_checksum(cell)
                    comment = comments[cell.metadata.nbgrader.grade_id]
                    comment.auto_comment = "No response." if unchanged else None
            gradebook.db.commit()
        return nb, resources

    def save(self, cell, grade, pending: bool) -> None:
        score, _ = determine_grade(cell, self.log)
        if grade.manual_score is not None and grade.auto_score != score:
            self.log.warning(
                "%s: the automatic score is %s now, was %s; the score given by hand, %s, stays. Look at it again.",
                grade.name, score, grade.auto_score, grade.manual_score,
            )  # fmt: skip
        grade.auto_score = score
        grade.needs_manual_grade = pending or score is None or grade.manual_score is not None


# ---- the batch -------------------------------------------------------------------------------


class Batch(Autograde):
    """nbgrader's Autograde for many submissions of unknown people."""

    def release(self, assignment: str, notebook: str):
        """The notebook as it was handed out: the judge's only source of check cells."""
        folder = self.coursedir.format_path(self.coursedir.release_directory, ".", assignment)
        path = Path(folder, f"{notebook}.ipynb")
        if not path.exists():
            raise NbGraderException(
                f"{path} is missing: run 'nbgrader generate_assignment {assignment}' first."
            )
        return nbformat.read(path, as_version=4)

    def convert_notebooks(self) -> None:
        # nbgrader adds rows in an order that SQLAlchemy remarks on, several lines a submission.
        warnings.filterwarnings("ignore", module="nbgrader.api")
        self.rows, self.started, self.number = [], time.monotonic(), 0
        ignored, self.coursedir.ignore = self.coursedir.ignore, ["*"]  # see init_assignment
        self.coursedir.get_existing_timestamp = self.timestamp
        try:
            self.prepare()
            failed = self.convert_all()
        finally:
            self.coursedir.ignore = ignored
            del self.coursedir.get_existing_timestamp
            Judge.stop()
        self.report(failed)

    def convert_all(self) -> bool:
        """Whether nbgrader itself met an error with some submission."""
        try:
            super().convert_notebooks()
        except NbGraderException as error:
            self.log.error("%s", error)
            return True
        return False

    def prepare(self) -> None:
        """Refuse to start where the batch could not end well; find what was handed in."""
        self.check_gradebook()
        self.check_folder()
        secret, made = course_secret()
        if made:
            self.log.warning(
                "Made the course secret %s. Keep it: grading again with another one tries other numbers.",
                secret_path(),
            )
        try:
            judge = Judge(parent=self)
            if judge.trusted:
                self.log.warning("Submissions run without a sandbox: they can do all that you can.")
            judge.zygote()
        except SandboxUnavailable as error:
            self.log.error("%s", error)
            raise NbGraderException(str(error)) from None
        self.add_unusual_names()
        for folder in list(self.assignments):
            self.remove_unfinished(folder)

    def check_gradebook(self) -> None:
        if not self.coursedir.db_url.startswith("sqlite:///"):
            return
        path = self.coursedir.db_url.removeprefix("sqlite:///")
        try:
            with sqlite3.connect(path, timeout=5, isolation_level=None) as database:
                database.execute("BEGIN IMMEDIATE")
                database.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            raise self.stop_for(
                f"The gradebook {path} cannot be written ({error}). Close what else uses it (formgrader, "
                "another autograde), see that the disk has room and that you may write there."
            ) from None

    def check_folder(self) -> None:
        """The folder of graded notebooks must take a file, and have room."""
        root = Path(self.coursedir.format_path(self.coursedir.autograded_directory, ".", "."))
        try:
            root.mkdir(parents=True, exist_ok=True)
            write_safely(root / ".writable", "")
            (root / ".writable").unlink()
        except OSError as error:
            raise self.stop_for(f"{root} cannot be written: {error.strerror}.") from None
        if (free := shutil.disk_usage(root).free) < ROOM:
            raise self.stop_for(f"The disk of {root} has {free >> 20} MB left: make room first.")

    def stop_for(self, reason: str) -> NbGraderException:
        self.log.error("%s Nothing was graded.", reason)
        return NbGraderException(reason)

    def add_unusual_names(self) -> None:
        """Give every folder the notebook's right name, which `find` turns into the file there."""
        assignment = self.coursedir.assignment_id
        pattern = Path(self._format_source(assignment, self.coursedir.student_id))
        source = Path(self.coursedir.format_path(self.coursedir.release_directory, ".", assignment))
        names = sorted(p.stem for p in source.glob("*.ipynb"))
        for folder in sorted(Path("/").glob(str(pattern.absolute()).lstrip("/"))):
            if folder.is_dir():
                self.assignments[str(folder)] = [str(folder / f"{name}.ipynb") for name in names]

    def remove_unfinished(self, folder: str) -> None:
        """What a killed run left half done would count as done."""
        where = self.parts(folder)
        done = Path(self._format_dest(where["assignment_id"], where["student_id"]))
        names = [Path(notebook).name for notebook in self.assignments[folder]]
        if done.exists() and not all(graded(done / name) for name in names):
            shutil.rmtree(done)

    def parts(self, folder: str) -> dict:
        pattern = self._format_source("(?P<assignment_id>.*)", "(?P<student_id>.*)", escape=True)
        return re.match(pattern, folder).groupdict()

    # ---- one submission ----

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        self.number += 1
        wanted = super().init_destination(assignment_id, student_id)
        if wanted:
            spent = time.monotonic() - self.started
            left = spent / max(self.number - 1, 1) * (len(self.assignments) - self.number + 1)
            self.log.info(
                "submission %d of %d (%s)%s", self.number, len(self.assignments), student_id,
                f", about {left:.0f} s left" if self.number > 1 else "",
            )  # fmt: skip
        return wanted

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Rows in the gradebook, and the time stamp. No other file is copied: it might be a link."""
        when = self.timestamp(self._format_source(assignment_id, student_id))
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            gradebook.update_or_create_student(student_id)
            values = {"timestamp": when} if when else {}
            gradebook.update_or_create_submission(assignment_id, student_id, **values)
        if when:
            dest = Path(self._format_dest(assignment_id, student_id))
            write_safely(dest / "timestamp.txt", f"{when.isoformat(' ')} UTC")

    def timestamp(self, folder: str) -> datetime.datetime | None:
        """When a submission was collected; None where the file says nothing that can be read."""
        try:
            text = read(Path(folder, "timestamp.txt"), Path(folder)).decode().strip()
            return parse_utc(text) if text else None
        except (Refused, ValueError, OverflowError):
            return None

    def convert_single_notebook(self, notebook_filename: str) -> None:
        super().convert_single_notebook(notebook_filename)
        name = os.path.basename(notebook_filename)
        found = graded(Path(self.writer.build_directory, name)) or {}
        self.rows.append((self.parts(os.path.dirname(notebook_filename)), name, found))

    # ---- the end ----

    def report(self, failed: bool) -> None:
        lines = [f"{'student':24} {'score':>11}  what was met"]
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            for where, name, found in self.rows:
                key = (Path(name).stem, where["assignment_id"], where["student_id"])
                notebook = gradebook.find_submission_notebook(*key)
                score = f"{notebook.score:g} / {notebook.max_score:g}"
                lines.append(f"{where['student_id']:24} {score:>11}  {summary(found)}".rstrip())
        self.log.info("%d graded\n%s", len(self.rows), "\n".join(lines))
        refused = [where["student_id"] for where, _, found in self.rows if found.get("refused")]
        if refused:
            self.log.error("Could not be read, scored 0, need a look: %s", ", ".join(refused))
        if refused or failed:
            raise NbGraderException("Some submissions need a look; all others are graded.")


def summary(found: dict) -> str:
    """repaired, refused, limits: in a few words."""
    words = []
    if found.get("refused"):
        words.append(f"refused: {found['refused']}")
    if found.get("repaired"):
        words.append(f"repaired ({len(found['repaired'])})")
    if found.get("limits"):
        words.append(f"limits: {'; '.join(found['limits'])}")
    return ", ".join(words)
