"""Checks of the student's `Value`, and the names of its mistakes.

A check hands over a program, a list of operations, and gets numbers back: data and gradients. The oracle
runs the same program on complex numbers, one leaf nudged by ih (the complex step): it knows no
rule of differentiation, so it shares no mistake with the answer.
"""

import cmath

import numpy as np

from ._core import CheckFailed, behaviour, drive, fail

STUDENT_NAMES = ("Value",)
# Programs have at most 40 steps with values between 1/20 and 20: some hundred roundings of 1.1e-16.
TOLERANCE = 1e-10
WALK = "Lesson 06, section 6.3: why a topological order."
SLOPES = "Lesson 06, section 6.1: a number that remembers how it was made."
FAN_OUT = "Lesson 01, section 1.4: fan-out."

COMPLEX = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "neg": lambda a: -a,
    "relu": lambda a: a if a.real > 0 else 0j,
    "exp": cmath.exp,
    "log": cmath.log,
    "tanh": cmath.tanh,
}
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}


def evaluate(program, nudged: int | None = None) -> list[complex]:
    """The value of every step; step `nudged` gets 1e-30 i added."""
    values = []
    for number, (name, *arguments) in enumerate(program):
        if name == "leaf":
            value = complex(arguments[0])
        else:
            given = [values[a] if isinstance(a, int) else complex(a) for a in arguments]
            value = COMPLEX[name](*given)
        values.append(value + 1e-30j if number == nudged else value)
    return values


def truth(program) -> tuple[list[float], list[float]]:
    """(data of every step, derivative of the last step with respect to every step)."""
    data = [v.real for v in evaluate(program)]
    return data, [evaluate(program, n)[-1].imag / 1e-30 for n in range(len(program))]


def near(a, b) -> bool:
    return a is not None and abs(a - b) <= TOLERANCE * max(1.0, abs(a), abs(b))


def text(program, number: int | None = None) -> str:
    """A step as Python, with letters for leaves: "(a + b) * 2"."""
    number = len(program) - 1 if number is None else number
    name, *arguments = program[number]
    if name == "leaf":
        return "abcdefgh"[[i for i, s in enumerate(program) if s[0] == "leaf"].index(number)]
    given = [text(program, a) if isinstance(a, int) else f"{a:g}" for a in arguments]
    given = [f"({g})" if " " in g else g for g in given]
    if name in SIGNS:
        return f"{given[0]} {SIGNS[name]} {given[1]}"
    return f"-{given[0]}" if name == "neg" else f"{given[0]}.{name}()"


def leaves(program) -> list[int]:
    return [i for i, step in enumerate(program) if step[0] == "leaf"]


def at(program) -> str:
    """The leaves' values: "a = 2, b = 3"."""
    return ", ".join(f"{text(program, i)} = {program[i][1]:g}" for i in leaves(program))


def run(Value, program, budget: int = 0, times: int = 1):
    return drive("run_program", Value, program, budget, times)


def judge(Value, program, hint=None) -> None:
    """Compare data and the leaves' gradients with the truth."""
    data, grads = run(Value, program)
    right, slopes = truth(program)
    if not near(data[-1], right[-1]):
        came = "no number" if data[-1] is None else f"{data[-1]:.6g}"
        fail(f"{text(program)} with {at(program)} has data {came}, expected {right[-1]:.6g}.")
    wrong = [i for i in leaves(program) if not near(grads[i], slopes[i])]
    if not wrong:
        return
    if None in [grads[i] for i in leaves(program)]:
        fail("After backward() the grad of a leaf is no number: it should be a float.")
    if all(grads[i] == 0 for i in leaves(program)) and any(slopes[i] for i in wrong):
        fail(
            "Every gradient is 0 after backward(): is the output's own grad set to 1 first, and does "
            f"the walk reach the leaves? {WALK}"
        )
    says = [f"{text(program, i)}.grad is {grads[i]:.6g}, expected {slopes[i]:.6g}" for i in wrong]
    named = hint(program, grads, slopes) if hint else ""
    fail(f"For y = {text(program)} with {at(program)}: {'; '.join(says)}. {named}".strip())


