# %% [markdown]
# # 5 · Memory and checkpointing
#
# **After this lesson** you can say what a training step keeps in memory and why, compute it for a transformer, and trade it for computation by checkpointing.
#
# **You need** [lesson 2](02_matrix_backward.ipynb) and the activations of [lesson 3](03_activations.ipynb). **Allow** 60 minutes.

# %% [markdown] tags=["quiz"]
# **Predict first.** GPT-3 has 175 billion parameters: 350 GB in 16 bit. How much do the activations of *one* sequence of 2048 tokens take in training?
#
# - ( ) Little beside the weights, a few GB :: "Training memory is weights plus optimizer" is a misconception. Section 5.3 counts the activations.
# - (x) About 275 GB :: 2.87 GB in each of 96 layers, for one sequence. Section 5.3 counts them term by term.
# - ( ) 350 GB, always as much as the weights :: Weights do not depend on the batch; activations grow with it. That the two are of one size here is chance.

# %% [markdown] tags=["quiz"]
# **Predict first.** You store only every 8th activation of a 64-layer network and recompute the rest when they are needed. What does a training step cost now?
#
# - ( ) Twice as much :: Only the forward pass is repeated, and it is a third of the step: "backward costs the same as forward" is a misconception.
# - ( ) Half more :: That would be right if the backward pass cost the same as the forward pass. It costs twice as much (lesson 2).
# - (x) About a third more :: Forward 1, backward 2, and one more forward: 4 in place of 3. Section 5.4.
# - ( ) Eight times as much :: Each segment is recomputed once, not once for each of its layers.

# %% [markdown] tags=["quiz"]
# **Predict first.** Layer 1 of 64 runs first in the forward pass. When may its input be freed?
#
# - ( ) As soon as layer 2 has run :: So it is when you only predict. In training the gradient of layer 1's weights still needs it.
# - ( ) When the forward pass ends :: The loss does not need it any more, but the backward pass does.
# - (x) At the very end of the backward pass :: The backward pass meets layer 1 last. Section 5.1.

# %%
from backprop_course import memory
from backprop_course.figures.memory import (
    kept_over_time,
    memory_over_time,
    stored_against_segments,
)
from backprop_course.optional import optional

# %% [markdown]
# ## 5.1 What each operation keeps
#
# To send an adjoint back, an operation multiplies by its local slopes, and these need values from the forward pass. Lessons 1 to 3 say which:
#
# | operation | keeps for its backward | because |
# |---|---|---|
# | $Y = X W$ | $X$ | $dW = X^{\mathsf T} dY$ |
# | ReLU | one bit an entry (PyTorch: its output) | the slope is 0 or 1 |
# | GELU, SiLU | its input $z$ | the slope is a function of $z$ |
# | tanh, sigmoid | its output | the slope is $1 - y^2$, or $y(1-y)$ |
# | softmax | its output $p$ | the VJP is $p \odot (v - v^{\mathsf T} p)$ |
# | softmax with cross-entropy | $p$ | the gradient is $p - y$ |
# | dropout | its mask | the slope is 0 or $1/(1 - \text{rate})$ |
# | $Y = X_1 + X_2$ | nothing | both slopes are 1 |
#
# **By hand.** The worked example of lesson 3 had two examples, two inputs, two hidden units and two classes. It keeps $X$ (4 numbers, for $dW_1$), the mask of the ReLU (4 bits), $A_1$ (4 numbers, for $dW_2$) and $P$ (4 numbers): 12 numbers and 4 bits. The parameters are 8 numbers. Double the batch, and 8 stays 8, while 12 becomes 24.

# %% [markdown]
# **When.** Count the input and the layers' outputs as activations $0, 1, \dots, n$. They are made in this order, and used in the order $n, \dots, 1, 0$: the first one made is the last one used. So when the forward pass ends, **all of them are alive at once**. Memory grows with (depth) × (batch) × (width).
#
# In this lesson a *tape* does the counting. It runs a chain of layers that compute nothing, and notes what is kept:

# %%
tape = memory.keep_everything(6)
for event in tape.events:
    print(f"{event.what:5} layer {event.layer}: {len(event.kept)} activations alive")

# %% [markdown] tags=["quiz"]
# **Quick check.** Which of these needs *no* activation in memory for its backward?
#
# - ( ) A matrix product :: The gradient of the weights is $X^{\mathsf T} dY$: it needs $X$.
# - ( ) GELU :: Its slope is a function of $z$, and its output does not tell $z$: two different $z$ can give the same value.
# - (x) Adding two tensors :: Both slopes are 1, whatever the values. A residual connection keeps nothing.
# - ( ) Softmax :: Its VJP needs $p$.

