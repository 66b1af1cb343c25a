"""Submissions that arrive damaged. Each function takes the blank release and leaves a folder.

`DAMAGE[name] = (damage(nb, folder), score)`; `nb` already holds the right answer of `checkpoint_counts`.
"""

import copy
import json
import os
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from .attacks import RIGHT, WRONG

NAME = "checkpoint_counts.ipynb"
DAMAGE = {}


def damage(score: float, name: str = NAME):
    """Register a damage: it changes the notebook in place, or returns the file's bytes itself."""

    def register(function):
        def hand_in(nb, folder: Path) -> None:
            folder.mkdir(parents=True)
            content = function(nb, folder)
            if content is None:
                content = json.dumps(nb).encode()
            if content is not False:
                (folder / name).write_bytes(content)

        DAMAGE[function.__name__.replace("_", " ")] = (hand_in, score)
        return function

    return register


def answer(nb):
    return next(c for c in nb.cells if c.metadata.get("nbgrader", {}).get("solution"))


def checks(nb):
    return [c for c in nb.cells if c.metadata.get("nbgrader", {}).get("grade")]


# ---- nbgrader's metadata ----


@damage(6)
def all_metadata_lost(nb, folder):
    for cell in nb.cells:
        cell.metadata = {}


@damage(6)
def metadata_and_ids_lost(nb, folder):
    for number, cell in enumerate(nb.cells):
        cell.metadata, cell.id = {}, f"cell-{number}"


@damage(6)
def copied_into_a_new_notebook(nb, folder):
    nb.cells = [new_code_cell(RIGHT)]


@damage(6)
def every_cell_twice(nb, folder):
    nb.cells = [copy.deepcopy(c) for c in nb.cells for _ in range(2)]


@damage(6)
def points_raised(nb, folder):
    for cell in checks(nb):
        cell.metadata.nbgrader.points = 198


@damage(0)
def points_raised_without_an_answer(nb, folder):
    answer(nb).source = WRONG
    for cell in checks(nb):
        cell.metadata.nbgrader.points = 198


@damage(6)
def points_negative_and_not_a_number(nb, folder):
    for cell, points in zip(checks(nb), (-1, "many", None, 1e308, [], {}), strict=True):
        cell.metadata.nbgrader.points = points


@damage(6)
def everything_unlocked(nb, folder):
    for cell in nb.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader |= {"locked": False, "grade": False, "solution": True}


@damage(6)
def ids_swapped(nb, folder):
    a, b = answer(nb).metadata.nbgrader, checks(nb)[0].metadata.nbgrader
    a.grade_id, b.grade_id = b.grade_id, a.grade_id


@damage(6)
def ids_all_the_same(nb, folder):
    for cell in nb.cells:
        cell.id = "same"
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.grade_id = "checkpoint_counts-table"


@damage(6)
def an_old_schema(nb, folder):
    for cell in nb.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader = {
                "grade_id": cell.metadata.nbgrader.grade_id,
                "schema_version": 1,
            }


@damage(6)
def a_future_schema(nb, folder):
    for cell in nb.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.schema_version = 99


@damage(6)
def metadata_of_the_wrong_type(nb, folder):
    for cell, junk in zip(
        nb.cells, ("text", None, [1], 5, {"nbgrader": "x"}, {"nbgrader": []}) * 9, strict=False
    ):
        cell["metadata"] = junk


@damage(6)
def answer_turned_into_markdown(nb, folder):
    answer(nb).cell_type = "markdown"


@damage(6)
def answer_turned_into_raw(nb, folder):
    answer(nb).cell_type = "raw"


@damage(6)
def checks_turned_into_markdown(nb, folder):
    for cell in checks(nb):
        cell.cell_type = "markdown"


# ---- cells ----


@damage(6)
def cells_reversed(nb, folder):
    nb.cells.reverse()


@damage(6)
def checks_deleted(nb, folder):
    nb.cells = [c for c in nb.cells if c not in checks(nb)]


@damage(6)
def checks_edited(nb, folder):
    for cell in checks(nb):
        cell.source = "raise ValueError"


@damage(0)
def checks_emptied_without_an_answer(nb, folder):
    answer(nb).source = WRONG
    for cell in checks(nb):
        cell.source = "pass"


@damage(0)
def checks_tagged_to_be_skipped(nb, folder):
    answer(nb).source = WRONG
    for cell in nb.cells:
        cell.metadata.tags = ["skip-execution", "raises-exception", "nbgrader-skip"]


@damage(0)
def an_earlier_grading_claimed(nb, folder):
    answer(nb).source = WRONG
    nb.metadata.backprop_course = {"graded": True, "refused": "", "repaired": [], "limits": []}
    for cell in checks(nb):
        cell.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "1.0"})]


