"""Train a model that no single rank holds, with torch.distributed.pipelining."""

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
    """Return torch.distributed.pipelining, which takes seconds to import. Given."""
    from torch.distributed import pipelining  # noqa: PLC0415 - takes seconds

    return pipelining


def ends() -> tuple[bool, bool]:
    """Return whether this rank is the first, and whether it is the last. Given."""
    return dist.get_rank() == 0, dist.get_rank() == dist.get_world_size() - 1


def parts_of(
    layers: Sequence[nn.Module], rank: int, ranks: int, chunks: int
) -> dict[int, nn.Sequential]:
    """Return the parts that a rank holds, by stage: `chunks` of them, stage s on rank s % ranks."""
    stages = ranks * chunks
    each, more = divmod(len(layers), stages)
    starts = [each * stage + min(stage, more) for stage in range(stages + 1)]
    return {
        stage: nn.Sequential(*layers[starts[stage] : starts[stage + 1]])
        for stage in range(rank, stages, ranks)
    }


def pipeline(
    parts: Mapping[int, nn.Module],
    stages: int,
    name: str,
    count: int,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    *,
    mean: bool,
) -> Any:
    """Return the schedule `name` for this rank's parts of `stages`, with `count` micro-batches."""
    made = [library().PipelineStage(part, n, stages, CPU) for n, part in parts.items()]
    kind = library().schedules.get_schedule_class(name)
    single = issubclass(kind, library().schedules.PipelineScheduleSingle)
    return kind(
        made[0] if single else made,
        count,
        loss_fn=lambda output, target: loss(output, target) / (count if mean else 1),
        scale_grads=False,
    )


def step(schedule: Any, batch: torch.Tensor, target: torch.Tensor) -> torch.Tensor | None:
    """Run one batch through all ranks; return its detached loss on the last rank, else None."""
    first, last = ends()
    losses: list[torch.Tensor] = []
    schedule.step(
        *([batch] if first else []), **({"target": target, "losses": losses} if last else {})
    )
    return torch.stack(losses).sum().detach() if last else None
