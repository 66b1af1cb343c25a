# %% [markdown]
# # 3 · Activations, softmax and the MLP
#
# **After this lesson** you can derive the backward pass of a whole network: activations, softmax, cross-entropy and any number of layers. At the end you write it yourself.
#
# **You need** [lesson 2](02_matrix_backward.ipynb). **Allow** 75 minutes.

# %% [markdown] tags=["quiz"]
# **Predict first.** The loss is the cross-entropy of a softmax. What is its gradient with respect to the logits $z$, for probabilities $p$ and target $y$?
#
# - (x) `p − y` :: The softmax's slopes and the logarithm's cancel to this. Section 3.4 derives it.
# - ( ) `−y / p` :: That is the gradient with respect to the probabilities $p$. It still has to pass the softmax.
# - ( ) `(p − y) ⊙ p ⊙ (1 − p)` :: The slope of the softmax is in $p - y$ already. Here it would be applied twice, and in the wrong form.

# %% [markdown] tags=["quiz"]
# **Predict first.** To send an adjoint back through a ReLU, what must be remembered from the forward pass, for each entry?
#
# - ( ) The input, 32 bits :: It would do. But all that is asked of it later is whether it was positive.
# - (x) One bit :: The slope is 1 or 0, depending on the input's sign.
# - ( ) Nothing :: The adjoint that arrives does not tell on which side of the kink the input was.

# %% [markdown] tags=["quiz"]
# **Predict first.** A batch has 32 examples, and the loss is their mean. The backward pass visits two layers, with weights and biases. How often does it divide by 32?
#
# - ( ) Never: the sum over the batch in `A.T @ dZ` takes care of it :: That sum adds the examples, it does not average them. Without a division every gradient is 32 times too large.
# - (x) Once, at the logits :: Everything further down is linear in what arrives, so the one factor is passed on. Section 3.6.
# - ( ) Once in each layer, where a gradient sums over the batch :: The first layer's gradients would then be divided twice, by 32 · 32. Section 3.6 makes the mistake.

# %%
from math import erf, sqrt

import numpy as np

from backprop_course import activations as act
from backprop_course.figures.activations import gelu_gap, slopes_over_depth, values_and_slopes
from backprop_course.matrix import frobenius, linear, linear_backward
from backprop_course.optional import optional

# %% [markdown]
# ## 3.1 ReLU
#
# $\text{relu}(z) = \max(z, 0)$ has slope 1 for $z > 0$ and 0 for $z < 0$. At 0 it has a kink and no derivative; programs take 0 there, and so do we. So the backward is a **mask**: let the adjoint pass where $z > 0$, else put 0.
#
# By hand: $z = (2, -1, 0.5)$ with upstream $(0.3, 0.7, -0.2)$ gives $(0.3, 0, -0.2)$. Note that the mask looks at the sign of $z$, not at that of the adjoint: $-0.2$ passes.

# %%
z, upstream = np.array([2.0, -1.0, 0.5]), np.array([0.3, 0.7, -0.2])
print(act.relu_backward(upstream, z).tolist())

# %% [markdown]
# **From which array does the mask come?** From the pre-activation $z$ of this very layer. A mask from another layer has the wrong pattern, and when the widths agree there is no error:

# %%
rng = np.random.default_rng(0)
X, W1, W2 = rng.normal(size=(6, 4)), rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
Z1 = X @ W1
Z2 = act.relu(Z1) @ W2
G = rng.normal(size=(6, 4))
right, wrong = (G @ W2.T) * (Z1 > 0), (G @ W2.T) * (Z2 > 0)
print(
    "mask from the wrong layer: entries that differ:", int((right != wrong).sum()), "of", right.size
)

# %% [markdown]
# **And from $z$, not from the output $h$.** For ReLU alone $h$ would do: $h > 0$ exactly where $z > 0$, which is why PyTorch keeps only a ReLU's output. But write `h >= 0` and every entry passes. And with any other activation the slope at $h$ is not the slope at
# $z$. Here both mistakes meet a nudge, which catches them:

