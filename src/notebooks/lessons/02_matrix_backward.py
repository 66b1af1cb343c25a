# %% [markdown]
# # 2 · Matrix backward
#
# **After this lesson** you can differentiate a layer as a whole, without indices. You know why $dX = G W^{\mathsf T}$ and $dW = X^{\mathsf T} G$, can check both by their shapes, and can say what a
# training step costs before you run it.
#
# **You need** [lesson 1](01_chain_rule.ipynb) and matrix products. **Allow** 60 minutes.

# %% [markdown] tags=["quiz"]
# **Predict first.** A layer computes $Z = A W + b$ with `A` of shape 32×100 and `Z` of shape 32×10. Its gradient `dZ` has the shape of `Z`. Which expression is `dW`?
#
# - ( ) `dZ @ A.T` :: The shapes are 32×10 and 100×32: they do not fit. And `dW` must be 100×10, like `W`.
# - (x) `A.T @ dZ` :: 100×32 times 32×10 is 100×10, the shape of `W`. The inner size is the batch: the product sums over the examples.
# - ( ) `dZ.T @ A` :: This is 10×100, the transpose of what is wanted. With square matrices the slip raises no error.
# - ( ) `A @ dZ` :: The shapes are 32×100 and 32×10: they do not fit.

# %% [markdown] tags=["quiz"]
# **Predict first.** A forward pass costs $F$. What does the backward pass cost?
#
# - ( ) `F` :: Each layer is passed once, but with two products: one for the weights, one for the inputs. Section 2.4.
# - (x) about `2F` :: Two products of the forward's size in each layer. Section 2.4 counts and measures it.
# - ( ) `F` times the number of layers :: Each layer is visited once, as on the way forward.

# %% [markdown] tags=["quiz"]
# **Predict first.** A layer has 1000 inputs and 1000 outputs, and a batch has 64 examples. How large is the Jacobian that the backward pass builds?
#
# - ( ) 1000×1000 :: That is the Jacobian of one example. It happens to be `W` transposed, which is there already.
# - ( ) 64,000×64,000 :: That would be the Jacobian of the whole batch, over four billion numbers, nearly all of them 0.
# - (x) It builds none :: It multiplies by `W.T`, which is not a new matrix. "It multiplies big Jacobians" is how the chain rule is written, not how it is computed. Section 2.5.

# %%
from time import perf_counter

import numpy as np

from backprop_course.figures.matrix import products_to_scale
from backprop_course.matrix import (
    frobenius,
    linear,
    linear_backward,
    linear_flops,
    training_flops,
    unbroadcast,
)
from backprop_course.optional import optional

# %% [markdown]
# ## 2.1 Two by two, by hand
#
# Rows are examples: $X$ is $(B, n)$, with one example in each row. The layer $Y = X W$ maps each row by the weights $W$, of shape $(n, m)$. Take
#
# $$X = \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}, \qquad W = \begin{pmatrix} 5 & 6 \\ 7 & 8 \end{pmatrix}, \qquad Y = X W = \begin{pmatrix} 19 & 22 \\ 43 & 50 \end{pmatrix}.$$
#
# From the layers above arrives $G = dY$, the derivative of the loss with respect to each entry of $Y$ (the adjoints of lesson 1, in a matrix). Say $G = \begin{pmatrix} 1 & 2 \\ -1 & 0 \end{pmatrix}$.
#
# **One entry of $dW$.** Where does $W_{11}$ occur? In $Y_{11} = X_{11} W_{11} + X_{12} W_{21}$, with slope $X_{11} = 1$, and in $Y_{21} = X_{21} W_{11} + X_{22} W_{21}$, with slope $X_{21} = 3$. It is used twice, so
# contributions add: $dW_{11} = G_{11} \cdot 1 + G_{21} \cdot 3 = 1 - 3 = -2$.
#
# **One entry of $dX$.** $X_{11}$ occurs in $Y_{11}$ with slope $W_{11} = 5$ and in $Y_{12}$ with slope $W_{12} = 6$: $dX_{11} = 1 \cdot 5 + 2 \cdot 6 = 17$.
#
# Do the six other entries on paper. Then compare:

