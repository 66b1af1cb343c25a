"""Lesson 06: the engine on single numbers, in 40 lines.

Each operator returns a new `Value` with its parents and one slope for each; `backward` walks them.
"""
# One-line operators read as a table (E731); zip(strict=True) costs 3% of a backward pass (B905).
# ruff: noqa: E731, B905

import math


class Value:
    """A number that knows its parents, and its slope with respect to each of them.

    A plain number in an operation is a constant: it makes no node. `consumers` is scratch space
    of `backward`: how many operations that use this node have not sent their share back yet.
    """

    __slots__ = ("data", "grad", "parents", "slopes", "consumers")

    def __init__(self, data, parents=(), slopes=()):
        self.data, self.grad = data, 0.0
        self.parents, self.slopes, self.consumers = parents, slopes, 0

    def __add__(self, other):
        if isinstance(other, Value):
            return Value(self.data + other.data, (self, other), (1.0, 1.0))
        return Value(self.data + other, (self,), (1.0,))

    def __mul__(self, other):
        if isinstance(other, Value):
            return Value(self.data * other.data, (self, other), (other.data, self.data))
        return Value(self.data * other, (self,), (other,))

    __radd__, __rmul__ = __add__, __mul__
    __pow__ = lambda self, n: Value(self.data**n, (self,), (n * self.data ** (n - 1) if n else 0,))
    __neg__ = lambda self: self * -1.0
    __sub__ = lambda self, other: self + -other
    __rsub__ = lambda self, other: -self + other
    __truediv__ = lambda self, other: self * other**-1
    __rtruediv__ = lambda self, other: self**-1 * other
    __repr__ = lambda self: f"Value({self.data:.6g}, grad={self.grad:.6g})"

    relu = lambda self: Value(max(self.data, 0.0), (self,), (float(self.data > 0),))
    exp = lambda self: Value(y := math.exp(self.data), (self,), (y,))
    log = lambda self: Value(math.log(self.data), (self,), (1 / self.data,))
    tanh = lambda self: Value(y := math.tanh(self.data), (self,), (1 - y * y,))

    def backward(self):
        """Leaves add this pass to their `grad`; every other node starts anew."""
        self.grad, stack, ready = 1.0, [self], [self]
        while stack:  # first walk: count the users of each node
            for parent in stack.pop().parents:
                if parent.parents and not parent.consumers:
                    parent.grad = 0.0
                    stack.append(parent)
                parent.consumers += 1
        while ready:  # second walk: a node is ready when all its users have sent their share
            node = ready.pop()
            for parent, slope in zip(node.parents, node.slopes):
                parent.grad += node.grad * slope
                parent.consumers -= 1
                if parent.parents and not parent.consumers:
                    ready.append(parent)
