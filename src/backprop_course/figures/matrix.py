"""Pictures of lesson 02: matrices drawn to scale."""

from .style import (
    ADJOINT,
    ADJOINT_TEXT,
    MUTED,
    PARAMETER,
    PARAMETER_TEXT,
    VALUE,
    VALUE_TEXT,
    Picture,
    axes,
)

KINDS = {
    "value": (VALUE, VALUE_TEXT, "#e8f2f9", None),
    "adjoint": (ADJOINT, ADJOINT_TEXT, "#fdeee4", "///"),
    "parameter": (PARAMETER, PARAMETER_TEXT, "#f1eaf8", "..."),
}


def products_to_scale(B: int, n: int, m: int) -> Picture:
    """The three products of a linear layer, each matrix drawn to scale: Y = X W, dX = dY Wᵀ, dW = Xᵀ dY."""
    for name, size in (("B", B), ("n", n), ("m", m)):
        if size < 1:
            raise ValueError(f"{name} is {size}: sizes of matrices are at least 1")
    rows = [
        ("forward", ("X", B, n, "value"), ("W", n, m, "parameter"), ("Y", B, m, "value")),
        ("inputs", ("dY", B, m, "adjoint"), ("Wᵀ", m, n, "parameter"), ("dX", B, n, "adjoint")),
        ("weights", ("Xᵀ", n, B, "value"), ("dY", B, m, "adjoint"), ("dW", n, m, "adjoint")),
    ]
    tall, gap = max(B, n, m), 0.12 * (B + n + m)
    wide = max(sum(matrix[2] for matrix in row[1:]) for row in rows) + 2 * gap + 1
    figure, panels = axes(1, 3, width=9.5, height=2.6)
    for ax, (title, *matrices) in zip(panels, rows, strict=True):
        x = 0.0
        for sign, matrix in zip(("", "·", "="), matrices, strict=True):
            name, height, width, kind = matrix
            if sign:
                ax.text(x + gap / 2, 0, sign, ha="center", va="center", fontsize=13)
                x += gap
            draw(ax, x, height, width, name, kind)
            x += width
        inner = matrices[0][2]
        ax.set_title(title, fontsize=10)
        ax.text(
            x / 2,
            -tall / 2 - tall / 6,
            f"inner size {inner} = {inner}",
            ha="center",
            color=MUTED,
            fontsize=9,
        )
        # The same extent in all panels, so that all matrices are to one scale.
        ax.set(xlim=(x / 2 - wide / 2, x / 2 + wide / 2), ylim=(-0.78 * tall, 0.55 * tall))
        ax.set_aspect("equal")
        ax.set_axis_off()
    return Picture(
        figure,
        f"Three matrix products to scale. Forward: X ({B} by {n}) times W ({n} by {m}) is Y ({B} by {m}). "
        f"Inputs: dY ({B} by {m}) times W transposed ({m} by {n}) is dX ({B} by {n}). "
        f"Weights: X transposed ({n} by {B}) times dY ({B} by {m}) is dW ({n} by {m}).",
    )


def draw(ax, x: float, height: int, width: int, name: str, kind: str) -> None:
    from matplotlib.patches import Rectangle

    edge, ink, fill, hatch = KINDS[kind]
    ax.add_patch(Rectangle((x, -height / 2), width, height, fc=fill, ec=edge, lw=1.6, hatch=hatch))
    label = f"{name}\n{height}×{width}"
    box = {"facecolor": fill, "edgecolor": "none", "pad": 1}
    ax.text(x + width / 2, 0, label, ha="center", va="center", color=ink, fontsize=9, bbox=box)
