"""Tests of k06_compression: messages, what is remembered, and where training ends."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import distributed as dist
from torch import nn
from torch.distributed import distributed_c10d
from torch.nn.parallel import DistributedDataParallel

from katas.lecture13 import k06_compression
from katas.lecture13.k06_compression import Compressor
from katas.lecture13.k06_compression import Signs
from katas.lecture13.k06_compression import State
from katas.lecture13.k06_compression import TopK
from katas.lecture13.k06_compression import compressed_hook
from plugins.kit import forbids
from plugins.kit import tensors
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.kit import World


pytestmark = [
    pytest.mark.backend("gloo"),
    # DistributedDataParallel imports it when it is first used.
    pytest.mark.ranks_import("torch._dynamo"),
]

# Irrational numbers, zeros of both signs and denormals, of two dtypes.
FINITE = (0.0, -0.0, "denormal")
FLAT = tensors(
    min_dims=1, max_dims=1, max_side=40, special=FINITE, layouts=("contiguous", "offset")
).filter(len)


class Bucket:
    """What the hook uses of a ``dist.GradBucket``: gradients of parameters, in one buffer."""

    def __init__(self, parameters: Sequence[nn.Parameter], flat: torch.Tensor) -> None:
        self._parameters = list(parameters)
        self._flat = flat.clone()

    def index(self) -> int:
        """Return the same for all buckets."""
        return 0

    def is_last(self) -> bool:
        """Return whether it is the last one to be reduced."""
        return True

    def buffer(self) -> torch.Tensor:
        """Return all gradients, flat."""
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


def parameters(*shapes: tuple[int, ...]) -> list[nn.Parameter]:
    """Return parameters of these shapes."""
    return [nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for shape in shapes]


def nbytes(message: tuple[torch.Tensor, ...]) -> int:
    """Return how many bytes a message has."""
    return sum(tensor.nbytes for tensor in message)


def there_and_back(compressor: Compressor, flat: torch.Tensor) -> torch.Tensor:
    """Return what arrives of a tensor, which is not changed, nor is the message."""
    with unchanged(flat=flat):
        message = compressor.encode(flat)
        with unchanged(message=message):
            decoded = compressor.decode(message, flat.numel())
    assert flat.dtype == decoded.dtype, f"yours decodes {flat.dtype} as {decoded.dtype}"
    return decoded


def close(found: Any, expected: Any, where: str) -> None:
    """Compare float64 tensors; float32 on the way shows in the eighth digit."""
    torch.testing.assert_close(
        found, expected, rtol=1e-11, atol=1e-12, msg=lambda text: f"{where}: {text}"
    )


def test_the_largest_magnitudes_are_sent() -> None:
    """With their signs, and with positions of 4 bytes."""
    flat = double(1, -7, 0.5, 6, 2, -3)
    message = TopK(0.5).encode(flat)

    assert 2 == len(message), f"values and positions; your message has {len(message)} tensors"
    values, positions = message
    assert torch.float64 == values.dtype, f"the values of yours are {values.dtype}"
    assert torch.int32 == positions.dtype, (
        f"the positions of yours are {positions.dtype}: int32 is enough, and half of int64"
    )
    sent = sorted(zip(positions.tolist(), values.tolist(), strict=True))
    assert [(1, -7.0), (3, 6.0), (5, -3.0)] == sent, f"of {flat.tolist()} yours sends {sent}"
    decoded = TopK(0.5).decode(message, 6).tolist()
    assert [0, -7, 0, 6, 0, -3] == decoded, f"yours decodes {sent} as {decoded}"


@pytest.mark.parametrize(("fraction", "expected"), [(0.25, 2), (0.4, 4), (0.001, 1), (1.0, 10)])
def test_a_fraction_is_rounded_down_but_to_1_at_least(fraction: float, expected: int) -> None:
    """Of ten elements."""
    values, positions = TopK(fraction).encode(torch.linspace(-1, 2, 10))

    shapes = [tuple(values.shape), tuple(positions.shape)]
    assert [(expected,)] * 2 == shapes, f"a fraction of {fraction} of 10; yours sends {shapes}"
    assert torch.float32 == values.dtype, f"the values of yours are {values.dtype}, not float32"


def test_signs_arrive_with_the_mean_of_the_magnitudes() -> None:
    """0 counts as positive, also the one that floats write as -0.0."""
    for flat, expected in (
        (double(1, -3, 0, 4, -2), [2, -2, 2, 2, -2]),
        (double(1, -3, -0.0, 4, -2), [2, -2, 2, 2, -2]),
        (double(0, 0), [0, 0]),
    ):
        found = there_and_back(Signs(), flat).tolist()
        assert expected == found, f"{flat.tolist()} arrives as\nyours:    {found}\nnot {expected}"


@pytest.mark.parametrize("size", [1, 7, 8, 9, 800])
def test_a_sign_is_a_bit(size: int) -> None:
    """Eight in a byte, and eight bytes for the one float64."""
    flat = torch.linspace(-1, 1, size).double().roll(3)
    message = Signs().encode(flat)

    expected = -(-size // 8) + 8
    assert expected == nbytes(message), (
        f"{size} elements are {expected} bytes; your message has {nbytes(message)}: "
        f"{[(tensor.dtype, tuple(tensor.shape)) for tensor in message]}"
    )
    assert all(1 == tensor.dim() for tensor in message), "tensors with one dim can be gathered"
    found = [place for place, x in enumerate(Signs().decode(message, size).tolist()) if x < 0]
    expected = [place for place, x in enumerate(flat.tolist()) if x < 0]
    assert expected == found, f"negative elements\nyours:    {found}\nexpected: {expected}"


@given(flat=FLAT, fraction=st.floats(0, 1))
def test_what_top_k_leaves_out_is_no_larger_than_what_it_sends(
    flat: torch.Tensor, fraction: float
) -> None:
    """Elements arrive as they are or not at all, and k of the largest do."""
    k = max(1, int(fraction * len(flat)))
    decoded = there_and_back(TopK(fraction), flat)

    wrong = ((decoded != 0) & (decoded != flat)).nonzero().flatten().tolist()
    assert not wrong, f"elements {wrong} arrive as neither 0 nor what they were; yours: {decoded}"
    expected = flat.abs().sort(descending=True).values[:k].tolist()
    found = decoded.abs().sort(descending=True).values[:k].tolist()
    assert expected == found, f"magnitudes that arrive\nyours:    {found}\nexpected: {expected}"
    sent = (decoded != 0).sum()
    assert sent <= k, f"{sent} elements arrive, of which k = {k} are sent; yours: {decoded}"


@given(flat=FLAT)
def test_signs_bring_a_tensor_nearer(flat: torch.Tensor) -> None:
    """What is left is shorter by just what the magnitudes give, which makes feedback converge."""
    decoded = there_and_back(Signs(), flat).double()
    digits = 1e-4 if flat.dtype == torch.float32 else 1e-11
    flat, left = flat.double(), flat - decoded

    torch.testing.assert_close(
        decoded.abs(),
        flat.abs().mean().expand(len(flat)),
        rtol=digits,
        atol=0.0,
        msg=lambda text: f"the magnitude of each element of {flat.tolist()}: {text}",
    )
    torch.testing.assert_close(
        left @ left,
        flat @ flat - flat.abs().sum() ** 2 / flat.numel(),
        rtol=digits,
        atol=digits * float(flat @ flat),
        msg=lambda text: f"the square of what is left, of {flat.tolist()}: {text}",
    )


def call_hook(compressor: Compressor, flats: torch.Tensor) -> tuple[torch.Tensor, Any]:
    """Return what a bucket becomes, and the errors, for ``flats[rank]``."""
    state = State(compressor)
    first, second = parameters((2, 2), (3,))
    bucket = Bucket([first, second], flats[dist.get_rank()])
    future = compressed_hook(state, bucket)
    value = future.wait()
    errors = [state.errors[first], state.errors[second]]
    memory = bucket.buffer().untyped_storage().data_ptr()
    assert all(memory != error.untyped_storage().data_ptr() for error in errors), (
        "the errors live in the buffer, which is written to later"
    )
    return value, errors


# Irrational, so that float32 on the way shows.
FLATS = 2**0.5 * torch.stack(
    [double(8, 0, -1, 2, 0, 9, 3), double(-4, 1, 7, 0, 0.5, 0, -6), double(0, 8, 0, 1, -9, 2, 4)]
)


@pytest.mark.parametrize("compressor", [TopK(0.3), Signs()], ids=["top-k", "signs"])
def test_the_bucket_becomes_the_mean_of_what_was_sent(world: World, compressor: Compressor) -> None:
    """On three ranks, each of which sends what is large on it."""
    expected = sum(there_and_back(compressor, flat) for flat in FLATS) / 3
    for rank, (value, _) in enumerate(world(call_hook, 3, compressor, FLATS)):
        close(value, expected, f"the future's value on rank {rank}")


@pytest.mark.parametrize("compressor", [TopK(0.3), Signs()], ids=["top-k", "signs"])
def test_the_error_is_what_this_rank_has_not_sent(world: World, compressor: Compressor) -> None:
    """A tensor for each parameter, in its shape; k counts in the whole bucket."""
    for rank, (_, errors) in enumerate(world(call_hook, 3, compressor, FLATS)):
        left = FLATS[rank] - there_and_back(compressor, FLATS[rank])
        shapes = [tuple(error.shape) for error in errors]
        assert [(2, 2), (3,)] == shapes, f"the errors of yours have the shapes {shapes}"
        found = torch.cat([error.flatten() for error in errors])
        close(found, left, f"the error that rank {rank} keeps")


def test_the_messages_are_all_that_travels(world: World) -> None:
    """Of each rank: k float64 and k int32, or a bit for each element and a float64."""
    flats = torch.randn(3, 7).double()
    for compressor in (TopK(0.3), Signs()):
        message = compressor.encode(flats[0])
        results = world(call_hook, 3, compressor, flats)
        for calls in results.calls:
            gathers = [call for call in calls if call.name.startswith("all_gather")]
            assert list(calls) == gathers, f"all_gather is all that is needed; yours: {calls}"
            assert 2 == len(gathers), f"one for each tensor of the message; yours: {gathers}"
            sent = sum(call.bytes for call in gathers)
            assert nbytes(message) == sent, (
                f"the message has {nbytes(message)} bytes; yours: {sent}"
            )


def steps(flats: torch.Tensor, compressor: Compressor, feedback: bool) -> tuple[Any, Any]:  # noqa: FBT001
    """Return the values of all steps, and the errors after them, of ``flats[rank][step]``."""
    state = State(compressor, feedback)
    owners = parameters((2, 2), (3,))
    values = [
        compressed_hook(state, Bucket(owners, flat)).wait().clone()
        for flat in flats[dist.get_rank()]
    ]
    return values, [state.errors.get(owner) for owner in owners]


def test_nothing_is_lost(world: World) -> None:
    """What was sent in all steps, and what is left after them, are all the gradients."""
    flats = torch.randint(-50, 50, (2, 9, 7)).double()
    results = world(steps, 2, flats, TopK(0.3), True)  # noqa: FBT003 - it is passed on
    sent = 2 * sum(results[0][0])
    left = sum(torch.cat([part.flatten() for part in errors]) for _, errors in results)

    # Exactly: these are whole numbers.
    torch.testing.assert_close(
        sent + left,
        flats.sum((0, 1)),
        rtol=0.0,
        atol=0.0,
        msg=lambda text: f"what yours has sent, and has left, in nine steps: {text}",
    )


def test_without_feedback_nothing_is_kept(world: World) -> None:
    """Each step sends of its own gradients alone."""
    flats = torch.randint(-50, 50, (2, 3, 7)).double()
    for values, errors in world(steps, 2, flats, Signs(), False):  # noqa: FBT003 - it is passed on
        assert [None, None] == errors, f"without feedback yours keeps {errors}"
        for step, value in enumerate(values):
            both = [there_and_back(Signs(), flats[rank][step]) for rank in range(2)]
            close(value, sum(both) / 2, f"step {step}, without feedback")


def rearranged() -> tuple[torch.Tensor, torch.Tensor, list[list[float]]]:
    """Return the values of two buckets that were made of one, and the errors."""
    state = State(TopK(0.3))
    first, second, third = parameters((2,), (1,), (3,))
    # Of 6 elements one is sent: the 9 of the third parameter.
    compressed_hook(state, Bucket([first, second, third], double(1, 2, 3, 4, 9, 5))).wait()
    early = compressed_hook(state, Bucket([third, first], double(0, 0, 0, 0, 1))).wait().clone()
    late = compressed_hook(state, Bucket([second], double(4))).wait().clone()
    return early, late, [state.errors[p].tolist() for p in (first, second, third)]


def test_errors_belong_to_parameters(world: World) -> None:
    """DDP makes other buckets after the first backward: other sizes, in another order."""
    ((early, late, errors),) = world(rearranged, 1)

    # 1 and 2 are left of the first parameter, 3 of the second, 4, 0 and 5 of the third.
    assert [0, 0, 5, 0, 0] == early.tolist(), (
        f"the bucket of the third and the first parameter; yours: {early.tolist()}"
    )
    assert [7] == late.tolist(), f"3 that had not been sent, and 4; yours: {late.tolist()}"
    assert [[1, 3], [0], [4, 0, 0]] == errors, f"the errors, by parameter; yours: {errors}"


def goes_on_alone() -> bool:
    """Return whether rank 0's hook returns although rank 1 has not come to its own."""
    store = distributed_c10d._get_default_store()  # noqa: SLF001 - there is no public way
    bucket = Bucket(parameters((4,)), double(1, 2, 3, 4))
    came = True
    if dist.get_rank() == 1:
        try:
            store.wait(["rank 0 is back"], timedelta(seconds=4))
        except RuntimeError:
            came = False
    future = compressed_hook(State(TopK(0.25)), bucket)
    store.set("rank 0 is back", "yes")
    found = future.wait().tolist()
    assert [0, 0, 0, 4] == found, f"the largest of 1, 2, 3, 4 on both ranks; yours: {found}"
    return came


