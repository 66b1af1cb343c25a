"""Run every check with right answers over many seeds: not one may fail.

    python tests/flakes.py [--seeds 10000] [--only mlp_backward ...]

Right answers take turns, so that each check meets them all. A check that draws nothing from its
seed runs once for each right answer. Prints a line a check; the exit status is 1 if any failed.
"""

import argparse
import contextlib
import importlib
import io
import multiprocessing
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src" / "notebooks")]

import numpy as np  # noqa: E402

from backprop_course.checks._core import CheckFailed  # noqa: E402
from tests.references import define, source_of  # noqa: E402

EXERCISES = sorted(p.stem for p in (ROOT / "tests" / "bank").glob("[!_]*.py"))


def answers(exercise: str, name: str) -> list:
    """The reference and every right answer of the bank that define `name`."""
    codes = [source_of(name), *importlib.import_module(f"tests.bank.{exercise}").RIGHT.values()]
    return [define(code, name) for code in codes]


def failure(check, answer, seed: int) -> str:
    """What the check says of a right answer: '' unless it is wrong about it."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            check(answer, seed)
    except CheckFailed as failed:
        return str(failed)
    return ""


def draws(check, answer) -> bool:
    """Whether the check takes anything from its generator."""
    made, real = [], np.random.default_rng

    def remembered(seed):
        made.append((real(seed), real(seed)))
        return made[-1][0]

    np.random.default_rng = remembered
    try:
        failure(check, answer, 0)
    finally:
        np.random.default_rng = real
    used, fresh = made[0]
    return used.bit_generator.state != fresh.bit_generator.state


def trial(job: tuple[str, str, int]) -> tuple[str, int, list[str]]:
    """(exercise · label, runs, failures) of one check."""
    exercise, name, seeds = job
    check = getattr(importlib.import_module(f"backprop_course.checks.{exercise}"), name)
    students = answers(exercise, check.student)
    runs = seeds if draws(check, students[0]) else len(students)
    said = [failure(check, students[i % len(students)], i) for i in range(runs)]
    failures = [f"seed {i}: {text}" for i, text in enumerate(said) if text]
    return f"{exercise} · {check.label}", runs, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("--only", nargs="+", choices=EXERCISES, default=EXERCISES)
    options = parser.parse_args()
    jobs = [
        (exercise, name, options.seeds)
        for exercise in options.only
        for name in importlib.import_module(f"backprop_course.checks.{exercise}").__all__
    ]
    bad = 0
    with multiprocessing.Pool() as pool:
        for label, runs, failures in pool.imap_unordered(trial, jobs):
            print(f"{runs:6d} runs, {len(failures)} failures: {label}", flush=True)
            for text in failures[:3]:
                print("       " + text.replace("\n", "\n       "))
            bad += len(failures)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
