"""Predict six first steps, in units of lr.

Divide the loss by 1000, and Adam trains nearly as before. Resume a run without the state of its
optimizer, and each weight jumps by about lr. Adam divides by the size of what it has seen, and at
first that is one gradient:

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
    """The first step of an optimizer with lr=0.1, for a parameter that is 2.0."""

    optimizer: str
    gradient: float
    settings: dict[str, float]


# What is not said is PyTorch's default: betas (0.9, 0.999), alpha 0.99, eps 1e-8.
STEPS = {
    "tiny": Step("Adam", 0.001, {}),
    "huge": Step("Adam", -300.0, {}),
    "like_eps": Step("Adam", 1e-8, {}),
    "decay": Step("Adam", 5.0, {"weight_decay": 0.25}),
    "adamw": Step("AdamW", 5.0, {"weight_decay": 0.25}),
    "rmsprop": Step("RMSprop", 5.0, {}),
}


def moves() -> dict[str, float]:
    """Return for each row of `STEPS` the move of the parameter divided by lr, to 0.01.

    A gradient of 5.0 and plain Adam give -1.0: the parameter falls by lr.
    """
    # TODO: return {"tiny": ..., ...}
    raise NotImplementedError("moves")