# ---- the behaviours ------------------------------------------------------------------------


def leaf_pair(rng) -> tuple[float, float]:
    a, b = rng.uniform(0.5, 2, 2)
    return float(a), float(b + 2)


def operator_hint(program, grads, slopes) -> str:
    """What the wrong slope of a single operation equals, if it equals something known."""
    name = program[-1][0]
    a = program[0][1]
    b = program[1][1] if len(program) > 2 else 1.0
    known = {
        "mul": ((a, b), f"The slope of a * b in a is b, in b it is a: yours are swapped. {SLOPES}"),
        "sub": ((1.0, 1.0), f"The slope of a - b in b is −1. {SLOPES}"),
        "div": (
            (1 / b, a / b**2),
            f"The slope of a / b in b is −a / b²: the sign is missing. {SLOPES}",
        ),
        "tanh": (
            (1 - a * a,),
            f"The slope of tanh is 1 − y² with the result y, not the input. {SLOPES}",
        ),
        "exp": ((a,), f"The slope of exp(a) is exp(a) itself. {SLOPES}"),
        "log": ((np.log(abs(a)),), f"The slope of log(a) is 1 / a. {SLOPES}"),
        "pow": (
            (a**3,),
            f"The slope of a ** n is n · a ** (n − 1): the factor n is missing. {SLOPES}",
        ),
        "relu": (
            (max(a, 1.0) if a < 0 else a,),
            f"The slope of relu is 1 where the input is positive, else 0. {SLOPES}",
        ),
    }
    if name in known and len(known[name][0]) == len(leaves(program)):
        came = [grads[i] for i in leaves(program)]
        if all(near(g, k) for g, k in zip(came, known[name][0], strict=True)):
            return known[name][1]
    return f"The slope of {SIGNS.get(name, name)} is wrong, or the upstream gradient is left out. {SLOPES}"


@behaviour("each operator and its slopes", "Value")
def check_operators(Value, rng):
    """a + b, a - b, a * b, a / b, a ** n, -a, relu, exp, log, tanh, one at a time and scaled."""
    for _ in range(2):  # two unrelated points
        a, b = leaf_pair(rng)
        for name in ("add", "sub", "mul", "div"):
            judge(Value, [("leaf", a), ("leaf", b), (name, 0, 1)], operator_hint)
        for step in (("pow", 0, 3.0), ("pow", 0, -1.0), ("pow", 0, 0.5)):
            judge(Value, [("leaf", a), step], operator_hint if step[2] == 3.0 else None)
        for name in ("neg", "relu", "exp", "log", "tanh"):
            judge(Value, [("leaf", a), (name, 0)], operator_hint)
        judge(Value, [("leaf", -a), ("relu", 0)], operator_hint)
    judge(
        Value,
        [("leaf", 0.0), ("relu", 0)],
        lambda *_: "The slope of relu at exactly 0 counts as 0.",
    )
    for name in ("relu", "exp", "log", "tanh", "neg"):
        upstream_counts(Value, [("leaf", a), (name, 0), ("mul", 1, 3.0)], name)
    for name in ("add", "sub", "mul", "div"):
        upstream_counts(Value, [("leaf", a), ("leaf", b), (name, 0, 1), ("mul", 2, 3.0)], name)
    upstream_counts(Value, [("leaf", a), ("pow", 0, 2.0), ("mul", 1, 3.0)], "pow")


def upstream_counts(Value, program, name: str) -> None:
    def hint(*_):
        return f"{SIGNS.get(name, name)} sends back its local slope alone: multiply it by its own grad. {SLOPES}"

    judge(Value, program, hint)


