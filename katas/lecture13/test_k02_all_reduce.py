"""Tests of k02_all_reduce: values in all ranks, and every message that was sent."""

from __future__ import annotations

from contextlib import contextmanager
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

from katas.lecture13 import k02_all_reduce
from katas.lecture13.k02_all_reduce import all_gather
from katas.lecture13.k02_all_reduce import all_reduce
from katas.lecture13.k02_all_reduce import reduce_scatter
from plugins.kit import Call
from plugins.kit import Sent
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.kit import World


pytestmark = [
    pytest.mark.backend("gloo"),
    # What `unchanged` looks at in each rank; imported once, and not by each of them.
    pytest.mark.ranks_import("numpy.random"),
]

# More and fewer elements than ranks, multiples of 2, 3 and 4 and none of them, and nothing.
LENGTHS = (12, 8, 5, 3, 2, 1, 0, 1025)
# Ranks that wait for each other are stopped after so many seconds.
SOON = 6


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


@contextmanager
def recorded() -> Iterator[list[str]]:
    """List what a rank does, ``"send 0", "recv 0", "wait for recv 0"``; all must be waited for."""
    log: list[str] = []
    # A request that is dropped takes its message with it, and the other rank would wait.
    kept: list[Message] = []

    def watched(name: str, begin: Any) -> Any:
        numbers = count()

        def call(*args: Any) -> Message:
            kept.append(Message(begin(*args), log, f"{name} {next(numbers)}"))
            return kept[-1]

        return call

    # Where send, recv, isend, irecv and batch_isend_irecv all end, whoever has imported them.
    with pytest.MonkeyPatch.context() as patch:
        for name in ("send", "recv"):
            patch.setattr(dist.ProcessGroup, name, watched(name, getattr(dist.ProcessGroup, name)))
        yield log
    begun = [what for what in log if not what.startswith("wait")]
    missing = [what for what in begun if f"wait for {what}" not in log]
    assert not missing, (
        f"yours does not call wait() of {missing}: until then the tensor belongs to the request, "
        f"and a request that is dropped may take its message with it"
    )


def waiting(function: Callable[..., None], *args: Any) -> None:
    """Call a function that must wait for each of its messages."""
    with recorded():
        function(*args)


def steps_of(function: str) -> list[str]:
    """Return what a rank does, in order: ``"send 0", "recv 0", "wait for recv 0", ...``."""
    with recorded() as log:
        if function == "reduce_scatter":
            reduce_scatter(torch.ones(10), "sum")
        else:
            all_gather(torch.ones(10))
    return log


def check_chunk(
    flat: torch.Tensor, expected: torch.Tensor, number: int, what: str, slack: float = 0.0
) -> None:
    """Compare one chunk of a tensor, which the message names."""
    rank, size = dist.get_rank(), dist.get_world_size()
    mine, right = (tensor.tensor_split(size)[number] for tensor in (flat, expected))
    # Not assert_close: at its first call each rank would import sympy, a second long.
    same = mine.dtype == right.dtype and torch.allclose(
        mine, right, rtol=max(1e-12, slack), atol=slack
    )
    assert same, (
        f"{what}: chunk {number} of {size} is wrong on rank {rank}\n"
        f"yours:    {mine[:8].tolist()}, {mine.dtype}\n"
        f"expected: {right[:8].tolist()}, {right.dtype}"
    )


def check_chunks(flat: torch.Tensor, expected: torch.Tensor, what: str, slack: float = 0.0) -> None:
    """Compare all chunks of a tensor."""
    for number in range(dist.get_world_size()):
        check_chunk(flat.flatten(), expected.flatten(), number, what, slack)


def scattered(op: str, lengths: Sequence[int]) -> None:
    """Check this rank's chunk after reduce_scatter."""
    rank = dist.get_rank()
    for length in lengths:
        tensors = drawn([length])
        flat = tensors[rank].clone()
        waiting(reduce_scatter, flat, op)
        check_chunk(flat, reduced(tensors, op), rank, f"{op} of {length} elements")


def scattered_once() -> None:
    """Check the sum of four numbers, and that nothing is left as it was not."""
    with unchanged():
        scattered("sum", [4])


def test_two_ranks_have_a_half_each(world: World) -> None:
    """One step: rank 0 sends the second half and receives the first."""
    results = world(scattered_once, 2, timeout=SOON)

    found = tuple(sorted(results.calls[0], key=lambda call: call.name != "send"))
    assert (Call("send", 8, 1), Call("recv", 8, 1)) == found, f"the calls of rank 0, yours: {found}"


def assert_at_once(log: list[str]) -> None:
    """Check that a rank sends while it receives: number k of both begins before it waits."""
    for number in range(sum(what.startswith("send") for what in log)):
        pair = (f"send {number}", f"recv {number}")
        begun = max(log.index(what) for what in pair)
        waited = min(log.index(f"wait for {what}") for what in pair)
        assert begun < waited, (
            f"yours waits before both {' and '.join(pair)} have begun, "
            f"so the ranks wait for each other, all round the ring. In order: {log}"
        )


