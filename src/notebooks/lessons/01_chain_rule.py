# %% [markdown]
# # 1 · The chain rule by hand
#
# **After this lesson** you can take any formula built from small steps, write it as a graph, and compute the derivative of its result with respect to every
# variable in it, in one walk. You can say why the walk goes backward, and when it should go forward instead.
#
# **You need** the derivative of a product and of $x^2$, and the chain rule $\frac{d}{dx} f(g(x)) = f'(g(x))\, g'(x)$.
# **Allow** 60 minutes, and have paper at hand.

# %% [markdown] tags=["quiz"]
# **Predict first.** A network has 100,000,000 parameters and one loss. How many walks through its graph give the derivative of the loss with respect to all of them?
#
# - ( ) 100,000,000, one for each :: That is what forward mode or nudging would take. Section 1.8 counts it.
# - (x) 2: one forward, one backward :: One walk for the values, one back for all derivatives at once. You will do both by hand in section 1.2.
# - ( ) about 8,000, the width of the network :: Widths play no part in it: the walk visits each operation once.

# %% [markdown] tags=["quiz"]
# **Predict first.** $q = a \cdot b + a$ at $a = 2$, $b = 5$. What is the derivative of $q$ with respect to $a$?
#
# - ( ) 5 :: That is the way through the product alone. The sum uses $a$ as well.
# - ( ) 1 :: That is the way through the sum alone. The product uses $a$ as well.
# - (x) 6 :: 5 through the product and 1 through the sum: effects of the same variable add. Section 1.4.

# %%
import numpy as np

from backprop_course.chain_rule import (
    Dual,
    fan_out_graph,
    line_graph,
    neuron_graph,
    residual_graph,
)
from backprop_course.figures.chain_rule import graph_picture, jacobian_passes
from backprop_course.optional import optional

# %% [markdown]
# ## 1.1 A picture: blame in a factory
#
# A factory makes a product in steps. The product comes out wrong, and the manager asks who is to blame, and by how much. He goes back along the line:
# the last station passes blame to the two before it, each of those to the ones before them, until it reaches the suppliers.
#
# Backpropagation walks like this manager. The *adjoint* of a variable says how much the loss would change if that variable changed a little, and each
# step hands the adjoint on to its inputs. The picture helps, and it breaks in two places:
#
# - **Blame is shared out, an adjoint is not.** When two stations caused a fault, each takes a part of the blame. But when a step is an addition, the *whole* adjoint goes to
#   *both* inputs: moving either of them by 0.1 moves the sum by 0.1.
# - **A factory forgets, a network must not.** To hand blame on, a station needs to know what it worked with. The slope of a product $w x$ with respect to $w$ is $x$, so
#   the value of $x$ from the forward walk must be kept until the backward walk arrives. This is where the memory of training goes (lesson 05).

# %% [markdown]
# ## 1.2 A line, by hand
#
# A line $v = w x + b$ should pass through a point $(x, y)$. It misses by $e = v - y$, and the loss is $L = e^2$. Written in steps:
#
# $$u = w x, \qquad v = u + b, \qquad e = v - y, \qquad L = e^2.$$
#
# Take $w = 1$, $b = 1$, $x = 3$, $y = 7$. **Forward**, on paper: $u = 3$, then $v = 4$, then $e = -3$, then $L = 9$.

# %%
line = line_graph(w=1, b=1, x=3, y=7)
values = line.forward()
print({name: values[name] for name in ("u", "v", "e", "L")})

# %% [markdown]
# **Backward.** We want $\partial L / \partial w$. The chain rule multiplies the slopes of all steps between $w$ and $L$:
#
# $$\frac{\partial L}{\partial w} = \frac{\partial L}{\partial e} \cdot \frac{\partial e}{\partial v} \cdot \frac{\partial v}{\partial u} \cdot \frac{\partial u}{\partial w}.$$
#
# Multiply from the left. Then every partial product is itself a derivative of $L$, of use to other variables too. We write
# $\bar z = \partial L / \partial z$ for it, call it the **adjoint** of $z$, and name it `dz` in code.
#
# | step | local slope | upstream | sent back |
# |---|---|---|---|
# | $L = e^2$ | $\partial L/\partial e = 2e = -6$ | $\bar L = 1$ | $\bar e = 1 \cdot (-6) = -6$ |
# | $e = v - y$ | $\partial e/\partial v = 1$, $\partial e/\partial y = -1$ | $-6$ | $\bar v = -6$, $\bar y = 6$ |
# | $v = u + b$ | $\partial v/\partial u = 1$, $\partial v/\partial b = 1$ | $-6$ | $\bar u = -6$, $\bar b = -6$ |
# | $u = w x$ | $\partial u/\partial w = x = 3$, $\partial u/\partial x = w = 1$ | $-6$ | $\bar w = -18$, $\bar x = -6$ |
#
# The walk starts with $\bar L = \partial L / \partial L = 1$. Cover the last two columns and redo them before you go on. The library prints the same table:

