"""Lesson 01, the chain rule by hand: scalar graphs, their backward tables, and dual numbers.

A `Graph` is a list of named operations on numbers. It runs forward, walks backward, and prints the
table that the lesson fills in by hand: node, local slope, upstream, sent back.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple


class Op(NamedTuple):
    """A scalar operation: its value and its local slopes, and how both are written.

    slopes(y, *inputs) gives ∂y/∂input for each input; y is the operation's own value.
    """

    value: Callable[..., float]
    slopes: Callable[..., tuple[float, ...]]
    text: str
    slope_texts: tuple[str, ...]


def sigmoid(z: float) -> float:
    """1 / (1 + exp(−z)), for any z without overflow."""
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def normal_cdf(z: float) -> float:
    """Φ(z), the probability that a standard normal variable is below z."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_pdf(z: float) -> float:
    """φ(z) = exp(−z²/2) / √(2π), the slope of Φ."""
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


OPS: dict[str, Op] = {
    "add": Op(lambda a, b: a + b, lambda y, a, b: (1.0, 1.0), "{0} + {1}", ("1", "1")),
    "sub": Op(lambda a, b: a - b, lambda y, a, b: (1.0, -1.0), "{0} − {1}", ("1", "−1")),
    "mul": Op(lambda a, b: a * b, lambda y, a, b: (b, a), "{0} · {1}", ("{1}", "{0}")),
    "div": Op(
        lambda a, b: a / b,
        lambda y, a, b: (1 / b, -a / (b * b)),
        "{0} / {1}",
        ("1/{1}", "−{0}/{1}²"),
    ),
    "neg": Op(lambda a: -a, lambda y, a: (-1.0,), "−{0}", ("−1",)),
    "half": Op(lambda a: a / 2, lambda y, a: (0.5,), "½ {0}", ("½",)),
    "square": Op(lambda a: a * a, lambda y, a: (2 * a,), "{0}²", ("2{0}",)),
    "relu": Op(
        lambda a: a if a > 0 else 0.0,
        lambda y, a: (1.0 if a > 0 else 0.0,),
        "relu({0})",
        ("[{0} > 0]",),
    ),
    "sigmoid": Op(sigmoid, lambda y, a: (y * (1 - y),), "σ({0})", ("{y}(1 − {y})",)),
    "tanh": Op(math.tanh, lambda y, a: (1 - y * y,), "tanh {0}", ("1 − {y}²",)),
    "exp": Op(math.exp, lambda y, a: (y,), "exp {0}", ("{y}",)),
    "log": Op(math.log, lambda y, a: (1 / a,), "log {0}", ("1/{0}",)),
    "gelu": Op(
        lambda a: a * normal_cdf(a),
        lambda y, a: (normal_cdf(a) + a * normal_pdf(a),),
        "gelu({0})",
        ("Φ({0}) + {0} φ({0})",),
    ),
}


class Node(NamedTuple):
    """A named number of a graph. kind: "input", "parameter" or "op"; op is "" for the first two."""

    name: str
    op: str
    parents: tuple[str, ...]
    kind: str
    value: float | None


class Contribution(NamedTuple):
    """What `node` sends back to `parent`: sent = upstream × local."""

    node: str
    parent: str
    local: float
    upstream: float
    sent: float


