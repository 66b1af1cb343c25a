"""Pictures of lesson 05: activations alive over time, and what the number of segments trades."""

import numpy as np

from .. import memory
from .style import ADJOINT, ERROR, MUTED, PARAMETER, VALUE, Picture, axes


def memory_over_time(n: int = 16, slots: int = 3) -> Picture:
    """Activations alive after each step of a training step on n layers, one panel a schedule."""
    schedules = {
        "keep everything": (memory.keep_everything(n), VALUE),
        "√n segments": (memory.sqrt_schedule(n), ADJOINT),
        "recursive halving": (memory.recursive(n), PARAMETER),
        f"revolve, {slots} slots": (memory.revolve(n, slots), ERROR),
    }
    figure, panels = axes(2, 2, width=8, height=4.6, sharey=True)
    for ax, (name, (tape, colour)) in zip(panels.flat, schedules.items(), strict=True):
        alive = [len(event.kept) for event in tape.events]
        ax.fill_between(range(1, len(alive) + 1), alive, step="pre", color=colour, alpha=0.3)
        ax.step(range(1, len(alive) + 1), alive, where="pre", color=colour)
        turn = next(i for i, e in enumerate(tape.events, 1) if e.what == "back")
        ax.axvline(turn - 0.5, color=MUTED, ls="--", lw=1)
        ax.set_title(f"{name}: {tape.calls} forward calls, peak {tape.peak}", fontsize=10)
        ax.set(xlim=(0, None), ylim=(0, n + 2))
    for ax in panels[1]:
        ax.set_xlabel("steps (dashed: the backward pass begins)")
    for ax in panels[:, 0]:
        ax.set_ylabel("activations alive")
    return Picture(
        figure,
        f"Four panels: activations alive over the steps of one training step of {n} layers. "
        + " ".join(
            f"{name}: {tape.calls} forward calls, at most {tape.peak} alive."
            for name, (tape, _) in schedules.items()
        ),
    )


def kept_over_time(tape: memory.Tape, title: str) -> Picture:
    """Which activation is kept when: one row an activation, one column a step."""
    grid = np.array([[i in e.kept for e in tape.events] for i in range(tape.n + 1)])
    figure, ax = axes(width=8, height=3.2)
    ax.pcolormesh(grid, cmap="Blues", vmin=0, vmax=1.6, edgecolors="white", linewidth=0.3)
    marks = {"run": (">", VALUE), "rerun": ("^", PARAMETER), "back": ("v", ADJOINT)}
    labels = {"run": "forward", "rerun": "forward again", "back": "backward"}
    for what, (marker, colour) in marks.items():
        at = [(i + 0.5, e.layer + 0.5) for i, e in enumerate(tape.events) if e.what == what]
        if at:
            ax.plot(*zip(*at, strict=True), marker, color=colour, ms=4, label=labels[what])
    ax.set(xlabel="step", ylabel="activation", title=title, yticks=range(0, tape.n + 1, 4))
    ax.grid(False)
    ax.legend(fontsize=8, ncols=3, loc="upper left", bbox_to_anchor=(0, -0.18))
    return Picture(
        figure,
        f"{title}: a grid of activations 0 to {tape.n} against {len(tape.events)} steps. Shaded cells are "
        f"kept, at most {tape.peak} in a column; marks show which layer runs forward, forward again or backward.",
    )


def stored_against_segments(n: int = 64) -> Picture:
    """Stored activations and forward calls for 1 to n segments of sequential checkpointing."""
    segments = range(1, n + 1)
    tapes = [memory.sequential(n, s) for s in segments]
    figure, (left, right) = axes(1, 2, width=8, height=3.2)
    left.plot(segments, [t.stored for t in tapes], ".-", color=VALUE, ms=3)
    left.plot(segments, [s + n / s for s in segments], ":", color=ERROR)
    left.annotate("s + n/s", (n * 0.7, n * 0.7 + 4), ha="right", color=ERROR, fontsize=9)
    left.axvline(n**0.5, color=MUTED, ls="--", lw=1)
    left.annotate(
        f"√{n} = {n**0.5:g}", (n**0.5 + 1, 0.92), xycoords=("data", "axes fraction"), fontsize=9
    )
    left.set(xlabel="segments s", ylabel="stored activations", ylim=(0, None))
    right.plot(segments, [t.calls for t in tapes], "^-", color=ADJOINT, ms=3)
    right.axhline(n, color=MUTED, ls="--", lw=1)
    right.set(xlabel="segments s", ylabel="forward calls", ylim=(0, None))
    least = min(t.stored for t in tapes)
    return Picture(
        figure,
        f"Left: stored activations against the number of segments for {n} layers, from {n + 1} at 1 segment down "
        f"to {least} near √{n} and up again; they touch the dotted curve s + n/s where s divides {n} and jump "
        f"above it elsewhere. Right: forward calls, from {n} at 1 segment to {tapes[-1].calls}.",
    )
