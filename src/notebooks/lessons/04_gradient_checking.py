# %% [markdown]
# # 4 · Gradient checking
#
# **After this lesson** you can tell whether a backward pass is right, without anyone's help. You know which step to take, which number to look at, and what a failure says.
#
# **You need** [lesson 1](01_chain_rule.ipynb) and Taylor's formula; one example uses the rules of lessons 2 and 3. **Allow** 45 minutes.

# %% [markdown] tags=["quiz"]
# **Predict first.** You check a gradient in float64 with $(f(x+h) - f(x-h)) / 2h$. Which step gives the smallest error?
#
# - ( ) `1e-15` :: Here $f(x+h)$ and $f(x-h)$ agree in nearly all their digits, and their difference is mostly rounding. Section 4.2 shows an error near 1e-6 at 1e-11 already.
# - ( ) `1e-10` :: Rounding already rules: an error near 1e-16 in $f$ is divided by 2e-10. Section 4.1.
# - (x) `1e-5` :: Two errors balance near 7e-6. Section 4.1 derives it.
# - ( ) `1e-2` :: Here the formula itself is off by about $h^2$. Section 4.1.

# %% [markdown] tags=["quiz"]
# **Predict first.** Of four gradient matrices, three agree with the nudged ones to 1e-9, and one has a relative error of 3e-2. Where is the bug?
#
# - (x) In the rule for that one matrix :: A wrong adjoint would spoil everything that is computed from it. Section 4.4 makes it happen.
# - ( ) In the loss :: All four gradients start from the loss. It cannot be wrong for one of them alone.
# - ( ) Nowhere, 3e-2 is rounding :: Rounding is near 1e-9 here, as the other three show.

# %% [markdown] tags=["quiz"]
# **Predict first.** How many evaluations of the loss does it take to check the gradient of 100 million parameters?
#
# - ( ) 100 million, or 200 million :: That is the price of nudging each parameter alone. You need not.
# - (x) Two can do :: All parameters move together, along one random direction. Section 4.5.
# - ( ) It cannot be checked :: Nudging one by one is out of reach. It is not the only way.

# %%
import math

import numpy as np

from backprop_course import gradcheck as gc
from backprop_course.activations import cross_entropy, cross_entropy_backward, tanh_backward
from backprop_course.figures.gradcheck import v_curve
from backprop_course.optional import optional

# %% [markdown]
# ## 4.1 The central difference
#
# You wrote a backward pass. Its loss falls, but slowly. Is the gradient right? A wrong gradient often still points downhill, so training does not tell you.
#
# There is a way to know. The derivative says what happens to $f$ when $x$ is nudged. So nudge $x$, and look. Take $f(x) = x^3$ at $x = 2$, where the slope is $3 \cdot 2^2 = 12$, and a step $h = 0.1$:
#
# - **One side**, the *forward difference*: $\dfrac{f(2.1) - f(2)}{0.1} = \dfrac{9.261 - 8}{0.1} = 12.61$.
# - **Both sides**, the *central difference*: $\dfrac{f(2.1) - f(1.9)}{0.2} = \dfrac{9.261 - 6.859}{0.2} = 12.01$.
#
# The second is 61 times closer. Why? And how close can it get?

# %% [markdown]
# **The error of the formula.** Let $f$ have as many derivatives as we need. Taylor's formula for both sides reads
#
# $$f(x \pm h) = f(x) \pm h f'(x) + \tfrac{h^2}{2} f''(x) \pm \tfrac{h^3}{6} f'''(x) + \tfrac{h^4}{24} f''''(x) + O(h^5).$$
#
# $O(h^5)$ stands for terms that shrink at least as fast as $h^5$. The forward difference subtracts $f(x)$ and divides by $h$. The term with $f''$ stays:
#
# $$\frac{f(x+h) - f(x)}{h} = f'(x) + \tfrac{h}{2} f''(x) + O(h^2).$$
#
# The central difference subtracts the two sides from each other. What has the same sign on both sides cancels: $f$, $f''$ and $f''''$. Twice the rest is left, and we divide by $2h$:
#
# $$\frac{f(x+h) - f(x-h)}{2h} = f'(x) + \tfrac{h^2}{6} f'''(x) + O(h^4).$$
#
# For $x^3$ we have $f'' = 6x = 12$ and $f''' = 6$. So the errors are $0.05 \cdot 12 = 0.6$ (and $h^2 = 0.01$ more), and $0.01 \cdot 6 / 6 = 0.01$: as by hand. This is called the *truncation error*: the rest of the Taylor series was cut off.