@behaviour("plain numbers on either side", "Value")
def check_reflected(Value, rng):
    """a + 2, 2 + a, a - 2, 2 - a, a * 2, 2 * a, a / 2, 2 / a."""
    a, number = float(rng.uniform(0.5, 2)), float(rng.uniform(2, 4))
    for name in ("add", "sub", "mul", "div"):
        for arguments in ((0, number), (number, 0)):
            program = [("leaf", a), (name, *arguments), ("mul", 1, 2.0)]
            try:
                judge(Value, program)
            except CheckFailed as failed:
                if "unsupported operand" in str(failed):
                    method = f"__r{name.replace('div', 'truediv')}__"
                    fail(
                        f"{text(program[:2])} fails: {failed}. Define {method}, for a plain number on the left."
                    )
                raise


def fan_out_hint(program, grads, slopes) -> str:
    b = program[1][1]
    if grads[0] in (1.0, b):
        return (
            f"Only one of the two uses of a arrived: {grads[0]:g}. A fan-out adds: write "
            f"`grad +=`, not `grad =`. {FAN_OUT}"
        )
    return FAN_OUT


@behaviour("fan-out: a value used twice", "Value")
def check_fan_out(Value, rng):
    """q = a b + a, a + a, a a, and a longer one: contributions add."""
    for a, b in ((2.0, 5.0), leaf_pair(rng)):
        judge(Value, [("leaf", a), ("leaf", b), ("mul", 0, 1), ("add", 2, 0)], fan_out_hint)
        judge(
            Value,
            [("leaf", a), ("add", 0, 0)],
            lambda *_: f"a + a uses a twice: both contributions add. {FAN_OUT}",
        )
        judge(
            Value,
            [("leaf", a), ("mul", 0, 0)],
            lambda *_: f"a * a uses a twice: both contributions add. {FAN_OUT}",
        )


@behaviour("the residual ReLU graph of lesson 01", "Value")
def check_residual(Value, rng):
    """x, w1, b1, w2, y as in lesson 01, then with w2 = −1 and with other numbers."""
    for x, w1, b1, w2, y in (
        (1.5, 0.8, -0.2, 0.5, 1.0),
        (1.5, 0.8, -0.2, -1.0, 1.0),
        tuple(float(v) for v in rng.uniform(0.5, 2, 5)),
    ):
        program = [("leaf", v) for v in (x, w1, b1, w2, y)]
        program += [("mul", 1, 0), ("add", 5, 2), ("relu", 6), ("mul", 3, 7), ("add", 7, 8)]
        judge(Value, [*program, ("sub", 9, 4), ("pow", 10, 2.0)])


def random_program(rng) -> list[tuple]:
    """Some leaves and some 20 steps on any earlier values, which stay between 1/20 and 20."""
    program = [("leaf", float(v)) for v in rng.uniform(0.5, 2, rng.integers(2, 5))]
    while len(program) < 24:
        name = str(
            rng.choice(["add", "sub", "mul", "div", "relu", "exp", "log", "tanh", "neg", "pow"])
        )
        first, second = (int(i) for i in rng.integers(0, len(program), 2))
        if name == "pow":
            step = (name, first, float(rng.integers(2, 4)))
        elif name in SIGNS:
            step = (name, first, second)
        else:
            step = (name, first)
        argument = evaluate(program)[first].real
        if name == "log" and argument < 0.05 or name == "exp" and argument > 3:
            continue
        if 0.05 <= abs(evaluate([*program, step])[-1]) <= 20:
            program.append(step)
    # The last value need not depend on all others: add them up.
    for i in range(len(leaves(program)), 24):
        program.append(("add", len(program) - 1, i))
    return program


@behaviour("random expression graphs", "Value")
def check_random_graphs(Value, rng):
    """Values used several times, in any order, with every operation."""
    for _ in range(4):
        program = random_program(rng)
        data, grads = run(Value, program)
        right, slopes = truth(program)
        for i in leaves(program):
            if not near(data[-1], right[-1]) or not near(grads[i], slopes[i]):
                fail(
                    f"In a random graph of {len(program)} nodes the gradient of leaf {i + 1} is "
                    f"{grads[i]}, expected {slopes[i]:.6g}. Each operation alone and fan-out are "
                    f"tried by the checks above: mend those first. Then look at the order of the walk. {WALK}"
                )


