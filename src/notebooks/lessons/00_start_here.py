# %% [markdown]
# # 0 · Start here
#
# This course takes you from the chain rule on paper to an autograd engine that you wrote yourself. At the end you will train a classifier of handwritten
# digits with gradients that you derived, coded and checked.
#
# **After this page** you know that your set-up works, what you believe today about three questions, and in which order to read.
#
# **You need** derivatives of functions of one variable, matrix products, and Python with NumPy. **Allow** 10 minutes.

# %% [markdown]
# ## 0.1 Does everything run?
#
# Click the cell below and press Shift+Enter. It prints the versions in use.

# %% tags=["volatile"]
import importlib.metadata
import platform

print("Python", platform.python_version())
for name in ("backprop-course", "numpy", "matplotlib", "torch", "scikit-learn"):
    try:
        print(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        print(name, "is not installed")

# %% [markdown]
# - If `torch` is not installed, all lessons and exercises work all the same. Where a lesson compares its result with PyTorch, the cell prints one
#   line and goes on. `pip install torch` adds it.
# - If `scikit-learn` is not installed, only the training in lessons 06 and 07 lacks its data. `pip install scikit-learn` adds it.
# - If `backprop-course` is not installed, run the cell above this section once more, then restart the kernel.

# %% [markdown]
# ## 0.2 Predict first
#
# Answer these three before you read on, and write your answers down. You learn more from a lesson that proves you wrong than from one
# that you only nod to. Each question comes back: the first in lesson 2, the second in lesson 4, the third in lesson 1.

# %% [markdown] tags=["quiz"]
# **1.** A network's forward pass costs $F$ multiplications. What does its backward pass cost, roughly?
#
# - ( ) `F`, it is the same path walked the other way :: The path is the same, the work on it is not. At each matrix product the backward pass computes two products: one for the weights, one for the inputs. Lesson 02 counts them.
# - (x) `2F` :: At each layer two products of the forward's size are needed: the gradient of the weights and the gradient of the inputs. Lesson 02 counts them.
# - ( ) `n · F` for `n` parameters :: That is the price of nudging each parameter in turn, or of forward mode. Reverse mode gets all of them in one walk. Lesson 01 shows how.
# - ( ) almost nothing, the values are all there :: The values are stored, but each still has to be multiplied into the gradients. Lesson 02 counts the products.

# %% [markdown] tags=["quiz"]
# **2.** You approximate a slope by $(f(x+h) - f(x-h)) / 2h$ in float64. Which step is best?
#
# - ( ) `1e-2` :: Here the curve is still far from a straight line: the error is $h^2/6$ times the third derivative, near 1e-5. Lesson 04 measures it.
# - ( ) `1e-15`, the smaller the better :: Then $f(x+h)$ and $f(x-h)$ agree in nearly all their digits, and the difference is mostly rounding. Lesson 04 measures it.
# - ( ) `1e-10` :: Rounding already dominates: an error near 1e-16 in $f$ is divided by $h$, which leaves about 1e-6. Lesson 04 finds where the two errors balance.
# - (x) `1e-5` :: The best step balances the error of the formula, which falls with $h^2$, and the error of rounding, which grows with $1/h$. For a function whose values and third derivatives are near 1 it is $(3u)^{1/3} \approx 7 \cdot 10^{-6}$, where $u \approx 1.1 \cdot 10^{-16}$ is the unit roundoff, the relative error of one rounding. Lesson 04 derives it.

# %% [markdown] tags=["quiz"]
# **3.** A value is used by two operations. In the backward pass they send it 1.0 and 0.5. What is its gradient?
#
# - ( ) `1.0`, the larger one :: Nothing chooses a largest path. Both uses change the loss when the value changes.
# - ( ) `0.5`, the one that arrives last :: That is the bug of a program that writes `grad = …` where it should write `grad += …`. Lesson 01 makes it happen.
# - (x) `1.5` :: When the value moves a little, both uses move the loss, so their effects add. Lesson 01 shows it with numbers.
# - ( ) `0.75`, the mean :: Two effects at once add up; nothing divides by their number.

# %% [markdown]
# ## 0.3 A map of the course
#
# | lesson | minutes | needs | then do |
# |---|---|---|---|
# | [1 · The chain rule by hand](01_chain_rule.ipynb) | 60 | this page | |
# | [2 · Matrix backward](02_matrix_backward.ipynb) | 60 | 1 | |
# | [3 · Activations, softmax and the MLP](03_activations.ipynb) | 75 | 2 | [mlp_backward](exercises/mlp_backward.ipynb), 10 points |
# | [4 · Gradient checking](04_gradient_checking.ipynb) | 45 | 1 | [numerical_gradient](exercises/numerical_gradient.ipynb), 10 points |
# | [5 · Memory and checkpointing](05_memory.ipynb) | 60 | 2, 3 | [checkpoint_counts](exercises/checkpoint_counts.ipynb), 6 points |
# | [6 · A tiny autograd engine](06_tiny_autograd.ipynb) | 90 | 1, 2, 3 | [value](exercises/value.ipynb), 10 points |
# | [7 · Train it by hand](07_train_by_hand.ipynb) | 75 | 2, 3, 4; its section 7.6 also 6 | |
#
# You can take lesson 4 right after lesson 1. An exercise is a notebook of its own. You write a function; each check cell answers at once and says which mistake it sees. Your instructor's
# grader runs the same checks with other random numbers. There are 36 points in all.

# %% [markdown]
# ## 0.4 How to read a lesson
#
# - Run the cells in order, with Shift+Enter. They are short, and each shows one thing.
# - A triangle ▸ opens an answer. Decide on yours before you open it.
# - A cell marked **Your turn** has a `...` for you to replace. The cell below it tells you whether you are right. Nothing later depends on it: if you are
#   stuck, read on.
# - In all figures values are blue, gradients orange and parameters violet.

# %% [markdown] tags=["cards"]
# ## 0.5 Recall cards
#
# Each lesson ends with a few of these. All of them are in `recall_cards.txt`, which the flash-card program Anki imports.
#
# - What does this course call the adjoint of a variable `z`? :: The derivative of the loss with respect to `z`. On paper it is z̄, in code `dz`.
# - What must you do before you open an answer in this course? :: Decide on your own, and best write it down.

# %% [markdown]
# On to [lesson 1](01_chain_rule.ipynb).