# %% [markdown]
# ## 5.2 Counted
#
# PyTorch lets you watch what it saves, with *saved-tensor hooks*: a function of yours is called with each tensor that is put away for the backward pass. `memory.saved_numbers` adds up their sizes, each piece of memory once, parameters left out. First single operations, in numbers for each entry of the input:

# %%
if torch := optional("torch", "watching what PyTorch saves"):
    F = torch.nn.functional
    x = torch.ones(5, 4, requires_grad=True)
    operations = {"linear": torch.nn.Linear(4, 4), "ReLU": F.relu, "GELU": F.gelu}
    operations |= {"softmax": lambda z: F.softmax(z, dim=1), "addition": lambda z: z + z}
    for name, operation in operations.items():
        print(f"{name:9} {memory.saved_numbers(operation, x) / x.numel():g}")

# %% [markdown]
# Now the MLP of a GPT block: width $h$ to $4h$, GELU, back to $h$. For each token and unit of width it keeps the input of the first layer (1), the input of the GELU (4) and the input of the second layer (4): 9 numbers.
# With `checkpoint` around the block it keeps the block's input alone, and runs the block once more when its backward is due (section 5.4).

# %%
if torch:
    from torch.utils.checkpoint import checkpoint

    h, tokens = 64, 10
    up, down = torch.nn.Linear(h, 4 * h), torch.nn.Linear(4 * h, h)
    mlp = lambda x: down(F.gelu(up(x)))
    x = torch.ones(tokens, h)
    kept = memory.saved_numbers(mlp, x)
    less = memory.saved_numbers(lambda x: checkpoint(mlp, x, use_reentrant=False), x)
    print("plain:", kept / (tokens * h), "  checkpointed:", less / (tokens * h))

# %% [markdown] tags=["quiz"]
# **Quick check.** In the MLP $h \to 4h \to h$ you replace the GELU by a ReLU, in PyTorch. What is kept for each token and unit of width?
#
# - ( ) 9 as before :: The ReLU keeps its *output* in PyTorch, and that is the input of the second layer, which is kept already.
# - (x) 5 :: The input of the first layer (1), and one tensor of width $4h$ that serves the ReLU and the second layer.
# - ( ) 1 :: The second layer needs its input for $dW$, whatever the activation.

# %% [markdown]
# ## 5.3 A transformer layer
#
# Let $s$ be the sequence length, $b$ the batch, $h$ the width and $a$ the number of attention heads. One activation holds $sbh$ numbers, $2sbh$ bytes in 16 bit. Each head has a grid of $s \times s$ scores for each sequence: $as^2b$ numbers in all. A dropout mask takes one byte an entry. Walk through the layer and ask each operation what it keeps ([Korthikanti et al., arXiv:2205.05198](https://arxiv.org/abs/2205.05198), section 4.1):
#
# - **Two layer norms** keep their inputs: $2 + 2 = 4\,sbh$. (Their means and variances, one number a token, are left out.)
# - **Attention.** The products that make $Q$, $K$ and $V$ share one input: 2. The scores $Q K^{\mathsf T}$ keep $Q$ and $K$: 4. The softmax keeps its output, $2\,as^2b$; the dropout on it its mask, $as^2b$. The product with $V$ keeps its two factors: the scores after dropout, $2\,as^2b$, and $V$: 2. The output projection keeps its input: 2. The dropout that follows keeps its mask: 1. Together $11\,sbh + 5\,as^2b$.
# - **MLP.** The first linear layer keeps its input: 2. The GELU keeps its input, of width $4h$: 8. The second linear layer keeps its input, of width $4h$: 8. The dropout that follows keeps its mask: 1. Together $19\,sbh$.

# %%
s, b, h, a = 2048, 1, 12288, 96  # GPT-3, one sequence
terms = memory.gpt_layer_terms(s, b, h, a)
for what, size in terms.items():
    print(f"{size / (s * b * h):5.1f} sbh bytes   {what}")

# %% [markdown]
# $4 + 11 + 19 = 34$, and since $5\,as^2b = sbh \cdot 5as/h$, a layer keeps
#
# $$s\,b\,h \left( 34 + \frac{5\,a\,s}{h} \right) \text{ bytes}.$$