# %%
X, W = np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6], [7, 8]])
G = np.array([[1.0, 2], [-1, 0]])
dX, dW = linear_backward(G, X, W)
print("Y =", linear(X, W).tolist())
print("dX =", dX.tolist())
print("dW =", dW.tolist())

# %%
if torch := optional("torch"):
    x, w = (torch.tensor(a, requires_grad=True) for a in (X, W))
    (x @ w).backward(torch.tensor(G))
    print("PyTorch agrees:", np.array_equal(x.grad, dX) and np.array_equal(w.grad, dW))

# %% [markdown]
# ## 2.2 The backward of a linear layer
#
# The layer is $Z = X W + b$, with $X$ $(B, n)$, $W$ $(n, m)$, $b$ $(m,)$ added to each row, and $G = dZ$ $(B, m)$. The rule is
#
# $$dX = G W^{\mathsf T}, \qquad dW = X^{\mathsf T} G, \qquad db = \text{the column sums of } G.$$
#
# Here it is derived three times. The first derivation convinces, the second is quick, the third goes on working where indices become unreadable.

# %% [markdown]
# **First: entry by entry.** Written out, $Z_{ij} = \sum_k X_{ik} W_{kj} + b_j$. The entry $W_{kl}$ occurs in $Z_{ij}$ only when $j = l$, for every $i$, and the slope is then $X_{ik}$. Contributions add:
#
# $$dW_{kl} = \sum_i G_{il}\, X_{ik} = \sum_i (X^{\mathsf T})_{ki}\, G_{il} = (X^{\mathsf T} G)_{kl}.$$
#
# The entry $X_{ik}$ occurs in $Z_{ij}$ of the same row $i$, for every $j$, with slope $W_{kj}$:
#
# $$dX_{ik} = \sum_j G_{ij}\, W_{kj} = \sum_j G_{ij}\, (W^{\mathsf T})_{jk} = (G W^{\mathsf T})_{ik}.$$
#
# The entry $b_j$ occurs in $Z_{ij}$ for every $i$, with slope 1: $db_j = \sum_i G_{ij}$.

# %% [markdown]
# **Second: by shapes.** Suppose you remember that $dW$ is a product of $X$ and $G$, each perhaps transposed, in some order. A gradient has the shape of what it belongs to, so $dW$ is $(n, m)$. $X$ is $(B, n)$ and $G$ is $(B, m)$. Only $X^{\mathsf T} G$ has shape
# $(n, B)(B, m) = (n, m)$. In the same way only $G W^{\mathsf T}$, $(B, m)(m, n)$, has the shape of $X$.
#
# This is no proof: it takes for granted that the rule is such a product. And it fails silently when matrices are square. But when $B$, $n$, $m$ differ, it is the quickest check there is.

# %% [markdown]
# **Third: by differentials.** Write the inner product of two matrices as $\langle A, B \rangle = \sum_{ij} A_{ij} B_{ij}$. Let $Z$ change by a small $\delta Z$. Each entry contributes slope times change, so to first order the loss changes by
# $\delta\mathcal L = \langle G, \delta Z \rangle$; this is what "$G$ is the gradient" means. Two facts about the inner product are needed: $\langle A, B C \rangle = \langle A C^{\mathsf T}, B \rangle$ and $\langle A, B C \rangle = \langle B^{\mathsf T} A, C \rangle$. All three are the same sum
# $\sum_{ijk} A_{ij} B_{ik} C_{kj}$, grouped in different ways.
#
# Now change $X$ by $\delta X$, $W$ by $\delta W$ and $b$ by $\delta b$. With $\mathbf 1$ for a column of $B$ ones, adding $b$ to each row is adding $\mathbf 1 b^{\mathsf T}$. Multiply out $(X + \delta X)(W + \delta W) + \mathbf 1 (b + \delta b)^{\mathsf T}$ and subtract $Z$:
#
# $$\delta Z = \delta X\, W + X\, \delta W + \delta X\, \delta W + \mathbf 1\, \delta b^{\mathsf T}.$$
#
# The product $\delta X\, \delta W$ of two small changes is of second order and is dropped. Put the rest into $\langle G, \delta Z \rangle$ and move each known factor to the other side:
#
# $$\delta\mathcal L = \langle G,\; \delta X\, W \rangle + \langle G,\; X\, \delta W \rangle + \langle G,\; \mathbf 1\, \delta b^{\mathsf T} \rangle = \langle G W^{\mathsf T},\; \delta X \rangle + \langle X^{\mathsf T} G,\; \delta W \rangle + \langle \mathbf 1^{\mathsf T} G,\; \delta b^{\mathsf T} \rangle.$$
#
# What stands beside $\delta X$ is $dX$, beside $\delta W$ is $dW$, beside $\delta b^{\mathsf T}$ is $db$, as a row. And $\mathbf 1^{\mathsf T} G$ is the row of column sums. No index was needed.

