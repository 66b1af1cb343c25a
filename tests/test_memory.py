"""memory: saved tensors, the transformer's terms, and schedules against PyTorch and brute force; lesson 05."""

import functools
import itertools
import math
import sys

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from backprop_course import memory
from backprop_course.checks import checkpoint_counts as checks
from backprop_course.checks.turns.memory import check_best_segments
from backprop_course.figures.memory import kept_over_time, memory_over_time, stored_against_segments

from .formulas import displayed

LESSON = "05_memory"
lengths = st.integers(1, 80)


# ---- PyTorch as the judge of `sequential` --------------------------------------------------


def counted_by_torch(n, segments):
    """(forward calls, distinct activations alive when the forward pass ends) in a real run."""
    torch = pytest.importorskip("torch")
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils.checkpoint import checkpoint_sequential

    calls, made = [], []

    class Layer(torch.nn.Sequential):
        def forward(self, x):
            calls.append(1)
            for module in self:
                x = module(x)
                made.append(StorageWeakRef(x.untyped_storage()))
            return x

    net = torch.nn.Sequential(*[Layer(torch.nn.Linear(3, 3), torch.nn.ReLU()) for _ in range(n)])
    x = torch.ones(2, 3, requires_grad=True)
    y = checkpoint_sequential(net, segments, x, use_reentrant=False)
    stored = 1 + sum(not ref.expired() for ref in made)  # 1: the input
    y.sum().backward()
    return len(calls), stored


@pytest.mark.parametrize("n", range(1, 25))
def test_sequential_counts_what_pytorch_does(n):
    for segments in range(1, n + 1):
        tape = memory.sequential(n, segments)
        assert (tape.calls, tape.stored) == counted_by_torch(n, segments), segments


@given(lengths, st.data())
def test_the_exercises_own_tape_agrees_with_the_lessons(n, data):
    segments = data.draw(st.integers(1, n))
    tape = memory.sequential(n, segments)
    assert checks.run(n, segments) == (tape.calls, tape.stored)


TABLE = {1: (16, 17), 2: (24, 10), 4: (28, 8), 8: (30, 10), 16: (31, 17)}  # curriculum 5.6


@pytest.mark.parametrize("segments", TABLE)
def test_the_table_for_16_layers(segments):
    tape = memory.sequential(16, segments)
    assert (tape.calls, tape.stored) == TABLE[segments]


def test_64_layers_in_8_segments():
    tape = memory.sequential(64, 8)  # curriculum 5.6
    assert (tape.calls, tape.stored) == (120, 16)
    assert min(range(1, 65), key=lambda s: memory.sequential(64, s).stored) == 8


def test_more_than_half_as_many_segments_as_layers_save_nothing():
    assert {memory.sequential(64, s).stored for s in range(33, 65)} == {65}


@given(lengths, st.data())
def test_sequential_never_keeps_more_in_its_backward_pass_than_at_its_start(n, data):
    segments = data.draw(st.integers(1, n))
    tape = memory.sequential(n, segments)
    assert tape.peak == tape.stored


@given(st.integers(1, 9), st.integers(1, 9))
def test_with_every_segment_checkpointed_the_peak_comes_later(segments, size):
    n = segments * size
    tape = memory.every_segment(n, segments)
    assert (tape.calls, tape.stored, tape.peak) == (2 * n, segments + 1, segments + size)


def test_the_root_of_n_is_where_the_displayed_count_is_least():
    assert displayed(LESSON, r"M(s) = s + \frac{n}{s}")
    assert displayed(LESSON, r"$M'(s) = 1 - n/s^2$ is 0 at $s = \sqrt n$, where $M = 2\sqrt n$")
    n, s = sympy.symbols("n s", positive=True)
    count = s + n / s
    assert sympy.simplify(sympy.diff(count, s) - (1 - n / s**2)) == 0
    assert sympy.diff(count, s, 2).is_positive
    assert sympy.simplify(count.subs(s, sympy.sqrt(n)) - 2 * sympy.sqrt(n)) == 0


# ---- every schedule ------------------------------------------------------------------------