# %%
z = np.array([-1.5, 0.8])
print("mask h >= 0:", (act.relu(z) >= 0).tolist(), "  mask z > 0:", (z > 0).tolist())
nudged = (act.gelu(z + 1e-6) - act.gelu(z - 1e-6)) / 2e-6
print("GELU nudged ", np.round(nudged, 4).tolist())
print("slope at z  ", np.round(act.gelu_backward(1.0, z), 4).tolist())
print("slope at h  ", np.round(act.gelu_backward(1.0, act.gelu(z)), 4).tolist())

# %% [markdown]
# **Dead units.** Where $z \le 0$ for all examples, the unit's whole column of the mask is 0. Every gradient into the unit is then exactly 0, and no step moves its weights. One large negative bias is enough:

# %%
b1 = np.array([0.0, 0, -100, 0])
Z1 = linear(X, W1, b1)
G1 = act.relu_backward(G @ W2.T, Z1)
_, dW1, db1 = linear_backward(G1, X, W1, b1)
print("columns of dW1 that are all zero:", (dW1 == 0).all(axis=0).tolist())
print("db1 of unit 2:", db1[2])

# %% [markdown] tags=["quiz"]
# **Quick check.** $z = (-3, 0, 4)$, upstream $(1, 1, -1)$. What does a ReLU send back?
#
# - ( ) (0, 0, 4) :: That is the forward value. The backward passes the upstream adjoint where $z > 0$.
# - (x) (0, 0, −1) :: Only the third entry has $z > 0$, and its adjoint passes with its sign.
# - ( ) (0, 1, −1) :: At exactly 0 the slope counts as 0.
# - ( ) (0, 0, 0) :: The mask looks at $z$, not at the sign of the adjoint: the third entry passes.

# %% [markdown]
# ## 3.2 GELU
#
# The *Gaussian error linear unit* weighs $z$ with the probability that a standard normal variable lies below it ([Hendrycks and Gimpel, arXiv:1606.08415](https://arxiv.org/abs/1606.08415)):
#
# $$\text{gelu}(z) = z\,\Phi(z), \qquad \Phi(z) = \int_{-\infty}^{z} \varphi(t)\,dt, \qquad \varphi(t) = \frac{1}{\sqrt{2\pi}}\, e^{-t^2/2}.$$
#
# The slope of an integral with respect to its upper end is the integrand, so $\Phi' = \varphi$. The product rule then gives the slope:
#
# $$\text{gelu}'(z) = \Phi(z) + z\,\varphi(z).$$
#
# At $z = 1$: $\Phi = 0.8413$, $\varphi = 0.2420$, so the slope is $1.0833$. It is larger than 1 there, and negative left of $-0.75$, where GELU has its minimum: GELU is not monotone.

# %% [markdown]
# NumPy has no $\Phi$. It is $\Phi(z) = \tfrac12\, \text{erfc}(-z/\sqrt2)$ with the complementary error function of Python's `math` module, which `act.normal_cdf` applies entry by entry. Why not $\tfrac12(1 + \text{erf}(z/\sqrt2))$, the formula in most books? Far to the left it subtracts
# two numbers that are nearly equal, and nothing is left:

# %%
print(
    f"Phi(-9) from erf: {(1 + erf(-9 / sqrt(2))) / 2:.4g}   from erfc: {act.normal_cdf(-9.0):.4g}"
)

# %%
z = np.array([-2.0, -1, 0, 1, 2])
print("Phi(1) =", round(float(act.normal_cdf(1.0)), 4), " phi(1) =", round(act.normal_pdf(1.0), 4))
print("slopes:", np.round(act.gelu_backward(np.ones(5), z), 6).tolist())

# %% [markdown]
# ### Your turn
#
# Write GELU's slope. `act.normal_cdf` is $\Phi$ and `act.normal_pdf` is $\varphi$.


# %% tags=["turn"]
def gelu_slope(z):
    """z (any shape) -> the slope of gelu at z."""
    ### BEGIN SOLUTION
    return act.normal_cdf(z) + z * act.normal_pdf(z)
    ### END SOLUTION


