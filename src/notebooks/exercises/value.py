# %% [markdown]
# # Exercise: `Value`, an autograd engine
#
# You write a class whose objects are numbers that remember how they were made. With it, any formula written in Python differentiates itself. Allow 90 minutes. It needs lesson 06.
#
# | what is checked | points |
# |---|---|
# | each operator and its slopes | 2 |
# | plain numbers on either side | 1 |
# | fan-out: a value used twice | 1 |
# | the residual ReLU graph of lesson 01 | 1 |
# | random expression graphs | 1½ |
# | shared nodes below shared nodes | 1 |
# | a chain of 100,000 nodes | 1 |
# | a value used 10,000 times | ½ |
# | backward twice, the leaves zeroed between | ½ |
# | equal numbers in different nodes | ½ |
#
# The grader runs the same checks as this notebook, with other random numbers.

# %% [markdown]
# ## The class
#
# | written | what it is |
# |---|---|
# | `Value(data)` | a leaf that holds the number `data` |
# | `v.data` | the number, a float |
# | `v.grad` | the adjoint: the derivative of the output with respect to `v`. It is 0.0 until a `backward()` |
# | `a + b`, `a - b`, `a * b`, `a / b`, `-a` | a new `Value`; either side may be a plain number |
# | `a ** n` | a power with a plain number `n` |
# | `a.relu()`, `a.exp()`, `a.log()`, `a.tanh()` | a new `Value`; the slope of the ReLU at 0 counts as 0 |
# | `y.backward()` | sets `v.grad` to $\partial y / \partial v$ for every value `v` that went into `y` |
#
# - **Depth.** A chain of 100,000 operations must work. Python stops recursion near 1,000 levels, so walk with a loop.
# - **Shared values.** A value may be used many times, and shared values may lie below shared values. Each node sends its adjoint on once, when it is complete.
# - **Again.** Someone may set the leaves' `grad` to `0.0` and call `backward()` a second time. The result must be the same as the first time.

# %% [markdown]
# ## A worked example
#
# With $a = 2$ and $b = 3$ let $c = a + b$, $d = a b$ and $y = (c + d) + c\,d$. Forward: $c = 5$, $d = 6$, $y = 41$.
#
# Backward: $\bar c = 1 + d = 7$ and $\bar d = 1 + c = 6$, each the sum of two contributions. Then
# $\bar a = \bar c \cdot 1 + \bar d \cdot b = 7 + 18 = 25$ and $\bar b = \bar c \cdot 1 + \bar d \cdot a = 7 + 12 = 19$.
#
# A walk that sends $\bar c$ on before both contributions are in reaches other numbers.

# %%
import math


# %% solution="Value"
class Value:
    """A number that remembers how it was made. data: its value; grad: the adjoint after backward()."""

    def __init__(self, data, parents=(), slopes=()):
        ### BEGIN SOLUTION
        self.data, self.grad = float(data), 0.0
        self.parents, self.slopes = parents, slopes  # slopes[i] is the derivative in parents[i]

    def __add__(self, other):
        other = as_value(other)
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        other = as_value(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, n):
        return Value(self.data**n, (self,), (n * self.data ** (n - 1),))

    def relu(self):
        return Value(max(self.data, 0.0), (self,), (float(self.data > 0),))

    def exp(self):
        e = math.exp(self.data)
        return Value(e, (self,), (e,))

    def log(self):
        return Value(math.log(self.data), (self,), (1 / self.data,))

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, (self,), (1 - t * t,))

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -as_value(other)

    def __rsub__(self, other):
        return as_value(other) - self

    def __truediv__(self, other):
        return self * as_value(other) ** -1

    def __rtruediv__(self, other):
        return as_value(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def backward(self):
        waiting, to_visit = {}, [self]  # id of a node -> how many uses have not reported yet
        while to_visit:
            for parent in to_visit.pop().parents:
                if id(parent) not in waiting:
                    waiting[id(parent)] = 0
                    if parent.parents:
                        parent.grad = 0.0
                    to_visit.append(parent)
                waiting[id(parent)] += 1
        self.grad, ready = 1.0, [self]
        while ready:  # a node is ready when all its uses have reported
            node = ready.pop()
            for parent, slope in zip(node.parents, node.slopes):
                parent.grad += slope * node.grad
                waiting[id(parent)] -= 1
                if not waiting[id(parent)]:
                    ready.append(parent)


def as_value(x):
    return x if isinstance(x, Value) else Value(x)
    ### END SOLUTION


# %% [markdown]
# `parents` and `slopes` are a suggestion: keep in each object what your `backward` needs. Only `Value(data)` is asked for.

# %% check="value-operators" points=2
from backprop_course.checks.value import check_operators

check_operators(Value)

# %% check="value-reflected" points=1
from backprop_course.checks.value import check_reflected

check_reflected(Value)

# %% check="value-fan-out" points=1
from backprop_course.checks.value import check_fan_out

check_fan_out(Value)

# %% check="value-residual" points=1
from backprop_course.checks.value import check_residual

check_residual(Value)

# %% check="value-random-graphs" points=1.5
from backprop_course.checks.value import check_random_graphs

check_random_graphs(Value)

# %% [markdown]
# Now the walk itself: the graph of the worked example, long chains, wide fans.

# %% check="value-order" points=1
from backprop_course.checks.value import check_order

check_order(Value)

# %% check="value-deep" points=1
from backprop_course.checks.value import check_deep

check_deep(Value)

# %% check="value-wide" points=0.5
from backprop_course.checks.value import check_wide

check_wide(Value)

# %% check="value-twice" points=0.5
from backprop_course.checks.value import check_twice

check_twice(Value)

# %% check="value-equal-data" points=0.5
from backprop_course.checks.value import check_equal_data

check_equal_data(Value)

# %% [markdown]
# Done? Lesson 06 trains a network with the course's own `Value`. Put yours in its place: it should give the same numbers.
