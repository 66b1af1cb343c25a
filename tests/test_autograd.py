"""autograd: the engine on numbers and on arrays, against micrograd's documented behaviour,
PyTorch, central differences and graphs worked by hand."""

import ast
import gc
import inspect
import math
import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backprop_course.autograd import (
    RULES,
    Tensor,
    Value,
    apply,
    backward_order,
    checkpoint,
    explain,
)
from backprop_course.checks.turns.autograd import check_train_four_points
from backprop_course.figures import autograd as figures

torch = pytest.importorskip("torch")


# ---- Value ---------------------------------------------------------------------------------


def test_the_core_of_value_is_at_most_40_lines_of_code():
    source = inspect.getsource(Value)
    (tree,) = ast.parse(source).body
    strings = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    code = [n for n, line in enumerate(source.splitlines(), 1) if line.strip() and n not in strings]
    assert len(code) <= 40


def micrograd_sanity(make, relu):
    """The expression of micrograd's first public test."""
    x = make(-4.0)
    z = 2 * x + 2 + x
    q = relu(z) + z * x
    h = relu(z * z)
    return h + q + q * x, [x]


def micrograd_more_operations(make, relu):
    """The expression of its second: every operator, in place too, and numbers on either side."""
    a, b = make(-4.0), make(2.0)
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + relu(b + a)
    d += 3 * d + relu(b - a)
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    return g, [a, b]


@pytest.mark.parametrize("program", [micrograd_sanity, micrograd_more_operations])
def test_micrograd_programs_give_pytorch_values_and_gradients(program):
    ours, leaves = program(Value, Value.relu)
    ours.backward()
    theirs, tensors = program(
        lambda v: torch.tensor(v, dtype=torch.float64, requires_grad=True), torch.relu
    )
    theirs.backward()
    assert ours.data == pytest.approx(theirs.item(), rel=1e-14)
    for leaf, tensor in zip(leaves, tensors, strict=True):
        assert leaf.grad == pytest.approx(tensor.grad.item(), rel=1e-14)


def test_a_plain_number_makes_no_node():
    x = Value(3.0)
    for y in (x + 2, 2 + x, x * 2, 2 * x, x**2):
        assert y.parents == (x,)


def test_a_chain_of_a_million_nodes_works_and_can_be_let_go():
    x = Value(1.0)
    y = x
    for _ in range(1_000_000):
        y = y + x
    y.backward()
    assert x.grad == 1_000_001
    del y


def test_a_value_used_a_hundred_thousand_times_gets_every_share():
    x = Value(0.5)
    total = 0.0
    for _ in range(100_000):
        total = total + x * 2.0
    total.backward()
    assert x.grad == 200_000


def test_no_cyclic_garbage_is_made():
    gc.collect()
    gc.disable()
    try:
        x = Value(0.3)
        y = x
        for _ in range(1000):
            y = (y * x + 1.0).tanh()
        y.backward()
        del y
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_node_costs_at_most_210_bytes():
    x, a = Value(0.5), Value(0.999)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    y = x
    for _ in range(10_000):
        y = y * a + x
    y.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (peak - before) / 20_000 <= 210


def test_a_second_backward_adds_the_same_again_to_the_leaves():
    x, w = Value(3.0), Value(2.0)
    y = (x * w).tanh() * w
    y.backward()
    once, inner = (x.grad, w.grad), y.parents[0].grad
    y.backward()
    assert (x.grad, w.grad) == pytest.approx((2 * once[0], 2 * once[1]), rel=1e-15)
    assert y.parents[0].grad == inner


def test_two_losses_that_share_a_subgraph_add_up_at_the_leaves():
    x = Value(3.0)
    shared = x * x
    (shared * 2.0).backward()
    (shared * shared).backward()
    assert x.grad == 2 * 2 * 3.0 + 2 * 9.0 * 2 * 3.0


def test_zeroing_the_leaves_starts_a_pass_anew():
    x = Value(3.0)
    y = x * x * x
    y.backward()
    x.grad = 0.0
    y.backward()
    assert x.grad == 27.0


def test_recursion_along_edges_would_be_wrong_here_and_backward_is_right():
    # Curriculum 6.6: the right adjoints are (25, 19).
    a, b = Value(2.0), Value(3.0)
    c, d = a + b, a * b
    (c + d + c * d).backward()
    assert (a.grad, b.grad) == (25.0, 19.0)