def schedules(n):
    yield "keep everything", memory.keep_everything(n)
    yield "root", memory.sqrt_schedule(n)
    yield "recursive", memory.recursive(n)
    for k in range(1, n + 1):
        yield f"sequential {k}", memory.sequential(n, k)
        yield f"every segment {k}", memory.every_segment(n, k)
    for slots in range(1, 6):
        yield f"revolve {slots}", memory.revolve(n, slots)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 25])
def test_every_schedule_goes_back_over_every_layer_once(n):
    for name, tape in schedules(n):
        back = [e.layer for e in tape.events if e.what == "back"]
        first = [e.layer for e in tape.events if e.what == "run"]
        assert back == list(range(n, 0, -1)), name
        assert first == list(range(1, n + 1)), name
        assert tape.events[-1].kept == {0}, f"{name} leaves activations behind"


def test_keeping_everything_climbs_to_n_plus_1_and_falls():
    alive = [len(e.kept) for e in memory.keep_everything(6).events]
    assert alive == [2, 3, 4, 5, 6, 7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize("k", range(0, 9))
def test_halving_keeps_a_checkpoint_a_level_and_runs_half_of_n_a_level(k):
    tape = memory.recursive(2**k)
    assert tape.peak == k + 2
    assert tape.calls == 2**k * k // 2 + 2**k


def test_the_displayed_count_of_halving_solves_its_recursion():
    assert displayed(LESSON, r"T(n) = \tfrac n2 + 2\,T(\tfrac n2)")
    assert displayed(LESSON, r"T(n) = \tfrac n2 \log_2 n + n")
    n = sympy.symbols("n", positive=True)

    def T(n):
        return n / 2 * sympy.log(n, 2) + n

    assert sympy.simplify(sympy.expand_log(T(n) - n / 2 - 2 * T(n / 2))) == 0
    assert T(1) == 1


def test_the_tape_refuses_what_a_real_run_could_not_do():
    tape = memory.Tape(3)
    with pytest.raises(RuntimeError, match="needs activation 1"):
        tape.run(2, keep_input=True)
    tape.run(1, keep_input=False)
    with pytest.raises(RuntimeError, match="next backward step is layer 3"):
        tape.back(1)
    tape.run(2, keep_input=False)
    tape.run(3, keep_input=False)
    with pytest.raises(RuntimeError, match="lacks its input"):
        tape.back(3)


@pytest.mark.parametrize("n, segments", [(4, 0), (4, 5), (0, 1), (-1, 1)])
def test_impossible_numbers_of_segments_are_refused(n, segments):
    with pytest.raises(ValueError, match="expected|need"):
        memory.sequential(n, segments)


def test_no_layers_and_no_slots_are_refused():
    with pytest.raises(ValueError, match="at least one layer"):
        memory.keep_everything(0)
    with pytest.raises(ValueError, match="input needs one"):
        memory.revolve(4, 0)


# ---- revolve against brute force -----------------------------------------------------------


@functools.cache
def fewest_calls(kept, layer, slots):
    """Brute force: fewest forward calls to go back over `layer`..1 from any set of kept activations.

    Tries every kept activation as a start and every set of activations to keep on the way: no
    structure is assumed.
    """
    if layer == 0:
        return 0
    best = math.inf
    for start in (k for k in kept if k < layer):
        passed = range(start + 1, layer)
        spare = sorted({*kept, *passed} - {0})
        for chosen in itertools.combinations(spare, min(slots - 1, len(spare))):
            rest = fewest_calls(frozenset({0, *chosen}), layer - 1, slots)
            best = min(best, layer - start + rest)
    return best


@pytest.mark.parametrize("n, slots", [(n, c) for n in range(1, 9) for c in range(1, 5)])
def test_revolve_runs_no_more_layers_than_the_best_of_all_schedules(n, slots):
    assert memory.revolve(n, slots).calls == fewest_calls(frozenset({0}), n, slots)


@given(lengths, st.integers(1, 8))
def test_revolve_agrees_with_the_binomial_formula_of_griewank_and_walther(n, slots):
    # t = r n − C(c + r, r − 1), r the least with C(c + r, c) >= n.
    r = next(r for r in itertools.count() if math.comb(slots + r, slots) >= n)
    steps = r * n - (math.comb(slots + r, r - 1) if r else 0)
    assert memory.fewest_steps(n, slots) == steps
    assert memory.revolve(n, slots).calls == n + steps


@pytest.mark.parametrize("slots, repeats", [(2, 2), (3, 2), (3, 3), (4, 3)])
def test_a_chain_of_binomial_length_runs_no_layer_more_often_than_its_repeats(slots, repeats):
    def most(n):
        forward = [e.layer for e in memory.revolve(n, slots).events if e.what != "back"]
        return max(forward.count(layer) for layer in range(1, n + 1)) - 1

    n = math.comb(slots + repeats, slots)
    assert most(n) == repeats < most(n + 1)
    assert math.comb(13, 10) == 286  # ten slots, three repeats


def test_the_recursion_of_revolve_is_the_one_displayed():
    assert displayed(
        LESSON,
        r"t(n, c) = \min_{1 \le k < n} \big( k + t(n - k, c - 1) + t(k, c) \big), \qquad "
        r"t(1, c) = 0, \qquad t(n, 1) = \tfrac{n (n - 1)}{2}",
    )
    t = memory.fewest_steps
    assert t(7, 3) == min(k + t(7 - k, 2) + t(k, 3) for k in range(1, 7))
    assert (t(1, 4), t(7, 1)) == (0, 21)


def test_the_best_schedules_for_16_layers_in_the_lesson():
    calls = [memory.revolve(16, slots).calls for slots in (1, 2, 3, 4, 8, 16)]
    assert calls == [136, 61, 49, 43, 38, 31]


@given(lengths, st.integers(1, 8))
def test_revolve_holds_its_slots_and_the_two_ends_of_one_layer(n, slots):
    assert memory.revolve(n, slots).peak <= slots + 2


@given(st.integers(2, 60), st.integers(1, 6))
def test_one_more_slot_never_costs_more(n, slots):
    assert memory.fewest_steps(n, slots + 1) <= memory.fewest_steps(n, slots)


# ---- a transformer layer: curriculum 5.3 and 5.4 -------------------------------------------

GPT3 = {"s": 2048, "b": 1, "h": 12288, "a": 96}


def test_the_terms_add_up_to_the_formula():
    s, b, h, a = sympy.symbols("s b h a", positive=True)
    terms = memory.gpt_layer_terms(s, b, h, a)
    assert sympy.simplify(sum(terms.values()) - s * b * h * (34 + 5 * a * s / h)) == 0
    assert displayed(LESSON, r"s\,b\,h \left( 34 + \frac{5\,a\,s}{h} \right)")
    mlp = sum(size for what, size in terms.items() if what.startswith("MLP"))
    assert sympy.simplify(mlp - 19 * s * b * h) == 0
    norms = terms["layer norms: their two inputs"]
    attention = sum(terms.values()) - mlp - norms
    assert sympy.simplify(attention - s * b * h * (11 + 5 * a * s / h)) == 0
    assert displayed(LESSON, r"11\,sbh + 5\,as^2b")


def test_the_numbers_of_gpt_3():
    s, h, a, n = GPT3["s"], GPT3["h"], GPT3["a"], 96
    layer = sum(memory.gpt_layer_terms(**GPT3).values())
    assert 5 * a * s / h == 80
    assert round(layer / 1e9, 2) == 2.87
    assert round(n * layer / 1e9) == 275
    assert 2 * 175 == 350
    assert 10 * n * layer < 16 * 175e9 < 11 * n * layer  # eleven sequences outweigh the rest
    assert 16 * s * h**2 / (4 * s**2 * h) == 24
    assert round(n * layer / 80e9, 1) == 3.4
    assert round(80 / 114, 2) == 0.70
    assert round(2 * s * h / 1e6) == 50 and round(n * 2 * s * h / 1e9, 1) == 4.8
    assert round(54.2 / 42.1 - 1, 2) == 0.29
    double = memory.gpt_layer_terms(2 * s, 1, h, a)
    assert sum(double.values()) / layer == pytest.approx(388 / 114)


def test_recomputing_the_scores_of_gpt_3_costs_2_7_percent_of_a_forward_pass():
    # FLOPs of a layer's forward pass: 24 s h² in products with weights, 4 s² h in the two with the
    # grid of scores. Only these run again.
    s, h = GPT3["s"], GPT3["h"]
    again = 4 * s**2 * h
    forward = 24 * s * h**2 + again
    assert round(100 * again / forward, 1) == 2.7
    assert round(100 * again / (3 * forward), 1) == 0.9


# ---- what PyTorch saves: curriculum 5.1 and 5.2 --------------------------------------------


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_a_gpt_mlp_saves_9_numbers_a_token_and_unit_of_width_and_1_checkpointed(torch):
    from torch.utils.checkpoint import checkpoint

    h, tokens = 24, 7
    up, down = torch.nn.Linear(h, 4 * h), torch.nn.Linear(4 * h, h)

    def mlp(x):
        return down(torch.nn.functional.gelu(up(x)))

    for grad in (False, True):
        x = torch.ones(tokens, h, requires_grad=grad)
        assert memory.saved_numbers(mlp, x) == 9 * tokens * h
        kept = memory.saved_numbers(lambda x: checkpoint(mlp, x, use_reentrant=False), x)
        assert kept == tokens * h


@pytest.mark.parametrize(
    "operation, numbers",
    [("relu", 1), ("gelu", 1), ("silu", 1), ("tanh", 1), ("neg", 0), ("mul", 1)],
)
def test_what_an_operation_saves_per_entry(torch, operation, numbers):
    ops = {
        "relu": torch.relu,
        "gelu": torch.nn.functional.gelu,
        "silu": torch.nn.functional.silu,
        "tanh": torch.tanh,
        "neg": torch.neg,
        "mul": lambda z: z * z,  # one storage, used twice
    }
    x = torch.ones(5, 4, requires_grad=True)
    assert memory.saved_numbers(ops[operation], x) == 20 * numbers


# ---- measured: curriculum 5.7 --------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="quoted for Linux")
@pytest.mark.parametrize("segments, mib", [(1, 264), (8, 68)])
def test_64_tanh_layers_peak_at_the_counted_activations_and_one_gradient(torch, segments, mib):
    assert 4 * (memory.sequential(64, segments).stored + 1) == mib
    if not torch.cuda.is_available():
        peak = memory.measured_peak(64, 1024, 1024, segments=segments, linear=False)
        assert abs(peak - mib) < 4


def test_without_gradients_a_process_keeps_less(torch):
    peaks = [memory.measured_peak(8, 512, 4096, grad=grad, linear=False) for grad in (True, False)]
    assert peaks[0] > 2 * peaks[1]


def test_the_counts_behind_all_measured_peaks():
    counted = [4 * (memory.sequential(64, s).stored + 1) for s in (1, 2, 4, 8, 16, 64)]
    assert counted == [264, 140, 84, 68, 84, 264]


def test_a_failing_measurement_says_why(torch):
    with pytest.raises(RuntimeError, match="measuring process failed"):
        memory.measured_peak(4, -8, 8)


# ---- your turn, and the pictures -----------------------------------------------------------


def test_the_check_accepts_every_number_of_segments_that_stores_least(capsys):
    least = min(memory.sequential(64, s).stored for s in range(1, 65))
    for segments in range(1, 65):
        check_best_segments(segments)
        right = memory.sequential(64, segments).stored == least
        assert capsys.readouterr().out.startswith("✓" if right else "✗")


@pytest.mark.parametrize(
    "answer, said",
    [
        (8, "✓"),
        (np.int64(8), "✓"),
        (..., "not answered"),
        (16, "it goes lower"),
        (0, "1 to 64"),
        (8.0, "float"),
    ],
)
def test_the_check_of_the_best_number_of_segments_says_what_is_wrong(answer, said, capsys):
    check_best_segments(answer)
    assert said in capsys.readouterr().out


def test_the_pictures_say_what_they_show():
    assert "√n segments: 28 forward calls, at most 8 alive" in memory_over_time(16).alt
    assert "down to 16 near √64" in stored_against_segments(64).alt
    assert "at most 5 in a column" in kept_over_time(memory.revolve(16, 3), "revolve").alt
