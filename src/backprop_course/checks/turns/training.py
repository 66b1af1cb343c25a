"""Your turn in lesson 07: digits above 95%."""

from backprop_course import training
from backprop_course.checks.turns._say import report

__all__ = ["check_train_digits"]


@report("digits above 95% on the test set")
def check_train_digits(train):
    """train(X, labels, layers) -> layers, trained in place; tried on fresh weights."""
    X, labels, X_test, labels_test = training.load_digits()
    layers = training.init_mlp(64, 64, 10, seed=0)
    start = layers[0][0].copy()
    returned = train(X, labels, layers)
    if returned is None or returned is ...:
        return None
    if (layers[0][0] == start).all():
        return "the weights in `layers` have not moved: change them in place (W -= rate * dW)"
    share = training.accuracy(X_test, labels_test, layers)
    if share < 0.5:
        return f"{share:.1%} on the test set: step against the gradient, with rate 0.5"
    if share <= 0.95:
        return f"{share:.1%} on the test set: train longer, on batches drawn from all of X"
    return True