# %%
rng = np.random.default_rng(0)
A, B, C = rng.normal(size=(4, 5)), rng.normal(size=(4, 3)), rng.normal(size=(3, 5))
print("<A, BC> = <A C^T, B>:", np.isclose(frobenius(A, B @ C), frobenius(A @ C.T, B)))
print("<A, BC> = <B^T A, C>:", np.isclose(frobenius(A, B @ C), frobenius(B.T @ A, C)))

# %% [markdown]
# The picture draws the three products to one scale. In each, two inner sizes meet and disappear. Forward it is $n$: each output sums over the inputs. For $dX$ it is $m$: each input sums over the outputs that used it. For $dW$ it is $B$: each weight sums over the examples that used it. *Every backward sum is a
# fan-out.*

# %%
products_to_scale(B=6, n=10, m=4)

# %% [markdown]
# **One token, as a column.** Many books write one example as a column and a layer as $y = W x$. Then the rule reads $\bar x = W^{\mathsf T} \bar y$. It is the same rule: transpose our row version, $dX^{\mathsf T} = (G W^{\mathsf T})^{\mathsf T} = W G^{\mathsf T}$, and
# note that the $W$ of the column version is our $W^{\mathsf T}$.

# %%
W_column = W.T
x, g = X[0], G[0]  # one example, as a vector
print("column rule:", W_column.T @ g, "  row rule:", g @ W.T)

# %% [markdown]
# **The mistakes.** With all sizes different, a wrong order or a missing transpose stops at once, or gives a result of the wrong shape. With square matrices it passes, and the numbers are wrong.

# %%
X3, W34, G3 = rng.normal(size=(5, 3)), rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
try:
    G3 @ W34  # should be W34.T
except ValueError as error:
    print("G @ W, different sizes:", str(error).split(",")[0])
print("G.T @ X, different sizes:", (G3.T @ X3).shape, "but W is", W34.shape)
wrong, right = G @ W, G @ W.T
print("G @ W, square: no error, but the same?", np.allclose(wrong, right))

# %% [markdown]
# The check that catches it needs no second derivation. Nudge one entry of $X$, see how fast $\langle G, Y \rangle$ moves, and compare. Why $\langle G, Y \rangle$? It is a scalar, and its gradient with respect to $Y$ is $G$, whatever $G$ is: a stand-in for the loss.

# %%
up, down = X.copy(), X.copy()
up[0, 0] += 1e-5
down[0, 0] -= 1e-5
nudged = (frobenius(G, up @ W) - frobenius(G, down @ W)) / 2e-5
print("nudged:", round(nudged, 6), "  G @ W.T:", right[0, 0], "  G @ W:", wrong[0, 0])

# %% [markdown] tags=["quiz"]
# **Quick check.** Someone writes `dW = G.T @ X` and tests it with `n = m = 64`. What happens?
#
# - ( ) An error, since the shapes do not fit :: `G.T` is 64×B and `X` is B×64: they fit.
# - ( ) Nothing bad, the result is right :: It is the transpose of the right matrix. Only by luck are the two equal.
# - (x) No error, and every gradient is that of another weight :: The result is `dW` transposed. Test with sizes that all differ, and compare with nudging.

