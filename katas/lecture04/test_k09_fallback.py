"""Tests of k09_fallback: the profiler sees every operator too, and is the oracle."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator

    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

KEY = "TESTING_ONLY_GenericMode"

CLASSIFIER = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2), nn.Softmax(-1))
CONVOLUTIONS = nn.Sequential(
    nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
)
MODELS = {
    "classifier": (CLASSIFIER, (3, 4)),
    "convolutions": (CONVOLUTIONS, (2, 1, 8, 8)),
    "transformer": (nn.TransformerEncoderLayer(8, 2, 16), (5, 2, 8)),
    "recurrent": (nn.LSTM(4, 5), (3, 2, 4)),
}


@pytest.fixture(autouse=True)
def _counting_ends_with_the_test() -> Iterator[None]:
    """Whatever a test or a kernel leaves behind, the next test starts without the key."""
    yield
    torch._C._dispatch_tls_set_dispatch_key_included(KEY, False)  # noqa: FBT003, SLF001
    torch._C._dispatch_tls_set_dispatch_key_excluded(KEY, False)  # noqa: FBT003, SLF001


@contextmanager
def counting(extension: Extension, *, inner: bool = False) -> Iterator[None]:
    """Count the operators called inside the block."""
    extension.op("start")(inner)
    try:
        yield
    finally:
        extension.op("stop")()


def keys() -> tuple[int, int]:
    """Return the keys that this thread includes and excludes."""
    included = torch._C._dispatch_tls_local_include_set()  # noqa: SLF001
    excluded = torch._C._dispatch_tls_local_exclude_set()  # noqa: SLF001
    return included.raw_repr(), excluded.raw_repr()


def expect(expected: object, yours: object, why: str) -> None:
    """Compare counts, and label both sides."""
    assert expected == yours, f"yours      {yours}\nexpected   {expected}\n{why}"


def test_a_call_counts_once(extension: Extension) -> None:
    """A call counts under the name of its overload; an overload that is not called has no entry."""
    x = torch.ones(3)
    with counting(extension):
        torch.add(x, x)

    expect(
        {"aten::add.Tensor": 1},
        extension.op("calls")(),
        "the program calls torch.add, and each overload has a name of its own",
    )


def test_calls_add_up(extension: Extension) -> None:
    """Each overload has one count, in whatever order the calls come."""
    x = torch.ones(3)
    with counting(extension):
        torch.neg(torch.add(torch.neg(torch.add(x, x)), x))
        x.add_(x)

    expected = {"aten::add.Tensor": 2, "aten::add_.Tensor": 1, "aten::neg": 2}
    expect(expected, extension.op("calls")(), "calls by overload")


def test_the_operator_runs(extension: Extension) -> None:
    """The operator gets and returns the whole stack: one value, several, a list, none."""
    x = torch.arange(6.0).view(2, 3).t()
    out = torch.empty(0)
    with counting(extension):
        values, indices = torch.max(x, dim=1)
        parts = torch.split(x, 2)
        written = torch.mul(x, 2, out=out)
        added = x.add_(1, alpha=2)
        scalar = x.sum().item()
        empty = torch.cat([torch.empty(0, 2), torch.empty(0, 2)])
        nothing = torch._assert_async(torch.tensor(1))  # noqa: SLF001 - an operator that returns nothing

    expect([3.0, 4.0, 5.0], values.tolist(), "the first result of max")
    expect([1, 1, 1], indices.tolist(), "the second result of max")
    expect([(2, 2), (1, 2)], [tuple(part.shape) for part in parts], "the list that split returns")
    assert written is out, "mul(out=out) must return `out` itself"
    assert added is x, "add_ must return x itself"
    expect([[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]], out.tolist(), "what mul has written")
    expect(27.0, scalar, "the sum of x, as a number")
    expect((0, 2), tuple(empty.shape), "cat of empty tensors")
    assert nothing is None, f"_assert_async returns nothing, yours {nothing}"


def test_what_an_operator_calls_is_not_counted(extension: Extension) -> None:
    """``linear`` calls ``t`` and ``addmm``; the program called ``linear``."""
    x, weight, bias = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    with counting(extension):
        nn.functional.linear(x, weight, bias)
        nn.functional.linear(x, weight, bias)

    expect(
        {"aten::linear": 2},
        extension.op("calls")(),
        "linear calls t and addmm; the program has called linear, two times",
    )


def test_inner_calls_are_counted_on_request(extension: Extension) -> None:
    """Calls at any depth count: ``t`` calls ``transpose``, which calls ``as_strided``."""
    x, weight, bias = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    with counting(extension, inner=True):
        nn.functional.linear(x, weight, bias)
    calls = extension.op("calls")()

    for name in ("aten::linear", "aten::t", "aten::addmm"):
        assert 1 == calls.get(name), f"linear calls t and addmm; your kernel counted {calls}"
    assert 1 <= calls["aten::as_strided"], f"t calls transpose, which calls as_strided: {calls}"


def test_nothing_is_counted_before_and_after(extension: Extension) -> None:
    """The counts stay, and the thread's keys are restored."""
    before = keys()
    x = torch.relu(torch.ones(3))
    with counting(extension):
        torch.relu(x)
        assert torch._C._dispatch_tls_is_dispatch_key_included(KEY), (  # noqa: SLF001
            "after start() this thread does not include the key, so count is not called"
        )
    torch.relu(x)

    expect({"aten::relu": 1}, extension.op("calls")(), "one call between start and stop")
    expect(before, keys(), "what this thread includes and excludes, as bits, before and now")


