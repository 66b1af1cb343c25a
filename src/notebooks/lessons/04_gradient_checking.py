# %% [markdown]
# # 4 · Gradient checking
#
# **After this lesson** you can tell whether a backward pass is right, without anyone's help. You know which step to take, which number to look at, and what a failure says.
#
# **You need** [lesson 1](01_chain_rule.ipynb) and Taylor's formula. **Allow** 45 minutes.

# %% [markdown] tags=["quiz"]
# **Predict first.** You check a gradient in float64 with $(f(x+h) - f(x-h)) / 2h$. Which step gives the smallest error?
#
# - ( ) `1e-15` :: Near the limit of float64 the difference in the numerator is nearly all rounding. Section 4.2 shows an error of 1e-6 at 1e-11 already.
# - (x) `1e-5` :: The two errors balance near 7e-6. Section 4.1 derives it.
# - ( ) `1e-2` :: Here the formula itself is off by about $h^2$.

# %% [markdown] tags=["quiz"]
# **Predict first.** Of four gradient matrices, three agree with the nudged ones to 1e-9 and one has a relative error of 3e-2. Where is the bug?
#
# - (x) In the rule for that one matrix :: A mistake further up would spoil everything below it. Section 4.4.
# - ( ) In the loss :: All four gradients start from the loss. It cannot be wrong for one of them only.
# - ( ) Nowhere, 3e-2 is rounding :: Rounding is near 1e-9 here, as the others show.

# %%
import math

import numpy as np

from backprop_course import gradcheck as gc
from backprop_course.figures.gradcheck import v_curve
from backprop_course.optional import optional

# %% [markdown]
# ## 4.1 The central difference
#
# The derivative of $f$ at $x$ is a limit of difference quotients. A computer cannot take a limit, so it stops at a step $h > 0$. Which quotient, and which $h$?
#
# **The error of the formula.** Write Taylor's formula for both sides:
#
# $$f(x \pm h) = f(x) \pm h f'(x) + \tfrac{h^2}{2} f''(x) \pm \tfrac{h^3}{6} f'''(x) + O(h^4).$$
#
# The *forward difference* takes $f(x+h)$ and $f(x)$. The term with $f''$ stays:
#
# $$\frac{f(x+h) - f(x)}{h} = f'(x) + \tfrac{h}{2} f''(x) + O(h^2).$$
#
# The *central difference* takes both sides. The even terms cancel:
#
# $$\frac{f(x+h) - f(x-h)}{2h} = f'(x) + \tfrac{h^2}{6} f'''(x) + O(h^4).$$
#
# Halve $h$, and the forward error halves while the central error falls to a quarter. So we take the central one.

# %%
for h in (1e-1, 1e-2, 1e-3):
    forward = abs(gc.forward_difference(math.sin, 1.0, h) - math.cos(1))
    central = abs(gc.central_difference(math.sin, 1.0, h) - math.cos(1))
    print(f"h = {h:g}   forward error {forward:.1e}   central error {central:.1e}")

# %% [markdown]
# **The error of rounding.** A float64 number has 53 binary digits. Each result is rounded with a relative error of at most the *unit roundoff* $u = 2^{-53} \approx 1.1 \cdot 10^{-16}$; in float32 it is $2^{-24} \approx 6 \cdot 10^{-8}$.
# So $f(x+h)$ and $f(x-h)$ are each off by up to about $u|f|$, their difference by up to $2u|f|$, and after division by $2h$
#
# $$\text{rounding error} \lesssim \frac{u\,|f|}{h}.$$
#
# It grows as $h$ shrinks. This counts one rounding for each value of $f$; a long computation makes more.

# %% [markdown]
# **The best step.** The sum of both errors is $E(h) = \tfrac{h^2}{6} |f'''| + \tfrac{u |f|}{h}$. It is least where $E'(h) = \tfrac{h}{3} |f'''| - \tfrac{u |f|}{h^2} = 0$, that is, at
#
# $$h^* = \left( \frac{3\,u\,|f|}{|f'''|} \right)^{1/3}.$$
#
# With $|f|$ and $|f'''|$ near 1:

# %%
for precision in ("float64", "float32"):
    h, error = gc.best_step(precision=precision), gc.best_error(precision=precision)
    print(f"{precision}: best step {h:.1e}, error {error:.1e}")

# %% [markdown]
# Even the best step leaves an error near $10^{-11}$ in float64, and only 5 digits in float32: at best about two thirds of the digits survive. **Check gradients in float64**, whatever you train in.

# %% [markdown]
# ## 4.2 Measured
#
# The sine at 1, steps from 0.1 down to $10^{-11}$. The formula's error falls by $10^4$ a row, until rounding takes over.

# %%
for h in (1e-1, 1e-3):
    print(f"h = {h:.0e}   error {abs(gc.central_difference(math.sin, 1.0, h) - math.cos(1)):.1e}")
