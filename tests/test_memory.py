"""memory: schedules on the tape, against PyTorch, brute force and formulas; curriculum rows 5.2 to 5.7."""

import math

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from backprop_course import memory
from backprop_course.checks import checkpoint_counts as checks
from backprop_course.checks.turns.memory import check_best_segments
from backprop_course.figures.memory import memory_over_time, stored_against_segments

from .formulas import displayed

LESSON = "05_memory"
chains = st.integers(1, 60)


def test_sequential_has_the_counts_of_row_5_6():
    table = {1: (16, 17), 2: (24, 10), 4: (28, 8), 8: (30, 10), 16: (31, 17)}
    for segments, counts in table.items():
        tape = memory.sequential(16, segments)
        assert (tape.calls, tape.stored) == counts
    tape = memory.sequential(64, 8)
    assert (tape.calls, tape.stored) == (120, 16)


def counted_by_pytorch(n, segments):
    """(forward calls, stored activations) of a real checkpoint_sequential."""
    import torch
    from torch.utils.checkpoint import checkpoint_sequential

    calls, kept = 0, set()

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x):
            nonlocal calls
            calls += 1
            return torch.relu(self.linear(x))

    net = torch.nn.Sequential(*[Layer() for _ in range(n)])
    parameters = {p.untyped_storage().data_ptr() for p in net.parameters()}
    x = torch.ones(2, 3, requires_grad=True)

    def pack(tensor):
        pointer = tensor.untyped_storage().data_ptr()
        if tensor.numel() and pointer not in parameters:  # checkpoint saves an empty dummy too
            kept.add(pointer)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = checkpoint_sequential(net, segments, x, use_reentrant=False)
        stored = set(kept)
    y.sum().backward()
    return calls, len(stored)


@pytest.mark.parametrize("n", range(1, 25))
def test_the_tape_counts_what_pytorch_does(n):
    pytest.importorskip("torch")
    for segments in range(1, n + 1):
        tape = memory.sequential(n, segments)
        assert (tape.calls, tape.stored) == counted_by_pytorch(n, segments)


@given(chains, st.data())
def test_the_checks_own_tape_agrees_with_the_lessons(n, data):
    segments = data.draw(st.integers(1, n))
    tape = memory.sequential(n, segments)
    assert checks.run(n, segments) == (tape.calls, tape.stored)


@given(chains, st.data())
def test_every_schedule_goes_back_over_every_layer(n, data):
    segments, slots = data.draw(st.integers(1, n)), data.draw(st.integers(1, 6))
    for tape in (
        memory.keep_everything(n),
        memory.sequential(n, segments),
        memory.sqrt_schedule(n),
        memory.recursive(n),
        memory.revolve(n, slots),
    ):
        assert [layer for what, layer, _ in tape.events if what == "back"] == list(range(n, 0, -1))
        assert tape.live == {0}
        assert tape.calls == sum(what != "back" for what, _, _ in tape.events)


@given(st.integers(1, 200))
def test_halving_keeps_the_logarithm_and_runs_n_log_n_steps(n):
    tape = memory.recursive(n)
    levels = math.ceil(math.log2(n)) if n > 1 else 0
    assert tape.peak <= levels + 2
    assert tape.calls <= n * (levels + 1)