def test_its_own_operators_are_not_counted(extension: Extension) -> None:
    """Reading the counts while they grow must not change them."""
    x = torch.ones(3)
    with counting(extension):
        torch.relu(x)
        calls = extension.op("calls")()
        tensors = extension.op("tensors")()
        with pytest.raises(RuntimeError, match="already counting"):
            extension.op("start")(inner=False)

    expect({"aten::relu": 1}, calls, "calls() itself is not counted")
    expect({"aten::relu": 1}, tensors, "tensors() itself is not counted")
    expect(
        {"aten::relu": 1},
        extension.op("calls")(),
        "these four fall through kMode: TORCH_LIBRARY_IMPL(lecture04_k09, ...)",
    )


@pytest.mark.parametrize("inner", [False, True])
def test_a_call_that_throws_counts(extension: Extension, *, inner: bool) -> None:
    """The operator was called, but returned nothing."""
    x = torch.ones(2, 3)
    with counting(extension, inner=inner), pytest.raises(RuntimeError, match="shapes"):
        torch.mm(x, x)

    expect(
        {"aten::mm": 1},
        extension.op("calls")(),
        "mm was called, though it has thrown: count before the call",
    )
    expect({"aten::mm": 0}, extension.op("tensors")(), "mm has returned nothing")


@pytest.mark.parametrize("inner", [False, True])
def test_counting_goes_on_after_an_error(extension: Extension, *, inner: bool) -> None:
    """A key that stays excluded would make the rest of the program invisible."""
    before = keys()
    x = torch.ones(2, 3)
    with counting(extension, inner=inner):
        during = keys()
        with pytest.raises(RuntimeError, match="shapes"):
            torch.mm(x, x)
        assert during == keys(), "mm threw, and the thread's keys were not restored"
        with pytest.raises((IndexError, RuntimeError)) as raised:
            x.select(0, 9)
        assert raised.type is IndexError, (
            "the operator's own error must reach the caller, not a new one with its text"
        )
        torch.relu(x)

    expect(1, extension.op("calls")()["aten::relu"], "relu, after an operator that has thrown")
    expect(before, keys(), "what this thread includes and excludes, as bits, before and now")


