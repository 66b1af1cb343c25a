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

    names: explain(loss, w=w, b=b) calls these nodes w and b; the others are v1, v2, ... in the
    order of computation. No `grad` changes. Beyond `limit` rows the rest is only counted.
    """
    order = backward_order(root)
    label = _labels(order, names)
    adjoint = dict.fromkeys(order, 0.0) | {root: 1.0}
    rows = []
    for node in order:
        for parent, slope in zip(node.parents, node.slopes, strict=True):
            sent = adjoint[node] * slope
            adjoint[parent] = adjoint.get(parent, 0.0) + sent
            numbers = (f"{x + 0.0:.4g}" for x in (slope, adjoint[node], sent))
            rows.append((f"{label[node]} = {node.data:.4g}", label[parent], *numbers))
    _print_table(("node", "parent", "local slope", "upstream", "sent back"), rows, limit)


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
