"""Every test is deterministic: hypothesis draws the same examples, BLAS has one thread."""

import os
import sys
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from hypothesis import settings  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src" / "notebooks"))  # build.py is a script, not in the package

settings.register_profile("course", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("course")