def test_returned_tensors_are_counted(extension: Extension) -> None:
    """Every returned tensor counts; a number does not."""
    x = torch.arange(6.0).view(2, 3)
    with counting(extension):
        torch.max(x, dim=1)
        torch.max(x, dim=1)
        torch.relu(x)
        torch.tensor(2.0).item()
    tensors = extension.op("tensors")()

    yours = {name: tensors[name] for name in ("aten::max.dim", "aten::relu", "aten::item")}
    expected = {"aten::max.dim": 4, "aten::relu": 1, "aten::item": 0}
    expect(expected, yours, "two calls of max return two tensors each, item returns a number")

    x, weight, y = torch.ones(1, 1, 4, 4), torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)
    numbers = [0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    with counting(extension):
        torch.ops.aten.convolution_backward(y, x, weight, *numbers, [False, True, False])
    yours = extension.op("tensors")()["aten::convolution_backward"]
    expect(1, yours, "asked for the gradient of weight alone, it returns two undefined tensors")


def test_each_tensor_of_a_list_counts(extension: Extension) -> None:
    """A list is one value on the stack and any number of tensors."""
    x = torch.ones(5)
    with counting(extension):
        torch.split(x, 2)
        torch.unbind(x)
        torch.unbind(torch.empty(0, 2))

    tensors = extension.op("tensors")()
    expect(3, tensors["aten::split.Tensor"], "five rows, two at a time")
    expect(5, tensors["aten::unbind.int"], "five rows of one tensor, none of the other")


def test_an_operator_defined_later_is_counted(extension: Extension) -> None:
    """A fallback belongs to the key, not to a list of existing operators."""
    with torch.library._scoped_library("lecture04_k09_test", "DEF") as library:  # noqa: SLF001
        library.define("twice(Tensor x, *, int[]? sizes=None) -> (Tensor, Tensor)")
        library.impl("twice", lambda x, sizes=None: (x + x, x), "CompositeExplicitAutograd")
        x = torch.ones(2)
        with counting(extension):
            torch.ops.lecture04_k09_test.twice(x, sizes=[1])

    expect(
        {"lecture04_k09_test::twice": 1},
        extension.op("calls")(),
        "an operator that was defined after your library was loaded",
    )
    expect({"lecture04_k09_test::twice": 2}, extension.op("tensors")(), "it returns two tensors")


def test_other_threads_are_not_counted(extension: Extension) -> None:
    """Included keys belong to a thread."""
    x = torch.ones(3)
    with counting(extension):
        thread = threading.Thread(target=torch.relu, args=(x,))
        thread.start()
        thread.join()
        torch.add(x, x)

    expect(
        {"aten::add.Tensor": 1},
        extension.op("calls")(),
        "relu ran on another thread, which includes nothing",
    )


def profiled(step: Callable[[], None], *, inner: bool) -> Counter[str]:
    """Return how often the profiler sees each operator, outermost calls only unless `inner`."""
    # Not torch.profiler: it imports a lot the first time.
    with torch.autograd.profiler.profile() as profile:
        step()
    if inner:
        # The raw events: function_events has no call whose caller has the same name.
        raw = profile.kineto_results.events()
        return Counter(event.name() for event in raw if event.name().startswith("aten::"))
    names: Counter[str] = Counter()
    for event in profile.function_events:
        caller = event.cpu_parent
        while caller is not None and not caller.name.startswith("aten::"):
            caller = caller.cpu_parent
        if caller is None and event.name.startswith("aten::"):
            names[event.name] += 1
    return names


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_training_step_is_counted(extension: Extension, name: str, *, inner: bool) -> None:
    """In forward, backward and update, exactly the calls that the profiler sees are counted."""
    model, shape = MODELS[name]
    x = torch.randn(shape)

    def step() -> None:
        model.zero_grad()
        y = model(x)
        (y[0] if isinstance(y, tuple) else y).sum().backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.sub_(parameter.grad, alpha=0.1)

    step()
    with counting(extension, inner=inner):
        step()
    counted: Counter[str] = Counter()
    for overload, calls in extension.op("calls")().items():
        if overload.startswith("aten::"):
            counted[overload.partition(".")[0]] += calls

    expected = profiled(step, inner=inner)
    assert expected == counted, (
        f"seen only by the profiler: {expected - counted}; counted only by your kernel: "
        f"{counted - expected}"
    )


def test_the_stack_may_hold_more(extension: Extension) -> None:
    """The call's values are at the end; below them are values that the caller needs later."""
    with torch.library._scoped_library("lecture04_k09_test", "DEF") as library:  # noqa: SLF001
        library.define("plus(Tensor x, Tensor y) -> Tensor")
        library.impl("plus", lambda x, y: x + y, "CompositeExplicitAutograd")
        x = torch.ones(3, 2)
        with counting(extension, inner=True):
            # Without a batching rule, vmap calls it for each row, on the stack of its own call.
            torch.vmap(torch.ops.lecture04_k09_test.plus)(x, x)
    calls, tensors = extension.op("calls")(), extension.op("tensors")()

    name = "lecture04_k09_test::plus"
    assert calls.get(name, 0) > 3, (
        f"vmap calls plus for each of 3 rows; your kernel counted {calls}"
    )
    expect(calls[name], tensors[name], "plus returns one tensor a call: torch::jit::last has it")
