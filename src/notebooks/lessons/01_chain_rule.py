# %% [markdown]
# # 1 · The chain rule by hand
#
# **After this lesson** you can take any formula built from small steps, write it as a graph, and compute the derivative of its result with respect to every
# variable in it, in one walk. You can say why the walk goes backward, and when it should go forward instead.
#
# **You need** the derivative of a product and of $x^2$, and the chain rule $\frac{d}{dx} f(g(x)) = f'(g(x))\, g'(x)$.
# **Allow** 60 minutes, and have paper at hand.
#
# Three words in advance. A network computes with numbers that training changes, its *parameters*. How wrong its output is, is one number, the *loss*; training makes it small. A *walk* visits each operation of the
# computation once.

# %% [markdown] tags=["quiz"]
# **Predict first.** A network has 100,000,000 parameters and one loss. How many walks through its graph give the derivative of the loss with respect to all of them?
#
# - ( ) 100,000,000, one for each :: That is what it takes to change each parameter a little and see what happens. Section 1.8 counts it.
# - (x) 2: one forward, one backward :: One walk for the values, one back for all derivatives at once. You will do both by hand in section 1.2.
# - ( ) one for each layer :: A walk back passes all layers, one after the other. It is one walk.

# %% [markdown] tags=["quiz"]
# **Predict first.** $q = a \cdot b + a$ at $a = 2$, $b = 5$. What is the derivative of $q$ with respect to $a$?
#
# - ( ) 5 :: That is the way through the product alone. The sum uses $a$ as well.
# - ( ) 1 :: That is the way through the sum alone. The product uses $a$ as well.
# - (x) 6 :: 5 through the product and 1 through the sum: effects of the same variable add. Section 1.4.

# %% [markdown] tags=["quiz"]
# **Predict first.** A step adds 1 to each of a million numbers. What does the backward pass compute with at this step?
#
# - (x) A million numbers :: What arrives is a million numbers, and adding 1 has slope 1. They are passed on as they are. Section 1.9.
# - ( ) A matrix of a million rows and a million columns :: That matrix, the Jacobian, exists on paper. Backpropagation never forms it. Section 1.9.
# - ( ) One number, the slope :: Each of the million numbers has an adjoint of its own.

# %%
import inspect

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
# Backpropagation walks like this manager, from the loss back to the parameters. The *adjoint* of a variable is the derivative of the loss with respect to it: move the variable by a little, and the loss moves by that little times the adjoint. Each
# step hands an adjoint on to its inputs. The picture helps, and it breaks in two places:
#
# - **Blame is shared out, an adjoint is not.** When two stations caused a fault, each takes a part of the blame. But when a step is an addition, the *whole* adjoint goes to
#   *both* inputs: moving either of them by 0.1 moves the sum by 0.1.
# - **A factory forgets, a network must not.** To hand blame on, a station needs to know what it worked with. The slope of a product $w x$ with respect to $w$ is $x$, so
#   the value of $x$ from the forward walk must be kept until the backward walk arrives. This is where the memory of training goes (lesson 5).

# %% [markdown] tags=["quiz"]
# **Quick check.** The adjoint of $v$ is 4, and $v = u + b$. What goes back to $u$, and what to $b$?
#
# - ( ) 2 and 2 :: Blame would be shared out like this. But moving $u$ by a little moves $v$ by as much, whatever $b$ is.
# - (x) 4 and 4 :: The slope of a sum is 1 in both inputs, so each receives the whole adjoint.
# - ( ) 4 to the larger one, 0 to the other :: A maximum works like that. A sum listens to both inputs.
# - ( ) It depends on the values of `u` and `b` :: For a product it would. The slope of a sum is 1 everywhere.

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
# Multiply from the left: $2e$, then $2e \cdot 1$, then $2e \cdot 1 \cdot 1$, then $2e \cdot 1 \cdot 1 \cdot x = -18$. Every partial product is itself a derivative of $L$: with respect to $e$, to $v$,
# to $u$, to $w$. So one walk serves all variables on the way. We write
# $\bar z = \partial L / \partial z$, call it the **adjoint** of $z$, and name it `dz` in code.
#
# In the table, a step's *local slope* is the derivative of its result with respect to one of its inputs. *Upstream* is the adjoint of its result, which is known when its turn comes.
#
# | step | local slope | upstream | sent back |
# |---|---|---|---|
# | $L = e^2$ | $\partial L/\partial e = 2e = -6$ | $\bar L = 1$ | $\bar e = 1 \cdot (-6) = -6$ |
# | $e = v - y$ | $\partial e/\partial v = 1$, $\partial e/\partial y = -1$ | $-6$ | $\bar v = -6$, $\bar y = 6$ |
# | $v = u + b$ | $\partial v/\partial u = 1$, $\partial v/\partial b = 1$ | $-6$ | $\bar u = -6$, $\bar b = -6$ |
# | $u = w x$ | $\partial u/\partial w = x = 3$, $\partial u/\partial x = w = 1$ | $-6$ | $\bar w = -18$, $\bar x = -6$ |
#
# The walk starts at the top, with $\bar L = \partial L / \partial L = 1$. Cover the last two columns and redo them before you go on. The library prints the same table:

