# %% [markdown]
# # Exercise: `numerical_gradient` and `rel_error`
#
# You write the two functions with which you will check every backward pass you ever write. Allow 30 minutes. It needs lesson 04.
#
# | what is checked | points |
# |---|---|
# | `numerical_gradient`: a number, a vector, a matrix, 3-d and 0-d arrays | 2 |
# | it follows `h`, and its error falls as $h^2$ | 2 |
# | an array of integers | 1 |
# | `x` is restored bit for bit | 2 |
# | functions that return NumPy scalars | 1 |
# | `rel_error`: the largest over the entries, not the mean | ½ |
# | the same at every scale, from 1e-12 to 1e12 | ½ |
# | two zeros give 0 | ½ |
# | symmetric in `a` and `b` | ½ |
#
# The grader runs the same checks as this notebook, with other random numbers.

# %% [markdown]
# ## `numerical_gradient(f, x, h=1e-5)`
#
# | symbol | what it is |
# |---|---|
# | `f` | a function that takes an array of the shape of `x` and returns one number: a Python float, a NumPy float or a 0-d array |
# | `x` | the point: a number or an array of any shape, of floats or integers |
# | `h` | the step, a positive number |
#
# It returns a float64 array of the shape of `x`. Its entry $i$ is the central difference
#
# $$\frac{f(x + h e_i) - f(x - h e_i)}{2h},$$
#
# where $e_i$ is 1 at entry $i$ and 0 elsewhere: one coordinate moves, the others stay. After the call `x` holds exactly the bits
# that it held before.

# %% [markdown]
# ### A worked example
#
# Take $f(x) = x_0^3 + x_1$ at $x = (2, 5)$ with $h = 0.1$.
#
# - Entry 0: $(2.1^3 - 1.9^3) / 0.2 = (9.261 - 6.859) / 0.2 = 12.01$. The slope is $3 \cdot 2^2 = 12$, so the error is $h^2 = 0.01$.
# - Entry 1: $(5.1 - 4.9) / 0.2 = 1$. A central difference makes no error on a straight line.

# %%
import numpy as np


# %% solution="numerical_gradient"
def numerical_gradient(f, x, h=1e-5):
    """f: array -> number, x (any shape), h > 0 -> the central differences, float64, shape of x."""
    ### BEGIN SOLUTION
    point = np.array(x, dtype=np.float64)  # a copy: x itself is never touched
    gradient = np.empty_like(point)
    for index in np.ndindex(point.shape):
        here = point[index]
        point[index] = here + h
        above = f(point)
        point[index] = here - h
        below = f(point)
        point[index] = here  # not += h: x − h + h is rounded
        gradient[index] = (above - below) / (2 * h)
    return gradient
    ### END SOLUTION


# %% check="numerical_gradient-shapes" points=2
from backprop_course.checks.numerical_gradient import check_shapes

check_shapes(numerical_gradient)

# %% check="numerical_gradient-follows-step" points=2
from backprop_course.checks.numerical_gradient import check_follows_step

check_follows_step(numerical_gradient)

# %% check="numerical_gradient-integers" points=1
from backprop_course.checks.numerical_gradient import check_integers

check_integers(numerical_gradient)

# %% check="numerical_gradient-restored" points=2
from backprop_course.checks.numerical_gradient import check_restored

check_restored(numerical_gradient)

# %% check="numerical_gradient-numpy-scalars" points=1
from backprop_course.checks.numerical_gradient import check_numpy_scalars

check_numpy_scalars(numerical_gradient)

# %% [markdown]
# ## `rel_error(a, b)`
#
# Two gradients are compared by their relative error, since gradients come in all sizes. For two arrays of one shape it is
#
# $$\max_i \frac{|a_i - b_i|}{\max(|a_i|, |b_i|, \text{tiny})},$$
#
# one float. The number `tiny` only guards $0/0$: choose it so small (1e-300, say) that it never decides anything else.
#
# A worked example: for $a = (1, 0, 200)$ and $b = (1, 0, 100)$ the entries give 0, 0 and $100/200$, so the error is 0.5.


# %% solution="rel_error"
def rel_error(a, b):
    """a, b (one shape) -> the largest relative difference of their entries, a float."""
    ### BEGIN SOLUTION
    size = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-300)
    return float(np.max(np.abs(a - b) / size))
    ### END SOLUTION


# %% check="rel_error-largest" points=0.5
from backprop_course.checks.numerical_gradient import check_largest

check_largest(rel_error)

# %% check="rel_error-scale-free" points=0.5
from backprop_course.checks.numerical_gradient import check_scale_free

check_scale_free(rel_error)

# %% check="rel_error-zeros" points=0.5
from backprop_course.checks.numerical_gradient import check_zeros

check_zeros(rel_error)

# %% check="rel_error-symmetric" points=0.5
from backprop_course.checks.numerical_gradient import check_symmetric

check_symmetric(rel_error)

# %% [markdown]
# ## Use them
#
# If you have done the exercise `mlp_backward`, paste your function below and check one of its gradients: hold everything but `W1` fixed,
# let `f` be the loss as a function of `W1`, and compare. A relative error below 1e-7 says that your rule is right, one above 1e-2 that there is a bug.