# %%
from backprop_course.checks.turns import check_gelu_slope

check_gelu_slope(gelu_slope)

# %% [markdown]
# **The tanh form.** GPT-2 and others use an approximation that avoids $\Phi$. Some code bases call it `gelu_new`, PyTorch calls it `torch.nn.GELU(approximate="tanh")`:
#
# $$\text{gelu}_{\tanh}(z) = \tfrac12\, z\, (1 + t), \qquad t = \tanh u, \qquad u = \sqrt{2/\pi}\,\left(z + 0.044715\, z^3\right).$$
#
# It is a function of its own, so it has a slope of its own. From the inside out:
#
# 1. $u$ is a polynomial: $u' = \sqrt{2/\pi}\,(1 + 3 \cdot 0.044715\, z^2)$.
# 2. $t = \tanh u$, and the slope of $\tanh$ is $1 - \tanh^2$ (derived in section 3.3). The chain rule gives $t' = (1 - t^2)\, u'$.
# 3. $\tfrac12 z\,(1 + t)$ is a product. The product rule gives $\tfrac12 (1 + t) + \tfrac12 z\, t'$.
#
# Put 1 into 2, and 2 into 3:
#
# $$\text{gelu}_{\tanh}'(z) = \tfrac12 (1 + t) + \tfrac12\, z\,(1 - t^2)\,\sqrt{2/\pi}\,\left(1 + 3 \cdot 0.044715\, z^2\right).$$

# %%
print("slopes:", np.round(act.gelu_tanh_backward(np.ones(5), z), 6).tolist())
grid = np.linspace(-6, 6, 120_001)
value_gap = np.abs(act.gelu(grid) - act.gelu_tanh(grid)).max()
slope_gap = np.abs(act.gelu_backward(1.0, grid) - act.gelu_tanh_backward(1.0, grid)).max()
print(f"largest gap in value {value_gap:.12f}, in slope {slope_gap:.12f}")

# %%
gelu_gap()

# %% [markdown]
# A lesson in itself: replace the tanh form's slope by a central difference with $h = 10^{-5}$, and the largest gap comes out as about 0.00086845184 in place of 0.00086845183: it changes in the eighth significant digit. GELU has not changed. What you see is the error of the difference formula itself, near $10^{-11}$. *A number is only as good as the way it was computed.* Lesson 4 says where this error comes from.

# %%
h = 1e-5
nudged = (act.gelu_tanh(grid + h) - act.gelu_tanh(grid - h)) / (2 * h)
shift = np.abs(act.gelu_backward(1.0, grid) - nudged).max() - slope_gap
print("the gap moves by about 1e-11:", 3e-12 < abs(shift) < 4e-11)

# %%
if torch := optional("torch"):
    t = torch.tensor(z, requires_grad=True)
    for form, mine in (("none", act.gelu_backward), ("tanh", act.gelu_tanh_backward)):
        (slope,) = torch.autograd.grad(torch.nn.GELU(approximate=form)(t).sum(), t)
        print(
            f"torch.nn.GELU(approximate={form!r}) agrees:",
            np.allclose(slope, mine(1.0, z), rtol=1e-9),
        )

# %% [markdown]
# ## 3.3 SiLU, tanh, sigmoid
#
# **Sigmoid.** Write $\sigma(z) = 1/(1 + e^{-z})$. Lesson 1 found $\sigma' = \sigma (1 - \sigma)$. A product $s (1 - s)$ is largest at $s = \tfrac12$, so the slope is at most $\tfrac14$.
#
# **Tanh.** $\tanh z = \sinh z / \cosh z$, with $\sinh' = \cosh$ and $\cosh' = \sinh$. By the quotient rule
#
# $$\tanh' = \frac{\cosh \cdot \cosh - \sinh \cdot \sinh}{\cosh^2} = 1 - \tanh^2,$$
#
# at most 1, at $z = 0$.
#
# **SiLU**, $z\,\sigma(z)$, also called swish. The product rule gives $\sigma(z) + z\,\sigma(z)\,(1 - \sigma(z))$. Take $\sigma(z)$ out:
#
# $$\text{silu}'(z) = \sigma(z)\,\left(1 + z\,(1 - \sigma(z))\right).$$