# %%
print(line.table())

# %% [markdown]
# Do the numbers mean what they claim? Move $w$ by a millionth to both sides, see how far $L$ moves, and divide. This is a *central difference*; lesson 4 is about it.

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
# Together with a sum, which comes next, this is all of backpropagation. Note what is *not* needed: what stands above the node, what stands below it, what the loss is. A node needs
# its own formula and its own inputs. So a library needs one small rule for each kind of operation, and no derivative of any network as a whole.

# %% [markdown] tags=["quiz"]
# **Quick check.** A node computes $y = x_1 x_2$ with $x_1 = 3$, $x_2 = -2$. Its adjoint is 5. What does it send to $x_1$?
#
# - ( ) 15 :: That multiplies by the input itself. The slope with respect to $x_1$ is the *other* factor.
# - (x) −10 :: The local slope is $\partial y / \partial x_1 = x_2 = -2$, and $5 \cdot (-2) = -10$.
# - ( ) 2.5, and as much to the other input :: A product does not share its adjoint out. Each input gets upstream times its own slope.
# - ( ) −2 :: That is the local slope alone. It still has to be multiplied by what arrives from above.

# %% [markdown]
# ## 1.4 Fan-out: contributions add
#
# In the line every value was used once. Now take $q = a b + a$ at $a = 2$, $b = 5$, with $p = a b$. Then $a$ is used twice, by the product and by the sum.
#
# Why do the two contributions add? Give the two uses names of their own: $q = a_1 b + a_2$ with $a_1 = a_2 = a$. When $a$ moves by a small $\delta$, both move by $\delta$, and $q$ moves by
#
# $$\frac{\partial q}{\partial a_1}\,\delta + \frac{\partial q}{\partial a_2}\,\delta = b\,\delta + 1\,\delta = (5 + 1)\,\delta.$$
#
# In general, let $a$ be used by $k$ nodes $y_1, \dots, y_k$, and by nothing else. The chain rule for a function of several variables says
#
# $$\bar a = \bar y_1 \frac{\partial y_1}{\partial a} + \dots + \bar y_k \frac{\partial y_k}{\partial a}.$$
#
# So at a **fan-out** the adjoint is the *sum* of what comes back. Each term is *upstream × local slope*.

# %%
fan = fan_out_graph(a=2, b=5)
print(fan.table())
print("da =", fan.backward()["a"], "  nudged:", round(fan.difference("a"), 6))

# %%
graph_picture(fan)

# %% [markdown]
# **The mistake everyone makes once:** a program that stores what arrives, with `=`, where it should add, with `+=`. Here is that program, on two ways to order its work, and the check that catches it.

# %%
as_they_come = fan.contributions()  # q sends to p and to a, then p sends to a and to b
depth_first = sorted(as_they_come, key=lambda c: c.node)  # as if p had gone on before q was done
for order in (as_they_come, depth_first):
    overwritten = {}
    for c in order:
        overwritten[c.parent] = c.sent  # should be +=
    print("with =  da =", overwritten["a"])
print("with += da =", fan.backward()["a"])
print("nudged  da =", round(fan.difference("a"), 6))

# %% [markdown]
# The last one to arrive wins: 5, or 1 for a program that follows one path down to its end before it starts on the next. Both are wrong, and neither raises an error. Only a comparison with an independent number shows it.
# "A second use overwrites the gradient" is a misconception: in a right program a second use *adds* to it.

