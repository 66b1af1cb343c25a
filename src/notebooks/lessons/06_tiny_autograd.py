# %% [markdown]
# # 6 · A tiny autograd engine
#
# **You will be able to**
#
# - write an engine that differentiates any program made of numbers, in about 40 lines;
# - say why it needs a topological order, and what goes wrong without one;
# - explain what PyTorch does when it frees a graph, accumulates a gradient or refuses an in-place
#   change;
# - derive and check the backward rule of LayerNorm, BatchNorm, an embedding, an attention head.
#
# **You need** lessons 1 to 3. **Time**: about 90 minutes.
#
# In lesson 1 you walked a graph backwards by hand. Here a program records the graph while it
# computes, and walks it for you. Then numbers become arrays, and the engine trains a classifier.

# %%
import gc
import inspect
import math
import random
from time import perf_counter

import numpy as np

from backprop_course import autograd
from backprop_course.activations import softmax, softmax_backward
from backprop_course.autograd import Tensor, Value, backward_order, explain
from backprop_course.figures import autograd as figures
from backprop_course.optional import optional
from backprop_course.training import accuracy, init_mlp, load_digits

# %% [markdown]
# ## Predict first
#
# Three questions. Commit to an answer now; the lesson comes back to them at the end.

# %% [markdown] tags=["quiz"]
# **Prediction 1.** A number `x` is used by 100,000 operations. How often does a right backward
# pass walk on from `x` to its own parents?
#
# - ( ) 100,000 times, once for each user :: That gives the right gradient here, but the work doubles with each level of sharing. Section 6.3 counts it.
# - (x) Once, after all 100,000 shares have arrived :: The adjoint of `x` is the sum of all shares. Once it is complete, one visit is enough.
# - ( ) Once, when the first share arrives :: Then 99,999 shares would come too late and never reach the parents.

# %% [markdown] tags=["quiz"]
# **Prediction 2.** You call `loss.backward()` twice on the same graph and do not reset any
# gradient. What does `w.grad` of a weight hold?
#
# - (x) Twice the gradient :: Leaves accumulate: each pass adds its gradient to what is there. That is why training loops reset gradients.
# - ( ) The gradient: the second pass overwrites the first :: Overwriting would also lose gradients when two losses share a weight. Engines add.
# - ( ) More than twice, because the inner nodes have doubled too :: This is what micrograd does, and it is a bug. Section 6.2 shows it.

# %% [markdown] tags=["quiz"]
# **Prediction 3.** The engine has computed `c = a * b`. What must it remember for the backward
# pass?
#
# - ( ) Only that it was a multiplication :: The slope of `a*b` with respect to `a` is `b`: a number of this forward pass.
# - ( ) The derivative formula as a string :: Nothing symbolic is needed. Numbers are enough.
# - (x) Who `a` and `b` are, and the two slopes, which are numbers :: Parents say where to send, slopes say how much. That is the whole record.

# %% [markdown]
# ## 6.1 A number that remembers how it was made
#
# Lesson 1 gave one rule. If an operation made $v$ from a parent $u$, then $v$ sends to $u$
#
# $$\text{sent back} = \underbrace{\bar v}_{\text{upstream}} \times
# \underbrace{\frac{\partial v}{\partial u}}_{\text{local slope}},$$
#
# and $\bar u$ is the sum of all that arrives. To apply it later, a number must remember two
# things when it is made: its **parents**, and one **slope** for each. Both are known at that
# moment. So the class is almost empty. We call it `Scalar`.


# %%
class Scalar:
    """A number, its adjoint, its parents, and its slope with respect to each parent."""

    def __init__(self, data, parents=(), slopes=()):
        self.data = data
        self.grad = 0.0
        self.parents = parents
        self.slopes = slopes


# %% [markdown]
# **Operators.** The slopes of $a + b$ are $1$ and $1$; those of $a \cdot b$ are $b$ and $a$.
# Python calls `__add__` when it sees `+`, and `__mul__` when it sees `*`.


# %%
def add(a, b):
    return Scalar(a.data + b.data, (a, b), (1.0, 1.0))


def multiply(a, b):
    return Scalar(a.data * b.data, (a, b), (b.data, a.data))


Scalar.__add__, Scalar.__mul__ = add, multiply

# %% [markdown]
# Take lesson 1's line graph, $u = wx$, $v = u + b$, $e = v - y$, $L = e^2$. We have no minus yet,
# so we add $-y$, and we write $e^2$ as $e \cdot e$. The graph records itself while Python
# computes.

# %%
w, x, b, minus_y = Scalar(1.0), Scalar(3.0), Scalar(1.0), Scalar(-7.0)
u = w * x
v = u + b
e = v + minus_y
L = e * e
print("L =", L.data, "  slopes of u = w*x:", u.slopes, "  slopes of L = e*e:", L.slopes)

# %% [markdown]
# $e \cdot e$ has the same parent twice, with slope $e$ each time. Both shares will arrive at $e$
# and add up to $2e$: the derivative of a square comes out of fan-out.
#
# **The order.** A node may send only when its own adjoint is complete, that is, after *all* who
# use it have sent. So first count the users of each node.


# %%
def count_users(root):
    """{node: how many times it is used} for every node that `root` was made from."""
    users, stack = {root: 0}, [root]
    while stack:
        for parent in stack.pop().parents:
            if parent not in users:
                users[parent] = 0
                stack.append(parent)
            users[parent] += 1
    return users


# %% [markdown]
# Then walk from the end. Each node that is done lowers the count of its parents by one. A parent
# whose count has fallen to zero is ready.


# %%
def order_from(root):
    """Every node that `root` was made from, each after all its users."""
    users, ready, order = count_users(root), [root], []
    while ready:
        order.append(ready.pop())
        for parent in order[-1].parents:
            users[parent] -= 1
            if users[parent] == 0:
                ready.append(parent)
    return order


print("order of the line graph:", [node.data for node in order_from(L)])

# %% [markdown]
# **The backward pass** is now four lines: seed the output with 1, walk the order, multiply, add.


# %%
def backward(root):
    root.grad = 1.0
    for node in order_from(root):
        for parent, slope in zip(node.parents, node.slopes, strict=True):
            parent.grad += node.grad * slope


backward(L)
print("dw =", w.grad, "  dx =", x.grad, "  db =", b.grad)

# %% [markdown]
# Lesson 1 found the same by hand: $\bar w = -18$, $\bar x = -6$, $\bar b = -6$. An independent
# check is a central difference, which knows nothing about graphs.


# %%
def line_loss(w, x=3.0, b=1.0, y=7.0):
    return (w * x + b - y) ** 2


h = 1e-5
difference = (line_loss(1.0 + h) - line_loss(1.0 - h)) / (2 * h)
print("central difference:", round(difference, 6), "  engine:", w.grad)

# %% [markdown]
# That was the engine. The course's `Value` is the same thing, finished: it has all the operators,
# plain numbers make no node, and the two walks are written out in `backward` to save time. It is
# short enough to read in one go.

# %%
print(inspect.getsource(Value))

# %% [markdown]
# Three things to notice.
#
# 1. **Few rules**: `+`, `*`, `**` and four functions. The rest is made of them:
#    $a - b = a + (-1)\,b$ and $a / b = a \cdot b^{-1}$.
# 2. **A leaf** (a node without parents) keeps its `grad` and adds to it. Every other node starts
#    at zero in each pass.
# 3. `consumers` is the count from `order_from`, kept inside the node instead of in a dictionary.
#
# `explain` prints the walk as the table of lesson 1: node, local slope, upstream, sent back.

