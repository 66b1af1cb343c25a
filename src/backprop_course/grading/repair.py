"""Read what a student handed in, however it arrived, and put the release's cells back around it.

The notebook that goes on to be graded is built anew: cells of the release with the release's own metadata,
the student's cells with none. What was handed in decides the student's code and its order, no more.
"""

import ast
import copy
import dataclasses
import json
import re
import textwrap

from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

LARGEST = 30_000_000  # bytes of a notebook file; stored widget state and pictures can be large
LONGEST = 2_000_000  # characters of all cells together
KEY = "backprop_course"  # where the notebook's metadata keeps what was found


class Refused(Exception):
    """A submission that cannot be read; the message is a sentence for student and instructor."""


@dataclasses.dataclass
class Cell:
    """What is kept of a submitted cell."""

    kind: str
    source: str
    id: str = ""
    marks: dict = dataclasses.field(default_factory=dict)  # nbgrader's metadata, as it came

    @property
    def grade_id(self) -> str:
        return str(self.marks.get("grade_id", ""))


# ---- bytes to cells ---------------------------------------------------------------------------


def parse(data: bytes, notes: list[str]) -> list[Cell]:
    """The cells of a notebook file in any format and encoding; Refused if there are none."""
    if len(data) > LARGEST:
        raise Refused(f"The file has {len(data) >> 20} MB: a notebook may have {LARGEST >> 20}.")
    text = decode(data, notes)
    if not text.strip():
        raise Refused("The file is empty. Save the notebook and hand it in again.")
    if re.search(r"^(<{7} |>{7} )", text, re.M):
        raise Refused("The file holds merge-conflict marks (<<<<<<<). Resolve the conflict first.")
    if text.lstrip().startswith("<"):
        raise Refused("The file is a web page, not a notebook. Download the .ipynb file itself.")
    try:
        content = json.loads(text, strict=False)
    except RecursionError:
        raise Refused("The file is nested too deeply to be a notebook.") from None
    except ValueError as error:
        raise Refused(f"The file is no notebook, or only part of one ({error}).") from None
    cells = list(cells_of(content, notes))
    if not any(cell.source.strip() for cell in cells):
        raise Refused("The file holds no notebook cells.")
    if sum(len(cell.source) for cell in cells) > LONGEST or len(cells) > 2000:
        raise Refused("The notebook's cells are too long to be an answer to this exercise.")
    return cells


def decode(data: bytes, notes: list[str]) -> str:
    """The text of the file; an encoding other than UTF-8 is noted."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encodings = ["utf-16"]
    elif data[1:2] == b"\0" or data[:1] == b"\0":
        encodings = ["utf-16-le" if data[1:2] == b"\0" else "utf-16-be"]
    else:
        encodings = ["utf-8-sig", "cp1252", "latin-1"]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if encoding != "utf-8-sig" or data[:3] == b"\xef\xbb\xbf":
            name = "with a byte order mark" if encoding == "utf-8-sig" else f"in {encoding}"
            notes.append(f"The file was saved {name}; a notebook is plain UTF-8.")
        return text
    raise Refused("The file is in no encoding that a notebook may have.")


def cells_of(content, notes: list[str]):
    """The cells of nbformat 3 and 4; what is no cell is passed over."""
    if not isinstance(content, dict):
        raise Refused("The file is JSON, but no notebook.")
    raw = content.get("cells")
    if raw is None and isinstance(content.get("worksheets"), list):
        notes.append("The notebook was in the old format 3: converted.")
        sheets = [s for s in content["worksheets"] if isinstance(s, dict)]
        raw = [cell for sheet in sheets for cell in sheet.get("cells") or []]
    if not isinstance(raw, list):
        raise Refused("The file is JSON, but no notebook: it has no list of cells.")
    for cell in raw:
        if isinstance(cell, dict):
            yield one_cell(cell)


def one_cell(cell: dict) -> Cell:
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(s for s in source if isinstance(s, str))
    kind = cell.get("cell_type")
    return Cell(
        kind if kind in ("code", "raw") else "markdown",
        clean(source) if isinstance(source, str) else "",
        str(cell.get("id", "")),
        marks if isinstance(marks, dict) else {},
    )


def clean(text: str) -> str:
    """Text that can be written as UTF-8."""
    return text.encode("utf-8", "replace").decode().replace("\r\n", "\n")


# ---- cells to a notebook that can be graded ------------------------------------------------


def defined(source: str) -> set[str]:
    """Names of the functions and classes that a cell defines, also where it does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"^(?:async )?(?:def|class)\s+(\w+)", source, re.M))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def same_text(a: str, b: str) -> bool:
    return a.split() == b.split()


