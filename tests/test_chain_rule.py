"""chain_rule: graphs, their tables and dual numbers, against sympy, nudging and PyTorch; lesson 01, curriculum rows 1.*."""

import math
import random
import re

import build
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from backprop_course.chain_rule import (
    OPS,
    Dual,
    Graph,
    fan_out_graph,
    line_graph,
    neuron_graph,
    number,
    residual_graph,
    sigmoid,
)
from backprop_course.checks.turns import check_line, check_neuron
from backprop_course.figures.chain_rule import bow, graph_picture, jacobian_passes, layout

from .formulas import displayed

LESSON = "01_chain_rule"
numbers = st.floats(0.2, 3)
seeds = st.integers(0, 2**31)


def adjoints_in_table(table: str) -> list[tuple[str, str]]:
    """(sent, to) of each row of a printed table."""
    return re.findall(r"(\S+) to (\S+)$", table, re.M)


# ---- the numbers of the lesson -------------------------------------------------------------


def test_the_line_graph_has_the_numbers_of_row_1_2():
    g = line_graph()
    values, adjoints = g.forward(), g.backward()
    assert {n: values[n] for n in "uveL"} == {"u": 3, "v": 4, "e": -3, "L": 9}
    right = {"e": -6, "v": -6, "y": 6, "u": -6, "b": -6, "w": -18, "x": -6}
    assert {n: adjoints[n] for n in right} == right


def test_the_table_shows_node_slope_upstream_and_what_is_sent():
    rows = line_graph().table().splitlines()
    assert rows[0].split("  ")[0] == "node" and len(rows) == 8
    assert " ".join(rows[6].split()) == "u = w · x ∂u/∂w = x = 3 −6 −18 to w"
    sent = [
        ("−6", "e"),
        ("−6", "v"),
        ("6", "y"),
        ("−6", "u"),
        ("−6", "b"),
        ("−18", "w"),
        ("−6", "x"),
    ]
    assert adjoints_in_table("\n".join(rows)) == sent


def test_a_value_used_twice_adds_up_as_in_row_1_4():
    g = fan_out_graph()
    assert g.forward()["q"] == 12
    assert g.backward()["a"] == 6
    assert [c.sent for c in g.contributions() if c.parent == "a"] == [1, 5]
    assert abs(g.difference("a") - 6) < 5e-9  # row 1.4: "to ~1e-9"


def test_the_residual_graph_has_the_numbers_of_row_1_5():
    g = residual_graph()
    values, adjoints = g.forward(), g.backward()
    right = {"u": 1.2, "z": 1, "h": 1, "v": 0.5, "yhat": 1.5, "r": 0.5, "L": 0.25}
    assert {n: round(values[n], 12) for n in right} == right
    right = {
        "r": 1,
        "yhat": 1,
        "v": 1,
        "w2": 1,
        "h": 1.5,
        "z": 1.5,
        "b1": 1.5,
        "u": 1.5,
        "w1": 2.25,
    }
    assert {n: round(adjoints[n], 12) for n in right} == right


@given(numbers, numbers)
def test_with_w2_minus_one_the_adjoint_of_h_is_0_for_every_input(x, y):
    assert residual_graph().backward(w2=-1.0, x=x, y=y)["h"] == 0  # row 1.5


def test_the_worked_neuron_has_the_numbers_of_row_1_6():
    adjoints = neuron_graph("sigmoid", x=2, w=0.5, b=-1, y=1).backward()
    assert [adjoints[n] for n in "szwb"] == [-0.5, -0.125, -0.25, -0.125]
    assert neuron_graph("sigmoid").forward()["z"] == -1
    assert round(sigmoid(-1), 4) == 0.2689


def test_a_dead_relu_sends_exactly_nothing_back():
    adjoints = neuron_graph("relu").backward()  # row 1.6
    assert adjoints["s"] == -1
    assert all(adjoints[name] == 0 for name in "zmwxb")