# %% [markdown]
# ## 1.5 Two paths to the loss: a residual unit
#
# Now a graph with everything in it: products, a ReLU, and a value that is used twice. The ReLU is $\text{relu}(z) = \max(z, 0)$. Its slope is 1 where $z > 0$ and 0 where $z < 0$. At $z = 0$ it has a kink and no slope;
# programs take 0 there, and so do we.
#
# $$u = w_1 x, \quad z = u + b_1, \quad h = \text{relu}(z), \quad v = w_2 h, \quad \hat y = h + v, \quad r = \hat y - y, \quad L = r^2$$
#
# Large networks are full of this pattern, a value plus something computed from it: a *residual connection*. Take $x = 1.5$, $w_1 = 0.8$, $b_1 = -0.2$, $w_2 = 0.5$, $y = 1$.
# Forward by hand: $u = 1.2$, $z = 1$, $h = 1$, $v = 0.5$, $\hat y = 1.5$, $r = 0.5$, $L = 0.25$. Now walk back on paper, down to $\bar w_1$, before you run the cell.

# %%
residual = residual_graph(x=1.5, w1=0.8, b1=-0.2, w2=0.5, y=1)
print(residual.table())

# %% [markdown]
# Follow the two contributions to $h$. The sum $\hat y = h + v$ sends it 1. The product $v = w_2 h$ sends it $1 \cdot w_2 = 0.5$. In symbols
#
# $$\bar h = \bar{\hat y} + \bar v\, w_2 = \bar{\hat y}\,(1 + w_2),$$
#
# since $\bar v = \bar{\hat y}$. Together $\bar h = 1.5$, and only then is $h$ ready to send anything back itself.

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
# - (x) 0, for every input :: $\bar h = \bar{\hat y}\,(1 + w_2) = 0$: the two contributions cancel. Indeed $\hat y = h - h = 0$ then, so the output does not depend on $h$ at all.
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
# The sigmoid's slope comes from the chain rule, applied to $(1 + e^{-z})^{-1}$:
#
# $$\sigma'(z) = \frac{e^{-z}}{(1 + e^{-z})^2} = \frac{1}{1 + e^{-z}} \cdot \frac{e^{-z}}{1 + e^{-z}} = \sigma(z)\,(1 - \sigma(z)).$$
#
# The last step uses $1 - \sigma(z) = \frac{e^{-z}}{1 + e^{-z}}$. So the backward walk is
#
# $$\bar s = s - y, \qquad \bar z = \bar s\, s\,(1 - s), \qquad \bar w = \bar z\, x, \qquad \bar b = \bar z.$$
#
# Take $x = 2$, $w = 0.5$, $b = -1$, $y = 1$. Then $z = 0$ and $s = 0.5$. Backward: $\bar s = -0.5$, $\bar z = -0.5 \cdot 0.25 = -0.125$, $\bar w = -0.25$, $\bar b = -0.125$. The graph below has a node for each elementary step:
# $m = wx$, $e = s - y$, $q = e^2$.

# %%
print(neuron_graph("sigmoid", x=2, w=0.5, b=-1, y=1).table())

# %% [markdown]
# ### Your turn
#
# Now let $b = -2$ and keep the rest, so that $z = -1$ and $s = \sigma(-1) = 0.2689$. Compute $\bar z$ and $\bar w$ to four digits. Then put a ReLU in place of the sigmoid: what is $\bar w$ now?

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
# Here are both neurons. With the ReLU the output is $s = 0$ where $y = 1$ is wanted: there is much to correct, and $\bar s = -1$ says so. Yet nothing passes the ReLU on the way back.

# %%
for activation in ("sigmoid", "relu"):
    neuron = neuron_graph(activation, x=2, w=0.5, b=-2, y=1)
    adjoints = neuron.backward()
    print(f"{activation:8}", {f"d{k}": round(adjoints[k], 4) + 0.0 for k in "szwbx"})

# %% [markdown]
# Every adjoint below the ReLU is exactly 0, so this example cannot move $w$ or $b$. If that is so for all examples, the unit is **dead**: gradient descent on $w$ and $b$ never moves it again. In lesson 6 you meet networks that stall because of it.

# %% [markdown]
# ## 1.7 The algorithm
#
# What you did by hand works for any graph without cycles whose operations have slopes.
#
# 1. **Forward.** Compute every node after its inputs. An order that allows this is called *topological*. Keep the values.
# 2. **Seed.** Set the adjoint of the loss to 1, all others to 0.
# 3. **Backward.** Visit the nodes in the reverse of that order. Each sends *upstream × local slope* to its inputs, which **add** it to their adjoint.
#
# **Why the reverse topological order?** When a node's turn comes, its adjoint must be complete, since it is multiplied into everything sent on. A node
# receives contributions only from the nodes that use it. In a topological order all of these come *after* it; in the reverse order they come *before* it. So they have all
# been visited, and the sum is complete.
#
# What if the order is another? Here is the loop of step 3, with two orders for the graph of section 1.5. The second visits $h$ before $v$, that is, before the second contribution to $h$ has arrived.

