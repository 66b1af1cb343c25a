"""Optional dependencies: what to do, and what to say, when one is missing."""

import importlib
from types import ModuleType

# Import name -> what to type to get it. The extras are those of pyproject.toml.
INSTALL = {
    "torch": "pip install torch",
    "matplotlib": "pip install matplotlib",
    "sklearn": "pip install scikit-learn",
    "anywidget": "pip install anywidget",
    "nbgrader": 'pip install "backprop_course[grading]"',
}
NAMES = {"torch": "PyTorch", "sklearn": "scikit-learn"}


def _say(module: str, purpose: str) -> str:
    name = NAMES.get(module, module)
    return f"{name} is not installed, and {purpose} needs it: {INSTALL[module]}"


def require(module: str, purpose: str) -> ModuleType:
    """Import `module` (dotted names too), or raise ModuleNotFoundError saying what to install.

    `purpose` is the subject of the sentence: require("torch", "measuring saved tensors").
    """
    top = module.split(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != top:
            raise  # the module is there, something inside it is broken: not ours to rename
        raise ModuleNotFoundError(_say(top, purpose), name=top) from None


def optional(module: str, purpose: str = "this comparison") -> ModuleType | None:
    """Import `module`, or print one line that says what to install and return None."""
    try:
        return require(module, purpose)
    except ModuleNotFoundError as error:
        print(f"Skipped. {error.msg}")
        return None
