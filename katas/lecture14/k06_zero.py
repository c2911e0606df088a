"""ZeRO 1, 2 and 3, and the bytes that each leaves on a rank.

Adam's moments take twice the memory of the model, and DistributedDataParallel keeps everything on
each rank. ZeRO shards more with each stage:

              parameters    gradients    moments
    zero1     whole         whole        sharded
    zero2     whole         sharded      sharded
    zero3     sharded       sharded      sharded

Write the five rows of `held`. Two of them compute in bfloat16: which single number does that
change?

Begin with ``zero1``: first one layer, then all.
Afterwards read ``MixedPrecisionPolicy`` in ``torch/distributed/fsdp/_fully_shard/_fsdp_api.py``, in
site-packages.
"""

from __future__ import annotations

from typing import NamedTuple


# The model: LAYERS linear layers of WIDTH x WIDTH, float32, without biases.
RANKS, LAYERS, WIDTH = 4, 8, 256


class Held(NamedTuple):
    """Bytes on one rank."""

    parameters: int
    gradients: int
    moments: int


def held() -> dict[str, Held]:
    """Return rows for zero1, zero2, zero3, zero2_bf16 and zero3_bf16, as integers.

    Count the parameters that the modules hold between forward and backward (not the shards that
    FSDP keeps as well), the gradients after backward, and Adam's two moments after its step. zero2
    is ``reshard_after_forward=False``. The last two rows use fully_shard with
    ``MixedPrecisionPolicy(param_dtype=torch.bfloat16)``.
    """
    # TODO: return {"zero1": Held(parameters=..., gradients=..., moments=...), ...}
    raise NotImplementedError("held")
