"""Lesson 06: a tiny autograd engine, on numbers (`Value`) and on arrays (`Tensor`).

Both record the graph as it is computed and walk it backwards with one algorithm,
`backward_order`. `explain(y)` prints that walk as a table.
"""

from backprop_course.autograd.value import Value

__all__ = ["Value"]