def test_visiting_h_before_its_second_contribution_spoils_what_lies_below_as_section_1_7_says():
    g, adjoint = residual_graph(), dict.fromkeys(residual_graph().nodes, 0.0) | {"L": 1.0}
    for node in ("L", "r", "yhat", "h", "v", "z", "u"):
        for c in (c for c in g.contributions() if c.node == node):
            adjoint[c.parent] += adjoint[node] * c.local
    assert [round(adjoint[n], 12) for n in ("h", "z", "w1")] == [1.5, 1, 1.5]


def test_dual_numbers_give_the_slopes_of_row_1_8():
    def walk(w, b):
        u = w * 3
        v = u + b
        e = v - 7
        return [z.slope for z in (u, v, e, e * e)]

    assert walk(Dual(1, 1), Dual(1)) == [3, 3, 3, -18]
    assert walk(Dual(1), Dual(1, 1))[-1] == -6
    assert 7 - Dual(3, 2) == Dual(4, -2)


def test_the_language_models_have_the_parameters_that_row_1_8_counts():
    vocabulary, width, hidden, kv = 128_256, 4096, 14_336, 1024
    block = 2 * width**2 + 2 * width * kv + 3 * width * hidden + 2 * width
    assert 2 * vocabulary * width + 32 * block + width == 8_030_261_248
    assert displayed(LESSON, "| the parameters of Llama 3.1 8B | 8,030,261,248 | 1 |")
    width = 768  # GPT-2 small: 12 blocks, 50,257 tokens, 1,024 positions, one table for both ends
    block = 12 * width**2 + 13 * width
    assert round((50_257 + 1024) * width + 12 * block + 2 * width, -6) == 124_000_000


# ---- any graph -----------------------------------------------------------------------------

z = sympy.Symbol("z", real=True)
a, b, y = sympy.symbols("a b y", real=True)
NORMAL = (1 + sympy.erf(a / sympy.sqrt(2))) / 2
SYMBOLIC = {
    "add": a + b,
    "sub": a - b,
    "mul": a * b,
    "div": a / b,
    "neg": -a,
    "half": a / 2,
    "square": a**2,
    "relu": sympy.Max(a, 0),
    "sigmoid": 1 / (1 + sympy.exp(-a)),
    "tanh": sympy.tanh(a),
    "exp": sympy.exp(a),
    "log": sympy.log(a),
    "gelu": a * NORMAL,
}


def written(text: str, point: dict[str, float]) -> float:
    """The number that a slope, as the table writes it, stands for at a point."""
    code = text.format("a", "b", y="y")
    for sign, python in (
        ("−", "-"),
        ("²", "**2"),
        ("½", "0.5"),
        ("2a", "2*a"),
        ("y(", "y*("),
        (" φ", "*φ"),
    ):
        code = code.replace(sign, python)
    density = sympy.diff(NORMAL, a)
    functions = {
        "Φ": lambda x: float(NORMAL.subs(a, x)),
        "φ": lambda x: float(density.subs(a, x)),
    }
    return float(eval(code.strip("[]"), functions | point))


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("at", [(0.7, 1.3), (2.5, -0.6), (0.2, 2.9)])
def test_each_operations_slopes_computed_and_written_are_those_of_sympy(name, at):
    inputs = at[: len(OPS[name].slope_texts)]
    came = OPS[name].value(*inputs)
    point = {"a": at[0], "b": at[1], "y": came}
    assert math.isclose(came, float(SYMBOLIC[name].subs({a: at[0], b: at[1]})), rel_tol=1e-12)
    for slope, text, symbol in zip(
        OPS[name].slopes(came, *inputs), OPS[name].slope_texts, (a, b), strict=False
    ):
        right = float(sympy.diff(SYMBOLIC[name], symbol).subs({a: at[0], b: at[1]}))
        assert math.isclose(slope, right, rel_tol=1e-12)
        assert math.isclose(written(text, point), right, rel_tol=1e-12)


