"""Tests of k11_ddp: buckets, equal copies, mean gradients, and when reductions begin."""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING
from typing import Any
from unittest import mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import distributed as dist
from torch import nn
from torch.distributed import distributed_c10d
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture13 import k11_ddp
from katas.lecture13.conftest import SOON
from katas.lecture13.k11_ddp import DDP
from katas.lecture13.k11_ddp import assign_buckets
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from plugins.kit import World

    Data = list[tuple[torch.Tensor, torch.Tensor]]


pytestmark = [
    pytest.mark.backend("gloo"),
    # DistributedDataParallel imports it when it is first used.
    pytest.mark.ranks_import("torch._dynamo", "numpy.random"),
]

SMALL = 200

one = pytest.mark.step(1, "which parameters share a bucket")
two = pytest.mark.step(2, "equal copies, mean gradients")
three = pytest.mark.step(3, "reductions while backward runs")
four = pytest.mark.step(4, "forward decides whether backward sends")


class Net(nn.Module):
    """Layers with a tied weight, a frozen one, and two buffers: 5 numbers to 3."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first = nn.Linear(5, 6)
        self.second = nn.Linear(6, 6)
        self.third = nn.Linear(6, 6, bias=False)
        self.third.weight = self.second.weight
        self.frozen = nn.Linear(6, 6).requires_grad_(requires_grad=False)
        self.last = nn.Linear(6, 3)
        self.register_buffer("offset", torch.randn(3))
        self.register_buffer("version", torch.tensor(seed))
        self.double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return 3 numbers for each row."""
        for layer in (self.first, self.second, self.third, self.frozen):
            x = torch.tanh(layer(x))
        return self.last(x) + self.offset


class Chain(nn.Module):
    """Linear layers `names` of 4 numbers, called in the order that is given."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        torch.manual_seed(1)
        for name in names:
            # One has no bias, so that its buckets can be told from those of the others.
            self.add_module(name, nn.Linear(4, 4, bias=name != "b"))
        self.double()

    def forward(self, x: torch.Tensor, order: Sequence[str], log: list[str]) -> torch.Tensor:
        """Call the layers, and let each record in `log` when its backward begins."""
        for name in order:
            x = torch.tanh(self.get_submodule(name)(x))
            # A hook that returns None leaves the gradient as it is.
            x.register_hook(lambda _, name=name: log.append(name))
        return x


class Reductions(TorchDispatchMode):
    """Logs the bytes of each all-reduce that begins."""

    def __init__(self, log: list[Any]) -> None:
        super().__init__()
        self.log = log

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the operator, and run it."""
        if "allreduce" in func.__name__ or "all_reduce" in func.__name__:
            tensors = args[0] if isinstance(args[0], (list, tuple)) else [args[0]]
            self.log.append(sum(tensor.nbytes for tensor in tensors))
        return func(*args, **(kwargs or {}))


def rows_of_rank(tensor: torch.Tensor) -> torch.Tensor:
    """Return this rank's part of a batch."""
    return tensor.chunk(dist.get_world_size())[dist.get_rank()]


def gradients(module: nn.Module) -> dict[str, torch.Tensor | None]:
    """Return copies of all gradients."""
    return {
        name: None if p.grad is None else p.grad.clone() for name, p in module.named_parameters()
    }


def batches(number: int, rows: int = 12) -> Data:
    """Return inputs and targets for a Net."""
    return [(torch.randn(rows, 5).double(), torch.randn(rows, 3).double()) for _ in range(number)]


