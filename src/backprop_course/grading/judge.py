"""The judge: a student's cells run in a sandbox, the check cells run here, with proxies between.

`grade` is a pure function of (bytes handed in, release, seed). Check cells come from the release,
looked up by grade_id; nothing that came with a submission is ever executed in this process.
"""

import ast
import builtins
import contextlib
import dataclasses
import io
import re
import time

from nbformat import NotebookNode
from nbformat.v4 import new_output

from ..checks._core import CheckFailed, StudentStopped, seeded
from .repair import KEY, Release, clean, repair
from .sandbox import Session, Zygote, student_raised


class Proxy:
    """Stands for the student's function or class: calls go to the sandbox and come back as data."""

    def __init__(self, submission: "Submission", name: str):
        self.__name__, self.submission = name, submission

    def __call__(self, *arguments):
        return self.ask({"do": "call"}, arguments)

    def __backprop_drive__(self, driver: str, *arguments):
        return self.ask({"do": "drive", "driver": driver}, arguments)

    def ask(self, message: dict, arguments: tuple):
        return self.submission.session.result(message | {"name": self.__name__}, arguments)


@dataclasses.dataclass
class Outcome:
    """What a cell printed, and the error that ended it, if one did."""

    printed: str = ""
    error: tuple[str, str] | None = None  # (kind, message)
    value: float | None = None  # partial credit, when a check cell ends in a number

    def outputs(self, points: float | None = None) -> list[NotebookNode]:
        """nbgrader scores from outputs: an error is 0, a Python float is partial credit."""
        out = (
            [new_output("stream", name="stdout", text=clean(self.printed))] if self.printed else []
        )
        if self.error:
            kind, message = (clean(text) for text in self.error)
            lines = message.splitlines() if kind == "CheckFailed" else [f"{kind}: {message}"]
            out.append(new_output("error", ename=kind, evalue=message, traceback=lines))
        elif self.value is not None and points is not None:
            earned = min(max(float(self.value), 0.0), float(points))
            out.append(
                new_output("execute_result", {"text/plain": repr(earned)}, execution_count=1)
            )
        return out


class Submission:
    """One student's cells and the sandbox they live in; a stopped sandbox is replaced by a fresh one."""

    def __init__(self, sources: list[str], zygote: Zygote):
        self.sources, self.zygote = sources, zygote
        self.deadline = time.monotonic() + zygote.limits.submission_seconds
        self.outcomes: dict[int, Outcome] = {}
        self.stopped: dict[int, str] = {}  # cells that hit a limit: not run again
        self.limits: list[str] = []
        self.session: Session | None = None
        self.live()

    def live(self) -> None:
        """A session in which all cells have run that can be run."""
        while self.session is None or (self.session.stopped and time.monotonic() < self.deadline):
            self.close()
            self.session = Session(self.zygote, self.deadline)
            with contextlib.suppress(StudentStopped):
                for number, source in enumerate(self.sources):
                    if number not in self.stopped:
                        self.cell(number, source)

    def cell(self, number: int, source: str) -> None:
        self.session.begin()
        try:
            reply, _ = self.session.ask({"do": "cell"}, source)
        except StudentStopped as stopped:
            self.stopped[number] = str(stopped)
            self.limits.append(str(stopped))
            self.outcomes[number] = Outcome(error=("Stopped", f"this cell was stopped: {stopped}"))
            raise
        outcome = Outcome(str(reply.get("printed", ""))[: self.zygote.limits.printed + 100])
        if reply.get("status") != "ok":
            raised = student_raised(reply.get("error"))
            where = f" (line {raised.line}: {raised.text})" if raised.line else ""
            outcome.error = (raised.kind, raised.message + where)
        self.outcomes.setdefault(number, outcome)

    def check(self, source: str, seed: int) -> Outcome:
        """Run one check cell, here."""
        self.live()
        self.session.begin()
        names = free_names(source)
        printed, value = io.StringIO(), None
        namespace = {"__name__": "__check__", **{name: Proxy(self, name) for name in names}}
        try:
            with contextlib.redirect_stdout(printed), seeded(seed):
                for name in names:
                    self.require(name)
                value = run(source, namespace)
            error = None
        except CheckFailed as failed:
            error = ("CheckFailed", str(failed))
        except Exception as broken:
            error = ("CheckFailed", f"✗ The check could not be run: {broken}")
            if not isinstance(broken, StudentStopped):
                self.limits.append(f"a check raised {type(broken).__name__}")
        if self.session.stopped:
            self.limits.append(self.session.stopped)
        return Outcome(printed.getvalue(), error, value)

    def require(self, name: str) -> None:
        """The name must be there and be the notebook's own work."""
        if self.session.stopped:
            raise CheckFailed(f"✗ {name} could not be tried: {self.session.stopped}")
        what = self.session.ask({"do": "describe"}, name)[1]
        written = rf"\b(?:def|class)\s+{name}\b|\b{name}\s*(?::[^=\n]*)?=[^=]"
        if what == "missing":
            raise CheckFailed(f"✗ {name} is not defined.{self.reason(name)}")
        if what == "broken":
            raise CheckFailed(
                f"✗ {name} is no function: a later cell gave this name to something else."
            )
        if what != "own" or not any(re.search(written, source) for source in self.sources):
            raise CheckFailed(f"✗ {name} is not written in this notebook: it comes from a library.")

    def reason(self, name: str) -> str:
        """Why a cell that should define `name` did not."""
        for number, source in enumerate(self.sources):
            outcome = self.outcomes.get(number)
            if re.search(rf"\b{name}\b", source) and outcome and outcome.error:
                return f" The cell that should define it ended with {outcome.error[0]}: {outcome.error[1]}"
        return " No cell of this notebook defines it."

    def close(self) -> None:
        if self.session:
            self.session.close()
            self.session = None