def test_a_relu_is_flat_at_and_below_its_kink():
    for at in (0.0, -0.0, -2.0):
        assert OPS["relu"].slopes(0.0, at) == (0.0,)


SMOOTH = ("add", "sub", "mul", "neg", "half", "square", "sigmoid", "tanh", "gelu")


def random_graph(seed: int, n_ops: int = 12) -> Graph:
    """Three leaves, then operations on nodes drawn at random: many values are used more than once."""
    rng = random.Random(seed)
    g = Graph("random")
    for name in ("a", "b", "c"):
        g.input(name, rng.uniform(-1, 1))
    for i in range(n_ops):
        op = rng.choice(SMOOTH)
        # tanh bounds the values, and with them the rounding
        parents = rng.choices(list(g.nodes), k=len(OPS[op].slope_texts))
        g.op(f"t{i}", "tanh", g.op(f"n{i}", op, *parents))
    total = "a"
    for i, name in enumerate(["b", "c", *(f"t{i}" for i in range(n_ops))]):
        total = g.op(f"s{i}", "add", total, name)  # all nodes reach the output
    return g


@given(seeds)
def test_backward_on_random_graphs_agrees_with_nudging(seed):
    g = random_graph(seed)
    adjoints = g.backward()
    for leaf in "abc":
        assert math.isclose(adjoints[leaf], g.difference(leaf, h=1e-5), rel_tol=1e-6, abs_tol=1e-6)


@given(seeds)
def test_backward_on_random_graphs_is_pytorchs(seed):
    torch = pytest.importorskip("torch")
    run = {
        "gelu": torch.nn.functional.gelu,
        "neg": torch.neg,
        "square": torch.square,
        "half": lambda t: t / 2,
    }
    g = random_graph(seed)
    values = {
        n: torch.tensor(g.nodes[n].value, dtype=torch.float64, requires_grad=True) for n in "abc"
    }
    for node in (n for n in g.nodes.values() if n.op):
        f = run.get(node.op) or getattr(torch, node.op)
        values[node.name] = f(*(values[p] for p in node.parents))
    values[g.output].backward()
    adjoints = g.backward()
    for leaf in "abc":
        assert math.isclose(adjoints[leaf], values[leaf].grad.item(), rel_tol=1e-11, abs_tol=1e-13)


@given(seeds)
def test_forward_mode_agrees_with_reverse_mode(seed):
    rng = random.Random(seed)
    g, names = Graph("sums and products"), ["a", "b"]
    for name in names:
        g.input(name, rng.uniform(-1, 1))
    for i in range(8):
        names.append(g.op(f"n{i}", rng.choice(["add", "sub", "mul"]), *rng.choices(names, k=2)))
    adjoints = g.backward()
    for leaf in "ab":
        duals = {n: Dual(g.nodes[n].value, float(n == leaf)) for n in "ab"}
        for node in (n for n in g.nodes.values() if n.op):
            first, second = (duals[p] for p in node.parents)
            run = {"add": first + second, "sub": first - second, "mul": first * second}
            duals[node.name] = run[node.op]
        assert math.isclose(duals[g.output].slope, adjoints[leaf], rel_tol=1e-9, abs_tol=1e-12)


@given(numbers, numbers, numbers, numbers)
def test_every_ready_made_graph_agrees_with_nudging(p, q, r, s):
    graphs = [line_graph(p, q, r, s), fan_out_graph(p, q), residual_graph(p, q, r, s, 1.0)]
    graphs += [neuron_graph(kind, p, q, r, s) for kind in ("sigmoid", "tanh", "gelu")]
    for g in graphs:
        adjoints = g.backward()
        for node in (n for n in g.nodes.values() if not n.op):
            nudged = g.difference(node.name, h=1e-5)
            assert math.isclose(adjoints[node.name], nudged, rel_tol=1e-5, abs_tol=1e-6)