# %% [markdown] tags=["quiz"]
# **Quick check.** You divide $h$ by 10. What happens to the truncation error of a central difference?
#
# - ( ) It falls to a tenth :: That is the forward difference, whose error is proportional to $h$.
# - ( ) It stays, only rounding changes :: The truncation error depends on $h$ and on nothing else that you can choose.
# - (x) It falls to a hundredth :: It is $h^2 f'''/6$, plus much smaller terms.
# - ( ) It falls to a thousandth :: $h^3$ stands in Taylor's formula. The division by $2h$ takes one power away.

# %%
for h in (1e-1, 1e-2, 1e-3):
    forward = abs(gc.forward_difference(math.sin, 1.0, h) - math.cos(1))
    central = abs(gc.central_difference(math.sin, 1.0, h) - math.cos(1))
    print(f"h = {h:g}   forward error {forward:.1e}   central error {central:.1e}")

# %% [markdown]
# **The error of rounding.** Then why not $h = 10^{-15}$? A float64 number holds 53 binary digits, about 16 decimal ones. The sines of $1 + h$ and $1 - h$, for $h = 10^{-11}$:

# %%
h = 1e-11
above, below = math.sin(1 + h), math.sin(1 - h)
print(f"{above:.13f}\n{below:.13f}")

# %% [markdown]
# The first ten digits agree. They cancel in the difference, and of 16 digits about 5 are left: the rest of the quotient is rounding.
#
# To put a number on it: the computer rounds each result to the nearest number that it can hold. The relative error of one rounding is at most the *unit roundoff* $u = 2^{-53} \approx 1.1 \cdot 10^{-16}$; in float32 it is $u = 2^{-24} \approx 6 \cdot 10^{-8}$.
# So $f(x+h)$ and $f(x-h)$ are each off by up to about $u|f|$. Their difference is off by up to $2u|f|$. It is divided by $2h$:
#
# $$\text{rounding error} \lesssim \frac{u\,|f|}{h}.$$
#
# It *grows* as $h$ shrinks. The sign $\lesssim$ says that this is a model. It counts one rounding for each value of $f$. A long computation makes more, and $x \pm h$ is rounded too, which moves $f$ by up to $u|x||f'|$. Such effects change the bound by a factor, not its shape.

# %% [markdown]
# **The best step.** Now add both errors, with the derivatives taken at $x$:
#
# $$E(h) = \frac{h^2}{6} |f'''| + \frac{u\,|f|}{h}.$$
#
# The first term grows with $h$, the second falls. The sum is least where its derivative is 0:
#
# $$E'(h) = \tfrac{h}{3} |f'''| - \tfrac{u\,|f|}{h^2} = 0.$$
#
# Multiply by $3 h^2 / |f'''|$ and take the cube root:
#
# $$h^* = \left( \frac{3\,u\,|f|}{|f'''|} \right)^{1/3}.$$
#
# (It is a minimum: both terms of $E$ are convex for $h > 0$.) There $h^{*2} |f'''| = 3 u |f| / h^*$, so truncation is half as large as rounding, and $E(h^*) = \tfrac32\,u\,|f| / h^*$. With $|f|$ and $|f'''|$ near 1:

# %%
for precision in ("float64", "float32"):
    h, error = gc.best_step(precision=precision), gc.best_error(precision=precision)
    print(f"{precision}: best step {h:.1e}, error {error:.1e}")

# %% [markdown]
# The best step is near $u^{1/3}$, and the error that it leaves is near $u^{2/3}$: of the digits of $f$, one third is lost even at the best step. In float64 ten or eleven digits of the slope survive, in float32 not even five. **Check gradients in float64**, whatever you train in.

