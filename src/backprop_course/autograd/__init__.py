"""Lesson 06: a tiny autograd engine, on numbers (`Value`) and on arrays (`Tensor`).

Both record the graph while it is computed and walk it once, backwards. `explain(y)` prints that
walk as a table; `checkpoint` trades memory for a second forward pass.
"""

from backprop_course.autograd import rules
from backprop_course.autograd.graph import backward_order, explain
from backprop_course.autograd.rules import RULES
from backprop_course.autograd.tensor import Tensor, apply, checkpoint
from backprop_course.autograd.value import Value

__all__ = ["RULES", "Tensor", "Value", "apply", "backward_order", "checkpoint", "explain", "rules"]
