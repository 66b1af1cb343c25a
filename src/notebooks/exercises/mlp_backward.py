# %% [markdown]
# # Exercise: `mlp_backward`
#
# You write the backward pass of a two-layer network, in matrix form. It is the algorithm that trains every network;
# here it is about ten lines of NumPy. Allow 45 minutes. It needs lessons 01–03.
#
# | what is checked | points |
# |---|---|
# | shapes and dtypes of the four gradients | 1 |
# | the worked example below | 2 |
# | random batches of several sizes, with hard and soft labels | 3 |
# | logits of ±1000 | 1 |
# | the inputs stay as they were | 1 |
# | matrix form: no loop over examples, no autograd | 2 |
#
# The grader runs the same checks as this notebook, with other random numbers.

# %% [markdown]
# ## The network
#
# A batch of $B$ examples passes through two layers. Each row of a matrix is one example.
#
# | symbol | shape | what it is |
# |---|---|---|
# | `X` | `(B, n)` | the inputs |
# | `Y` | `(B, K)` | the targets: row $i$ is a distribution over $K$ classes, so it sums to 1. One-hot or smoothed |
# | `W1`, `b1` | `(n, m)`, `(m,)` | weights and biases of the hidden layer |
# | `W2`, `b2` | `(m, K)`, `(K,)` | weights and biases of the output layer |
#
# All are float64. The forward pass is
#
# $$Z_1 = X W_1 + b_1, \qquad A_1 = \max(Z_1, 0), \qquad Z_2 = A_1 W_2 + b_2, \qquad P = \text{softmax of each row of } Z_2,$$
#
# where a bias is added to every row. The loss is the mean cross-entropy over the batch,
#
# $$\mathcal{L} = -\frac{1}{B} \sum_{i=1}^{B} \sum_{k=1}^{K} Y_{ik} \log P_{ik}.$$

# %% [markdown]
# ## Your function
#
# `mlp_backward(X, Y, W1, b1, W2, b2)` returns the tuple `(dW1, db1, dW2, db2)`: the gradients of $\mathcal{L}$ with respect to
# the four parameters. `dW1` stands for $\partial\mathcal{L}/\partial W_1$, and so on.
#
# - Each gradient has the shape and the dtype of its parameter.
# - The slope of the ReLU at exactly 0 counts as 0.
# - Logits may reach ±1000: nothing may overflow. (Subtracting the largest logit of each row changes no probability.)
# - The six arguments are not changed.
# - Matrix form: whole-array operations, no loop over examples, and no autograd library.

# %% [markdown]
# ## A worked example
#
# Redo this on paper before you write code. There are two examples, two inputs, two hidden units and two classes, and no biases.
#
# $$X = \begin{pmatrix} 1 & -1 \\ -1 & 0 \end{pmatrix}, \quad W_1 = \begin{pmatrix} 1 & 2 \\ -1 & 1 \end{pmatrix}, \quad
# W_2 = \begin{pmatrix} 1 & -1 \\ -2 & 2 \end{pmatrix}, \quad Y = \begin{pmatrix} 1 & 0 \\ 0 & 1 \end{pmatrix}$$
#
# - Forward: $Z_1 = \begin{pmatrix} 2 & 1 \\ -1 & -2 \end{pmatrix}$, so $A_1 = \begin{pmatrix} 2 & 1 \\ 0 & 0 \end{pmatrix}$. All
#   logits are 0, all probabilities $\tfrac12$, and $\mathcal{L} = \log 2$.
# - The gradients to reach:
#
# $$dW_1 = \begin{pmatrix} -\tfrac12 & 1 \\ \tfrac12 & -1 \end{pmatrix}, \quad db_1 = (-\tfrac12, 1), \quad
# dW_2 = \begin{pmatrix} -\tfrac12 & \tfrac12 \\ -\tfrac14 & \tfrac14 \end{pmatrix}, \quad db_2 = (0, 0)$$
#
# Example 2 is switched off in both hidden units. It reaches the loss through $b_2$ alone.

# %%
import numpy as np


# %% solution="mlp_backward"
def mlp_backward(X, Y, W1, b1, W2, b2):
    """X (B, n), Y (B, K), W1 (n, m), b1 (m,), W2 (m, K), b2 (K,) -> dW1, db1, dW2, db2."""
    ### BEGIN SOLUTION
    Z1 = X @ W1 + b1  # (B, m)
    A1 = np.maximum(Z1, 0)
    Z2 = A1 @ W2 + b2  # (B, K)
    E = np.exp(Z2 - Z2.max(axis=1, keepdims=True))  # no exponent above 0: nothing overflows
    P = E / E.sum(axis=1, keepdims=True)

    G2 = (P - Y) / len(X)  # the adjoint of Z2; the mean's 1/B enters here, once
    G1 = (G2 @ W2.T) * (Z1 > 0)  # (B, m)
    return X.T @ G1, G1.sum(axis=0), A1.T @ G2, G2.sum(axis=0)
    ### END SOLUTION


# %% [markdown]
# ## The checks
#
# Each cell tries one behaviour. It prints a line that begins with ✓, or says what is wrong. Run them as often as you like.

# %% check="mlp_backward-shapes" points=1
from backprop_course.checks.mlp_backward import check_shapes

check_shapes(mlp_backward)

# %% check="mlp_backward-worked-example" points=2
from backprop_course.checks.mlp_backward import check_worked_example

check_worked_example(mlp_backward)

# %% [markdown]
# Now batches of random numbers, with every dimension different: $B = 1$ and $K = 2$ are among them, and targets that are not one-hot.

# %% check="mlp_backward-random-batches" points=3
from backprop_course.checks.mlp_backward import check_random_batches

check_random_batches(mlp_backward)

# %% check="mlp_backward-stable" points=1
from backprop_course.checks.mlp_backward import check_stable

check_stable(mlp_backward)

# %% check="mlp_backward-inputs-unchanged" points=1
from backprop_course.checks.mlp_backward import check_inputs_unchanged

check_inputs_unchanged(mlp_backward)

# %% [markdown]
# The last check counts operations for 8 and for 136 examples. Whole-array code needs as many for 136 as for 8.

# %% check="mlp_backward-matrix-form" points=2
from backprop_course.checks.mlp_backward import check_matrix_form

check_matrix_form(mlp_backward)

# %% [markdown]
# Done? Lesson 04 shows how you would find out on your own that a backward pass is right: by gradient checking.