# %% [markdown] tags=["reveal"]
# Why not the forward difference, at half the price?
# Its error model is $\tfrac h2 |f''| + \tfrac{2u|f|}{h}$: the difference of two rounded values is divided by $h$, not $2h$. The derivative $\tfrac12 |f''| - \tfrac{2u|f|}{h^2}$ is 0 at
# $h = 2\sqrt{u |f| / |f''|}$, about $2 \cdot 10^{-8}$, and the error there is $2\sqrt{u |f| |f''|}$, again about $2 \cdot 10^{-8}$: half of the digits. The central difference leaves a thousandth of that. It costs one evaluation more for each parameter, and a check need not be fast.

# %% [markdown]
# ## 4.2 Measured
#
# The sine at 1, with steps from 0.1 down to $10^{-11}$. The error falls by $10^4$ when $h$ falls by $10^2$, until rounding takes over. From there on only its size is certain:

# %%
for h in (1e-1, 1e-3):
    error = abs(gc.central_difference(math.sin, 1.0, h) - math.cos(1))
    print(f"h = {h:.0e}   error {error:.1e}")
for h, bound in ((1e-5, 5e-11), (1e-7, 2e-9), (1e-9, 2e-7), (1e-11, 2e-5)):
    error = abs(gc.central_difference(math.sin, 1.0, h) - math.cos(1))
    print(f"h = {h:.0e}   error below {bound:.0e}: {error < bound}")

# %% [markdown]
# On the machine where this was written, the last four errors were 1.1e-11, 1.9e-10, 3.0e-9 and 1.2e-6. Yours may differ. This is rounding, and it depends on the last bits of your computer's sine.
#
# Now many steps at once. Each dot is one step; both axes are logarithmic, so $h^2$ becomes a line of slope 2 and $1/h$ a line of slope −1.

# %%
v_curve(math.sin, math.cos(1), math.cos(1), 1.0, name="sin")

# %% [markdown]
# The errors form a V. On the right they lie on the dashed line, dot by dot: truncation can be predicted. On the left they scatter, mostly below the dotted line: rounding has a bound, and a bit of luck. The same in float32:

# %%
v_curve(math.sin, math.cos(1), math.cos(1), 1.0, name="sin", precision="float32")

# %% [markdown] tags=["quiz"]
# **Quick check.** What is the truncation error of a central difference of $\exp$ at 0 with $h = 10^{-4}$?
#
# - ( ) about 1e-8 :: That is $h^2$. The factor $1/6$ from Taylor's formula is missing.
# - ( ) about 5e-5 :: That is $h/2$, the error of the forward difference.
# - ( ) about 1e-12 :: That is the rounding error, $u |f| / h$. The formula's own error is larger here.
# - (x) about 1.7e-9 :: $h^2 |f'''| / 6 = 10^{-8} / 6$, since every derivative of $\exp$ at 0 is 1.

# %%
print(f"exp at 0, h = 1e-4: error {abs(gc.central_difference(math.exp, 0.0, 1e-4) - 1):.1e}")

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
# You will not know $f'''$ of a loss. You need not: the cube root is forgiving. If $f'''$ is a thousand times larger, the best step is only ten times smaller. With values near 1, `1e-5` is a good step in float64.

# %% [markdown]
# ## 4.3 Relative error
#
# Two gradients $g$ (yours) and $g_{\text{num}}$ (nudged) never agree in all digits. How close is close? A difference of $10^{-4}$ is nothing beside 100, and everything beside $10^{-5}$. So divide by the size, entry by entry,
#
# $$\frac{|g_{\text{num}} - g|}{\max(|g_{\text{num}}|, |g|, \text{tiny})},$$
#
# and take the largest. The number *tiny* only keeps $0/0$ away. A rule of thumb from Stanford's course [CS231n](https://cs231n.github.io/neural-networks-3/), for float64:
#
# | relative error | verdict |
# |---|---|
# | below 1e-7 | right |
# | 1e-7 to 1e-4 | right if there are kinks (section 4.4); else look closer |
# | 1e-4 to 1e-2 | probably wrong |
# | above 1e-2 | a bug |

# %% [markdown]
# **The mistake: absolute in place of relative error.** The first gradient below is twice what it should be, and the absolute difference looks splendid. The second is right to eleven digits, and the absolute difference looks bad.

# %%
for name, right, wrong in (("doubled", 3e-6, 6e-6), ("right", 4e8, 4e8 + 0.004)):
    print(
        f"{name:8} absolute {abs(wrong - right):.0e}   relative {gc.relative_gap(wrong, right):.0e}"
    )