# %%
values_and_slopes()

# %% [markdown]
# **What must be kept.** ReLU needs a bit: its slope has two values. The slopes of sigmoid and tanh are functions of their *output*, $s(1 - s)$ and $1 - t^2$. GELU and SiLU are not monotone: two inputs share an output and have slopes of opposite sign, so the output does not tell the slope, and the number $z$
# itself must be kept. Lesson 5 adds up what this costs.

# %%
for name in ("relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"):
    f, backward = getattr(act, name), getattr(act, f"{name}_backward")
    at = np.array([-2.5, -0.3, 0.7, 3.0])
    nudged = (f(at + 1e-6) - f(at - 1e-6)) / 2e-6
    print(f"{name:9} slope agrees with nudging:", np.allclose(backward(1.0, at), nudged, atol=1e-8))

# %% [markdown]
# ## 3.4 Softmax and cross-entropy
#
# A network for $K$ classes gives $K$ numbers $z_1, \dots, z_K$, the *logits*. The softmax makes them probabilities:
#
# $$p_k = \frac{e^{z_k}}{\sum_j e^{z_j}}.$$
#
# The loss for the right class $c$ is $L = -\log p_c$. Put the formula of $p_c$ in, and the logarithm of the quotient becomes a difference:
#
# $$L = -z_c + \log \sum_j e^{z_j}.$$
#
# Now differentiate with respect to $z_k$. The first term gives $-1$ if $k = c$, else 0; call this $-y_k$, where $y$ is the *one-hot* vector of the class: 1 at $c$, 0 elsewhere. For the second term, the slope of $\log S$ is $1/S$ and the slope of $S = \sum_j e^{z_j}$ with respect to $z_k$ is $e^{z_k}$, all other terms being constant. That is $e^{z_k} / S = p_k$. So
#
# $$\frac{\partial L}{\partial z} = p - y.$$
#
# By hand, for logits $(2, 1, 0)$ and class 1, counted from 0: $p = (0.6652, 0.2447, 0.0900)$ and the gradient is $(0.6652, -0.7553, 0.0900)$. It sums to 0, as $p$ and $y$ both sum to 1: adding a constant to all logits changes nothing.

# %%
Z, y = np.array([[2.0, 1, 0]]), np.array([[0.0, 1, 0]])
print("p     ", np.round(act.softmax(Z)[0], 4).tolist())
print("p - y ", np.round(act.cross_entropy_backward(Z, y)[0], 4).tolist())
nudges = [
    (act.cross_entropy(Z + 1e-5 * e, y) - act.cross_entropy(Z - 1e-5 * e, y)) / 2e-5
    for e in np.eye(3)
]
print("nudged", np.round(nudges, 4).tolist())

# %%
if torch := optional("torch"):
    t = torch.tensor(Z, requires_grad=True)
    torch.nn.functional.cross_entropy(t, torch.tensor([1])).backward()
    print("PyTorch", np.round(t.grad.numpy()[0], 4).tolist())

# %% [markdown]
# **Any target that sums to 1.** For a target distribution $y$ the loss is $-\sum_k y_k \log p_k = -\sum_k y_k z_k + \left(\sum_k y_k\right) \log \sum_j e^{z_j}$. With $\sum_k y_k = 1$ the gradient is $p - y$ again. *Label smoothing* is such a target: $(1 - \varepsilon)\, y + \varepsilon / K$.

# %%
smooth = 0.9 * y + 0.1 / 3
nudges = [
    (act.cross_entropy(Z + 1e-5 * e, smooth) - act.cross_entropy(Z - 1e-5 * e, smooth)) / 2e-5
    for e in np.eye(3)
]
print("target", np.round(smooth[0], 4).tolist(), " sum", round(smooth.sum(), 12))
print("p - y ", np.round(act.cross_entropy_backward(Z, smooth)[0], 4).tolist())
print("nudged", np.round(nudges, 4).tolist())

