# %% [markdown]
# # 7 · Train it by hand
#
# **You will be able to**
#
# - train a classifier with a backward pass made of rules you derived yourself, and no framework;
# - check a gradient before you trust a training run;
# - recognise a wrong backward pass by its symptom, and find the matrix that is wrong;
# - answer the questions about backpropagation that interviewers ask.
#
# **You need** lessons 2 to 4; lesson 6 for section 7.6. **Time**: about 75 minutes.
#
# The data: 1,797 handwritten digits of 8 × 8 pixels. The network: lesson 3's classifier. At the
# end it reads more than 95% of digits that it has never seen, and you have broken it in ten ways.

# %%
import inspect

import numpy as np

from backprop_course import training
from backprop_course.activations import cross_entropy
from backprop_course.autograd import Tensor, backward_order
from backprop_course.figures import training as figures
from backprop_course.training import BUGS, RIGHT, forward, gradients, init_mlp, train

# %% [markdown]
# ## Predict first

# %% [markdown] tags=["quiz"]
# **Prediction 1.** A training run reaches 97% test accuracy. What does that say about its backward pass?
#
# - ( ) It is right: a wrong gradient could not find such weights :: Section 7.5 has a run with a wrong gradient and 97%. Descent needs only a direction that goes roughly downhill.
# - (x) Little: a wrong gradient can still point downhill :: Accuracy is a weak test of a gradient. A gradient check is a strong one.
# - ( ) The first layer's gradient is right, the others may be wrong :: Nothing singles out the first layer. In fact mistakes made near the output spread to all layers before it.

# %% [markdown] tags=["quiz"]
# **Prediction 2.** The mean over the batch of 64 is taken twice. How does training change?
#
# - (x) As if the learning rate were 64 times smaller :: Every gradient is divided by 64 once more, and SGD multiplies gradients by the rate. The direction stays right.
# - ( ) It diverges :: That is what happens if the mean is left out: then the steps are 64 times too long.
# - ( ) Not at all: only the scale of the loss changes :: The loss is right in this bug. The gradient is what is 64 times too small, and SGD notices the scale of its gradient.

# %% [markdown] tags=["quiz"]
# **Prediction 3.** You forget to zero the gradients between steps. What do you see?
#
# - ( ) Training gets slower and slower :: The steps do not get shorter.
# - ( ) Nothing: the old gradient is overwritten :: Gradients accumulate, because a second use must add (lesson 1). Nothing overwrites.
# - (x) Gradient norms grow, and the loss jumps up soon :: Each step follows the sum of all gradients so far, including those long out of date.

# %% [markdown]
# ## 7.1 Data and network
#
# Each image is a row of 64 numbers in $[0, 1]$. A quarter of the images is put aside for testing.

# %%
X_train, y_train, X_test, y_test = data = training.load_digits()
print("train", X_train.shape, " test", X_test.shape, " classes", len(set(y_train.tolist())))
figures.digits(X_train, y_train)

# %% [markdown]
# The network is a list of layers `(W, b)`. With one hidden layer of 64 ReLU units:
#
# $$Z_1 = X W_1 + b_1,\quad A_1 = \operatorname{relu}(Z_1),\quad Z_2 = A_1 W_2 + b_2,\quad
# L = \text{mean cross-entropy of } Z_2 .$$
#
# The weights start as normal random numbers of variance $2/n$, with $n$ the number of inputs.
# ReLU sets about half of its inputs to zero; the 2 makes up for that, so that activations keep
# their size from layer to layer ([He et al., arXiv 1502.01852](https://arxiv.org/abs/1502.01852)).

# %%
layers = init_mlp(64, 64, 10, seed=0)
Z, cache = forward(X_train[:64], layers)
print("shapes:", [(W.shape, b.shape) for W, b in layers], " logits:", Z.shape)
print("weights:", sum(W.size + b.size for W, b in layers))
print(
    f"loss before training {cross_entropy(Z, y_train[:64]):.2f}, guessing costs log 10 = {np.log(10):.2f}"
)

# %% [markdown]
# That last line is a free check. Before training a classifier knows nothing, so its loss should
# be near $\log K$. A first loss of 50 means that the weights are too large or the labels are
# wrong.