# %% [markdown]
# **The mistake: float32, or a step that is too small.** The same right slope, four times. Only the step near the best one in float64 passes:

# %%
for kind, h in ((np.float64, 1e-5), (np.float64, 1e-12), (np.float32, 1e-5), (np.float32, 6e-3)):
    slope = gc.central_difference(np.sin, kind(1), kind(h))
    passed = gc.relative_gap(slope, math.cos(1)) < 1e-7
    print(f"{kind.__name__}, h = {h:.0e}: relative error below 1e-7: {passed}")

# %% [markdown]
# **The mistake: a large constant in the loss.** Rounding is relative to $f$, not to its slope. Add a million to the sine, and the slope stays while $u|f|/h$ grows a million times. The remedy is to leave the constant out of what you check. The same happens without a constant when a gradient entry is tiny beside the loss: then a large relative error may be rounding.

# %%
for constant in (0.0, 1e6):
    slope = gc.central_difference(lambda x, c=constant: math.sin(x) + c, 1.0, 1e-5)
    print(f"constant {constant:.0e}: below 1e-7: {gc.relative_gap(slope, math.cos(1)) < 1e-7}")

# %% [markdown] tags=["quiz"]
# **Quick check.** Your check prints a largest difference of 4e-9 between two gradients. Is the gradient right?
#
# - ( ) Yes, 4e-9 is below 1e-7 :: The bound is for the *relative* error. A gradient of 4e-9 that is missing entirely gives the same number.
# - ( ) No, it should be near 1e-16 :: No difference quotient gets there: at the best step an error near 1e-11 is left.
# - (x) It depends on how large the gradient is :: Beside 1 it is fine, beside 1e-8 it is a bug. Divide first.

# %% [markdown]
# ## 4.4 Kinks, and how to read a failure
#
# Taylor's formula needs a smooth $f$. A ReLU has a kink at 0: slope 0 to its left, slope 1 to its right. If $x - h$ and $x + h$ lie on different sides, the quotient mixes the two slopes, and the check fails although the backward is right.

# %%
relu = lambda z: max(z, 0.0)
for z in (0.1, 1e-6):
    print(f"ReLU at {z:g}: slope 1, nudged {gc.central_difference(relu, z, 1e-5):.2f}")
print(f"max(z, 2) at z = 2: nudged {gc.central_difference(lambda z: max(z, 2.0), 2.0, 1e-5):.2f}")

# %% [markdown]
# A tie in a maximum is the same kink: the quotient reports one half, and a backward pass has to choose something (lesson 6 splits the gradient between the two).
#
# What to do: print the smallest $|z|$ of all pre-activations, and check at a point where no $z$ can cross 0 under a nudge. A nudge $h$ of a weight moves $z$ by $h$ times that weight's input, so keep a margin. Or put a smooth activation in place of the ReLU while you check. Do not loosen the tolerance until it passes.

# %% [markdown]
# **Reading a failure.** Here is a small network, $Z_1 = X W_1$, $A_1 = \tanh Z_1$, $Z_2 = A_1 W_2$, with softmax cross-entropy, and its backward pass by the rules of lessons 2 and 3. One line of it is wrong. Can you find it?

# %%
rng = np.random.default_rng(0)
X, labels = rng.normal(size=(5, 4)), np.array([0, 2, 1, 1, 0])
W1, W2 = 0.07 * rng.normal(size=(4, 6)), rng.normal(size=(6, 3))
loss = lambda W1, W2: cross_entropy(np.tanh(X @ W1) @ W2, labels)

Z1 = X @ W1  # (5, 6)
A1 = np.tanh(Z1)  # (5, 6)
dZ2 = cross_entropy_backward(A1 @ W2, labels)  # (5, 3)
dW2 = Z1.T @ dZ2  # (6, 3)
dW1 = X.T @ tanh_backward(dZ2 @ W2.T, Z1)  # (4, 6)

# %%
gap1 = gc.directional_check(lambda W: loss(W, W2), dW1, W1, rng)
gap2 = gc.directional_check(lambda W: loss(W1, W), dW2, W2, rng)
print(f"dW1 below 1e-7: {gap1 < 1e-7}     dW2: relative error {gap2:.0e}")