class Release:
    """What was handed out: which cells are locked, which are answered, and with which names."""

    def __init__(self, nb: NotebookNode):
        self.nb = nb
        self.by_id = {self.name(cell): cell for cell in nb.cells}
        self.locked, self.solutions = {}, {}
        for cell in nb.cells:
            marks = cell.metadata.get("nbgrader", {})
            if marks.get("solution"):
                self.solutions[marks.grade_id] = defined(cell.source)
            elif marks.get("locked") or marks.get("grade"):
                self.locked[marks.grade_id] = cell
        self.plain = [c for c in nb.cells if "nbgrader" not in c.metadata]

    @staticmethod
    def name(cell: NotebookNode) -> str:
        return cell.metadata.get("nbgrader", {}).get("grade_id") or cell.get("id", "")

    def checks(self) -> dict[str, str]:
        """grade_id -> source of the cells that the judge runs."""
        graded = {k: c for k, c in self.locked.items() if c.metadata.nbgrader.get("grade")}
        return {k: c.source for k, c in graded.items() if c.cell_type == "code"}

    def role(self, cell: Cell) -> str:
        """The name of the release's cell that a submitted cell stands for, or ''."""
        claims = [name for name in (cell.grade_id, cell.id) if name in self.by_id]
        names = defined(cell.source) if cell.kind == "code" or claims else set()
        if answers := [k for k, wanted in self.solutions.items() if names & wanted]:
            return next((c for c in claims if c in answers), answers[0])
        texts = [*self.locked.values(), *self.plain]
        if same := next((c for c in texts if same_text(c.source, cell.source)), None):
            return self.name(same)
        return claims[0] if claims else ""