def loss_of(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the mean of squared errors."""
    return torch.nn.functional.mse_loss(module(x), y)


@one
def test_buckets_go_from_the_last_parameter_to_the_first() -> None:
    """Backward begins with the last layer."""
    check_buckets([4], [[0]])
    check_buckets([1, 1, 1], [[2, 1, 0]])
    check_buckets([4, 4, 4, 4], [[3, 2], [1, 0]])


def check_buckets(sizes: list[int], expected: list[list[int]], why: str = "") -> None:
    """Compare the buckets of 8 bytes of parameters with gradients of these sizes."""
    given = list(sizes)
    found = assign_buckets(sizes, 8)
    assert expected == found, f"gradients of {sizes} bytes, cap 8; yours: {found} {why}"
    assert given == sizes, (
        f"your code changes the sizes that it was given: now {sizes}, before {given}"
    )


@one
def test_a_bucket_is_closed_once_it_holds_the_cap() -> None:
    """A bucket may hold more: it includes the parameter that fills it. No bucket is empty."""
    check_buckets([10, 30, 5], [[2, 1], [0]], "(5 bytes, then 30 more: closed)")
    check_buckets([1, 20, 8], [[2], [1], [0]], "(8 bytes are the cap: closed)")
    check_buckets([], [])


@one
@given(sizes=st.lists(st.integers(0, 9), max_size=12), cap=st.integers(1, 20))
def test_buckets_are_those_of_pytorch(sizes: list[int], cap: int) -> None:
    """PyTorch computes them in C++, for the gradients in the order of backward."""
    order = list(reversed(range(len(sizes))))
    tensors = [torch.empty(sizes[position], dtype=torch.uint8) for position in order]
    if not tensors:
        check_buckets([], [])
        return
    expected, _ = dist._compute_bucket_assignment_by_size(tensors, [cap], [], order)  # noqa: SLF001

    found = assign_buckets(sizes, cap)
    assert expected == found, f"sizes {sizes}, cap {cap}\nyours:     {found}\nPyTorch's: {expected}"


def construct() -> tuple[dict[str, torch.Tensor], bool, bool, bool]:
    """Return the values of a Net after construction, and whether its parameters were kept."""
    net = Net(dist.get_rank())
    before = list(net.parameters())
    ddp = DDP(net)
    after = list(ddp.parameters())
    same = len(before) == len(after) and all(map(lambda a, b: a is b, before, after))
    asks = [p.requires_grad for p in net.frozen.parameters()] == [False, False]
    return net.state_dict(), same, ddp.module is net and isinstance(ddp, nn.Module), asks


@two
def test_all_ranks_begin_with_the_values_of_rank_0(world: World) -> None:
    """All ranks get rank 0's parameters and buffers, even frozen and integer ones."""
    expected = Net(0).state_dict()
    for rank, (state, same, keeps, asks) in enumerate(world(construct, 3, timeout=SOON)):
        assert keeps, "DDP must be a module whose attribute `module` is the one it was given"
        assert same, "your code replaces parameters: an optimizer may hold the old ones"
        assert asks, "your code changes requires_grad: what is frozen must stay frozen"
        assert expected.keys() == state.keys(), (
            f"the module of rank {rank} has the keys {list(state)}, expected {list(expected)}"
        )
        for name, value in expected.items():
            where = f"{name} of rank {rank} is not that of rank 0"
            close(state[name], value, where, rtol=0.0, atol=0.0)


def close(
    found: Any, expected: Any, where: str, *, rtol: float = 1e-11, atol: float = 1e-13
) -> None:
    """Compare tensors, lists or dicts of them; float32 on the way shows in the eighth digit."""
    torch.testing.assert_close(
        found, expected, rtol=rtol, atol=atol, msg=partial("{}: {}".format, where)
    )


def one_backward(x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor | None]:
    """Return the gradients of a Net that begins with different values on each rank."""
    net = Net(dist.get_rank())
    ddp = DDP(net, SMALL)
    with unchanged(but={"grad"}, x=x, y=y, net=net):
        loss_of(ddp, rows_of_rank(x), rows_of_rank(y)).backward()
    return gradients(net)


@two
def test_gradients_are_those_of_one_process(world: World) -> None:
    """Gradients are those of the whole batch, and are there once ``backward()`` has returned."""
    ((x, y),) = batches(1)
    alone = Net(0)
    loss_of(alone, x, y).backward()
    for rank, found in enumerate(world(one_backward, 3, x, y, timeout=SOON)):
        for name, expected in gradients(alone).items():
            if expected is None:
                assert found[name] is None, f"{name} is frozen, but has a gradient"
                continue
            assert found[name] is not None, f"{name} of rank {rank} has no gradient"
            where = f"the gradient of {name} on rank {rank} is not that of the whole batch"
            close(found[name], expected, where)


def pytorch_s(net: nn.Module) -> nn.Module:
    """Wrap a module in PyTorch's DDP, with small buckets."""
    return DistributedDataParallel(net, bucket_cap_mb=SMALL / 2**20)


def train(
    wrapped: Callable[[nn.Module], nn.Module], data: Data, *, to_none: bool = True
) -> tuple[list[torch.Tensor], list[int]]:
    """Return a Net's parameters after a step for each batch, and the bytes that were reduced."""
    log: list[int] = []
    net = Net(0)
    ddp = wrapped(net)
    trained = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1, momentum=0.9)
    with Reductions(log):
        for x, y in data:
            optimizer.zero_grad(set_to_none=to_none)
            loss_of(ddp, rows_of_rank(x), rows_of_rank(y)).backward()
            optimizer.step()
    return [p.detach().clone() for p in net.parameters()], log