@damage(0)
def a_forged_check(nb, folder):
    answer(nb).source = WRONG
    forged = copy.deepcopy(checks(nb)[0])
    forged.source = f"open({str(folder / 'forged')!r}, 'w').write('LEAK')"
    nb.cells = [forged, *nb.cells, copy.deepcopy(forged)]


@damage(0)
def a_forged_cell_with_an_unknown_id(nb, folder):
    answer(nb).source = WRONG
    forged = copy.deepcopy(checks(nb)[0])
    forged.metadata.nbgrader |= {"grade_id": "bonus", "points": 198}
    forged.source = f"open({str(folder / 'forged')!r}, 'w').write('LEAK')"
    nb.cells.append(forged)


@damage(0)
def a_forged_read_only_cell(nb, folder):
    answer(nb).source = WRONG
    forged = new_code_cell(f"open({str(folder / 'forged')!r}, 'w').write('LEAK')")
    forged.metadata.nbgrader = checks(nb)[0].metadata.nbgrader | {
        "grade": False,
        "grade_id": "checkpoint_counts-setup",
    }
    nb.cells.insert(0, forged)


@damage(0)
def the_answer_cell_made_a_graded_one(nb, folder):
    answer(nb).source = WRONG
    answer(nb).metadata.nbgrader |= {"grade": True, "points": 198, "locked": True}


@damage(6)
def the_answer_above_an_untouched_stub(nb, folder):
    where = nb.cells.index(answer(nb))
    answer(nb).source = STUB
    nb.cells.insert(where, new_code_cell(RIGHT))


@damage(6)
def a_wrong_answer_then_a_right_one(nb, folder):
    answer(nb).source = WRONG
    nb.cells.append(new_code_cell(RIGHT))


@damage(0)
def a_right_answer_then_a_wrong_one(nb, folder):
    nb.cells.append(new_code_cell(WRONG))


@damage(6)
def the_answer_written_into_a_check(nb, folder):
    answer(nb).source = STUB
    checks(nb)[0].source = RIGHT


@damage(6)
def a_scratch_cell_that_never_ends(nb, folder):
    nb.cells.insert(0, new_code_cell("while True: pass"))


@damage(6)
def a_scratch_cell_that_exits(nb, folder):
    nb.cells.append(new_code_cell("import os; os._exit(3)"))


@damage(6)
def a_scratch_cell_that_asks(nb, folder):
    nb.cells.insert(0, new_code_cell("n = int(input('layers? '))"))


@damage(6)
def a_cell_that_does_not_parse(nb, folder):
    nb.cells.insert(0, new_code_cell("def broken(:\n"))


@damage(6)
def the_import_cells_deleted(nb, folder):
    nb.cells = [c for c in nb.cells if not c.source.startswith("import")]


# ---- the file ----

STUB = ""  # the released answer cell; set by the test


@damage(6)
def no_cell_ids(nb, folder):
    nb.nbformat_minor = 4
    for cell in nb.cells:
        del cell["id"]


@damage(6)
def an_unknown_minor_version(nb, folder):
    nb.nbformat_minor = 99


@damage(6)
def notebook_format_three(nb, folder):
    cells = [
        {
            "cell_type": "code",
            "input": c.source,
            "language": "python",
            "outputs": [],
            "metadata": {},
        }
        if c.cell_type == "code"
        else {"cell_type": "markdown", "source": c.source, "metadata": {}}
        for c in nb.cells
    ]
    content = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [{"cells": cells}],
    }
    return json.dumps(content).encode()


@damage(6)
def no_kernelspec(nb, folder):
    nb.metadata = {}


@damage(6)
def the_kernel_of_another_language(nb, folder):
    nb.metadata.kernelspec = {"name": "ir", "display_name": "R", "language": "R"}
    nb.metadata.language_info = {"name": "R"}


@damage(6)
def metadata_that_is_a_list(nb, folder):
    nb["metadata"] = [1, 2]


@damage(6)
def widget_state_left_in(nb, folder):
    nb.metadata.widgets = {
        "application/vnd.jupyter.widget-state+json": {
            "state": {str(i): "x" * 999 for i in range(3000)}
        }
    }


@damage(6)
def outputs_that_are_none(nb, folder):
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell["outputs"] = [None, 5, {"output_type": "nonsense"}]


@damage(6)
def windows_line_ends(nb, folder):
    for cell in nb.cells:
        cell.source = cell.source.replace("\n", "\r\n")


@damage(6)
def lines_as_lists(nb, folder):
    return nbformat.writes(nb).encode()


@damage(6)
def lone_surrogates(nb, folder):
    answer(nb).source += "\n# \ud800"
    nb.cells.append(new_code_cell("print('\\ud800')"))


@damage(6)
def a_byte_order_mark(nb, folder):
    return b"\xef\xbb\xbf" + json.dumps(nb).encode()


