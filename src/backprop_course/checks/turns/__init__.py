"""Checks of the ungraded your-turn cells, one module a lesson. `from backprop_course.checks.turns import check_…`"""

import importlib
import pkgutil


def __getattr__(name: str):
    # Modules are imported when a check is asked for: some need more than NumPy.
    if name.startswith("check_"):
        for module in pkgutil.iter_modules(__path__):
            if not module.name.startswith("_"):
                found = importlib.import_module(f".{module.name}", __name__)
                if hasattr(found, name):
                    return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no check named {name!r}")