def train_both(data: Data) -> tuple[list[torch.Tensor], ...]:
    """Return the parameters after training with PyTorch's DDP, and twice with ours."""
    theirs, _ = train(pytorch_s, data)
    ours, _ = train(lambda net: DDP(net, SMALL), data)
    zeroed, _ = train(lambda net: DDP(net, SMALL), data, to_none=False)
    return theirs, ours, zeroed


@two
def test_training_is_that_of_pytorch(world: World) -> None:
    """Step after step; the gradients are set to None between the steps, or to zero."""
    for theirs, ours, zeroed in world(train_both, 2, batches(4), timeout=2 * SOON):
        close(ours, theirs, "parameters, yours and PyTorch's")
        close(zeroed, theirs, "parameters, with zero_grad(set_to_none=False)")


def storages() -> list[list[tuple[int, int]]]:
    """Return where the gradients are, address and bytes, after each of three backwards."""
    net = Net(0)
    ddp = DDP(net, SMALL)
    places = []
    for (x, y), to_none in zip(batches(3), (True, True, False), strict=True):
        ddp.zero_grad(set_to_none=to_none)
        loss_of(ddp, x, y).backward()
        stores = [p.grad.untyped_storage() for p in net.parameters() if p.grad is not None]
        places.append([(store.data_ptr(), store.nbytes()) for store in stores])
    return places


@two
def test_gradients_are_views_of_their_bucket(world: World) -> None:
    """A bucket is created once, and no gradient is copied back."""
    net = Net(0)
    sizes = [p.nbytes for p in net.parameters() if p.requires_grad]
    buckets = assign_buckets(sizes, SMALL)
    for first, second, third in world(storages, 2, timeout=SOON):
        assert first == second == third, "a later backward moved the gradients to other memory"
        for bucket in buckets:
            places = {first[position] for position in bucket}
            assert 1 == len(places), (
                f"the gradients of bucket {bucket} are in {len(places)} of your tensors, expected"
                f" one: a bucket is one flat tensor, and the gradients are views of it"
            )
            size, found = sum(sizes[position] for position in bucket), first[bucket[0]][1]
            assert size == found, f"your bucket {bucket} has {found} bytes, expected {size}"
        assert len(buckets) == len(set(first)), "two of your buckets share a tensor"


def keep_on(data: Data) -> list[Any]:
    """Return the gradients after four backwards, of which the third is in no_sync."""
    net = Net(0)
    ddp = DDP(net, SMALL)
    found = []
    for step, (x, y) in enumerate(data):
        with ddp.no_sync() if step == 2 else nullcontext():
            loss_of(ddp, rows_of_rank(x), rows_of_rank(y)).backward()
        found.append(gradients(net))
    return found


@two
def test_a_gradient_that_is_still_there_is_accumulated_to(world: World) -> None:
    """Nobody calls ``zero_grad()``: the views keep what earlier backwards have left in them."""
    data = batches(4)
    alone = Net(0)
    expected = []
    for x, y in data:
        loss_of(alone, x, y).backward()
        expected.append(gradients(alone))
    for found in world(keep_on, 2, data, timeout=SOON):
        for step in (0, 1, 3):
            close(found[step], expected[step], f"after {step + 1} backwards")