# %% [markdown]
# ## 7.2 The backward pass, built from rules
#
# Lesson 3 proved what happens in each layer. Let $G_l = dZ_l$ be the gradient with respect to the
# pre-activations of layer $l$. Then
#
# $$G_{\text{last}} = \frac{P - Y}{B},\qquad dW_l = A_{l-1}^T G_l,\quad db_l = \mathbf 1^T G_l,\qquad
# G_{l-1} = (G_l W_l^T)\odot [Z_{l-1} > 0].$$
#
# Four rules: one for the loss, one for the weights, one for the inputs, one for the mask. The
# course keeps them apart, so that later you can swap in a wrong one. The walk over the layers
# uses what the forward pass has cached.

# %%
print(inspect.getsource(gradients))

# %% [markdown]
# One detail: `if k` skips the last product. Nobody asked for the gradient of the images, and
# lesson 2 counted what it would cost: a third of the first layer's work.

# %% [markdown] tags=["quiz"]
# **Quick check.** In `gradients`, the mask of layer `k - 1` is applied to `dZ @ W.T`. Which shape has this product, for
# a batch of 64 and layers 64–32–10, at `k = 1`?
#
# - (x) (64, 32) :: `dZ` is (64, 10), `W` is (32, 10), so `dZ @ W.T` is (64, 32): one number for each example and hidden unit, like `Z1`.
# - ( ) (64, 10) :: That is `dZ` itself. The product takes it back through the weights, to the layer below.
# - ( ) (32, 10) :: That is the shape of `W` and of `dW`. The gradient of activations has one row for each example.

# %% [markdown]
# ## 7.3 Check first, train later
#
# Never train with an unchecked gradient. Lesson 4's cheap check: for one matrix $P$, take a
# random direction $V$ and compare
#
# $$\frac{L(P + hV) - L(P - hV)}{2h}\quad\text{with}\quad \langle dP, V\rangle = \sum_{ij} dP_{ij}V_{ij} .$$
#
# One number for each matrix, and it tells you *which* matrix is wrong. We report the relative
# gap.


# %%
def gap(P, dP, loss, h=1e-5, seed=0):
    """Relative gap between a central difference along a random direction and <dP, V>."""
    V = np.random.default_rng(seed).normal(size=P.shape).astype(P.dtype)
    P += h * V
    up = loss()
    P -= 2 * h * V
    difference = (up - loss()) / (2 * h)
    P += h * V
    return abs(difference - np.sum(dP * V)) / max(abs(difference), abs(np.sum(dP * V)))


# %%
def gaps(layers, X, labels, rules=RIGHT, **how):
    """The gap of every W and b, in order; `rules` are those of the backward pass under test."""
    _, grads = gradients(X, labels, layers, rules)

    def loss():
        return cross_entropy(forward(X, layers)[0], labels)

    pairs = zip(layers, grads, strict=True)
    return [gap(P, dP, loss, **how) for layer, g in pairs for P, dP in zip(layer, g, strict=True)]


X8, y8 = X_train[:8], y_train[:8]
worst = max(gaps(init_mlp(64, 64, 10, seed=4), X8, y8))
print("W1, b1, W2, b2 all below 1e-7:", worst < 1e-7)

# %% [markdown]
# Right, on random weights, in float64. Now the ways in which a *check* can fool you. There are
# four.
#
# **1. A check in float32.** The same right gradient:

# %%
small = init_mlp(64, 64, 10, seed=4, dtype=np.float32)
in_float32 = max(gaps(small, X8.astype(np.float32), y8))
print("float32, largest gap above 1e-4:", in_float32 > 1e-4)

# %% [markdown]
# Nothing is wrong with the rule; the loss is rounded to 7 digits, and the difference loses most
# of them. With the best step for float32, near $6\cdot10^{-3}$ (lesson 4), it would still be far
# from $10^{-7}$. Check in float64, even if you train in float32.
#
# **2. A step that is too small.** Rounding divided by a tiny $h$:

# %%
for h in (1e-5, 1e-13):
    worst = max(gaps(init_mlp(64, 64, 10, seed=4), X8, y8, h=h))
    print(f"h = {h:g}: largest gap below 1e-7: {worst < 1e-7}, above 1e-4: {worst > 1e-4}")

