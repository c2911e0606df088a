"""Compute how well a training run uses its GPUs, from its shapes alone.

Papers report MFU (model FLOPs utilization): the FLOPs that the model needs, divided by what the
GPUs could have done in that time. The usual estimate is 6ND: six per parameter and token. A 7B
model at a context of 128 k tokens needs six times as much. What is missing?

    one weight, one token     forward 2 FLOPs     gradient of the input 2     of the weight 2
    attention                 two products of activations with activations

1. `parameters`: count weights that are multiplied. An embedding is only looked up.
2. `model_flops`: per token, forward and backward.
3. `attention_share`: the part of these that 6ND misses.
4. `hardware_flops`: each block is a non-reentrant checkpoint. Recomputation stops at the last
   tensor that backward needs, so one product of a block is not recomputed.
5. `utilization`: MFU and HFU. One of them must not count recomputation.

Begin on paper: one block of width 2, for a single token.
Afterwards read ``mm_flop`` and ``bmm_flop`` in ``torch/utils/flop_counter.py``, on your disk.

Real life differs: fused attention skips what a causal mask hides; here, as in most papers, it
counts.
"""

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
    # TODO: the blocks, and the product at the end.
    raise NotImplementedError("parameters")


def model_flops(model: Model) -> int:
    """Return the FLOPs per token, forward and backward, counting only products."""
    # TODO: 6 N is not everything.
    raise NotImplementedError("model_flops")


def attention_share(model: Model) -> float:
    """Return the fraction of `model_flops` in products without weights."""
    # TODO: what remains without the weights?
    raise NotImplementedError("attention_share")


def hardware_flops(model: Model) -> int:
    """Return the FLOPs per token if backward recomputes the forward of each block."""
    # TODO: which product's result does no gradient in the block need?
    raise NotImplementedError("hardware_flops")


def utilization(model: Model, rate: float, peak: float) -> tuple[float, float]:
    """Return MFU and HFU of a checkpointed run: `rate` is in tokens/s, `peak` in FLOP/s."""
    # TODO: two quotients.
    raise NotImplementedError("utilization")