# %% [markdown]
# ## 2.3 One example, one outer product
#
# Read $dW = X^{\mathsf T} G$ as a sum over the batch. Row $i$ of $X$ is what went into the layer for example $i$, row $i$ of $G$ is what comes back:
#
# $$dW = \sum_{i=1}^{B} x_i\, g_i^{\mathsf T}, \qquad x_i = \text{row } i \text{ of } X, \; g_i = \text{row } i \text{ of } G, \text{ both as columns.}$$
#
# This is the first derivation, with the sum over $i$ moved to the front: $(x_i\, g_i^{\mathsf T})_{kl} = X_{ik} G_{il}$. Each example adds an *outer product*, a matrix of rank 1. The entry for the weight from unit $k$ to unit $l$ is (activity of $k$) × (adjoint of $l$): strong when the sender was active *and* the receiver should change.
# Hebb's rule of 1949 has the same form, with the receiver's activity in the place of its adjoint. A matrix product does the whole sum at once.

# %%
one_by_one = sum(np.outer(x, g) for x, g in zip(X3, G3, strict=True))
print("the sum of outer products is X^T G:", np.allclose(one_by_one, X3.T @ G3))
print("rank of one:", np.linalg.matrix_rank(np.outer(X3[0], G3[0])))

# %% [markdown]
# ## 2.4 What it costs
#
# A product of a $(p, q)$ and a $(q, r)$ matrix takes $pqr$ multiplications and as many additions (each entry is a sum that starts from 0): $2pqr$ floating-point operations, *FLOPs*. So the layer costs $2Bnm$ forward. Backward there are two products, $G W^{\mathsf T}$ and $X^{\mathsf T} G$, and each takes $2Bnm$ again.
#
# **Backward costs twice as much as forward**, and a training step three times as much. "Backward costs the same as forward" is a misconception.

# %%
flops = linear_flops(B=1, n=4096, m=14336)  # a matrix of Llama 3.1 8B, one token
print(f"forward {flops['forward'] / 1e6:.1f} million")
print(f"backward {(flops['dX'] + flops['dW']) / 1e6:.1f} million")

# %% [markdown]
# A token is a row of $X$, so per weight and token that is 2 FLOPs forward and 4 backward: $2N$ and $4N$ for a token that passes through $N$ weights. A network with $N$ weights in matrices, trained on $D$ tokens, takes $6ND$ FLOPs
# ([Kaplan et al., arXiv:2001.08361](https://arxiv.org/abs/2001.08361)). For 8 billion weights and 15 trillion tokens:

# %%
print(f"{training_flops(8.03e9, 15e12):.1e} FLOPs")

# %% [markdown]
# **What the count leaves out:** the products of attention scores, which hold no weights; the embedding, which is looked up and not multiplied; biases, activations and normalisations, which are $O(Bm)$ beside $O(Bnm)$.
#
# PyTorch can count the products it really does. The ratio is exactly 2 when the input needs a gradient too. The first layer's input is data and needs none: its $dX$ is not computed, and there the ratio is 1.

# %%
if torch := optional("torch", "counting PyTorch's FLOPs"):
    from torch.utils.flop_counter import FlopCounterMode

    w = torch.ones(30, 40, requires_grad=True)
    for needs in (True, False):
        x = torch.ones(20, 30, requires_grad=needs)
        with FlopCounterMode(display=False) as forward:
            y = x @ w
        with FlopCounterMode(display=False) as backward:
            y.sum().backward()
        ratio = backward.get_total_flops() / forward.get_total_flops()
        print(f"input needs a gradient: {needs}, backward / forward = {ratio}")

# %% [markdown]
# And the clock? Run this cell a few times. It should print a number near 2: a count of FLOPs predicts the time of large matrix products well. (It predicts little else: for small matrices, and for elementwise work, moving numbers takes longer than computing with them.)

# %% tags=["volatile"]
X_big, W_big, G_big = (rng.normal(size=(512, 512)) for _ in range(3))
for _ in range(2):  # the first round warms up
    t0 = perf_counter()
    [X_big @ W_big for _ in range(20)]
    t1 = perf_counter()
    [(G_big @ W_big.T, X_big.T @ G_big) for _ in range(20)]
    t2 = perf_counter()
