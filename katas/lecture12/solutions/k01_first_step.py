"""Predict six first steps, in units of lr."""

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
    """Return how far the parameter moves in each row of `STEPS`, in units of lr, to within 0.01."""
    return {
        "tiny": -1.0,
        "huge": 1.0,
        "like_eps": -0.5,
        "decay": -1.0,
        "adamw": -1.5,
        "rmsprop": -10.0,
    }
