"""How a your-turn check speaks: one printed line, and never an exception, so that a lesson reads on."""

import functools

from .._core import quiet, raised


def report(label: str):
    """Make a check that returns None (not answered), True or a sentence (what is wrong) print it.

    An argument that is still `...` or None, or an answer that returns `...`, counts as not answered.
    """

    def decorate(check):
        @functools.wraps(check)
        def say(*answers) -> None:
            if any(answer is ... or answer is None for answer in answers):
                verdict = None
            else:
                try:
                    with quiet():
                        verdict = check(*answers)
                except Exception as error:
                    verdict = raised("your code", error)
            if verdict is None:
                print(f"{label}: not answered yet. Replace the `...` above, run both cells.")
            elif verdict is True:
                print(f"✓ {label}")
            else:
                print(f"✗ {label}: {verdict}")

        return say

    return decorate
