"""Backpropagation, from the chain rule by hand to a working autograd engine.

One module a lesson: `chain_rule`, `matrix`, `activations`, `gradcheck`, `memory`, `autograd`,
`training` hold the maths; `checks` judges answers; `figures` draws; `grading` is for instructors.
Importing the package imports NumPy alone: torch and matplotlib wait until something needs them.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("backprop-course")
except PackageNotFoundError:  # a source tree on sys.path, not installed
    __version__ = "0+unknown"
