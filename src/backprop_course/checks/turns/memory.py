"""Your turn in lesson 05: the best number of segments for 64 layers."""

import numpy as np

from ...memory import sequential
from ._say import report

__all__ = ["check_best_segments"]


@report("the number of segments that stores least for 64 layers")
def check_best_segments(segments):
    if not isinstance(segments, (int, np.integer)):
        return f"segments is a {type(segments).__name__}, expected an integer"
    if not 1 <= segments <= 64:
        return f"segments is {segments}: expected 1 to 64"
    least = min(sequential(64, s).stored for s in range(1, 65))
    stored = sequential(64, segments).stored
    return stored == least or f"{segments} segments store {stored} activations; it goes lower"
