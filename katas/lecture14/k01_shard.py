"""What one rank holds: a model after fully_shard.

Shard a layer over two ranks: ``weight.shape`` stays the same, yet each rank uses less memory.

                 weight.shape    rank 0            rank 1
    before       (5, 3)          5 rows, 60 B      5 rows, 60 B
    after        (5, 3)          3 rows, 36 B      2 rows, ? B

Write `held`, about 6 lines: shard the model over all ranks, then inspect each parameter's shard.

Begin in a script that torchrun starts (README, exploration 2): print ``p.placements`` and
``p.to_local()`` of one parameter.
Afterwards find the answer to ``?`` in ``torch/distributed/fsdp/_fully_shard/_fsdp_param.py``
(``FSDPParam._init_sharded_param``), in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from torch import nn


class Held(NamedTuple):
    """The shape that a parameter reports, and the part of it that this rank holds."""

    shape: tuple[int, ...]
    rows: int
    bytes: int


def held(model: nn.Module) -> dict[str, Held]:
    """Call ``fully_shard`` on `model` itself and return a `Held` for each parameter, by name.

    `shape` is the parameter's own; `rows` is the size of dim 0 of its local part, and `bytes` the
    size of the storage behind that part. Leave out buffers, and send nothing.
    """
    # TODO: fully_shard from torch.distributed.fsdp; then loop over model.named_parameters().
    raise NotImplementedError("held")