@dataclass
class Graph:
    """A scalar computation; the last node is its output. Nodes are added in an order that can run."""

    title: str
    nodes: dict[str, Node] = field(default_factory=dict)

    def _add(self, node: Node) -> str:
        if node.name in self.nodes:
            raise ValueError(f"{node.name!r} is in the graph already: give each node its own name")
        self.nodes[node.name] = node
        return node.name

    def input(self, name: str, value: float) -> str:
        """Add a number that is given."""
        return self._add(Node(name, "", (), "input", float(value)))

    def parameter(self, name: str, value: float) -> str:
        """Add a number that training changes."""
        return self._add(Node(name, "", (), "parameter", float(value)))

    def op(self, name: str, op: str, *parents: str) -> str:
        """Add name = op(*parents); the parents are nodes that exist."""
        if op not in OPS:
            raise ValueError(f"unknown operation {op!r}: expected one of {', '.join(OPS)}")
        if len(parents) != len(OPS[op].slope_texts):
            raise ValueError(f"{op} takes {len(OPS[op].slope_texts)} inputs, got {len(parents)}")
        for parent in parents:
            if parent not in self.nodes:
                raise ValueError(
                    f"{name} = {op}(…) needs {parent!r}, which is not in the graph yet"
                )
        return self._add(Node(name, op, parents, "op", None))

    @property
    def output(self) -> str:
        """The name of the last node."""
        if not self.nodes:
            raise ValueError(f"the graph {self.title!r} is empty: add nodes first")
        return next(reversed(self.nodes))

    def formula(self, name: str) -> str:
        """How the node is computed, in words of its parents: "u = w · x"."""
        node = self.nodes[name]
        return f"{name} = " + OPS[node.op].text.format(*node.parents) if node.op else name

    def forward(self, **overrides: float) -> dict[str, float]:
        """Every node's value by name; overrides replace the values of inputs and parameters."""
        for name in overrides:
            if name not in self.nodes or self.nodes[name].op:
                leaves = ", ".join(n.name for n in self.nodes.values() if not n.op)
                raise ValueError(f"cannot set {name!r}: the inputs and parameters are {leaves}")
        values: dict[str, float] = {}
        for node in self.nodes.values():
            if node.op:
                values[node.name] = OPS[node.op].value(*(values[p] for p in node.parents))
            else:
                values[node.name] = float(overrides.get(node.name, node.value))
        return values

    def contributions(self, **overrides: float) -> list[Contribution]:
        """What each node sends to each of its parents, in the order of the backward walk."""
        return self._walk(self.forward(**overrides))[1]

    def backward(self, **overrides: float) -> dict[str, float]:
        """Every node's adjoint ∂output/∂node by name."""
        return self._walk(self.forward(**overrides))[0]

    def _walk(self, values: dict[str, float]) -> tuple[dict[str, float], list[Contribution]]:
        adjoint = dict.fromkeys(self.nodes, 0.0)
        adjoint[self.output] = 1.0  # ∂output/∂output
        sent = []
        # Reversed insertion order is a reverse topological order: when a node's turn comes, all
        # nodes that use it have had theirs, so its adjoint is complete.
        for node in reversed(self.nodes.values()):
            inputs = [values[p] for p in node.parents]
            slopes = OPS[node.op].slopes(values[node.name], *inputs) if node.op else ()
            for parent, slope in zip(node.parents, slopes, strict=True):
                upstream = adjoint[node.name]
                sent.append(Contribution(node.name, parent, slope, upstream, upstream * slope))
                adjoint[parent] += upstream * slope
        return adjoint, sent

    def table(self, **overrides: float) -> str:
        """The backward table as text: node · local slope · upstream · sent back."""
        values = self.forward(**overrides)
        rows = [("node", "local slope", "upstream", "sent back")]
        slopes = (s for n in reversed(self.nodes.values()) if n.op for s in OPS[n.op].slope_texts)
        for c, text in zip(self._walk(values)[1], slopes, strict=True):
            written = text.format(*self.nodes[c.node].parents, y=c.node)
            local = f"∂{c.node}/∂{c.parent} = {written}"
            local += "" if written in ("1", "−1") else f" = {number(c.local)}"
            rows.append(
                (self.formula(c.node), local, number(c.upstream), f"{number(c.sent)} to {c.parent}")
            )
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return "\n".join("   ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    def difference(self, name: str, h: float = 1e-6, **overrides: float) -> float:
        """∂output/∂name by a central difference, for an input or a parameter."""
        here = self.forward(**overrides)[name]
        up = self.forward(**{**overrides, name: here + h})[self.output]
        down = self.forward(**{**overrides, name: here - h})[self.output]
        return (up - down) / (2 * h)


def number(value: float) -> str:
    """At most six digits, with a real minus sign and no negative zero."""
    return f"{value + 0.0:.6g}".replace("-", "−")


# ---- ready-made graphs ---------------------------------------------------------------------


def line_graph(w=1.0, b=1.0, x=3.0, y=7.0) -> Graph:
    """L = (w x + b − y)²: a line through one point, and how far it misses it."""
    g = Graph("A line and its squared error")
    g.parameter("w", w)
    g.input("x", x)
    g.parameter("b", b)
    g.input("y", y)
    g.op("u", "mul", "w", "x")
    g.op("v", "add", "u", "b")
    g.op("e", "sub", "v", "y")
    g.op("L", "square", "e")
    return g


def fan_out_graph(a=2.0, b=5.0) -> Graph:
    """q = a b + a: a is used twice."""
    g = Graph("A value used twice")
    g.input("a", a)
    g.input("b", b)
    g.op("p", "mul", "a", "b")
    g.op("q", "add", "p", "a")
    return g


def residual_graph(x=1.5, w1=0.8, b1=-0.2, w2=0.5, y=1.0) -> Graph:
    """L = (h + w2 h − y)² with h = relu(w1 x + b1): h reaches the loss by two paths."""
    g = Graph("A residual ReLU unit")
    g.input("x", x)
    g.parameter("w1", w1)
    g.parameter("b1", b1)
    g.parameter("w2", w2)
    g.input("y", y)
    g.op("u", "mul", "w1", "x")
    g.op("z", "add", "u", "b1")
    g.op("h", "relu", "z")
    g.op("v", "mul", "w2", "h")
    g.op("yhat", "add", "h", "v")
    g.op("r", "sub", "yhat", "y")
    g.op("L", "square", "r")
    return g


def neuron_graph(activation="sigmoid", x=2.0, w=0.5, b=-2.0, y=1.0) -> Graph:
    """L = ½ (s − y)² with s = activation(w x + b): one neuron."""
    g = Graph(f"One neuron with {activation}")
    g.parameter("w", w)
    g.input("x", x)
    g.parameter("b", b)
    g.input("y", y)
    g.op("m", "mul", "w", "x")
    g.op("z", "add", "m", "b")
    g.op("s", activation, "z")
    g.op("e", "sub", "s", "y")
    g.op("q", "square", "e")
    g.op("L", "half", "q")
    return g


# ---- forward mode --------------------------------------------------------------------------


@dataclass(frozen=True)
class Dual:
    """value + slope·ε with ε² = 0: a number that carries its derivative along."""

    value: float
    slope: float = 0.0

    def __add__(self, other):
        other = as_dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        other = as_dual(other)
        # (a + ȧε)(b + ḃε) = ab + (ȧb + aḃ)ε, since ε² = 0
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    def __neg__(self):
        return Dual(-self.value, -self.slope)

    def __sub__(self, other):
        return self + -as_dual(other)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return -self + other


def as_dual(value) -> Dual:
    """A plain number is a constant: its slope is 0."""
    return value if isinstance(value, Dual) else Dual(float(value))