# %% [markdown]
# **Large logits.** $e^{1000}$ overflows. Subtract the largest logit $m$ first: $\log \sum_j e^{z_j} = m + \log \sum_j e^{z_j - m}$. It is the same value, since $e^{z_j} = e^m e^{z_j - m}$. And no exponent is above 0 now, so nothing overflows; one is exactly 0, so the sum is at least 1 and its logarithm is finite.

# %%
big = np.array([[1000.0, 0, -1000]])
with np.errstate(all="ignore"):
    print("naive: ", np.log(np.exp(big).sum(axis=1)))
print("stable:", act.log_sum_exp(big))
print(
    "loss",
    act.cross_entropy(big, np.array([2])),
    " gradient",
    act.cross_entropy_backward(big, np.array([2])),
)

# %% [markdown] tags=["quiz"]
# **Quick check.** With label smoothing $\varepsilon = 0.1$ and $K = 10$, what is the gradient with respect to the logit of the right class?
#
# - ( ) `p − 1` :: That is for a one-hot target. The smoothed target of the right class is below 1.
# - (x) `p − 0.91` :: The target is $(1 - 0.1) \cdot 1 + 0.1 / 10 = 0.91$, and the rule is $p - y$.
# - ( ) `p − 0.9` :: Nearly: the right class also receives its share $\varepsilon / K = 0.01$ of what is spread over all classes.
# - ( ) `0.9 (p − 1)` :: The target changes, not the rule $p - y$.

# %% [markdown]
# ## 3.5 The softmax alone
#
# In attention a softmax stands in the middle of a network, so it needs a backward of its own. Differentiate $p_k = e^{z_k} / S$ with $S = \sum_j e^{z_j}$ by the quotient rule. For $j = k$ and $j \ne k$:
#
# $$\frac{\partial p_k}{\partial z_k} = \frac{e^{z_k} S - e^{z_k} e^{z_k}}{S^2} = p_k - p_k^2, \qquad \frac{\partial p_k}{\partial z_j} = -\frac{e^{z_k} e^{z_j}}{S^2} = -p_k\, p_j.$$
#
# As a matrix, $J = \text{diag}(p) - p\,p^{\mathsf T}$. It is symmetric, so the VJP $v^{\mathsf T} J$, written as a column, is $J v$. It needs no matrix:
#
# $$J v = p \odot v - p\,(p^{\mathsf T} v) = p \odot \left(v - v^{\mathsf T} p\right),$$
#
# a dot product, a subtraction and an entrywise product: $O(K)$. (A number subtracted from a vector is subtracted from each entry.)

# %%
p, v = act.softmax(np.array([2.0, 1, 0])), np.array([0.5, -1.0, 2.0])
J = np.diag(p) - np.outer(p, p)
print("the same:", np.allclose(J @ v, p * (v - v @ p)))
print(f"entries of J for a vocabulary of 128,256: {128_256**2 / 1e9:.1f} billion for each token")

# %% [markdown]
# ### Your turn
#
# Write the VJP for rows: `v` and `p` have shape `(B, K)`, each row of `p` is a softmax.


# %% tags=["turn"]
def softmax_vjp(v, p):
    """v (B, K), p (B, K) -> the adjoint of the logits (B, K)."""
    ### BEGIN SOLUTION
    return p * (v - (v * p).sum(axis=-1, keepdims=True))
    ### END SOLUTION


# %%
from backprop_course.checks.turns import check_softmax_vjp

check_softmax_vjp(softmax_vjp)

# %% [markdown]
# **Put the two together.** The loss $-\sum_k y_k \log p_k$ sends $v = -y / p$ to the probabilities. Then $v^{\mathsf T} p = -\sum_k y_k = -1$, and $p \odot (-y/p + 1) = p - y$. It is the same rule, by a longer way; and a worse one: when $p_k$ rounds to 0, $-y_k/p_k$ overflows. So the two are kept fused.

