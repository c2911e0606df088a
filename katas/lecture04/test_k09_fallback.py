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
    """Count what is called inside."""
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


def test_a_call_counts_once(extension: Extension) -> None:
    """Under the name of its overload; an overload that is not called has no entry."""
    x = torch.ones(3)
    with counting(extension):
        torch.add(x, x)

    assert {"aten::add.Tensor": 1} == extension.op("calls")()


def test_counting_starts_anew(extension: Extension) -> None:
    """What was counted before is gone."""
    x = torch.ones(3)
    with counting(extension):
        torch.add(x, x)
    with counting(extension):
        torch.neg(x)

    assert {"aten::neg": 1} == extension.op("calls")()
    assert {"aten::neg": 1} == extension.op("tensors")()


def test_calls_add_up(extension: Extension) -> None:
    """One count for each overload, in whatever order they come."""
    x = torch.ones(3)
    with counting(extension):
        torch.neg(torch.add(torch.neg(torch.add(x, x)), x))
        x.add_(x)

    assert {
        "aten::add.Tensor": 2,
        "aten::add_.Tensor": 1,
        "aten::neg": 2,
    } == extension.op("calls")()


def test_the_operator_runs(extension: Extension) -> None:
    """The stack reaches it whole and comes back whole: one value, several, a list, none."""
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

    assert [3.0, 4.0, 5.0] == values.tolist()
    assert [1, 1, 1] == indices.tolist()
    assert [(2, 2), (1, 2)] == [tuple(part.shape) for part in parts]
    assert written is out
    assert added is x
    assert [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]] == out.tolist()
    assert 27.0 == scalar
    assert (0, 2) == empty.shape
    assert nothing is None


def test_what_an_operator_calls_is_not_counted(extension: Extension) -> None:
    """``linear`` calls ``t`` and ``addmm``; the program called ``linear``."""
    x, weight, bias = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    with counting(extension):
        nn.functional.linear(x, weight, bias)
        nn.functional.linear(x, weight, bias)

    assert {"aten::linear": 2} == extension.op("calls")()


def test_inner_calls_are_counted_on_request(extension: Extension) -> None:
    """However deep: ``t`` calls ``transpose``, which calls ``as_strided``."""
    x, weight, bias = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    with counting(extension, inner=True):
        nn.functional.linear(x, weight, bias)
    calls = extension.op("calls")()

    assert 1 == calls["aten::linear"]
    assert 1 == calls["aten::t"], f"linear calls t: {calls}"
    assert 1 == calls["aten::addmm"]
    assert 1 <= calls["aten::as_strided"], f"t calls transpose, which calls as_strided: {calls}"


def test_inner_calls_are_asked_for_each_time(extension: Extension) -> None:
    """What a former start asked for does not stay."""
    x = torch.ones(2, 3)
    with counting(extension, inner=True):
        torch.relu(x)
    with counting(extension):
        nn.functional.linear(x, x)

    assert {"aten::linear": 1} == extension.op("calls")()


def test_nothing_is_counted_before_and_after(extension: Extension) -> None:
    """The counts stay, and the thread's keys are what they were."""
    before = keys()
    x = torch.relu(torch.ones(3))
    with counting(extension):
        torch.relu(x)
        assert torch._C._dispatch_tls_is_dispatch_key_included(KEY), (  # noqa: SLF001
            "the key takes part in dispatch once the thread includes it"
        )
    torch.relu(x)

    assert {"aten::relu": 1} == extension.op("calls")()
    assert before == keys()


def test_a_second_start_is_refused(extension: Extension) -> None:
    """It would silently throw away what the first one counts."""
    x = torch.ones(3)
    with counting(extension):
        torch.relu(x)
        with pytest.raises(RuntimeError, match=r"^start: already counting"):
            extension.op("start")(True)  # noqa: FBT003
        nn.functional.linear(x, x)

    assert {"aten::relu": 1, "aten::linear": 1} == extension.op("calls")()


def test_a_start_within_an_operator_is_refused(extension: Extension) -> None:
    """Counting has not ended while an operator runs."""

    def kernel(x: torch.Tensor) -> torch.Tensor:
        with pytest.raises(RuntimeError, match=r"^start: already counting"):
            extension.op("start")(False)  # noqa: FBT003
        return x.clone()

    with torch.library._scoped_library("lecture04_k09_test", "DEF") as library:  # noqa: SLF001
        library.define("again(Tensor x) -> Tensor")
        library.impl("again", kernel, "CompositeExplicitAutograd")
        x = torch.ones(2)
        with counting(extension):
            torch.ops.lecture04_k09_test.again(x)

    assert {"lecture04_k09_test::again": 1} == extension.op("calls")()


def test_a_stop_without_a_start_is_refused(extension: Extension) -> None:
    """Nor is a second stop accepted."""
    with pytest.raises(RuntimeError, match=r"^stop: not counting"):
        extension.op("stop")()
    with counting(extension):
        pass
    with pytest.raises(RuntimeError, match=r"^stop: not counting"):
        extension.op("stop")()