# %% [markdown]
# `dW1` is right, so the adjoints that it is made of are right: `dZ2`, the way through $W_2^{\mathsf T}$, and the slope of tanh. Only the rule of `dW2` itself is left, and there $Z_1$ stands where $A_1$ belongs. For small $z$ the two are nearly equal, which is why the error is only a few percent, and why training would not have shown it.

# %%
dW2 = A1.T @ dZ2  # (6, 3)
gap2 = gc.directional_check(lambda W: loss(W1, W), dW2, W2, rng)
print("mended, dW2 below 1e-7:", gap2 < 1e-7)

# %% [markdown]
# A backward pass runs from the loss downward, so a wrong adjoint spoils all that lies below it, and leaves what lies above it right:
#
# | what fails | look at |
# |---|---|
# | one matrix at 3e-2, all others at 1e-9 | the rule of that matrix |
# | everything, by the same factor | the loss: a mean that was left out, or taken twice |
# | everything below one layer | that layer's slope, or its $W^{\mathsf T}$ |
# | a few entries, near a pre-activation of 0 | a kink: your backward may be right |
# | everything, scattered near 1e-4 | float32, or a step far from the best |

# %% [markdown] tags=["quiz"]
# **Quick check.** Every gradient is exactly 32 times the nudged one, and the batch size is 32. What is wrong?
#
# - ( ) The step `h` is too small :: Rounding scatters; it does not multiply everything by one whole number.
# - (x) The division by the batch size is missing :: The loss is a mean, so $1/B$ enters once, with the adjoint of the logits. The common factor gives it away.
# - ( ) The biases are summed over the batch :: They must be: a bias is used once for each example. And it would touch the biases alone.

# %% [markdown]
# ## 4.5 Cheaper checks
#
# Nudging every parameter costs two evaluations for each of them. There are ways to pay less.
#
# **A few random coordinates.** A wrong rule is nearly always wrong in most entries, so a handful of entries will show it. (A mistake in one row, say for the last class, can slip through.)

# %%
for i, j in zip(rng.integers(0, 4, size=3), rng.integers(0, 6, size=3), strict=True):
    E = np.zeros_like(W1)
    E[i, j] = 1.0  # the direction in which only this entry moves
    nudged = gc.central_difference(lambda t, E=E: loss(W1 + t * E, W2), 0.0, 1e-5)
    print(f"entry ({i}, {j}): below 1e-7: {gc.relative_gap(nudged, dW1[i, j]) < 1e-7}")

# %% [markdown]
# **One random direction.** By the chain rule the slope of $t \mapsto f(x + t v)$ at $t = 0$ is $\sum_i \frac{\partial f}{\partial x_i} v_i = \langle \nabla f, v \rangle$. So draw a random $v$, and compare this inner product with
# $(f(x + hv) - f(x - hv)) / 2h$. Two evaluations check all parameters together, whether there are 24 or 100 million. A mistake $\delta$ in the gradient hides only if $\langle \delta, v \rangle = 0$, and a random $v$ does not do it that favour. `gc.directional_check`, which you used above, does just this.
#
# Its weakness: one wrong entry among 100 million changes $\langle \nabla f, v \rangle$ by very little. So check each matrix along a direction of its own: then you also see *which* rule is wrong.

# %%
gradient = dW1.copy()
gradient[0] *= 1.01  # one row is 1% too large
f = lambda W: loss(W, W2)
print("right gradient passes:", gc.directional_check(f, dW1, W1, rng) < 1e-7)
print("wrong gradient passes:", gc.directional_check(f, gradient, W1, rng) < 1e-7)

# %% [markdown]
# **The adjoint identity.** The backward of a linear map $J$ multiplies by $J^{\mathsf T}$, and for all vectors $v$ and $w$
#
# $$\langle v, J w \rangle = \sum_{i,j} v_i J_{ij} w_j = \langle J^{\mathsf T} v, w \rangle.$$
#
# It has no step and no truncation. With random $v$ and $w$ it holds to about $10^{-15}$, or the backward does not belong to this forward. For a map that is not linear, $J w$ is its forward-mode derivative (lesson 1).