# %%
Z, y = np.array([[0.0, 800.0]]), np.array([[1.0, 0.0]])
p = act.softmax(Z)
with np.errstate(all="ignore"):
    print("in two steps:", act.softmax_backward(-y / p, Z)[0])
print("fused:       ", act.cross_entropy_backward(Z, y)[0])

# %% [markdown]
# ## 3.6 The batch mean
#
# For a batch of $B$ examples the loss is the mean, $\mathcal L = \frac1B \sum_i L_i$. Row $i$ of the logits enters $L_i$ only, so its adjoint is $\frac1B (p_i - y_i)$. As matrices, with $P$ and $Y$ of shape $(B, K)$:
#
# $$G = dZ = \frac{P - Y}{B}.$$
#
# The factor $1/B$ enters **here, once**. Everything further down is linear in $G$ and inherits it. Two mistakes are common: never dividing, and dividing again where a bias or a weight gradient sums over the batch.

# %%
Z, Y = rng.normal(size=(5, 3)), np.eye(3)[[0, 2, 1, 1, 0]]
G = act.cross_entropy_backward(Z, Y)
entry = np.zeros_like(Z)
entry[3, 1] = 1e-5
nudged = (act.cross_entropy(Z + entry, Y) - act.cross_entropy(Z - entry, Y)) / 2e-5
for name, value in (
    ("right", G[3, 1]),
    ("never divided", 5 * G[3, 1]),
    ("divided twice", G[3, 1] / 5),
):
    print(f"{name:14}{value / nudged:6.2f} times the nudged slope")

# %% [markdown] tags=["quiz"]
# **Quick check.** You replace the mean over the batch by the sum. What happens to the gradients?
#
# - (x) All are multiplied by B :: The loss is multiplied by $B$, and everything is linear in it. A learning rate that was tuned for the mean is now $B$ times too large.
# - ( ) Only those of the biases :: Biases sum over the batch, and so do weights: $A^{\mathsf T} G$ is a sum over examples as well.
# - ( ) None, the minimum is at the same place :: The place of the minimum is the same, the slopes on the way are not.

# %% [markdown]
# ## 3.7 The MLP theorem
#
# A *multilayer perceptron* (MLP) alternates linear layers and an activation $\sigma$ (any of this lesson). With $A_0 = X$:
#
# $$Z_l = A_{l-1} W_l + b_l \quad (l = 1, \dots, N), \qquad A_l = \sigma(Z_l) \quad (l < N), \qquad \mathcal L = \text{mean softmax cross-entropy of } Z_N.$$
#
# **Theorem.** Let $G_l = dZ_l$ be the adjoint of $Z_l$. Then
#
# $$G_N = \frac{P - Y}{B}, \qquad dW_l = A_{l-1}^{\mathsf T} G_l, \qquad db_l = \mathbf 1^{\mathsf T} G_l, \qquad G_{l-1} = (G_l W_l^{\mathsf T}) \odot \sigma'(Z_{l-1}),$$
#
# where $N$ is the number of layers and $\mathbf 1$ a column of $B$ ones, so that $\mathbf 1^{\mathsf T} G_l$ is the sum of the rows of $G_l$. The first holds at the top, the next two for $l = 1, \dots, N$, the last for $l = 2, \dots, N$.
#
# **Proof**, by induction from the last layer down. *Start:* $G_N$ is section 3.6. *Step:* suppose $G_l$ is the adjoint of $Z_l$. Layer $l$ is linear, so lesson 2 gives $dW_l$ and $db_l$ as stated, and $dA_{l-1} = G_l W_l^{\mathsf T}$ for its input. All paths from $A_{l-1}$ to the
# loss pass through $Z_l$, so this adjoint is complete. $A_{l-1} = \sigma(Z_{l-1})$ entry by entry, so each entry is multiplied by its local slope: $G_{l-1} = dA_{l-1} \odot \sigma'(Z_{l-1})$. All paths from $Z_{l-1}$ lead through $A_{l-1}$, so this is the adjoint of $Z_{l-1}$, and the step is done. ∎

