"""Train a model that no single rank holds, with torch.distributed.pipelining.

You have written a schedule; PyTorch runs one, with three calls. It also sets a trap. Each
micro-batch has its own loss. If that is a mean, the gradients of four micro-batches add up to four
times those of the batch. So `scale_grads`, on by default, divides everything in ``.grad`` after the
batch, including what was there before.

    rank 0   the whole batch        F0 F1 B0 F2 B1 F3 B2 B3
    rank 1   all targets               F0 B0 F1 B1 F2 B2 F3 B3

1. `parts_of`: which layers does a rank hold, for which stages?
2. `pipeline`: a `PipelineStage` for each part, and the schedule called `name`. Who divides?
3. `step`: run one batch. The first rank passes the batch in; the last passes the targets, and a
   list for the micro-batches' losses.

Begin: ``from torch.distributed import pipelining; help(pipelining.Schedule1F1B.step)``.
Afterwards look for `scale_grads` in ``torch/distributed/pipelining/schedules.py``, on your disk.

Real life differs: a stage on a GPU sends with NCCL while it computes.
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

    It contains `PipelineStage`; its `schedules` has `get_schedule_class`, which takes a name, and
    `PipelineScheduleSingle`, the base class of schedules that take one stage. The others take a
    list.
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

    A stage consists of consecutive layers: the given objects, not copies. The lengths of stages
    differ by at most 1; longer stages come first.
    """
    # TODO: divmod gives the lengths.
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
    """Return the schedule `name` for this rank's parts of `stages`, with `count` micro-batches.

    `count` divides the batch. `loss` returns the mean over a micro-batch if `mean` is true,
    otherwise the sum. Add the gradients of the batch to what is already in ``.grad``. Put stages on
    `CPU`.
    """
    # TODO: a stage takes four arguments.
    raise NotImplementedError("pipeline")


def step(schedule: Any, batch: torch.Tensor, target: torch.Tensor) -> torch.Tensor | None:
    """Run one batch through all ranks; return its detached loss on the last rank, else None.

    The loss is the mean or the sum over the batch, as chosen for the schedule. Use `batch` only on
    the first rank and `target` only on the last; elsewhere their values are garbage.
    """
    # TODO: a single rank is both first and last.
    raise NotImplementedError("step")
