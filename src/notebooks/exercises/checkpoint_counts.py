# %% [markdown]
# # Exercise: `checkpoint_counts`
#
# You predict what checkpointing costs, and what it saves, before you run anything. Allow 20 minutes. It needs lesson 05.
#
# | what is checked | points |
# |---|---|
# | the table for 16 layers | 1 |
# | one segment | 1 |
# | one layer a segment | 1 |
# | uneven splits | 1 |
# | random numbers of layers and segments, up to 200 | 1 |
# | bad arguments are refused | 1 |
#
# The grader runs the same checks as this notebook, with other random numbers.

# %% [markdown]
# ## What `checkpoint_sequential` does
#
# A network is a chain of $n$ layers, each a linear map and a ReLU. PyTorch's `torch.utils.checkpoint.checkpoint_sequential` cuts it into
# $s$ segments.
#
# - **How it cuts.** Each segment but the last has $\lfloor n / s \rfloor$ layers. The last takes all layers that are left.
# - **Forward.** Each segment but the last keeps its input and nothing else. The last runs as usual: it keeps its input and the output of each of its layers.
# - **Backward.** The last segment has all it needs. Each of the others first runs forward once more, from the input it kept.
#
# An activation tensor that two layers share, as the output of one and the input of the next, counts once.

# %% [markdown]
# ## Your function
#
# `checkpoint_counts(n_layers, segments)` returns the tuple `(forward_calls, stored_activations)` of integers:
#
# - `forward_calls`: how often a layer runs forward in a training step, forward pass and recomputation together;
# - `stored_activations`: how many activation tensors are kept when the forward pass ends, the network's input included.
#
# Both arguments are integers. Unless `1 <= segments <= n_layers`, it raises a `ValueError`.

# %% [markdown]
# ## A worked example
#
# Six layers in three segments: two layers each. Call the activations $a_0$ (the input) to $a_6$.
#
# - Forward: 6 calls. Segment 1 keeps $a_0$, segment 2 keeps $a_2$, the last keeps $a_4, a_5, a_6$: 5 stored.
# - Backward: segment 2 runs its 2 layers again, then segment 1 its 2: 4 more calls, 10 in all.
#
# So `checkpoint_counts(6, 3)` is `(10, 5)`. And for 16 layers:
#
# | segments | forward calls | stored activations |
# |---|---|---|
# | 1 | 16 | 17 |
# | 2 | 24 | 10 |
# | 4 | 28 | 8 |
# | 8 | 30 | 10 |
# | 16 | 31 | 17 |

# %% solution="checkpoint_counts"
def checkpoint_counts(n_layers, segments):
    """n_layers, segments -> (forward calls, stored activations); ValueError for bad arguments."""
    ### BEGIN SOLUTION
    if not 1 <= segments <= n_layers:
        raise ValueError(f"need 1 <= segments <= n_layers, got {segments} and {n_layers}")
    again = (n_layers // segments) * (segments - 1)  # layers in all segments but the last
    last = n_layers - again
    return n_layers + again, (segments - 1) + (last + 1)
    ### END SOLUTION


# %% check="checkpoint_counts-table" points=1
from backprop_course.checks.checkpoint_counts import check_table

check_table(checkpoint_counts)

# %% check="checkpoint_counts-one-segment" points=1
from backprop_course.checks.checkpoint_counts import check_one_segment

check_one_segment(checkpoint_counts)

# %% check="checkpoint_counts-one-layer-a-segment" points=1
from backprop_course.checks.checkpoint_counts import check_one_layer_a_segment

check_one_layer_a_segment(checkpoint_counts)

# %% [markdown]
# Now the splits that do not come out even: 7 layers in 2 segments are 3 and 4.

# %% check="checkpoint_counts-uneven" points=1
from backprop_course.checks.checkpoint_counts import check_uneven

check_uneven(checkpoint_counts)

# %% check="checkpoint_counts-random" points=1
from backprop_course.checks.checkpoint_counts import check_random

check_random(checkpoint_counts)

# %% check="checkpoint_counts-bad-arguments" points=1
from backprop_course.checks.checkpoint_counts import check_bad_arguments

check_bad_arguments(checkpoint_counts)

# %% [markdown]
# ## Use it
#
# Which number of segments stores least for 64 layers, and what does it cost in forward calls? Try them all in a cell of your own. The answer is near $\sqrt{64}$.
