"""What numbers and arrays share: the order of a backward pass, and a table that explains one."""


def backward_order(root):
    """root -> list of the nodes it was made from, each after all its users. Leaves are left out.

    A topological sort by counting (Kahn 1962, doi:10.1145/368996.369025): no recursion, any depth.
    """
    stack, ready, order = [root], [root], []
    while stack:
        for parent in stack.pop().parents:
            if parent.parents and not parent.consumers:
                stack.append(parent)
            parent.consumers += 1
    while ready:
        node = ready.pop()
        order.append(node)
        for parent in node.parents:
            parent.consumers -= 1
            if parent.parents and not parent.consumers:
                ready.append(parent)
    return order


def explain(root, limit=40, **names):
    """Print the backward pass of a Value: node · parent · local slope · upstream · sent back.

    For a Tensor the local slope is the name of the rule, and an array is shown as its shape and
    its norm. names: explain(loss, w=w, b=b) calls these nodes w and b; the others are v1, v2, ...
    in the order of computation. No `grad` changes. Beyond `limit` rows the rest is only counted.
    """
    order = backward_order(root)
    label = _labels(order, names)
    adjoint = {root: root.data * 0 + 1.0}
    rows = []
    for node in order:
        upstream = adjoint[node]
        for parent, local, sent in _shares(node, upstream):
            adjoint[parent] = adjoint.get(parent, 0.0) + sent
            made = f"{label[node]} = {_show(node.data)}"
            rows.append((made, label[parent], local, _show(upstream), _show(sent)))
    _print_table(("node", "parent", "local slope", "upstream", "sent back"), rows, limit)


def _shares(node, upstream):
    """Triples (parent, local slope as text, what it is sent)."""
    if hasattr(node, "slopes"):
        pairs = zip(node.parents, node.slopes, strict=True)
        return [(parent, _show(slope), upstream * slope) for parent, slope in pairs]
    return [(parent, node.rule, sent) for parent, sent in node.shares(upstream)]


def _show(x):
    if getattr(x, "ndim", 0):
        return f"{x.shape} norm {float((x * x).sum()) ** 0.5:.4g}"
    return f"{float(x) + 0.0:.4g}"  # + 0.0 turns -0 into 0


def _labels(order, names):
    label = {node: name for name, node in names.items()}
    leaves = {p: None for node in reversed(order) for p in node.parents if not p.parents}
    unnamed = [n for n in (*leaves, *reversed(order)) if n not in label]
    return label | {node: f"v{i}" for i, node in enumerate(unnamed, 1)}


def _print_table(head, rows, limit):
    shown = [head, *rows[:limit]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())
    if len(rows) > limit:
        print(f"... and {len(rows) - limit} more rows")