# a = 2, b = 3: y = (c + d) + (c d) with c = a + b, d = a b. Shared nodes below shared nodes.
DIAMOND = [("add", 0, 1), ("mul", 0, 1), ("add", 2, 3), ("mul", 2, 3), ("add", 4, 5)]


def diamond(a: float, b: float) -> list[tuple]:
    return [("leaf", a), ("leaf", b), *DIAMOND]


def per_edge(a, b):
    """Recursing along every edge with adjoints that have accumulated so far."""
    adjoint = [0.0] * 7
    program, values = diamond(a, b), [v.real for v in evaluate(diamond(a, b))]

    def visit(n):
        name, *arguments = program[n]
        if name == "leaf":
            return
        x, y = arguments
        slopes = (1.0, 1.0) if name == "add" else (values[y], values[x])
        for parent, slope in zip(arguments, slopes, strict=True):
            adjoint[parent] += slope * adjoint[n]
            visit(parent)

    adjoint[6] = 1.0
    visit(6)
    return adjoint[0], adjoint[1]


def pre_order(a, b):
    """Each node once, when it is first met going down."""
    adjoint, seen = [0.0] * 7, set()
    program, values = diamond(a, b), [v.real for v in evaluate(diamond(a, b))]

    def visit(n):
        if n in seen or program[n][0] == "leaf":
            return
        seen.add(n)
        name, x, y = program[n]
        slopes = (1.0, 1.0) if name == "add" else (values[y], values[x])
        for parent, slope in zip((x, y), slopes, strict=True):
            adjoint[parent] += slope * adjoint[n]
        visit(x)
        visit(y)

    adjoint[6] = 1.0
    visit(6)
    return adjoint[0], adjoint[1]


def breadth_first(Value, rng) -> None:
    """y = h + h/2 with h = a b: h lies one step from y, and two."""
    came = []
    for a, b in (leaf_pair(rng), leaf_pair(rng)):
        program = [("leaf", a), ("leaf", b), ("mul", 0, 1), ("mul", 2, 0.5), ("add", 2, 3)]
        _, grads = run(Value, program)
        came.append((grads[0], grads[1], a, b))
    if all(near(da, 1.5 * b) and near(db, 1.5 * a) for da, db, a, b in came):
        return
    da, _, _, b = came[0]
    says = f"For h = a * b, y = h + h * 0.5 with b = {b:.4g}, a.grad is {da:.6g}, expected {1.5 * b:.6g}. "
    if all(near(da, b) and near(db, a) for da, db, a, b in came):
        says += (
            "It looks as if nodes are visited level by level (breadth first), h before h * 0.5: "
        )
    fail(f"{says}Go in reverse topological order: a node after all nodes that use it. {WALK}")


