"""Figures of lesson 06: what recursion costs, the XOR runs, the graph of a Tensor or a Value."""

from backprop_course.autograd import backward_order
from backprop_course.figures.style import (
    ADJOINT,
    CURRENT,
    ERROR,
    INK,
    MUTED,
    PARAMETER,
    VALUE,
    Picture,
    axes,
)


def recursion_costs(levels=20):
    """Calls of a recursion along every path, and nodes walked once, for y = y + y repeated."""
    figure, ax = axes(height=3.2)
    n = range(1, levels + 1)
    ax.plot(n, [2 ** (k + 1) - 1 for k in n], "--s", color=ERROR, ms=4)
    ax.plot(n, list(n), "-o", color=VALUE, ms=4)
    ax.annotate("once per path: 2ⁿ⁺¹ − 1 calls", (12, 2**13), (3, 2**14), color=ERROR)
    ax.annotate("each node once: n nodes", (14, 14), (13, 25), color=VALUE)
    ax.set(yscale="log", xlabel="levels n of y = y + y", ylabel="visits", xticks=range(0, 21, 4))
    return Picture(
        figure,
        "Visits of a backward pass against the number of levels of y = y + y, on a log axis: "
        "recursing along each path doubles with every level and passes a million at 19 levels; "
        "a topological order visits one node a level.",
    )


def xor_runs(losses):
    """losses: {seed: list of losses, one a step} -> curves, the runs that stall marked."""
    figure, ax = axes(height=3.6)
    for seed, run in losses.items():
        stalls = run[-1] > 0.1
        style = dict(color=ERROR, ls="--", lw=1.8) if stalls else dict(color=VALUE, lw=1)
        ax.plot(run, **style)
        if stalls:
            ax.text(len(run) + 2, run[-1], f"seed {seed}: {run[-1]:.3f}", color=ERROR, va="center")
    ax.set(xlabel="step", ylabel="loss", xlim=(0, len(run) * 1.2), ylim=(0, None))
    stalled = sum(run[-1] > 0.1 for run in losses.values())
    return Picture(
        figure,
        f"Loss of the XOR network against the step for {len(losses)} seeds. Dashed, levelling off "
        f"far above zero: {stalled} of them. The others fall close to zero.",
    )


def graph(root, **names):
    """Draw how a Tensor or a Value was made. names: graph(loss, W=W, b=b) labels these nodes."""
    order = backward_order(root)[::-1]
    label = {id(node): name for name, node in names.items()}
    place = _places(order)
    columns, rows = (max(abs(at[i]) for at in place.values()) + 1 for i in (0, 1))
    figure, ax = axes(width=1.25 * columns, height=0.9 * rows + 0.4)
    figure.set_layout_engine("none")
    ax.set(xlim=(-0.6, columns - 0.4), ylim=(0.6 - rows, 0.6), position=(0, 0, 1, 1))
    ax.set_axis_off()
    boxes = {}
    for node in _with_leaves(order):
        text = _text(node, label.get(id(node), ""))
        box = _box(leaf=not node.parents, is_root=node is root)
        style = dict(ha="center", va="center", fontsize=8, color=INK, bbox=box)
        boxes[id(node)] = ax.text(*place[id(node)], text, **style).get_bbox_patch()
    for node in order:
        for parent in dict.fromkeys(node.parents):
            ends = dict(patchA=boxes[id(parent)], patchB=boxes[id(node)])
            arrow = dict(arrowstyle="->", color=MUTED, shrinkA=2, shrinkB=2, **ends)
            ax.annotate("", place[id(node)], place[id(parent)], arrowprops=arrow)
    return Picture(figure, _in_words(order, names))


def _with_leaves(order):
    nodes = (n for node in order for n in (*node.parents, node))
    return list({id(n): n for n in nodes}.values()) or order


def _places(order):
    """{id: (column, row)}: a node stands right of its parents, a leaf left of its first user."""
    column, place, rows = {}, {}, {}
    for node in order:
        column[id(node)] = 1 + max(column.get(id(p), 0) for p in node.parents)
        for p in node.parents:
            column.setdefault(id(p), column[id(node)] - 1)
    for node in _with_leaves(order):
        x = column.get(id(node), 0)
        y = rows[x] = rows.get(x, 1) - 1
        place[id(node)] = (x, y)
    return place


def _box(leaf, is_root):
    colour = PARAMETER if leaf else ADJOINT if is_root else VALUE
    shape = "round,pad=0.45" if leaf else "square,pad=0.45"
    return dict(boxstyle=shape, fc=CURRENT if is_root else "white", ec=colour, lw=1.5)


def _text(node, name):
    rule = getattr(node, "rule", None)
    what = f"{node.data.shape}" if hasattr(node.data, "shape") else f"{node.data:.4g}"
    return "\n".join(part.replace("_", " ") for part in (name or rule, what) if part)


def _in_words(order, names):
    leaves = len(_with_leaves(order)) - len(order)
    named = f" ({', '.join(names)})" if names else ""
    return (
        f"Graph of a computation, from left to right. Leaves, rounded: {leaves}{named}. "
        f"Operations, square: {len(order)}; the last one, filled, is the output."
    )
