"""autograd: the engine on numbers and on arrays, against micrograd's documented behaviour,
PyTorch, central differences and graphs worked by hand."""

import ast
import gc
import inspect
import math
import random
import tracemalloc

import pytest

from backprop_course.autograd import Value

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
