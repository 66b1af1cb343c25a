"""Your turn in lesson 01: the line graph with new numbers, and one neuron twice."""

from ...chain_rule import line_graph, neuron_graph
from ._say import report

__all__ = ["check_line", "check_neuron"]


def compare(given: dict, right: dict) -> bool | str | None:
    """The first adjoint, in backward order, that is not what it should be."""
    if any(value is ... for value in given.values()):
        return None
    for name, value in given.items():
        if not isinstance(value, (int, float)):
            return f"{name} is a {type(value).__name__}, expected a number"
        if abs(value - right[name]) > 1e-3 * max(1, abs(right[name])):
            return mistake(name, value, right[name])
    return True


def mistake(name: str, value: float, right: float) -> str:
    if abs(value + right) < 1e-3 * max(1, abs(right)):
        return f"{name} has the wrong sign"
    if abs(2 * value - right) < 1e-3 * max(1, abs(right)):
        return f"{name} is half of what it should be: the slope of e² is 2e"
    return f"{name} is not {value:g}: multiply what arrives from above by the local slope"


@report("the line graph with w = 2, b = −1, x = 4, y = 5")
def check_line(de, dv, du, db, dw):
    right = {f"d{k}": v for k, v in line_graph(2, -1, 4, 5).backward().items()}
    return compare({"de": de, "dv": dv, "du": du, "db": db, "dw": dw}, right)


@report("one neuron: sigmoid, then ReLU")
def check_neuron(dz_sigmoid, dw_sigmoid, dw_relu):
    smooth, dead = neuron_graph("sigmoid").backward(), neuron_graph("relu").backward()
    verdict = compare(
        {"dz_sigmoid": dz_sigmoid, "dw_sigmoid": dw_sigmoid},
        {"dz_sigmoid": smooth["z"], "dw_sigmoid": smooth["w"]},
    )
    if verdict is not True:
        return verdict
    if dw_relu != dead["w"]:
        return "dw_relu: z is −1, so the ReLU is flat there; what is 'upstream × 0'?"
    return True
