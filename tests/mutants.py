"""Small mistakes made by machine in a reference answer: one changed place each.

Operators swapped, terms dropped, operands transposed, axes and constants changed, comparisons moved,
statements left out. Every mutant is a program that the checks must refuse, or is the same function.
"""

import ast
import copy
import difflib
from collections.abc import Iterator

SWAPS = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div, ast.Add],
    ast.Div: [ast.Mult],
    ast.FloorDiv: [ast.Div, ast.Mult],
    ast.Pow: [ast.Mult],
    ast.Gt: [ast.GtE, ast.Lt, ast.LtE],
    ast.GtE: [ast.Gt],
    ast.Lt: [ast.LtE, ast.Gt],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
WORDS = {
    "max": ["min"],
    "min": ["max"],
    "maximum": ["minimum"],
    "minimum": ["maximum"],
    "sum": ["mean"],
    "mean": ["sum"],
}


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that may stand in the place of `node`."""
    match node:
        case ast.BinOp(left, op, right):
            for other in SWAPS.get(type(op), []):
                yield ast.BinOp(left, other(), right)
            yield left
            yield right
            if isinstance(op, ast.MatMult):
                yield ast.BinOp(right, op, left)
                yield ast.BinOp(ast.Attribute(left, "T", ast.Load()), op, right)
                yield ast.BinOp(left, op, ast.Attribute(right, "T", ast.Load()))
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.AugAssign(target, op, value):
            yield ast.Assign([ast.Name(target.id) if hasattr(target, "id") else target], value)
            for other in SWAPS.get(type(op), []):
                yield ast.AugAssign(target, other(), value)
        case ast.Compare(left, ops, comparators):
            for i, op in enumerate(ops):
                for other in SWAPS.get(type(op), []):
                    yield ast.Compare(left, [*ops[:i], other(), *ops[i + 1 :]], comparators)
        case ast.Constant(value) if isinstance(value, bool):
            yield ast.Constant(not value)
        case ast.Constant(value) if isinstance(value, (int, float)):
            for other in dict.fromkeys([value + 1, value - 1, -value, 2 * value]):
                if other != value:
                    yield ast.Constant(other)
        case ast.Attribute(value, "T"):
            yield value
        case ast.Attribute(value, word, context) if word in WORDS:
            for other in WORDS[word]:
                yield ast.Attribute(value, other, context)
        case ast.Name(word, context) if word in WORDS:
            for other in WORDS[word]:
                yield ast.Name(other, context)
        case ast.Call(function, arguments, keywords):
            for i in range(len(keywords)):
                yield ast.Call(function, arguments, keywords[:i] + keywords[i + 1 :])
            if len(arguments) == 1 and not keywords:
                yield arguments[0]
        case ast.Tuple(elements, ast.Load()) if len(elements) > 1:
            for i in range(len(elements) - 1):
                a, b = elements[i : i + 2]
                yield ast.Tuple([*elements[:i], b, a, *elements[i + 2 :]], ast.Load())
        case ast.If(test, body, orelse) | ast.IfExp(test, body, orelse):
            yield type(node)(ast.UnaryOp(ast.Not(), test), body, orelse)
            if orelse:
                yield type(node)(ast.Constant(True), body, orelse)
        case ast.Expr(ast.Call()) | ast.Assign() | ast.For() | ast.Raise():
            yield ast.Pass()


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Where a node hangs: its parent, the parent's field, and the index if that is a list."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list):
                yield from (
                    (parent, field, i) for i, v in enumerate(value) if isinstance(v, ast.AST)
                )
            elif isinstance(value, ast.AST):
                yield parent, field, None


def replaced(tree: ast.AST, number: int, new: ast.AST) -> ast.AST:
    """A copy of the tree with `new` at the place with this number."""
    tree = copy.deepcopy(tree)
    parent, field, index = list(places(tree))[number]
    if index is None:
        setattr(parent, field, copy.deepcopy(new))
    else:
        getattr(parent, field)[index] = copy.deepcopy(new)
    return tree


def difference(before: str, after: str) -> str:
    """The first changed line as `old → new`."""
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    old = next((line[2:].strip() for line in lines if line.startswith("- ")), "")
    new = next((line[2:].strip() for line in lines if line.startswith("+ ")), "")
    return f"{old} → {new}"


def mutants(source: str) -> dict[str, str]:
    """What was changed -> the code of the mutant, for every place in `source` that can change."""
    tree = ast.parse(source)
    before, out = ast.unparse(tree), {}
    for number, (parent, field, index) in enumerate(places(tree)):
        node = getattr(parent, field) if index is None else getattr(parent, field)[index]
        for new in variants(node):
            after = ast.unparse(ast.fix_missing_locations(replaced(tree, number, new)))
            if after != before and after not in out.values():
                name = difference(before, after)
                out[name if name not in out else f"{name} (line {node.lineno})"] = after
    return out
