"""The bank of answers against the checks: no wrong answer passes, no right one fails, mistakes are named.

One set of tests for all exercises. A bank module holds RIGHT (name -> code), WRONG (name -> (edits,
words that a message must hold)), `source(name)` for the code of a wrong answer, and UNNAMED, the
wrong answers whose message says where the difference is and not which mistake it was.
"""

import contextlib
import importlib
import io

import pytest

from backprop_course.checks._core import CheckFailed

from .conftest import ROOT
from .references import define, source_of

BANKS = {
    p.stem: importlib.import_module(f"tests.bank.{p.stem}")
    for p in sorted((ROOT / "tests" / "bank").glob("[!_]*.py"))
}
CHECKS = {name: importlib.import_module(f"backprop_course.checks.{name}") for name in BANKS}
# The fewest answers a bank must hold: (wrong, right).
FEWEST = {
    "mlp_backward": (25, 6),
    "numerical_gradient": (15, 6),
    "checkpoint_counts": (12, 6),
    "value": (15, 6),
}
SEEDS = 50
# These draw nothing from the seed and are long: once is enough.
ONCE = {"check_deep", "check_wide"}

WRONG = [(e, n) for e, bank in BANKS.items() for n in bank.WRONG]
RIGHT = [(e, n) for e, bank in BANKS.items() for n in bank.RIGHT]


def messages(exercise, code, seed=0):
    """Pairs (check name, its message or None where it passed), one check after the other."""
    for name in CHECKS[exercise].__all__:
        if seed and name in ONCE:
            continue
        check = getattr(CHECKS[exercise], name)
        student = define(code, check.student)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                check(student, seed)
            yield name, None
        except CheckFailed as failed:
            yield name, str(failed)


def verdicts(exercise, code, seed=0):
    return dict(messages(exercise, code, seed))


def test_each_exercise_has_a_bank_that_is_large_enough():
    assert {
        e: (len(b.WRONG) >= FEWEST[e][0], len(b.RIGHT) >= FEWEST[e][1]) for e, b in BANKS.items()
    } == {e: (True, True) for e in FEWEST}


@pytest.mark.parametrize(("exercise", "name"), RIGHT)
def test_a_right_answer_passes_every_check_for_every_seed(exercise, name):
    for seed in range(SEEDS):
        failed = {
            k: v for k, v in verdicts(exercise, BANKS[exercise].RIGHT[name], seed).items() if v
        }
        assert not failed, f"seed {seed}"


@pytest.mark.parametrize("exercise", BANKS)
def test_the_reference_passes_every_check_for_every_seed(exercise):
    for seed in range(SEEDS):
        code = "\n".join(source_of(name) for name in CHECKS[exercise].STUDENT_NAMES)
        assert not any(verdicts(exercise, code, seed).values()), f"seed {seed}"


@pytest.mark.parametrize(("exercise", "name"), WRONG)
def test_a_wrong_answer_fails_for_every_seed_and_is_told_what_it_did(exercise, name):
    bank = BANKS[exercise]
    code, words = bank.source(name), bank.WRONG[name][1]
    once = {k for k, m in verdicts(exercise, code).items() if m} <= ONCE
    for seed in range(1 if once else SEEDS):
        said = []
        for _, message in messages(exercise, code, seed):
            if message and words in message:
                break  # it fails, and it is told why
            said.append(message)
        else:
            failed = "\n".join(filter(None, said)) or "passes every check"
            pytest.fail(f"seed {seed}: {failed}")


@pytest.mark.parametrize("exercise", BANKS)
def test_at_least_nine_wrong_answers_in_ten_are_named(exercise):
    bank = BANKS[exercise]
    assert len(bank.UNNAMED) <= len(bank.WRONG) / 10
    assert set(bank.UNNAMED) <= set(bank.WRONG)


@pytest.mark.parametrize("exercise", BANKS)
def test_a_blank_fails_every_check_and_is_called_blank(exercise):
    for message in verdicts(exercise, BANKS[exercise].source("blank")).values():
        assert "still blank" in message
