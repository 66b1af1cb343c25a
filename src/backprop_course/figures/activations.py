"""Pictures of lesson 03: activations with their slopes, the two GELUs, and products of slopes over depth."""

import numpy as np

from .. import activations as act
from .style import ADJOINT, ERROR, INK, PARAMETER, VALUE, Picture, axes

FUNCTIONS = {
    "ReLU": (act.relu, act.relu_backward),
    "GELU": (act.gelu, act.gelu_backward),
    "SiLU": (act.silu, act.silu_backward),
    "tanh": (act.tanh, act.tanh_backward),
    "sigmoid": (act.sigmoid, act.sigmoid_backward),
}


def values_and_slopes() -> Picture:
    """Each activation (solid) with its slope (dashed), from −4 to 4."""
    z = np.linspace(-4, 4, 401)
    figure, panels = axes(1, len(FUNCTIONS), width=10, height=2.6, sharey=True)
    for ax, (name, (f, backward)) in zip(panels, FUNCTIONS.items(), strict=True):
        ax.plot(z, f(z), color=VALUE, label="value")
        ax.plot(z, backward(1.0, z), color=ADJOINT, ls="--", label="slope")
        ax.set(title=name, xlabel="z", ylim=(-1.2, 2.2))
    panels[0].legend(loc="upper left", fontsize=8)
    return Picture(
        figure,
        "Five activations and their slopes. ReLU's slope jumps from 0 to 1; those of GELU and SiLU pass "
        "smoothly from 0 over a maximum above 1 to 1; those of tanh and sigmoid are bumps of height 1 and 1/4.",
    )


def gelu_gap() -> Picture:
    """The difference of GELU and its tanh form, in value and in slope."""
    z = np.linspace(-6, 6, 1201)
    figure, ax = axes(height=3)
    ax.plot(z, act.gelu_tanh(z) - act.gelu(z), color=VALUE, label="value")
    ax.plot(
        z,
        act.gelu_tanh_backward(1, z) - act.gelu_backward(1, z),
        color=ADJOINT,
        ls="--",
        label="slope",
    )
    ax.axhline(0, color=INK, lw=0.8)
    ax.set(xlabel="z", ylabel="tanh form − exact")
    ax.legend()
    return Picture(
        figure,
        "The tanh form of GELU minus the exact one, from −6 to 6: the values differ by less than 0.0005, "
        "most near z = ±2.7, the slopes by less than 0.0009, most near z = ±2.",
    )


def slopes_over_depth(depth: int = 30, width: int = 64, seed: int = 0) -> Picture:
    """The size of the adjoint over depth, for three ways of drawing the weights of a ReLU network."""
    figure, ax = axes(height=3.2)
    styles = (
        (0.5**0.5, VALUE, "v", "too small: variance 1/n"),
        (1.0, PARAMETER, "o", "He: variance 2/n"),
    )
    for factor, colour, marker, label in (*styles, (2**0.5, ERROR, "^", "too large: variance 4/n")):
        sizes = adjoint_sizes(depth, width, factor * np.sqrt(2 / width), seed)
        layers = np.arange(depth, -1, -1)
        ax.semilogy(layers, sizes, color=colour, marker=marker, ms=3, label=label)
    ax.set(xlabel="layer (the loss is at the right)", ylabel="size of the adjoint")
    ax.legend()
    return Picture(
        figure,
        f"The size of the adjoint through {depth} ReLU layers on a logarithmic scale. With variance 1/n it "
        "shrinks by about 0.7 a layer, with 4/n it grows by about 1.4, with 2/n it keeps its size.",
    )


def adjoint_sizes(depth, width, scale, seed) -> list[float]:
    """The norm of the adjoint from the output back to the input of a random ReLU network."""
    rng = np.random.default_rng(seed)
    weights = [scale * rng.normal(size=(width, width)) for _ in range(depth)]
    A, masks = rng.normal(size=(32, width)), []
    for W in weights:
        Z = A @ W
        masks.append(Z > 0)
        A = act.relu(Z)
    G = rng.normal(size=A.shape)
    sizes = [np.linalg.norm(G)]
    for W, mask in zip(reversed(weights), reversed(masks), strict=True):
        G = (G * mask) @ W.T
        sizes.append(np.linalg.norm(G))
    return sizes