# %%
sends = {node: [c for c in residual.contributions() if c.node == node] for node in residual.nodes}


def walk(order):
    adjoint = dict.fromkeys(residual.nodes, 0.0)
    adjoint["L"] = 1.0
    for node in order:
        for c in sends[node]:
            adjoint[c.parent] += adjoint[node] * c.local
    return {f"d{name}": round(adjoint[name], 4) for name in ("h", "z", "w1")}


print("reverse order:  ", walk(["L", "r", "yhat", "v", "h", "z", "u"]))
print("h before v:     ", walk(["L", "r", "yhat", "h", "v", "z", "u"]))

# %% [markdown]
# In the wrong order even $\bar h$ ends up right, since the sum is completed later. But $h$ had already sent on 1 where 1.5 was due, and $\bar w_1$ is wrong. This bug hides well: it shows only where paths meet.

# %% [markdown] tags=["quiz"]
# **Quick check.** What must the forward walk leave behind for the backward walk?
#
# - ( ) Only the final loss :: The seed is 1, whatever the loss is. The slopes need more.
# - ( ) A formula for the derivative of the whole network :: No such formula is ever written down. Each node applies its own small rule.
# - ( ) The adjoint of every node :: Adjoints do not exist yet. The backward walk makes them.
# - (x) The values that appear in local slopes :: The slope of $w x$ with respect to $w$ is $x$, that of $e^2$ is $2e$: without these values the walk back cannot be done.

# %% [markdown]
# **What it costs.** The walk back uses each edge of the graph once: one multiplication, and one addition where paths meet. The slopes themselves are cheap; most are values that the forward walk left. So the value and *all* derivatives
# together cost a small multiple of the value alone, between 3 and 5 times, depending on what one counts. The factor does not depend on how many variables there are. This is the *cheap-gradient principle* (Baur and Strassen, section 1.10). For layers of a
# network lesson 2 counts it exactly.
#
# PyTorch does the same three steps. Does it agree with your table?

# %%
if torch := optional("torch"):
    w1, b1, w2 = (torch.tensor(p, requires_grad=True) for p in (0.8, -0.2, 0.5))
    h = torch.relu(w1 * 1.5 + b1)
    loss = (h + w2 * h - 1) ** 2
    loss.backward()
    print("PyTorch:", {k: round(p.grad.item(), 4) for k, p in (("w1", w1), ("b1", b1), ("w2", w2))})

# %% [markdown]
# ## 1.8 Forward mode, and what it costs
#
# The product of slopes can be multiplied from the other end too. Walk forward, and carry with each value its slope with respect to *one* chosen input, written with a dot: $\dot z = \partial z / \partial w$.
#
# On the line, with $w$ chosen: $\dot w = 1$ and all other inputs have slope 0. Then
#
# $$\dot u = x\,\dot w = 3, \qquad \dot v = \dot u = 3, \qquad \dot e = \dot v = 3, \qquad \dot L = 2e\,\dot e = -6 \cdot 3 = -18.$$
#
# The same $-18$, and no walk back. A **dual number** does this by itself. It is a pair, written $a + \dot a\,\varepsilon$, of a value and a slope. One calculates with it as usual, except that $\varepsilon^2 = 0$: second-order terms are dropped.
# Out comes the product rule:
#
# $$(a + \dot a\,\varepsilon)(b + \dot b\,\varepsilon) = ab + (\dot a\, b + a\, \dot b)\,\varepsilon.$$
#
# In Python these are a few lines. `as_dual` turns a plain number into one with slope 0.

# %%
print(inspect.getsource(Dual.__add__), inspect.getsource(Dual.__mul__), sep="\n")

# %%
w, b, x, y = Dual(1, slope=1), Dual(1), 3, 7
u = w * x
v = u + b
e = v - y
L = e * e
print({name: (z.value, z.slope) for name, z in dict(u=u, v=v, e=e, L=L).items()})

# %% [markdown]
# Each pair is (value, slope with respect to $w$). The slope with respect to $b$ takes a second walk, with the 1 in another place:

# %%
w, b = Dual(1), Dual(1, slope=1)
e = w * 3 + b - 7
print("dL/db =", (e * e).slope)

