"""The reference answers, taken from between the solution marks of the exercise sources."""

import linecache

import build


def source_of(name: str) -> str:
    """The code of the reference `name` (a function or class), imports of its notebook included."""
    for path in build.EXERCISES:
        cells = [c for c in build.read(path).cells if c.cell_type == "code"]
        for cell in cells:
            if cell.metadata.get("solution") == name:
                plain = [c for c in cells if not {"solution", "check"} & set(c.metadata)]
                return "\n".join([*(c.source for c in plain), build.answer_of(cell.source)])
    raise LookupError(f"no exercise has a solution cell named {name!r}")


def define(source: str, name: str):
    """The object `name` that `source` defines, as a notebook's cell would."""
    namespace = {"__name__": "__main__"}
    cell = f"<cell of {name}>"
    linecache.cache[cell] = (len(source), None, source.splitlines(True), cell)  # as IPython does
    exec(compile(source, cell, "exec"), namespace)
    return namespace[name]


def reference(name: str):
    return define(source_of(name), name)