# %%
A = rng.normal(size=(6, 4))
x, y = rng.normal(size=4), rng.normal(size=6)
right = gc.adjoint_gap(lambda w: A @ w, lambda v: A.T @ v, x, y, rng)
wrong = gc.adjoint_gap(lambda w: A @ w, lambda v: A[::-1].T @ v, x, y, rng)
print("right:", right < 1e-12, "  rows in reverse:", wrong < 1e-12)

# %% [markdown]
# **The complex step.** If $f$ accepts complex numbers and is analytic (built from sums, products, exp, sin, …, but no absolute value or maximum), put $x + ih$ in. Since $i^2 = -1$ and $i^3 = -i$,
#
# $$f(x + ih) = f(x) + i h f'(x) - \tfrac{h^2}{2} f''(x) - \tfrac{i h^3}{6} f'''(x) + \dots$$
#
# For an $f$ that is real on the real line, the imaginary part divided by $h$ is $f'(x) - \tfrac{h^2}{6} f'''(x) + \dots$ No difference of two close numbers is taken, so nothing cancels, and $h$ may be $10^{-100}$: the result is right to the last digits.

# %%
slope = gc.complex_step(lambda z: np.exp(z) * np.sin(z), 1.0)
exact = math.exp(1) * (math.sin(1) + math.cos(1))
print("complex step right to 1e-14:", gc.relative_gap(slope, exact) < 1e-14)

# %% [markdown]
# PyTorch has its own check. `torch.autograd.gradcheck` nudges every entry of float64 inputs and compares with the backward pass; you will use it in lesson 6 on functions whose backward you write yourself.

# %%
if torch := optional("torch"):
    z = torch.tensor([0.3, -1.2], dtype=torch.float64, requires_grad=True)
    print("torch.autograd.gradcheck:", torch.autograd.gradcheck(lambda z: torch.sin(z) * z, (z,)))

# %% [markdown] tags=["quiz"]
# **Quick check.** You check 100 million parameters along one random direction. How many evaluations of the loss does it take?
#
# - ( ) 200 million :: That is for each parameter alone.
# - ( ) 100 million and one :: That is the forward difference, for each parameter alone.
# - (x) 2 :: One on either side. The direction moves all parameters at once, and the slope along it is one number.

# %% [markdown]
# ## 4.6 Your predictions, and a recap
#
# The best step in float64 was 1e-5, near $(3u)^{1/3}$. When one matrix alone is off, its own rule is wrong. And two evaluations can check 100 million parameters, along one direction. Were you right, and for the right reason?
#
# 1. Central difference: error $\tfrac{h^2}{6} |f'''|$ from the formula, up to about $u|f|/h$ from rounding.
# 2. Best step $(3u|f|/|f'''|)^{1/3}$: near 7e-6 in float64, 6e-3 in float32. Check in float64.
# 3. Relative error, the largest over entries: below 1e-7 right, above 1e-2 a bug.
# 4. A kink between $x - h$ and $x + h$ spoils the check, not the gradient.
# 5. What fails tells where: a wrong adjoint spoils what lies below it, a wrong rule its own matrix.
# 6. One random direction checks all parameters with two evaluations.

# %% [markdown] tags=["cards"]
# ## 4.7 Recall cards
#
# - What are the two errors of a central difference? :: The formula's, h²|f‴|/6, and rounding's, up to about u|f|/h.
# - What is the best step in float64? :: (3u|f|/|f‴|)^(1/3), near 7e-6 for numbers near 1.
# - How are two gradients compared? :: By the largest over the entries of |a − b| / max(|a|, |b|). Below 1e-7 right, above 1e-2 a bug.
# - One gradient matrix fails the check, the rest pass. Where is the bug? :: In the rule for that matrix.
# - How can all parameters be checked with two evaluations? :: Along one random direction v: compare the difference quotient with ⟨∇f, v⟩.
# - Why can a right backward fail at a ReLU? :: The step crossed the kink, and the quotient mixes two slopes.
# - How do you know that a backward pass is right? :: Float64, a central difference with h near 1e-5 along a random direction for each matrix, away from kinks; relative errors below 1e-7.

# %% [markdown]
# **Now you:** the exercise [numerical_gradient](exercises/numerical_gradient.ipynb). Then check your `mlp_backward` with it, plot its error against $h$, and go on to [lesson 5](05_memory.ipynb).