def test_a_rank_sends_while_it_receives(world: World) -> None:
    """In each step: if it received first and sent then, n messages would wait for each other."""
    for log in world(steps_of, 3, "reduce_scatter", timeout=SOON):
        assert_at_once(log)


def scattered_by_both(lengths: Sequence[int]) -> None:
    """Check sums and maxima."""
    scattered("sum", lengths)
    scattered("max", lengths)


def test_reduce_scatter_completes_a_chunk_in_each_rank(world: World) -> None:
    """Chunk r in rank r, of any size; all numbers of a chunk may be negative."""
    for size in (3, 4):
        world(scattered_by_both, size, LENGTHS, timeout=SOON)


def gathered(lengths: Sequence[int]) -> None:
    """Check all chunks after all_gather; before, only this rank's own is of any use."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for length in lengths:
        expected = drawn([length])[0]
        flat = torch.full_like(expected, torch.nan)
        flat.tensor_split(size)[rank].copy_(expected.tensor_split(size)[rank])
        waiting(all_gather, flat)
        check_chunks(flat, expected, f"all_gather of {length} elements")


def test_all_gather_completes_all_chunks(world: World) -> None:
    """Of the others nothing is used, and nothing is added to it."""
    for size in (2, 4):
        world(gathered, size, LENGTHS, timeout=SOON)


def test_all_gather_waits_too(world: World) -> None:
    """For each message, and for none before both of a step are under way."""
    for log in world(steps_of, 3, "all_gather", timeout=SOON):
        assert_at_once(log)


def everywhere(lengths: Sequence[int]) -> None:
    """Check the tensor after all_reduce."""
    for op, length in product(("sum", "max", "avg"), lengths):
        tensors = drawn([length])
        tensor = tensors[dist.get_rank()].clone()
        waiting(all_reduce, tensor, op)
        # To divide each number by n first, or to multiply by 1 / n, rounds otherwise.
        slack = 1e-5 if op == "avg" else 0.0
        check_chunks(tensor, reduced(tensors, op), f"{op} of {length} elements", slack)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_all_ranks_have_it(world: World, size: int) -> None:
    """The sum, the maximum, the average, of tensors of any length."""
    world(everywhere, size, LENGTHS, timeout=SOON)


def other_dtypes() -> None:
    """Check numbers that float32 cannot hold, and sums that are rounded."""
    rank, size = dist.get_rank(), dist.get_world_size()
    large = torch.tensor([2**53 + 1, -(2**60)] * 3) + rank
    waiting(all_reduce, large)
    expected = torch.tensor([size * (2**53 + 1) + 3, -size * 2**60 + 3] * 3)
    check_chunks(large, expected, "sum of int64 that float64 cannot hold")
    for dtype in (torch.bfloat16, torch.float64, torch.int8):
        tensors = [(tensor / 8).to(dtype) for tensor in drawn([2, 9])]
        tensor = tensors[rank].clone()
        waiting(all_reduce, tensor)
        check_chunks(tensor, reduced(tensors, "sum"), f"sum in {dtype}")
    # Of irrational numbers: those of float32 would differ from the eighth digit on.
    roots = [torch.arange(1, 8, dtype=torch.float64).sqrt() * (each + 1) for each in range(size)]
    waiting(all_reduce, tensor := roots[rank].clone())
    check_chunks(tensor, torch.stack(roots).sum(0), "sum of irrational float64")


def test_numbers_are_added_in_their_own_dtype(world: World) -> None:
    """Large integers are not rounded on the way."""
    world(other_dtypes, 3, timeout=SOON)


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
                waiting(all_reduce, tensor)
                what = f"sum of a tensor of shape {shape} and strides {tensor.stride()}"
                check_chunks(tensor, reduced(tensors, "sum"), what)
                storages.append(pointer == tensor.data_ptr())
        between = room[..., 1].flatten().tolist()
        assert [99.0] * len(between) == between, (
            f"yours writes between the elements of a tensor with gaps: {between}; they were 99"
        )
    return storages


def test_a_tensor_of_any_layout_is_changed_in_place(world: World) -> None:
    """Transposed, with gaps, without dims, empty; the ranks need not have the same strides."""
    for storages in world(laid_out, 3, timeout=SOON):
        assert all(storages), "yours gives the tensor another storage: who holds a view of it sees"


def rounded() -> list[int]:
    """Return the bits of a sum that depends on the order of adding."""
    generator = torch.Generator().manual_seed(dist.get_rank())
    tensor = torch.randn(1000, generator=generator) * 10.0 ** torch.arange(1000).remainder(7)
    waiting(all_reduce, tensor)
    return tensor.view(torch.int32).tolist()


def test_all_ranks_have_the_same_bits(world: World) -> None:
    """Sums of floats depend on the order: each is added up once, and then copied."""
    results = world(rounded, 4, timeout=SOON)

    same = [results[0] == result for result in results]
    assert [True] * 4 == same, (
        f"which ranks of yours have the bits of rank 0: {same}; with others, parameters drift apart"
    )


def ones(lengths: Sequence[int]) -> None:
    """Reduce tensors of so many numbers."""
    for length in lengths:
        tensor = torch.ones(length)
        waiting(all_reduce, tensor)
        check_chunks(tensor, torch.full((length,), float(dist.get_world_size())), "sum of ones")


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_messages_are_those_of_a_ring(world: World, size: int) -> None:
    """From each rank to the next, 2(n-1) of one chunk: of all bytes but two chunks, twice."""
    lengths = (40, 41, 3, 2, 0)
    results = world(ones, size, lengths, timeout=SOON)

    steps = 2 * (size - 1)
    for rank, calls in enumerate(results.calls):
        used = {call.name for call in calls}
        assert {"send", "recv"} >= used, f"write it, by send and recv; yours uses {used}"
        following = (rank + 1) % size
        to = {call.peer for call in calls if call.name == "send"}
        assert {following} >= to, f"rank {rank} of yours sends to {to}; in a ring, to {following}"
        source = {call.peer for call in calls if call.name == "recv"}
        assert {(rank - 1) % size} >= source, f"rank {rank} of yours receives from {source}"
        sends = [call.bytes for call in calls if call.name == "send"]
        received = results.sent(rank, "recv").messages
        assert steps * len(lengths) == len(sends) == received, (
            f"rank {rank} of yours sends {len(sends)} messages and receives {received}; expected: "
            f"{steps} in each of {len(lengths)} all-reduces, those of empty chunks too"
        )
        for number, length in enumerate(lengths):
            chunks = [chunk.nbytes for chunk in torch.ones(length).tensor_split(size)]
            sent = sends[number * steps : (number + 1) * steps]
            assert {*chunks} >= {*sent}, f"a message is a chunk, {chunks} bytes; yours: {sent}"
            # Its own chunk is not sent until it is complete, the next one's not any more.
            total = 2 * sum(chunks) - chunks[rank] - chunks[following] if steps else 0
            assert total == sum(sent), (
                f"rank {rank} of {size} sends {sum(sent)} bytes of yours for {length} numbers; "
                f"a ring: {total}"
            )


def test_a_large_tensor_does_not_block(world: World) -> None:
    """Eight megabytes in chunks of two: no buffer on the way takes them."""
    results = world(ones, 4, [2 * 2**20], timeout=SOON)

    found = results.sent(3)
    assert Sent(6, 6 * 2 * 2**20) == found, f"six messages of a quarter; yours: {found}"


def by_fresh_import() -> list[float]:
    """Return what all_reduce makes of ones, where nothing else of torch.distributed may help."""
    names = ["all_gather", "all_gather_into_tensor", "all_gather_object", "all_gather_single"]
    names += ["all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce"]
    names += ["reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter"]
    names += ["nn", "_functional_collectives"]
    forbidden = [f"torch.distributed.{name}" for name in names]
    # A method of whatever object: of a process group, or of its backend.
    forbidden += [f"torch.Tensor.{name}" for name in ("allreduce", "allgather", "_get_backend")]
    with forbids(k02_all_reduce, *forbidden) as fresh:
        fresh.all_reduce(tensor := torch.ones(3))
    return tensor.tolist()


def test_nothing_but_messages_is_used(world: World) -> None:
    """No collective, by whatever name: not of a process group, nor of its backend."""
    for found in world(by_fresh_import, 2, timeout=SOON):
        assert [2.0] * 3 == found, f"the sum of ones on two ranks; yours: {found}"


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
    check_chunks(tensor, torch.ones_like(tensor), "avg of ones")
    return mode.largest, mode.peak


def test_a_contiguous_tensor_is_not_copied(world: World) -> None:
    """Of 1010 numbers 253 are a chunk, rounded up: there are never more than two beside it."""
    for largest, peak in world(partial(allocated, transposed=False), 4, timeout=SOON):
        assert largest <= 253 * 4, f"yours makes a tensor of {largest} bytes; a chunk has 1012"
        assert peak <= 2 * 253 * 4, f"yours holds {peak} new bytes at a time; two chunks have 2024"


def test_any_other_tensor_is_copied_once(world: World) -> None:
    """Its copy, and as much beside that as with a contiguous one."""
    for _, peak in world(partial(allocated, transposed=True), 4, timeout=SOON):
        assert peak <= (1010 + 2 * 253) * 4, (
            f"yours holds {peak} new bytes at a time; a copy and two chunks have 6064"
        )