def test_slopes_of_functions_are_those_of_calculus():
    x = 0.7
    for function, slope in (
        (Value.exp, math.exp(x)),
        (Value.log, 1 / x),
        (Value.tanh, 1 / math.cosh(x) ** 2),
        (Value.relu, 1.0),
        (lambda v: v**-1.5, -1.5 * x**-2.5),
        (lambda v: 3 / v, -3 / x**2),
    ):
        v = Value(x)
        function(v).backward()
        assert v.grad == pytest.approx(slope, rel=1e-14)


def test_the_slope_of_relu_at_its_kink_and_of_a_zeroth_power_at_zero_is_zero():
    for function in (Value.relu, lambda v: v**0):
        v = Value(0.0)
        function(v).backward()
        assert v.grad == 0


def xor_network(make):
    """Curriculum 6.2: 22 weights; random.seed(1), uniform(-1, 1), in the order W1, b1, W2, b2."""
    random.seed(1)
    W1 = [[make(random.uniform(-1, 1)) for _ in range(2)] for _ in range(4)]
    b1 = [make(random.uniform(-1, 1)) for _ in range(4)]
    W2 = [[make(random.uniform(-1, 1)) for _ in range(4)] for _ in range(2)]
    b2 = [make(random.uniform(-1, 1)) for _ in range(2)]
    loss = 0.0
    for x, label in (((0, 0), 0), ((0, 1), 1), ((1, 0), 1), ((1, 1), 0)):
        h = [(w[0] * x[0] + w[1] * x[1] + b).relu() for w, b in zip(W1, b1, strict=True)]
        z = [
            sum((w * v for w, v in zip(r, h, strict=True)), b) for r, b in zip(W2, b2, strict=True)
        ]
        loss = loss + (z[0].exp() + z[1].exp()).log() - z[label]
    return loss / 4, [p for row in W1 + W2 for p in row] + b1 + b2


def test_the_xor_network_has_the_loss_and_gradient_of_curriculum_6_2():
    loss, parameters = xor_network(Value)
    loss.backward()
    assert len(parameters) == 22
    assert round(loss.data, 6) == 0.838159
    assert max(abs(p.grad) for p in parameters) == 0.2463455518578762

    theirs, tensors = xor_network(
        lambda v: torch.tensor(v, dtype=torch.float64, requires_grad=True)
    )
    theirs.backward()
    gap = max(abs(p.grad - t.grad.item()) for p, t in zip(parameters, tensors, strict=True))
    assert gap < 1e-15


# ---- Tensor --------------------------------------------------------------------------------


class Ours:
    """Where our names differ from PyTorch's."""

    make, gelu, largest, permute = Tensor, Tensor.gelu, Tensor.max, Tensor.transpose


class Theirs:
    gelu, largest, permute = torch.nn.functional.gelu, torch.amax, torch.permute

    @staticmethod
    def make(array):
        return torch.tensor(array, requires_grad=True)


def permuted(lib, a, *axes):
    return lib.permute(a, *axes) if lib is Ours else lib.permute(a, axes)


def positive(x):
    return x * x + 0.5


# Steps of a random program: from two matrices make one.
STEPS = {
    "exp": lambda lib, a, b, k: a.exp(),
    "relu": lambda lib, a, b, k: (a + 0.01).relu(),
    "gelu": lambda lib, a, b, k: lib.gelu(a),
    "power": lambda lib, a, b, k: a ** (k % 4),
    "log": lambda lib, a, b, k: positive(a).log(),
    "root": lambda lib, a, b, k: positive(a) ** 0.5,
    "subtract from": lambda lib, a, b, k: 1.5 - a,
    "divide into": lambda lib, a, b, k: 2.0 / positive(-a),
    "grid": lambda lib, a, b, k: a.mean(1, True) - b.sum(0, True),
    "add a number": lambda lib, a, b, k: a + b.mean(),
    "divide": lambda lib, a, b, k: a / positive(b.sum(1, True).sum(0, True)),
    "multiply": lambda lib, a, b, k: a * b.sum(0).mean(0),
    "product": lambda lib, a, b, k: a @ a.T,
    "outer": lambda lib, a, b, k: a.reshape(-1, 1) @ b.reshape(1, -1),
    "stack": lambda lib, a, b, k: (a.reshape(1, *a.shape) @ a.T.reshape(1, *a.T.shape)).sum(0),
    "permute": lambda lib, a, b, k: permuted(lib, a.reshape(1, *a.shape), 2, 0, -2).sum(1),
    "largest": lambda lib, a, b, k: a - lib.largest(a, k % 2, True),
    "ties": lambda lib, a, b, k: lib.largest((a + 0.05).relu(), k % 2, True) * a,
    "row": lambda lib, a, b, k: a[k % a.shape[0]].reshape(1, -1),
    "repeat": lambda lib, a, b, k: a[[k % a.shape[0], 0, k % a.shape[0]]],
}