for h, bound in ((1e-5, 5e-11), (1e-7, 2e-9), (1e-9, 2e-7), (1e-11, 2e-5)):
    error = abs(gc.central_difference(math.sin, 1.0, h) - math.cos(1))
    print(f"h = {h:.0e}   error below {bound:.0e}: {error < bound}")

# %% [markdown]
# On the machine where this was written the last four errors were 1.1e-11, 1.9e-10, 3.0e-9 and 1.2e-6. Yours may differ: this is rounding, and it depends on the last bits of your sine.
#
# The whole picture is a V. Each dot is one step.

# %%
v_curve(np.sin, math.cos(1), math.cos(1), 1.0, name="sin")

# %%
v_curve(np.sin, math.cos(1), math.cos(1), 1.0, name="sin", precision="float32")

# %% [markdown] tags=["quiz"]
# **Quick check.** What is the truncation error of a central difference of $\exp$ at 0 with $h = 10^{-4}$?
#
# - (x) about 1.7e-9 :: $h^2 |f'''| / 6 = 10^{-8} / 6$, since every derivative of $\exp$ at 0 is 1.
# - ( ) about 1e-8 :: That is $h^2$. The factor $1/6$ from Taylor's formula is missing.
# - ( ) about 5e-5 :: That is $h/2$, the error of the forward difference.
# - ( ) about 1e-12 :: That is the rounding error, $u |f| / h$. The formula's own error is larger here.

# %%
print(f"{abs(gc.central_difference(math.exp, 0.0, 1e-4) - 1):.1e}")

# %% [markdown]
# ### Your turn
#
# Compute the best step for the sine at 1 in float64. Here $|f| = \sin 1$ and $|f'''| = \cos 1$.

# %% tags=["turn"]
### BEGIN SOLUTION
### STUB h_best = ...
u = 2.0**-53
h_best = (3 * u * math.sin(1) / math.cos(1)) ** (1 / 3)
### END SOLUTION

# %%
from backprop_course.checks.turns import check_best_step

check_best_step(h_best)

# %% [markdown]
# ## 4.3 Relative error
#
# Two gradients $g$ (yours) and $g_{\text{num}}$ (nudged) will never agree in all digits. How close is close? A difference of $10^{-4}$ is nothing beside 100 and everything beside $10^{-5}$. So divide by the size, entry by entry:
#
# $$\frac{|g_{\text{num}} - g|}{\max(|g_{\text{num}}|, |g|, \text{tiny})},$$
#
# and take the largest. The number *tiny* only keeps $0/0$ away. A rule of thumb from Stanford's course [CS231n](https://cs231n.github.io/neural-networks-3/): **below 1e-7 it is right, above 1e-2 there is a bug.** In between, look for a kink (section 4.4), for float32, or for an $f$ that is much larger than its gradient.

# %% [markdown]
# **The mistake:** judging by the absolute difference. Here a gradient is twice what it should be, and the absolute difference looks splendid.

# %%
right = np.array([3e-6, -1e-6])
wrong = 2 * right
print("absolute difference:", f"{np.abs(wrong - right).max():.0e}")
print("relative error:     ", max(gc.relative_gap(a, b) for a, b in zip(wrong, right, strict=True)))

# %% [markdown]
# **The mistake:** checking in float32. The same right slope, at the best step of float64:

# %%
for kind, h in ((np.float64, 1e-5), (np.float32, 1e-5), (np.float32, 6e-3)):
    slope = gc.central_difference(np.sin, kind(1), kind(h))
    print(
        f"{kind.__name__}, h = {h:.0e}: relative error below 1e-4: {gc.relative_gap(slope, math.cos(1)) < 1e-4}"
    )

# %% [markdown]
# ## 4.4 Kinks, and how to read a failure
#
# Taylor's formula needs a smooth $f$. A ReLU, or a maximum of two numbers, has a kink. If the two points $x - h$ and $x + h$ lie on different sides of it, the quotient mixes two slopes, and the check fails although the backward is right.


# %%
def relu(z):
    return max(z, 0.0)


for z in (0.1, 1e-6):
    print(f"z = {z:g}: slope 1, nudged {gc.central_difference(relu, z, 1e-5):.2f}")

# %% [markdown]
# What to do: check at a point where no pre-activation lies within $h$ of 0 (print the smallest $|z|$), or check with a smooth activation in place of the ReLU. Do not loosen the tolerance until it passes.
#
# **Reading a failure.** A backward pass goes from the loss downward, so a mistake spoils what lies below it, and leaves what lies above it right.
#
# | what fails | look at |
# |---|---|
# | one matrix at 3e-2, all others at 1e-9 | the rule of that matrix |
# | everything, by the same factor | the loss: a mean that was left out or taken twice |
# | everything below one layer | that layer's activation, or its $W^{\mathsf T}$ |
# | only entries whose pre-activation is near 0 | a kink: your backward may be right |
# | everything at 1e-4 | float32, or a step that is far from the best |