@damage(6)
def utf_16(nb, folder):
    return json.dumps(nb, ensure_ascii=False).encode("utf-16")


@damage(6)
def utf_16_without_a_mark(nb, folder):
    return json.dumps(nb, ensure_ascii=False).encode("utf-16-le")


@damage(6)
def latin_1(nb, folder):
    nb.cells.append(new_markdown_cell("Grüße"))
    return json.dumps(nb).replace("\\u00fc", "ü").encode("latin-1")


@damage(6)
def numbers_that_are_none_in_json(nb, folder):
    return json.dumps(nb).replace('"execution_count": null', '"execution_count": NaN').encode()


@damage(6, "checkpoint_counts (1).ipynb")
def renamed_by_a_browser(nb, folder):
    pass


@damage(6, "Checkpoint_Counts.ipynb")
def renamed_in_upper_case(nb, folder):
    pass


@damage(6, "Copy of checkpoint_counts.ipynb")
def renamed_by_colab(nb, folder):
    pass


@damage(6, "CHECKPOINT_COUNTS.IPYNB")
def the_ending_in_upper_case(nb, folder):
    pass


@damage(6, "checkpoint_counts.ipynb.json")
def a_second_ending(nb, folder):
    pass


@damage(6, "homework final.ipynb")
def named_otherwise(nb, folder):
    pass


@damage(6)
def modules_beside_it(nb, folder):
    for name in (
        "numpy.py",
        "sitecustomize.py",
        "ast.py",
        "evil.pth",
        "conftest.py",
        "nbgrader_config.py",
    ):
        (folder / name).write_text("raise SystemExit('LEAK')")
    (folder / "backprop_course").mkdir()
    (folder / "backprop_course" / "__init__.py").write_text("raise SystemExit('LEAK')")


@damage(6)
def links_beside_it(nb, folder):
    (folder / "data.csv").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to(folder)


@damage(6)
def a_time_stamp_that_is_none(nb, folder):
    (folder / "timestamp.txt").write_text("LEAK not a time")


# ---- refused: score 0, pending, the batch goes on ----

REFUSED = {}


def refused(words: str, name: str = NAME):
    """Register a file that cannot be read; `words` must be in the feedback."""

    def register(function):
        REFUSED[function.__name__.replace("_", " ")] = words
        return damage(0, name)(function)

    return register


@refused("no notebook, or only part")
def not_json(nb, folder):
    return b"def checkpoint_counts(n, s): ..."


@refused("only part of one")
def truncated(nb, folder):
    return json.dumps(nb).encode()[:-500]


@refused("empty")
def empty(nb, folder):
    return b""


@refused("empty")
def white_space(nb, folder):
    return b" \n" * 100


@refused("merge-conflict")
def merge_conflict(nb, folder):
    text = json.dumps(nb, indent=1)
    return text.replace('"cells"', '\n<<<<<<< HEAD\n"cells"\n=======\n>>>>>>> b\n', 1).encode()


@refused("web page")
def a_web_page(nb, folder):
    return b"<!DOCTYPE html><html><body>Sign in</body></html>"


@refused("nested too deeply")
def nested(nb, folder):
    return b'{"cells":' + b"[" * 200_000


@refused("no list of cells")
def json_of_something_else(nb, folder):
    return b'{"name": "backprop"}'


@refused("but no notebook")
def a_list(nb, folder):
    return b"[1, 2]"


@refused("no notebook cells")
def cells_that_are_numbers(nb, folder):
    return b'{"cells": [1, null, "x"], "nbformat": 4}'


@refused("no notebook cells")
def no_cells(nb, folder):
    return b'{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}'


@refused("MB")
def forty_megabytes(nb, folder):
    return b'{"cells": [], "x": "' + b"x" * 40_000_000 + b'"}'


@refused("too long")
def a_cell_of_three_megabytes(nb, folder):
    answer(nb).source += "\n#" + "x" * 3_000_000


@refused("no notebook, or only part")
def binary(nb, folder):
    return bytes(range(1, 256)) * 50


@refused("link to something outside")
def a_link_out_of_the_folder(nb, folder):
    (folder / NAME).symlink_to("/etc/passwd")
    return False


@refused("link to something outside")
def a_link_to_another_student(nb, folder):
    (folder / NAME).symlink_to(folder.parent.parent / "right" / "checkpoint_counts" / NAME)
    return False


@refused("cannot be opened")
def a_link_to_nothing(nb, folder):
    (folder / NAME).symlink_to(folder / "gone.ipynb")
    return False


@refused("no file that can be read")
def a_folder(nb, folder):
    (folder / NAME).mkdir()
    return False


@refused("no file that can be read")
def a_pipe(nb, folder):
    os.mkfifo(folder / NAME)
    return False


@refused("No notebook was handed in")
def no_notebook(nb, folder):
    (folder / "report.pdf").write_bytes(b"%PDF")
    return False
