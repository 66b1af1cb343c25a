"""The engine on arrays: `Tensor` and `checkpoint`.

The same two ideas as `Value`. A node keeps its inputs and the name of its rule; `backward` walks
the graph once. What was a slope is now a VJP: a function from the upstream gradient to the
gradient of one input.
"""
# One-line methods read as a table (E731); an input without a VJP is a constant (B905).
# ruff: noqa: E731, B905

import numpy as np

from backprop_course.autograd.graph import backward_order
from backprop_course.autograd.rules import RULES
from backprop_course.matrix import unbroadcast


class Tensor:
    """An array that knows how it was made.

    data: floating array of any shape; integers become float64.  grad: array of the same shape,
    or None before the first backward pass.  Numbers and arrays in an operation are constants.
    """

    __slots__ = ("data", "grad", "rule", "inputs", "options", "parents", "consumers")
    __array_ufunc__ = None  # array @ tensor shall call Tensor.__rmatmul__

    def __init__(self, data, rule=None, inputs=(), options=None):
        data = np.asarray(data)
        self.data = data if np.issubdtype(data.dtype, np.floating) else data.astype(np.float64)
        self.grad, self.rule, self.inputs, self.options = None, rule, inputs, options or {}
        self.parents, self.consumers = tuple(x for x in inputs if isinstance(x, Tensor)), 0

    __add__ = __radd__ = lambda self, other: apply("add", self, other)
    __mul__ = __rmul__ = lambda self, other: apply("multiply", self, other)
    __sub__ = lambda self, other: apply("subtract", self, other)
    __rsub__ = lambda self, other: apply("subtract", other, self)
    __truediv__ = lambda self, other: apply("divide", self, other)
    __rtruediv__ = lambda self, other: apply("divide", other, self)
    __matmul__ = lambda self, other: apply("matmul", self, other)
    __rmatmul__ = lambda self, other: apply("matmul", other, self)
    __neg__ = lambda self: apply("multiply", self, -1.0)
    __pow__ = lambda self, n: apply("power", self, n=n)
    __getitem__ = lambda self, index: apply("index", self, index=index)
    __repr__ = lambda self: f"Tensor({np.array2string(self.data, precision=4, prefix='Tensor(')})"

    exp = lambda self: apply("exp", self)
    log = lambda self: apply("log", self)
    tanh = lambda self: apply("tanh", self)
    relu = lambda self: apply("relu", self)
    gelu = lambda self: apply("gelu", self)
    reshape = lambda self, *shape: apply("reshape", self, shape=shape)
    transpose = lambda self, *axes: apply("transpose", self, axes=axes or None)
    T = property(transpose)
    shape = property(lambda self: self.data.shape)

    def sum(self, axis=None, keepdims=False):
        return apply("sum", self, axis=axis, keepdims=keepdims)

    def mean(self, axis=None, keepdims=False):
        return apply("mean", self, axis=axis, keepdims=keepdims)

    def max(self, axis=None, keepdims=False):
        return apply("max", self, axis=axis, keepdims=keepdims)

    def cross_entropy(self, labels):
        """Logits (B, K), labels (B,) or targets (B, K) -> mean loss, a scalar."""
        return apply("cross_entropy", self, labels)

    def backward(self, dY=None, *, create_graph=False):
        """Add the gradient of this pass to every leaf's `grad`; other nodes start anew.

        dY: upstream gradient, shape of self; 1 if left out, which needs a single number.
        """
        if create_graph:
            raise NotImplementedError(
                "create_graph=True: gradients here are plain arrays without a graph, so there are "
                "no second derivatives; use torch.autograd.grad(..., create_graph=True)"
            )
        if dY is None and self.data.size != 1:
            raise ValueError(
                f"backward() of a tensor of shape {self.shape}: expected a single number; "
                "reduce it with sum() or mean(), or pass dY of this shape"
            )
        order = backward_order(self)
        for node in order:
            node.grad = None if node.parents else node.grad
        self._receive(np.ones_like(self.data) if dY is None else np.asarray(dY))
        for node in order:
            for x, dX in node.shares(node.grad):
                x._receive(dX)

    def shares(self, dY):
        """Upstream gradient dY, shape of self -> pairs (input, its gradient); constants left out."""
        arrays = [_data(x) for x in self.inputs]
        for x, vjp in zip(self.inputs, RULES[self.rule][1:]):
            if isinstance(x, Tensor):
                yield x, unbroadcast(vjp(dY, self.data, *arrays, **self.options), x.shape)

    def _receive(self, dX):
        dX = np.asarray(dX, dtype=self.data.dtype)
        if self.grad is not None:
            self.grad = self.grad + dX  # not in place: a rule may hand one array to two inputs
        else:
            self.grad = dX if self.parents else dX.copy()  # a leaf's gradient is its own


def apply(name, *inputs, **options):
    """Compute one operation of RULES and record it."""
    forward = RULES[name][0]
    return Tensor(forward(*(_data(x) for x in inputs), **options), name, inputs, options)


def _data(x):
    return x.data if isinstance(x, Tensor) else x


class _Checkpointed(Tensor):
    """A node whose inside was forgotten; it is computed again when its gradients are needed."""

    __slots__ = ()

    def shares(self, dY):
        inputs = [Tensor(x.data) for x in self.inputs]
        self.options["function"](*inputs).backward(dY)
        return [(x, i.grad) for x, i in zip(self.inputs, inputs) if i.grad is not None]


def checkpoint(function, *inputs):
    """function(*inputs), keeping only the inputs: the backward pass computes the rest again.

    Every tensor that `function` uses must be among the inputs, weights included.
    """
    fresh = [Tensor(x.data) for x in inputs]
    Y = function(*fresh)
    leaves = {x for node in backward_order(Y) for x in node.parents if not x.parents}
    if not leaves <= set(fresh):
        raise ValueError(
            f"checkpoint: the function uses {len(leaves - set(fresh))} tensors that are not among "
            "its inputs, and would lose their gradients; pass them as inputs too"
        )
    return _Checkpointed(Y.data, "checkpoint", inputs, {"function": function})
