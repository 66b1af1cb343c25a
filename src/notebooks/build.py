"""Build every notebook of the course from the text sources in this folder.

    python src/notebooks/build.py                    all, executed: lessons/ and solutions/
    python src/notebooks/build.py 01_chain_rule ...  only these
    python src/notebooks/build.py --course           nbgrader's sources: autograde/source/

Sources are jupytext py:percent files. What authors may write in a cell's header line:

    tags=["quiz"]     question, then `- ( ) option :: reply` lines, one of them `- (x)`
    tags=["reveal"]   first line is what shows, the rest opens on a click
    tags=["cards"]    `- question :: answer` lines; they also go into the Anki deck
    tags=["turn"]     an ungraded exercise; its answer stands between solution marks
    tags=["volatile"] the output varies (times, bytes): it is neither stored nor compared
    solution="name"   exercises: the cell a student answers
    check="name" points=1   exercises: a graded check

A rebuild is byte-identical: ids come from the text, outputs hold no time and no path.
"""

import argparse
import csv
import hashlib
import html
import io
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LESSONS = sorted((HERE / "lessons").glob("*.py"))
EXERCISES = sorted((HERE / "exercises").glob("*.py"))
DECK = ROOT / "lessons" / "recall_cards.txt"
SOLUTION = re.compile(
    r"^( *)### BEGIN SOLUTION\n(?:((?: *### STUB [^\n]*\n)+))?(.*?)^ *### END SOLUTION\n?",
    re.S | re.M,
)


class SourceError(ValueError):
    """A notebook source that the build cannot read; the message names the file and the cell."""


# ---- the repository's address: one setting, in pyproject.toml ------------------------------


def repository() -> str:
    """owner/name on GitHub, from [project.urls]."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    return urls["Repository"].removeprefix("https://github.com/").rstrip("/")


def with_repository(text: str, name: str) -> str:
    """pyproject.toml's text, pointed at another repository."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise SystemExit(f"expected owner/name, as in make colab REPO=owner/name; got {name!r}")
    line = f'Repository = "https://github.com/{name}"'
    return re.sub(r'^Repository = ".*"$', line, text, count=1, flags=re.M)


def colab_badge(path: str) -> str:
    """The "Open in Colab" badge, in Markdown, of the notebook at `path` in the repository."""
    picture = "https://colab.research.google.com/assets/colab-badge.svg"
    target = f"https://colab.research.google.com/github/{repository()}/blob/main/{path}"
    return f"[![Open in Colab]({picture})]({target})"


def install_cell() -> NotebookNode:
    return new_code_cell(
        "# Colab starts without the course package: this fetches it. Elsewhere it does nothing.\n"
        "import importlib.util\n\n"
        'if importlib.util.find_spec("backprop_course") is None:\n'
        f'    %pip install -q "backprop-course @ git+https://github.com/{repository()}"'
    )


# ---- what the tags mean --------------------------------------------------------------------


def details(summary: str, body: str) -> str:
    """A closed reveal. The blank lines let Markdown inside be rendered."""
    return f"<details><summary>{inline(summary)}</summary>\n\n{body.strip()}\n\n</details>"


