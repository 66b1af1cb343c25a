"""Displayed formulas: a test quotes one as the lesson prints it, next to code that says the same.

Change a sign in the lesson and the quotation is no longer found; change it in the code and the test's numbers
disagree.
"""

import re

import build


def displayed(lesson: str, formula: str) -> bool:
    """Is `formula` (LaTeX) printed in the Markdown of the lesson? Spaces do not count."""

    def plain(text):
        return re.sub(r"\\[,;]|\s", "", text)

    path = next(p for p in build.LESSONS if p.stem == lesson)
    text = "".join(c.source for c in build.read(path).cells if c.cell_type == "markdown")
    return plain(formula) in plain(text)