class Rebuild:
    """The graded notebook in the making."""

    def __init__(self, release: Release, notes: list[str]):
        self.release, self.notes, self.out = release, notes, []
        self.used: set[str] = set()

    def add(self, cells: list[Cell]) -> None:
        roles = [self.release.role(cell) for cell in cells]
        self.note_marks(cells, roles)
        self.answered = {
            name
            for cell, role in zip(cells, roles, strict=True)
            if role not in self.release.locked and not self.untouched(role, cell)
            for name in defined(cell.source)
        }
        last = {r: i for i, r in enumerate(roles) if r in self.release.solutions}
        for name in last:
            last[name] = self.the_one_that_counts(name, cells, roles)
        for number, (cell, role) in enumerate(zip(cells, roles, strict=True)):
            if role in self.release.locked:
                self.put_back(role, cell)
            elif role in self.release.solutions:
                self.answer(role, cell, counts=last[role] == number)
            else:
                self.used.add(role)
                self.out.append(new_cell(cell.kind, cell.source, f"student-{number}"))
        self.add_missing()

    def note_marks(self, cells: list[Cell], roles: list[str]) -> None:
        """Say once what was wrong with nbgrader's metadata."""
        graded = self.release.locked.keys() | self.release.solutions.keys()
        lost, changed = [], []
        for cell, role in zip(cells, roles, strict=True):
            if role in graded:
                marks = self.release.by_id[role].metadata.nbgrader
                if not cell.marks:
                    lost.append(role)
                elif any(cell.marks.get(key) != marks[key] for key in marks if key != "checksum"):
                    changed.append(role)
        if lost:
            self.notes.append(f"Grading marks were lost and put back: {listed(lost)}.")
        if changed:
            self.notes.append(f"Grading marks were changed and put back: {listed(changed)}.")
        if unknown := [c.grade_id for c in cells if c.grade_id and c.grade_id not in graded]:
            self.notes.append(
                f"Grading marks of no cell of this exercise were left out: {listed(unknown)}."
            )

    def the_one_that_counts(self, name: str, cells: list[Cell], roles: list[str]) -> int:
        """Number of the last cell with the answer; a blank that was left in does not undo it."""
        places = [i for i, role in enumerate(roles) if role == name]
        wanted = self.release.solutions[name]
        answers = [i for i in places if not self.untouched(name, cells[i])]
        defining = [i for i in answers if defined(cells[i].source) & wanted]
        if len(defining) > 1:
            self.notes.append(
                f"{len(defining)} cells define {listed(sorted(wanted))}: the last one that runs counts."
            )
        return (defining or answers or places)[-1]

    def put_back(self, name: str, cell: Cell) -> None:
        if name in self.used:
            self.notes.append(f"A copy of the cell {name} was left out.")
            return
        if not same_text(cell.source, self.release.by_id[name].source):
            self.notes.append(f"The cell {name} was edited; the released one was put back.")
        self.copy_of(name)

    def copy_of(self, name: str) -> NotebookNode:
        self.used.add(name)
        cell = copy.deepcopy(self.release.by_id[name])
        self.out.append(cell)
        return cell

    def untouched(self, name: str, cell: Cell) -> bool:
        return name in self.release.solutions and same_text(
            cell.source, self.release.by_id[name].source
        )

    def blank(self, name: str) -> None:
        """The released answer cell; empty where it would undo an answer that stands in another cell."""
        cell = self.copy_of(name)
        if self.release.solutions[name] and self.release.solutions[name] <= self.answered:
            cell.source = "# Answered in another cell."

    def answer(self, name: str, cell: Cell, *, counts: bool) -> None:
        released = self.release.by_id[name]
        if cell.kind != "code" and released.cell_type == "code":
            self.notes.append(f"The cell {name} was a {cell.kind} cell: run as code again.")
        if counts and self.untouched(name, cell):
            self.blank(name)
        elif counts:
            self.copy_of(name).source = cell.source
        elif not self.untouched(name, cell):
            number = len(self.out)
            self.out.append(new_cell(released.cell_type, cell.source, f"student-{name}-{number}"))

    def add_missing(self) -> None:
        """What the release has and the submission lost: set-up cells first, checks last."""
        missing = [c for c in self.release.nb.cells if self.release.name(c) not in self.used]
        body, self.out = self.out, []
        graded = [c for c in missing if c.metadata.get("nbgrader", {}).get("grade")]
        answers = [c for c in missing if self.release.name(c) in self.release.solutions]
        for cell in missing:
            if cell.cell_type == "code" and cell not in graded and cell not in answers:
                self.copy_of(self.release.name(cell))
        self.out += body
        for cell in missing:
            if cell in answers:
                self.blank(self.release.name(cell))
            elif cell in graded:
                self.copy_of(self.release.name(cell))
        lost = [self.release.name(c) for c in missing if c in graded or c in answers]
        if lost:
            self.notes.append(f"Cells were missing and added: {listed(lost)}.")


def listed(names: list[str]) -> str:
    names = [textwrap.shorten(clean(str(name)), 60, placeholder="…") for name in names]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def new_cell(kind: str, source: str, name: str) -> NotebookNode:
    make = {"code": new_code_cell, "markdown": new_markdown_cell, "raw": new_raw_cell}[kind]
    return make(source, id=re.sub(r"[^\w-]", "-", name)[:64])


def notebook(
    release: NotebookNode, cells: list[NotebookNode], notes: list[str], refused=""
) -> NotebookNode:
    """`cells` under a list of what was repaired, with the release's own metadata."""
    if refused or notes:
        head = f"**This submission could not be graded.** {refused}" if refused else ""
        lines = [f"- {note}" for note in notes] if not refused else []
        title = "**Repaired before grading**\n\n" if lines else ""
        text = (head or title + "\n".join(lines)).replace("<", "&lt;")
        cells = [new_markdown_cell(text, id="grading-notes"), *cells]
    metadata = {
        "kernelspec": release.metadata.get("kernelspec", {}),
        "language_info": {"name": "python"},
    }
    metadata[KEY] = {"repaired": notes, "refused": refused, "graded": False}
    for cell in cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return from_dict({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def repair(data: bytes, release: NotebookNode, notes: list[str]) -> NotebookNode:
    """(bytes handed in, release) -> the notebook to grade; a blank one with the reason if unreadable."""
    try:
        cells = parse(data, notes)
    except Refused as reason:
        return refuse(release, str(reason))
    rebuild = Rebuild(Release(release), notes)
    rebuild.add(cells)
    return notebook(release, rebuild.out, notes)


def refuse(release: NotebookNode, reason: str) -> NotebookNode:
    return notebook(release, copy.deepcopy(release.cells), [], refused=reason)
