"""Your turn in lesson 01: the line graph with new numbers, and one neuron twice."""

from numbers import Real

from ...chain_rule import line_graph, neuron_graph
from ._say import report

__all__ = ["check_line", "check_neuron"]


def near(value: float, right: float) -> bool:
    """Equal to about four digits, as far as a student computes on paper."""
    return abs(value - right) <= 1e-3 * max(1, abs(right))


def compare(given: dict, right: dict, mistakes: dict) -> bool | str:
    """True, or a sentence on the first wrong number; mistakes: name -> {wrong value: why}."""
    for name, value in given.items():
        if not isinstance(value, Real):
            return f"{name} is a {type(value).__name__}, expected a number"
        if near(value, right[name]):
            continue
        for wrong, why in mistakes.get(name, {}).items():
            if near(value, wrong):
                return f"{name} is {value:g}: {why}"
        if near(-value, right[name]):
            return f"{name} has the wrong sign"
        return f"{name} is not {value:g}: multiply what arrives from above by the local slope"
    return True


@report("the line graph with w = 2, b = −1, x = 4, y = 5")
def check_line(de, dv, du, db, dw):
    graph = line_graph(2, -1, 4, 5)
    values, right = graph.forward(), graph.backward()
    e, x = values["e"], values["x"]
    return compare(
        {"de": de, "dv": dv, "du": du, "db": db, "dw": dw},
        {f"d{name}": adjoint for name, adjoint in right.items()},
        {
            "de": {e: "the slope of e² is 2e, not e"},
            "db": {0.0: "b is added, and an addition passes the whole adjoint on"},
            "dw": {
                right["x"]: "that is dx; the slope of w x with respect to w is x",
                x: "that is the local slope alone; multiply it by what arrives, du",
            },
        },
    )


@report("one neuron: sigmoid, then ReLU")
def check_neuron(dz_sigmoid, dw_sigmoid, dw_relu):
    smooth = neuron_graph("sigmoid")
    s, right, dead = smooth.forward()["s"], smooth.backward(), neuron_graph("relu").backward()
    return compare(
        {"dz_sigmoid": dz_sigmoid, "dw_sigmoid": dw_sigmoid, "dw_relu": dw_relu},
        {"dz_sigmoid": right["z"], "dw_sigmoid": right["w"], "dw_relu": dead["w"]},
        {
            "dz_sigmoid": {
                right["s"]: "that is ds; multiply it by the sigmoid's slope, s (1 − s)",
                s * (1 - s): "that is the slope alone; multiply it by what arrives, s − y",
                2 * right["z"]: "twice too much; the ½ in the loss cancels the 2 of the square",
            },
            "dw_sigmoid": {
                right["x"]: "that is dx; the slope of w x with respect to w is x",
                right["z"]: "that is dz; multiply it by the slope of w x with respect to w",
            },
            "dw_relu": {
                wrong: "z is −1, where the ReLU is flat; what is upstream × 0?"
                for wrong in (dead["s"] * 2, right["w"])
            },
        },
    )