# %% [markdown] tags=["quiz"]
# **Quick check.** Every gradient is exactly 32 times the nudged one, and the batch size is 32. What is wrong?
#
# - (x) The division by the batch size is missing :: The loss is a mean, so $1/B$ enters with the adjoint of the logits. The common factor gives it away.
# - ( ) The step `h` is too small :: Rounding scatters; it does not multiply everything by the same whole number.
# - ( ) A bias is averaged :: Then one gradient alone would be off, and too small.

# %% [markdown]
# ## 4.5 Cheaper checks
#
# Nudging every parameter of a network takes two evaluations each. Three ways to pay less:
#
# - **A few random coordinates.** A wrong rule is nearly always wrong in most entries.
# - **One random direction.** The slope of $f$ along a direction $v$ is $\langle \nabla f, v \rangle$. Compare it with $(f(x + hv) - f(x - hv)) / 2h$: two evaluations for all parameters together. A mistake hides only if its error happens to be orthogonal to $v$.
# - **The adjoint identity.** For a linear map $J$ and its backward, $\langle v, J w \rangle = \langle J^{\mathsf T} v, w \rangle$ for all $v$ and $w$. No step, no rounding to speak of: it holds to about $10^{-15}$, or it is wrong.

# %%
rng = np.random.default_rng(0)
A = rng.normal(size=(6, 4))
x = rng.normal(size=4)


def f(x):
    return np.sum(np.tanh(A @ x))


gradient = A.T @ (1 - np.tanh(A @ x) ** 2)
print("one direction, right gradient:", gc.directional_check(f, gradient, x, rng) < 1e-7)
print("one direction, wrong gradient:", gc.directional_check(f, 1.01 * gradient, x, rng) < 1e-7)

# %%
right = gc.adjoint_gap(lambda w: A @ w, lambda v: A.T @ v, x, A @ x, rng)
wrong = gc.adjoint_gap(lambda w: A @ w, lambda v: A.T @ np.abs(v), x, A @ x, rng)
print("adjoint identity, right:", right < 1e-12, "  wrong:", wrong < 1e-12)

# %% [markdown]
# **The complex step.** If $f$ can take complex numbers and is analytic, put $x + ih$ in. Taylor's formula gives $f(x + ih) = f(x) + ih f'(x) - \tfrac{h^2}{2} f''(x) - \dots$, and the imaginary part divided by $h$ is $f'(x) + O(h^2)$. No difference is taken, so nothing cancels, and $h$ may be $10^{-100}$: the result is right to the last digits. The checks of this course's exercises use it.

# %%
slope = gc.complex_step(lambda z: np.exp(z) * np.sin(z), 1.0)
exact = math.exp(1) * (math.sin(1) + math.cos(1))
print("complex step right to 1e-14:", gc.relative_gap(slope, exact) < 1e-14)

# %%
if torch := optional("torch"):
    z = torch.tensor([0.3, -1.2], dtype=torch.float64, requires_grad=True)
    print("torch.autograd.gradcheck:", torch.autograd.gradcheck(lambda z: torch.sin(z) * z, (z,)))

# %% [markdown] tags=["quiz"]
# **Quick check.** You check 100 million parameters along one random direction. How many evaluations of the loss does it take?
#
# - (x) 2 :: One on either side. The direction moves all parameters at once, and its slope is one number.
# - ( ) 200 million :: That is for each parameter alone.
# - ( ) It cannot be done for so many :: The direction is one vector of that length, and the gradient another. Their inner product is one number.

# %% [markdown]
# ## 4.6 Your predictions, and a recap
#
# You predicted the best step, and where the bug is when one matrix alone is off. 1e-5, and in that matrix's rule.
#
# 1. Central difference: error $\tfrac{h^2}{6} |f'''|$ from the formula, $u|f|/h$ from rounding.
# 2. Best step $(3u|f|/|f'''|)^{1/3}$: near 7e-6 in float64, 6e-3 in float32. Check in float64.
# 3. Relative error, the largest over entries: below 1e-7 right, above 1e-2 a bug.
# 4. A kink between $x - h$ and $x + h$ spoils the check, not the gradient.
# 5. What fails tells where: a mistake spoils what lies below it.
# 6. One random direction checks all parameters with two evaluations.

# %% [markdown] tags=["cards"]
# ## 4.7 Recall cards
#
# - What are the two errors of a central difference? :: The formula's, h²|f‴|/6, and rounding's, about u|f|/h.
# - What is the best step in float64? :: (3u|f|/|f‴|)^(1/3), near 7e-6 for numbers near 1.
# - How are two gradients compared? :: By the largest over the entries of |a − b| / max(|a|, |b|). Below 1e-7 right, above 1e-2 a bug.
# - One gradient matrix fails the check, the rest pass. Where is the bug? :: In the rule for that matrix.
# - How can all parameters be checked with two evaluations? :: Along one random direction v: compare the difference quotient with ⟨∇f, v⟩.
# - Why can a right backward fail at a ReLU? :: The step crossed the kink, and the quotient mixes two slopes.

# %% [markdown]
# **Now you:** the exercise [numerical_gradient](exercises/numerical_gradient.ipynb). Then check your `mlp_backward` with it, and go on to [lesson 5](05_memory.ipynb).
