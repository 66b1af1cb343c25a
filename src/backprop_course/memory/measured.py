"""The memory of a real training step, in a fresh process."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from ..optional import optional, require


def can_measure():
    """Is there PyTorch and a system that counts a process's peak? If not, say so in one line."""
    if not optional("torch", "measuring the memory of a PyTorch run"):
        return False
    counted = importlib.util.find_spec("resource") is not None
    if not counted:
        print("Skipped. Windows has no `resource` module; run this cell on Linux, macOS or Colab.")
    return counted


def measured_peak(layers, width, batch, *, segments=0, grad=True, linear=True):
    """Layers, width, batch -> peak growth in MiB of a fresh process that runs them forward and back.

    A layer is Linear+tanh, or tanh alone with linear=False. segments = 0 keeps everything;
    grad=False only runs forward, under no_grad. On a GPU, CUDA's own count.
    """
    require("torch", "measuring the memory of a PyTorch run")
    job = json.dumps([layers, width, batch, segments, grad, linear])
    # A fixed threshold: every tensor goes back to the system when it is freed, none is hoarded.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
    command = [sys.executable, str(Path(__file__).with_name("_peak.py")), job]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the measuring process failed:\n{done.stderr[-2000:]}")
    return float(done.stdout)
