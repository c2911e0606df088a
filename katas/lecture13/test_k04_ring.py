"""Tests of k04_ring: values on all ranks, and every message that was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist

from katas.lecture13 import k04_ring
from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k04_ring import all_gather
from katas.lecture13.k04_ring import all_reduce
from katas.lecture13.k04_ring import exchange
from katas.lecture13.k04_ring import reduce_scatter
from katas.lecture13.messages import check_at_once
from katas.lecture13.messages import recorded
from plugins.kit import Call
from plugins.kit import Sent
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.kit import World


pytestmark = pytest.mark.backend("gloo")

# More and fewer elements than ranks, multiples of 2, 3 and 4, others, and no elements.
LENGTHS = (12, 5, 3, 2, 1, 0)


def drawn(length: int, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    """Return what every rank holds: irrational numbers, or large whole ones."""
    size = dist.get_world_size()
    if dtype == torch.int64:
        return [torch.arange(length) + 2**60 + 3**rank for rank in range(size)]
    return [(torch.arange(length, dtype=dtype) + 2).sqrt() * 3**rank for rank in range(size)]


def swapped() -> tuple[list[float], list[str]]:
    """Exchange two numbers with the neighbours; return what arrived, and the log of messages."""
    incoming = torch.zeros(2)
    with recorded() as log:
        exchange(torch.full((2,), float(dist.get_rank())), incoming)
    return incoming.tolist(), log


def test_one_message_goes_out_while_one_comes_in(world: World) -> None:
    """A rank sends to the next and receives from the previous; both begin before it waits."""
    results = world(swapped, 3, timeout=SOON)
    for rank, (came, log) in enumerate(results):
        same(came, [(rank - 1) % 3] * 2, f"what arrives at rank {rank} of 3, from the one before")
        check_at_once(log)
        sent = [call for call in results.calls[rank] if call.name == "send"]
        same(sent, [Call("send", 8, (rank + 1) % 3)], f"what rank {rank} sends")


def scattered(lengths: Sequence[int]) -> None:
    """Check this rank's chunk after reduce_scatter."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for length in lengths:
        tensors = drawn(length)
        flat = tensors[rank].clone()
        reduce_scatter(flat)
        mine, right = (each.tensor_split(size)[rank] for each in (flat, sum(tensors)))
        close(mine, right, f"chunk {rank} of {size}, of {length} numbers, on rank {rank}")


def test_two_ranks_have_a_half_each(world: World) -> None:
    """One step: rank 0 sends the second half and receives the first."""
    results = world(scattered, 2, [4], timeout=SOON)
    found = sorted(results.calls[0], key=lambda call: call.name != "send")
    same(found, [Call("send", 16, 1), Call("recv", 16, 1)], "the calls of rank 0 of 2")


def test_reduce_scatter_completes_a_chunk_in_each_rank(world: World) -> None:
    """Chunk r is complete on rank r, even if it is empty."""
    world(scattered, 4, LENGTHS, timeout=SOON)


def gathered(lengths: Sequence[int]) -> None:
    """Check all chunks after all_gather; before, only this rank's own is of any use."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for length in lengths:
        expected = drawn(length)[0]
        flat = torch.full_like(expected, torch.nan)
        flat.tensor_split(size)[rank].copy_(expected.tensor_split(size)[rank])
        all_gather(flat)
        close(flat, expected, f"all_gather of {length} numbers, on rank {rank} of {size}")


def test_all_gather_completes_all_chunks(world: World) -> None:
    """What the other chunks hold is not used, and nothing is added to it."""
    world(gathered, 4, LENGTHS, timeout=SOON)


def reduced(lengths: Sequence[int]) -> list[int]:
    """Check the sum in two dtypes; return the bits of a sum that depends on the order of adding."""
    rank, size = dist.get_rank(), dist.get_world_size()
    with recorded():
        for dtype in (torch.float64, torch.int64):
            for length in lengths:
                tensors = drawn(length, dtype)
                flat = tensors[rank].clone()
                all_reduce(flat)
                what = f"the sum of {length} numbers on rank {rank} of {size}"
                if dtype == torch.int64:
                    same(flat.tolist(), sum(tensors).tolist(), f"{what}, int64: added as they are")
                else:
                    close(flat, sum(tensors), what)
    rough = torch.linspace(1, 2, 100) * 10.0 ** torch.arange(100).remainder(7) / (rank + 3)
    all_reduce(rough)
    return rough.view(torch.int32).tolist()


def test_all_ranks_have_the_sum(world: World) -> None:
    """All ranks have the same bits: each chunk is added up once, and then copied."""
    for size in (1, 3):
        results = world(reduced, size, (7, 2, 0), timeout=SOON)
        equal = [results[0] == result for result in results]
        assert [True] * size == equal, (
            f"which ranks have the bits of rank 0: yours {equal}, expected all. If any differ,"
            " copies of a model drift apart"
        )


def ones(length: int) -> None:
    """Reduce this many numbers."""
    all_reduce(torch.ones(length))


def test_the_messages_are_those_of_a_ring(world: World) -> None:
    """Each rank sends 2(n - 1) messages to the next one: twice all bytes, less two chunks.

    The tensor has 41 numbers, or two megabytes, which fit in no buffer on the way.
    """
    chunks = [chunk.nbytes for chunk in torch.ones(41).tensor_split(4)]
    results = world(ones, 4, 41, timeout=SOON)
    for rank, calls in enumerate(results.calls):
        same({call.name for call in calls}, {"send", "recv"}, f"what rank {rank} calls")
        # Its own chunk is not sent until it is complete; the next rank's is not sent again.
        total = 2 * sum(chunks) - chunks[rank] - chunks[(rank + 1) % 4]
        same(results.sent(rank), Sent(6, total), f"what rank {rank} sends in one all-reduce")
        peers = {call.peer for call in calls if call.name == "send"}
        same(peers, {(rank + 1) % 4}, f"to whom rank {rank} sends")
    large = world(ones, 4, 2**19, timeout=SOON)
    same(large.sent(3), Sent(6, 6 * 2**19), "what rank 3 sends of two megabytes, in quarters")


def by_fresh_import() -> list[float]:
    """Return the all_reduce of ones, with collectives forbidden."""
    names = ["all_gather", "all_gather_object", "all_reduce", "all_to_all", "broadcast", "gather"]
    names += ["reduce", "reduce_scatter", "scatter", "nn", "_functional_collectives"]
    with forbids(k04_ring, *(f"torch.distributed.{name}" for name in names)) as fresh:
        fresh.all_reduce(tensor := torch.ones(3))
    return tensor.tolist()


def test_nothing_but_messages_is_used(world: World) -> None:
    """No collective is called: this kata builds one."""
    found: Any = world(by_fresh_import, 2, timeout=SOON)
    same(list(found), [[2.0] * 3] * 2, "the sum of ones on two ranks")
