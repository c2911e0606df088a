"""Tests of k25_guards: the key, compared with what TorchDynamo compiles."""

from __future__ import annotations

import gc
import logging
import sys
import weakref
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture10 import k25_guards as kata
from katas.lecture10.k25_guards import guards
from plugins.kit import unchanged


with torch.inference_mode():
    INFERENCE = torch.ones(2, 3)

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Iterator


SCALE = 2


TABLE = torch.arange(3.0)


@pytest.fixture(autouse=True)
def _fresh_dynamo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget all compiled code, before and after: Dynamo keeps it with each function's code."""
    # A failing test should not print the compiler's own trace of hundreds of lines.
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "disabled", True)
    torch._dynamo.reset()  # noqa: SLF001 - it has no other name in all versions
    yield
    torch._dynamo.reset()  # noqa: SLF001


class Oracle:
    """A backend of the tests' own: it keeps its graphs."""

    def __init__(self) -> None:
        self.graphs: list[torch.fx.GraphModule] = []

    def __call__(self, graph: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        """Keep the graph and run it as it is."""
        self.graphs.append(graph)
        return graph.forward


def compiled_by(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> list[bool]:
    """For each call, return whether ``torch.compile(function, dynamic=False)`` compiled for it."""
    torch._dynamo.reset()  # noqa: SLF001
    oracle, found = Oracle(), []
    compiled = torch.compile(function, backend=oracle, dynamic=False, fullgraph=True)
    for args in calls:
        before = len(oracle.graphs)
        compiled(*args)
        found.append(len(oracle.graphs) > before)
    return found


def new_by(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> list[bool]:
    """For each call, return whether `guards` gives a key that no earlier call had."""
    every = list(calls)
    with unchanged(every):
        keys = [guards(function, *args) for args in every]
    return [key not in keys[:number] for number, key in enumerate(keys)]


def looks(*values: Any) -> torch.Tensor:
    """Look at everything: each tensor's data, each constant, at any depth."""
    total = torch.zeros(())
    for value in values:
        if isinstance(value, torch.Tensor):
            total = total + value.sum()
        elif isinstance(value, list | tuple):
            total = total + len(value) + looks(*value)
        elif isinstance(value, str):
            total = total + (1 if value == "mean" else 2)
        elif value is not None:
            total = total + value
    return total


def scaled(x: torch.Tensor) -> torch.Tensor:
    """Read a global that is a number."""
    return x * SCALE


def shifted(x: torch.Tensor) -> torch.Tensor:
    """Read a global that is a tensor."""
    return x + TABLE


def helper(x: torch.Tensor) -> torch.Tensor:
    """Be called through a global."""
    return x + 1


def other_helper(x: torch.Tensor) -> torch.Tensor:
    """Be called in its place."""
    return x - 1


def other_function_of_that_name() -> Callable[[torch.Tensor], torch.Tensor]:
    """Return another function that is named ``helper``."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return x + 2

    function.__name__ = function.__qualname__ = "helper"
    return function


def helped(x: torch.Tensor) -> torch.Tensor:
    """Call a global function."""
    return helper(x) * 2


def scaling(by: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a function with a closure variable, and a way to change that."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return x * by

    return function


A, B = torch.ones(2, 3), torch.ones(2, 3)


COMPLEX = torch.ones(2, 3, dtype=torch.complex64)


PAIRS = {
    "data": (A, B * 7),
    "offset": (torch.ones(5)[:3], torch.ones(5)[2:]),
    "dtype": (A, A.double()),
    "device": (A, A.to("meta")),
    "sizes": (A, torch.ones(3, 2)),
    "dims": (torch.ones(3), torch.ones(1, 3)),
    "strides": (A, torch.ones(3, 2).t()),
    "strides_of_one_row": (torch.ones(1, 3), torch.ones(9).as_strided((1, 3), (5, 1))),
    "requires_grad": (A, torch.ones(2, 3, requires_grad=True)),
    "conjugate_view": (COMPLEX, COMPLEX.conj()),
    "negative_view": (A, COMPLEX.conj().imag),
    "inference_tensor": (A, INFERENCE),
    "parameter": (torch.ones(2, requires_grad=True), nn.Parameter(torch.ones(2))),
    "int": (2, 3),
    "int_of_one_hash": (-1, -2),
    "int_and_bool": (1, True),
    "int_and_float": (1, 1.0),
    "float": (1.5, 2.5),
    "string": ("mean", "sum"),
    "none": (None, 0),
    "list_and_tuple": ([1, 2], (1, 2)),
    "tuple_and_size": ((1, 2), torch.Size((1, 2))),
    "length": ([1, 2], [1, 2, 0]),
    "items": ([1, 2], [2, 1]),
    "tensors_in_a_list": ([A], [A.double()]),
    "equal_lists": ([A, (1, "mean")], [B, (1, "mean")]),
}


def test_an_equal_call_has_an_equal_key() -> None:
    """One with a different dtype has a different key; both are hashable."""
    x, y = torch.rand(3), torch.rand(3)

    assert guards(looks, x) == guards(looks, y), (
        "x and y differ only in data, but their keys differ: guards look at metadata, never at data"
    )
    assert guards(looks, x) != guards(looks, x.double()), (
        "x and x.double() have equal keys: the dtype must be part of the key"
    )
    assert 2 == len({guards(looks, x), guards(looks, y), guards(looks, x.double())}), (
        f"three calls, of which two look alike, have "
        f"{len({guards(looks, x), guards(looks, y), guards(looks, x.double())})} different keys, "
        f"expected 2"
    )


@pytest.mark.parametrize("name", PAIRS)
def test_the_key_changes_when_dynamo_compiles_again(name: str) -> None:
    """Two calls have different arguments; TorchDynamo gives the expected answer."""
    first, second = PAIRS[name]
    calls = [(torch.ones(()), first), (torch.ones(()), second)]
    actual, expected = new_by(looks, calls), compiled_by(looks, calls)

    assert expected == actual, (
        f"{name}: TorchDynamo {'recompiles' if expected[1] else 'compiles once'}, "
        f"the keys {'differ' if actual[1] else 'are equal'}"
    )


def test_one_tensor_twice_is_not_two_tensors() -> None:
    """Guards say which arguments are the same object, even in lists, but not which object."""
    a, b, c = torch.ones(3), torch.ones(3), torch.ones(3)
    calls = [(a, b), (b, a), (a, a), (c, c), (a, a[:]), (a, [b, b]), (a, [b, a]), (b, [a, a])]
    actual, expected = new_by(looks, calls), compiled_by(looks, calls)

    assert expected == actual, (
        "number the tensors of a call by identity: f(x, x) is not f(x, y), but f(y, y) is f(x, x)"
    )


def test_grad_mode_is_guarded() -> None:
    """Whether a graph is recorded for backward is decided when it is compiled."""
    x = torch.rand(3)
    on = guards(looks, x)
    with torch.no_grad():
        off = guards(looks, x)

    assert on != off, "grad mode is guarded: it must be part of the key"
    assert on == guards(looks, x), "grad mode is on again, so the key should be the first one again"


def test_globals_that_are_read_are_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers are guarded by value, tensors by metadata, functions by identity; others are not."""
    module, x = sys.modules[__name__], torch.ones(3)

    def changes(function: Callable[..., Any], name: str, value: object) -> tuple[bool, bool]:
        torch._dynamo.reset()  # noqa: SLF001
        oracle = Oracle()
        compiled = torch.compile(function, backend=oracle, dynamic=False)
        compiled(x)
        before = guards(function, x)
        monkeypatch.setattr(module, name, value)
        compiled(x)
        return len(oracle.graphs) == 2, before != guards(function, x)

    for function, name, value in [
        (scaled, "SCALE", 3),
        (scaled, "TABLE", torch.ones(1)),
        (shifted, "TABLE", torch.zeros(3)),
        (shifted, "TABLE", torch.zeros(3, dtype=torch.float64)),
        (helped, "helper", other_helper),
        (helped, "helper", helper),
        (helped, "helper", other_function_of_that_name()),
    ]:
        expected, actual = changes(function, name, value)
        assert expected == actual, (
            f"{function.__name__} after a change of {name}: TorchDynamo "
            f"{'recompiles' if expected else 'does not'}, the key "
            f"{'changes' if actual else 'stays'}"
        )


def test_the_name_of_an_attribute_is_no_global(monkeypatch: pytest.MonkeyPatch) -> None:
    """``x.real`` loads no global ``real``, though both are in ``co_names``."""
    module, x = sys.modules[__name__], torch.ones(3)

    def function(x: torch.Tensor) -> torch.Tensor:
        return x.real + len(x)

    monkeypatch.setattr(module, "real", 1, raising=False)
    before = guards(function, x)
    monkeypatch.setattr(module, "real", 2)

    assert before == guards(function, x), "read only what LOAD_GLOBAL names from the globals"


@pytest.mark.parametrize("value", [5, 2.5, "mean"])
def test_closure_variables_are_guarded(value: object) -> None:
    """If what a closure holds changes, its function is recompiled."""
    by: Any = 2

    def function(x: torch.Tensor) -> torch.Tensor:
        return x * (1 if by == "mean" else by)

    x = torch.ones(3)
    oracle = Oracle()
    compiled = torch.compile(function, backend=oracle, dynamic=False)
    compiled(x)
    key = guards(function, x)
    assert key == guards(function, x), "the same call has a different key the second time"
    by = value
    compiled(x)

    assert 2 == len(oracle.graphs), (
        f"torch.compile made {len(oracle.graphs)} graphs, expected 2: it guards what a "
        "closure holds"
    )
    assert key != guards(function, x), (
        "the key has not changed: include the contents of function.__closure__"
    )


def test_one_tensor_in_a_closure_and_an_argument() -> None:
    """The numbering of tensors continues through globals and closure."""
    held, x = torch.ones(3), torch.ones(3)
    function = scaling(held)
    calls: list[tuple[Any, ...]] = [(x,), (torch.ones(3),), (held,)]

    assert compiled_by(function, calls) == new_by(function, calls), (
        f"a new graph for each of three calls? torch.compile: {compiled_by(function, calls)}, "
        f"your keys: {new_by(function, calls)}; the last call passes the tensor that the "
        "closure holds"
    )


def test_a_key_keeps_no_tensor_alive() -> None:
    """A cache lives as long as the program; its keys must not keep the data of the first calls."""
    x, module = torch.ones(3), nn.Linear(2, 2)
    alive, weight = weakref.ref(x), weakref.ref(module.weight)
    key = guards(looks, x, [x], module)
    del x, module
    gc.collect()

    assert key is not None, "guards returns None, which is not a key"
    assert alive() is None, "the key holds the tensor"
    assert weight() is None, "the key holds the module, which holds its parameters"


def test_the_key_is_computed_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled, and the function is not called."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the key is made of facts about the arguments: compile nothing")

    calls = []

    def function(x: torch.Tensor) -> torch.Tensor:
        calls.append(x)
        return x

    x = torch.ones(3)
    monkeypatch.setattr(torch, "compile", refuse)
    for name in ("optimize", "explain", "export"):
        monkeypatch.setattr(torch._dynamo, name, refuse)  # noqa: SLF001

    assert guards(function, x) == guards(function, torch.zeros(3)), (
        "x is ones in one call and zeros in the other: the keys must be equal, because guards do "
        "not cover a tensor's data"
    )
    assert [] == calls, "the function was called: guards looks at a call, it does not make one"


def values(name: str, x: torch.Tensor, whole: Callable[..., Any]) -> tuple[Any, Any]:
    """Return value and gradient of the given function, and of the rewritten one."""
    given_x, whole_x = x.clone().requires_grad_(), x.clone().requires_grad_()
    expected, actual = getattr(kata, name)(given_x), whole(whole_x)
    if name == "report":
        actual, mean = actual
        torch.testing.assert_close(mean, (x.sin() + x).mean(), msg="the mean is what was printed")
    (expected * torch.arange(1.0, 4.0)).sum().backward()
    (actual * torch.arange(1.0, 4.0)).sum().backward()
    assert torch.equal(whole_x.detach(), x), "the caller's tensor was mutated"
    return (expected, given_x.grad), (actual, whole_x.grad)
