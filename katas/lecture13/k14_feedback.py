"""Compress gradients, and remember what was not sent.

Send the largest hundredth of a gradient, and the small elements never arrive, step after step:
training stalls. Error feedback fixes that: a rank adds to its next gradient what it has not sent:

    step 1    gradient  5  1         send 5      keep 1
    step 2    gradient  1  1  + 1    send 2 ...

Write `compressed_hook`, about 18 lines, for ``ddp.register_comm_hook(State(...), ...)``. In
backward DistributedDataParallel calls it with each full bucket, instead of an all-reduce.

1. Add the errors to the gradients, and encode the whole buffer.
2. Keep what your own decoded message lacks, for each parameter.
3. Gather the messages; the future's value is the mean of what they decode to.

Begin on paper: continue the example for two steps. What is sent, in all?
Afterwards read ``fp16_compress_hook`` in
``torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py``, then ``powerSGD_hook.py`` next to
it, in site-packages.
Real life differs: PowerSGD begins at step 1000 by default, and with error feedback never before
step 2, when DDP has rebuilt its buckets.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field

import torch
from torch import distributed as dist
from torch import nn


Message = tuple[torch.Tensor, ...]


class TopK:
    """Sends the elements of largest magnitude, and their positions. Given."""

    def __init__(self, fraction: float) -> None:
        self.fraction = fraction

    def encode(self, flat: torch.Tensor) -> Message:
        """Return the values and their positions: two contiguous tensors with one dim."""
        positions = flat.abs().topk(max(1, int(self.fraction * flat.numel()))).indices
        return flat[positions], positions.int()

    def decode(self, message: Message, size: int) -> torch.Tensor:
        """Return a tensor of `size` elements that is 0 except at these positions."""
        values, positions = message
        flat = values.new_zeros(size)
        flat[positions] = values
        return flat


@dataclass
class State:
    """What the hook is registered with: how to compress, and what has not been sent. Given."""

    compressor: TopK
    errors: dict[nn.Parameter, torch.Tensor] = field(default_factory=dict)


def compressed_hook(state: State, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Return a future with the mean of what all ranks sent, and remember what was not sent.

    - ``bucket.buffer()`` is one flat tensor; ``bucket.gradients()`` are contiguous views of it, in
      the order of ``bucket.parameters()``. You may write to them.
    - ``state.errors`` has a tensor for each parameter, with the parameter's shape and its own
      memory: DDP creates new buckets after the first backward, so a bucket's index cannot be the
      key.
    - Each tensor of the message is sent with one ``dist.all_gather(..., async_op=True)``. Do not
      wait: ``get_future()`` of each handle, ``torch.futures.collect_all``, then ``.then``.
    """
    # TODO: add the errors, encode, keep the new errors, gather, decode and average.
    raise NotImplementedError("compressed_hook")


# Given: DDP compares annotations with types, and those of this module are strings.
compressed_hook.__annotations__.clear()
