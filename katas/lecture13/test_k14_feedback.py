"""Tests of k14_feedback: what is sent, what is remembered, and where training ends."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k14_feedback import State
from katas.lecture13.k14_feedback import TopK
from katas.lecture13.k14_feedback import compressed_hook
from plugins.kit import Call


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.kit import World


pytestmark = [
    pytest.mark.backend("gloo"),
    # DistributedDataParallel imports it when it is first used.
    pytest.mark.ranks_import("torch._dynamo"),
]


class Bucket:
    """What the hook uses of a ``dist.GradBucket``: gradients of parameters, in one buffer."""

    def __init__(self, parameters: Sequence[nn.Parameter], flat: torch.Tensor) -> None:
        self._parameters = list(parameters)
        self._flat = flat.clone()

    def index(self) -> int:
        """Return the same for all buckets."""
        return 0

    def buffer(self) -> torch.Tensor:
        """Return all gradients as one flat tensor."""
        return self._flat

    def parameters(self) -> list[nn.Parameter]:
        """Return the parameters."""
        return self._parameters

    def gradients(self) -> list[torch.Tensor]:
        """Return views of the buffer."""
        parts = self._flat.split([p.numel() for p in self._parameters])
        return [part.view_as(p) for part, p in zip(parts, self._parameters, strict=True)]


def double(*numbers: float) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(numbers, dtype=torch.float64)


def owners() -> list[nn.Parameter]:
    """Return parameters of two shapes, seven numbers together."""
    return [nn.Parameter(torch.zeros(shape).double()) for shape in ((2, 2), (3,))]


# Irrational, so that float32 on the way shows.
FLATS = 2**0.5 * torch.stack(
    [double(8, 0, -1, 2, 0, 9, 3), double(-4, 1, 7, 0, 0.5, 0, -6), double(0, 8, 0, 1, -9, 2, 4)]
)
HALF = TopK(0.3)


def arrives(flat: torch.Tensor) -> torch.Tensor:
    """Return what others decode from a gradient."""
    return HALF.decode(HALF.encode(flat), flat.numel())


def call_hook() -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return what a bucket becomes, and the errors, for ``FLATS[rank]``."""
    state, parameters = State(HALF), owners()
    bucket = Bucket(parameters, FLATS[dist.get_rank()])
    value = compressed_hook(state, bucket).wait()
    errors = [state.errors[each] for each in parameters]
    kept = [each.clone() for each in errors]
    bucket.buffer().fill_(99)
    same(errors[0].tolist(), kept[0].tolist(), "errors, when DDP writes to its buffer: own memory")
    return value, kept


def test_the_bucket_becomes_the_mean_of_what_was_sent(world: World) -> None:
    """Each of three ranks sends its own largest 2 of 7 elements."""
    expected = torch.stack([arrives(flat) for flat in FLATS]).mean(0)
    results = world(call_hook, 3, timeout=SOON)
    for rank, (value, _) in enumerate(results):
        close(value, expected, f"the future's value on rank {rank}")
    calls = (Call("all_gather", 16), Call("all_gather", 8))
    for rank, made in enumerate(results.calls):
        same(tuple(sorted(made, key=lambda call: -call.bytes)), calls, f"what rank {rank} calls")


def test_the_error_is_what_this_rank_has_not_sent(world: World) -> None:
    """Each parameter has an error tensor of its shape; k counts over the whole bucket."""
    for rank, (_, errors) in enumerate(world(call_hook, 3, timeout=SOON)):
        same([tuple(error.shape) for error in errors], [(2, 2), (3,)], "the shapes of the errors")
        left = FLATS[rank] - arrives(FLATS[rank])
        close(torch.cat([e.flatten() for e in errors]), left, f"the error that rank {rank} keeps")