def bytes_of_both(data: Data) -> tuple[list[int], list[int]]:
    """Return the bytes of each all-reduce of PyTorch's DDP and of ours."""
    return train(pytorch_s, data)[1], train(lambda net: DDP(net, SMALL), data)[1]


@three
def test_each_bucket_is_one_all_reduce(world: World) -> None:
    """All-reduces have the bytes and the order of PyTorch's, after its first backward."""
    for theirs, ours in world(bytes_of_both, 2, batches(2), timeout=SOON):
        once = theirs[1:]
        assert sum(once) == theirs[0], (
            "PyTorch's first backward should have all bytes in one bucket"
        )
        assert once * 2 == ours, (
            f"bytes of each all-reduce in two backwards\nyours:     {ours}\nPyTorch's: {once * 2}, "
            f"without its first backward"
        )


def order_of_events(order: dict[int, tuple[str, ...]]) -> list[Any]:
    """Return in which order backward reached the layers and began to reduce, in bytes."""
    log: list[Any] = []
    ddp = DDP(Chain("a", "b", "c"), 1)
    with Reductions(log):
        output = ddp(torch.ones(2, 4).double(), order=order[dist.get_rank()], log=log)
        output.sum().backward()
    return log


# Bytes of the gradients of a layer's weight and bias, each a bucket of its own.
WEIGHT, BIAS = 8 * 16, 8 * 4


@three
def test_reductions_begin_while_backward_runs(world: World) -> None:
    """A layer's gradients are on their way before backward reaches the layer before it."""
    expected = ["c", BIAS, WEIGHT, "b", WEIGHT, "a", BIAS, WEIGHT]
    orders = dict.fromkeys(range(2), ("a", "b", "c"))
    for log in world(order_of_events, 2, orders, timeout=SOON):
        assert expected == log, (
            f"a name: that layer's backward begins; a number: that many bytes are reduced\n"
            f"yours:    {log}\nexpected: {expected}"
        )


@three
def test_all_ranks_begin_their_reductions_in_one_order(world: World) -> None:
    """Even if rank 1 calls layer b last, so that its gradient is ready first."""
    buckets = [BIAS, WEIGHT, WEIGHT, BIAS, WEIGHT]
    early = ["b", "c", *buckets[:3], "a", *buckets[3:]]
    # One rank first, since ranks whose reductions do not match may hang.
    found = list(world(order_of_events, 1, {0: ("a", "c", "b")}, timeout=SOON))
    assert [early] == found, (
        f"b is full first, but c comes first in the list: let b wait for c\n"
        f"yours:    {found}\nexpected: {[early]}"
    )

    first, second = world(
        order_of_events, 2, {0: ("a", "b", "c"), 1: ("a", "c", "b")}, timeout=SOON
    )
    found = [each for each in first if isinstance(each, int)]
    assert buckets == found, f"bytes reduced by rank 0\nyours:    {found}\nexpected: {buckets}"
    assert early == second, f"events on rank 1\nyours:    {second}\nexpected: {early}"


def goes_on_alone() -> bool:
    """Return whether rank 0 computes all of backward while rank 1 has not begun to reduce."""
    store = distributed_c10d._get_default_store()  # noqa: SLF001 - there is no public way
    ddp = DDP(Chain("a", "b", "c"), 1)
    output = ddp(torch.ones(2, 4).double(), "abc", log := [])
    if dist.get_rank() == 0:
        next(ddp.module.a.parameters()).register_hook(lambda _: store.set("at the end", "yes"))
        output.sum().backward()
        return True
    came = []

    def wait(_: torch.Tensor) -> None:
        with suppress(RuntimeError):
            store.wait(["at the end"], timedelta(seconds=3))
            came.append(True)

    output.register_hook(wait)
    output.sum().backward()
    assert ["c", "b", "a"] == log, (
        f"layers in the order in which backward reaches them: {log}, expected c, b, a"
    )
    return bool(came)


@three
def test_no_rank_waits_for_another_before_the_end(world: World) -> None:
    """Rank 1 begins only when rank 0 has computed its last gradient."""
    assert [True, True] == world(goes_on_alone, 2, timeout=SOON), (
        "rank 0 waited for an all-reduce in the middle of backward: is it asynchronous?"
    )