# %%
w, x, b, y = Value(1.0), Value(3.0), Value(1.0), 7.0
e = w * x + b - y
explain(e**2, w=w, x=x, b=b, e=e)

# %% [markdown] tags=["quiz"]
# **Quick check.** In `w * x + b - y`, with `y = 7.0` a plain Python number: how many nodes hold a
# gradient for `y`?
#
# - ( ) One, and its gradient is 6 :: It would be, had you written `Value(7.0)`. A plain number is a constant: nobody asked for its gradient.
# - ( ) One, and its gradient is 0 :: There is no such node. A gradient of 0 would claim that `y` has no influence, which is false.
# - (x) None: a plain number makes no node :: `__add__` uses it in the sum and records only the other parent. That saves a node for every constant.

# %% [markdown]
# ## 6.2 Two designs: stored slopes, or closures
#
# There is another way to remember. Each operation can leave behind a small function, a *closure*,
# that knows how to send its share. This is the design of
# [micrograd](https://github.com/karpathy/micrograd), from which many people learned the subject.
# Here is its core, for `*` alone.


# %%
class Closure(Scalar):
    def __mul__(self, other):
        out = Closure(self.data * other.data, (self, other))

        def send():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out.send = send
        return out


# %%
def closure_backward(root):
    root.grad = 1.0
    for node in order_from(root):
        if node.parents:
            node.send()


x = Closure(3.0)
y = x * x * x
closure_backward(y)
print("first pass: ", x.grad, "  (right: 3 x² = 27)")
closure_backward(y)
print("second pass:", x.grad, "  (right: 2 · 27 = 54)")

# %% [markdown]
# The first pass is right. The second is not: the inner node $x \cdot x$ still held its adjoint
# from the first pass, and the second pass added to it, then sent the sum on. Our own
# `backward` in section 6.1 has the same flaw. `Value` resets its inner nodes, so the leaves get
# exactly one more gradient.

# %%
x = Value(3.0)
y = x * x * x
y.backward()
y.backward()
print("Value, two passes:", x.grad)

# %% [markdown]
# There is a second difference, which you cannot see in the numbers. The closure `send` refers to
# `out`, and `out.send` refers to the closure: a **cycle**. Python frees most objects at once,
# when the last reference goes. A cycle keeps itself alive until the garbage collector searches
# for it.


# %%
def garbage_left_by(make):
    """Objects that only the collector can free, after a product of 100 factors is dropped."""
    gc.collect()
    y = x = make(1.01)
    for _ in range(100):
        y = y * x
    del x, y
    return gc.collect()


gc.disable()  # so that it does not run in between
print("closures leave cyclic garbage:", garbage_left_by(Closure) > 0)
print("slopes leave cyclic garbage:  ", garbage_left_by(Value) > 0)
gc.enable()

# %% [markdown]
# | | stored slopes (`Value`) | closures (micrograd) |
# |---|---|---|
# | a node keeps | parents and numbers | parents and a function |
# | cost of the derivative | computed in the forward pass, needed or not | computed in the backward pass |
# | freed | at once | when the collector runs |
# | second derivatives | no: slopes are plain numbers | possible, if `send` computes with nodes |
# | extends to arrays | no: the Jacobian would have to be stored | yes: a VJP is a function |
#
# The last row decides section 6.7: for arrays we shall keep a *function* too, but one that lives
# in a table and is shared by all nodes, so that it makes no cycle.

# %% [markdown] tags=["quiz"]
# **Quick check.** Why can an array engine not simply store the slope of `Y = X @ W`, as `Value` does?
#
# - ( ) Because matrix multiplication has no derivative :: It has one: it is linear, the simplest case of all.
# - (x) Because the "slope" is a Jacobian with (size of Y) × (size of X) entries :: For a batch of 64 and width 4096 it would hold 69 billion entries. The VJP `dY @ W.T` gives what it is needed for, without it.
# - ( ) Because W could change before the backward pass :: True, and dangerous (section 6.6), but it is no reason against storing slopes: it is one for it.

# %% [markdown]
# ## 6.3 Why a topological order, and not plain recursion?
#
# This is the most frequent question about such engines. "Send to your parents, and let each of
# them do the same" sounds right, and it is what one writes first. Here is a small graph to try it
# on:
#
# $$c = a + b,\quad d = ab,\quad e = c + d,\quad f = cd,\quad y = e + f, \qquad a = 2,\ b = 3.$$


# %%
def two_levels(make=Value):
    a, b = make(2.0), make(3.0)
    c, d = a + b, a * b
    e, f = c + d, c * d
    return e + f, a, b


y, a, b = two_levels()
y.backward()
print("topological order: da, db =", (a.grad, b.grad))
figures.graph(y, a=a, b=b)

# %% [markdown]
# By hand: $y = c + d + cd$ with $c = 5$, $d = 6$, so $\bar c = 1 + d = 7$ and
# $\bar d = 1 + c = 6$. Then $\bar a = \bar c + b\,\bar d = 7 + 18 = 25$ and
# $\bar b = \bar c + a\,\bar d = 7 + 12 = 19$.
#
# **First try: recurse along every edge.** Add your share to the parent, then let the parent send
# what it has.


# %%
def along_edges(node):
    for parent, slope in zip(node.parents, node.slopes, strict=True):
        parent.grad += node.grad * slope
        along_edges(parent)


y, a, b = two_levels()
y.grad = 1.0
along_edges(y)
print("along every edge:", (a.grad, b.grad), " right: (25.0, 19.0)")

# %% [markdown]
# Too much. $c$ is visited twice. The first time it sends the share it got from $e$. The second
# time its `grad` holds that share *and* the one from $f$, and it sends both: the first share goes
# out twice.
#
# **Second try: visit each node only once**, in the order in which the recursion meets it.


# %%
def first_visit_only(node, seen):
    seen.add(node)
    for parent, slope in zip(node.parents, node.slopes, strict=True):
        parent.grad += node.grad * slope
        if parent not in seen:
            first_visit_only(parent, seen)


y, a, b = two_levels()
y.grad = 1.0
first_visit_only(y, set())
print("first visit only:", (a.grad, b.grad), " right: (25.0, 19.0)")

# %% [markdown]
# Too little. $c$ left with $e$'s share alone; what $f$ sent arrived after it had gone. This is a
# depth-first *pre-order*: a node goes before all its users are done.
#
# **Third try: recurse once for every path**, and carry the share along instead of reading it from
# the node. This is right. Count the calls on $y \leftarrow y + y$, repeated.


# %%
def along_paths(node, share):
    """Return the number of calls."""
    node.grad += share
    pairs = zip(node.parents, node.slopes, strict=True)
    return 1 + sum(along_paths(parent, share * slope) for parent, slope in pairs)


for depth in (4, 8, 12, 16):
    x = y = Value(1.0)
    for _ in range(depth):
        y = y + y
    calls = along_paths(y, 1.0)
    print(f"depth {depth:2}: dx = {x.grad:7.0f}   calls {calls:6}   walked once: {depth} nodes")