# %% [markdown]
# Forward mode takes one walk for each *input*, reverse mode one for each *output*, and a loss is one output.
#
# | derivatives of one loss with respect to | walks, forward mode | walks back, reverse mode |
# |---|---|---|
# | $w$ and $b$ of the line | 2 | 1 |
# | 100,000,000 parameters | 100,000,000 | 1 |
# | the parameters of Llama 3.1 8B | 8,030,261,248 | 1 |
#
# Before the walk back there is one walk forward, for the values. In forward mode values and slopes come in the same walk.
#
# Nudging is no better than forward mode: a one-sided difference takes one more walk for each parameter, a central one two. For GPT-2 small that is 124 million walks, or twice as many, for one gradient; and each derivative is only approximate.
#
# Where does Llama's number come from? From its published sizes:

# %%
vocabulary, width, layers, hidden, kv = 128_256, 4096, 32, 14_336, 1024
attention = 2 * width * width + 2 * width * kv  # queries and output; shared keys and values
feed_forward = 3 * width * hidden
block = attention + feed_forward + 2 * width  # two normalizations
parameters = 2 * vocabulary * width + layers * block + width  # a table at each end; a last norm
print(f"Llama 3.1 8B: {parameters:,} parameters")

# %% [markdown] tags=["quiz"]
# **Quick check.** You want the derivatives of one loss with respect to $10^8$ parameters. How many walks back does reverse mode take?
#
# - (x) 1 :: One output, one walk. All $10^8$ adjoints are filled in on the way.
# - ( ) 10⁸ :: That is forward mode, which carries the slope with respect to one input at a time.
# - ( ) 2 · 10⁸ :: That is nudging each parameter to both sides, and there it is walks forward.
# - ( ) as many as there are layers :: A walk passes all layers. It is one walk.

# %% [markdown]
# ## 1.9 The same with matrices: who multiplies first
#
# So far each step made one number. Now let a step take a vector and make a vector. All its local slopes form a matrix, the *Jacobian*: row $i$, column $j$ holds the derivative of output $i$ with respect to input $j$.
# If a program maps $n$ inputs to $m$ outputs in $k$ steps with Jacobians $J_1, \dots, J_k$, the chain rule says that the Jacobian of the whole is the product
#
# $$J = J_k\, J_{k-1} \cdots J_2\, J_1 ,$$
#
# because an entry of $J_2 J_1$ is $\sum_j (J_2)_{ij} (J_1)_{jl}$: a sum over all paths from input $l$ to output $i$ of the slopes along the path. It is fan-out once more.
#
# A matrix product may be multiplied from either end.
#
# - **From the left**, starting with a row vector $\bar y$, one number for each output: $\bar y\, J_k$, then times $J_{k-1}$, and so on. Each step is a *vector–Jacobian product* (VJP). This is reverse mode. If $\bar y$ has a 1 in place $i$ and 0 elsewhere, the walk gives **row** $i$ of $J$.
# - **From the right**, starting with a column vector $\dot x$, one number for each input: $J_1 \dot x$, then $J_2$ times that, and so on. Each step is a *Jacobian–vector product* (JVP). This is forward mode. If $\dot x$ has a 1 in place $j$ and 0 elsewhere, the walk gives **column** $j$ of $J$.
#
# A loss is one output, so $J$ is one row: the gradient. With a vector at one end, every partial product is a vector.

# %%
rng = np.random.default_rng(0)
J1, J2, J3 = rng.normal(size=(50, 40)), rng.normal(size=(30, 50)), rng.normal(size=(1, 30))
from_the_left = (J3 @ J2) @ J1  # (1, 40)
from_the_right = J3 @ (J2 @ J1)  # (1, 40)
print("same gradient:", np.allclose(from_the_left, from_the_right))
print("multiplications from the left: ", 30 * 50 + 50 * 40)
print("multiplications from the right:", 30 * 50 * 40 + 30 * 40)

# %% [markdown]
# The gradient is the same; the work is not. And even this cell did more than backpropagation does: it held the Jacobians. **"Backpropagation multiplies big Jacobians" is a misconception.** A VJP is a small function that knows
# what the product would be. Take a step that squares a million numbers. Its Jacobian has the slopes $2x_i$ on its diagonal and zeros elsewhere, so $\bar y\, J$ is an elementwise product:

# %%
x, dy = rng.normal(size=1_000_000), rng.normal(size=1_000_000)
dx = dy * 2 * x  # the whole VJP
print(
    f"the VJP makes {dx.nbytes / 1e6:.0f} MB; the Jacobian would hold {dx.size**2 * 8 / 1e12:.0f} TB"
)
few = slice(0, 3)
print("same as dy @ J on 3 of them:", np.allclose(dx[few], dy[few] @ np.diag(2 * x[few])))