# %% [markdown]
# **Deep networks.** Write the recursion out for one example, with $D_l$ the diagonal matrix of the slopes $\sigma'(z_l)$:
#
# $$g_1 = g_N\, W_N^{\mathsf T} D_{N-1}\, W_{N-1}^{\mathsf T} D_{N-2} \cdots W_2^{\mathsf T} D_1.$$
#
# It is a product with one factor $W^{\mathsf T} D$ a layer. Factors that shrink make gradients *vanish*, factors that grow make them *explode*, both exponentially in the depth. A sigmoid's slope alone is at most $\tfrac14$ a layer.
#
# What is the factor for ReLU? Let the entries of $W$ be independent, with mean 0 and variance $s^2$, and let $W$ be $n \times n$. An entry of $g W^{\mathsf T}$ is a sum of $n$ products, so its mean square is $n s^2$ times that of an entry of $g$. The mask lets about half of the entries pass. So the mean square is
# multiplied by about $\tfrac12 n s^2$ a layer, and the size by $\sqrt{n s^2 / 2}$: by $\sqrt{1/2} \approx 0.71$ for $s^2 = 1/n$, by 1 for $s^2 = 2/n$, by $\sqrt2 \approx 1.41$ for $s^2 = 4/n$. The middle choice is that of [He et al., arXiv:1502.01852](https://arxiv.org/abs/1502.01852). (The argument treats weights, masks and
# adjoints as independent. They are not quite, but the picture agrees.)

# %%
print(f"thirty layers: 0.71 becomes {0.5**15:.1e}, 1.41 becomes {2**15:.1e}")
slopes_over_depth()

# %% [markdown]
# ## 3.8 A worked example
#
# Two examples, two inputs, two hidden ReLU units, two classes, no biases. Take a sheet of paper and compute each line before you run its cell.
#
# $$X = \begin{pmatrix} 1 & -1 \\ -1 & 0 \end{pmatrix}, \quad W_1 = \begin{pmatrix} 1 & 2 \\ -1 & 1 \end{pmatrix}, \quad W_2 = \begin{pmatrix} 1 & -1 \\ -2 & 2 \end{pmatrix}, \quad \text{classes } (0, 1)$$

# %%
X = np.array([[1.0, -1], [-1, 0]])
W1, W2 = np.array([[1.0, 2], [-1, 1]]), np.array([[1.0, -1], [-2, 2]])
Y = np.eye(2)
Z1 = linear(X, W1)
A1 = act.relu(Z1)
Z2 = linear(A1, W2)
print("Z1", Z1.tolist(), " A1", A1.tolist(), " Z2", Z2.tolist())

# %%
G2 = act.cross_entropy_backward(Z2, Y)
print("loss", round(float(act.cross_entropy(Z2, Y)), 4), " G2", G2.tolist())

# %% [markdown]
# All logits are 0, so all probabilities are ½ and the loss is $\log 2 = 0.6931$. Now down through the second layer:

# %%
dA1, dW2 = linear_backward(G2, A1, W2)
print("dW2", dW2.tolist(), " db2", G2.sum(axis=0).tolist(), " dA1", dA1.tolist())

# %% [markdown]
# Through the ReLU, with the mask of $Z_1$: first row on, second row off. Then through the first layer:

# %%
G1 = act.relu_backward(dA1, Z1)
_, dW1 = linear_backward(G1, X, W1)
print("G1", G1.tolist(), " dW1", dW1.tolist(), " db1", G1.sum(axis=0).tolist())

# %% [markdown]
# **Read it.** Both hidden units are off for example 2. So its row of $A_1$ is 0, and it adds nothing to $dW_2 = A_1^{\mathsf T} G_2$. Its row of $G_1$ is 0, and it adds nothing to $dW_1$ and $db_1$. Example 2 reaches only $b_2$, with $(0.25, -0.25)$, and there it cancels against example 1.
#
# **Check it**, without a second derivation: move all weights a little along one random direction $V$. The loss must change at the rate $\langle dW_1, V_1 \rangle + \langle dW_2, V_2 \rangle$.

