"""Tests of k03_fsdp: compared with one process, and checked for what is in memory."""

from __future__ import annotations

import gc
import time
from contextlib import ExitStack
from contextlib import contextmanager
from typing import TYPE_CHECKING
from typing import Any
from unittest import mock

import pytest
import torch
from torch import distributed as dist
from torch import nn

from katas.lecture14 import k03_fsdp as kata
from katas.lecture14.k03_fsdp import Unit
from katas.lecture14.k03_fsdp import fully_shard
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator

    from plugins.kit import World


# Optimizers import it on first use. The batch requires no gradient.
pytestmark = [
    pytest.mark.backend("gloo"),
    pytest.mark.ranks_import("torch._dynamo"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing"),
]
one = pytest.mark.step(1, "shards")
two = pytest.mark.step(2, "gather, use and free")
three = pytest.mark.step(3, "forward and backward")
four = pytest.mark.step(4, "gradients")
five = pytest.mark.step(5, "the next layer's gather")

GATHERS = {"all_gather", "all_gather_single"}
SCATTERS = {"reduce_scatter", "reduce_scatter_single"}
LAYERS = 3
Event = tuple[str, int, tuple[int, ...]]


class Layer(nn.Module):
    """A linear layer, a nested one, and a scale; it reports when it computes."""

    def __init__(self, log: list[Event], number: int) -> None:
        """Make a layer with this number."""
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 4, bias=False))
        self.scale = nn.Parameter(torch.ones(4))
        self.log, self.number, self.units = log, number, list[Unit]()

    def note(self, what: str) -> None:
        """Record the units whose parameters are whole now."""
        whole = [n for n, unit in enumerate(self.units) if any(map(size_of, unit.slots))]
        self.log.append((what, self.number, tuple(whole)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x and more."""
        self.note("forward")
        y: torch.Tensor = x + self.inner(x) * self.scale
        if y.requires_grad:
            y.register_hook(lambda _: self.note("backward"))
        return y


def size_of(slot: Any) -> int:
    """Return the bytes behind a whole parameter."""
    return int(slot.whole.untyped_storage().nbytes())


def net(log: list[Event]) -> nn.Sequential:
    """Return three layers, the same on all ranks."""
    torch.manual_seed(3)
    return nn.Sequential(*(Layer(log, number) for number in range(LAYERS))).double()


def sharded(log: list[Event]) -> tuple[nn.Sequential, list[Unit]]:
    """Return the same layers, sharded."""
    model = net(log)
    layers: Any = list(model)
    units = fully_shard(layers)
    for layer in layers:
        layer.units = units
    return model, units


def batch(rank: int, step: int = 0) -> torch.Tensor:
    """Return a rank's training batch for a step."""
    dice = torch.Generator().manual_seed(10 * step + rank)
    return torch.randn(5, 4, dtype=torch.float64, generator=dice)


def cut(tensor: torch.Tensor) -> torch.Tensor:
    """Return this rank's rows."""
    return tensor.detach().chunk(dist.get_world_size())[dist.get_rank()]


def close(yours: Any, expected: Any, where: str) -> None:
    """Compare float64 values to twelve digits."""
    __tracebackhide__ = True
    torch.testing.assert_close(
        yours,
        expected,
        rtol=1e-12,
        atol=1e-12,
        msg=lambda text: f"{where}: yours {yours}, expected {expected}. {text}",
    )


def one_unit() -> dict[str, Any]:
    """Return what a `Unit` does to a layer."""
    layer, same = Layer([], 0).double(), Layer([], 0).double()
    same.load_state_dict(layer.state_dict())
    before = dict(layer.named_parameters())
    unit = Unit(layer)
    after = dict(layer.named_parameters())
    return {
        "names": (list(before), list(after)),
        "rows": [
            (name, torch.equal(after[name].detach(), cut(p))) for name, p in same.named_parameters()
        ],
        "bytes": [(p.untyped_storage().nbytes(), p.nbytes) for p in after.values()],
        "asks": [p.requires_grad and p.is_leaf for p in after.values()],
        "whole": {id(slot.whole) for slot in unit.slots} == set(map(id, before.values())),
        "freed": [size_of(slot) for slot in unit.slots],
        "shapes": (
            sorted(tuple(slot.whole.shape) for slot in unit.slots),
            sorted(tuple(p.shape) for p in same.parameters()),
        ),
    }


@one
def test_a_rank_has_its_rows(world: World) -> None:
    """A rank has its rows of each parameter of the layer and its submodules, by the same name."""
    for rank, found in enumerate(world(one_unit, 2)):
        before, after = found["names"]
        assert before == after, f"rank {rank}: your layer has parameters {after}, expected {before}"
        wrong = [name for name, right in found["rows"] if not right]
        assert not wrong, f"rank {rank}: your {wrong} are not this rank's rows"
        assert all(found["asks"]), f"rank {rank}: a part must be a leaf that requires a gradient"


@one
def test_the_whole_is_freed(world: World) -> None:
    """Each part has its own memory, and the original parameter has none left."""
    for rank, found in enumerate(world(one_unit, 2)):
        larger = [pair for pair in found["bytes"] if pair[0] != pair[1]]
        assert not larger, (
            f"rank {rank}: (bytes of the storage, bytes of the part) are {larger}, expected equal:"
            " a view keeps everything"
        )
        assert found["whole"], f"rank {rank}: `whole` must be the module's original parameter"
        assert not any(found["freed"]), (
            f"rank {rank}: bytes left for the whole parameters: {found['freed']}, expected 0:"
            " call resize_"
        )
        yours, expected = found["shapes"]
        assert expected == yours, (
            f"rank {rank}: shapes of `whole`: yours {yours}, expected {expected}"
        )


def come_and_go() -> dict[str, Any]:
    """Gather, use and free a unit, twice."""
    torch.manual_seed(1)
    layer: Any = nn.Linear(3, 4).double()
    expected = layer.weight.detach().clone()
    unit, found = Unit(layer), dict[str, Any]()
    for turn in ("first", "second"):
        unit.gather()
        found[f"{turn} begun"] = (len(unit.works), [size_of(slot) for slot in unit.slots])
        unit.gather()
        unit.use()
        unit.use()
        slots = {slot.name: slot for slot in unit.slots}
        found[f"{turn} used"] = layer.weight is slots["weight"].whole
        found[f"{turn} value"] = layer.weight.detach().clone()
        unit.free()
        unit.free()
        found[f"{turn} freed"] = [size_of(slot) for slot in unit.slots]
        found[f"{turn} part"] = layer.weight is slots["weight"].part
        # As an optimizer would.
        with torch.no_grad():
            layer.weight.mul_(2)
    return {"expected": expected, **found}


@two
def test_what_is_gathered_is_the_parameter(world: World) -> None:
    """Gathered from all ranks, and again each time: an optimizer may have changed the parts."""
    results = world(come_and_go, 2)
    for rank, found in enumerate(results):
        for turn, factor in (("first", 1), ("second", 2)):
            assert found[f"{turn} used"], f"rank {rank}: after use, the module must hold `whole`"
            close(found[f"{turn} value"], factor * found["expected"], f"rank {rank}, {turn} use")
        calls = [call for call in results.calls[rank] if call.name in GATHERS]
        assert 4 == len(calls), (
            f"rank {rank}: expected one all-gather per parameter in each of two rounds, your code"
            f" calls {len(calls)}: do not start a gather twice"
        )


@two
def test_memory_comes_and_goes(world: World) -> None:
    """The weight's 96 bytes and the bias's 32, from gather to free."""
    for rank, found in enumerate(world(come_and_go, 2)):
        for turn in ("first", "second"):
            works, sizes = found[f"{turn} begun"]
            assert (2, {96, 32}) == (works, set(sizes)), (
                f"rank {rank}, after gather: your unit has {works} works and {sizes} bytes,"
                " expected 2 works, and 96 and 32 bytes"
            )
            assert not any(found[f"{turn} freed"]), (
                f"rank {rank}: after free, `whole` must have 0 bytes"
            )
            assert found[f"{turn} part"], f"rank {rank}: after free, the module must hold `part`"


class Handle:
    """Records whether an all-gather was waited for, and calls a function before the wait."""

    def __init__(self, work: Any, before: Callable[[], object]) -> None:
        """Wrap the work."""
        self._work, self._before, self.waited = work, before, False

    def __getattr__(self, name: str) -> Any:
        """Delegate to the work."""
        if name in {"wait", "get_future"}:
            self._before()
            self.waited = True
        return getattr(self._work, name)


@contextmanager
def gathers(before: Callable[[], object] = lambda: None) -> Iterator[list[Handle]]:
    """Collect the handles of all-gathers; call `before` when one is waited for."""
    handles: list[Handle] = []

    def watch(name: str) -> Any:
        begin = getattr(dist.ProcessGroup, name)

        def watched(*args: Any, **kwargs: Any) -> Handle:
            handles.append(Handle(begin(*args, **kwargs), before))
            return handles[-1]

        return mock.patch.object(dist.ProcessGroup, name, watched)

    # The version decides which of the last two exists, and what all_gather_into_tensor calls.
    names = "allgather", "_allgather_base", "all_gather_single"
    with ExitStack() as stack:
        for name in names:
            if hasattr(dist.ProcessGroup, name):
                stack.enter_context(watch(name))
        yield handles


def in_flight() -> tuple[list[bool], list[int], int]:
    """Free during a gather; return what was waited for, when, and what is left."""
    unit, sizes = Unit(nn.Linear(3, 4).double()), list[int]()
    with gathers(lambda: sizes.append(min(map(size_of, unit.slots)))) as handles:
        unit.gather()
        sizes.clear()
        unit.free()
        waited = [handle.waited for handle in handles]
    return waited, sizes, sum(map(size_of, unit.slots))


@two
def test_a_gather_in_flight_is_waited_for(world: World) -> None:
    """`free` waits before it takes away the memory that the gather writes to."""
    for rank, (waited, sizes, left) in enumerate(world(in_flight, 2)):
        assert [True, True] == waited, (
            f"rank {rank}: did your free wait for each of the two all-gathers? {waited}, expected"
            " True for both: they write to memory that free takes away"
        )
        assert all(sizes), (
            f"rank {rank}: `whole` has {sizes} bytes before the wait: you free it too early"
        )
        assert 0 == left, (
            f"rank {rank}: {left} bytes still allocated for `whole` after free, expected 0"
        )


def alive() -> int:
    """Return the bytes of all tensors that Python can reach."""
    gc.collect()
    tensors = [each for each in gc.get_objects() if isinstance(each, torch.Tensor)]
    storages = {each.untyped_storage().data_ptr(): each.untyped_storage() for each in tensors}
    return sum(storage.nbytes() for storage in storages.values())


def settled(most: int) -> int:
    """Return the bytes of all tensors, once gloo's threads have released theirs."""
    late = time.monotonic() + 3
    while (found := alive()) > most and time.monotonic() < late:
        time.sleep(0.01)
    return found


def left_over() -> tuple[list[int], list[int]]:
    """Return the extra bytes during each use, besides `whole`, and after each free."""
    unit = Unit(nn.Linear(30, 40).double())
    before, used, freed = alive(), [], []
    for _ in range(2):
        unit.gather()
        unit.use()
        # Less counts as none: buffers sent before the test are released late.
        most = before + sum(slot.whole.nbytes for slot in unit.slots)
        used.append(max(0, settled(most) - most))
        unit.free()
        freed.append(max(0, settled(before) - before))
    return used, freed


@two
def test_nothing_stays_elsewhere(world: World) -> None:
    """Neither a copy of the whole nor received pieces stay, during use or after it."""
    for rank, (used, freed) in enumerate(world(left_over, 2)):
        assert [0, 0] == freed, (
            f"rank {rank}: after the first and second free your tensors hold {freed} more bytes"
            " than before, expected none: a copy is as large as what was freed"
        )
        assert [0, 0] == used, (
            f"rank {rank}: in the first and second use your tensors hold {used} bytes besides"
            " the parts and `whole`, expected none: pieces received elsewhere"
            " hold the layer a second time. Receive into chunks of whole.data"
        )


def forwards() -> dict[str, Any]:
    """Return outputs and events of forward passes only."""
    log: list[Event] = []
    model, units = sharded(log)
    with torch.no_grad():
        found = [(model(batch(step)), net([])(batch(step))) for step in range(2)]
    return {"pairs": found, "log": log, "after": [size_of(s) for unit in units for s in unit.slots]}


@three
def test_forward_gives_the_same(world: World) -> None:
    """Two forwards without gradients equal one process; afterwards no layer is whole."""
    for rank, found in enumerate(world(forwards, 2)):
        for step, (yours, expected) in enumerate(found["pairs"]):
            close(yours, expected, f"rank {rank}, the output of forward {step}")
        assert not any(found["after"]), (
            f"rank {rank}: bytes left after forward: {found['after']}, expected 0"
        )


def trained(steps: int = 1) -> dict[str, Any]:
    """Train a few steps with Adam; return the parts, the gradients, the events, what is left."""
    log: list[Event] = []
    model, units = sharded(log)
    optimizer = torch.optim.Adam(model.parameters(), 0.1)
    grads: list[Any] = []
    for step in range(steps):
        optimizer.zero_grad()
        x = batch(dist.get_rank(), step)
        model(x).sin().sum().backward()
        grads = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
        optimizer.step()
    left = [slot.name for unit in units for slot in unit.slots if slot.whole.grad is not None]
    sizes = [size_of(slot) for unit in units for slot in unit.slots]
    parts = [p.detach() for p in model.parameters()]
    return {"parts": parts, "grads": grads, "log": log, "left": left, "sizes": sizes}


def alone(size: int, steps: int = 1) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return the parameters and last gradients of one process that gets all ranks' batches."""
    model = net([])
    optimizer = torch.optim.Adam(model.parameters(), 0.1)
    for step in range(steps):
        optimizer.zero_grad()
        losses = [model(batch(rank, step)).sin().sum() for rank in range(size)]
        (torch.stack(losses).sum() / size).backward()
        grads = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        optimizer.step()
    return [p.detach() for p in model.parameters()], grads


def computed() -> list[Event]:
    """Return the events of a forward and a backward."""
    log: list[Event] = []
    model, _ = sharded(log)
    model(batch(dist.get_rank())).sin().sum().backward()
    return log


@three
def test_a_layer_is_whole_while_it_computes(world: World) -> None:
    """In forward at most one other layer is whole, the next; backward gathers it again."""
    forward = [("forward", n) for n in range(LAYERS)]
    expected = forward + [("backward", n) for _, n in reversed(forward)]
    for rank, log in enumerate(world(computed, 2)):
        order = [event[:2] for event in log]
        assert expected == order, (
            f"rank {rank}: your layers compute in the order {order}, expected {expected}"
        )
        for what, number, whole in log:
            assert number in whole, (
                f"rank {rank}: layer {number} is freed during its {what}; whole layers: {whole}"
            )
            assert what == "backward" or len(whole) <= 2, (
                f"rank {rank}: in forward of layer {number}, your layers {whole} are whole,"
                " expected at most two: free a layer once its forward is done"
            )


@four
def test_a_layer_is_freed_after_its_last_gradient(world: World) -> None:
    """In backward, too, at most two layers are in memory."""
    for rank, found in enumerate(world(trained, 2)):
        for what, number, whole in found["log"]:
            assert len(whole) <= 2, (
                f"rank {rank}: in {what} of layer {number}, your layers {whole} are whole,"
                " expected at most two"
            )


@four
def test_gradients_are_means(world: World) -> None:
    """Each rank has its rows of the gradient of the mean loss over all ranks."""
    _, expected = alone(2)
    for rank, found in enumerate(world(trained, 2)):
        for number, (yours, theirs) in enumerate(zip(found["grads"], expected, strict=True)):
            assert yours is not None, f"rank {rank}: parameter {number} has no .grad"
            close(yours, theirs.chunk(2)[rank], f"rank {rank}, the gradient of parameter {number}")


@four
def test_nothing_whole_is_left(world: World) -> None:
    """After backward, no parameter and no gradient is whole."""
    for rank, found in enumerate(world(trained, 2)):
        assert not found["left"], f"rank {rank}: whole gradients are left: {found['left']}"
        assert not any(found["sizes"]), (
            f"rank {rank}: bytes left for whole parameters after backward: {found['sizes']},"
            " expected 0"
        )


@four
@pytest.mark.parametrize("size", [1, 2])
def test_training_is_the_same(world: World, size: int) -> None:
    """Four steps of Adam on the parts equal one process."""
    expected, _ = alone(size, 4)
    for rank, found in enumerate(world(trained, size, 4)):
        for number, (yours, theirs) in enumerate(zip(found["parts"], expected, strict=True)):
            mine = theirs.chunk(size)[rank]
            torch.testing.assert_close(
                yours,
                mine,
                rtol=1e-8,
                atol=1e-8,
                msg=f"rank {rank}, parameter {number} after 4 steps: yours {yours}, expected"
                f" {mine}",
            )


def accumulated() -> list[torch.Tensor]:
    """Return the gradients after two backwards."""
    model, _ = sharded([])
    for step in range(2):
        model(batch(dist.get_rank(), step)).sin().sum().backward()
    return [p.grad for p in model.parameters() if p.grad is not None]


@four
def test_gradients_add_up(world: World) -> None:
    """Gradients accumulate until zero_grad, as usual."""
    model = net([])
    for step in range(2):
        for rank in range(2):
            (model(batch(rank, step)).sin().sum() / 2).backward()
    expected = [p.grad for p in model.parameters() if p.grad is not None]
    for rank, found in enumerate(world(accumulated, 2)):
        for number, (yours, theirs) in enumerate(zip(found, expected, strict=True)):
            where = f"rank {rank}, parameter {number}, the sum of two backwards"
            close(yours, theirs.chunk(2)[rank], where)


def one_by_one() -> list[dict[str, Any]]:
    """Reduce the gradients of a unit, last one first; return the state after each."""
    unit, found = Unit(nn.Linear(3, 4).double()), []
    unit.use()
    for slot in reversed(unit.slots):
        slot.whole.grad = torch.full_like(slot.whole, 2 * dist.get_rank() + 1.0)
        unit.reduce(slot)
        grad = slot.part.grad
        found.append(
            {
                "grad": grad,
                "bytes": None if grad is None else grad.untyped_storage().nbytes() - grad.nbytes,
                "dropped": slot.whole.grad is None,
                "sizes": [size_of(each) for each in unit.slots],
            }
        )
    return found


@four
def test_each_gradient_is_reduced_when_it_is_there(world: World) -> None:
    """Gradients come in any order, with one reduce_scatter and memory each; the last one frees."""
    results = world(one_by_one, 2)
    for rank, found in enumerate(results):
        for number, each in enumerate(found):
            where = f"rank {rank}, gradient {number + 1} of 2, of ones and threes"
            assert each["grad"] is not None, f"{where}: part.grad is None after reduce"
            close(each["grad"], torch.full_like(each["grad"], 2.0), where)
            assert each["dropped"], f"{where}: whole.grad still exists"
            assert 0 == each["bytes"], f"{where}: {each['bytes']} extra bytes behind part.grad"
            freed = [size == 0 for size in each["sizes"]]
            assert [number == 1] * 2 == freed, (
                f"{where}: freed: {freed}; free both after the last gradient, and none before"
            )
        names = [call.name for call in results.calls[rank] if "reduce" in call.name]
        where = f"rank {rank}: for two gradients, yours calls {names}, expected two reduce_scatter"
        assert [True] * 2 == [name in SCATTERS for name in names], where


@five
def test_the_next_layer_is_on_its_way(world: World) -> None:
    """While a layer computes, the next is gathered: to the right in forward, left in backward."""
    for rank, found in enumerate(world(trained, 2)):
        for what, number, whole in found["log"]:
            other = number + 1 if what == "forward" else number - 1
            expected = tuple(sorted({number, other} & set(range(LAYERS))))
            assert expected == whole, (
                f"rank {rank}: in {what} of layer {number}, your layers {whole} are in memory,"
                f" expected {expected}: start the next gather before this layer computes"
            )


def overlapped() -> tuple[list[int], int]:
    """Return how many all-gathers run during each computation, and the parameters of one."""
    running: list[int] = []

    class Log(list[Event]):
        def append(self, event: Event) -> None:
            running.append(sum(not handle.waited for handle in handles))

    model, units = sharded(Log())
    with gathers() as handles:
        model(batch(0)).sum().backward()
    return running, len(units[0].slots)


@five
def test_a_gather_is_waited_for_when_it_is_used(world: World) -> None:
    """A gather is waited for when its layer is used, not when the gather starts."""
    for rank, (running, each) in enumerate(world(overlapped, 2)):
        expected = [each, each, 0, each, each, 0]
        assert expected == running, (
            f"rank {rank}: all-gathers in flight during each computation: yours {running}, expected"
            f" {expected}: async_op=True, and wait in `use`"
        )


def by_hand() -> int:
    """Return how many units a fresh import makes, with library calls forbidden."""
    with forbids(
        kata, "torch.distributed.fsdp", "torch.distributed.tensor", "torch.nn.parallel"
    ) as fresh:
        model = net([])
        units = fresh.fully_shard(list(model))
        model(batch(0)).sum().backward()
    return len(units)


@five
def test_it_is_built_here(world: World) -> None:
    """Units are built without fully_shard, DTensor or DistributedDataParallel."""
    yours = world(by_hand, 1)[0]
    assert LAYERS == yours, f"units: yours {yours}, expected one for each of {LAYERS} layers"