# %% [markdown]
# Each level doubles the number of paths: $2^{17} - 1 = 131{,}071$ calls for 16 additions. A
# network of 100 layers with shared values would never finish. The topological order does the same
# sum with one visit a node, because it adds the shares *before* it sends them on. That is the
# distributive law, and it is why backpropagation is cheap.

# %%
figures.recursion_costs()

# %% [markdown]
# **Depth.** micrograd does use a topological order, but it *finds* it by recursion: "first my
# parents, then me". Each level of the graph is then a level of Python's call stack, and that has
# a limit, 1,000 by default in plain Python.


# %%
def recursive_order(node, seen, order):
    seen.add(node)
    for parent in node.parents:
        if parent not in seen:
            recursive_order(parent, seen, order)
    order.append(node)


def chain(depth):
    x = y = Value(1.0)
    for _ in range(depth):
        y = y + x
    return y, x


# %%
for depth in (100, 100_000):
    y, x = chain(depth)
    try:
        recursive_order(y, set(), [])
        print(f"recursive sort, depth {depth}: fine")
    except RecursionError:
        print(f"recursive sort, depth {depth}: RecursionError")
y.backward()
print("counting users, depth 100000: dx =", x.grad)

# %% [markdown]
# A recurrent network over a few thousand time steps makes such a chain, one scalar at a time.
# Counting users needs no recursion. The course's tests run it on a chain of a million nodes.

# %% [markdown] tags=["quiz"]
# **Quick check.** In which graph do all three tries give the right gradient, at the same cost as the
# topological order?
#
# - (x) In a chain, where every value is used once :: One path, one edge to each node: nothing to add up, nothing to visit twice. Most first examples are chains, so the bug stays hidden.
# - ( ) In any graph without `*` :: Fan-out is the trouble, not the operation. `y + y` repeated costs 131,071 calls.
# - ( ) In any graph with a single output :: All graphs here had one output.

# %% [markdown]
# ## 6.4 A network on single numbers: XOR
#
# The label of $(x_1, x_2)$ is 1 if exactly one of the two is 1. No straight line separates the
# two classes, and the best loss of a linear model is $\log 2$, that of pure guessing. A network
# with a hidden layer of four ReLU units can: 2–4–2, 22 weights in all.


# %%
POINTS, LABELS = [(0, 0), (0, 1), (1, 0), (1, 1)], [0, 1, 1, 0]


def uniform(*shape):
    """A list of Values, nested like `shape`, each drawn from (-1, 1)."""
    if not shape:
        return Value(random.uniform(-1, 1))
    return [uniform(*shape[1:]) for _ in range(shape[0])]


def xor_network(seed):
    random.seed(seed)
    return uniform(4, 2), uniform(4), uniform(2, 4), uniform(2)  # W1, b1, W2, b2: a row a unit


# %%
def dot(row, inputs, bias):
    return sum((w * x for w, x in zip(row, inputs, strict=True)), bias)


def xor_loss(W1, b1, W2, b2):
    """Mean cross-entropy: log(e^z0 + e^z1) - z_label, over the four points."""
    loss = 0.0
    for x, label in zip(POINTS, LABELS, strict=True):
        h = [dot(row, x, b).relu() for row, b in zip(W1, b1, strict=True)]
        z = [dot(row, h, b) for row, b in zip(W2, b2, strict=True)]
        loss = loss + (z[0].exp() + z[1].exp()).log() - z[label]
    return loss / 4


# %%
def flat(network):
    W1, b1, W2, b2 = network
    return [*sum(W1, []), *b1, *sum(W2, []), *b2]


network = xor_network(seed=1)
loss = xor_loss(*network)
loss.backward()
largest = max(abs(p.grad) for p in flat(network))
print(len(flat(network)), "weights,", len(backward_order(loss)), "inner nodes")
print(f"loss {loss.data:.6f}, largest gradient {largest:.12f}")

# %% [markdown]
# Two independent checks: central differences on each of the 22 weights, and PyTorch on the same
# program. Only the maker of a number changes; `xor_loss` is run as it is.


# %%
def central_difference(p, network, h=1e-6):
    here = p.data
    p.data = here + h
    up = xor_loss(*network).data
    p.data = here - h
    down = xor_loss(*network).data
    p.data = here
    return (up - down) / (2 * h)


gap = max(abs(central_difference(p, network) - p.grad) for p in flat(network))
print("largest gap to central differences is below 2e-8:", gap < 2e-8)

# %%
if torch := optional("torch"):
    W1, b1, W2, b2 = network

    def twin(p):
        if isinstance(p, list):
            return [twin(q) for q in p]
        return torch.tensor(p.data, dtype=torch.float64, requires_grad=True)

    twins = [twin(part) for part in network]
    xor_loss(*twins).backward()
    gap = max(abs(p.grad - t.grad.item()) for p, t in zip(flat(network), flat(twins), strict=True))
    print("largest gap to PyTorch is below 1e-15:", gap < 1e-15)

# %% [markdown]
# **Training** is the loop you know: zero, forward, backward, step.


# %%
def train_xor(seed, steps=300, rate=0.5):
    network, losses = xor_network(seed), []
    for step in range(steps + 1):
        loss = xor_loss(*network)
        losses.append(loss.data)
        for p in flat(network):
            p.grad = 0.0
        loss.backward()
        for p in flat(network) if step < steps else []:
            p.data -= rate * p.grad
    return network, losses


# %%
network, losses = train_xor(seed=1)
print("loss at steps 0, 100, 200, 300:", [round(losses[s], 4) for s in (0, 100, 200, 300)])
print(f"mean probability of the right class: about exp(-loss) = {math.exp(-losses[-1]):.3f}")

# %% [markdown]
# $e^{-\text{loss}}$ is the geometric mean of the four probabilities given to the right classes.
# Now the same with ten seeds.

# %%
runs = {seed: train_xor(seed) for seed in range(10)}
stalled = {seed: round(losses[-1], 3) for seed, (_, losses) in runs.items() if losses[-1] > 0.1}
print("final loss of the runs that stall, by seed:", stalled)
figures.xor_runs({seed: losses for seed, (_, losses) in runs.items()})

# %% [markdown]
# Three of ten stall. Seed 5 ends at $0.693 = \log 2$, which is what pure guessing costs. Look at
# which hidden units are on (1) or off (0) at the four points.


# %%
def pattern(network):
    """For each hidden unit: is its pre-activation positive, at each of the four points?"""
    W1, b1, *_ = network
    values = [[dot(row, x, b).data for x in POINTS] for row, b in zip(W1, b1, strict=True)]
    return [[int(z > 0) for z in unit] for unit in values]


print("seed 5 at the start:", pattern(xor_network(5)))
print("seed 5 at the end:  ", pattern(runs[5][0]))

# %% [markdown]
# From start to end every unit is on at all four points, or off at all four. A unit that is always
# on is linear; one that is always off is *dead*: its slope is 0 everywhere, so none of its
# weights ever moves. What is left is a linear model, and a linear model cannot solve XOR. The
# best it can do is to give each class probability ½, and there its gradient is zero: it stays.

# %%
network = runs[5][0]
loss = xor_loss(*network)
for p in flat(network):
    p.grad = 0.0
loss.backward()
W1, b1, *_ = network
print("gradients of its dead unit:", [p.grad for p in (*W1[3], b1[3])])
print("largest gradient anywhere is below 0.001:", max(abs(p.grad) for p in flat(network)) < 0.001)