def without_algorithms() -> list[float]:
    """Return what the hook makes of a bucket where PyTorch's own hooks are not to be used."""
    hooks = "torch.distributed.algorithms"
    modules = ["ddp_comm_hooks.default_hooks", "ddp_comm_hooks.powerSGD_hook"]
    names = [hooks, *(f"{hooks}.{module}" for module in modules)]
    bucket = Bucket(parameters((4,)), double(1, 2, 3, 4))
    with forbids(k06_compression, *names) as fresh:
        state = fresh.State(fresh.TopK(0.25))
        return fresh.compressed_hook(state, bucket).wait().tolist()


def test_no_hook_of_pytorch_is_called(world: World) -> None:
    """Those of torch.distributed.algorithms are what this one is like."""
    (found,) = world(without_algorithms, 1)

    assert [0, 0, 0, 4] == found, f"the largest of 1, 2, 3, 4; yours: {found}"


def test_the_hook_does_not_wait_for_the_other_ranks(world: World) -> None:
    """Rank 1 calls its hook only when that of rank 0 has returned."""
    assert [True, True] == world(goes_on_alone, 2), (
        "rank 0's hook has waited, and so would the rest of its backward"
    )


class Net(nn.Module):
    """Layers whose backward comes in another order than their names."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.last = nn.Linear(8, 2)
        self.first = nn.Linear(3, 5)
        self.middle = nn.Linear(5, 8)
        self.double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return two numbers for each row."""
        return self.last(torch.tanh(self.middle(torch.tanh(self.first(x)))))