# %%
V1, V2 = rng.normal(size=(2, 2)), rng.normal(size=(2, 2))


def loss_along(h):
    hidden = act.relu(linear(X, W1 + h * V1))
    return act.cross_entropy(linear(hidden, W2 + h * V2), Y)


rate = (loss_along(1e-5) - loss_along(-1e-5)) / 2e-5
print("agrees:", np.isclose(rate, frobenius(dW1, V1) + frobenius(dW2, V2), rtol=1e-7))

# %% [markdown] tags=["quiz"]
# **Quick check.** Why is $db_2 = (0, 0)$ here?
#
# - ( ) Because the second layer is dead :: The second layer has no ReLU. Its adjoints $G_2$ are not 0.
# - (x) Because the two classes occur equally often and all p = ½, so what they send cancels :: The rows of $G_2$ are $(-\tfrac14, \tfrac14)$ and $(\tfrac14, -\tfrac14)$. A bias sums them.
# - ( ) Because there are no biases :: A bias of value 0 has a gradient like any other. Here it happens to be 0.

# %% [markdown]
# ## 3.9 Your predictions, and a recap
#
# You predicted three things. The gradient of a softmax's cross-entropy: $p - y$ (section 3.4). What a ReLU must remember: one bit (3.1). How often the backward pass divides by the batch size: once (3.6). If one surprised you, say in a sentence why it is so.
#
# 1. An activation's backward is *upstream ⊙ slope*, with the slope at its own input.
# 2. ReLU: a mask from $z > 0$. GELU: $\Phi + z\varphi$. SiLU: $\sigma(1 + z(1 - \sigma))$.
# 3. Softmax with cross-entropy: $p - y$, for every target that sums to 1. Subtract the largest logit.
# 4. Softmax alone: $p \odot (v - v^{\mathsf T} p)$.
# 5. The mean over the batch puts $1/B$ into $G_N$, once.
# 6. Down the layers: $G_{l-1} = (G_l W_l^{\mathsf T}) \odot \sigma'(Z_{l-1})$.

# %% [markdown] tags=["reveal"]
# Asked in interviews: derive the gradient of softmax cross-entropy, on a whiteboard. (An answer.)
# With target $y$, $\sum_k y_k = 1$, the loss is $L = -\sum_k y_k \log p_k = -\sum_k y_k z_k + \log \sum_j e^{z_j}$, since $\log p_k = z_k - \log \sum_j e^{z_j}$ and the $y_k$ sum to 1. The slope in $z_k$ is $-y_k + e^{z_k} / \sum_j e^{z_j} = p_k - y_k$. Then say how you would check it: it sums to 0, it
# vanishes when $p = y$, and a nudge of one logit agrees.

# %% [markdown] tags=["cards"]
# ## 3.10 Recall cards
#
# - What is the backward of a ReLU? :: A mask: the upstream adjoint where the pre-activation z > 0, else 0.
# - What is GELU, and its slope? :: z Φ(z), with slope Φ(z) + z φ(z).
# - What is the gradient of softmax cross-entropy in the logits? :: p − y, for any target y that sums to 1.
# - What is G at the logits for a batch mean? :: (P − Y) / B. The 1/B enters once.
# - What is the VJP of a softmax? :: p ⊙ (v − vᵀp), in O(K).
# - How does an adjoint pass from layer l to layer l − 1? :: G_{l−1} = (G_l W_lᵀ) ⊙ σ′(Z_{l−1}).
# - How is log Σ exp(z) computed without overflow? :: m + log Σ exp(z − m), with m the largest z.

# %% [markdown]
# **Now you:** the exercise [mlp_backward](exercises/mlp_backward.ipynb), then [lesson 4](04_gradient_checking.ipynb), which shows how to know that it is right.