# %% [markdown]
# Seeds 4 and 7 stall elsewhere, and their patterns say why. A point at which all units are off
# gets the output $b_2$, whatever its coordinates: the network cannot tell such points apart. The
# best it can do is to give each class its share among them.

# %%
for seed in (4, 7):
    on = np.array(pattern(runs[seed][0])).any(axis=0)
    confused = [label for label, lit in zip(LABELS, on, strict=True) if not lit]
    share = sum(confused) / len(confused)
    entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
    best = len(confused) * entropy / 4
    print(f"seed {seed}: labels it cannot tell apart {confused}, so at best loss {best:.3f}")

# %% [markdown] tags=["quiz"]
# **Quick check.** Seed 5 has stalled. Which of these could get it going again?
#
# - ( ) A smaller learning rate :: The gradients are almost zero: a smaller step moves it even less.
# - ( ) Ten times as many steps :: The dead unit's gradient is exactly 0. A thousand steps times 0 is 0.
# - (x) Another initialization, or an activation whose slope is nowhere 0 :: Both change which units are alive. With GELU or a leaky ReLU a unit that is off still gets a gradient.

# %% [markdown]
# ## 6.5 micrograd's four points
#
# A classic: three inputs, two hidden layers of four tanh units, one tanh output, 41 weights; four
# points with targets $\pm 1$; the loss is the sum of the squared errors.

# %%
POINTS4 = [[2, 3, -1], [3, -1, 0.5], [0.5, 1, 1], [1, 1, -1]]
TARGETS4 = [1, -1, -1, 1]


def tanh_mlp(seed, sizes=(3, 4, 4, 1)):
    """Layers of units; a unit is [weight, weight, ..., bias]."""
    random.seed(seed)
    return [uniform(m, 1 + n) for n, m in zip(sizes[:-1], sizes[1:], strict=True)]


def predict(layers, x):
    for layer in layers:
        x = [dot(unit[:-1], x, unit[-1]).tanh() for unit in layer]
    return x[0]


# %%
def four_points_loss(layers):
    pairs = zip(POINTS4, TARGETS4, strict=True)
    return sum((predict(layers, x) - y) ** 2 for x, y in pairs)


layers = tanh_mlp(seed=0)
parameters = [p for layer in layers for unit in layer for p in unit]
loss = four_points_loss(layers)
loss.backward()
first = layers[0][0][0]
print(f"{len(parameters)} weights, loss {loss.data:.4f}, gradient of the first {first.grad:.4f}")

# %%
if torch := optional("torch"):
    twins = [twin(layer) for layer in layers]
    four_points_loss(twins).backward()
    gap = abs(layers[0][0][0].grad - twins[0][0][0].grad.item())
    print("the same gradient from PyTorch, to 1e-14:", gap < 1e-14)

# %% [markdown]
# **Your turn.** Write the training loop: bring the loss below 0.01. `layers` and
# `four_points_loss` are there. Reset the gradients, run `backward`, move every weight by
# `-rate * grad`. At a rate of 0.05 ten seeds took between 53 and 90 steps. Return the last loss,
# as a plain number.


# %% tags=["turn"]
def train_four_points(layers, parameters, steps=100, rate=0.05):
    """Train in place; return the loss after the last step, as a float."""
    ### BEGIN SOLUTION
    for _ in range(steps):
        for p in parameters:
            p.grad = 0.0
        four_points_loss(layers).backward()
        for p in parameters:
            p.data -= rate * p.grad
    return four_points_loss(layers).data
    ### END SOLUTION


# %%
from backprop_course.checks.turns import check_train_four_points

check_train_four_points(train_four_points, layers, parameters, four_points_loss)

# %% [markdown]
# ## 6.6 What PyTorch does at scale
#
# PyTorch is this engine with arrays, in C++, on many devices. Six of its habits surprise
# everybody once. Each cell makes one of them happen.
#
# **The graph is built anew in every forward pass.** It follows whatever your Python code does,
# `if` and `for` included. There is no graph "of the function", only one of this run.

# %%
if torch := optional("torch"):

    def branch(x):
        return x * 3 if x > 0 else x + 5

    for number in (2.0, -2.0):
        x = torch.tensor(number, requires_grad=True)
        print(number, "was recorded as", type(branch(x).grad_fn).__name__)

# %% [markdown]
# **The graph is freed after `backward`.** The saved activations are most of the memory of
# training (lesson 5), so PyTorch drops them as soon as they have been used. A second pass must be
# asked for.

# %%
if torch := optional("torch"):
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x * x
    y.backward(retain_graph=True)
    y.backward()  # allowed, because the first pass was told to keep the graph
    print("two passes:", x.grad.item())
    try:
        y.backward()
    except RuntimeError as error:
        print("third pass refused:", str(error).split(" (")[0])

# %% [markdown]
# **Leaves accumulate.** The two passes gave $27 + 27$, as in `Value`. So a training loop that
# forgets `zero_grad()` steps along the sum of all gradients so far. Accumulation is also useful:
# four small batches, one step, is how one trains with a batch that does not fit in memory.

# %%
if torch := optional("torch"):
    w = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for zero in (False, True):
        for _ in range(2):
            if zero:
                optimizer.zero_grad()
            (3 * w).backward()
        print("with zero_grad:" if zero else "without zero_grad:", w.grad.item(), "(right: 3.0)")

# %% [markdown]
# **A saved tensor must not change before it is used.** $y = e^x$ saves its output, because that
# is its slope. If you change it in place, the saved slope is wrong. PyTorch counts the changes of
# every tensor, its *version*, and compares at the backward pass.

# %%
if torch := optional("torch"):
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    y = x.exp()
    y.mul_(2)  # in place
    try:
        y.sum().backward()
    except RuntimeError as error:
        print("refused:", "modified by an inplace operation" in str(error))

# %% [markdown]
# Our array engine (next section) has no version counter. The same mistake passes in silence: the
# gradient of $\sum e^x$ at $x = (0, 1)$ is $(1, e) = (1, 2.7183)$, and we get twice that.

# %%
x = Tensor([0.0, 1.0])
y = x.exp()
y.data *= 2  # in place, behind the engine's back
y.sum().backward()
print("silently wrong:", x.grad.round(4))

# %% [markdown]
# **Second derivatives: `create_graph=True`.** The backward pass is itself a computation. PyTorch
# can record it, and differentiate it again. A *physics-informed* network (PINN) needs that: its
# loss contains the derivative of its output. Here a network $u(t)$ learns $u' = -u$, $u(0) = 1$,
# whose solution is $e^{-t}$.

# %%
if torch := optional("torch"):
    torch.manual_seed(0)
    u = torch.nn.Sequential(
        torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
    ).double()
    t = torch.linspace(0, 2, 20, dtype=torch.float64)[:, None].requires_grad_()

    def physics_loss():
        (slope,) = torch.autograd.grad(u(t).sum(), t, create_graph=True)  # u'(t), with a graph
        return ((slope + u(t)) ** 2).mean() + ((u(t[:1]) - 1) ** 2).sum()


# %%
if torch := optional("torch"):
    optimizer = torch.optim.Adam(u.parameters(), lr=0.02)
    for _ in range(400):
        optimizer.zero_grad()
        physics_loss().backward()  # differentiates through u'
        optimizer.step()
    error = (u(t) - torch.exp(-t)).abs().max().item()
    print("u(t) is within 0.05 of exp(-t) on [0, 2]:", error < 0.05)

