"""Tests of k02_all_reduce: values in all ranks, and every message that was sent."""

from __future__ import annotations

from functools import partial
from itertools import count
from itertools import product
from typing import TYPE_CHECKING
from typing import Any
from weakref import ref

import pytest
import torch
from torch import distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from katas.lecture13.k02_all_reduce import all_gather
from katas.lecture13.k02_all_reduce import all_reduce
from katas.lecture13.k02_all_reduce import reduce_scatter
from plugins.kit import Call
from plugins.kit import Sent


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.kit import World


pytestmark = pytest.mark.backend("gloo")

# More and fewer elements than ranks, multiples of 2, 3 and 4 and none of them, and nothing.
LENGTHS = (12, 8, 5, 3, 2, 1, 0, 1025)


def drawn(shape: Sequence[int], dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """Return what every rank holds: whole numbers below 0 as well, different in each."""
    generator = torch.Generator().manual_seed(sum(shape) + 1)
    size = dist.get_world_size()
    return [torch.randint(-50, 9, shape, generator=generator).to(dtype) for _ in range(size)]


def reduced(tensors: list[torch.Tensor], op: str) -> torch.Tensor:
    """Return what all ranks shall have."""
    stacked = torch.stack(tensors)
    if op == "max":
        return stacked.amax(0)
    return stacked.mean(0) if op == "avg" else stacked.sum(0).to(stacked.dtype)


def scattered(op: str, lengths: Sequence[int]) -> None:
    """Check this rank's chunk after reduce_scatter."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for length in lengths:
        tensors = drawn([length])
        flat = tensors[rank].clone()
        reduce_scatter(flat, op)
        expected = reduced(tensors, op).tensor_split(size)[rank]
        assert expected.tolist() == flat.tensor_split(size)[rank].tolist(), (
            f"chunk {rank} of rank {rank}, by {op}, of {length} elements in {size} chunks"
        )


def test_two_ranks_have_a_half_each(world: World) -> None:
    """One step: rank 0 sends the second half and receives the first."""
    results = world(scattered, 2, "sum", [4])

    assert (Call("send", 8, 1), Call("recv", 8, 1)) == tuple(
        sorted(results.calls[0], key=lambda call: call.name != "send")
    )


class Message:
    """Remembers when a message was begun, and when somebody first waited for it."""

    def __init__(self, work: Any, log: list[str], name: str) -> None:
        self._work, self._log, self._name = work, log, name
        log.append(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    def wait(self, *args: Any) -> Any:
        """Wait."""
        if (what := f"wait for {self._name}") not in self._log:
            self._log.append(what)
        return self._work.wait(*args)


def steps_of(function: str) -> list[str]:
    """Return what a rank does, in order: ``"send 0", "recv 0", "wait for recv 0", ...``."""
    log: list[str] = []

    def watched(name: str, begin: Any) -> Any:
        numbers = count()
        return lambda *args: Message(begin(*args), log, f"{name} {next(numbers)}")

    # Where send, recv, isend, irecv and batch_isend_irecv all end, whoever has imported them.
    with pytest.MonkeyPatch.context() as patch:
        for name in ("send", "recv"):
            patch.setattr(dist.ProcessGroup, name, watched(name, getattr(dist.ProcessGroup, name)))
        if function == "reduce_scatter":
            reduce_scatter(torch.ones(10), "sum")
        else:
            all_gather(torch.ones(10))
    return log


def assert_waited(log: list[str]) -> None:
    """Check that each message was waited for."""
    begun = [what for what in log if not what.startswith("wait")]
    missing = [what for what in begun if f"wait for {what}" not in log]
    assert not missing, f"call wait() of each request: not of {missing}"


def assert_at_once(log: list[str]) -> None:
    """Check that a rank sends while it receives: number k of both begins before it waits."""
    for number in range(sum(what.startswith("send") for what in log)):
        pair = (f"send {number}", f"recv {number}")
        begun = max(log.index(what) for what in pair)
        waited = min(log.index(f"wait for {what}") for what in pair)
        assert begun < waited, (
            f"begin both {' and '.join(pair)} before you wait for either: "
            f"or else the ranks wait for each other, all round the ring. In order: {log}"
        )


def test_every_message_is_waited_for(world: World) -> None:
    """Until a send is complete the tensor belongs to it: whoever gets it back may write to it."""
    for log in world(steps_of, 3, "reduce_scatter"):
        assert_waited(log)


def test_a_rank_sends_while_it_receives(world: World) -> None:
    """In each step: if it received first and sent then, n messages would wait for each other."""
    for log in world(steps_of, 3, "reduce_scatter"):
        assert_at_once(log)


def scattered_by_both(lengths: Sequence[int]) -> None:
    """Check sums and maxima."""
    scattered("sum", lengths)
    scattered("max", lengths)


def test_reduce_scatter_completes_a_chunk_in_each_rank(world: World) -> None:
    """Chunk r in rank r, of any size; all numbers of a chunk may be negative."""
    for size in (3, 4):
        world(scattered_by_both, size, LENGTHS)


def gathered(lengths: Sequence[int]) -> None:
    """Check all chunks after all_gather; before, only this rank's own is of any use."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for length in lengths:
        expected = drawn([length])[0]
        flat = torch.full_like(expected, torch.nan)
        flat.tensor_split(size)[rank].copy_(expected.tensor_split(size)[rank])
        all_gather(flat)
        assert expected.tolist() == flat.tolist(), f"{length} elements, {size} ranks"


def test_all_gather_completes_all_chunks(world: World) -> None:
    """Of the others nothing is used, and nothing is added to it."""
    for size in (2, 4):
        world(gathered, size, LENGTHS)


def test_all_gather_waits_too(world: World) -> None:
    """For each message, and for none before both of a step are under way."""
    for log in world(steps_of, 3, "all_gather"):
        assert_waited(log)
        assert_at_once(log)


def everywhere(lengths: Sequence[int]) -> None:
    """Check the tensor after all_reduce."""
    for op, length in product(("sum", "max", "avg"), lengths):
        tensors = drawn([length])
        tensor = tensors[dist.get_rank()].clone()
        all_reduce(tensor, op)
        expected = reduced(tensors, op)
        assert torch.allclose(expected, tensor), f"{op} of {length} elements: {tensor}"


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_all_ranks_have_it(world: World, size: int) -> None:
    """The sum, the maximum, the average, of tensors of any length."""
    world(everywhere, size, LENGTHS)


def other_dtypes() -> None:
    """Check numbers that float32 cannot hold, and sums that are rounded."""
    rank, size = dist.get_rank(), dist.get_world_size()
    large = torch.tensor([2**53 + 1, -(2**60)] * 3) + rank
    all_reduce(large)
    assert [size * (2**53 + 1) + 3, -size * 2**60 + 3] * 3 == large.tolist()
    for dtype in (torch.bfloat16, torch.float64, torch.int8):
        tensors = [(tensor / 8).to(dtype) for tensor in drawn([2, 9])]
        tensor = tensors[rank].clone()
        all_reduce(tensor)
        assert reduced(tensors, "sum").tolist() == tensor.tolist()
        assert dtype == tensor.dtype


def test_numbers_are_added_in_their_own_dtype(world: World) -> None:
    """Large integers are not rounded on the way."""
    world(other_dtypes, 3)


def laid_out() -> list[bool]:
    """Check tensors of several shapes and strides: another layout in each rank."""
    rank = dist.get_rank()
    storages = []
    for shape in ((), (3, 5), (2, 1, 7), (4, 0, 2)):
        tensors = drawn(shape)
        room = torch.full((*shape, 2), 99.0)
        strided = room[..., 0]
        transposed = torch.empty(shape[::-1]).permute(list(reversed(range(len(shape)))))
        for each, layout in enumerate((strided, transposed, torch.empty(shape))):
            # In the second round rank 0 has a strided tensor, rank 1 a transposed one, ...
            for tensor in (layout, (strided, transposed, torch.empty(shape))[(rank + each) % 3]):
                pointer = tensor.data_ptr()
                tensor.copy_(tensors[rank])
                all_reduce(tensor)
                assert reduced(tensors, "sum").tolist() == tensor.tolist(), f"{shape}, {layout}"
                storages.append(pointer == tensor.data_ptr())
        assert [99.0] * room[..., 1].numel() == room[..., 1].flatten().tolist(), "in between"
    return storages


def test_a_tensor_of_any_layout_is_changed_in_place(world: World) -> None:
    """Transposed, with gaps, without dims, empty; the ranks need not have the same strides."""
    for storages in world(laid_out, 3):
        assert all(storages)


def rounded() -> list[int]:
    """Return the bits of a sum that depends on the order of adding."""
    generator = torch.Generator().manual_seed(dist.get_rank())
    tensor = torch.randn(1000, generator=generator) * 10.0 ** torch.arange(1000).remainder(7)
    all_reduce(tensor)
    return tensor.view(torch.int32).tolist()


def test_all_ranks_have_the_same_bits(world: World) -> None:
    """Sums of floats depend on the order: each is added up once, and then copied."""
    results = world(rounded, 4)

    assert [True] * 4 == [results[0] == result for result in results], "parameters would drift"


def ones(lengths: Sequence[int]) -> None:
    """Reduce tensors of so many numbers."""
    for length in lengths:
        tensor = torch.ones(length)
        all_reduce(tensor)
        assert [dist.get_world_size()] * length == tensor.tolist()


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_messages_are_those_of_a_ring(world: World, size: int) -> None:
    """From each rank to the next, 2(n-1) of one chunk: of all bytes but two chunks, twice."""
    lengths = (40, 41, 3, 2, 0)
    results = world(ones, size, lengths)

    steps = 2 * (size - 1)
    for rank, calls in enumerate(results.calls):
        assert {"send", "recv"} >= {call.name for call in calls}, "write it, by send and recv"
        following = (rank + 1) % size
        assert {following} >= {call.peer for call in calls if call.name == "send"}
        assert {(rank - 1) % size} >= {call.peer for call in calls if call.name == "recv"}
        sends = [call.bytes for call in calls if call.name == "send"]
        assert steps * len(lengths) == len(sends) == results.sent(rank, "recv").messages
        for number, length in enumerate(lengths):
            chunks = [chunk.nbytes for chunk in torch.ones(length).tensor_split(size)]
            sent = sends[number * steps : (number + 1) * steps]
            assert {*chunks} >= {*sent}, "a message is a chunk"
            # Its own chunk is not sent until it is complete, the next one's not any more.
            total = 2 * sum(chunks) - chunks[rank] - chunks[following] if steps else 0
            assert total == sum(sent), f"bytes of rank {rank} of {size}, {length} numbers"


def test_a_large_tensor_does_not_block(world: World) -> None:
    """Eight megabytes in chunks of two: no buffer on the way takes them."""
    results = world(ones, 4, [2 * 2**20])

    assert Sent(6, 6 * 2 * 2**20) == results.sent(3), "six messages of a quarter"


class Allocations(TorchDispatchMode):
    """Notes what operators have made besides one tensor: the largest, and all at one time."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__()
        self._known = tensor.untyped_storage().data_ptr()
        self._made: list[ref[torch.Tensor]] = []
        self.largest = self.peak = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # To be skipped by a decorator would import all of Dynamo in each rank.
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self._made += [ref(each) for each in tree_leaves(result) if isinstance(each, torch.Tensor)]
        alive = [each for made in self._made if (each := made()) is not None]
        sizes = {s.data_ptr(): s.nbytes() for s in (each.untyped_storage() for each in alive)}
        sizes.pop(self._known, None)
        self.largest = max(self.largest, *sizes.values(), 0)
        self.peak = max(self.peak, sum(sizes.values()))
        return result


def allocated(*, transposed: bool) -> tuple[int, int]:
    """Return the bytes of the largest storage that all_reduce makes, and of all at one time."""
    tensor = torch.ones(101, 10).t() if transposed else torch.ones(10, 101)
    with Allocations(tensor) as mode:
        all_reduce(tensor, "avg")
    assert [1.0] * 1010 == tensor.flatten().tolist()
    return mode.largest, mode.peak


def test_a_contiguous_tensor_is_not_copied(world: World) -> None:
    """Of 1010 numbers 253 are a chunk, rounded up: there are never more than two beside it."""
    for largest, peak in world(partial(allocated, transposed=False), 4):
        assert 253 * 4 >= largest, "bytes of the largest new storage"
        assert 2 * 253 * 4 >= peak, "bytes of all new storages at one time"


def test_any_other_tensor_is_copied_once(world: World) -> None:
    """Its copy, and as much beside that as with a contiguous one."""
    for _, peak in world(partial(allocated, transposed=True), 4):
        assert (1010 + 2 * 253) * 4 >= peak, "bytes of all new storages at one time"
