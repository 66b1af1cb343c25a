"""Your turn in lesson 06: train on micrograd's four points."""

from backprop_course.checks.turns._say import report

__all__ = ["check_train_four_points"]


@report("the four points: loss below 0.01")
def check_train_four_points(train, layers, parameters, loss_of):
    """train(layers, parameters) -> float; the check runs it on a network of its own choice."""
    start = [p.data for p in parameters]
    before = loss_of(layers).data
    try:
        last = train(layers, parameters)
        after = loss_of(layers).data
        moved = any(p.data != d for p, d in zip(parameters, start, strict=True))
    finally:
        for p, data in zip(parameters, start, strict=True):
            p.data = data
    if last is None or last is ...:
        return None
    if not moved:
        return "no weight has moved: change p.data, by -rate * p.grad"
    if not isinstance(last, (int, float)):
        return f"return the loss as a plain number (loss.data), not a {type(last).__name__}"
    if after > before:
        return f"the loss rose from {before:.3f} to {after:.3g}: step against the gradient, and reset it"
    if after >= 0.01:
        return (
            f"the loss ended at {after:.3g}, not below 0.01: is every gradient reset to 0 before "
            "each backward pass? Is the rate 0.05?"
        )
    if abs(last - after) > 1e-9 + 0.1 * after:
        return f"you returned {last:.3g}, but the loss of the trained network is {after:.3g}"
    return True
