"""Lesson 05, memory: what training keeps, what a transformer layer keeps, and how checkpointing trades it.

`saved_numbers` counts what PyTorch saves, `gpt_layer_terms` what theory says; the schedules run on a
tape that counts while they run; `measured_peak` is the memory of a real process.
"""

from backprop_course.memory.measured import can_measure, measured_peak
from backprop_course.memory.saved import gpt_layer_terms, saved_numbers
from backprop_course.memory.tape import (
    Event,
    Tape,
    every_segment,
    fewest_steps,
    keep_everything,
    recursive,
    revolve,
    sequential,
    sqrt_schedule,
)

__all__ = [
    "Event",
    "Tape",
    "can_measure",
    "every_segment",
    "fewest_steps",
    "gpt_layer_terms",
    "keep_everything",
    "measured_peak",
    "recursive",
    "revolve",
    "saved_numbers",
    "sequential",
    "sqrt_schedule",
]