# %%
layer, scores = sum(terms.values()), 5 * a * s / h
print(f"5as/h = {scores:g}: the score grids are {scores / (34 + scores):.0%} of a layer")
print(f"a layer {layer / 1e9:.2f} GB, 96 layers {96 * layer / 1e9:.0f} GB")
print(f"in GPUs of 80 GB: {96 * layer / 80e9:.1f}")

# %% [markdown]
# **"Training memory is weights plus optimizer."** Compare. In mixed precision with the optimizer Adam, a parameter takes 16 bytes: 2 for the weight, 2 for its gradient, and 12 for the optimizer's 32-bit copy of the weight and its two averages ([Rajbhandari et al., arXiv:1910.02054](https://arxiv.org/abs/1910.02054)). That sum is large, but it is the same for every batch. The activations grow with the batch:

# %%
fixed = 16 * 175e9
print(f"weights {2 * 175e9 / 1e9:.0f} GB; with gradients and optimizer {fixed / 1e12:.1f} TB")
for batch in (1, 8, 32):
    print(f"{batch:2} sequences: activations {batch * 96 * layer / 1e12:.1f} TB")

# %% [markdown]
# From eleven sequences on, the activations are the larger part. The first thing that runs out when you raise the batch or the sequence length is the room for them.

# %% [markdown] tags=["quiz"]
# **Quick check.** The sequence length doubles. What happens to the memory of a GPT-3 layer?
#
# - ( ) It doubles :: The part $34\,sbh$ does. The grids of scores grow with $s^2$.
# - ( ) It grows fourfold :: The grids of scores do. The rest doubles.
# - (x) It grows by a factor of 3.4 :: $34 \cdot 2 + 80 \cdot 4 = 388$ against $34 + 80 = 114$.
# - ( ) It stays, only the batch matters :: Each token has its activations, and each pair of tokens its scores.

# %% [markdown]
# ## 5.4 Keep less, compute again
#
# *Checkpointing* keeps the input of a block and nothing inside it. When the backward pass arrives, the block runs forward once more, from that input, and now keeps what its backward needs. Nothing is approximated: the gradient is the same. (Dropout must draw the same mask again. PyTorch's `checkpoint` restores the random state for that.)
#
# **Full recomputation.** Each layer keeps its input alone, $2sbh$ bytes.

# %%
print(f"a layer {2 * s * b * h / 1e6:.0f} MB, 96 layers {96 * 2 * s * b * h / 1e9:.1f} GB")

# %% [markdown]
# From 275 GB to 4.8 GB; one layer's 2.87 GB come on top while its backward runs. And the price? Call the cost of a forward pass 1. **The backward pass does not cost 1 but 2**: each matrix product needs two in its backward, one for $dW$ and one for $dX$ (lesson 2). A step was $1 + 2 = 3$ and is now $1 + 1 + 2 = 4$: 33% more. In practice 30% to 40% were observed.
#
# **Selective recomputation.** Drop only what is large and cheap to compute again: the grids of scores, 70% of GPT-3's activations. How cheap? For one sequence, the products with weights take $24sh^2$ FLOPs forward ($6sh^2$ for $Q, K, V$, $2sh^2$ for the projection, $16sh^2$ in the MLP). The two products with a grid of scores, $Q K^{\mathsf T}$ and the one with $V$, take $2s^2h$ each. Only these run again.

# %%
again = 4 * s**2 * h
forward = 24 * s * h**2 + again
print(
    f"computed again: {again / forward:.1%} of a forward pass, {again / (3 * forward):.1%} of a step"
)
print(f"54.2% in place of 42.1%: {54.2 / 42.1 - 1:.0%} faster")

# %% [markdown]
# The paper counts these 2.7%. On a model of 530 billion parameters and 2,240 A100 GPUs, selective in place of full recomputation (together with splitting activations over GPUs along the sequence) raised the share of the hardware's peak that training reached from 42.1% to 54.2%: 29% faster.
#
# *FlashAttention* goes further. It never stores the grid: forward and backward compute it in blocks that fit into the fast memory on the chip ([Dao et al., arXiv:2205.14135](https://arxiv.org/abs/2205.14135)).

# %% [markdown] tags=["quiz"]
# **Quick check.** Why not recompute the MLP's activations ($19\,sbh$) in place of the grids of scores?
#
# - (x) They are smaller and cost more to make :: $19$ against $80$ (in units of $sbh$ bytes), and $16sh^2$ FLOPs against $4s^2h$: for GPT-3 24 times as many.
# - ( ) They cannot be recomputed :: Everything can, from the block's input.
# - ( ) Their gradient would change :: Recomputation gives the same numbers, whichever part is dropped.

