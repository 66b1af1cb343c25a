"""Sample submissions, made from the release and the bank of answers, and graded by real nbgrader.

python tests/samples.py        what `make grade` runs: prints a table of scores
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [
    str(Path(__file__).resolve().parents[1]),
    str(Path(__file__).resolve().parents[1] / "src" / "notebooks"),
]

from tests.bank import checkpoint_counts, mlp_backward, numerical_gradient  # noqa: E402
from tests.course import Course  # noqa: E402

BANKS = {
    "mlp_backward": mlp_backward,
    "numerical_gradient": numerical_gradient,
    "checkpoint_counts": checkpoint_counts,
}
POINTS = {"mlp_backward": 10, "numerical_gradient": 10, "checkpoint_counts": 6}


class Sample(NamedTuple):
    """One submission: who, which exercise, the code of the first solution cell, and the score it deserves."""

    student: str
    exercise: str
    code: str | None
    score: float


def wrong(exercise: str, name: str, score: float) -> Sample:
    return Sample(f"wrong-{name}".replace(" ", "-"), exercise, BANKS[exercise].source(name), score)


SAMPLES = [
    *(Sample("right", e, BANKS[e].PLAIN, POINTS[e]) for e in BANKS),
    Sample("right-another-way", "mlp_backward", mlp_backward.RIGHT["einsum"], 10),
    Sample("right-another-way", "numerical_gradient", numerical_gradient.RIGHT["unit vectors"], 10),
    Sample("right-another-way", "checkpoint_counts", checkpoint_counts.RIGHT["simulated"], 6),
    Sample("right-and-chatty", "mlp_backward", mlp_backward.RIGHT["chatty"], 10),
    *(Sample("blank", e, None, 0) for e in BANKS),
    wrong("mlp_backward", "no mean", 1),
    wrong("mlp_backward", "unstable softmax", 9),
    wrong("mlp_backward", "a loop", 8),
    wrong("numerical_gradient", "forward", 2),
    wrong("numerical_gradient", "not restored", 2),
    wrong("numerical_gradient", "mean", 8),
    wrong("checkpoint_counts", "ceil for floor", 4),
    wrong("checkpoint_counts", "swapped", 0),
    wrong("checkpoint_counts", "no error", 5),
    Sample("crashes", "mlp_backward", "import os\n\ndef mlp_backward(*a):\n    os._exit(1)\n", 0),
    Sample("crashes", "numerical_gradient", "raise SystemError('half of it is missing'", 0),
    Sample("crashes", "checkpoint_counts", "def checkpoint_counts(n, s):\n    return 1 / 0\n", 0),
    Sample("never-ends", "checkpoint_counts", "while True:\n    pass\n", 0),
]


def hand_in(course: Course, samples=SAMPLES) -> None:
    for sample in samples:
        answers = {sample.exercise: sample.code} if sample.code else {}
        if sample.exercise == "numerical_gradient" and sample.code:
            answers["rel_error"] = ""  # the bank's answers hold both functions
        course.submit(sample.student, sample.exercise, answers)


def main() -> None:
    with tempfile.TemporaryDirectory() as root:
        course = Course(Path(root), list(BANKS))
        hand_in(course)
        for exercise in BANKS:
            print(f"grading {exercise} …", flush=True)
            course.nbgrader("autograde", exercise, check=False)
        scores = course.scores()
    print(f"\n{'exercise':20} {'submission':28} {'score':>6} {'expected':>9}")
    for s in SAMPLES:
        got = scores.get((s.student, s.exercise))
        shown = "none" if got is None else f"{got:g}"
        print(f"{s.exercise:20} {s.student:28} {shown:>6} {s.score:>9g}")
    if any(scores.get((s.student, s.exercise)) != s.score for s in SAMPLES):
        sys.exit("some scores are not what they should be")


if __name__ == "__main__":
    main()