def run(program, arrays, lib):
    """The loss of a program and the gradients of its two inputs, as NumPy numbers."""
    inputs = [lib.make(array) for array in arrays]
    values = list(inputs)
    for name, k in program:
        a, b = values[k % len(values)], values[k // 7 % len(values)]
        values.append(STEPS[name](lib, a, b, k).tanh())  # tanh: no number grows out of range
    loss = sum((v * (0.3 + i)).sum() for i, v in enumerate(values))
    loss.backward()
    return [float(loss.data), *(np.asarray(x.grad) for x in inputs)]


shapes = st.tuples(st.integers(1, 3), st.integers(1, 4))
programs = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 999)), min_size=1, max_size=10
)


@settings(max_examples=300)
@given(programs, shapes, shapes, st.integers(0, 2**31))
def test_random_programs_have_the_gradients_of_pytorch(program, first, second, seed):
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=first), rng.normal(size=second)]
    for mine, its in zip(run(program, arrays, Ours), run(program, arrays, Theirs), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-10, atol=1e-10)


def test_a_random_program_uses_every_rule_but_the_fused_loss():
    used = set()
    for name in STEPS:
        rng = np.random.default_rng(0)
        x, y = Tensor(rng.normal(size=(2, 3))), Tensor(rng.normal(size=(3, 2)))
        order = backward_order(STEPS[name](Ours, x, y, 1).tanh())
        used |= {node.rule for node in order}
    assert set(RULES) - used == {"cross_entropy"}


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 2**31))
def test_the_fused_cross_entropy_is_pytorchs(B, K, seed):
    rng = np.random.default_rng(seed)
    Z, labels = rng.normal(size=(B, K)) * 5, rng.integers(0, K, B)
    mine, its = Tensor(Z), torch.tensor(Z, requires_grad=True)
    loss = mine.cross_entropy(labels) * 3.0
    loss.backward()
    reference = torch.nn.functional.cross_entropy(its, torch.tensor(labels)) * 3.0
    reference.backward()
    assert loss.data == pytest.approx(reference.item(), rel=1e-12)
    np.testing.assert_allclose(mine.grad, its.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_a_stack_of_matrices_times_one_matrix_sums_over_the_stack():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(2, 1, 3, 4)), rng.normal(size=(5, 4, 6))]
    mine, its = [Tensor(a) for a in arrays], [Theirs.make(a) for a in arrays]
    for A, B in (mine, its):
        ((A @ B) ** 2).sum().backward()
    for m, t in zip(mine, its, strict=True):
        np.testing.assert_allclose(m.grad, t.grad.numpy(), rtol=1e-12)


def test_a_plain_array_on_either_side_is_a_constant():
    x = Tensor(np.ones((2, 3)))
    for y in (x + np.ones(3), np.ones(3) * x, np.ones((4, 2)) @ x, 1 - x, x / np.full(3, 2.0)):
        assert isinstance(y, Tensor)
        assert y.parents == (x,)


def test_float32_stays_float32_forward_and_backward():
    x = Tensor(np.ones((2, 3), dtype=np.float32))
    y = ((x * 2.0 + 1.0) / 3.0 - np.ones(3)).mean()
    assert (2 * x - 1).data.dtype == np.float32
    y.backward()
    assert x.grad.dtype == np.float32


def test_integers_become_float64():
    assert Tensor([1, 2]).data.dtype == np.float64


