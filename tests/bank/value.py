"""Answers to `Value`."""

from . import edited

PLAIN = """\
import math

class Value:
    def __init__(self, data, parents=(), slopes=()):
        self.data = data
        self.grad = 0.0
        self.parents = parents
        self.slopes = slopes

    def __add__(self, other):
        other = wrap(other)
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __sub__(self, other):
        other = wrap(other)
        return Value(self.data - other.data, (self, other), (1.0, -1.0))

    def __mul__(self, other):
        other = wrap(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __truediv__(self, other):
        other = wrap(other)
        return Value(self.data / other.data, (self, other), (1 / other.data, -self.data / other.data**2))

    def __pow__(self, n):
        return Value(self.data**n, (self,), (n * self.data ** (n - 1),))

    def __neg__(self):
        return Value(-self.data, (self,), (-1.0,))

    def __radd__(self, other):
        return wrap(other) + self

    def __rsub__(self, other):
        return wrap(other) - self

    def __rmul__(self, other):
        return wrap(other) * self

    def __rtruediv__(self, other):
        return wrap(other) / self

    def relu(self):
        return Value(self.data if self.data > 0 else 0.0, (self,), (1.0 if self.data > 0 else 0.0,))

    def exp(self):
        e = math.exp(self.data)
        return Value(e, (self,), (e,))

    def log(self):
        return Value(math.log(self.data), (self,), (1 / self.data,))

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, (self,), (1 - t * t,))

    def backward(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                for parent in node.parents:
                    stack.append((parent, False))
        for node in order:
            if node.parents:
                node.grad = 0.0
        self.grad = 1.0
        for node in reversed(order):
            for parent, slope in zip(node.parents, node.slopes):
                parent.grad += slope * node.grad

def wrap(x):
    return x if isinstance(x, Value) else Value(x)
"""
HEAD = PLAIN[: PLAIN.index("    def backward")]
TAIL = PLAIN[PLAIN.index("def wrap") :]


def walk(body: str) -> str:
    """The plain answer with another backward."""
    lines = "\n".join("        " + line if line else "" for line in body.strip("\n").splitlines())
    return f"{HEAD}    def backward(self):\n{lines}\n\n{TAIL}"


KAHN = walk("""
uses, stack = {id(self): 0}, [self]
while stack:
    node = stack.pop()
    node.grad = 0.0 if node.parents else node.grad
    for parent in node.parents:
        if id(parent) not in uses:
            uses[id(parent)] = 0
            stack.append(parent)
        uses[id(parent)] += 1
self.grad, ready = 1.0, [self]
while ready:
    node = ready.pop()
    for parent, slope in zip(node.parents, node.slopes):
        parent.grad += slope * node.grad
        uses[id(parent)] -= 1
        if uses[id(parent)] == 0:
            ready.append(parent)
""")

TAPE = PLAIN.replace("class Value:\n", "class Value:\n    tape = []\n").replace(
    "        self.slopes = slopes\n",
    "        self.slopes = slopes\n        Value.tape.append(self)\n",
)
TAPE = (
    TAPE[: TAPE.index("        order, seen")]
    + """\
        for node in Value.tape:
            if node.parents:
                node.grad = 0.0
        self.grad = 1.0
        for node in reversed(Value.tape):
            if node.grad:
                for parent, slope in zip(node.parents, node.slopes):
                    parent.grad += slope * node.grad

"""
    + TAIL
)