class Handle:
    """Remembers whether somebody has waited for an all-reduce."""

    def __init__(self, work: Any) -> None:
        self._work, self.waited = work, False

    def __getattr__(self, name: str) -> Any:
        # A future is one more way to wait.
        self.waited |= name in {"wait", "get_future"}
        return getattr(self._work, name)


def waited_for(x: torch.Tensor, y: torch.Tensor) -> list[bool]:
    """Return, for each all-reduce of a backward, whether it was waited for."""
    handles: list[Handle] = []
    begin = dist.ProcessGroup.allreduce

    def watched(*args: Any) -> Handle:
        handles.append(Handle(begin(*args)))
        return handles[-1]

    ddp = DDP(Net(0), SMALL)
    with mock.patch.object(dist.ProcessGroup, "allreduce", watched):
        loss_of(ddp, x, y).backward()
        return [handle.waited for handle in handles]


@three
def test_every_reduction_is_waited_for(world: World) -> None:
    """The all-reduces that began first need not end first: gloo has several threads."""
    for waited in world(waited_for, 2, *batches(1)[0], timeout=SOON):
        assert [True] * 3 == waited, f"waits for three handles: yours {waited}, expected all True"


def default_cap(x: torch.Tensor, y: torch.Tensor) -> list[int]:
    """Return the bytes of the all-reduces of a backward."""
    log: list[int] = []
    ddp = DDP(Net(0).float())
    with Reductions(log):
        loss_of(ddp, x.float(), y.float()).backward()
    return log


@three
def test_the_default_cap_is_25_mebibytes(world: World) -> None:
    """All gradients of a small model travel together."""
    cap = inspect.signature(DDP).parameters["bucket_cap"].default
    assert 25 << 20 == cap, f"bucket_cap is {cap} bytes by default, expected {25 << 20}"
    size = sum(p.nbytes for p in Net(0).float().parameters() if p.requires_grad)

    for found in world(default_cap, 2, *batches(1)[0], timeout=SOON):
        assert [size] == found, f"one all-reduce of {size} bytes, float32; yours: {found}"


def accumulate(data: Data) -> tuple[Any, ...]:
    """Return the gradients and the number of all-reduces, in no_sync and after it."""
    log: list[Any] = []
    net = Net(0)
    ddp = DDP(net, SMALL)
    parts = [(rows_of_rank(x), rows_of_rank(y)) for x, y in data]
    with Reductions(log):
        with ddp.no_sync():
            loss_of(ddp, *parts[0]).backward()
            loss_of(ddp, *parts[1]).backward()
        local, sent = gradients(net), len(log)
        loss_of(ddp, *parts[2]).backward()
    return local, sent, gradients(net), len(log)


@four
def test_no_sync_accumulates_and_sends_nothing(world: World) -> None:
    """The next backward averages the sum, in as many all-reduces as ever."""
    data = batches(3)
    alone = Net(0)
    for x, y in data:
        loss_of(alone, x, y).backward()
    buckets = len(assign_buckets([p.nbytes for p in alone.parameters() if p.requires_grad], SMALL))
    for rank, (local, sent, summed, total) in enumerate(world(accumulate, 2, data, timeout=SOON)):
        mine = Net(0)
        for x, y in data[:2]:
            loss_of(mine, x.chunk(2)[rank], y.chunk(2)[rank]).backward()
        assert 0 == sent, f"in no_sync, your code begins {sent} all-reduces, expected none"
        close(local, gradients(mine), f"rank {rank}, in no_sync, what it has computed alone")
        assert buckets == total, (
            f"after no_sync, your code calls {total} all-reduces, expected {buckets}, one per"
            " bucket"
        )
        close(summed, gradients(alone), f"rank {rank}, after no_sync, the mean of all")