def backwards(x: torch.Tensor, compressor: Compressor | None) -> tuple[Any, Any, Any]:
    """Return gradients of DDP's module after each of three backwards, those alone, and errors."""
    net, alone = Net(), Net()
    # Three buckets, once DDP knows the order of the gradients.
    ddp = DistributedDataParallel(net, bucket_cap_mb=200 / 2**20)
    state = State(compressor or TopK(1.0))
    if compressor:
        ddp.register_comm_hook(state, compressed_hook)
    found, local = [], []
    for batch in x[dist.get_rank()]:
        for module, grads in ((ddp, found), (alone, local)):
            module.zero_grad()
            module(batch).square().sum().backward()
            grads.append([p.grad.clone() for p in module.parameters()])
    return found, local, [state.errors.get(p) for p in net.parameters()]


def both(x: torch.Tensor) -> tuple[Any, Any]:
    """Return the gradients with a hook that sends everything, and without a hook."""
    return backwards(x, TopK(1.0))[0], backwards(x, None)[0]


def test_everything_sent_is_an_all_reduce(world: World) -> None:
    """With DistributedDataParallel and k = size the hook changes no gradient."""
    for ours, theirs in world(both, 2, torch.randn(2, 3, 4, 3).double()):
        close(ours, theirs, "gradients, with the hook and with PyTorch's all-reduce")


