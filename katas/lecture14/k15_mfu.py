"""Compute how well a training run uses its GPUs, from its shapes alone.

Papers report MFU: the FLOPs that the model needs, divided by what the GPUs could have done in that
time. The usual estimate is 6ND, six for each parameter and token. A model with the shapes of 7B
parameters at 128 k tokens of context needs six times as much. What is missing?

    one weight, one token     forward 2 FLOPs     gradient of the input 2     of the weight 2
    scores and their use      two products, of activations with activations

1. `parameters`: weights that are multiplied. An embedding is looked up.
2. `model_flops`: for a token, forward and backward.
3. `attention_share`: which part of it 6ND misses.
4. `hardware_flops`: each block a non-reentrant checkpoint. Recomputation stops at the last tensor
   that backward asks for, so one product of a block is not computed again.
5. `utilization`: MFU and HFU. One of them must not pay for recomputation.

Begin on paper: one block of width 2, for a single token.
Afterwards read ``mm_flop`` and ``bmm_flop`` in ``torch/utils/flop_counter.py``, on your disk.

Real life differs: fused attention skips what a causal mask hides; here, and in most papers, it
counts.
"""

from __future__ import annotations

from typing import NamedTuple


class Model(NamedTuple):
    """A decoder: embedding, blocks, and a product with (vocab, width) at the end; no biases.

    A block multiplies by weights of (3 width, width), (width, width), (hidden, width) and
    (width, hidden), in this order; attention to all `length` tokens lies behind the first.
    """

    layers: int
    width: int
    hidden: int
    vocab: int
    length: int


def parameters(model: Model) -> int:
    """Return how many elements the weights that are multiplied have."""
    # TODO: the blocks, and the product at the end.
    raise NotImplementedError("parameters")


def model_flops(model: Model) -> int:
    """Return the FLOPs of a token, forward and backward: of products, no others."""
    # TODO: 6 N is not all.
    raise NotImplementedError("model_flops")


def attention_share(model: Model) -> float:
    """Return the share of `model_flops` in products without weights."""
    # TODO: what is left.
    raise NotImplementedError("attention_share")


def hardware_flops(model: Model) -> int:
    """Return the FLOPs of a token if the forward of each block is computed again in backward."""
    # TODO: which product of a block does no gradient need the result of?
    raise NotImplementedError("hardware_flops")


def utilization(model: Model, rate: float, peak: float) -> tuple[float, float]:
    """Return MFU and HFU of a checkpointed run: `rate` is in tokens/s, `peak` in FLOP/s."""
    # TODO: two quotients.
    raise NotImplementedError("utilization")