def test_its_own_operators_are_not_counted(extension: Extension) -> None:
    """Reading the counts while they grow must not change them."""
    x = torch.ones(3)
    with counting(extension):
        torch.relu(x)
        calls = extension.op("calls")()
        tensors = extension.op("tensors")()
        with pytest.raises(RuntimeError, match=r"^start: already counting"):
            extension.op("start")(False)  # noqa: FBT003

    assert {"aten::relu": 1} == calls
    assert {"aten::relu": 1} == tensors
    assert {"aten::relu": 1} == extension.op("calls")()


@pytest.mark.parametrize("inner", [False, True])
def test_a_call_that_throws_counts(extension: Extension, *, inner: bool) -> None:
    """It was called; it returned nothing."""
    x = torch.ones(2, 3)
    with counting(extension, inner=inner), pytest.raises(RuntimeError, match="shapes"):
        torch.mm(x, x)

    assert {"aten::mm": 1} == extension.op("calls")()
    assert {"aten::mm": 0} == extension.op("tensors")()


@pytest.mark.parametrize("inner", [False, True])
def test_counting_goes_on_after_an_error(extension: Extension, *, inner: bool) -> None:
    """A key that stays excluded would make the rest of the program invisible."""
    before = keys()
    x = torch.ones(2, 3)
    with counting(extension, inner=inner):
        during = keys()
        with pytest.raises(RuntimeError, match="shapes"):
            torch.mm(x, x)
        assert during == keys(), "mm left by an exception, and the thread's keys have changed"
        with pytest.raises((IndexError, RuntimeError)) as raised:
            x.select(0, 9)
        assert raised.type is IndexError, "the operator's own error goes on, not one with its text"
        torch.relu(x)

    assert 1 == extension.op("calls")()["aten::relu"]
    assert before == keys()


def test_returned_tensors_are_counted(extension: Extension) -> None:
    """Each value that is a tensor, of each call; a number is none."""
    x = torch.arange(6.0).view(2, 3)
    with counting(extension):
        torch.max(x, dim=1)
        torch.max(x, dim=1)
        torch.relu(x)
        torch.tensor(2.0).item()
    tensors = extension.op("tensors")()

    assert 4 == tensors["aten::max.dim"], "max(x, dim) returns values and indices"
    assert 1 == tensors["aten::relu"]
    assert 0 == tensors["aten::item"]


def test_each_tensor_of_a_list_counts(extension: Extension) -> None:
    """A list is one value on the stack and any number of tensors."""
    x = torch.ones(5)
    with counting(extension):
        torch.split(x, 2)
        torch.unbind(x)
        torch.unbind(torch.empty(0, 2))

    tensors = extension.op("tensors")()
    assert 3 == tensors["aten::split.Tensor"]
    assert 5 == tensors["aten::unbind.int"]


def test_an_undefined_tensor_does_not_count(extension: Extension) -> None:
    """``None`` in Python is an undefined tensor in C++: nothing was asked for there."""
    x, mean, rstd = torch.ones(2, 3), torch.zeros(2, 1), torch.ones(2, 1)
    weight, bias, wanted = torch.ones(3), torch.zeros(3), [False, True, True]
    with counting(extension):
        gradients = torch.ops.aten.native_layer_norm_backward(
            x, x, [3], mean, rstd, weight, bias, wanted
        )

    assert [True, False, False] == [gradient is None for gradient in gradients]
    assert {"aten::native_layer_norm_backward": 2} == extension.op("tensors")()


def test_an_operator_defined_later_is_counted(extension: Extension) -> None:
    """A fallback belongs to the key, not to a list of operators that exist today."""
    with torch.library._scoped_library("lecture04_k09_test", "DEF") as library:  # noqa: SLF001
        library.define("twice(Tensor x, *, int[]? sizes=None) -> (Tensor, Tensor)")
        library.impl("twice", lambda x, sizes=None: (x + x, x), "CompositeExplicitAutograd")
        x = torch.ones(2)
        with counting(extension):
            torch.ops.lecture04_k09_test.twice(x, sizes=[1])

    assert {"lecture04_k09_test::twice": 1} == extension.op("calls")()
    assert {"lecture04_k09_test::twice": 2} == extension.op("tensors")()


def test_other_threads_are_not_counted(extension: Extension) -> None:
    """Included keys belong to a thread."""
    x = torch.ones(3)
    with counting(extension):
        thread = threading.Thread(target=torch.relu, args=(x,))
        thread.start()
        thread.join()
        torch.add(x, x)

    assert {"aten::add.Tensor": 1} == extension.op("calls")()


def profiled(step: Callable[[], None], *, inner: bool) -> Counter[str]:
    """Return how often the profiler sees each operator, outermost calls only unless `inner`."""
    # Not torch.profiler: it imports a great deal the first time.
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
    """Forward, backward and update, call for call what the profiler has seen."""
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
        f"seen by the profiler alone: {expected - counted}; counted alone: {counted - expected}"
    )