def test_an_operation_on_the_same_value_twice_sends_two_contributions():
    g = Graph("a − a")
    g.op("y", "sub", g.input("a", 3.0), "a")
    assert g.backward()["a"] == 0
    assert "∂y/∂a = 1 " in g.table() and "∂y/∂a = −1 " in g.table()


def test_a_graph_may_be_deeper_than_pythons_recursion_limit():
    g = Graph("deep")
    name = g.input("x", 1.0)
    for i in range(20_000):
        name = g.op(f"n{i}", "neg", name)
    assert g.backward()["x"] == 1


def test_overrides_replace_leaf_values_and_leave_the_graph_as_it_was():
    g = line_graph()
    assert g.backward(x=5.0)["w"] == -10  # v = 6, e = −1, and −2 · 5
    assert g.backward()["w"] == -18


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda g: g.op("y", "sine", "x"), "unknown operation 'sine'"),
        (lambda g: g.op("y", "mul", "x"), "mul takes 2 inputs, got 1"),
        (lambda g: g.op("y", "neg", "z"), "not in the graph yet"),
        (lambda g: g.input("x", 2.0), "in the graph already"),
        (lambda g: g.forward(z=1.0), "cannot set 'z'"),
        (lambda g: Graph("empty").output, "is empty"),
    ],
)
def test_a_graph_that_cannot_be_is_refused_with_what_came_and_what_to_do(act, words):
    g = Graph("small")
    g.input("x", 1.0)
    with pytest.raises(ValueError, match=words):
        act(g)


def test_the_sigmoid_does_not_overflow():
    assert sigmoid(1000) == 1 and sigmoid(-1000) == 0


def test_numbers_are_written_with_six_digits_a_minus_sign_and_no_negative_zero():
    assert [number(v) for v in (-18.0, -0.0, 1 / 3, 2.25)] == ["−18", "0", "0.333333", "2.25"]


# ---- displayed formulas, each compared with sympy or the library ------------------------------

w, x, u, v, e, h, w2 = sympy.symbols("w x u v e h w2", real=True)
LINE = {w: 1, b: 1, x: 3, y: 7}
STEPS = {"u": w * x, "v": u + b, "e": v - y, "L": e**2}
LOSS = (w * x + b - y) ** 2


def test_the_displayed_steps_of_the_line_are_the_library_graphs():
    assert displayed(LESSON, r"u = w x, \qquad v = u + b, \qquad e = v - y, \qquad L = e^2.")
    g = line_graph()
    assert [g.formula(n) for n in "uveL"] == ["u = w · x", "v = u + b", "e = v − y", "L = e²"]


@pytest.mark.parametrize(
    ("top", "below", "slope", "sent", "printed"),
    [
        (
            "L",
            "e",
            2 * e,
            -6,
            r"\partial L/\partial e = 2e = -6$ | $\bar L = 1$ | $\bar e = 1 \cdot (-6) = -6",
        ),
        ("e", "v", 1, -6, r"\partial e/\partial v = 1"),
        ("e", "y", -1, 6, r"\partial e/\partial y = -1$ | $-6$ | $\bar v = -6$, $\bar y = 6"),
        ("v", "u", 1, -6, r"\partial v/\partial u = 1"),
        ("v", "b", 1, -6, r"\partial v/\partial b = 1$ | $-6$ | $\bar u = -6$, $\bar b = -6"),
        ("u", "w", x, -18, r"\partial u/\partial w = x = 3"),
        ("u", "x", w, -6, r"\partial u/\partial x = w = 1$ | $-6$ | $\bar w = -18$, $\bar x = -6"),
    ],
)
def test_the_displayed_table_of_the_line_is_right_row_by_row(top, below, slope, sent, printed):
    assert displayed(LESSON, printed)
    assert sympy.diff(STEPS[top], sympy.Symbol(below, real=True)) == slope
    assert line_graph().backward()[below] == sent


