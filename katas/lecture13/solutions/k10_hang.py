"""Hangs: collectives that do not match, a guard that tells before, and a post-mortem."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import distributed as dist
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence
    from types import TracebackType


class DisagreementError(RuntimeError):
    """The ranks are about to do different things. Given."""


def mean_on_first(loss: torch.Tensor) -> float | None:
    """Return the mean of the ranks' losses on rank 0, None elsewhere."""
    total = loss.clone()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size() if dist.get_rank() == 0 else None


def sum_gradients(gradients: dict[str, torch.Tensor]) -> None:
    """Replace each gradient by its sum over the ranks."""
    for name in sorted(gradients):
        dist.all_reduce(gradients[name])


def averages(batches: list[torch.Tensor], zero: torch.Tensor) -> list[torch.Tensor]:
    """Return for each step the average over the ranks that still have a batch."""
    steps = torch.tensor(len(batches))
    dist.all_reduce(steps, dist.ReduceOp.MAX)
    found = []
    for step in range(int(steps)):
        # Who has no batch any more goes on taking part, and counts for nothing.
        total = batches[step].clone() if step < len(batches) else torch.zeros_like(zero)
        present = torch.tensor(int(step < len(batches)))
        dist.all_reduce(total)
        dist.all_reduce(present)
        found.append(total / present)
    return found


def sum_if_finite(gradient: torch.Tensor) -> bool:
    """Replace a gradient by its sum over the ranks, unless something in it is not finite."""
    finite = gradient.isfinite().all().int()
    dist.all_reduce(finite, dist.ReduceOp.MIN)
    if finite:
        dist.all_reduce(gradient)
    return bool(finite)


def adopt_best(loss: float, weights: torch.Tensor) -> None:
    """Take the weights of the rank with the least loss."""
    losses = torch.empty(dist.get_world_size(), dtype=torch.float64)
    # Views of one number each, so all of them arrive in one tensor.
    dist.all_gather(list(losses.split(1)), torch.tensor([loss], dtype=torch.float64))
    dist.broadcast(weights, int(losses.argmin()))


def gather_ragged(values: torch.Tensor) -> list[torch.Tensor]:
    """Return the tensors of all ranks, each as long as it is."""
    lengths = torch.empty(dist.get_world_size(), dtype=torch.int64)
    dist.all_gather(list(lengths.split(1)), torch.tensor([len(values)]))
    padded = values.new_zeros(int(lengths.max()))
    padded[: len(values)] = values
    parts = [torch.empty_like(padded) for _ in lengths]
    dist.all_gather(parts, padded)
    return [part[:length] for part, length in zip(parts, lengths, strict=True)]


def disagreement(number: int, said: Sequence[str | None]) -> str | None:
    """Return a line with who says what about a collective, or None if all say the same."""
    groups: dict[str | None, list[str]] = defaultdict(list)
    for rank, text in enumerate(said):
        groups[text].append(str(rank))
    if len(groups) == 1:
        return None
    told = [
        f"rank{'s' * (len(ranks) > 1)} {', '.join(ranks)}: {text or 'nothing'}"
        for text, ranks in groups.items()
    ]
    return f"collective {number}: {'; '.join(told)}"


class Meeting:
    """A place where ranks say what they are about to do, and hear what the others are."""

    def __init__(self, store: dist.Store, rank: int, size: int, seconds: float) -> None:
        self.store = store
        self.rank = rank
        self.size = size
        self.timeout = timedelta(seconds=seconds)
        self.number = 0

    def say(self, text: str) -> None:
        """Go on to the next number, and tell the others this about it."""
        self.number += 1
        self.store.set(self._key(self.rank), text)

    def agree(self, text: str) -> None:
        """Say this, wait for what all others say, and raise unless it is the same."""
        self.say(text)
        keys = [self._key(rank) for rank in range(self.size)]
        # Who has not come in time is found out below.
        with suppress(RuntimeError):
            self.store.wait(keys, self.timeout)
        said = [self.store.get(key).decode() if self.store.check([key]) else None for key in keys]
        if line := disagreement(self.number, said):
            raise DisagreementError(line)

    def _key(self, rank: int) -> str:
        return f"collective{self.number}/{rank}"


class Guard(TorchDispatchMode):
    """Lets a collective run only if all ranks are about to run the same one."""

    def __init__(self, meeting: Meeting) -> None:
        super().__init__()
        self.meeting = meeting

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Given: without it the first operator would import all of Dynamo, which takes seconds."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run an operator; before a collective, agree with the other ranks about it."""
        name = func._schema.name.removeprefix("c10d::")  # noqa: SLF001 - its only name
        if func.namespace == "c10d" and name not in {"send", "recv_", "recv_any_source_"}:
            names = [argument.name for argument in func._schema.arguments]  # noqa: SLF001
            root = dict(zip(names, args, strict=False)).get("root_rank")
            tensors = [x for x in pytree.tree_leaves(args) if isinstance(x, torch.Tensor)]
            kinds = [(tensor.dtype, list(tensor.shape)) for tensor in tensors]
            self.meeting.agree(f"{name} {kinds} {root}")
        return func(*args, **(kwargs or {}))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Agree with the other ranks that this is the end, or tell them of an exception."""
        super().__exit__(kind, error, traceback)
        if kind is None:
            self.meeting.agree("the end")
        elif not issubclass(kind, DisagreementError):
            self.meeting.say(kind.__name__)


def diagnose(
    dumps: Sequence[Mapping[str, Any]],
) -> tuple[int, dict[str, list[int]]] | None:
    """Return the first collective that not all ranks have finished, and who did what in it."""
    calls: list[dict[int, str]] = []
    for dump in dumps:
        entries = [entry for entry in dump["entries"] if not entry["is_p2p"]]
        calls.append(
            {
                entry["collective_seq_id"]: f"{entry['profiling_name']} {entry['input_sizes']}"
                + " retired" * entry["retired"]
                for entry in entries
            }
        )
    firsts = [min(numbers) for numbers in calls if numbers]
    for number in sorted(set().union(*calls)):
        # What one buffer has lost says nothing.
        if number < max(firsts):
            continue
        groups: dict[str, list[int]] = defaultdict(list)
        for rank, numbers in enumerate(calls):
            groups[numbers.get(number, "no call")].append(rank)
        if len(groups) > 1 or not next(iter(groups)).endswith(" retired"):
            return number, dict(groups)
    return None