# %% [markdown]
# ## 5.5 How many checkpoints?
#
# Take $n$ equal layers, cut the chain into $s$ segments of $n/s$ layers (from here on $s$ counts segments), and keep the input of each segment. While one segment is gone back over, its $n/s$ activations are there too. So at the worst moment about
#
# $$M(s) = s + \frac{n}{s}$$
#
# activations are alive. Few segments are long, many segments have many inputs; in between there is a best number. $M'(s) = 1 - n/s^2$ is 0 at $s = \sqrt n$, where $M = 2\sqrt n$, and $M''(s) = 2n/s^3 > 0$: a minimum. (Without calculus: $(\sqrt s - \sqrt{n/s})^2 \ge 0$ says $s + n/s \ge 2\sqrt n$, with equality where $s = n/s$.)
#
# This is the $\sqrt n$ rule of [Chen et al., arXiv:1604.06174](https://arxiv.org/abs/1604.06174): memory of order $\sqrt n$ for one more forward pass. The tape agrees, whenever $s$ divides $n$:

# %%
print("segments  s + n/s  peak on the tape  forward calls")
for segments in (1, 2, 4, 8, 16, 32, 64):
    tape = memory.every_segment(64, segments)
    print(f"{segments:8}{segments + 64 // segments:9}{tape.peak:18}{tape.calls:15}")

# %% [markdown] tags=["quiz"]
# **Quick check.** About how many activations does the $\sqrt n$ rule store for 64 layers?
#
# - ( ) 8 :: These are the inputs of the segments. One segment's own activations come on top.
# - ( ) 32 :: Half of 64 is about what two segments store.
# - (x) 16 :: $2 \sqrt{64}$: 8 inputs of segments, and 8 activations inside one segment.
# - ( ) 64 :: That is without checkpointing.

# %% [markdown]
# **Recursion.** Inside a segment the same problem comes up again, only smaller. So checkpoint inside it, too. Cut in halves:
#
# 1. From the input run to the middle, keep nothing on the way, and keep the middle.
# 2. Go back over the right half, in this same way. Then drop the middle.
# 3. Go back over the left half, in this same way.
#
# *Memory.* While the right half is at work, one checkpoint more is kept: $M(n) = 1 + M(\tfrac n2)$, and $M(1) = 2$, a layer's input and output. For $n = 2^k$ this is $M = \log_2 n + 2$.
#
# *Computation.* Step 1 runs $n/2$ layers, and two halves remain: $T(n) = \tfrac n2 + 2\,T(\tfrac n2)$, with $T(1) = 1$. Each of the $\log_2 n$ levels of halving costs $n/2$ in all, and at the bottom each layer runs once: $T(n) = \tfrac n2 \log_2 n + n$.
#
# So recursion needs $O(\log n)$ memory for $O(n \log n)$ computation.

# %%
for n in (16, 64, 256):
    root, half = memory.sqrt_schedule(n), memory.recursive(n)
    print(f"n = {n:3}   √n: {root.calls:4} calls, peak {root.peak:2}", end="")
    print(f"   halving: {half.calls:4} calls, peak {half.peak:2}")

# %% [markdown]
# **The best schedule.** Is halving the best cut? Suppose there are $c$ slots for checkpoints, and the input of the chain takes one. What is the least number of forward calls? Griewank and Walther answered it
# ([ACM TOMS 26, 2000, doi:10.1145/347837.347846](https://doi.org/10.1145/347837.347846)). Let $t(n, c)$ count the calls beyond the one that each layer needs just before its backward step. Run $k$ layers and put a checkpoint there: $k$ calls. Go back over the right part, $n - k$ layers, with one slot less; then over the left part, $k$ layers, with all slots. Choose the best $k$:
#
# $$t(n, c) = \min_{1 \le k < n} \big( k + t(n - k, c - 1) + t(k, c) \big), \qquad t(1, c) = 0, \qquad t(n, 1) = \tfrac{n (n - 1)}{2}.$$
#
# With a single slot every layer starts from the input again: $(n-1) + (n-2) + \dots + 0$ calls. Their program is called *revolve*. Here it runs on the tape:

# %%
for slots in (1, 2, 3, 4, 8, 16):
    tape = memory.revolve(16, slots)
    print(
        f"slots {slots:2}: {tape.calls:3} forward calls, n + t = {16 + memory.fewest_steps(16, slots)}"
    )

# %%
kept_over_time(memory.revolve(16, 3), "revolve: 16 layers, 3 slots")

