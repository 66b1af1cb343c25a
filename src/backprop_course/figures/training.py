"""Figures of lesson 07: the digits, learning curves, gradients of the first layer, symptoms."""

import numpy as np

from backprop_course.figures.style import ADJOINT, ERROR, MUTED, PARAMETER, VALUE, Picture, axes

DASHES = ("-", "--", "-.", ":")
MARKS = "osD^v"


def digits(X, labels, count=12):
    """The first `count` images of X (N, 64), with their labels."""
    figure, grid = axes(1, count, width=8, height=1.1)
    for ax, image, label in zip(grid, X, labels, strict=False):
        ax.imshow(image.reshape(8, 8), cmap="gray_r")
        ax.set_title(label, fontsize=9)
        ax.set_axis_off()
    names = ", ".join(str(n) for n in labels[:count])
    return Picture(figure, f"{count} handwritten digits of 8 by 8 pixels, labelled {names}.")


def learning_curves(history, smooth=10):
    """Batch loss and test accuracy against the step, from training.train."""
    figure, (left, right) = axes(1, 2, width=8.5, height=3.2)
    loss, measured, accuracy = (history[k] for k in ("loss", "measured", "accuracy"))
    mean = np.convolve(loss, np.ones(smooth) / smooth, "valid")
    left.plot(loss, color=VALUE, alpha=0.3, lw=0.8, label="batch")
    left.plot(np.arange(len(mean)) + smooth // 2, mean, color=VALUE, label=f"mean of {smooth}")
    left.set(xlabel="step", ylabel="loss", yscale="log")
    left.legend()
    right.plot(measured, accuracy, color=VALUE)
    right.axhline(0.95, color=MUTED, ls="--")
    right.text(measured[-1], 0.94, "95%", ha="right", va="top", color=MUTED)
    right.set(xlabel="step", ylabel="test accuracy", ylim=(0, 1.02))
    return Picture(
        figure,
        f"Left: the batch loss falls from {loss[0]:.2f} to about {mean[-1]:.2f} in {len(loss)} "
        f"steps. Right: test accuracy rises to {accuracy[-1]:.0%}; a dashed line marks 95%.",
    )


def first_layer_gradients(dW, count=12):
    """Columns of dW (64, m) as 8 by 8 images: one hidden unit each, those of largest gradient."""
    figure, grid = axes(1, count, width=8.5, height=1.3)
    strongest = np.argsort(-np.linalg.norm(dW, axis=0))[:count]
    limit = np.abs(dW[:, strongest]).max()
    for ax, unit in zip(grid, strongest, strict=True):
        ax.imshow(dW[:, unit].reshape(8, 8), cmap="PuOr", vmin=-limit, vmax=limit)
        ax.set_title(f"unit {unit}", fontsize=7)
        ax.set_axis_off()
    return Picture(
        figure,
        f"Gradient of the loss with respect to the weights of {count} hidden units, each drawn as "
        "an 8 by 8 image like its input: patches of raised and lowered pixels, zero at the border.",
    )


def gradient_norms(histories, smooth=10):
    """{name: history} -> per-layer gradient norms against the step, one panel each."""
    figure, grid = axes(
        1, len(histories), width=2 + 2.6 * len(histories), height=3, sharey=True, squeeze=False
    )
    for ax, (name, history) in zip(grid[0], histories.items(), strict=True):
        for k, norms in enumerate(np.maximum(history["norms"], 1e-3).T):
            mean = np.convolve(norms, np.ones(smooth) / smooth, "valid")
            ax.plot(mean, DASHES[k % 4], lw=1.5, label=f"layer {k + 1}", color=_shade(k))
        ax.set(title=name, xlabel="step", yscale="log")
    grid[0][0].set_ylabel(f"norm of dW (mean of {smooth})")
    grid[0][-1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return Picture(
        figure,
        "Norm of each layer's weight gradient against the step, on a log axis, one panel each for: "
        f"{', '.join(histories)}.",
    )


def _shade(k):
    return (VALUE, ADJOINT, PARAMETER, ERROR)[k % 4]


def symptoms(histories, reference="right"):
    """{name: history} -> each run's loss and test accuracy, the reference drawn bold."""
    figure, (left, right) = axes(1, 2, width=9.5, height=3.6)
    for k, (name, history) in enumerate(histories.items()):
        style = dict(color="black", lw=2.5) if name == reference else dict(color=f"C{k}", lw=1.2)
        style |= dict(ls=DASHES[k % 4], marker=MARKS[k % 5], markevery=0.2, ms=4, label=name)
        loss = np.minimum(history["loss"], 20)
        left.plot(np.convolve(loss, np.ones(10) / 10, "valid"), **style)
        right.plot(history["measured"], history["accuracy"], **style)
    left.set(xlabel="step", ylabel="loss (mean of 10 batches)", yscale="log")
    right.set(xlabel="step", ylabel="test accuracy", ylim=(0, 1.02))
    right.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    ends = "; ".join(f"{name} {h['accuracy'][-1]:.0%}" for name, h in histories.items())
    return Picture(figure, f"Loss and test accuracy of each run. Accuracy at the end: {ends}.")


def error_dots(errors, threshold=1e-7, floor=1e-8):
    """{bug: [relative error of layer 1, 2, ...]} -> one mark a layer, on a log axis.

    Errors below `floor` are drawn there: that far down they are round-off.
    """
    figure, ax = axes(width=8, height=0.42 * len(errors) + 1)
    for row, values in enumerate(errors.values()):
        for k, value in enumerate(values):
            x = max(value, floor) * 1.35 ** (k - 1)  # side by side where they coincide
            ax.plot(x, row, MARKS[k], color=_shade(k), ms=7, label=f"layer {k + 1}" * (row == 0))
    ax.axvline(threshold, color=MUTED, ls="--")
    ax.set(xscale="log", xlabel="relative error (below 1e-8: drawn at 1e-8)")
    ax.set_yticks(range(len(errors)), list(errors))
    ax.invert_yaxis()
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    caught = [name for name, values in errors.items() if max(values) > threshold]
    return Picture(
        figure,
        f"Relative error of each layer's weight gradient, one row a backward pass. Right of the "
        f"dashed line at {threshold:g}, so caught: {', '.join(caught)}.",
    )