def free_names(source: str) -> list[str]:
    """Names that a check cell uses but neither imports nor assigns: the student's."""
    nodes = list(ast.walk(ast.parse(source)))
    bound = {
        (a.asname or a.name).split(".")[0]
        for n in nodes
        for a in getattr(n, "names", [])
        if isinstance(a, ast.alias)
    }
    names = [n for n in nodes if isinstance(n, ast.Name)]
    bound |= {n.id for n in names if isinstance(n.ctx, ast.Store)} | set(dir(builtins))
    return sorted({n.id for n in names} - bound)


def run(source: str, namespace: dict):
    """Execute; the value of the last expression, as a float, if it is a number."""
    tree, last = ast.parse(source), None
    if isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    exec(compile(tree, "<check>", "exec"), namespace)
    value = eval(compile(last, "<check>", "eval"), namespace) if last else None
    return None if value is None or isinstance(value, str) else float(value)


def judge(nb: NotebookNode, release: NotebookNode, seed: int, zygote: Zygote) -> NotebookNode:
    """Fill the outputs of a repaired notebook's cells, in place; its metadata say what was met."""
    found, checks = nb.metadata[KEY], Release(release).checks()
    graded = [c for c in nb.cells if grade_id(c) in checks]
    if found["refused"]:
        for cell in graded:
            cell.outputs = Outcome(error=("Refused", found["refused"])).outputs()
    else:
        theirs = [c for c in nb.cells if c.cell_type == "code" and grade_id(c) not in checks]
        submission = Submission([c.source for c in theirs], zygote)
        try:
            for cell in graded:
                cell.source = checks[grade_id(cell)]
                outcome = submission.check(cell.source, seed)
                cell.outputs = outcome.outputs(cell.metadata.nbgrader.points)
            for number, cell in enumerate(theirs):
                cell.outputs = submission.outcomes.get(number, Outcome()).outputs()
        finally:
            submission.close()
        found["limits"] = list(dict.fromkeys(submission.limits))
    found["graded"] = True
    for number, cell in enumerate((c for c in nb.cells if c.cell_type == "code"), 1):
        cell.execution_count = number
    return nb


def grade_id(cell: NotebookNode) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def grade(
    data: bytes, release: NotebookNode, seed: int, zygote: Zygote
) -> tuple[NotebookNode, dict]:
    """(bytes handed in, release, seed) -> (graded notebook, {grade_id: score})."""
    from nbgrader.utils import determine_grade

    nb = judge(repair(data, release, []), release, seed, zygote)
    graded = [c for c in nb.cells if c.metadata.get("nbgrader", {}).get("grade")]
    return nb, {grade_id(c): determine_grade(c)[0] for c in graded}