# %% [markdown]
# **When forward mode wins.** A simulator takes 3 inputs and gives 12 outputs. Its whole Jacobian takes 3 walks forward or 12 walks back. Here the simulator is $f(x) = A \tanh(Bx)$; both functions use vectors only.

# %%
A, B, x = rng.normal(size=(12, 5)), rng.normal(size=(5, 3)), rng.normal(size=3)
slope = 1 - np.tanh(B @ x) ** 2


def jvp(dot_x):
    return A @ (slope * (B @ dot_x))  # (12,)


def vjp(dy):
    return ((dy @ A) * slope) @ B  # (3,)


columns = [jvp(one) for one in np.eye(3)]
rows = [vjp(one) for one in np.eye(12)]
same = np.allclose(np.column_stack(columns), np.vstack(rows))
print(len(columns), "walks forward,", len(rows), "walks back, same Jacobian:", same)

# %% [markdown]
# For a map of 3 numbers to a million it is 3 against a million. The numbers in the picture say which walk fills which entry.

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
# ## 1.10 Where it comes from
#
# - D. E. Rumelhart, G. E. Hinton, R. J. Williams, *Learning representations by back-propagating errors*, Nature 323, 1986, [doi:10.1038/323533a0](https://doi.org/10.1038/323533a0). The paper that made it known.
# - S. Linnainmaa, *Taylor expansion of the accumulated rounding error*, BIT 16, 1976, [doi:10.1007/BF01931367](https://doi.org/10.1007/BF01931367). Reverse mode, from a thesis of 1970, to follow rounding errors.
# - A. G. Baydin, B. A. Pearlmutter, A. A. Radul, J. M. Siskind, *Automatic differentiation in machine learning: a survey*, [arXiv:1502.05767](https://arxiv.org/abs/1502.05767). Both modes, and their history.
# - W. Baur, V. Strassen, *The complexity of partial derivatives*, Theoretical Computer Science 22, 1983, [doi:10.1016/0304-3975(83)90110-X](https://doi.org/10.1016/0304-3975(83)90110-X). One output and all its derivatives cost at most
#   a constant times the output alone; the constant is between 3 and 5, depending on which operations one counts.

# %% [markdown]
# ## 1.11 Your predictions, and a recap
#
# You predicted how many walks 100,000,000 derivatives take (2, section 1.8), what $\partial q/\partial a$ is for a value used twice (6, section 1.4), and what a step on a million numbers computes with (a million numbers, section 1.9). Lesson 0 asked what
# two operations that send 1.0 and 0.5 give a value: 1.5, the two add. Where you were wrong, which sentence above changed your mind?
#
# 1. The adjoint $\bar z = \partial L/\partial z$, in code `dz`, says how the loss moves when $z$ moves.
# 2. A node sends *upstream × local slope* to each input. It needs its own formula and values, nothing else.
# 3. At a fan-out the contributions add. `+=`, never `=`.
# 4. The walk goes in reverse topological order, so that each adjoint is complete before it is used.
# 5. Reverse mode takes a walk for each output, forward mode one for each input.
# 6. No Jacobian is formed: vectors pass through, one step at a time.
# 7. The value and all derivatives together cost 3 to 5 times the value alone.

# %% [markdown] tags=["cards"]
# ## 1.12 Recall cards
#
# - What is the adjoint of a variable? :: The derivative of the loss with respect to it: z̄ = ∂L/∂z.
# - What does a node send back to one of its inputs? :: Upstream × local slope: its own adjoint times the slope of its output in that input.
# - A value feeds two operations. What is its adjoint? :: The sum of what the two send back.
# - Why is the backward walk in reverse topological order? :: Then all users of a node were visited before it, and its adjoint is complete when it is multiplied on.
# - What is a dual number? :: A value and a slope, a + ȧε with ε² = 0. Calculating with it is forward mode.
# - Does backpropagation multiply Jacobians? :: No. Each step maps a vector to a vector, the vector–Jacobian product, without forming the matrix.
# - Why reverse mode for training? :: A loss is one output, so one walk gives all derivatives. Forward mode would take a walk for each parameter.
# - When is forward mode better? :: When there are fewer inputs than outputs: a walk gives a column of the Jacobian.

# %% [markdown]
# **Next:** [lesson 2](02_matrix_backward.ipynb) does the same with matrices, where one step is a whole layer.
