"""One palette and one kind of picture for every figure of the course.

A plotting function makes axes with `axes()`, draws, and returns `Picture(figure, alt=...)`.
Colour is never the only sign: give each line a marker or dash of its own and label it.
"""

import base64
import html
import io

# Okabe-Ito hues. Values blue, adjoints orange, parameters violet, current yellow, errors magenta.
VALUE, ADJOINT, PARAMETER, CURRENT, ERROR = "#0072b2", "#d55e00", "#6a3d9a", "#f0e442", "#b5005b"
# The same meanings as text: darkened until they pass 4.5:1 on white.
VALUE_TEXT, ADJOINT_TEXT, PARAMETER_TEXT, ERROR_TEXT = "#005a8f", "#a34700", "#5a2d8a", "#a30052"
INK, MUTED, GRID = "#1a1a1a", "#595959", "#dddddd"

_RC = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "text.color": INK,
    "axes.labelcolor": INK,
}


def axes(rows=1, columns=1, *, width=7.0, height=3.6, **kwargs):
    """A matplotlib figure and its axes, in the course's style (width, height in inches).

    pyplot is not used: nothing is shown twice, and no global state changes.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_RC):
        figure = Figure(figsize=(width, height), dpi=100, layout="constrained")
        return figure, figure.subplots(rows, columns, **kwargs)


class Picture:
    """A still picture with alternative text, as the last line of a cell.

    figure: a matplotlib Figure.  alt: one or two sentences that say what the picture shows.
    """

    def __init__(self, figure, alt: str):
        if not alt.strip():
            raise ValueError("a picture needs alternative text: say in a sentence what it shows")
        self.figure, self.alt = figure, alt

    def __repr__(self):
        return f"Picture: {self.alt}"

    def png(self) -> bytes:
        from matplotlib import rc_context

        buffer = io.BytesIO()
        with rc_context(_RC):
            # No Software entry: the bytes depend on the drawing alone.
            self.figure.savefig(buffer, format="png", metadata={"Software": None})
        return buffer.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None):
        # Front ends give an image/png output no alt attribute; HTML carries it everywhere.
        # The bare PNG is for converters that take no HTML (PDF).
        data = base64.b64encode(self.png()).decode()
        tag = f'<img alt="{html.escape(self.alt)}" src="data:image/png;base64,{data}">'
        return {"text/plain": repr(self), "text/html": tag, "image/png": data}