def test_nothing_is_lost_in_distributed_data_parallel(world: World) -> None:
    """Although its buckets after the first backward are others than before."""
    results = world(backwards, 2, torch.randn(2, 3, 4, 3).double(), TopK(0.2))
    for number in range(len(results[0][2])):
        sent = 2 * sum(found[number] for found in results[0][0])
        left = sum(errors[number] for _, _, errors in results)
        true = sum(grads[number] for _, local, _ in results for grads in local)
        close(sent + left, true, f"parameter {number}: what was sent, and what is left")


class Quadratic(nn.Module):
    """A sum of squares, and a slope that is large, and of the other sign on the other rank."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(4, dtype=torch.float64))

    def forward(self, optimum: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """Return the loss of a rank; in the mean over the ranks the slopes are gone."""
        return (self.w - optimum).square().sum() / 2 + self.w @ slope


OPTIMUM, SLOPE = double(0, 1, -2, 3), double(8, 0, 0, 0)


def descend(*, feedback: bool, steps: int) -> list[float]:
    """Return the distance from the optimum after each step of descent."""
    ddp = DistributedDataParallel(model := Quadratic())
    ddp.register_comm_hook(State(TopK(0.25), feedback), compressed_hook)
    distances = []
    for step in range(steps):
        ddp.zero_grad()
        ddp(OPTIMUM, SLOPE if dist.get_rank() else -SLOPE).backward()
        with torch.no_grad():
            model.w -= 0.1 / (1 + step / 20) * model.w.grad
        distances.append((model.w - OPTIMUM).norm().item())
    return distances


def descend_both() -> tuple[list[float], list[float]]:
    """Return the distances without feedback and with it."""
    return descend(feedback=False, steps=20), descend(feedback=True, steps=100)


def test_feedback_finds_the_optimum_where_training_stalls_without(world: World) -> None:
    """Each rank sends one element of four, and the largest ones cancel each other."""
    start = OPTIMUM.norm().item()
    for stalled, found in world(descend_both, 2):
        assert {start} == set(stalled), (
            f"without feedback one element is sent again and again; yours moves: {stalled[-3:]}"
        )
        assert found[-1] < start / 20, (
            f"with feedback yours is {found[-1]:g} from the optimum after {len(found)} steps, "
            f"and began {start:g} from it"
        )