def steps(flats: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Return the values of all steps, and the errors after them, of ``flats[rank][step]``."""
    state, parameters = State(HALF), owners()
    values = [
        compressed_hook(state, Bucket(parameters, flat)).wait().clone()
        for flat in flats[dist.get_rank()]
    ]
    return values, torch.cat([state.errors[each].flatten() for each in parameters])


def test_nothing_is_lost(world: World) -> None:
    """What was sent in all steps, plus what is left after them, equals the sum of all gradients."""
    generator = torch.Generator().manual_seed(3)
    flats = torch.randint(-50, 50, (2, 9, 7), generator=generator).double()
    results = world(steps, 2, flats, timeout=SOON)
    sent = 2 * sum(results[0][0])
    left = results[0][1] + results[1][1]
    close(sent + left, flats.sum((0, 1)), "sent in nine steps, and left after them, together")


def rearranged() -> tuple[list[float], list[float], list[list[float]]]:
    """Return the values of two buckets that were split from one, and the errors."""
    state = State(HALF)
    first, second, third = (nn.Parameter(torch.zeros(size).double()) for size in (2, 1, 3))
    # Of 6 elements one is sent: the 9 of the third parameter.
    compressed_hook(state, Bucket([first, second, third], double(1, 2, 3, 4, 9, 5))).wait()
    early = compressed_hook(state, Bucket([third, first], double(0, 0, 0, 0, 1))).wait().tolist()
    late = compressed_hook(state, Bucket([second], double(4))).wait().tolist()
    return early, late, [state.errors[each].tolist() for each in (first, second, third)]


def test_errors_belong_to_parameters(world: World) -> None:
    """DDP makes new buckets after the first backward: different sizes, in a different order."""
    ((early, late, errors),) = world(rearranged, 1, timeout=SOON)
    # 1 and 2 are left of the first parameter, 3 of the second, 4, 0 and 5 of the third.
    same(early, [0, 0, 5, 0, 0], "the bucket of the third and the first parameter")
    same(late, [7], "3 that had not been sent, and 4")
    same(errors, [[1, 3], [0], [4, 0, 0]], "the errors, by parameter")


def goes_on_alone() -> bool:
    """Return whether rank 0's hook returns although rank 1 has not reached its own."""
    store = dist.distributed_c10d._get_default_store()  # noqa: SLF001 - there is no public way
    came = True
    if dist.get_rank() == 1:
        try:
            store.wait(["rank 0 is back"], timedelta(seconds=3))
        except RuntimeError:
            came = False
    future = compressed_hook(State(HALF), Bucket(owners(), FLATS[0]))
    store.set("rank 0 is back", "yes")
    future.wait()
    return came


def test_the_hook_does_not_wait_for_the_others(world: World) -> None:
    """Backward continues meanwhile."""
    found = list(world(goes_on_alone, 2, timeout=SOON))
    same(found, [True, True], "does rank 0's hook return before rank 1 has come to it?")


def trained(data: Any) -> tuple[list[torch.Tensor], float]:
    """Train with the hook in DistributedDataParallel; return the parameters and the loss."""
    x, y = (each.chunk(2)[dist.get_rank()] for each in data)
    torch.manual_seed(0)
    ddp = DistributedDataParallel(nn.Linear(6, 1).double())
    ddp.register_comm_hook(State(TopK(0.2)), compressed_hook)
    for _ in range(150):
        ddp.zero_grad()
        loss = (ddp(x) - y).square().mean()
        loss.backward()
        with torch.no_grad():
            for parameter in ddp.parameters():
                parameter.sub_(0.05 * parameter.grad)
    return [parameter.detach() for parameter in ddp.parameters()], loss.item()


def test_training_reaches_the_same_place_on_all_ranks(world: World) -> None:
    """One of seven gradients is sent in each step, and the loss becomes small all the same."""
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(12, 6, generator=generator).double()
    weights = torch.linspace(-1, 2, 6).double()
    results = world(trained, 2, (x, (x @ weights)[:, None]), timeout=2 * SOON)
    for name, one, other in zip(("weight", "bias"), *(found for found, _ in results), strict=True):
        close(one, other, f"the {name} on rank 0, and expected that of rank 1")
    worst = max(loss for _, loss in results)
    assert worst < 0.05, f"the loss after 150 steps: yours {worst}, expected less than 0.05"