# %%
print(line.table())

# %% [markdown]
# Do the numbers mean what they claim? Move $w$ by a millionth to both sides, see how far $L$ moves, and divide. This is a *central difference*; lesson 04 is about it.

# %%
for name, adjoint in line.backward().items():
    if name in ("w", "b", "x", "y"):
        print(f"d{name}: backward {adjoint:6.2f}   nudged {line.difference(name):6.2f}")

# %% [markdown]
# Here is the whole graph. Squares are inputs, hexagons parameters, rounded boxes operations. Values are blue; the adjoints below them, with a bar, are orange.

# %%
graph_picture(line)

# %% [markdown]
# ### Your turn
#
# The same graph, new numbers: $w = 2$, $b = -1$, $x = 4$, $y = 5$. Fill in the adjoints from the top of the table to the bottom, on paper first.

# %% tags=["turn"]
### BEGIN SOLUTION
### STUB de = ...
### STUB dv = ...
### STUB du = ...
### STUB db = ...
### STUB dw = ...
u, v = 8, 7
e = 2
de = 2 * e
dv = de
du = dv
db = dv
dw = du * 4
### END SOLUTION

# %%
from backprop_course.checks.turns import check_line

check_line(de, dv, du, db, dw)

# %% [markdown]
# ## 1.3 The rule
#
# Look at one step of the table. A node computes $y$ from its inputs, and its adjoint $\bar y$ is known. To an input $x$ it sends
#
# $$\bar y \cdot \frac{\partial y}{\partial x} \qquad \text{upstream times local slope.}$$
#
# This is all of backpropagation. Note what is *not* needed: what stands above the node, what stands below it, what the loss is. A node needs
# its own formula and its own inputs. So a library needs one small rule for each kind of operation, and no derivative of any network as a whole.

# %% [markdown] tags=["quiz"]
# **Quick check.** A node computes $y = x_1 x_2$ with $x_1 = 3$, $x_2 = -2$. Its adjoint is 5. What does it send to $x_1$?
#
# - ( ) 15 :: That multiplies by the input itself. The slope with respect to $x_1$ is the *other* factor.
# - (x) −10 :: The local slope is $\partial y / \partial x_1 = x_2 = -2$, and $5 \cdot (-2) = -10$.
# - ( ) 2.5, and as much to the other input :: A product does not share its adjoint out. Each input gets upstream times its own slope.
# - ( ) −2 :: That is the local slope alone. It still has to be multiplied by what arrives from above.

# %% [markdown]
# ## 1.4 Fan-out: effects add
#
# In the line every value was used once. Now take $q = a b + a$ at $a = 2$, $b = 5$, with $p = a b$. Then $a$ is used twice, by the product and by the sum.
#
# Why do the two contributions add? Give the two uses names of their own: $q = a_1 b + a_2$ with $a_1 = a_2 = a$. When $a$ moves by a small $\delta$, both move by $\delta$, and $q$ moves by
#
# $$\frac{\partial q}{\partial a_1}\,\delta + \frac{\partial q}{\partial a_2}\,\delta = (5 + 1)\,\delta.$$
#
# This is the chain rule for a function of several variables. So at a **fan-out** the adjoint is the *sum* of what comes back.

# %%
fan = fan_out_graph(a=2, b=5)
print(fan.table())
print("da =", fan.backward()["a"], "  nudged:", round(fan.difference("a"), 6))

# %%
graph_picture(fan)

# %% [markdown]
# **The mistake everyone makes once:** a program that stores what arrives, with `=`, where it should add, with `+=`. Here is that program, and the check that catches it.

# %%
overwritten = {}
for c in fan.contributions():
    overwritten[c.parent] = c.sent  # should be +=
print("with =  da =", overwritten["a"])
print("with += da =", fan.backward()["a"])
print("nudged  da =", round(fan.difference("a"), 6))

# %% [markdown]
# In the other order of visits it would have kept the 1 of the sum. Both are wrong, and neither raises an error. A second use never overwrites the first one's gradient: it adds to it.

