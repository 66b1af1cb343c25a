"""Lesson 03, activations and losses: each forward with its backward beside it.

`f_backward(dY, *inputs)` sends the upstream gradient dY back to the inputs. float32 stays float32,
float64 stays float64, and nothing overflows.
"""

import math

import numpy as np

SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
CUBIC = 0.044715  # tanh-GELU's coefficient, Hendrycks and Gimpel, arXiv 1606.08415


# ---- elementwise ---------------------------------------------------------------------------


def relu(Z):
    """Z (any shape) -> max(Z, 0), the same shape."""
    return np.maximum(Z, 0)


def relu_backward(dY, Z):
    """dY, Z -> dZ: dY where Z > 0, else 0; the slope at the kink counts as 0."""
    return np.where(Z > 0, dY, 0)  # not dY * (Z > 0): that makes −0 of negative adjoints


def sigmoid(Z):
    """Z -> 1 / (1 + exp(−Z))."""
    # exp of a negative number only: nothing overflows, and 1 − σ keeps its digits.
    E = np.exp(-np.abs(Z))
    return np.where(Z >= 0, 1, E) / (1 + E)


def sigmoid_backward(dY, Z):
    """dY, Z -> dZ = dY σ(Z) (1 − σ(Z))."""
    return dY * sigmoid(Z) * sigmoid(-Z)  # 1 − σ(z) = σ(−z), without cancellation


def tanh(Z):
    """Z -> tanh Z."""
    return np.tanh(Z)


def tanh_backward(dY, Z):
    """dY, Z -> dZ = dY (1 − tanh² Z)."""
    # 1 − tanh² z = 4 σ(2z) σ(−2z), which keeps its digits where tanh z rounds to ±1.
    return dY * 4 * sigmoid(2 * Z) * sigmoid(-2 * Z)


def silu(Z):
    """Z -> Z σ(Z), also called swish."""
    return Z * sigmoid(Z)


def silu_backward(dY, Z):
    """dY, Z -> dZ = dY σ(Z) (1 + Z (1 − σ(Z)))."""
    S = sigmoid(Z)
    return dY * S * (1 + Z * sigmoid(-Z))


_erfc = np.frompyfunc(math.erfc, 1, 1)  # the C library's: right to an ulp, unlike short polynomials


def normal_cdf(Z):
    """Z -> Φ(Z), the standard normal distribution function."""
    Z = np.asarray(Z)
    return np.asarray(_erfc(Z / -math.sqrt(2)) / 2, dtype=np.result_type(Z.dtype, np.float32))


def normal_pdf(Z):
    """Z -> φ(Z) = exp(−Z²/2) / √(2π)."""
    return np.exp(-Z * Z / 2) / math.sqrt(2 * math.pi)


def gelu(Z):
    """Z -> Z Φ(Z), the exact form (Hendrycks and Gimpel, arXiv 1606.08415)."""
    return Z * normal_cdf(Z)


def gelu_backward(dY, Z):
    """dY, Z -> dZ = dY (Φ(Z) + Z φ(Z))."""
    return dY * (normal_cdf(Z) + Z * normal_pdf(Z))


def gelu_tanh(Z):
    """Z -> ½ Z (1 + tanh(√(2/π) (Z + 0.044715 Z³))), the form of GPT-2."""
    return 0.5 * Z * (1 + np.tanh(SQRT_2_OVER_PI * (Z + CUBIC * Z**3)))


def gelu_tanh_backward(dY, Z):
    """dY, Z -> dZ = dY (½ (1 + t) + ½ Z (1 − t²) √(2/π) (1 + 3 · 0.044715 Z²)), t the tanh above."""
    T = np.tanh(SQRT_2_OVER_PI * (Z + CUBIC * Z**3))
    inner = SQRT_2_OVER_PI * (1 + 3 * CUBIC * Z**2)
    return dY * (0.5 * (1 + T) + 0.5 * Z * (1 - T * T) * inner)


# ---- softmax and cross-entropy -------------------------------------------------------------


def log_sum_exp(Z):
    """Z (..., K) -> log Σ exp(Z) over the last axis (...,)."""
    top = Z.max(axis=-1, keepdims=True)  # subtracted and added again: exp stays at most 1
    return np.log(np.exp(Z - top).sum(axis=-1)) + top[..., 0]


def softmax(Z):
    """Z (..., K) -> P (..., K): positive rows that sum to 1."""
    E = np.exp(Z - Z.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def softmax_backward(dP, Z):
    """dP (..., K), Z (..., K) -> dZ = P ⊙ (dP − ⟨dP, P⟩), in O(K) a row: no Jacobian is formed."""
    P = softmax(Z)
    return P * (dP - (dP * P).sum(axis=-1, keepdims=True))


def log_softmax(Z):
    """Z (..., K) -> log P (..., K), finite where P rounds to 0."""
    S = Z - Z.max(axis=-1, keepdims=True)  # Z − log_sum_exp(Z) would round twice at Z's size
    return S - np.log(np.exp(S).sum(axis=-1, keepdims=True))


def log_softmax_backward(dY, Z):
    """dY (..., K), Z (..., K) -> dZ = dY − P Σ dY."""
    return dY - softmax(Z) * dY.sum(axis=-1, keepdims=True)


def targets(Z, Y):
    """Logits Z (B, K), labels (B,) or distributions Y (B, K) -> distributions (B, K) of Z's dtype.

    Raises ValueError for an empty batch, a wrong shape, a label outside 0..K−1, or a row of Y
    that does not sum to 1: the gradient p − y holds for those that do.
    """
    if Z.ndim != 2 or 0 in Z.shape:
        raise ValueError(
            f"Z has shape {Z.shape}: expected (B, K) with at least one example and class"
        )
    Y, K = np.asarray(Y), Z.shape[1]
    if Y.shape == Z.shape:
        if not np.allclose(Y.sum(axis=1), 1, atol=1e-5):
            raise ValueError("Y has a row that does not sum to 1: give one distribution an example")
        return Y.astype(Z.dtype, copy=False)
    if Y.shape != Z.shape[:1] or Y.dtype.kind not in "iu":
        raise ValueError(
            f"Y is {Y.dtype} {Y.shape}: expected labels {Z.shape[:1]} or rows {Z.shape}"
        )
    if Y.min() < 0 or Y.max() >= K:
        raise ValueError(f"Y holds labels from {Y.min()} to {Y.max()}: expected 0 to {K - 1}")
    return np.eye(K, dtype=Z.dtype)[Y]


def cross_entropy(Z, Y):
    """Logits Z (B, K), labels (B,) or targets Y (B, K) -> the mean of −Σ Y log P, a scalar."""
    Y = targets(Z, Y)
    return np.mean((Y * -log_softmax(Z)).sum(axis=1))


def cross_entropy_backward(Z, Y):
    """Logits Z (B, K), labels (B,) or targets Y (B, K) with rows that sum to 1 -> dZ = (P − Y) / B."""
    Y = targets(Z, Y)  # first: it refuses what has no mean
    return (softmax(Z) - Y) / len(Z)