# %% [markdown]
# **3. An absolute error.** Late in training gradients are tiny. Here is a network that is very
# sure of itself (its last layer is multiplied by 10 after training), checked with a rule that
# takes the mean over the 8 images twice: every gradient is 8 times too small.

# %%
sure = init_mlp(64, 64, 10, seed=4)
train(data, sure, steps=500)
sure[1] = (sure[1][0] * 10, sure[1][1] * 10)
(_, right), (_, wrong) = (gradients(X8, y8, sure, r) for r in (RIGHT, BUGS["mean taken twice"]))
absolute = max(np.abs(r[0] - w[0]).max() for r, w in zip(right, wrong, strict=True))
print("largest absolute error below 1e-6:", absolute < 1e-6)
print(
    "relative error:",
    round(float(np.abs(right[1][0] - wrong[1][0]).max() / np.abs(right[1][0]).max()), 3),
)

# %% [markdown]
# The absolute error would pass any test with a tolerance of $10^{-6}$. The relative error says
# 0.875: seven eighths of the gradient are missing.
#
# **4. A step across a kink.** One unit with pre-activation $z = 10^{-6}$. The slope of the ReLU
# there is 1, but a step of $10^{-5}$ reaches the flat side:


# %%
def relu(z):
    return max(z, 0.0)


z, h = 1e-6, 1e-5
print("central difference:", round((relu(z + h) - relu(z - h)) / (2 * h), 3), "  slope: 1")

# %% [markdown]
# The rule is right and the check says 45% off. Make sure that no pre-activation lies within reach
# of the step, or check with a smooth activation. For the direction used above, the step in $W_1$
# moves the pre-activations by $h\,XV$:

# %%
(W1, b1), _ = init_mlp(64, 64, 10, seed=4)
V = np.random.default_rng(0).normal(size=W1.shape)
nearest, reach = np.abs(X8 @ W1 + b1).min(), 1e-5 * np.abs(X8 @ V).max()
print(f"nearest to a kink {nearest:.1e}, reach of the step {reach:.1e}: safe {nearest > reach}")

# %% [markdown] tags=["quiz"]
# **Quick check.** The check gives `W1: 3e-2, b1: 2e-2, W2: 4e-10, b2: 1e-10`. Where is the bug?
#
# - ( ) In the rule for the loss: everything starts there :: Then `W2` and `b2` would be wrong too. They are right, so `dZ2` is right.
# - ( ) In the formula for `dW1`, and in the one for `db1` too :: Two independent mistakes are possible, but one common cause is likelier.
# - (x) Between the layers: in `dZ2 @ W2.T` or in the mask :: `dZ2` is right and everything that comes from `dZ1` is wrong. So `dZ1` is wrong.

# %% [markdown]
# ## 7.4 Train
#
# Plain stochastic gradient descent. Draw 64 images, compute the gradients, move every weight:
# $W \leftarrow W - \eta\, dW$, with the rate $\eta = 0.5$. Here is the loop body; `train` adds
# the bookkeeping.

# %%
print(inspect.getsource(training.sgd_step))
layers = init_mlp(64, 64, 10, seed=0)
history = train(data, layers, steps=500)
print("test accuracy above 95%:", history["accuracy"][-1] > 0.95)
figures.learning_curves(history)

# %% [markdown]
# 4,810 weights, 500 steps, some tenths of a second. (In the course's tests ten seeds of ten end
# above 95%.)
#
# **What does a gradient look like?** A column of $dW_1$ belongs to one hidden unit and has one
# entry for each pixel: it is an image. It is the sum, over the batch, of the input images, each
# weighted by the blame of the unit in that image: lesson 2's sum of outer products.

# %%
_, grads = gradients(X_train[:64], y_train[:64], init_mlp(64, 64, 10, seed=0))
figures.first_layer_gradients(grads[0][0])

# %% [markdown]
# The corners have gradient 0: these pixels are white in every image, and $dW_1 = X^T G_1$ is zero
# wherever $X$ is.
#
# **Gradient norms, layer by layer**, are the pulse of a training run. Log them in every run; they
# cost almost nothing.

# %%
deep = init_mlp(64, 64, 64, 10, seed=0)
runs = {"right": train(data, deep, steps=300)}
figures.gradient_norms(runs)

