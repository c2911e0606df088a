"""Predict what a training step keeps in memory, for three optimizers.

A model of 7 billion float32 parameters takes 28 GB. Training it with AdamW takes four times that,
not counting activations:

    built     | parameters |
    backward  | parameters | gradients |
    step      | parameters | gradients | exp_avg | exp_avg_sq |  and 4 bytes for each tensor's
    zero_grad | parameters |     ?     |    ?    |     ?      |  step number, a float32

When is each part allocated, and when freed? Write the six rows of `kept`.

Begin with "sgd": what does it remember from one step to the next?
Afterwards read ``_init_group`` in ``torch/optim/adam.py``, in site-packages.
"""

from __future__ import annotations

from typing import NamedTuple


class Kept(NamedTuple):
    """Bytes of the tensors in ``.grad`` and in ``optimizer.state``."""

    gradients: int
    state: int


class Situation(NamedTuple):
    """An optimizer of ``torch.optim`` with its arguments, the model's dtype, and the calls so far.

    The model is ``torch.nn.Linear(300, 500, dtype=dtype)``; the optimizer was given both of its
    parameters. Parameters not named in `trained` have ``requires_grad=False``.
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
    # TODO: return {"sgd": Kept(gradients=..., state=...), ...}
    raise NotImplementedError("kept")