print(f"backward / forward = {(t2 - t1) / (t1 - t0):.2f}")

# %% [markdown] tags=["quiz"]
# **Quick check.** Why 6 FLOPs per weight and token?
#
# - ( ) Three layers, twice each :: The count is per weight, in whatever layer it stands.
# - (x) 2 forward, 2 for the inputs' gradient, 2 for the weights' :: Each weight takes part in three products, with a multiplication and an addition in each.
# - ( ) 4 forward and 2 backward :: The other way round: the backward pass is the expensive one.

# %% [markdown]
# ## 2.5 Vector–Jacobian products
#
# In lesson 1 reverse mode was a row vector that passes through Jacobians. What is it here?
#
# - A linear layer maps one row $x$ to $y = x W$, that is $y_j = \sum_k x_k W_{kj}$. The slope of output $j$ with respect to input $k$ is $W_{kj}$. A Jacobian has a row for each output, so it is $W^{\mathsf T}$. The vector–Jacobian product, VJP, of a row vector $g$ is $g W^{\mathsf T}$.
# - An elementwise map $y_i = f(x_i)$ has a diagonal Jacobian: output $i$ depends on input $i$ alone, with slope $f'(x_i)$. Its VJP is $g \odot f'(x)$, where $\odot$ multiplies entry by entry.
#
# A sentence to keep: *the forward pass multiplied by $W$, the backward pass multiplies by its transpose.* No new matrix was made, though the Jacobian of the whole batch, from all $Bn$ entries of $X$ to all $Bm$ of $X W$, would have $(Bm)(Bn)$ entries. "Backpropagation multiplies big Jacobians" describes the formula, not the program.

# %%
x, g = rng.normal(size=3), rng.normal(size=4)
jacobian = np.array([[W34[k, j] for k in range(3)] for j in range(4)])  # row j: slopes of output j
print("g times the Jacobian is g W^T:", np.allclose(g @ jacobian, g @ W34.T))
diagonal = np.diag(np.cos(x))  # the Jacobian of sin, entry by entry
print("g times a diagonal is g * slope:", np.allclose(g[:3] @ diagonal, g[:3] * np.cos(x)))

# %% [markdown]
# ## 2.6 Broadcasting is fan-out
#
# In $Z = X W + b$ the vector $b$ is added to every row. NumPy *broadcasts* it: it behaves as if $b$ were copied $B$ times. A value that is used $B$ times receives $B$ contributions, and they add. So **the backward of a broadcast is a sum over the axes along which it copied**:
# $db = \sum_i G_i$, over the rows of $G$.
#
# Broadcasting aligns shapes at the right. It puts new axes at the left, and stretches axes of size 1. To undo it, sum over the new axes and drop them; sum over the stretched axes and keep them with size 1.

# %%
dY = rng.normal(size=(4, 3))
for shape in ((3,), (4, 1), (1, 3), ()):
    print(f"{str(shape):7} from (4, 3):", unbroadcast(dY, shape).shape)
print("db is a column sum:", np.allclose(unbroadcast(dY, (3,)), dY.sum(axis=0)))

# %% [markdown]
# ### Your turn
#
# Write `undo(dY, shape)` for two-dimensional `dY`, and a `shape` of `(m,)`, `(B, 1)`, `(1, m)` or `(B, m)`.


# %% tags=["turn"]
def undo(dY, shape):
    """dY (B, m), shape of the input -> the gradient in that shape."""
    ### BEGIN SOLUTION
    if len(shape) == 1:
        return dY.sum(axis=0)
    axes = tuple(i for i in range(2) if shape[i] == 1)
    return dY.sum(axis=axes, keepdims=True)
    ### END SOLUTION


# %%
from backprop_course.checks.turns import check_unbroadcast

check_unbroadcast(undo)