CLOSURES = """\
import math

class Value:
    def __init__(self, data, children=()):
        self.data, self.grad, self.children = data, 0, children
        self.send = lambda: None

    def make(self, data, children, pairs):
        out = Value(data, children)
        def send():
            for child, slope in pairs:
                child.grad += slope * out.grad
        out.send = send
        return out

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return self.make(self.data + other.data, (self, other), ((self, 1), (other, 1)))

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return self.make(self.data * other.data, (self, other), ((self, other.data), (other, self.data)))

    def __pow__(self, n):
        return self.make(self.data ** n, (self,), ((self, n * self.data ** (n - 1)),))

    def relu(self):
        return self.make(max(0.0, self.data), (self,), ((self, self.data > 0),))

    def exp(self):
        return self.make(math.exp(self.data), (self,), ((self, math.exp(self.data)),))

    def log(self):
        return self.make(math.log(self.data), (self,), ((self, 1 / self.data),))

    def tanh(self):
        t = math.tanh(self.data)
        return self.make(t, (self,), ((self, 1 - t ** 2),))

    def __neg__(self): return self * -1
    def __sub__(self, other): return self + (-other)
    def __rsub__(self, other): return -self + other
    def __truediv__(self, other): return self * other ** -1 if isinstance(other, Value) else self * (1 / other)
    def __rtruediv__(self, other): return other * self ** -1
    __radd__ = __add__
    __rmul__ = __mul__

    def backward(self):
        order, seen, stack = [], set(), [(self, iter(self.children))]
        seen.add(id(self))
        while stack:
            node, rest = stack[-1]
            for child in rest:
                if id(child) not in seen:
                    seen.add(id(child))
                    stack.append((child, iter(child.children)))
                    break
            else:
                order.append(node)
                stack.pop()
        for node in order:
            if node.children:
                node.grad = 0
        self.grad = 1
        for node in reversed(order):
            node.send()
"""

RIGHT = {
    "plain": PLAIN,
    "Kahn's order": KAHN,
    "a tape": TAPE,
    "closures": CLOSURES,
    "slots": PLAIN.replace(
        "class Value:\n", "class Value:\n    __slots__ = ('data', 'grad', 'parents', 'slopes')\n"
    ),
    "numbered nodes": PLAIN.replace(
        "import math\n", "import heapq, itertools, math\nCOUNT = itertools.count()\n"
    )
    .replace(
        "        self.grad = 0.0\n", "        self.grad = 0.0\n        self.n = next(COUNT)\n", 1
    )
    .replace(
        PLAIN[PLAIN.index("        order, seen") : PLAIN.index("def wrap")],
        """\
        nodes, stack = {}, [self]
        while stack:
            node = stack.pop()
            if node.n not in nodes:
                nodes[node.n] = node
                stack.extend(node.parents)
                if node.parents:
                    node.grad = 0.0
        self.grad = 1.0
        for n in sorted(nodes, reverse=True):
            for parent, slope in zip(nodes[n].parents, nodes[n].slopes):
                parent.grad += slope * nodes[n].grad

""",
    ),
    "prints well": PLAIN.replace(
        "    def relu",
        "    def __repr__(self):\n        return f'Value({self.data})'\n\n    def relu",
    ),
    "all gradients reset": PLAIN.replace(
        "            if node.parents:\n                node.grad = 0.0\n",
        "            node.grad = 0.0\n",
    ),
}

RECURSIVE_SORT = walk("""
order, seen = [], set()
def visit(node):
    if id(node) not in seen:
        seen.add(id(node))
        for parent in node.parents:
            visit(parent)
        order.append(node)
visit(self)
for node in order:
    if node.parents:
        node.grad = 0.0
self.grad = 1.0
for node in reversed(order):
    for parent, slope in zip(node.parents, node.slopes):
        parent.grad += slope * node.grad
""")
PER_EDGE = walk("""
self.grad, stack = 1.0, [self]
def visit(node):
    for parent, slope in zip(node.parents, node.slopes):
        parent.grad += slope * node.grad
        visit(parent)
visit(self)
""")
PER_PATH = walk("""
self.grad = 1.0
def visit(node, upstream):
    for parent, slope in zip(node.parents, node.slopes):
        parent.grad += slope * upstream
        visit(parent, slope * upstream)
visit(self, 1.0)
""")
PRE_ORDER = walk("""
self.grad, seen = 1.0, set()
def visit(node):
    if id(node) in seen:
        return
    seen.add(id(node))
    for parent, slope in zip(node.parents, node.slopes):
        parent.grad += slope * node.grad
    for parent in node.parents:
        visit(parent)
visit(self)
""")
BREADTH_FIRST = walk("""
self.grad, seen, queue = 1.0, {id(self)}, [self]
for node in queue:
    for parent, slope in zip(node.parents, node.slopes):
        parent.grad += slope * node.grad
        if id(parent) not in seen:
            seen.add(id(parent))
            queue.append(parent)
""")
BLANK = "class Value:\n    raise_it = True\n    def __init__(self, data):\n        raise NotImplementedError()\n"
EQ = "    def __eq__(self, other):\n        return self.data == other.data\n\n    def __hash__(self):\n        return hash(self.data)\n\n    def relu"