# %% [markdown]
# ## 1.5 Two paths to the loss: a residual unit
#
# Now a graph with everything in it: products, a ReLU, and a value that is used twice. The ReLU is $\text{relu}(z) = \max(z, 0)$, with slope 1 where $z > 0$ and 0 elsewhere.
#
# $$u = w_1 x, \quad z = u + b_1, \quad h = \text{relu}(z), \quad v = w_2 h, \quad \hat y = h + v, \quad r = \hat y - y, \quad L = r^2$$
#
# Large networks are full of this pattern $h + v(h)$: it is a *residual connection*. Take $x = 1.5$, $w_1 = 0.8$, $b_1 = -0.2$, $w_2 = 0.5$, $y = 1$.
# Forward by hand: $u = 1.2$, $z = 1$, $h = 1$, $v = 0.5$, $\hat y = 1.5$, $r = 0.5$, $L = 0.25$.

# %%
residual = residual_graph(x=1.5, w1=0.8, b1=-0.2, w2=0.5, y=1)
print(residual.table())

# %% [markdown]
# Follow the two contributions to $h$. The sum $\hat y = h + v$ sends it 1. The product $v = w_2 h$ sends it $1 \cdot w_2 = 0.5$. Together $\bar h = 1.5$, and only then is $h$ ready to send
# anything back itself.

# %%
graph_picture(residual)

# %%
adjoints = residual.backward()
for name in ("x", "w1", "b1", "w2", "y"):
    print(f"d{name:2} backward {adjoints[name]:5.2f}   nudged {residual.difference(name):5.2f}")

# %% [markdown] tags=["quiz"]
# **Quick check.** Set $w_2 = -1$ and leave the rest. What is $\bar h$?
#
# - ( ) It depends on `x` and `y` :: The two contributions are $\bar{\hat y}$ and $\bar{\hat y} \cdot w_2$. Whatever $\bar{\hat y}$ is, see what their sum is.
# - (x) 0, for every input :: The contributions are $\bar{\hat y}$ and $-\bar{\hat y}$, and they cancel. Indeed $\hat y = h - h = 0$: the output does not depend on $h$ at all.
# - ( ) −1 :: That is $w_2$, the local slope of one path. There are two paths.
# - ( ) `1.5`, as before :: The path through the product has changed its sign.

# %%
for x in (0.5, 1.5, 4.0):
    print(f"x = {x}: dh =", abs(residual.backward(w2=-1.0, x=x)["h"]))

# %% [markdown]
# ## 1.6 One neuron, and a dead one
#
# A neuron computes $z = w x + b$ and $s = \sigma(z)$ with the sigmoid $\sigma(z) = 1/(1 + e^{-z})$. Its loss is $L = \tfrac12 (s - y)^2$.
#
# The sigmoid's slope comes from the quotient rule:
#
# $$\sigma'(z) = \frac{e^{-z}}{(1 + e^{-z})^2} = \frac{1}{1 + e^{-z}} \cdot \frac{e^{-z}}{1 + e^{-z}} = \sigma(z)\,(1 - \sigma(z)).$$
#
# So the backward walk is $\bar s = s - y$, then $\bar z = \bar s \cdot s (1 - s)$, then $\bar w = \bar z \cdot x$ and $\bar b = \bar z$.

# %% [markdown]
# ### Your turn
#
# Take $x = 2$, $w = 0.5$, $b = -2$, $y = 1$, so $z = -1$ and $s = \sigma(-1) = 0.2689$. Compute $\bar z$ and $\bar w$ to four digits. Then put a ReLU in place of the sigmoid: what is $\bar w$ now?

# %% tags=["turn"]
### BEGIN SOLUTION
### STUB dz_sigmoid = ...
### STUB dw_sigmoid = ...
### STUB dw_relu = ...
s = 0.2689414
dz_sigmoid = (s - 1) * s * (1 - s)
dw_sigmoid = dz_sigmoid * 2
dw_relu = 0
### END SOLUTION

# %%
from backprop_course.checks.turns import check_neuron

check_neuron(dz_sigmoid, dw_sigmoid, dw_relu)

# %% [markdown]
# Here are both neurons. With the ReLU the output is 0 and the error is as large as it can be, $s - y = -1$. Yet nothing passes the ReLU on the way back.

# %%
for activation in ("sigmoid", "relu"):
    neuron = neuron_graph(activation, x=2, w=0.5, b=-2, y=1)
    print(activation, {k: round(v, 4) + 0.0 for k, v in neuron.backward().items() if k in "szwbx"})

# %% [markdown]
# Every gradient below the ReLU is exactly 0, so no step of training can move $w$ or $b$: if this happens for all examples, the unit is **dead** and stays dead. You meet whole networks of them in lesson 06.

