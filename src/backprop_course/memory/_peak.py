"""One training step of a chain in a process of its own; prints by how many MiB its peak grew.

    python _peak.py '[layers, width, batch, segments, grad, linear]'

Run as a file: importing the course package here would only add to what is measured.
"""

import json
import sys
from pathlib import Path

import torch
from torch.utils.checkpoint import checkpoint_sequential

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STATUS = Path("/proc/self/status")


def peak():
    """The most memory in use so far, in MiB: CUDA's own count, or the process's."""
    if DEVICE == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    if (
        STATUS.exists()
    ):  # Linux; its ru_maxrss would start at the peak of the process that began this one
        (line,) = (x for x in STATUS.read_text().splitlines() if x.startswith("VmHWM:"))
        return int(line.split()[1]) / 2**10
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # macOS counts bytes


def block(width, linear):
    maps = [torch.nn.Linear(width, width, bias=False)] if linear else []
    return torch.nn.Sequential(*maps, torch.nn.Tanh())


def step(layers, width, batch, segments, grad, linear):
    """Forward, and backward if `grad`: how much the peak grew, in MiB."""
    net = torch.nn.Sequential(*[block(width, linear) for _ in range(layers)]).to(DEVICE)
    x = torch.ones(batch, width, requires_grad=True, device=DEVICE)
    start = peak()
    with torch.set_grad_enabled(grad):
        y = checkpoint_sequential(net, segments, x, use_reentrant=False) if segments else net(x)
    if grad:
        y.sum().backward()
    return peak() - start


if __name__ == "__main__":
    torch.set_num_threads(1)
    job = json.loads(sys.argv[1])
    step(2, 8, 2, min(job[3], 2), *job[4:])  # a first call imports modules: not what we measure
    print(step(*job))