def who_decides(x: torch.Tensor, y: torch.Tensor) -> dict[str, int]:
    """Return how many all-reduces there were, by the place of forward and of backward."""
    log: list[Any] = []
    counts = {}
    ddp = DDP(Net(0), 1 << 20)
    with Reductions(log):
        loss_of(ddp.module, x, y).backward()
        counts["without DDP"] = len(log)
        with ddp.no_sync():
            loss = loss_of(ddp, x, y)
        loss.backward()
        counts["forward within"] = len(log)
        loss = loss_of(ddp, x, y)
        with ddp.no_sync():
            loss.backward()
        counts["backward within"] = len(log)
        loss_of(ddp.module, x, y).backward()
        counts["without DDP, after a backward with it"] = len(log)
        with ddp.no_sync():
            with ddp.no_sync():
                pass
            loss_of(ddp, x, y).backward()
        counts["within the outer of two"] = len(log)
        with suppress(KeyError), ddp.no_sync():
            raise KeyError
        loss_of(ddp, x, y).backward()
        counts["after an exception within"] = len(log)
        loss_of(ddp, x, y)
        with ddp.no_sync():
            loss_of(ddp, x, y).backward()
        counts["within, after a forward without backward"] = len(log)
        ddp(x)
        loss_of(ddp.module, x, y).backward()
        counts["without DDP, while a forward with it waits"] = len(log)
    return counts


@four
def test_the_forward_decides_whether_backward_sends(world: World) -> None:
    """The place of backward does not decide; no_sync may be nested, and left by an exception."""
    expected = {
        "without DDP": 0,
        "forward within": 0,
        "backward within": 1,
        "without DDP, after a backward with it": 1,
        "within the outer of two": 1,
        "after an exception within": 2,
        "within, after a forward without backward": 2,
        "without DDP, while a forward with it waits": 3,
    }
    for found in world(who_decides, 2, *batches(1)[0], timeout=SOON):
        wrong = {
            f"{where}: yours {found[where]}, expected {count}"
            for where, count in expected.items()
            if found[where] != count
        }
        assert not wrong, (
            f"wrong number of all-reduces so far: {sorted(wrong)}. A backward of the module alone "
            "sends nothing, unless a DDP forward still waits for its backward: then it counts as "
            "that backward"
        )


def validate(data: Data) -> tuple[Any, int]:
    """Return the gradients where another forward comes between forward and backward."""
    log: list[Any] = []
    net = Net(0)
    ddp = DDP(net, SMALL)
    (x, y), (other, _) = [tuple(map(rows_of_rank, pair)) for pair in data]
    ddp(x)
    loss = loss_of(ddp, x, y)
    with torch.no_grad():
        ddp(other)
    with torch.no_grad(), ddp.no_sync():
        ddp(other)
    with Reductions(log):
        loss.backward()
    return gradients(net), len(log)


@four
def test_a_forward_without_gradients_changes_nothing(world: World) -> None:
    """A validation between forward and backward changes nothing, nor does an unused forward."""
    data = batches(2)
    alone = Net(0)
    loss_of(alone, *data[0]).backward()
    expected = gradients(alone)
    for found, count in world(validate, 2, data, timeout=SOON):
        assert 3 == count, (
            f"your code sends {count} buckets of 3: the backward of the forward before"
            f" validation must still be averaged"
        )
        close(found, expected, "gradients, with a validation between forward and backward")


def without_torch(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Return whether DDP finds gradients, with PyTorch's own DDP forbidden."""
    # Those of Tensor by whatever path: torch.nn, torch.nn.parallel, torch.distributed, ...
    names = ["Tensor.DistributedDataParallel", "Tensor.Reducer", "distributed.algorithms"]
    names += ["Tensor._compute_bucket_assignment_by_size"]
    with forbids(k11_ddp, *(f"torch.{name}" for name in names)) as fresh:
        net = Net(0)
        loss_of(fresh.DDP(net, fresh.assign_buckets([SMALL], 1)[0][0] + SMALL), x, y).backward()
    return all(p.grad is not None for p in net.parameters() if p.requires_grad)


def test_nothing_ready_made_is_called(world: World) -> None:
    """Neither DistributedDataParallel nor its reducer is called."""
    found = world(without_torch, 2, *batches(1)[0], timeout=SOON)
    assert [True, True] == found, (
        f"each rank has all gradients: yours {list(found)}, expected all True"
    )
