"""Pictures of lesson 01: a scalar graph with its values and adjoints, and passes through a Jacobian."""

import re
import unicodedata

from .style import (
    ADJOINT_TEXT,
    INK,
    MUTED,
    PARAMETER,
    VALUE,
    VALUE_TEXT,
    Picture,
    axes,
)

WIDTH, HEIGHT = 1.5, 0.86  # of a node, in units of the grid that `layout` fills


def pretty(text: str) -> str:
    """Names as a book writes them: w1 -> w₁, yhat -> ŷ."""
    text = re.sub(r"\b([a-z])hat\b", lambda m: m[1] + "\u0302", text)
    return unicodedata.normalize(
        "NFC", re.sub(r"(?<=[a-z])\d", lambda m: chr(8320 + int(m[0])), text)
    )


def bar(name: str) -> str:
    """The adjoint of a variable, as mathtext: w1 -> w̄₁, yhat -> ŷ with a bar."""
    letter, hat, digits = re.fullmatch(r"(\w+?)(hat)?(\d*)", name).groups()
    symbol = rf"\hat{{{letter}}}" if hat else rf"\mathrm{{{letter}}}"
    return rf"$\bar{{{symbol}}}" + (f"_{digits}$" if digits else "$")


def bow(start, end, boxes) -> float:
    """How far to bend the arrow start -> end so that it passes the boxes between them (0: not at all).

    Matplotlib's arc3: positive bends to the right of the arrow's direction.
    """
    between = [p for p in boxes if start[0] < p[0] < end[0]]
    if not between:
        return 0.0
    line = [
        start[1] + (end[1] - start[1]) * (x - start[0]) / (end[0] - start[0]) for x, _ in between
    ]
    above = sum(y - at for (_, y), at in zip(between, line, strict=True))
    return 0.35 if above > 0 else -0.35


def layout(graph) -> dict[str, tuple[float, float]]:
    """(column, row) of each node: an operation right of its inputs, a leaf left of its first use."""
    column: dict[str, int] = {}
    for node in graph.nodes.values():
        column[node.name] = 1 + max((column[p] for p in node.parents), default=-1)
    for node in graph.nodes.values():
        if not node.op:
            users = [column[n.name] for n in graph.nodes.values() if node.name in n.parents]
            column[node.name] = min(users, default=1) - 1
    place: dict[str, tuple[float, float]] = {}
    taken: dict[int, list[float]] = {}
    for name in sorted(graph.nodes, key=lambda n: (column[n], bool(not graph.nodes[n].op))):
        parents = [place[p][1] for p in graph.nodes[name].parents if p in place]
        wish = sum(parents) / len(parents) if parents else 0.0
        rows = taken.setdefault(column[name], [])
        while any(abs(wish - row) < 1.0 for row in rows):
            wish += 0.5
        rows.append(wish)
        place[name] = (float(column[name]), wish)
    return place


def graph_picture(graph, *, adjoints: bool = True, **overrides: float) -> Picture:
    """The graph with its values, and its adjoints unless `adjoints` is false.

    Squares are inputs, hexagons parameters, rounded boxes operations. Overrides replace leaf values.
    """
    from ..chain_rule import number

    values, grads = graph.forward(**overrides), graph.backward(**overrides)
    place = {name: (x * 1.9, -y * 1.15) for name, (x, y) in layout(graph).items()}
    columns = 1 + max(x for x, _ in place.values()) / 1.9
    rows = 1 + (max(y for _, y in place.values()) - min(y for _, y in place.values())) / 1.15
    figure, ax = axes(width=1.25 * columns + 0.4, height=0.78 * rows + 0.5)
    for node in graph.nodes.values():
        for parent in node.parents:
            arrow(
                ax,
                place[parent],
                place[node.name],
                bow(place[parent], place[node.name], place.values()),
            )
    for name, (x, y) in place.items():
        box(ax, graph.nodes[name].kind, x, y)
        ax.text(x, y + 0.24, pretty(graph.formula(name)), ha="center", va="center", fontsize=9)
        ax.text(
            x,
            y - 0.01,
            number(values[name]),
            ha="center",
            va="center",
            color=VALUE_TEXT,
            fontsize=9,
        )
        if adjoints:
            text = f"{bar(name)} = {number(grads[name])}"
            ax.text(x, y - 0.26, text, ha="center", va="center", color=ADJOINT_TEXT, fontsize=9)
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.margins(0.06)
    what = ", ".join(
        f"{pretty(graph.formula(n))} is {number(values[n])}"
        + (f" with adjoint {number(grads[n])}" if adjoints else "")
        for n in graph.nodes
    )
    return Picture(figure, f"{graph.title}, drawn as a graph. {what}.")