# %% [markdown]
# Read it from left to right. Each row is one activation, each column one step, and a shaded cell is kept. The first sweep leaves checkpoints 6 and 12. The work stays at the top until checkpoint 12 is used up, then its slot moves down to 9, and so on. The cuts are not halves.
#
# How far does this go? With $c$ slots, and no layer run more than $r$ extra times, the longest chain has $\binom{c + r}{c}$ layers: ten slots and three repeats reach 286 layers.
#
# All schedules side by side, activations alive over time:

# %%
memory_over_time(16)

# %% [markdown] tags=["quiz"]
# **Quick check.** A chain of 1024 layers, by halving. How many activations are alive at the worst moment?
#
# - ( ) 32 :: That is $\sqrt{1024}$, the number of segments in the $\sqrt n$ rule.
# - (x) 12 :: $\log_2 1024 + 2$: a checkpoint for each level of halving, and the two ends of one layer.
# - ( ) 512 :: The middle is activation 512, but the ones before it are not kept.

# %% [markdown]
# ## 5.6 checkpoint_sequential counted
#
# PyTorch's `checkpoint_sequential` cuts a chain into segments. Two details decide its numbers:
#
# - Each segment but the last has $\lfloor n/s \rfloor$ layers; the last takes what is left.
# - **The last segment is not checkpointed.** Its activations are needed at once, so dropping them would save nothing. It keeps its input and all its outputs.
#
# Take 16 layers, each a linear map and a ReLU, in 4 segments. By hand: the first 3 segments keep an input each. The last has 4 layers and keeps 5 activations, its own input included. $3 + 5 = 8$ are stored. The backward pass runs 12 layers again: $16 + 12 = 28$ calls. The tape:

# %%
print("segments  calls  stored  peak")
for segments in (1, 2, 4, 8, 16):
    tape = memory.sequential(16, segments)
    print(f"{segments:8}{tape.calls:7}{tape.stored:8}{tape.peak:6}")

# %% [markdown]
# *Calls* are forward calls of layers, recomputation included. *Stored* are the distinct activations alive when the forward pass ends, the network's input and the last output included; a ReLU's output is also the next layer's input, and counts once. *Peak* is the most that are alive at any time.
#
# Peak equals stored here. The last segment holds its activations when the forward pass ends; each other segment is no longer than it, and by the time it runs again the last one's activations are gone. (If the last segment were checkpointed too, only $s + 1$ activations would be stored at the end of the forward pass, and the peak $s + n/s$ would come later, in the backward pass. Look at the peak, not at what is stored.) One gradient, on its way back, comes on top.
#
# And what happens when $s$ does not divide $n$?

# %%
stored_against_segments(64)

# %% [markdown]
# The curve touches $s + n/s$ where $s$ divides 64 and lies above it elsewhere, since the last segment takes the rest. The best is 8 segments: 7 inputs and 9 activations of the last segment, 16 stored, and $64 + 56 = 120$ calls.

# %%
tape = memory.sequential(64, 8)
print("64 layers, 8 segments:", tape.calls, "calls,", tape.stored, "stored")

# %% [markdown] tags=["quiz"]
# **Quick check.** `checkpoint_sequential` runs 64 layers in 40 segments. What does it save?
#
# - ( ) A third of the memory :: That would need segments of one and a half layers. $\lfloor 64/40 \rfloor = 1$.
# - (x) Nothing, and it runs 39 layers again :: 39 segments of one layer keep 39 inputs, the last has 25 layers and keeps 26 activations: 65, as many as without.
# - ( ) The most of all, more segments are better :: More segments have more inputs to keep. The curve rises from 8 on.

# %% [markdown]
# ### Your turn
#
# Which number of segments stores least for 64 layers? Search with `memory.sequential(64, segments).stored`, and compare with what you would have said.

# %% tags=["turn"]
### BEGIN SOLUTION
### STUB segments = ...
segments = min(range(1, 65), key=lambda s: memory.sequential(64, s).stored)
### END SOLUTION

# %%
from backprop_course.checks.turns import check_best_segments

check_best_segments(segments)

# %% [markdown]
# ## 5.7 Measured
#
# Do the counts hold in a real process? `measured_peak` starts a fresh process, runs one training step in PyTorch, and returns by how much the peak of its memory grew (on a GPU, by CUDA's own count). A tiny step runs first, since PyTorch's first checkpoint imports modules that would be measured too.
#
# A chain of 64 tanh layers whose outputs take 4 MiB each. On the tape 1, 2, 4, 8, 16 and 64 segments peak at 65, 34, 20, 16, 20 and 65 activations; with one gradient on top that makes 264, 140, 84, 68, 84 and 264 MiB. Where this was written, the measured peaks agreed within 1 MiB. Two of them here (each process takes seconds to import PyTorch; add the others if you like):

