"""Predict what a training step keeps in memory, for three optimizers."""

from __future__ import annotations

from typing import NamedTuple


class Kept(NamedTuple):
    """Bytes of the tensors in ``.grad`` and in ``optimizer.state``."""

    gradients: int
    state: int


class Situation(NamedTuple):
    """An optimizer of ``torch.optim`` with its arguments, the model's dtype, and the calls so far.

    The model is ``torch.nn.Linear(300, 500, dtype=dtype)``, and the optimizer has been given both
    of its parameters. What is not `trained` has ``requires_grad=False``.
    """

    optimizer: str
    arguments: dict[str, float]
    dtype: str
    trained: str
    done: tuple[str, ...]


SITUATIONS = {
    "sgd": Situation("SGD", {}, "float32", "weight and bias", ("backward", "step")),
    "momentum": Situation(
        "SGD", {"momentum": 0.9}, "float32", "weight and bias", ("backward", "step", "zero_grad")
    ),
    "adamw_built": Situation("AdamW", {}, "float32", "weight and bias", ("backward",)),
    "adamw": Situation("AdamW", {}, "float32", "weight and bias", ("backward", "step")),
    "adamw_half": Situation("AdamW", {}, "bfloat16", "weight and bias", ("backward", "step")),
    "adamw_frozen": Situation("AdamW", {}, "float32", "bias", ("backward", "step")),
}


def kept() -> dict[str, Kept]:
    """Return how many bytes each of `SITUATIONS` keeps."""
    return {
        "sgd": Kept(4 * 150500, 0),
        "momentum": Kept(0, 4 * 150500),
        "adamw_built": Kept(4 * 150500, 0),
        "adamw": Kept(4 * 150500, 2 * 4 * 150500 + 2 * 4),
        "adamw_half": Kept(2 * 150500, 4 * 150500 + 2 * 4),
        "adamw_frozen": Kept(4 * 500, 2 * 4 * 500 + 4),
    }
