"""Pictures of lesson 05: activations alive over time, and what the number of segments trades."""

from .. import memory
from .style import ADJOINT, ERROR, MUTED, PARAMETER, VALUE, Picture, axes


def memory_over_time(n: int = 16) -> Picture:
    """Live activations after each step of a training step, for each schedule on n layers."""
    schedules = {
        "keep everything": (memory.keep_everything(n), VALUE, "-"),
        "sequential, √n segments": (memory.sqrt_schedule(n), ADJOINT, "--"),
        "recursive halving": (memory.recursive(n), PARAMETER, "-."),
        "revolve, 3 slots": (memory.revolve(n, 3), ERROR, ":"),
    }
    figure, ax = axes(width=8, height=3.6)
    for name, (tape, colour, style) in schedules.items():
        live = [events[2] for events in tape.events]
        label = f"{name}: {tape.calls} forward steps, peak {tape.peak}"
        ax.step(range(1, len(live) + 1), live, where="post", color=colour, ls=style, label=label)
    ax.set(
        xlabel="step (forward, forward again, or backward)",
        ylabel="activations alive",
        ylim=(0, None),
    )
    ax.legend(fontsize=8)
    return Picture(
        figure,
        f"Activations alive over the steps of training {n} layers. Keeping everything climbs to {n + 1} and "
        "falls again. Sequential checkpointing stays near half of that in a zigzag; recursive halving and "
        "revolve stay lower still and take longer.",
    )


def stored_against_segments(n: int = 64) -> Picture:
    """Stored activations and forward calls for 1 to n segments of sequential checkpointing."""
    segments = range(1, n + 1)
    tapes = [memory.sequential(n, s) for s in segments]
    figure, (left, right) = axes(1, 2, width=8, height=3.2)
    left.plot(segments, [t.stored for t in tapes], ".-", color=VALUE, ms=3)
    left.axvline(n**0.5, color=MUTED, ls="--", lw=1)
    left.annotate(
        f"√{n} = {n**0.5:g}", (n**0.5 + 1, 0.92), xycoords=("data", "axes fraction"), fontsize=9
    )
    left.set(xlabel="segments", ylabel="stored activations", ylim=(0, None))
    right.plot(segments, [t.calls for t in tapes], "^-", color=ADJOINT, ms=3)
    right.axhline(n, color=MUTED, ls="--", lw=1)
    right.set(xlabel="segments", ylabel="forward calls", ylim=(0, None))
    least = min(t.stored for t in tapes)
    return Picture(
        figure,
        f"Left: stored activations against the number of segments for {n} layers, from {n + 1} at 1 segment down "
        f"to {least} near √{n} and up again, with jumps where segments do not divide evenly. Right: forward calls, "
        f"from {n} at 1 segment to nearly {2 * n}.",
    )