# %% tags=["volatile"]
if memory.can_measure():
    for segments in (1, 8):
        counted = 4 * (memory.sequential(64, segments).stored + 1)
        mib = memory.measured_peak(64, 1024, 1024, segments=segments, linear=False)
        print(f"{segments:2} segments: measured {mib:4.0f} MiB, counted {counted} MiB")

# %% [markdown]
# Now a 10-layer MLP of width 512. Its 11 activations take 22, 44 and 88 MiB at a batch of 1024, 2048 and 4096. The measured peaks grow in a straight line with the batch; without gradients (`no_grad`) two or three activations are alive at a time, however deep the network is.
#
# Two things to try. Set the width to 4096 and the batch to 64, 256 and 1024, if you have 2 GB to spare: then ten gradients of weights, 64 MiB each, outweigh the activations, and they fill the room that activations leave while the backward pass runs. Or set 20 layers in place of 10.

# %% tags=["volatile"]
if memory.can_measure():
    for batch in (1024, 2048, 4096):
        print(f"batch {batch}: {memory.measured_peak(10, 512, batch):3.0f} MiB")
    print(f"batch {batch}, no_grad: {memory.measured_peak(10, 512, batch, grad=False):3.0f} MiB")

# %% [markdown]
# **The mistake: the whole data set in one graph.** If you add up the losses of all batches and call `backward()` once, the activations of *every* batch stay alive until then. Send each batch back on its own, and let the gradients add up: the sum is the same, by linearity.

# %%
if torch:
    layers = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    batches = [torch.full((4, 8), float(i)) for i in range(50)]
    one = memory.saved_numbers(lambda x: layers(x).sum(), batches[0])
    every = memory.saved_numbers(lambda *xs: sum(layers(x).sum() for x in xs), *batches)
    print("kept for one batch:", one, "  for 50 batches in one graph:", every)

# %% [markdown] tags=["quiz"]
# **Quick check.** You only want predictions, not gradients. How does the memory of a deep network grow with its depth?
#
# - ( ) In proportion to the depth :: So it is in training. Without a backward pass an activation is free as soon as the next layer has run.
# - (x) Weights aside, not at all :: Under `no_grad` only the activations at work are alive.
# - ( ) With the root of the depth :: That is training with the $\sqrt n$ rule.

# %% [markdown]
# ## 5.8 Your predictions, and a recap
#
# GPT-3's activations for one sequence take 275 GB. Checkpointing costs a third more, not twice as much. And the first layer's input is freed last. Were you right?
#
# 1. A backward pass needs forward values; all of them are alive when the forward pass ends.
# 2. What is kept depends on the operation: a linear layer its input, ReLU a bit, GELU its input.
# 3. A GPT layer keeps $sbh(34 + 5as/h)$ bytes; the grids of scores grow with the square of the sequence.
# 4. Checkpointing keeps inputs of segments and runs the rest again: 4 forwards' worth in place of 3.
# 5. $\sqrt n$ segments need about $2\sqrt n$; halving $\log_2 n + 2$; revolve is the best for a given number of slots.
# 6. `checkpoint_sequential` does not checkpoint its last segment.

# %% [markdown] tags=["cards"]
# ## 5.9 Recall cards
#
# - Why are all activations alive at the end of the forward pass? :: They are made in order 1..n and used in order n..1; the first one made is used last.
# - What does a linear layer keep, a ReLU, a GELU? :: Its input; one bit an entry; its input z.
# - How many bytes does a GPT layer keep in 16 bit? :: s b h (34 + 5 a s / h).
# - What does checkpointing trade? :: Memory for one more forward pass: about 33% more computation.
# - How many segments are best for n equal layers, and what do they store? :: About √n, storing about 2√n activations.
# - Which segment does checkpoint_sequential not checkpoint, and why? :: The last: its activations are needed at once.
# - Where does the memory of a training step go? :: Weights, gradients and optimizer, the same for every batch; and activations, which grow with batch, depth, width, and for scores with the square of the sequence.

# %% [markdown]
# **Now you:** the exercise [checkpoint_counts](exercises/checkpoint_counts.ipynb), then [lesson 6](06_tiny_autograd.ipynb).