def brute_force(n, slots):
    """The fewest steps to go back over n layers, by trying every first checkpoint, from the definition."""
    best = {}

    def steps(n, c):
        if n == 1:
            return 0
        if (n, c) not in best:
            options = [n * (n - 1) // 2]  # no further checkpoint
            if c > 1:
                options += [k + steps(n - k, c - 1) + steps(k, c) for k in range(1, n)]
            best[n, c] = min(options)
        return best[n, c]

    return steps(n, slots)


@given(st.integers(1, 40), st.integers(1, 6))
def test_revolve_runs_the_fewest_steps_there_are(n, slots):
    tape = memory.revolve(n, slots)
    assert tape.calls == n + memory.fewest_steps(n, slots)
    assert memory.fewest_steps(n, slots) == brute_force(n, slots)
    assert tape.peak <= slots + 2  # its checkpoints, and the two ends of the layer at work


def test_revolve_reaches_griewank_and_walthers_binomial_bound():
    # C(c + r, c) layers are what c slots can do with no layer run more than r times again.
    for slots, repeats in ((2, 2), (3, 2), (3, 3)):
        n = math.comb(slots + repeats, slots)
        assert memory.fewest_steps(n, slots) == repeats * n - math.comb(
            slots + repeats, repeats - 1
        )


@pytest.mark.parametrize("arguments", [(0, 1), (4, 0), (4, 5)])
def test_segments_that_cannot_be_are_refused(arguments):
    with pytest.raises(ValueError, match="1 <= segments <= n"):
        memory.sequential(*arguments)


def test_a_tape_refuses_a_layer_whose_input_is_gone():
    tape = memory.Tape(3)
    tape.run(1, keep_input=True)
    tape.run(2, keep_input=False)
    with pytest.raises(RuntimeError, match="needs activation 1"):
        tape.run(2, keep_input=True)


# ---- the transformer -----------------------------------------------------------------------


def test_the_terms_of_a_gpt_layer_add_up_to_the_displayed_formula():
    assert displayed(LESSON, r"s\,b\,h \left( 34 + \frac{5\,a\,s}{h} \right)")
    s, b, h, a = sympy.symbols("s b h a", positive=True)
    total = sum(memory.gpt_layer_terms(s, b, h, a).values())
    assert sympy.simplify(total - s * b * h * (34 + 5 * a * s / h)) == 0


def test_gpt_3_takes_the_memory_of_rows_5_3_and_5_4():
    s, b, h, a = 2048, 1, 12288, 96
    terms = memory.gpt_layer_terms(s, b, h, a)
    layer = sum(terms.values())
    assert 5 * a * s / h == 80
    assert f"{layer / 1e9:.2f} {96 * layer / 1e9:.0f}" == "2.87 275"
    assert sum(v for k, v in terms.items() if "MLP" in k) == 19 * s * b * h
    assert f"{2 * s * b * h / 1e6:.0f} {96 * 2 * s * b * h / 1e9:.1f}" == "50 4.8"
    assert round(100 * 80 / 114) == 70 and round(100 * (54.2 / 42.1 - 1)) == 29


def test_pytorch_keeps_nine_numbers_a_unit_of_a_gpt_mlp_and_one_with_checkpoint():
    torch = pytest.importorskip("torch")
    from torch.utils.checkpoint import checkpoint

    up, down, x = torch.nn.Linear(8, 32), torch.nn.Linear(32, 8), torch.ones(5, 8)

    def mlp(x):
        return down(torch.nn.functional.gelu(up(x)))

    assert memory.saved_numbers(mlp, x) == 9 * x.numel()
    assert memory.saved_numbers(lambda x: checkpoint(mlp, x, use_reentrant=False), x) == x.numel()


def test_the_sqrt_rule_is_where_the_displayed_count_is_least():
    assert displayed(LESSON, r"M(s) = s + \frac{n}{s}")
    assert displayed(LESSON, r"$M'(s) = 1 - n/s^2$ is 0 at $s = \sqrt n$, where $M = 2\sqrt n$")
    n, s = sympy.symbols("n s", positive=True)
    count = s + n / s
    assert sympy.simplify(sympy.diff(count, s) - (1 - n / s**2)) == 0
    assert sympy.simplify(count.subs(s, sympy.sqrt(n)) - 2 * sympy.sqrt(n)) == 0


def test_a_real_run_without_gradients_keeps_less():
    pytest.importorskip("torch")
    kept = [memory.measured_peak(8, 2048, 2048, grad=grad, linear=False) for grad in (True, False)]
    assert kept[0] > kept[1]


# ---- the turn and the pictures -------------------------------------------------------------


def test_the_turn_accepts_every_number_of_segments_that_stores_least(capsys):
    least = min(memory.sequential(64, s).stored for s in range(1, 65))
    for segments in range(1, 65):
        check_best_segments(segments)
        right = memory.sequential(64, segments).stored == least
        assert capsys.readouterr().out.startswith("✓" if right else "✗")


def test_the_pictures_say_what_they_show():
    assert "climbs to 17" in memory_over_time(16).alt
    assert "from 65 at 1 segment down to 16" in stored_against_segments(64).alt