def box(ax, kind: str, x: float, y: float) -> None:
    from matplotlib.patches import FancyBboxPatch, Polygon, Rectangle

    w, h = WIDTH / 2, HEIGHT / 2
    if kind == "input":
        patch = Rectangle((x - w, y - h), 2 * w, 2 * h, fc="#e8f2f9", ec=VALUE)
    elif kind == "parameter":
        tip = 0.16
        corners = [(-w, 0), (-w + tip, h), (w - tip, h), (w, 0), (w - tip, -h), (-w + tip, -h)]
        patch = Polygon([(x + a, y + b) for a, b in corners], fc="#f1eaf8", ec=PARAMETER, lw=1.6)
    else:
        style = "round,pad=0,rounding_size=0.3"
        patch = FancyBboxPatch((x - w, y - h), 2 * w, 2 * h, style, fc="white", ec=MUTED)
    ax.add_patch(patch)


def arrow(ax, start, end, rad: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    ax.add_patch(
        FancyArrowPatch(
            (start[0] + WIDTH / 2, start[1]),
            (end[0] - WIDTH / 2, end[1]),
            arrowstyle="-|>",
            mutation_scale=9,
            color=MUTED,
            shrinkA=0,
            shrinkB=1,
            connectionstyle=f"arc3,rad={rad}",
        )
    )


def jacobian_passes(m: int, n: int) -> Picture:
    """An m × n Jacobian filled by forward passes (columns) and by reverse passes (rows)."""
    figure, (left, right) = axes(1, 2, width=7, height=0.9 + 2.2 * min(m / max(m, n) + 0.2, 1))
    for ax, by_column in ((left, True), (right, False)):
        for i in range(m):
            for j in range(n):
                turn = (j if by_column else i) + 1
                ax.add_patch(cell(i, j, by_column, turn))
                if max(m, n) <= 13:
                    ax.text(j + 0.5, i + 0.5, turn, ha="center", va="center", fontsize=8)
        passes, kind = (
            (n, "forward: a pass fills a column")
            if by_column
            else (m, "reverse: a pass fills a row")
        )
        ax.set_title(f"{kind}, {passes} {'pass' if passes == 1 else 'passes'}", fontsize=10)
        ax.set(xlim=(0, n), ylim=(m, 0), xticks=[], yticks=[], aspect="equal")
        ax.set_xlabel("1 input" if n == 1 else f"{n} inputs", color=INK)
        ax.set_ylabel("1 output" if m == 1 else f"{m} outputs", color=INK)
        ax.grid(False)
    return Picture(
        figure,
        f"A Jacobian of {m} outputs and {n} inputs, each entry with the number of the pass that gives "
        f"it. Forward mode needs {n} passes, one a column; reverse mode {m}, one a row.",
    )


def cell(i: int, j: int, by_column: bool, turn: int):
    from matplotlib.patches import Rectangle

    colours = ("#cfe3f1", "#e8f2f9") if by_column else ("#f9d9c4", "#fdeee4")
    hatch = None if turn % 2 else ("..." if by_column else "///")
    return Rectangle((j, i), 1, 1, fc=colours[turn % 2], ec="white", lw=1, hatch=hatch)


__all__ = ["graph_picture", "jacobian_passes"]
