"""Train a model that no rank holds, with torch.distributed.pipelining.

You have written a schedule; PyTorch runs it, with three calls. It also offers a trap. Each
micro-batch has its own loss; if that is a mean, the gradients of four micro-batches add up to four
times those of the batch. So `scale_grads`, which is on by default, divides what is in ``.grad``
after the batch: what was there before it, too.

    rank 0   the batch, whole       F0 F1 B0 F2 B1 F3 B2 B3
    rank 1   the targets, whole        F0 B0 F1 B1 F2 B2 F3 B3

1. `parts_of`: which layers does this rank hold, for which stages?
2. `pipeline`: a `PipelineStage` for each part, and the schedule of that name. Who divides?
3. `step`: one batch. The first rank passes it in; the last one passes targets, and a list for the
   losses of the micro-batches.

Begin: ``from torch.distributed import pipelining; help(pipelining.Schedule1F1B.step)``.
Afterwards look for `scale_grads` in ``torch/distributed/pipelining/schedules.py``, on your disk.

Real life differs: a stage on a GPU sends by NCCL, while it computes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import distributed as dist
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping
    from collections.abc import Sequence
    from types import ModuleType


CPU = torch.device("cpu")


def library() -> ModuleType:
    """Return torch.distributed.pipelining, which takes seconds to import. Given.

    It has `PipelineStage`; in its `schedules` are `get_schedule_class`, which takes a name, and
    `PipelineScheduleSingle`, the base of those that take one stage. Others take a list.
    """
    from torch.distributed import pipelining  # noqa: PLC0415 - takes seconds

    return pipelining


def ends() -> tuple[bool, bool]:
    """Return whether this rank is the first, and whether it is the last. Given."""
    return dist.get_rank() == 0, dist.get_rank() == dist.get_world_size() - 1


def parts_of(
    layers: Sequence[nn.Module], rank: int, ranks: int, chunks: int
) -> dict[int, nn.Sequential]:
    """Return the parts that a rank holds, by stage: `chunks` of them, stage s on rank s % ranks.

    Stages have consecutive layers, as they are, no copies. Their lengths differ by at most 1; the
    longer ones come first.
    """
    # TODO: divmod says how long.
    raise NotImplementedError("parts_of")


def pipeline(
    parts: Mapping[int, nn.Module],
    stages: int,
    name: str,
    count: int,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    *,
    mean: bool,
) -> Any:
    """Return the schedule `name` of this rank's parts, of `stages`, for `count` micro-batches.

    `count` divides the batch. `loss` is the mean over a micro-batch if `mean` is true, else its
    sum. Gradients are to be those of the batch, added to what is in ``.grad`` already. Stages are
    on `CPU`.
    """
    # TODO: four arguments make a stage.
    raise NotImplementedError("pipeline")


def step(schedule: Any, batch: torch.Tensor, target: torch.Tensor) -> torch.Tensor | None:
    """Run one batch through all ranks; return its loss, detached, on the last rank, else None.

    The loss is the mean over the batch, or its sum, as the schedule was made. `batch` is meant for
    the first rank and `target` for the last; on other ranks they are unusable.
    """
    # TODO: a single rank is both ends.
    raise NotImplementedError("step")
