"""Lesson 02, matrix backward: the linear layer, broadcasting undone, and what both cost."""

import math

import numpy as np


def linear(X, W, b=None):
    """X (B, n), W (n, m), b (m,) -> Y = X W + b (B, m)."""
    if X.ndim != 2 or W.ndim != 2 or X.shape[1] != W.shape[0]:
        raise ValueError(f"X has shape {X.shape}, W {W.shape}: expected (B, n) and (n, m)")
    Y = X @ W  # (B, m)
    return Y if b is None else bias(Y, b)


def linear_backward(dY, X, W, b=None):
    """dY (B, m), X (B, n), W (n, m) -> dX (B, n), dW (n, m), db (m,); without b no db.

    dX = dY Wᵀ, dW = Xᵀ dY, db = the sum of dY's rows.
    """
    if X.ndim != 2 or dY.shape != (len(X), W.shape[1]):
        raise ValueError(
            f"dY has shape {dY.shape}, X {X.shape}, W {W.shape}: expected (B, m), (B, n) and (n, m)"
        )
    dX, dW = dY @ W.T, X.T @ dY  # (B, n), (n, m)
    return (dX, dW) if b is None else (dX, dW, dY.sum(axis=0))


def bias(X, b):
    """X (B, m), b (m,) -> X + b (B, m), b added to each row."""
    if b.shape != X.shape[1:]:
        raise ValueError(f"b has shape {b.shape}, expected {X.shape[1:]}: one entry a column of X")
    return X + b


def bias_backward(dY, X, b):
    """dY (B, m), X (B, m), b (m,) -> dX (B, m), db (m,): b is used B times, its adjoints add."""
    return dY, unbroadcast(dY, b.shape)


def unbroadcast(dY, shape):
    """dY (the broadcast shape), shape of the input -> dX of that shape.

    Broadcasting copies entries, and a copy is a fan-out: its backward sums over the copies.
    Raises ValueError where `shape` does not broadcast to dY's.
    """
    shape = tuple(shape)
    extra = dY.ndim - len(shape)
    stretched = tuple(i for i, n in enumerate(shape, extra) if n == 1)
    if extra < 0 or any(n not in (1, dY.shape[i]) for i, n in enumerate(shape, extra)):
        raise ValueError(
            f"shape {shape} does not broadcast to {dY.shape}, so there is nothing to undo"
        )
    if extra == 0 and not stretched:
        return dY
    return dY.sum(axis=(*range(extra), *stretched), keepdims=True).reshape(shape)


def linear_flops(B, n, m):
    """Rows B, sizes n and m -> FLOPs {"forward": 2Bnm, "dX": 2Bnm, "dW": 2Bnm}.

    A product of (p, q) and (q, r) takes pqr multiplications and as many additions. Biases and
    elementwise work, O(Bm), are left out.
    """
    one = 2 * B * n * m
    return {"forward": one, "dX": one, "dW": one}


def training_flops(parameters, tokens):
    """Weights N in matrices, tokens D -> 6ND FLOPs: 2ND forward, 4ND backward.

    Kaplan et al., arXiv 2001.08361. Attention scores, embeddings and elementwise work are left out.
    """
    return 6 * parameters * tokens


def frobenius(A, B):
    """A, B (one shape) -> the inner product ⟨A, B⟩ = Σ A_ij B_ij, a float."""
    if A.shape != B.shape:
        raise ValueError(f"an inner product needs one shape, got {A.shape} and {B.shape}")
    return math.fsum((A * B).ravel()) if A.dtype == np.float64 else float(np.sum(A * B))