# %% [markdown]
# All three layers have gradients of similar size, which shrink together as the loss falls. That
# is what health looks like. From here on the network has two hidden layers, 64–64–64–10, so that
# two of its matrices are square. You will see why that is dangerous.

# %% [markdown]
# ## 7.5 Break it, and recognise the bug by its symptom
#
# Eight training runs. Each has one bug, and none of them raises an error. Guess before you read
# on.

# %%
LETTERS = {
    "A": "mean taken twice",
    "B": "mask of the next layer",
    "C": "mean left out",
    "D": "dW transposed",
    "E": "input overwritten",
    "F": "W instead of W.T",
    "G": "mask from h >= 0",
}

# %%
for letter, bug in LETTERS.items():
    with np.errstate(all="ignore"):
        runs[letter] = train(data, init_mlp(64, 64, 64, 10, seed=0), steps=300, rules=BUGS[bug])
with np.errstate(all="ignore"):
    runs["H"] = train(data, init_mlp(64, 64, 64, 10, seed=0), steps=300, zero_grad=False)
figures.symptoms(runs)

# %%
print("run    loss at 0, 20, 100, 299        accuracy at 50, 100, 300  |dW1|, |dW3| at 0")
for name, run in runs.items():
    loss = "  ".join(f"{run['loss'][s]:5.2f}" for s in (0, 20, 100, 299))
    accuracy = "  ".join(f"{run['accuracy'][s]:4.0%}" for s in (5, 10, 30))
    first, _, last = run["norms"][0]
    print(f"{name:5}  {loss}     {accuracy}          {first:6.3f}  {last:6.3f}")

# %% [markdown] tags=["quiz"]
# **Which run left out the mean over the batch?**
#
# - ( ) A: it falls much more slowly than the right one :: That is the opposite mistake: steps 64 times too short.
# - (x) C: its first norms are 64 times those of the right run, and its loss jumps up at once :: Every gradient is `B` = 64 times too large. At rate 0.5 that is a rate of 32.
# - ( ) H: its loss jumps up too :: It does, but its first norms are the right ones: nothing is wrong in the first step. Look at what changes later.

# %% [markdown] tags=["quiz"]
# **Run H starts like the right one, then its norms grow and the loss jumps. What is the bug?**
#
# - ( ) The mean was left out :: Then the very first norms would be 64 times too large.
# - ( ) The mask comes from the wrong layer :: That makes a wrong gradient from the first step on, and does not make it grow.
# - (x) The gradients are not zeroed between steps :: The first step is right, since there is nothing to add to. From the second on, old gradients pile up.

# %% [markdown] tags=["quiz"]
# **One run has a wrong gradient and ends as good as the right one. Which, and how could you know?**
#
# - (x) B; only a gradient check shows it :: A mask of the wrong layer is wrong in about half of its entries, and still points roughly downhill. Curves, norms and accuracy look healthy.
# - ( ) A; its loss is too high at the end :: A is only late. Its direction is right, only its length is wrong.
# - ( ) D; its accuracy stops rising :: D does have a wrong gradient, but it is far from as good.

# %% [markdown] tags=["reveal"]
# Which bug is which
# | run | bug | symptom |
# |---|---|---|
# | A | the mean is taken twice | healthy curves in slow motion; all norms 64 times too small |
# | B | mask of the next layer | none in the curves; only the gradient check sees it |
# | C | the mean is left out | all norms 64 times too large at the first step; the loss explodes, most units die |
# | D | `dW` transposed, $G^TA$ for $A^TG$ | learns for a while, then hovers; norms look right, since a transpose does not change them |
# | E | an input buffer overwritten before the backward pass | hardly learns: the first layer gets the gradient of other images |
# | F | $W$ for $W^T$ | learns, then collapses |
# | G | mask from $h \ge 0$ instead of $z > 0$ | first norms too large in the early layers; noisy and late |
# | H | gradients not zeroed | a right first step, then growing norms and a jump |

# %% [markdown]
# The norms of three of them, next to the right run. A lies 64 times lower. C starts 64 times
# higher, jumps to a million, and falls to nothing, since every hidden unit has died. H starts
# right and climbs, until its units are dead too: then nothing new is added, but the old sum is
# applied again in every step. (Norms below 0.001 are drawn at 0.001.)

# %%
figures.gradient_norms({name: runs[name] for name in ("right", "A", "C", "H")})

