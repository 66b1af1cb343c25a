"""Your turn in lesson 03: GELU's slope, and the softmax's VJP."""

import numpy as np

from ...activations import gelu_backward, normal_cdf, normal_pdf, softmax, softmax_backward
from ._say import report

__all__ = ["check_gelu_slope", "check_softmax_vjp"]


@report("GELU's slope")
def check_gelu_slope(slope):
    z = np.array([-2.0, -0.5, 0.0, 1.0, 3.0])
    came = slope(z)
    if came is ... or came is None:
        return None
    if np.shape(came) != z.shape:
        return f"it has shape {np.shape(came)} for z of shape {z.shape}"
    if np.allclose(came, normal_cdf(z)):
        return "that is Φ(z) alone: the product rule has a second term, z times the slope of Φ"
    if np.allclose(came, normal_cdf(z) + normal_pdf(z)):
        return "the second term is z φ(z): the factor z is missing"
    return np.allclose(came, gelu_backward(1.0, z)) or "it is not Φ(z) + z φ(z)"


@report("the softmax's VJP")
def check_softmax_vjp(vjp):
    rng = np.random.default_rng(0)
    p, v = softmax(rng.normal(size=(3, 5))), rng.normal(size=(3, 5))
    came = vjp(v.copy(), p.copy())
    if came is ... or came is None:
        return None
    if np.shape(came) != p.shape:
        return f"it has shape {np.shape(came)} for v of shape {v.shape}"
    right = softmax_backward(v, np.log(p))
    if np.allclose(came, p * v):
        return "that is the diagonal part alone: subtract p times the sum of v p, row by row"
    if np.allclose(came, p * (v - (v * p).sum())):
        return "the sum runs over the whole array: one sum for each row (axis=-1, keepdims=True)"
    if np.allclose(came, v * p * (1 - p)):
        return "that is a sigmoid's slope: an entry of a softmax also depends on the other logits"
    return np.allclose(came, right) or "it is not p ⊙ (v − Σ v p)"