# %% [markdown] tags=["quiz"]
# **Quick check.** A bias `b` of shape `(10,)` is added to `Z` of shape `(32, 10)`. What is `db`?
#
# - (x) `dZ.sum(axis=0)` :: 32 uses, 32 contributions, added. The result has shape `(10,)`.
# - ( ) `dZ.mean(axis=0)` :: The sum, not the mean. If the loss is a mean over the batch, its 1/32 is already in `dZ`.
# - ( ) `dZ` :: That has shape `(32, 10)`. The bias has 10 entries, and so has its gradient.
# - ( ) `dZ.sum(axis=1)` :: That sums over the outputs and keeps the examples. Its shape is `(32,)`.

# %% [markdown]
# ## 2.7 A last check on random matrices
#
# All sizes different, float64, with a random $G$. First along one random direction, without PyTorch: the rate at which $\langle G, Z \rangle$ changes must be the inner product of gradient and direction.

# %%
X, W, b = rng.normal(size=(64, 32)), rng.normal(size=(32, 48)), rng.normal(size=48)
G = rng.normal(size=(64, 48))
mine = dX, dW, db = linear_backward(G, X, W, b)
VX, VW, Vb = rng.normal(size=X.shape), rng.normal(size=W.shape), rng.normal(size=b.shape)
up, down = (frobenius(G, linear(X + h * VX, W + h * VW, b + h * Vb)) for h in (1e-5, -1e-5))
rate = frobenius(dX, VX) + frobenius(dW, VW) + db @ Vb
print("nudged along a direction, agrees:", np.isclose((up - down) / 2e-5, rate, rtol=1e-7))

# %% [markdown]
# Then entry by entry against PyTorch, where it is installed.

# %%
if torch := optional("torch"):
    theirs = [torch.tensor(a, requires_grad=True) for a in (X, W, b)]
    (theirs[0] @ theirs[1] + theirs[2]).backward(torch.tensor(G))
    for name, m, t in zip(("dX", "dW", "db"), mine, theirs, strict=True):
        print(name, "agrees:", np.allclose(m, t.grad, rtol=1e-12, atol=1e-12))

# %% [markdown]
# ## 2.8 Your predictions, and a recap
#
# You predicted which expression is `dW`: `A.T @ dZ` (section 2.2). What the backward pass costs: about `2F` (2.4). How large the Jacobian is that it builds: there is none (2.5). Which of the three derivations would you use to convince a friend?
#
# 1. $dX = G W^{\mathsf T}$, $dW = X^{\mathsf T} G$, $db$ = column sums of $G$.
# 2. The gradient of a matrix has its shape. With sizes that differ, shapes catch most slips.
# 3. $dW$ is a sum of outer products, one for each example; one product does it.
# 4. Backward costs two products of the forward's size: $2N$ and $4N$ FLOPs a token, $6ND$ in all.
# 5. The forward multiplied by $W$, the backward multiplies by its transpose.
# 6. Broadcasting is a fan-out; its backward is a sum over the copied axes.

# %% [markdown] tags=["reveal"]
# Asked in interviews: why does training take 6 FLOPs per weight and token? (An answer.)
# A weight takes part in three products for each token: forward $X W$, backward $G W^{\mathsf T}$ for the inputs and $X^{\mathsf T} G$ for the weight itself. Each is one multiplication and one addition: 2 FLOPs. $3 \cdot 2 = 6$. Then say what is left out: attention scores, embedding lookups, elementwise work, and
# recomputation if the run uses checkpointing.

# %% [markdown] tags=["cards"]
# ## 2.9 Recall cards
#
# - For Z = A W + b with dZ = G: what is dW? :: Aᵀ G. Shapes: (n, B)(B, m) = (n, m).
# - For Z = A W + b with dZ = G: what are dA and db? :: dA = G Wᵀ, and db is the sum of the rows of G.
# - What does a backward pass cost, beside the forward pass? :: About twice as much: two products of the same size in each layer.
# - Why 6ND FLOPs for training? :: Per weight and token 2 forward, 2 for the inputs' gradient, 2 for the weights' gradient.
# - What is the backward of broadcasting? :: A sum over the axes along which it copied.
# - What is the VJP of an elementwise map f? :: g ⊙ f′(x), the entrywise product with the slopes.

# %% [markdown]
# **Next:** [lesson 3](03_activations.ipynb) puts nonlinear functions between the layers, and a loss at the end.
