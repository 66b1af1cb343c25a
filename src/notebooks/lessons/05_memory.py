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
# - ( ) About 350 GB, as much as the weights, always :: Weights do not depend on the batch; activations grow with it. That the two are of one size here is chance.

# %% [markdown] tags=["quiz"]
# **Predict first.** You store only every 8th activation of a 64-layer network and recompute the rest when they are needed. What does a training step cost now?
#
# - ( ) Twice as much :: Only the forward pass is repeated, and the backward pass costs twice as much as the forward.
# - (x) About a third more :: Forward 1, backward 2, and one more forward: 4 in place of 3. Section 5.4.
# - ( ) Eight times as much :: Each segment is recomputed once, not once for each of its layers.

# %%
from backprop_course import memory
from backprop_course.figures.memory import memory_over_time, stored_against_segments
from backprop_course.optional import optional

# %% [markdown]
# ## 5.1 What each operation keeps
#
# To send an adjoint back, an operation needs its local slopes, and these need values from the forward pass. Lessons 1 to 3 say which:
#
# | operation | keeps for its backward | because |
# |---|---|---|
# | $Y = X W$ | $X$ | $dW = X^{\mathsf T} dY$ |
# | ReLU | one bit an entry (PyTorch: its output) | the slope is 0 or 1 |
# | GELU, SiLU | its input $z$ | the slope needs $z$ |
# | softmax | its output $p$ | $p \odot (v - v^{\mathsf T} p)$ |
# | softmax with cross-entropy | $p$ | $p - y$ |
# | dropout | its mask | the slope is 0 or $1/(1 - \text{rate})$ |
#
# These values are made in the order $1, 2, \dots, n$ and used in the order $n, \dots, 2, 1$. The first one made is the last one used. So when the forward pass ends, **all of them are alive at once**: memory of order (depth) × (batch) × (width).

# %%
tape = memory.keep_everything(6)
for what, layer, live in tape.events:
    print(f"{what:5} layer {layer}: {live} activations alive")

# %% [markdown] tags=["quiz"]
# **Quick check.** Which of these needs *no* activation in memory for its backward?
#
# - (x) Adding two tensors :: Both slopes are 1, whatever the values.
# - ( ) A matrix product :: The gradient of the weights is $X^{\mathsf T} dY$: it needs $X$.
# - ( ) GELU :: Its slope depends on $z$, and its output does not tell $z$.
# - ( ) Softmax :: Its VJP needs $p$.

# %% [markdown]
# ## 5.2 Counted
#
# PyTorch lets you watch what it saves, with *saved-tensor hooks*. Take the MLP of a GPT block: width $h$ to $4h$, GELU, back to $h$. In numbers for each token and unit of width it keeps the input of the first layer (1), the input of the GELU (4) and the input of the second layer (4): 9.
# With `checkpoint` around the block it keeps the block's input only.

# %%
if torch := optional("torch", "watching what PyTorch saves"):
    from torch.utils.checkpoint import checkpoint

    h, tokens = 64, 10
    up, down = torch.nn.Linear(h, 4 * h), torch.nn.Linear(4 * h, h)
    x = torch.ones(tokens, h)
    mlp = lambda x: down(torch.nn.functional.gelu(up(x)))
    kept = memory.saved_numbers(mlp, x)
    less = memory.saved_numbers(lambda x: checkpoint(mlp, x, use_reentrant=False), x)
    print(
        "kept per token and unit of width:",
        kept / (tokens * h),
        " with checkpoint:",
        less / (tokens * h),
    )

# %% [markdown]
# ## 5.3 A transformer layer
#
# Let $s$ be the sequence length, $b$ the batch, $h$ the width and $a$ the number of attention heads. One activation has $sbh$ numbers, that is $2sbh$ bytes in 16 bit. Each head has a grid of $s \times s$ scores for each sequence: $a s^2 b$ numbers in all. A dropout mask takes one byte an entry.
# Go through a layer and add up what it keeps ([Korthikanti et al., arXiv:2205.05198](https://arxiv.org/abs/2205.05198)):

# %%
s, b, h, a = 2048, 1, 12288, 96  # GPT-3
terms = memory.gpt_layer_terms(s, b, h, a)
for what, size in terms.items():
    print(f"{size / (s * b * h):5.1f} sbh bytes   {what}")

# %% [markdown]
# The terms that do not depend on $s/h$ add up to 34. The three grids of scores take $5 a s^2 b$ bytes, that is $sbh \cdot 5as/h$. Together a layer keeps
#
# $$s\,b\,h \left( 34 + \frac{5\,a\,s}{h} \right) \text{ bytes}.$$
#
# For GPT-3, $5as/h = 80$: the grids of scores are 70% of it.