WRONG = {
    "blank": (BLANK, "still blank"),
    "overwrites at fan-out": ([("parent.grad += slope", "parent.grad = slope")], "grad +="),
    "product's slopes swapped": (
        [("(other.data, self.data))", "(self.data, other.data))")],
        "yours are swapped",
    ),
    "sub's sign": ([("(1.0, -1.0)", "(1.0, 1.0)")], "in b is −1"),
    "div's sign": (
        [("-self.data / other.data**2", "self.data / other.data**2")],
        "the sign is missing",
    ),
    "tanh of the input": ([("1 - t * t", "1 - self.data**2")], "result y, not the input"),
    "exp's slope": ([("(e,))", "(self.data,))")], "exp(a) itself"),
    "log's slope": ([("(1 / self.data,)", "(math.log(self.data),)")], "log(a) is 1 / a"),
    "power without n": (
        [("(n * self.data ** (n - 1),)", "(self.data**n,)")],
        "the factor n is missing",
    ),
    "relu lets all pass": (
        [("(1.0 if self.data > 0 else 0.0,)", "(1.0,)")],
        "where the input is positive",
    ),
    "relu's slope at 0": (
        [("(1.0 if self.data > 0 else 0.0,)", "(1.0 if self.data >= 0 else 0.0,)")],
        "at exactly 0",
    ),
    "relu's slope is its input": (
        [("(1.0 if self.data > 0 else 0.0,)", "(max(self.data, 0.0),)")],
        "1 where the input is positive",
    ),
    "upstream left out": ([("slope * node.grad", "slope")], "multiply it by its own grad"),
    "no seed": ([("        self.grad = 1.0\n", "")], "grad set to 1 first"),
    "no reflected difference": ([("def __rsub__", "def rsub")], "Define __rsub__"),
    "no reflected product": ([("def __rmul__", "def rmul")], "Define __rmul__"),
    "reflected quotient upside down": (
        [("return wrap(other) / self", "return self / wrap(other)")],
        "has data",
    ),
    "reflected difference upside down": (
        [("return wrap(other) - self", "return self - wrap(other)")],
        "has data",
    ),
    "recursive sort": (RECURSIVE_SORT, "RecursionError"),
    "recursion per edge": (PER_EDGE, "recurses along every edge"),
    "recursion per path": (PER_PATH, "doubles with each level"),
    "pre-order": (PRE_ORDER, "when it is first met"),
    "breadth first": (BREADTH_FIRST, "level by level"),
    "visited by ==": (
        [
            ("    def relu", EQ),
            ("id(node) not in seen", "node not in seen"),
            ("seen.add(id(node))", "seen.add(node)"),
        ],
        "equal numbers are taken",
    ),
    "inner nodes keep their grad": (
        [("            if node.parents:\n                node.grad = 0.0\n", "            pass\n")],
        "keep their grad from the first walk",
    ),
    "order not reversed": ([("in reversed(order)", "in order")], "Every gradient is 0"),
    "only one step": (
        [
            (
                "                for parent in node.parents:\n                    stack.append((parent, False))\n",
                "",
            )
        ],
        "expected",
    ),
    "forward value off": ([("Value(-self.data,", "Value(self.data,")], "has data"),
    "no tanh": ([("def tanh", "def hyperbolic_tangent")], "AttributeError"),
    "grad is a list": (
        [
            ("self.grad = 0.0\n        self.parents", "self.grad = [0.0]\n        self.parents"),
            ("parent.grad += slope * node.grad", "parent.grad = [slope]"),
        ],
        "no number",
    ),
}

# It says which expression is off, by how much.
UNNAMED = ("only one step", "no tanh")


def source(name: str) -> str:
    """The code of the wrong answer `name`."""
    return edited(PLAIN, WRONG[name][0])
