"""Checks of the ungraded your-turn cells, one module a lesson. `from backprop_course.checks.turns import check_…`"""

import importlib

# Where each check lives. Modules are imported when a check is asked for: some need more than NumPy.
_MODULES = ("chain_rule", "matrix", "activations", "gradcheck", "memory", "autograd", "training")


def __getattr__(name: str):
    if name.startswith("check_"):
        for module in _MODULES:
            found = getattr(importlib.import_module(f".{module}", __name__), name, None)
            if found:
                return found
    raise AttributeError(f"module {__name__!r} has no check named {name!r}")