# %% [markdown]
# ## 1.7 The algorithm
#
# What you did by hand works for any graph without cycles.
#
# 1. **Forward.** Compute every node after its inputs. An order that allows this is called *topological*. Keep the values.
# 2. **Seed.** Set the adjoint of the loss to 1, all others to 0.
# 3. **Backward.** Visit the nodes in the reverse of that order. Each sends *upstream × local slope* to its inputs, which **add** it to their adjoint.
#
# **Why the reverse topological order?** When a node's turn comes, its adjoint must be complete, since it is multiplied into everything sent on. A node
# receives contributions only from the nodes that use it. In a topological order all of these come *after* it; in the reverse order they come *before* it. So they have all
# been visited, and the sum is complete. Had we visited $h$ in section 1.5 after the first contribution, it would have passed on 1 where 1.5 was due.
#
# **What it costs.** Each edge of the graph is walked once in each direction. A step does a fixed amount of work for each edge, so the derivatives with respect to *all* variables cost a small
# multiple of the forward walk: at most about four times for elementary operations, whatever their number. This is the cheap-gradient principle (Baur and Strassen 1983).

# %%
print([c.node + " → " + c.parent for c in residual.contributions()])

# %% [markdown]
# ## 1.8 Forward mode, and what it costs
#
# The product of slopes can be multiplied from the other end too. Walk forward, and carry with each value its slope with respect to *one* chosen input, written with a dot: $\dot z = \partial z / \partial w$.
#
# On the line, with $w$ chosen: $\dot w = 1$ and all other inputs have slope 0. Then
#
# $$\dot u = x\,\dot w = 3, \qquad \dot v = \dot u = 3, \qquad \dot e = \dot v = 3, \qquad \dot L = 2e\,\dot e = -6 \cdot 3 = -18.$$
#
# The same $-18$, and no walk back. A **dual number** does this by itself: it holds a value and a slope, and each operation computes both. Its product is the product rule,
# $(a, \dot a)(b, \dot b) = (ab,\; \dot a b + a \dot b)$.


# %%
def line_loss(w, b, x=3, y=7):
    e = w * x + b - y
    return e * e


print("slope in w:", line_loss(Dual(1, slope=1), Dual(1)))
print("slope in b:", line_loss(Dual(1), Dual(1, slope=1)))

# %% [markdown]
# But for $b$ we had to walk again. Forward mode takes one walk for each *input*, reverse mode one for each *output*, and a loss is one output.
#
# | derivatives of one loss | reverse | forward |
# |---|---|---|
# | the line, with respect to $w$ and $b$ | 1 | 2 |
# | a network of 100,000,000 parameters | 1 | 100,000,000 |
# | Llama 3.1 8B | 1 | 8,030,261,248 |
#
# Nudging is no better: a forward difference takes one more walk for each parameter, a central one two. For GPT-2 small that is 124 million walks, or twice as many, for one gradient.

# %%
vocabulary, width, layers, hidden, kv = 128_256, 4096, 32, 14_336, 1024
attention = 2 * width * width + 2 * width * kv
block = attention + 3 * width * hidden + 2 * width
print("Llama 3.1 8B:", f"{2 * vocabulary * width + layers * block + width:,}", "parameters")

# %% [markdown] tags=["quiz"]
# **Quick check.** You want the derivatives of one loss with respect to $10^8$ parameters. How many walks back does reverse mode take?
#
# - (x) 1 :: One output, one walk. All $10^8$ adjoints are filled in on the way.
# - ( ) `10⁸` :: That is forward mode, which carries the slope of one input at a time.
# - ( ) as many as there are layers :: A walk passes all layers. It is one walk.

# %% [markdown]
# ## 1.9 The same with matrices: who multiplies first
#
# Let a program map $n$ inputs to $m$ outputs in $k$ steps. Step $i$ has a *Jacobian* $J_i$: the matrix of all its local slopes, with a row for each output and a column for each input. The chain rule says that
# the Jacobian of the whole is the product
#
# $$J = J_k\, J_{k-1} \cdots J_2\, J_1 .$$
#
# - **From the left**, starting with a row vector: $\bar y^{\mathsf T} J_k$, then times $J_{k-1}$, and so on. Each step is a *vector–Jacobian product* (VJP). This is reverse mode, and one walk gives one **row** combination of $J$.
# - **From the right**, starting with a column vector: $J_1 \dot x$, then $J_2$ times that. Each step is a *Jacobian–vector product* (JVP). This is forward mode, and one walk gives one **column** combination of $J$.
#
# With a vector at one end, every partial product is a vector. **No Jacobian is ever formed, and no two are multiplied.** "Backpropagation multiplies big Jacobians" is a misconception: a layer
# that adds a bias to a million numbers has a Jacobian with $10^{12}$ entries, and its VJP copies a million numbers.