# %% [markdown]
# `Tensor` and `Value` refuse this clearly: their gradients are plain numbers with no graph behind
# them.

# %%
try:
    Tensor(2.0).exp().backward(create_graph=True)
except NotImplementedError as error:
    print(error)

# %% [markdown]
# **Your own rule: `autograd.Function`.** You write forward and backward, PyTorch puts them into
# the graph, and `gradcheck` compares the backward with central differences in float64.

# %%
if torch := optional("torch"):

    class SiLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * torch.sigmoid(z)

        @staticmethod
        def backward(ctx, dY):
            (z,) = ctx.saved_tensors
            s = torch.sigmoid(z)
            return dY * s * (1 + z * (1 - s))


# %%
if torch := optional("torch"):

    class WrongSiLU(SiLU):
        @staticmethod
        def backward(ctx, dY):
            (z,) = ctx.saved_tensors
            return dY * torch.sigmoid(z)  # forgets that the sigmoid depends on z too

    z = torch.randn(5, dtype=torch.float64, generator=torch.manual_seed(0), requires_grad=True)
    for rule in (SiLU, WrongSiLU):
        passed = torch.autograd.gradcheck(rule.apply, (z,), raise_exception=False)
        print(rule.__name__, "passes gradcheck:", passed)

# %% [markdown] tags=["quiz"]
# **Quick check.** Memory grows with every step of a training loop until the process dies. The
# loop keeps `total = total + loss` for a progress report. Why?
#
# - ( ) PyTorch never frees graphs :: It frees a graph when nothing refers to it any more. Here something does.
# - (x) `total` is a node, and through its parents it keeps every graph of every step alive :: The whole data set ends up in one graph. Add `loss.item()`, a plain number, instead.
# - ( ) The gradients accumulate :: They do if not zeroed, but in place: a sum takes no more memory than one gradient.

# %% [markdown]
# The mistake from that quiz, made with our own engine: count what the total keeps alive.

# %%
w, total, report = Value(0.5), 0.0, 0.0
for _ in range(100):
    loss = (w * 2.0 - 1.0) ** 2
    total = total + loss  # the whole history in one graph
    report = report + loss.data  # a plain number
print("nodes kept alive by total:", len(backward_order(total)), "  by report: 0")

# %% [markdown]
# ## 6.7 From numbers to arrays
#
# XOR took 173 inner nodes for 22 weights and four examples. A layer of 4096 units on 4096 inputs
# would take tens of millions for each example. But all those nodes follow a few patterns, and
# lessons 2 and 3 found the backward rule of each pattern as a whole. So let a node hold an
# *array*. Two things change:
#
# - the slope becomes a **VJP**, a function from the upstream gradient `dY` to the input's
#   gradient;
# - an array that was broadcast has been used many times, so its gradient is summed over the
#   broadcast axes (**unbroadcast**, lesson 2).
#
# The rest stays: the graph, the count of users, the walk. `Tensor` looks up its rules in one
# table: a name, the forward function, one VJP for each input.

# %%
source = inspect.getsource(autograd.rules)
print(source[source.index("RULES = {") :])

# %% [markdown]
# Every VJP has the same signature, `(dY, Y, *inputs)`. The output `Y` is there because some
# slopes are cheapest in terms of it: that of `exp` is `Y`, that of `tanh` is $1 - Y^2$.
#
# The XOR network again, in a handful of array operations:


# %%
def as_tensors(network):
    return [Tensor(np.vectorize(lambda p: p.data)(np.array(part))) for part in network]


network = xor_network(seed=1)
W1, b1, W2, b2 = as_tensors(network)
hidden = (np.array(POINTS) @ W1.T + b1).relu()  # (4, 4)
loss = (hidden @ W2.T + b2).cross_entropy(np.array(LABELS))
loss.backward()
print(
    f"loss {loss.data:.6f}, largest gradient {max(np.abs(p.grad).max() for p in (W1, b1, W2, b2)):.12f}"
)
print("inner nodes:", len(backward_order(loss)))

# %% [markdown]
# The same loss and the same gradient as on single numbers, with 8 inner nodes instead of 173. The
# figure draws the graph; each node shows its rule and its shape.

# %%
figures.graph(loss, W1=W1, b1=b1, W2=W2, b2=b2)

# %% [markdown]
# `explain` works here too. In place of a slope it prints the rule, and for an array its shape and
# its norm. Each array that is sent back has the shape of the one it is sent to.

# %%
explain(loss, W1=W1, b1=b1, W2=W2, b2=b2)

# %% [markdown]
# Broadcasting is where hand-written rules go wrong most often, so look at one case closely. `b1`
# has shape `(4,)`, the product `(4, 4)`: NumPy used each bias four times, once for each example.
# Fan-out adds, so `db1` is a column sum.

# %%
G = np.arange(12.0).reshape(4, 3)
bias = Tensor(np.zeros(3))
(np.zeros((4, 3)) + bias).backward(G)
print("upstream summed over the examples:", G.sum(axis=0), "  engine:", bias.grad)

# %% [markdown]
# Lesson 5's **checkpointing** is one more kind of node: it keeps its inputs, forgets its inside,
# and computes it again in the backward pass. The gradient is the same to the last bit.


# %%
def layer(X, W, b):
    return (X @ W + b).gelu()


for run in (layer, lambda *inputs: autograd.checkpoint(layer, *inputs)):
    X, W, b = Tensor(np.eye(3)), Tensor(np.ones((3, 2))), Tensor(np.zeros(2))
    y = run(X, W, b)
    y.sum().backward()
    print("nodes kept:", len(backward_order(y)), "  db:", b.grad.round(6))

# %% [markdown]
# Now a mixture of operations, against PyTorch:

# %%
if torch := optional("torch"):
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(3, 4)), rng.normal(size=(4, 5)), rng.normal(size=5)
    ours = [Tensor(a) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    for X, W, b in (ours, theirs):
        (((X @ W + b).tanh() ** 2).mean(0) / (X * X).sum()).sum().backward()
    close = [np.allclose(o.grad, t.grad, rtol=1e-12) for o, t in zip(ours, theirs, strict=True)]
    print("X, W, b agree with PyTorch:", close)

# %% [markdown] tags=["quiz"]
# **Quick check.** `X` has shape (32, 10), `s` has shape (32, 1), and `Y = X * s`. How does the
# engine get `ds` from `dY * X`?
#
# - ( ) It takes the mean over the columns :: `s` was used ten times in each row. Uses add up; nothing divides by ten.
# - (x) It sums over the columns and keeps the axis: shape (32, 1) :: Each `s[i, 0]` was used once for each of the ten columns, and fan-out adds.
# - ( ) It is already right: `dY * X` has the shape of `s` :: `dY * X` is (32, 10). A gradient always has the shape of its variable.

# %% [markdown]
# ## 6.8 Rules beyond the MLP
#
# Transformers and convolutional networks need a few more rules. We derive each, and test each
# against something that does not know the derivation.
#
# **The universal test.** A forward function $f$ has, at a point, a Jacobian $J$. A small step
# $h w$ in the inputs changes the output by $h J w$; the backward function computes $J^T v$ for an
# upstream gradient $v$. Whatever $v$ and $w$ are,
#
# $$\langle v, J w\rangle = v^T J w = \langle J^T v, w\rangle .$$
#
# This is the **adjoint identity**. The left side needs only forward passes, by a central
# difference; the right side only the backward function. With random $v$ and $w$ a wrong rule
# passes with probability zero, up to rounding.


# %%
def adjoint_gap(f, f_backward, *inputs, h=1e-5, seed=0):
    """Relative gap between <v, J w> and <J^T v, w>, for random v and w."""
    rng = np.random.default_rng(seed)
    w = [rng.normal(size=x.shape) for x in inputs]
    up = f(*(x + h * d for x, d in zip(inputs, w, strict=True)))
    down = f(*(x - h * d for x, d in zip(inputs, w, strict=True)))
    v = rng.normal(size=up.shape)
    left = np.sum(v * (up - down)) / (2 * h)
    right = sum(np.sum(g * d) for g, d in zip(f_backward(v, *inputs), w, strict=True))
    return abs(left - right) / max(abs(left), abs(right))


# %% [markdown]
# A second witness is PyTorch, if it is installed. It differentiates its own version of the
# function.


# %%
def ask_torch(f_backward, torch_function, *inputs):
    """Print whether all our gradients agree with PyTorch's, to 1e-10."""
    if torch := optional("torch"):
        leaves = [torch.tensor(x, requires_grad=True) for x in inputs]
        Y = torch_function(torch, *leaves)
        v = np.random.default_rng(1).normal(size=tuple(Y.shape))
        Y.backward(torch.tensor(v))
        pairs = zip(f_backward(v, *inputs), leaves, strict=True)
        print("PyTorch agrees:", all(np.allclose(g, x.grad, 1e-10, 1e-12) for g, x in pairs))


def ask_adjoint(f, f_backward, *inputs):
    print("adjoint identity holds:", adjoint_gap(f, f_backward, *inputs) < 1e-8)


# %%
rng = np.random.default_rng(0)
X, GAIN, SHIFT = rng.normal(size=(6, 5)) * 2 + 1, rng.normal(size=5), rng.normal(size=5)

# %% [markdown]
# ### Log-softmax
#
# For one row, $\ell_j = z_j - \log\sum_k e^{z_k}$. The slope of the second term with respect to
# $z_i$ is $p_i = e^{z_i}/\sum_k e^{z_k}$, so $\partial \ell_j/\partial z_i = [i = j] - p_i$.
# Multiply by the upstream $\bar\ell_j$ and sum over $j$:
#
# $$\bar z_i = \bar\ell_i - p_i \sum_j \bar\ell_j .$$
#
# With $\bar\ell = -y$, a one-hot target, this is $p - y$: lesson 3's result is a special case.


# %%
def log_softmax(Z):
    Z = Z - Z.max(axis=1, keepdims=True)  # (B, K), stable
    return Z - np.log(np.exp(Z).sum(axis=1, keepdims=True))


def log_softmax_backward(dY, Z):
    P = np.exp(log_softmax(Z))
    return (dY - P * dY.sum(axis=1, keepdims=True),)


ask_adjoint(log_softmax, log_softmax_backward, X)
ask_torch(log_softmax_backward, lambda t, Z: t.log_softmax(Z, 1), X)

# %% [markdown]
# ### LayerNorm, step by step
#
# LayerNorm shifts and scales each row (each example) to mean 0 and variance 1, then applies a
# gain $\gamma$ and a shift $\beta$ for each feature. One row $x$ with $n$ entries, in steps you
# can differentiate one at a time:
#
# | step | forward | backward |
# |---|---|---|
# | 1 | $\mu = \frac1n\sum_i x_i$, $c = x - \mu$ | $\bar x = \bar c - \frac1n\sum_i \bar c_i$ |
# | 2 | $s = \frac1n\sum_i c_i^2$ | $\bar c \mathrel{+}= \frac2n\, c\,\bar s$ |
# | 3 | $r = (s + \varepsilon)^{-1/2}$ | $\bar s = -\tfrac12 r^3\,\bar r$ |
# | 4 | $\hat x = r\,c$ | $\bar c = r\,\bar{\hat x}$, $\ \bar r = \sum_i c_i\,\bar{\hat x}_i$ |
# | 5 | $y = \gamma\odot\hat x + \beta$ | $\bar{\hat x} = \gamma\odot\bar y$, $\ \bar\gamma = \bar y\odot\hat x$, $\ \bar\beta = \bar y$ (summed over the rows) |
#
# Read the backward column from below. Two things deserve a look: $c$ is used twice, in steps 2
# and 4, so its two shares add; and in step 1 every $x_i$ reaches every $c_j$ through the mean.

# %%
EPSILON = 1e-5


def layer_norm(X, gain, shift):
    C = X - X.mean(axis=1, keepdims=True)  # (B, n)
    r = ((C**2).mean(axis=1, keepdims=True) + EPSILON) ** -0.5  # (B, 1)
    return gain * (r * C) + shift


# %%
def layer_norm_backward_steps(dY, X, gain, shift):
    C = X - X.mean(axis=1, keepdims=True)  # (B, n)
    r = ((C**2).mean(axis=1, keepdims=True) + EPSILON) ** -0.5  # (B, 1)
    dXhat, dgain, dshift = dY * gain, (dY * r * C).sum(axis=0), dY.sum(axis=0)  # 5
    dC, dr = r * dXhat, (C * dXhat).sum(axis=1, keepdims=True)  # 4
    ds = -0.5 * r**3 * dr  # 3, (B, 1)
    dC = dC + 2 / X.shape[1] * C * ds  # 2
    return dC - dC.mean(axis=1, keepdims=True), dgain, dshift  # 1


ask_adjoint(layer_norm, layer_norm_backward_steps, X, GAIN, SHIFT)

# %% [markdown]
# **In one expression.** Put the steps together. By 3 and 4, the share of step 2 is
#
# $$\frac2n\,c\,\bar s = -\frac1n\,c\,r^3\sum_i c_i\bar{\hat x}_i = -\,r\,\hat x\;\frac1n\sum_i \hat x_i\,\bar{\hat x}_i ,$$
#
# because $r c = \hat x$ twice. So
# $\bar c = r\,\bigl(\bar{\hat x} - \hat x\,\operatorname{mean}(\hat x\odot\bar{\hat x})\bigr)$.
# Step 1 subtracts the mean of $\bar c$. The mean of $\hat x$ is 0, so only the first term has a
# mean, and
#
# $$\bar x = r\,\Bigl(\bar{\hat x} - \operatorname{mean}(\bar{\hat x}) - \hat x\,\operatorname{mean}(\hat x\odot\bar{\hat x})\Bigr).$$
#
# The gradient loses its component along the constant vector and (up to $\varepsilon$) along
# $\hat x$: shifting or scaling the input does not change the output, so no gradient can point
# that way.


# %%
def normalize(X, axis):
    C = X - X.mean(axis=axis, keepdims=True)
    return C * ((C**2).mean(axis=axis, keepdims=True) + EPSILON) ** -0.5


def normalize_backward(dXhat, X, axis):
    r = (X.var(axis=axis, keepdims=True) + EPSILON) ** -0.5
    Xhat = normalize(X, axis)
    along = (Xhat * dXhat).mean(axis=axis, keepdims=True)
    return r * (dXhat - dXhat.mean(axis=axis, keepdims=True) - Xhat * along)


# %%
def layer_norm_backward(dY, X, gain, shift):
    dX = normalize_backward(dY * gain, X, axis=1)
    return dX, (dY * normalize(X, axis=1)).sum(axis=0), dY.sum(axis=0)


def torch_layer_norm(torch, X, gain, shift):
    return torch.nn.functional.layer_norm(X, X.shape[1:], gain, shift, eps=EPSILON)


ask_adjoint(layer_norm, layer_norm_backward, X, GAIN, SHIFT)
ask_torch(layer_norm_backward, torch_layer_norm, X, GAIN, SHIFT)

# %% [markdown]
# ### BatchNorm
#
# BatchNorm (in training) does the same to each *column*: mean and variance are taken over the
# batch, for each feature. The derivation never used that the $n$ numbers lie in a row, so the
# rule is the same with the axis changed. Written out for a column $x$ of $B$ entries, in steps
# and in one expression:
#
# $$\bar r = \sum_b c_b\bar{\hat x}_b,\quad \bar s = -\tfrac12 r^3\bar r,\quad \bar c = r\bar{\hat x} + \tfrac2B c\,\bar s,\quad \bar x = \bar c - \tfrac1B\sum_b\bar c_b;
# $$
#
# $$\bar x = r\bigl(\bar{\hat x} - \operatorname{mean}_b\bar{\hat x} - \hat x\operatorname{mean}_b(\hat x\,\bar{\hat x})\bigr).$$
#
# The consequence is new, though: the gradient of one example now depends on all the others in the
# batch.


# %%
def batch_norm_backward_steps(dXhat, X):
    B, C = len(X), X - X.mean(axis=0)  # (B, n)
    r = ((C**2).mean(axis=0) + EPSILON) ** -0.5  # (n,)
    ds = -0.5 * r**3 * (C * dXhat).sum(axis=0)
    dC = r * dXhat + 2 / B * C * ds
    return dC - dC.mean(axis=0)


dXhat = rng.normal(size=X.shape)
in_one = normalize_backward(dXhat, X, axis=0)
print("steps and one expression agree:", np.allclose(batch_norm_backward_steps(dXhat, X), in_one))


# %%
def batch_norm(X, gain, shift):
    return gain * normalize(X, axis=0) + shift


def batch_norm_backward(dY, X, gain, shift):
    dX = normalize_backward(dY * gain, X, axis=0)
    return dX, (dY * normalize(X, axis=0)).sum(axis=0), dY.sum(axis=0)


def torch_batch_norm(torch, X, gain, shift):
    function = torch.nn.functional.batch_norm
    return function(X, None, None, gain, shift, training=True, eps=EPSILON)


ask_adjoint(batch_norm, batch_norm_backward, X, GAIN, SHIFT)
ask_torch(batch_norm_backward, torch_batch_norm, X, GAIN, SHIFT)

# %% [markdown] tags=["quiz"]
# **Quick check.** You add the same number to every entry of one row of `X`. What happens to `dX` of
# LayerNorm, summed over that row?
#
# - ( ) It grows by that number :: The output does not change at all when a row is shifted, so its gradient cannot see the shift.
# - (x) It is 0, before and after :: A shift changes nothing, so the gradient has no component along the constant vector: each row of `dX` sums to 0.
# - ( ) It depends on the upstream gradient :: The gradient does, but not this sum: the term `mean(dXhat)` removes it whatever `dY` is.

# %% [markdown]
# ### Embedding lookup: repeated rows accumulate
#
# $Y = E[\text{ids}]$ copies rows of a table. A row that was read twice has been used twice, and
# its gradients add. NumPy's `dE[ids] += dY` does **not** add for repeated indices: it reads, adds
# and writes once, and keeps only the last. `np.add.at` adds each.

# %%
ids, dY = np.array([2, 0, 2]), np.array([[1.0, 1.0], [5.0, 5.0], [10.0, 10.0]])
wrong, right = np.zeros((3, 2)), np.zeros((3, 2))
wrong[ids] += dY
np.add.at(right, ids, dY)
one_hot = np.eye(3)[ids]  # (3, 3): the lookup as a matrix product, Y = one_hot @ E
print("row 2 with +=:", wrong[2], " with add.at:", right[2], " by matmul:", (one_hot.T @ dY)[2])

# %%
E = Tensor(np.ones((3, 2)))
E[ids].backward(dY)
print("the engine's index rule:", E.grad[2])
if torch := optional("torch"):
    table = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    torch.nn.functional.embedding(torch.tensor(ids), table).backward(torch.tensor(dY))
    print("PyTorch agrees:", np.array_equal(table.grad, E.grad))

# %% [markdown]
# ### Batched products, permuted axes, ties of a maximum
#
# - **Batched matmul.** `A (2, 1, 3, 4) @ B (5, 4, 6)` multiplies 2 × 5 pairs of matrices. For
#   each pair lesson 2's rule holds. An `A` that was used for five pairs gets the sum of five
#   gradients: unbroadcast again.
# - **Permute** only renames axes. Its backward applies the inverse permutation, `argsort(axes)`.
# - **Max.** The slope is 1 for the entry that is largest, 0 for the others. When entries tie the
#   maximum has a kink and no derivative. Any split of the upstream gradient among them into
#   shares $\ge 0$ is a *subgradient*; PyTorch's `amax` and our rule share equally.

# %%
A, B = Tensor(rng.normal(size=(2, 1, 3, 4))), Tensor(rng.normal(size=(5, 4, 6)))
Y = A @ B  # (2, 5, 3, 6)
Y.transpose(1, 0, 3, 2).tanh().sum().backward()
tied = Tensor([[1.0, 3.0, 3.0]])
tied.max().backward()
print("shapes:", Y.shape, A.grad.shape, B.grad.shape, "  ties share:", tied.grad)

# %%
if torch := optional("torch"):
    a, b = (torch.tensor(M.data, requires_grad=True) for M in (A, B))
    (a @ b).permute(1, 0, 3, 2).tanh().sum().backward()
    t = torch.tensor([[1.0, 3.0, 3.0]], requires_grad=True)
    t.amax().backward()
    print("batched matmul and permute:", np.allclose(a.grad, A.grad), np.allclose(b.grad, B.grad))
    print("ties:", np.array_equal(t.grad, tied.grad))

# %% [markdown] tags=["quiz"]
# **Quick check.** `Y = X.transpose(2, 0, 1)`. Which permutation brings `dY` back to the shape of `X`?
#
# - ( ) (2, 0, 1): transposing twice undoes it :: That holds for swapping two axes. A cyclic permutation of three has to be applied three times to return.
# - (x) (1, 2, 0) :: Axis 0 of `X` became axis 1 of `Y`, axis 1 became 2, axis 2 became 0. `argsort((2, 0, 1))` says just that.
# - ( ) (1, 0, 2) :: That would swap two axes and leave the third, which has moved.

# %% [markdown]
# ### An attention head
#
# Queries $Q\,(T, d)$, keys $K\,(T, d)$, values $V\,(T, d)$, for $T$ tokens. Scores, weights,
# output:
#
# $$S = \frac{QK^T}{\sqrt d},\qquad P = \operatorname{softmax}(S)\ \text{by rows},\qquad O = PV .$$
#
# Backward, from the end, with rules you have: $O = PV$ and $S \propto QK^T$ are matrix products,
# the softmax has lesson 3's VJP, row by row:
#
# $$dV = P^T dO,\quad dP = dO\,V^T,\quad dS = P\odot\bigl(dP - \operatorname{rowsum}(dP\odot P)\bigr),\quad
# dQ = \frac{dS\,K}{\sqrt d},\quad dK = \frac{dS^T Q}{\sqrt d}.$$


# %%
def attention(Q, K, V):
    S = Q @ K.T / math.sqrt(Q.shape[1])  # (T, T)
    return softmax(S) @ V  # (T, d)


def attention_backward(dO, Q, K, V):
    scale = 1 / math.sqrt(Q.shape[1])
    S = Q @ K.T * scale  # (T, T)
    dV, dP = softmax(S).T @ dO, dO @ V.T
    dS = softmax_backward(dP, S)  # lesson 3's P * (dP - rowsum(dP * P))
    return dS @ K * scale, dS.T @ Q * scale, dV


# %%
def torch_attention(torch, Q, K, V):
    head = torch.nn.functional.scaled_dot_product_attention
    return head(Q[None], K[None], V[None])[0]


QKV = [rng.normal(size=(7, 4)) for _ in range(3)]
ask_adjoint(attention, attention_backward, *QKV)
ask_torch(attention_backward, torch_attention, *QKV)

# %% [markdown]
# **Teach the engine a rule.** The table is open: one line adds `softmax`, and the engine composes
# the attention head itself.

# %%
autograd.RULES["softmax"] = (softmax, lambda dY, Y, Z: softmax_backward(dY, Z))
Q, K, V = (Tensor(M) for M in QKV)
P = autograd.apply("softmax", Q @ K.T / math.sqrt(Q.shape[1]))  # (T, T)
dO = rng.normal(size=Q.shape)
(P @ V).backward(dO)
by_hand = attention_backward(dO, *QKV)
agree = [np.allclose(t.grad, g) for t, g in zip((Q, K, V), by_hand, strict=True)]
print("engine and hand agree on Q, K, V:", agree)

# %% [markdown]
# ## 6.9 The engine trains a classifier
#
# Everything is in place to train lesson 3's network, 64–64–10, on images of handwritten digits.
# The data come from scikit-learn; lesson 7 looks at this network closely and writes its backward
# pass by hand. Here the engine does it.

# %%
X_train, y_train, X_test, y_test = load_digits()
layers = [(Tensor(W), Tensor(b)) for W, b in init_mlp(64, 64, 10, seed=0)]


def classifier_loss(X, labels):
    (W1, b1), (W2, b2) = layers
    return ((X @ W1 + b1).relu() @ W2 + b2).cross_entropy(labels)


# %%
rng = np.random.default_rng(0)
for _ in range(500):
    rows = rng.integers(0, len(X_train), 64)
    for P in (P for layer in layers for P in layer):
        P.grad = None
    classifier_loss(X_train[rows], y_train[rows]).backward()
    for P in (P for layer in layers for P in layer):
        P.data -= 0.5 * P.grad
plain = [(W.data, b.data) for W, b in layers]
print("test accuracy is above 95%:", accuracy(X_test, y_test, plain) > 0.95)

# %% [markdown]
# An engine of some 250 lines, rules included, trains a network that reads digits. What PyTorch
# adds is speed, devices, hundreds of rules, and safety nets; the idea is the one you have just
# read.
#
# ## 6.10 Appendix: what makes a small engine fast
#
# Skip this if speed does not interest you. The repository's benchmark finds `Value` a few times
# as fast as micrograd, with less than a third of its memory a node. None of it is magic:
#
# 1. **No cycles.** Closures make cycles (section 6.2), and only the collector can free a cycle.
#    It runs each time some hundreds of new objects are alive, and to find cycles it must visit
#    objects one by one: first the young ones, from time to time all of them. Any engine made of
#    many small objects pays for that. One that leaves cycles pays more: its old graphs wait for
#    the collector too.
# 2. **Slots.** `__slots__` stores the five attributes in the object itself; without it each node
#    carries a dictionary.
# 3. **Tuples that are shared.** The slopes of every sum are one constant, `(1.0, 1.0)`; Python
#    makes it once.
# 4. **No node for a constant.** `x * 2` makes one node, not two.
# 5. **A count instead of a set.** An integer in the node replaces a `visited` set: nothing to
#    hash, and no recursion.
#
# The next cell times forward and backward of a product of 20,000 factors for both designs, with
# the collector off and on. Its output depends on your machine, so it is not stored. Compare the
# two lines of each design: the difference is what the collector costs it.


# %%
def product(make, walk):
    x = y = make(1.0001)
    for _ in range(20_000):
        y = y * x
    walk(y)


# %% tags=["volatile"]
for make, walk in ((Value, Value.backward), (Closure, closure_backward)):
    for switch in (gc.disable, gc.enable):
        gc.collect()
        switch()
        start = perf_counter()
        for _ in range(5):
            product(make, walk)
        ms = (perf_counter() - start) / 5 * 1e3
        print(f"{make.__name__:8} collector {switch.__name__}d: {ms:6.1f} ms")

# %% [markdown]
# ## Predictions revisited
#
# 1. `x` is walked **once**, after all 100,000 shares have arrived. Earlier is too little, once
#    per path is exponential.
# 2. `w.grad` holds **twice** the gradient: leaves accumulate, inner nodes start anew.
# 3. The engine keeps the **parents and the slopes**, plain numbers; for arrays, the inputs and a
#    VJP.
#
# ## Recap
#
# - A node remembers its parents and its slopes; `backward` multiplies and adds.
# - Reverse topological order: a node sends when all its users have sent.
# - Count users instead of recursing: any depth, each node once.
# - Leaves accumulate over passes; inner nodes do not.
# - On arrays a slope becomes a VJP, and broadcasting a sum.
# - The adjoint identity tests any rule with one random $v$ and one random $w$.

# %% [markdown] tags=["cards"]
# ## Recall cards
#
# - What does a node of a scalar autograd engine remember? :: Its value, its parents, and its slope with respect to each parent.
# - When may a node send its adjoint on? :: When all nodes that use it have sent their shares: in reverse topological order.
# - Why is recursion along every edge wrong? :: A node with two users is visited twice, and the second time sends the first share again.
# - Why must a training loop zero the gradients? :: Leaves accumulate: each backward pass adds to what is there.
# - What is the adjoint identity? :: $\langle v, Jw\rangle = \langle J^Tv, w\rangle$ for all $v$, $w$. It tests any backward rule against forward passes.
# - What is the backward of an embedding lookup? :: Scatter-add: each row of the table gets the sum of the gradients of all its copies.
# - What is LayerNorm's backward in one expression? :: $\bar x = r(\bar{\hat x} - \operatorname{mean}\bar{\hat x} - \hat x\operatorname{mean}(\hat x\odot\bar{\hat x}))$, with $r$ the inverse standard deviation.
# - What is the VJP of softmax, given its output $p$? :: $p\odot(v - v^Tp)$.

# %% [markdown]
# ## Where to go now
#
# - **Exercise `value`** (graded): build your own `Value`. You have all the pieces: `Scalar`,
#   `order_from`, `backward`; what is missing is the rest of the operators, and the care for a
#   second pass.
# - **Lesson 7** trains the classifier by hand, breaks it in every way this course knows, and
#   reads the symptoms.