# %% [markdown]
# **Now catch them all.** The check of section 7.3, on random weights, before any training: one
# row a bug, one mark a layer.

# %%
fresh = init_mlp(64, 64, 64, 10, seed=4)
found = {name: gaps(fresh, X8, y8, rules) for name, rules in {"right": RIGHT, **BUGS}.items()}
errors = {name: by_matrix[::2] for name, by_matrix in found.items()}  # W1, W2, W3
figures.error_dots(errors)

# %% [markdown]
# The check costs two forward passes a matrix, and it catches every one of them, the silent one
# included. It also says where to look:

# %%
print("wrong by more than 1e-7 (x) or right (.)   W1 b1 W2 b2 W3 b3")
for name, by_matrix in found.items():
    print(f"{name:42}  " + "  ".join("x" if g > 1e-7 else "." for g in by_matrix))

# %% [markdown]
# - **Everything** wrong, by the same factor: the rule for the loss, that is, the mean.
# - Right from some layer on, and **weights and biases** wrong in every layer before: the step
#   back to those layers, $W^T$ or the mask.
# - A weight wrong but **its bias right**: then $dZ$ is right, and the fault is in the rule for
#   $dW$, or in the input that was saved for it.
#
# **Why did no shape error help?** Because the matrices are square. In the 64–32–10 network the
# same two mistakes are loud:

# %%
(W1, b1), (W2, b2) = init_mlp(64, 32, 10, seed=0)
A, dZ = np.zeros((8, 32)), np.zeros((8, 10))
for name, product in {"dZ @ W2": lambda: dZ @ W2, "dZ.T @ A": lambda: dZ.T @ A}.items():
    try:
        print(f"{name} has shape {product().shape}, W2 has shape {W2.shape}")
    except ValueError:
        print(f"{name}: shapes {dZ.shape} and {W2.shape} do not fit")

# %% [markdown]
# The first cannot be computed; the second has the shape of $W_2^T$, and the update
# `W2 -= rate * dW2` would fail. **Test with sizes that are all different**: let NumPy find these
# bugs for you.

# %% [markdown] tags=["quiz"]
# **Quick check.** Why are the first norms of run D exactly those of the right run?
#
# - ( ) Because the bug is in another layer :: It is in the layers whose `dZ` and `A` have the same shape: those whose norms you see.
# - ( ) By chance, for this seed :: It holds for every seed.
# - (x) A transposed matrix has the same entries in other places, so the same norm :: A norm sees how long a gradient is, not where it points. That is why norms alone are no proof.

# %% [markdown]
# ## 7.6 Two bugs of engines
#
# The MLP uses every value once, so it cannot show the mistake of overwriting at fan-out. A
# **residual** layer can: $H$ goes into a layer *and* around it,
# $Y = H + \operatorname{relu}(HW_2)$. We sabotage lesson 6's `Tensor`: the last share overwrites
# the ones before.


# %%
def overwriting(self, dX):
    self.grad = np.asarray(dX)


def residual_loss(W1, W2, W3):
    H = (X8 @ W1).relu()
    Y = H + (H @ W2).relu()  # H is used twice
    return (Y @ W3).cross_entropy(y8)


# %%
weights = [Tensor(W) for W, _ in init_mlp(64, 64, 64, 10, seed=4)]
adding = Tensor._receive
for name, receive in {"adding": adding, "overwriting": overwriting}.items():
    Tensor._receive = receive
    for W in weights:
        W.grad = None
    residual_loss(*weights).backward()
    report = [
        bool(gap(W.data, W.grad, lambda: residual_loss(*weights).data) < 1e-7) for W in weights
    ]
    print(f"{name:12} W1, W2, W3 right: {report}")
Tensor._receive = adding

# %% [markdown]
# $W_2$ and $W_3$ lie after the fan-out and are right. $W_1$ lies before it and lost one of two
# paths. In a deep residual network every layer but the last would be wrong.
#
# **The whole data set in one graph.** A running total that is a tensor keeps every step's graph
# alive.

# %%
total, alive = 0.0, []
for _ in range(4):
    total = total + residual_loss(*weights)
    alive.append(len(backward_order(total)))
print("nodes kept alive, step by step:", alive)