# %%
rng = np.random.default_rng(0)
J1, J2, J3 = rng.normal(size=(50, 40)), rng.normal(size=(30, 50)), rng.normal(size=(1, 30))
from_the_left = ((np.ones(1) @ J3) @ J2) @ J1
whole = (J3 @ (J2 @ J1))[0]
print("same row:", np.allclose(from_the_left, whole))
print("multiplications: from the left", 30 + 30 * 50 + 50 * 40, " whole", 30 * 50 * 40 + 30 * 40)

# %% [markdown]
# **When forward mode wins.** A simulator takes 3 inputs and gives 12 outputs. All its derivatives take 3 forward walks or 12 backward ones. For a map $\mathbb R^3 \to \mathbb R^{10^6}$ it is 3 against a million.
# The numbers in the picture say which walk fills which entry.

# %%
jacobian_passes(m=12, n=3)

# %% [markdown]
# A loss is the other extreme: one output, many inputs.

# %%
jacobian_passes(m=1, n=12)

# %% [markdown] tags=["quiz"]
# **Quick check.** When should you prefer forward mode?
#
# - ( ) When the network is deep :: Depth lengthens both walks alike.
# - (x) When there are fewer inputs than outputs :: One forward walk gives a column of the Jacobian, one backward walk a row. Count which are fewer.
# - ( ) When there are many parameters :: Then there are many columns. That is where forward mode is worst.
# - ( ) Never, reverse mode is always faster :: For 3 inputs and a million outputs it takes a million walks.

# %% [markdown]
# Does PyTorch agree with your table? It walks the same graph.

# %%
if torch := optional("torch"):
    w, b = (torch.tensor(1.0, requires_grad=True) for _ in range(2))
    loss = (w * 3 + b - 7) ** 2
    loss.backward()
    print("PyTorch: dw =", w.grad.item(), " db =", b.grad.item())

# %% [markdown]
# ## 1.10 Where it comes from
#
# - D. E. Rumelhart, G. E. Hinton, R. J. Williams, *Learning representations by back-propagating errors*, Nature 323, 1986, [doi:10.1038/323533a0](https://doi.org/10.1038/323533a0). The paper that made it known.
# - A. G. Baydin, B. A. Pearlmutter, A. A. Radul, J. M. Siskind, *Automatic differentiation in machine learning: a survey*, [arXiv:1502.05767](https://arxiv.org/abs/1502.05767). Both modes, and their long history before 1986.
# - W. Baur, V. Strassen, *The complexity of partial derivatives*, Theoretical Computer Science 22, 1983, [doi:10.1016/0304-3975(83)90110-X](https://doi.org/10.1016/0304-3975(83)90110-X). All derivatives of one output cost at most
#   a constant times its evaluation; the constant is between 3 and 5, as one counts.

# %% [markdown]
# ## 1.11 Your predictions, and a recap
#
# You predicted how many walks 100,000,000 derivatives take, and what $\partial q/\partial a$ is for a value used twice. Was it 2 walks, and 6? If not, which sentence above changed your mind?
#
# 1. The adjoint $\bar z = \partial L/\partial z$, in code `dz`, says how the loss moves when $z$ moves.
# 2. A node sends *upstream × local slope* to each input. It needs its own formula and values, nothing else.
# 3. At a fan-out the contributions add. `+=`, never `=`.
# 4. The walk goes in reverse topological order, so that each adjoint is complete before it is used.
# 5. Reverse mode takes a walk for each output, forward mode one for each input.
# 6. No Jacobian is formed: vectors pass through, one step at a time.

# %% [markdown] tags=["cards"]
# ## 1.12 Recall cards
#
# - What is the adjoint of a variable? :: The derivative of the loss with respect to it: z̄ = ∂L/∂z.
# - What does a node send back to one of its inputs? :: Upstream × local slope: its own adjoint times the slope of its output in that input.
# - A value feeds two operations. What is its adjoint? :: The sum of what the two send back.
# - Why is the backward walk in reverse topological order? :: Then all users of a node were visited before it, and its adjoint is complete when it is multiplied on.
# - Why reverse mode for training? :: A loss is one output, so one walk gives all derivatives. Forward mode would take a walk for each parameter.
# - When is forward mode better? :: When there are fewer inputs than outputs: a walk gives a column of the Jacobian.

# %% [markdown]
# **Next:** [lesson 2](02_matrix_backward.ipynb) does the same with matrices, where one step is a whole layer.