@behaviour("shared nodes below shared nodes", "Value")
def check_order(Value, rng):
    """A graph on which every walk that is not in reverse topological order is wrong or endless."""
    came, wrong = [], False
    points = ((2.0, 3.0), leaf_pair(rng))
    for a, b in points:
        _, grads = run(Value, diamond(a, b))
        _, slopes = truth(diamond(a, b))
        came.append((grads[0], grads[1]))
        wrong |= not (near(grads[0], slopes[0]) and near(grads[1], slopes[1]))
    if wrong:
        says = (
            "For c = a + b, d = a * b, y = (c + d) + c * d with a = 2, b = 3 the gradients are "
            f"{came[0]}, expected (25.0, 19.0). "
        )
        for guess, why in (
            (
                per_edge,
                "backward recurses along every edge and sends on sums that are not complete",
            ),
            (
                pre_order,
                "each node is visited when it is first met, before its adjoint is complete",
            ),
        ):
            if all(
                near(g[0], k[0]) and near(g[1], k[1])
                for g, k in zip(came, (guess(*p) for p in points), strict=True)
            ):
                fail(f"{says}It looks as if {why}: go in reverse topological order. {WALK}")
        fail(f"{says}Go in reverse topological order: a node after all nodes that use it. {WALK}")
    breadth_first(Value, rng)
    doubling = [("leaf", 1.0), *(("add", i, i) for i in range(24))]
    try:
        _, grads = run(Value, doubling, budget=20_000)
    except CheckFailed as failed:
        if "TooManyCalls" in str(failed):
            fail(
                "For 24 nested y = y + y the walk made more than 20,000 calls: it takes every path "
                f"from the output, and their number doubles with each level. Visit each node once. {WALK}"
            )
        raise
    if not near(grads[0], 2.0**24):
        fail(
            f"For 24 nested y = y + y the gradient is {grads[0]}, expected {2.0**24:g} = 2²⁴. {WALK}"
        )


@behaviour("a chain of 100,000 nodes", "Value")
def check_deep(Value, rng):
    """Python stops recursion near 1,000 levels: the walk needs a loop and a list of its own."""
    try:
        data, grad = drive("chain", Value, 100_000)
    except CheckFailed as failed:
        if "RecursionError" in str(failed):
            fail(
                "A chain of 100,000 nodes ends in a RecursionError: Python stops near 1,000 nested "
                f"calls. Keep the nodes still to visit in a list of your own. {WALK}"
            )
        raise
    if not near(data, 25_002.0) or not near(grad, 1.0):
        fail(f"A chain of 100,000 nodes gives data {data}, grad {grad}: expected 25002 and 1.")


@behaviour("a value used 10,000 times", "Value")
def check_wide(Value, rng):
    """Ten thousand contributions to one adjoint."""
    data, grad = drive("fan", Value, 10_000)
    if not near(data, 60_000.0) or not near(grad, 20_000.0):
        fail(
            f"A value used 10,000 times has grad {grad}, expected 20000: all contributions add. {FAN_OUT}"
        )


@behaviour("backward twice, the leaves zeroed between", "Value")
def check_twice(Value, rng):
    """The second walk gives what the first gave: adjoints of inner nodes start anew."""
    a, b = leaf_pair(rng)
    program = [("leaf", a), ("leaf", b), ("mul", 0, 1), ("add", 2, 0), ("tanh", 3), ("mul", 4, 2)]
    _, once = run(Value, program)
    _, twice = run(Value, program, times=2)
    _, slopes = truth(program)
    if not (near(once[0], slopes[0]) and near(once[1], slopes[1])):
        fail("The first backward() is wrong already: mend the checks above first.")
    if not (near(twice[0], slopes[0]) and near(twice[1], slopes[1])):
        fail(
            f"The second backward() gives {twice[0]:.6g}, the first gave {once[0]:.6g}, with the leaves' grad set to 0 "
            f"in between. Inner nodes keep their grad from the first walk: set them to 0 when a walk starts. {WALK}"
        )


@behaviour("equal numbers in different nodes", "Value")
def check_equal_data(Value, rng):
    """Two nodes that hold the same number are two nodes."""
    x = float(rng.uniform(0.5, 2))
    program = [("leaf", x), ("leaf", x), ("mul", 0, 2.0), ("mul", 1, 2.0), ("mul", 2, 3)]
    _, grads = run(Value, program)
    _, slopes = truth(program)
    if not (near(grads[0], slopes[0]) and near(grads[1], slopes[1])):
        fail(
            f"Two leaves that both hold {x:.4g} get the gradients {grads[0]} and {grads[1]}, expected {slopes[0]:.6g} "
            "twice. If visited nodes are found by == or by their data, equal numbers are taken for the same node: "
            f"compare with `is`, or put id(node) into a set. {WALK}"
        )


__all__ = [name for name in globals() if name.startswith("check_")]