def test_each_leaf_owns_its_gradient():
    a, b, dY = Tensor(np.ones(3)), Tensor(np.ones(3)), np.ones(3)
    (a + b).backward(dY)
    a.grad *= 0
    np.testing.assert_array_equal(b.grad, np.ones(3))
    np.testing.assert_array_equal(dY, np.ones(3))


def test_entries_that_tie_for_the_maximum_share_the_gradient_as_in_pytorch():
    X = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    mine, its = Tensor(X), Theirs.make(X)
    mine.max(1).backward(np.array([1.0, -2.0]))
    its.amax(1).backward(torch.tensor([1.0, -2.0]))
    np.testing.assert_allclose(mine.grad, its.grad.numpy(), rtol=1e-15)


def test_a_zeroth_power_of_zero_has_slope_zero():
    x = Tensor(np.zeros(2))
    (x**0).sum().backward()
    np.testing.assert_array_equal(x.grad, np.zeros(2))


def test_a_second_backward_of_a_tensor_adds_the_same_again_to_the_leaves():
    x = Tensor(np.arange(1.0, 4.0))
    y = (x.tanh() * x).sum()
    y.backward()
    once = x.grad
    y.backward()
    np.testing.assert_allclose(x.grad, 2 * once, rtol=1e-15)


def test_a_chain_of_a_hundred_thousand_tensors_needs_no_recursion():
    x = Tensor(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1.0
    y.backward()
    assert x.grad == 1.0
    del y


def test_an_upstream_gradient_can_be_given():
    x = Tensor(np.arange(6.0).reshape(2, 3))
    dY = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, 1.0]])
    (x * 2.0).backward(dY)
    np.testing.assert_array_equal(x.grad, 2 * dY)


def test_backward_of_an_array_without_an_upstream_gradient_says_what_to_do():
    with pytest.raises(ValueError, match=r"shape \(2, 3\).*sum\(\) or mean\(\)"):
        Tensor(np.ones((2, 3))).backward()


def test_second_derivatives_are_refused():
    with pytest.raises(NotImplementedError, match="no second derivatives.*torch"):
        Tensor(1.0).backward(create_graph=True)


def test_a_vector_in_a_matrix_product_is_refused():
    with pytest.raises(ValueError, match=r"\(3,\).*expected matrices.*reshape"):
        Tensor(np.ones((2, 3))) @ Tensor(np.ones(3))


def test_checkpointing_changes_no_gradient_and_forgets_the_inside():
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=shape) for shape in ((3, 4), (4, 5), (5,))]

    def layer(X, W, b):
        return (X @ W + b).gelu()

    plain, checked = [Tensor(a) for a in arrays], [Tensor(a) for a in arrays]
    (layer(*plain).tanh() ** 2).sum().backward()
    y = checkpoint(layer, *checked)
    (y.tanh() ** 2).sum().backward()
    assert y.parents == tuple(checked)
    for a, b in zip(plain, checked, strict=True):
        np.testing.assert_array_equal(a.grad, b.grad)


def test_checkpointing_refuses_a_tensor_from_outside():
    x, w = Tensor(np.ones(3)), Tensor(np.ones(3))
    with pytest.raises(ValueError, match="uses 1 tensors that are not among its inputs"):
        checkpoint(lambda x: (x * w).sum(), x)


def test_a_new_rule_can_be_taught_at_run_time(monkeypatch):
    monkeypatch.setitem(RULES, "sine", (np.sin, lambda dY, Y, X: dY * np.cos(X)))
    x = Tensor(0.3)
    apply("sine", x).backward()
    assert x.grad == math.cos(0.3)


# ---- explain -------------------------------------------------------------------------------


def test_explain_prints_every_share_and_changes_no_gradient(capsys):
    w, x, b = Value(1.0), Value(3.0), Value(1.0)
    e = w * x + b - 7.0
    explain(e * e, w=w, x=x, b=b, e=e)
    rows = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    table = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert table[0] == ["node", "parent", "local slope", "upstream", "sent back"]
    assert ["v3 = 9", "e", "-3", "1", "-3"] in table
    assert ["v1 = 3", "w", "3", "-6", "-18"] in table
    assert w.grad == e.grad == 0.0


