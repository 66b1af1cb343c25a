"""What the backward pass keeps: counted in PyTorch, and added up for a transformer layer."""

from ..optional import require


def saved_numbers(function, *inputs):
    """function(*tensors) -> how many numbers autograd saves for its backward, each storage once.

    Parameters, and views of them, are there anyway and are not counted. The tensors share one dtype.
    """
    torch = require("torch", "counting saved tensors")
    seen = {}

    def pack(tensor):
        owner = tensor if tensor._base is None else tensor._base
        if not isinstance(owner, torch.nn.Parameter):
            seen[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = function(*inputs)  # held: memory freed in between could be counted twice
    del result
    return sum(seen.values()) // inputs[0].element_size()


def gpt_layer_terms(s, b, h, a):
    """Sequence s, batch b, width h, heads a -> bytes kept by one GPT layer, by what keeps them.

    16-bit activations, dropout masks of one byte. The sum is s b h (34 + 5 a s / h).
    Korthikanti et al., arXiv 2205.05198, section 4.1.
    """
    full, scores = s * b * h, a * s * s * b  # numbers in an activation, in all heads' score grids
    return {
        "layer norms: their two inputs": 4 * full,
        "Q, K, V: their shared input": 2 * full,
        "Q and K, for the scores": 4 * full,
        "softmax: its output": 2 * scores,
        "dropout on the scores: its mask": scores,
        "dropout on the scores: its output": 2 * scores,
        "V, for the weighted sum": 2 * full,
        "output projection: its input": 2 * full,
        "dropout after attention: its mask": full,
        "MLP: input of the first linear layer": 2 * full,
        "MLP: input of the GELU": 8 * full,
        "MLP: input of the second linear layer": 8 * full,
        "MLP: mask of the dropout after it": full,
    }
