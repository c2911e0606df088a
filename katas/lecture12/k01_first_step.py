"""Predict six first steps, in units of lr.

Divide the loss by 1000, and Adam trains almost as before. Resume a run without its optimizer's
state, and each weight jumps by about lr. Adam divides by the size of the gradients it has seen, and
at the first step that is a single one:

    m = 0.9 m + 0.1 g           v = 0.999 v + 0.001 g^2
    m^ = m / (1 - 0.9^t)        v^ = v / (1 - 0.999^t)
    move = -lr m^ / (sqrt(v^) + eps)

    decay      Adam: g = grad + weight_decay p      AdamW: p = p - lr weight_decay p, as well
    RMSprop    v = 0.99 v + 0.01 g^2                move = -lr g / (sqrt(v) + eps)

Begin with t = 1 and m = v = 0: what is left of g?
Afterwards read ``_single_tensor_rmsprop`` in ``torch/optim/rmsprop.py``, in site-packages.
"""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """The first step of an optimizer with lr=0.1, for a parameter with the value 2.0."""

    optimizer: str
    gradient: float
    settings: dict[str, float]


# Settings not listed are PyTorch's defaults: betas (0.9, 0.999), alpha 0.99, eps 1e-8.
STEPS = {
    "tiny": Step("Adam", 0.001, {}),
    "huge": Step("Adam", -300.0, {}),
    "like_eps": Step("Adam", 1e-8, {}),
    "decay": Step("Adam", 5.0, {"weight_decay": 0.25}),
    "adamw": Step("AdamW", 5.0, {"weight_decay": 0.25}),
    "rmsprop": Step("RMSprop", 5.0, {}),
}


def moves() -> dict[str, float]:
    """Return how far the parameter moves in each row of `STEPS`, in units of lr, to within 0.01.

    Plain Adam with a gradient of 5.0 gives -1.0: the parameter falls by lr.
    """
    # TODO: return {"tiny": ..., ...}
    raise NotImplementedError("moves")