def test_explain_shows_rules_shapes_and_norms_of_tensors(capsys):
    X, W = Tensor(np.ones((2, 3))), Tensor(np.ones((3, 4)))
    explain((X @ W).sum(), X=X, W=W)
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert rows[1] == "v2 = 24 v1 sum 1 (2, 4) norm 2.828"
    assert "v1 = (2, 4) norm 8.485 W matmul (2, 4) norm 2.828 (3, 4) norm 6.928" in rows
    assert X.grad is None


def test_explain_counts_what_it_does_not_show(capsys):
    x = y = Value(1.0)
    for _ in range(50):
        y = y * 2.0
    explain(y, limit=3, x=x)
    assert capsys.readouterr().out.splitlines()[-1] == "... and 47 more rows"


# ---- the your-turn cell of lesson 06 -------------------------------------------------------

POINTS = [[2, 3, -1], [3, -1, 0.5], [0.5, 1, 1], [1, 1, -1]]
TARGETS = [1, -1, -1, 1]


def tanh_network(seed):
    random.seed(seed)
    return [
        [[Value(random.uniform(-1, 1)) for _ in range(n + 1)] for _ in range(m)]
        for n, m in ((3, 4), (4, 4), (4, 1))
    ]


def four_points_loss(layers):
    loss = 0.0
    for x, target in zip(POINTS, TARGETS, strict=True):
        for layer in layers:
            x = [sum((w * v for w, v in zip(u[:-1], x, strict=True)), u[-1]).tanh() for u in layer]
        loss = loss + (x[0] - target) ** 2
    return loss


def answer(layers, parameters, steps=100, rate=0.05, zero=True):
    for _ in range(steps):
        for p in parameters if zero else []:
            p.grad = 0.0
        four_points_loss(layers).backward()
        for p in parameters:
            p.data -= rate * p.grad
    return four_points_loss(layers).data


def test_ten_seeds_pass_0_01_in_53_to_90_steps_on_the_four_points():
    # Curriculum 6.3.
    steps = []
    for seed in range(10):
        layers = tanh_network(seed)
        parameters = [p for layer in layers for unit in layer for p in unit]
        assert len(parameters) == 41
        steps.append(0)
        while four_points_loss(layers).data >= 0.01:
            answer(layers, parameters, steps=1)
            steps[-1] += 1
    assert (min(steps), max(steps)) == (53, 90)


@pytest.mark.parametrize(
    ("train", "verdict"),
    [
        (answer, "✓ the four points"),
        (lambda layers, parameters: ..., "not answered yet"),
        (lambda layers, parameters: 0.001, "no weight has moved"),
        (lambda layers, parameters: answer(layers, parameters, rate=-0.05), "rose from"),
        (lambda layers, parameters: answer(layers, parameters, steps=5), "not below 0.01"),
        (lambda layers, parameters: Value(answer(layers, parameters)), "not a Value"),
    ],
)
def test_the_your_turn_cell_is_told_what_is_wrong(train, verdict, capsys):
    layers = tanh_network(0)
    parameters = [p for layer in layers for unit in layer for p in unit]
    before = [p.data for p in parameters]
    check_train_four_points(train, layers, parameters, four_points_loss)
    assert verdict in capsys.readouterr().out
    assert [p.data for p in parameters] == before


def test_the_jacobian_of_a_wide_layer_would_have_69_billion_entries():
    # Lesson 06, section 6.2, and lesson 07's interview questions: batch 64, width 4096.
    assert round((64 * 4096) ** 2 / 1e9) == 69


# ---- figures of lesson 06 ------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
def test_figures_draw_without_a_warning_and_say_what_they_show():
    a, b = Value(2.0), Value(3.0)
    X, W = Tensor(np.ones((2, 3))), Tensor(np.ones((3, 4)))
    pictures = {
        "Leaves, rounded: 2 (a, b). Operations, square: 3;": figures.graph(
            (a + b) * (a * b), a=a, b=b
        ),
        "Leaves, rounded: 1 (W). Operations, square: 2;": figures.graph((np.eye(3) @ W).sum(), W=W),
        "Leaves, rounded: 2. Operations, square: 1;": figures.graph(X @ W),
        "doubles with every level": figures.recursion_costs(),
        "far above zero: 1 of them": figures.xor_runs({0: [0.7, 0.69], 1: [0.7, 0.01]}),
    }
    for words, picture in pictures.items():
        assert words in picture.alt
        assert picture.png().startswith(b"\x89PNG")