# %% [markdown]
# The symptom is memory that grows with every step until the process is killed. The cure: add
# `loss.data` (`loss.item()` in PyTorch), a plain number.

# %% [markdown] tags=["quiz"]
# **Quick check.** A colleague's residual network trains, but poorly. The check gives: last block right, every block before it wrong. What do you suspect
# first?
#
# - ( ) The mean over the batch :: That would make all blocks wrong by one factor, the last one too.
# - (x) A share lost where the skip path and the block meet :: From the last fan-out backwards one path is missing, so everything before it is wrong.
# - ( ) Dead ReLU units :: Dead units make gradients that are zero and *right*. The check would pass.

# %% [markdown]
# ## 7.7 Your turn: digits above 95%
#
# Write the training loop yourself. You have `gradients(X, labels, layers)`, which returns the
# loss and a list of `(dW, db)`. Draw batches, move the weights in place, and bring the test
# accuracy above 95%.


# %% tags=["turn"]
def train_digits(X, labels, layers, steps=500, batch=64, rate=0.5, seed=0):
    """Plain SGD on `layers` [(W, b), ...], in place; return `layers`."""
    ### BEGIN SOLUTION
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        rows = rng.integers(0, len(X), batch)
        _, grads = gradients(X[rows], labels[rows], layers)
        for (W, b), (dW, db) in zip(layers, grads, strict=True):
            W -= rate * dW
            b -= rate * db
    return layers
    ### END SOLUTION


# %%
from backprop_course.checks.turns import check_train_digits

check_train_digits(train_digits)

# %% [markdown]
# ## 7.8 Where it shows up
#
# You have met one algorithm. It has many names.
#
# - **Frameworks.** PyTorch, JAX and TensorFlow are lesson 6's table with hundreds of rules,
#   compiled for many devices.
# - **The cost of large models.** Forward $2N$, backward $4N$ FLOPs for each token and $N$
#   weights: $6ND$ for $D$ tokens (lesson 2). *Model FLOPs utilization* (MFU) divides this count
#   by what the hardware could have done in the same time.
# - **Normalization and residual paths** are fan-out: a mean uses every value, a skip path uses a
#   value twice. Their gradients are sums (lesson 6).
# - **Attention** is two matrix products and a softmax, whose VJP is $p\odot(v - v^Tp)$ (lessons 3
#   and 6).
# - **Backpropagation through time** (BPTT): a recurrent network is one layer used at every time
#   step. Its weight gradient is a sum over the steps, and the product of many Jacobians is why it
#   vanishes or explodes.
# - **The adjoint method.** An ODE solver is a long chain of steps. Solving backwards in time for
#   $\bar u$ gives the gradient with respect to all parameters for the price of a few forward
#   solves. Weather centres fit the state of the atmosphere to millions of observations this way:
#   *4D-Var*. They test their adjoint code with $\langle v, Jw\rangle = \langle J^Tv, w\rangle$.
# - **Physics-informed networks** (PINNs) put the derivative of the network into the loss and
#   differentiate again (lesson 6).

# %% [markdown]
# ## 7.9 Questions from interviews
#
# Answer aloud, then open.

# %% [markdown] tags=["reveal"]
# Derive the gradient of softmax cross-entropy with respect to the logits.
# $L = -z_c + \log\sum_j e^{z_j}$. The slope of the first term with respect to $z_i$ is
# $-[i = c]$. The slope of the second is $e^{z_i}/\sum_j e^{z_j} = p_i$. Together $p - y$, with
# $y$ one-hot. For a mean over $B$ examples, divide by $B$, once. It holds for every target with
# $\sum y = 1$. (Lesson 3.)

# %% [markdown] tags=["reveal"]
# Write the backward pass of a two-layer ReLU network with softmax cross-entropy.
# $G_2 = (P - Y)/B$; $dW_2 = A_1^TG_2$; $db_2 = $ column sums of $G_2$; $dA_1 = G_2W_2^T$;
# $G_1 = dA_1\odot[Z_1>0]$; $dW_1 = X^TG_1$; $db_1 = $ column sums of $G_1$. Say the shapes as you
# write: $G_2$ is $(B, K)$, $W_2$ is $(m, K)$, so $dA_1$ is $(B, m)$. (Lesson 3 and its exercise.)