# %%
layer = sum(terms.values())
scores = 5 * a * s / h
mlp = sum(size for what, size in terms.items() if "MLP" in what)
print(f"5as/h = {scores:g}, its share {scores / (34 + scores):.0%}")
print(f"MLP with its dropout: {mlp / (s * b * h):g} sbh")
print(
    f"a layer {layer / 1e9:.2f} GB, 96 layers {96 * layer / 1e9:.0f} GB, weights {175e9 * 2 / 1e9:.0f} GB"
)

# %% [markdown]
# One sequence fills three and a half GPUs of 80 GB, before a single weight is stored. This is why long contexts are expensive to train on: the grid of scores grows with $s^2$.

# %% [markdown] tags=["quiz"]
# **Quick check.** The sequence length doubles. What happens to the memory of a GPT-3 layer?
#
# - ( ) It doubles :: The part $34\,sbh$ does. The grids of scores grow with $s^2$.
# - (x) It grows by more than three :: $34 \cdot 2 + 80 \cdot 4 = 388$ against $34 + 80 = 114$: a factor of 3.4.
# - ( ) It stays, only the batch matters :: Each token has its activations, and each pair of tokens its scores.

# %% [markdown]
# ## 5.4 Keep less, compute again
#
# *Checkpointing* keeps the input of a block and nothing inside it. When the backward pass arrives, the block runs forward once more, from that input.
#
# **Full recomputation.** Each layer keeps its input alone, $2sbh$ bytes. A step costs a forward pass, another one, and a backward pass of twice the size: 4 in place of 3, that is 33% more. In practice 30% to 40% were measured.

# %%
print(
    f"a layer {2 * s * b * h / 1e6:.0f} MB, 96 layers {96 * 2 * s * b * h / 1e9:.1f} GB, cost {4 / 3 - 1:.0%} more"
)

# %% [markdown]
# **Selective recomputation.** Drop only what is large and cheap to compute again: the grids of scores. For GPT-3 this frees 70% of the activations for 2.7% more FLOPs. On a model of 530 billion parameters and 2,240 A100 GPUs it raised the share of the hardware's peak
# that training reached from 42.1% to 54.2%, 29% faster (same paper). *FlashAttention* goes further and never stores the grid: it computes it in blocks, forward and backward
# ([Dao et al., arXiv:2205.14135](https://arxiv.org/abs/2205.14135)).

# %%
print(f"29% faster: {54.2 / 42.1 - 1:.0%}")

# %% [markdown]
# ## 5.5 How many checkpoints?
#
# Take $n$ equal layers and cut the chain into $s$ segments of $n/s$ layers. Keep the $s$ inputs of the segments; while one segment is gone back over, its $n/s$ activations are there too. So about
#
# $$M(s) = s + \frac{n}{s}$$
#
# activations are stored. $M'(s) = 1 - n/s^2$ is 0 at $s = \sqrt n$, where $M = 2\sqrt n$. (Or: the product of the two terms is $n$, and for a fixed product the sum is least when they are equal.) This is the $\sqrt n$ rule of
# [Chen et al., arXiv:1604.06174](https://arxiv.org/abs/1604.06174): memory of order $\sqrt n$ for one more forward pass.
#
# **Recursion.** Why not checkpoint inside the segments? Keep the middle, go back over the right half in the same way, then over the left half. At any time one checkpoint is kept for each level of halving: $O(\log n)$ activations. Each level runs at most $n$ layers forward: $O(n \log n)$ steps.

# %%
for n in (16, 64, 256):
    root, half = memory.sqrt_schedule(n), memory.recursive(n)
    print(
        f"n = {n:3}: √n {root.calls:4} steps, {root.stored:2} kept   halving {half.calls:4} steps, {half.peak:2} kept"
    )

# %% [markdown]
# **The best schedule.** Given $c$ slots for activations, what is the least number of forward steps? Griewank and Walther solved it
# ([ACM TOMS 26, 2000, doi:10.1145/347837.347846](https://doi.org/10.1145/347837.347846)). Advance $k$ layers and keep a checkpoint there; go back over the right part with one slot less, then over the left part with all. With $t(n, c)$ for the steps beyond the layers' own,
#
# $$t(n, c) = \min_{1 \le k < n} \left( k + t(n - k, c - 1) + t(k, c) \right), \qquad t(1, c) = 0, \qquad t(n, 1) = \tfrac{n (n - 1)}{2}.$$
#
# Their program is called *revolve*. Here it is on the tape:

# %%
for slots in (1, 2, 3, 4, 8):
    tape = memory.revolve(16, slots)
    print(
        f"{slots} slots: {tape.calls:3} forward steps, formula {16 + memory.fewest_steps(16, slots):3}"
    )