def test_the_displayed_partial_products_end_in_the_derivative():
    assert displayed(LESSON, r"2e \cdot 1 \cdot 1 \cdot x = -18")
    assert sympy.diff(LOSS, w).equals(2 * (w * x + b - y) * x)
    assert sympy.diff(LOSS, w).subs(LINE) == -18


def test_the_displayed_sum_at_the_fan_out_is_the_derivative():
    assert displayed(LESSON, r"= b\,\delta + 1\,\delta = (5 + 1)\,\delta.")
    assert sympy.diff(a * b + a, a) == b + 1


def test_the_displayed_adjoint_of_h_is_the_derivative():
    assert displayed(LESSON, r"\bar h = \bar{\hat y} + \bar v\, w_2 = \bar{\hat y}\,(1 + w_2)")
    yhat = h + w2 * h
    assert sympy.diff((yhat - y) ** 2, h).equals(2 * (yhat - y) * (1 + w2))


def test_the_sigmoids_displayed_slope_is_its_derivative():
    steps = (
        r"\sigma'(z) = \frac{e^{-z}}{(1 + e^{-z})^2}"
        r" = \frac{1}{1 + e^{-z}} \cdot \frac{e^{-z}}{1 + e^{-z}} = \sigma(z)\,(1 - \sigma(z))."
    )
    assert displayed(LESSON, steps)
    E = sympy.exp(-z)
    s = 1 / (1 + E)
    for right in (E / (1 + E) ** 2, 1 / (1 + E) * (E / (1 + E)), s * (1 - s)):
        assert sympy.simplify(sympy.diff(s, z) - right) == 0
    assert displayed(LESSON, r"1 - \sigma(z) = \frac{e^{-z}}{1 + e^{-z}}")
    assert sympy.simplify(1 - s - E / (1 + E)) == 0


def test_the_displayed_backward_walk_of_the_neuron_is_right():
    walk = r"\bar s = s - y, \qquad \bar z = \bar s\, s\,(1 - s), \qquad \bar w = \bar z\, x, \qquad \bar b = \bar z."
    assert displayed(LESSON, walk)
    s = 1 / (1 + sympy.exp(-(w * x + b)))
    loss = (s - y) ** 2 / 2
    dz = (s - y) * s * (1 - s)
    assert sympy.simplify(sympy.diff(loss, w) - dz * x) == 0
    assert sympy.simplify(sympy.diff(loss, b) - dz) == 0


def test_the_displayed_forward_slopes_are_those_of_the_line():
    slopes = r"\dot u = x\,\dot w = 3, \qquad \dot v = \dot u = 3, \qquad \dot e = \dot v = 3, \qquad \dot L = 2e\,\dot e = -6 \cdot 3 = -18."
    assert displayed(LESSON, slopes)
    for step, right in ((w * x, 3), (w * x + b, 3), (w * x + b - y, 3), (LOSS, -18)):
        assert sympy.diff(step, w).subs(LINE) == right


def test_the_displayed_product_of_dual_numbers_is_the_product_rule():
    product = r"(a + \dot a\,\varepsilon)(b + \dot b\,\varepsilon) = ab + (\dot a\, b + a\, \dot b)\,\varepsilon."
    assert displayed(LESSON, product)
    da, db, eps = sympy.symbols("da db eps")
    expanded = sympy.expand((a + da * eps) * (b + db * eps)).coeff(eps, 1)
    assert expanded.equals(da * b + a * db)
    assert Dual(2, 3) * Dual(5, 7) == Dual(10, 3 * 5 + 2 * 7)