# %% [markdown] tags=["reveal"]
# Where does the memory of training go?
# Weights, their gradients and the optimizer's state are fixed costs. Activations saved for the
# backward pass grow with batch × length × depth × width, since all layers' activations are alive
# when the forward pass ends. Checkpointing keeps some and recomputes the rest: about $2\sqrt n$
# instead of $n$ for one extra forward pass. (Lesson 5.)

# %% [markdown] tags=["reveal"]
# How do you know that a backward pass is right?
# Compare with central differences in float64, $h \approx 10^{-5}$, relative error below
# $10^{-7}$, away from kinks, with sizes that are all different. For large models: a few random
# directions, or the adjoint identity. A second independent implementation helps. A falling loss
# proves nothing: run B of this lesson ends as good as the right one. (Lessons 4 and 7.)

# %% [markdown] tags=["reveal"]
# Why is training about 6N FLOPs per token?
# Each weight is one multiplication and one addition in the forward pass: $2N$. Backward needs two
# products of the same size for each layer, one for $dW$ and one for the gradient of the input:
# $4N$. It leaves out attention scores and everything elementwise. (Lesson 2.)

# %% [markdown] tags=["reveal"]
# Does the backward pass multiply big Jacobian matrices?
# No. It computes vector-Jacobian products, each in about twice the time of the forward step. The
# Jacobian of one 4096 × 4096 layer for a batch of 64 would have 69 billion entries; the product
# `dY @ W.T` never forms it. (Lessons 1 and 2.)

# %% [markdown]
# ## 7.10 Watch and read
#
# - 3Blue1Brown: [What is backpropagation really doing?](https://www.youtube.com/watch?v=Ilg3gGewQ5U) and [Backpropagation calculus](https://www.youtube.com/watch?v=tIeHLnjs5U8)
# - Stanford CS231n: [Lecture 4, Introduction to Neural Networks](https://www.youtube.com/watch?v=d14TUNcbn1k), and the notes on
#   [backpropagation](https://cs231n.github.io/optimization-2/) and [gradient checks](https://cs231n.github.io/neural-networks-3/)
# - Andrej Karpathy: [The spelled-out intro to neural networks and backpropagation: building micrograd](https://www.youtube.com/watch?v=VMj-3S1tku0) and [Building makemore Part 4: Becoming a Backprop Ninja](https://www.youtube.com/watch?v=q8SA3rM6ckI)
# - Rumelhart, Hinton, Williams, *Learning representations by back-propagating errors*, 1986,
#   [doi:10.1038/323533a0](https://doi.org/10.1038/323533a0)
# - Baydin et al., *Automatic differentiation in machine learning: a survey*, [arXiv 1502.05767](https://arxiv.org/abs/1502.05767)

# %% [markdown]
# ## Predictions revisited
#
# 1. High accuracy says **little** about the gradient: run B ended as good as the right run.
# 2. The mean taken twice is a **learning rate 64 times smaller**: run A.
# 3. Gradients that are not zeroed make **norms grow** and the loss jump: run H.
#
# ## Recap
#
# - First loss near $\log K$, gradient check in float64, then train.
# - Check each matrix on its own: the pattern of right and wrong points to the rule.
# - Use sizes that are all different, and steps that cross no kink.
# - Log per-layer gradient norms: they show wrong factors and gradients that pile up.
# - A healthy curve proves nothing.

# %% [markdown] tags=["cards"]
# ## Recall cards
#
# - What should the first loss of a K-class classifier be? :: About $\log K$, the cost of guessing.
# - All gradients are B times too large. What is the bug? :: The mean over the batch was left out.
# - The check is right for the last layer and wrong for all before. Where is the bug? :: In the step between layers: $W^T$ or the mask.
# - The first step is right, then gradient norms grow without end. What is the bug? :: Gradients are not zeroed between steps.
# - Why test a backward pass with sizes that are all different? :: A transposed matrix is then a shape error instead of a wrong number.
# - Why are pixels that are always white given zero weight gradient? :: $dW_1 = X^TG_1$ is zero where the input is zero.

# %% [markdown]
# ## Where to go now
#
# You have built everything this course promised. If you have not done the graded exercises yet:
# `mlp_backward` after lesson 3, `numerical_gradient` after lesson 4, `checkpoint_counts` after
# lesson 5, `value` after lesson 6.