# %%
memory_over_time(16)

# %% [markdown]
# ## 5.6 checkpoint_sequential counted
#
# PyTorch's `checkpoint_sequential` cuts a chain into segments. Two details decide its numbers:
#
# - Each segment but the last has $\lfloor n/s \rfloor$ layers; the last takes what is left.
# - **The last segment is not checkpointed.** Its activations are needed at once, so dropping them would save nothing. It keeps its input and all its outputs.
#
# Sixteen layers, each a linear map and a ReLU, run on a tape that only counts:

# %%
print("segments  calls  stored")
for segments in (1, 2, 4, 8, 16):
    tape = memory.sequential(16, segments)
    print(f"{segments:8}{tape.calls:7}{tape.stored:8}")

# %% [markdown]
# *Calls* are forward calls of layers, the recomputation included. *Stored* are the distinct activations alive when the forward pass ends, the network's input included. Check the row of 4 by hand: 3 segments keep an input each; the last has 4 layers and keeps 5 activations; $3 + 5 = 8$. And $16 + 12 = 28$ calls.

# %%
stored_against_segments(64)

# %% [markdown]
# ### Your turn
#
# Which number of segments stores least for 64 layers? Read it off the picture, or search with `memory.sequential(64, segments).stored`.

# %% tags=["turn"]
### BEGIN SOLUTION
### STUB segments = ...
segments = min(range(1, 65), key=lambda s: memory.sequential(64, s).stored)
### END SOLUTION

# %%
from backprop_course.checks.turns import check_best_segments

check_best_segments(segments)

# %% [markdown] tags=["quiz"]
# **Quick check.** About how many activations does the $\sqrt n$ rule store for 64 layers?
#
# - ( ) 8 :: These are the inputs of the segments. One segment's own activations come on top.
# - (x) 16 :: $2 \sqrt{64}$: 8 inputs of segments, and 8 activations inside one segment.
# - ( ) 32 :: Half of 64 is what two segments would store.
# - ( ) 64 :: That is without checkpointing.

# %% [markdown]
# ## 5.7 Measured
#
# Do the counts hold in a real process? The next cell starts fresh processes, each runs a chain in PyTorch, and the growth of its peak memory is printed. First a chain of 64 tanh layers whose outputs take 4 MiB each. On the tape: 65, 16 and 65 activations; with one gradient on top that is
# 264, 68 and 264 MiB, and this is what was measured where this was written, within 1 MiB.

# %% tags=["volatile"]
if optional("torch", "measuring a real run"):
    for segments in (1, 8, 64):
        expected = 4 * (memory.sequential(64, segments).stored + 1)
        mib = memory.measured_peak(64, 1024, 1024, segments=segments, linear=False)
        print(f"{segments:2} segments: measured {mib:4.0f} MiB, counted {expected} MiB")

# %% [markdown]
# Now a 10-layer MLP of width 1024. Weights and their gradients take the same memory whatever the batch is; the activations grow with it in a straight line. Without gradients hardly anything is kept. To see it larger, set the width to 4096: the activations of a batch of 1024 then take 16 MiB a layer.

# %% tags=["volatile"]
if optional("torch", "measuring a real run"):
    for batch in (64, 1024):
        mib = [memory.measured_peak(10, 1024, batch, grad=grad) for grad in (True, False)]
        print(f"batch {batch:4}: training {mib[0]:3.0f} MiB, no_grad {mib[1]:3.0f} MiB")

# %% [markdown]
# **The whole data set in one graph** is the mistake that this growth punishes: a loss that is summed over all batches before `backward()` keeps every batch's activations alive. Send each batch back on its own, and add up the gradients.

# %%
batches, per_batch = 50, memory.keep_everything(10).peak
print("one graph over all batches:", batches * per_batch, "activations alive")
print("backward after each batch: ", per_batch)

# %% [markdown]
# ## 5.8 Your predictions, and a recap
#
# You predicted 275 GB, and a third more? Then you know what limits training.
#
# 1. A backward pass needs forward values; all of them are alive when the forward pass ends.
# 2. What is kept depends on the operation: ReLU a bit, GELU its input, a linear layer its input.
# 3. A GPT layer keeps $sbh(34 + 5as/h)$ bytes; the grids of scores grow with $s^2$.
# 4. Checkpointing keeps inputs of segments and runs them again: 4 forwards' worth in place of 3.
# 5. $\sqrt n$ segments store about $2\sqrt n$; recursion $O(\log n)$; revolve is the best for a given number of slots.
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

# %% [markdown]
# **Now you:** the exercise [checkpoint_counts](exercises/checkpoint_counts.ipynb), then [lesson 6](06_tiny_autograd.ipynb).