def inline(text: str) -> str:
    """Escape for a <summary>, where Markdown is not rendered: only `code` and **bold** are kept."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text.strip(), quote=False))
    return re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", text)


def items(source: str, pattern: str) -> tuple[str, list[tuple[str, ...]]]:
    """The text before the first list item, and the groups of each `pattern :: reply` item."""
    head, *rest = re.split(r"^- ", source, flags=re.M)
    found = [re.fullmatch(pattern + r"(.+?) :: (.+)", r.strip(), re.S) for r in rest]
    if not found or not all(found):
        raise SourceError(f"expected lines like '- {pattern}text :: reply' in:\n{source}")
    return head.strip(), [m.groups() for m in found]


def quiz(source: str) -> str:
    question, options = items(source, r"\(([ x])\) ")
    if [mark for mark, *_ in options].count("x") != 1:
        raise SourceError(f"a quiz needs exactly one option marked (x):\n{source}")
    parts = [question, "*Pick one, then click it to see whether you are right.*"]
    if any("$" in option for _, option, _ in options):
        raise SourceError(f"write options with `code` and Unicode: no $ in a summary:\n{source}")
    for letter, (mark, option, reply) in zip("ABCDEFG", options, strict=False):
        verdict = "**✓ Right.** " if mark == "x" else "**✗ Not this one.** "
        parts.append(details(f"{letter}. {option}", verdict + reply))
    return "\n\n".join(parts)


def reveal(source: str) -> str:
    summary, _, body = source.partition("\n")
    return details(summary, body)


def cards(source: str) -> str:
    head, pairs = items(source, "")
    return "\n\n".join([head, *(details(question, answer) for question, answer in pairs)]).strip()


MACROS = {"quiz": quiz, "reveal": reveal, "cards": cards}


def answer_of(source: str) -> str:
    """The source as an author would hand it in: solution marks and stub lines gone."""
    return SOLUTION.sub(lambda m: m[3], source).rstrip("\n")


def stub_of(source: str) -> str:
    """The source as a student meets it in a lesson: answers replaced by their stubs."""

    def stub(match):
        indent, given = match[1], match[2] or "### STUB ...  # your turn\n"
        return "".join(indent + line.split("### STUB ", 1)[1] + "\n" for line in given.splitlines())

    return SOLUTION.sub(stub, source).rstrip("\n")


# ---- notebooks -----------------------------------------------------------------------------


def read(path: Path) -> NotebookNode:
    nb = jupytext.read(path, fmt="py:percent")
    if (
        not nb.cells
        or nb.cells[0].cell_type != "markdown"
        or not nb.cells[0].source.startswith("# ")
    ):
        raise SourceError(f"{path.name}: the first cell must be Markdown and open with '# Title'")
    return nb


def finish(nb: NotebookNode) -> NotebookNode:
    """Fixed metadata, and an id for each cell that only its own text can change."""
    seen: dict[str, int] = {}
    for cell in nb.cells:
        cell.metadata.pop("lines_to_next_cell", None)  # jupytext's, about the text source
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        digest = name or hashlib.sha256(cell.source.encode()).hexdigest()[:10]
        seen[digest] = seen.get(digest, 0) + 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
    nb.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    nb.nbformat, nb.nbformat_minor = 4, 5
    nbformat.validate(nb)
    return nb


def with_opening(cells: list[NotebookNode], path: str) -> list[NotebookNode]:
    """Badge under the title, install cell after the first cell."""
    title, _, rest = cells[0].source.partition("\n")
    cells[0].source = f"{title}\n\n{colab_badge(path)}\n\n{rest.strip()}".rstrip()
    return [cells[0], install_cell(), *cells[1:]]


def lesson(path: Path, *, answered: bool = False) -> NotebookNode:
    """A lesson, not executed. `answered` fills in the your-turn cells (for tests)."""
    nb, out, answer = read(path), [], None
    for cell in nb.cells:
        tags = cell.metadata.get("tags", [])
        for tag in [t for t in tags if t in MACROS]:
            try:
                cell.source = MACROS[tag](cell.source)
            except SourceError as error:
                raise SourceError(f"{path.name}: {error}") from None
        out.append(cell)
        if cell.cell_type == "code":
            if answer:  # this is the check that follows a turn
                out.append(new_markdown_cell(details("One answer", f"```python\n{answer}\n```")))
                answer = None
            if "turn" in tags:
                answer = answer_of(cell.source)
                cell.source = answer if answered else stub_of(cell.source)
        if "volatile" in tags:
            cell.metadata["tags"] = [*tags, "nbval-ignore-output"]
    nb.cells = with_opening(out, f"lessons/{path.stem}.ipynb")
    return finish(nb)


def grading(grade_id: str, *, points: float | None = None, solution=False, locked=True) -> dict:
    """nbgrader's cell metadata, schema 3."""
    data = {
        "cell_type": "code",
        "grade": points is not None,
        "grade_id": grade_id,
        "locked": locked,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    return data if points is None else data | {"points": points}


def exercise_source(path: Path) -> NotebookNode:
    """What nbgrader calls the source: prompt, reference answer between marks, graded checks."""
    nb = read(path)
    for cell in nb.cells:
        meta = cell.metadata
        if name := meta.pop("solution", None):
            meta["nbgrader"] = grading(name, solution=True, locked=False)
        elif name := meta.pop("check", None):
            meta["nbgrader"] = grading(name, points=meta.pop("points"))
    nb.cells = with_opening(nb.cells, f"lessons/exercises/{path.stem}.ipynb")
    nb.cells[1].metadata["nbgrader"] = grading(f"{path.stem}-setup")
    return finish(nb)


def exercise_answered(path: Path) -> NotebookNode:
    nb = exercise_source(path)
    for cell in nb.cells:
        cell.source = answer_of(cell.source)
    return nb


def release(paths: list[Path]) -> dict[str, NotebookNode]:
    """The blank notebooks, made from the sources by nbgrader's own generate_assignment."""
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory

    # nbgrader calls `alembic` by name: find the one beside this Python, activated or not.
    os.environ["PATH"] = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    out = {}
    with tempfile.TemporaryDirectory() as root:
        for path in paths:
            name = path.stem
            write(exercise_source(path), Path(root, "source", name, f"{name}.ipynb"))
            course = CourseDirectory(root=root, assignment_id=name)
            converter = GenerateAssignment(coursedir=course)
            converter.start()
            made = nbformat.read(Path(root, "release", name, f"{name}.ipynb"), as_version=4)
            out[name] = finish(made)
    return out


def execute(nb: NotebookNode, folder: Path) -> NotebookNode:
    """Run all cells as a student would; keep only outputs that are the same every time."""
    NotebookClient(
        nb,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
        timeout=300,
    ).execute()
    for number, cell in enumerate((c for c in nb.cells if c.cell_type == "code"), 1):
        cell.execution_count = number
        cell.outputs = list(merged(cell.outputs))
        for output in cell.outputs:
            if output.get("name") == "stderr":
                raise SourceError(f"a cell wrote to stderr: {output.text}\n---\n{cell.source}")
            if "execution_count" in output:
                output.execution_count = number
        if "volatile" in cell.metadata.get("tags", []):
            cell.outputs = []
    nb.metadata.pop("widgets", None)
    nb.metadata.language_info = {"name": "python"}
    return nb


def merged(outputs: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Join neighbouring pieces of one stream: how a kernel splits its prints is chance."""
    last = None
    for output in outputs:
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
            continue
        if last:
            yield last
        last = output
    if last:
        yield last


def deck() -> str:
    """All recall cards as a text file that Anki imports (File > Import)."""
    out = io.StringIO()
    out.write("#separator:tab\n#html:true\n#deck:Backpropagation\n#guid column:1\n#tags column:4\n")
    rows = csv.writer(out, delimiter="\t", lineterminator="\n")
    for path in LESSONS:
        for cell in read(path).cells:
            if "cards" in cell.metadata.get("tags", []):
                for pair in items(cell.source, "")[1]:
                    question, answer = (anki(text) for text in pair)
                    guid = hashlib.sha256(pair[0].encode()).hexdigest()[:10]
                    rows.writerow([guid, question, answer, f"lesson-{path.stem[:2]}"])
    return out.getvalue()


def anki(text: str) -> str:
    r"""Markdown to Anki's HTML: `code`, **bold**, and $math$ as \(math\)."""
    return re.sub(r"\$([^$]+)\$", r"\\(\1\\)", inline(" ".join(text.split())))


# ---- the table in README.md -----------------------------------------------------------------

# Which exercise follows which lesson.
EXERCISE_AFTER = {
    "03_activations": "mlp_backward",
    "04_gradient_checking": "numerical_gradient",
    "05_memory": "checkpoint_counts",
    "06_tiny_autograd": "value",
}
TABLE = re.compile(r"(<!-- table: made by make notebooks -->\n).*?(<!-- end of table -->)", re.S)


def table() -> str:
    """Lesson, minutes, exercise, points and Colab badges, read from the sources."""
    rows = ["| lesson | minutes | exercise | points | Colab |", "|---|---|---|---|---|"]
    for path in LESSONS:
        first = read(path).cells[0].source
        title = first.splitlines()[0].removeprefix("# ")
        if not (minutes := re.search(r"(\d+) minutes", first)):
            raise SourceError(f"{path.name}: the first cell must say 'NN minutes'")
        where = f"lessons/{path.stem}.ipynb"
        row = [f"[{title}]({where})", minutes[1], "", "", colab_badge(where)]
        if name := EXERCISE_AFTER.get(path.stem):
            where = f"lessons/exercises/{name}.ipynb"
            cells = read(HERE / "exercises" / f"{name}.py").cells
            points = sum(cell.metadata.get("points", 0) for cell in cells)
            row[2:4] = [f"[{name}]({where})", f"{points:g}"]
            row[4] += " " + colab_badge(where)
        rows.append("| " + " | ".join(row) + " |")
    return "\n".join(rows) + "\n"


def readme() -> str:
    """README.md with its table made anew."""
    text = (ROOT / "README.md").read_text()
    return TABLE.sub(lambda m: m[1] + table() + m[2], text)


# ---- files ---------------------------------------------------------------------------------


def write(nb: NotebookNode | str, path: Path) -> None:
    """Write beside, then rename: a stopped build leaves no half notebook."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = nb if isinstance(nb, str) else nbformat.writes(nb) + "\n"
    beside = path.with_suffix(path.suffix + ".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def targets(names: list[str]) -> Iterator[tuple[Path, NotebookNode, bool]]:
    """(where it goes, notebook, whether to execute it) for each name, or for all."""
    known = {p.stem: p for p in [*LESSONS, *EXERCISES]}
    if unknown := set(names) - set(known):
        raise SystemExit(
            f"no source for {', '.join(sorted(unknown))}; there are: {', '.join(known)}"
        )
    chosen = [known[n] for n in names or known]
    for path in (p for p in chosen if p in LESSONS):
        yield ROOT / "lessons" / f"{path.stem}.ipynb", lesson(path), True
    exercises = [p for p in chosen if p in EXERCISES]
    for path in exercises:
        yield ROOT / "solutions" / f"{path.stem}.ipynb", exercise_answered(path), True
    for name, nb in release(exercises).items():
        yield ROOT / "lessons" / "exercises" / f"{name}.ipynb", nb, False


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Build the course's notebooks.")
    parser.add_argument("names", nargs="*", help="sources to build (default: all)")
    parser.add_argument("--course", action="store_true", help="write nbgrader's sources instead")
    parser.add_argument("--repository", help="first point everything at this owner/name")
    options = parser.parse_args(argv)
    if options.repository is not None:
        project = ROOT / "pyproject.toml"
        write(with_repository(project.read_text(), options.repository), project)
    if options.course:
        for path in EXERCISES:
            write(
                exercise_source(path),
                ROOT / "autograde" / "source" / path.stem / f"{path.stem}.ipynb",
            )
        return
    for where, nb, run in targets(options.names):
        print(where.relative_to(ROOT), flush=True)
        write(execute(nb, where.parent) if run else nb, where)
    write(deck(), DECK)
    write(readme(), ROOT / "README.md")


if __name__ == "__main__":
    main()
