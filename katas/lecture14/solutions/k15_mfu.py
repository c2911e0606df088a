"""Compute how well a training run uses its GPUs, from its shapes alone."""

from __future__ import annotations

from typing import NamedTuple


class Model(NamedTuple):
    """A decoder: embedding, blocks, and a product with (vocab, width) at the end; no biases.

    A block multiplies by weights of (3 width, width), (width, width), (hidden, width) and (width,
    hidden), in this order; attention to all `length` tokens follows the first.
    """

    layers: int
    width: int
    hidden: int
    vocab: int
    length: int


def parameters(model: Model) -> int:
    """Return the number of elements of all weights that are multiplied."""
    block = 4 * model.width**2 + 2 * model.width * model.hidden
    return model.layers * block + model.vocab * model.width


def model_flops(model: Model) -> int:
    """Return the FLOPs per token, forward and backward, counting only products."""
    return 6 * parameters(model) + 12 * model.layers * model.length * model.width


def attention_share(model: Model) -> float:
    """Return the fraction of `model_flops` in products without weights."""
    return 1 - 6 * parameters(model) / model_flops(model)


def hardware_flops(model: Model) -> int:
    """Return the FLOPs per token if backward recomputes the forward of each block."""
    forward = model_flops(model) // 3 - 2 * model.vocab * model.width
    return model_flops(model) + forward - 2 * model.layers * model.hidden * model.width


def utilization(model: Model, rate: float, peak: float) -> tuple[float, float]:
    """Return MFU and HFU of a checkpointed run: `rate` is in tokens/s, `peak` in FLOP/s."""
    return model_flops(model) * rate / peak, hardware_flops(model) * rate / peak