def test_the_displayed_product_of_jacobians_is_in_the_right_order():
    assert displayed(LESSON, r"J = J_k\, J_{k-1} \cdots J_2\, J_1")
    p, q = sympy.symbols("p q")
    inner = sympy.Matrix([p * q, p + q, p**2])  # R² → R³
    outer = sympy.Matrix([a * b, sympy.sin(z)])  # R³ → R²
    names = dict(zip((a, b, z), inner, strict=True))
    whole = outer.subs(names).jacobian([p, q])
    product = outer.jacobian([a, b, z]).subs(names) * inner.jacobian([p, q])
    assert sympy.simplify(whole - product) == sympy.zeros(2, 2)


def test_links_are_to_dois_arxiv_and_notebooks_of_the_course():
    cells = build.read(next(p for p in build.LESSONS if p.stem == LESSON)).cells
    links = re.findall(
        r"\[([^\]]+)\]\(((?:[^()]|\([^)]*\))+)\)",
        "\n".join(c.source for c in cells if c.cell_type == "markdown"),
    )
    assert len(links) >= 5
    for text, link in links:
        name = text.removeprefix("doi:").removeprefix("arXiv:")
        assert (
            link in (f"https://doi.org/{name}", f"https://arxiv.org/abs/{name}")
            or (build.HERE / "lessons" / link).with_suffix(".py").exists()
        )


# ---- your turn -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ((4, 4, 4, 4, 16), "✓ the line graph"),
        ((np.int64(4), 4.0, 4, 4, np.float64(16)), "✓ the line graph"),
        ((4, ..., ..., ..., ...), "not answered yet"),
        ((2, 2, 2, 2, 8), "the slope of e² is 2e"),
        ((-4, -4, -4, -4, -16), "de has the wrong sign"),
        ((4, 4, 4, 4, 8), "that is dx"),
        ((4, 4, 4, 0, 16), "passes the whole adjoint on"),
        ((4, 4, 4, 4, float("nan")), "✗ "),
        ((4, 4, 4, 4, "16"), "dw is a str, expected a number"),
    ],
)
def test_the_line_check_names_the_mistake(answers, words, capsys):
    check_line(*answers)
    assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ((-0.1437, -0.2875, 0), "✓ one neuron"),
        ((..., ..., ...), "not answered yet"),
        ((-0.7311, -1.4621, 0), "that is ds"),
        ((0.1966, 0.3932, 0), "that is the slope alone"),
        ((-0.2875, -0.575, 0), "the ½ in the loss"),
        ((-0.1437, -0.0719, 0), "that is dx"),
        ((-0.1437, -0.2875, -2), "the ReLU is flat"),
        ((-0.1437, -0.2875, -0.2875), "the ReLU is flat"),
    ],
)
def test_the_neuron_check_names_the_mistake(answers, words, capsys):
    check_neuron(*answers)
    assert words in capsys.readouterr().out


# ---- pictures ------------------------------------------------------------------------------

GRAPHS = (line_graph(), fan_out_graph(), residual_graph(), neuron_graph())


def test_no_two_nodes_of_a_picture_share_a_place():
    for g in GRAPHS:
        places = layout(g)
        assert len(set(places.values())) == len(places)
        for c in g.contributions():
            assert places[c.parent][0] < places[c.node][0]


def test_an_edge_that_passes_a_box_bends_away_from_it():
    places = [(0, 0), (1, 0.5), (2, 0)]
    assert bow((0, 0), (1, 0.5), places) == 0
    assert bow((0, 0), (2, 0), places) > 0  # downward, below the box
    assert bow((0, 0), (2, 0), [(1, -0.5)]) < 0


def test_a_picture_says_its_numbers_in_its_alternative_text():
    assert "w is 1 with adjoint −18" in graph_picture(line_graph()).alt
    assert "ŷ = h + v is 1.5 with adjoint 1" in graph_picture(residual_graph()).alt
    assert "adjoint" not in graph_picture(line_graph(), adjoints=False).alt
    assert "12 outputs and 3 inputs" in jacobian_passes(12, 3).alt


def test_a_picture_is_the_same_bytes_every_time():
    assert graph_picture(residual_graph()).png() == graph_picture(residual_graph()).png()
