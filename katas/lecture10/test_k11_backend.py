"""Tests of k11_backend: what is compiled, what runs, what guards see, and code they leave alone."""

from __future__ import annotations

import gc
import logging
import sys
import weakref
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import Phase
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import nn
from torch._subclasses import FakeTensorMode

from katas.lecture10 import k11_backend as kata
from katas.lecture10.k11_backend import Watch
from katas.lecture10.k11_backend import guards
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Iterator

    from katas.lecture10.conftest import Case


SCALE = 2
TABLE = torch.arange(3.0)


@pytest.fixture(autouse=True)
def _fresh_dynamo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget all compiled code, before and after: Dynamo keeps it with each function's code."""
    # The compiler's own trace, hundreds of lines, is not what a failing test has to say.
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "disabled", True)
    torch._dynamo.reset()  # noqa: SLF001 - it has no other name in all versions
    yield
    torch._dynamo.reset()  # noqa: SLF001


def patched(**settings: Any) -> Any:
    """Return a context in which Dynamo has other settings."""
    return torch._dynamo.config.patch(**settings)  # noqa: SLF001


class Oracle:
    """A backend of the tests' own: it keeps its graphs."""

    def __init__(self) -> None:
        self.graphs: list[torch.fx.GraphModule] = []

    def __call__(self, graph: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        """Keep the graph and run it as it is."""
        self.graphs.append(graph)
        return graph.forward


def compiled_by(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> list[bool]:
    """Return for each call whether ``torch.compile(function, dynamic=False)`` compiled for it."""
    torch._dynamo.reset()  # noqa: SLF001
    oracle, found = Oracle(), []
    compiled = torch.compile(function, backend=oracle, dynamic=False, fullgraph=True)
    for args in calls:
        before = len(oracle.graphs)
        compiled(*args)
        found.append(len(oracle.graphs) > before)
    return found


def new_by(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> list[bool]:
    """Return for each call whether `guards` gives a key that no call before it had."""
    every = list(calls)
    with unchanged(every):
        keys = [guards(function, *args) for args in every]
    return [key not in keys[:number] for number, key in enumerate(keys)]


def straight(x: torch.Tensor) -> torch.Tensor:
    """One graph."""
    return x.sin() + 1


def printing(x: torch.Tensor) -> torch.Tensor:
    """Break between two graphs, of which the second needs `x` once more."""
    y = x.sin()
    print("between")  # noqa: T201 - it is what breaks the graph
    return y.cos() + x


def branching(x: torch.Tensor) -> torch.Tensor:
    """Break, and go on with one of two graphs."""
    if x.sum() > 0:
        return x * 2
    return x - 1


def twice(x: torch.Tensor) -> torch.Tensor:
    """Two breaks, three graphs."""
    x = x + x.max().item()
    print("between")  # noqa: T201
    return x.exp()


def two_steps(x: torch.Tensor) -> torch.Tensor:
    """Run each graph of `printing` twice, and compile it once."""
    return printing(printing(x))


def plain(x: int) -> int:
    """No tensor, no graph."""
    return x + 1


def test_the_first_call_compiles_one_graph_and_runs_it() -> None:
    """The pair of the first call is (1, 1); the backend got a GraphModule."""
    watch = Watch(straight)
    assert [] == watch.calls, "torch.compile alone compiles nothing: it waits for a call"
    x = torch.arange(3.0)
    torch.testing.assert_close(watch(x), straight(x))

    assert 1 == len(watch.graphs), f"the backend was given {len(watch.graphs)} graphs"
    assert isinstance(watch.graphs[0], torch.fx.GraphModule)
    assert [(1, 1)] == watch.calls, f"(compiled, ran) is {watch.calls}: one graph, which ran once"


def test_the_second_call_runs_what_was_compiled() -> None:
    """A cache hit is (0, 1), and its data are the new ones."""
    watch = Watch(straight)
    for x in (torch.zeros(3), torch.ones(3), torch.rand(3)):
        torch.testing.assert_close(watch(x), straight(x))

    assert [(1, 1), (0, 1), (0, 1)] == watch.calls, (
        f"{watch.calls}: compile the function once, when the watch is made, with one backend"
    )
    Watch(straight)
    watch(torch.ones(3))
    assert (0, 1) == watch.calls[-1], (
        f"another watch was made: yours is {watch.calls[-1]}, PyTorch's still a cache hit, (0, 1)"
    )


def test_a_watch_is_called_like_its_function() -> None:
    """Keywords, defaults, structures and gradients go through."""

    def function(x: torch.Tensor, y: torch.Tensor | None = None, *, by: float = 2.0) -> Any:
        return {"x": x * by, "y": [x if y is None else x * y]}

    watch = Watch(function)
    x = torch.rand(3, requires_grad=True)
    result = watch(x, y=x, by=3.0)
    (result["x"].sum() + result["y"][0].sum()).backward()

    assert ["x", "y"] == list(result)
    torch.testing.assert_close(x.grad, (3 + 2 * x).detach())
    torch.testing.assert_close(watch(x)["x"], 2 * x)


def test_the_backend_is_what_counts() -> None:
    """Called by hand it keeps the graph, and returns what runs it: all of its inputs, in order."""
    watch = Watch(straight)

    class Two(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor]:
            return (x - 2 * y,)

    graph = torch.fx.symbolic_trace(Two())
    x, y = torch.rand(2), torch.rand(2)
    run = watch.backend(graph, [x, y])
    (result,) = run(y, x)

    torch.testing.assert_close(result, y - 2 * x)
    assert watch.graphs[0] is graph, "the backend notes the very graph that it is given"
    assert [] == watch.calls, "this was no call of the watch"
    watch(x)
    assert [(1, 1)] == watch.calls, "a pair tells what happened in its own call"


def test_a_graph_break_makes_two_graphs(capsys: pytest.CaptureFixture[str]) -> None:
    """The print runs in Python, between them, in every call."""
    watch = Watch(printing)
    for x in (torch.rand(3), torch.rand(3)):
        torch.testing.assert_close(watch(x), printing(x))

    assert 4 == capsys.readouterr().out.count("between")
    assert [(2, 2), (0, 2)] == watch.calls, f"(compiled, ran) is {watch.calls}"
    assert 1 == watch.breaks
    assert 0 == watch.recompiles


def test_the_graphs_around_a_break_read_so() -> None:
    """The first returns what lives on; the second has that for an input, and `x` again."""
    watch = Watch(printing)
    watch(torch.rand(3))

    assert_expected_inline(
        "\n\n".join(graph_text(graph) for graph in watch.graphs),
        """\
L_x_ = input
sin = L_x_.sin()
return (sin,)

L_y_ = input
L_x_ = input
cos = L_y_.cos()
add = operator.add(cos, L_x_)
return (add,)""",
    )


@pytest.mark.parametrize("function", [straight, printing, branching, twice, two_steps])
def test_breaks_are_those_of_explain(function: Callable[..., Any]) -> None:
    """``torch._dynamo.explain`` is the oracle."""
    watch = Watch(function)
    x = torch.rand(3)
    watch(x)
    explained = torch._dynamo.explain(function)(x)  # noqa: SLF001 - documented under this name

    assert explained.graph_count == len(watch.graphs)
    assert explained.graph_break_count == watch.breaks, (
        f"{watch.breaks} breaks; explain says {explained.graph_break_count}"
    )


def test_without_a_graph_there_is_no_break() -> None:
    """Before the first call, and for a function without tensors."""
    watch = Watch(plain)
    assert 0 == watch.breaks
    assert 0 == watch.recompiles
    assert 3 == watch(2)

    assert [(0, 0)] == watch.calls, "Dynamo asks no backend where there is nothing to compute"
    assert 0 == watch.breaks, f"{watch.breaks}: no graph, no break"


def test_a_new_dtype_is_a_recompile() -> None:
    """A guard fails; the old code stays, and serves its own dtype again."""
    watch = Watch(straight)
    for dtype in (torch.float32, torch.float64, torch.float32, torch.float16):
        watch(torch.ones(3, dtype=dtype))

    assert [(1, 1), (1, 1), (0, 1), (1, 1)] == watch.calls
    assert 2 == watch.recompiles
    assert 0 == watch.breaks, "a recompile is no break: that is about one call"


def test_graphs_are_counted_and_not_calls() -> None:
    """One call may compile two graphs again, and may run one graph twice."""
    watch = Watch(printing)
    for dtype in (torch.float32, torch.float64, torch.float32):
        watch(torch.ones(3, dtype=dtype))

    assert [(2, 2), (2, 2), (0, 2)] == watch.calls, f"(compiled, ran) is {watch.calls}"
    assert 1 == watch.breaks, f"{watch.breaks} breaks: there is one print"
    assert 2 == watch.recompiles, f"{watch.recompiles}: the second call compiled both graphs anew"
    again = Watch(two_steps)
    again(torch.rand(3))
    assert [(2, 4)] == again.calls, f"(compiled, ran) is {again.calls}: each of two runs twice"


def test_only_the_first_call_tells_of_breaks() -> None:
    """The other branch, met later, is compiled then: a recompile of what is behind the break."""
    watch = Watch(branching)
    for sign in (1, 1, -1, -1):
        watch(torch.full((3,), float(sign)))

    assert [(2, 2), (0, 2), (1, 2), (0, 2)] == watch.calls
    assert (1, 1) == (watch.breaks, watch.recompiles)


@pytest.mark.parametrize(
    ("dynamic", "expected"),
    [
        pytest.param(False, [1, 1, 1, 1], id="never"),
        pytest.param(None, [1, 1, 0, 0], id="the_second_time"),
        pytest.param(True, [1, 0, 0, 0], id="at_once"),
    ],
)
def test_sizes_are_as_dynamic_as_was_said(dynamic: bool | None, expected: list[int]) -> None:  # noqa: FBT001 - torch.compile takes these three
    """By default a size that changed is a variable in the second graph; so hand `dynamic` on."""
    watch = Watch(straight, dynamic=dynamic)
    for size in (4, 5, 6, 7):
        watch(torch.ones(size))

    compiled = [compiled for compiled, _ in watch.calls]
    assert expected == compiled, f"graphs compiled in four calls: {compiled}, dynamic={dynamic}"


def test_above_the_limit_nothing_runs_compiled() -> None:
    """(0, 0): too many versions. What they serve they still serve: (0, 1)."""
    watch = Watch(straight, dynamic=False)
    with patched(recompile_limit=2):
        for size in (3, 4, 5, 6, 3):
            torch.testing.assert_close(watch(torch.ones(size)), straight(torch.ones(size)))

    assert [(1, 1), (1, 1), (0, 0), (0, 0), (0, 1)] == watch.calls


def test_a_call_that_raises_is_noted() -> None:
    """With what ran before the error, which passes through."""

    def function(x: torch.Tensor, wrong: bool) -> torch.Tensor:  # noqa: FBT001
        y = x.sin()
        print("between")  # noqa: T201
        if wrong:
            raise ValueError("wrong from the start")
        return y.cos()

    watch = Watch(function)
    x = torch.rand(3)
    watch(x, wrong=False)
    with pytest.raises(ValueError, match="wrong from the start"):
        watch(x, wrong=True)

    assert 2 == len(watch.calls), f"{watch.calls}: a pair for each of two calls"
    assert 1 == watch.calls[1][1], f"{watch.calls}: one graph ran before the error"


def test_an_interrupted_call_is_noted() -> None:
    """Ctrl-C raises what is no Exception, and that call has its pair too."""

    @torch.compiler.disable
    def interrupt() -> None:
        raise KeyboardInterrupt

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        interrupt()
        return y.cos()

    watch = Watch(function)
    with pytest.raises(KeyboardInterrupt):
        watch(torch.rand(3))

    assert [(1, 1)] == watch.calls, f"{watch.calls}: a graph was compiled and ran, then it raised"


@pytest.mark.parametrize("name", ["unet", "lstm"])
def test_real_models(name: str, zoo: Callable[[str], Case]) -> None:
    """Values and breaks of models of the size that people train, and a second call from cache."""
    model, inputs = zoo(name)
    watch = Watch(model)
    torch.testing.assert_close(watch(*inputs), model(*inputs))
    watch(*inputs)
    (compiled, ran), second = watch.calls

    assert compiled == len(watch.graphs)
    assert (0, ran) == second, f"(compiled, ran) is {watch.calls}: the second call is a hit"
    assert max(compiled - 1, 0) == watch.breaks


READY_MADE = (
    "torch._dynamo.explain",
    "torch._dynamo.testing",
    "torch._dynamo.utils.CompileProfiler",
    "torch._dynamo.utils.compile_times",
    "torch._dynamo.utils.counters",
)


def test_nothing_ready_made_counts() -> None:
    """PyTorch's own meters and backends are what is being written here."""

    @torch.compiler.disable
    def forget() -> None:
        torch._dynamo.utils.counters.clear()  # noqa: SLF001

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        forget()
        return y.cos()

    with forbids(kata, *READY_MADE, allow=("torch._", "torch.ops", "torch.?")) as fresh:
        watch = fresh.Watch(function)
        watch(torch.rand(3))
        fresh.guards(function, torch.rand(3))

    assert [(2, 2)] == watch.calls, f"{watch.calls}: the program may clear Dynamo's counters"
    assert 1 == watch.breaks


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
    """Return another function that calls itself ``helper``."""

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
with torch.inference_mode():
    INFERENCE = torch.ones(2, 3)
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
    """And one with another dtype another key; both are hashable."""
    x, y = torch.rand(3), torch.rand(3)

    assert guards(looks, x) == guards(looks, y), "guards look at metadata, never at data"
    assert guards(looks, x) != guards(looks, x.double())
    assert 2 == len({guards(looks, x), guards(looks, y), guards(looks, x.double())})


@pytest.mark.parametrize("name", PAIRS)
def test_the_key_changes_when_dynamo_compiles_again(name: str) -> None:
    """Of two calls with different arguments; TorchDynamo is asked for the answer."""
    first, second = PAIRS[name]
    calls = [(torch.ones(()), first), (torch.ones(()), second)]
    actual, expected = new_by(looks, calls), compiled_by(looks, calls)

    assert expected == actual, (
        f"{name}: TorchDynamo {'compiles again' if expected[1] else 'compiles once'}, "
        f"the keys {'differ' if actual[1] else 'are equal'}"
    )


def test_a_tensor_on_another_gpu_has_another_key() -> None:
    """Two GPUs have the same dispatch keys, and not the same memory."""
    with FakeTensorMode():  # which needs no GPU for a tensor on one
        first, again, second = (torch.empty(3, device=f"cuda:{n}") for n in (0, 0, 1))

    assert guards(looks, first) == guards(looks, again), "both are on one GPU"
    assert guards(looks, first) != guards(looks, second), "cuda:0 and cuda:1 are two devices"


def test_one_tensor_twice_is_not_two_tensors() -> None:
    """Which arguments are one object is guarded, also inside lists; which object it is, is not."""
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

    assert on != off, "grad mode is guarded: it is a part of the key"
    assert on == guards(looks, x), "grad mode is on again, so the key is the first one again"


def test_globals_that_are_read_are_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number by value, a tensor by metadata, a function by identity; others not at all."""
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
            f"{'compiles again' if expected else 'does not'}, the key "
            f"{'changes' if actual else 'stays'}"
        )


def test_the_name_of_an_attribute_is_no_global(monkeypatch: pytest.MonkeyPatch) -> None:
    """``x.real`` loads no global ``real``, though both stand in ``co_names``."""
    module, x = sys.modules[__name__], torch.ones(3)

    def function(x: torch.Tensor) -> torch.Tensor:
        return x.real + len(x)

    monkeypatch.setattr(module, "real", 1, raising=False)
    before = guards(function, x)
    monkeypatch.setattr(module, "real", 2)

    assert before == guards(function, x), "only what LOAD_GLOBAL names is read from the globals"


@pytest.mark.parametrize("value", [5, 2.5, "mean"])
def test_closure_variables_are_guarded(value: object) -> None:
    """Change what a closure holds, and its function is compiled again."""
    by: Any = 2

    def function(x: torch.Tensor) -> torch.Tensor:
        return x * (1 if by == "mean" else by)

    x = torch.ones(3)
    oracle = Oracle()
    compiled = torch.compile(function, backend=oracle, dynamic=False)
    compiled(x)
    key = guards(function, x)
    assert key == guards(function, x)
    by = value
    compiled(x)

    assert 2 == len(oracle.graphs)
    assert key != guards(function, x), "the contents of function.__closure__ belong to the key"


def test_one_tensor_in_a_closure_and_an_argument() -> None:
    """The numbering of tensors goes on through globals and closure."""
    held, x = torch.ones(3), torch.ones(3)
    function = scaling(held)
    calls: list[tuple[Any, ...]] = [(x,), (torch.ones(3),), (held,)]

    assert compiled_by(function, calls) == new_by(function, calls)


def test_one_tensor_in_a_global_and_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    """A global that is an argument as well is one tensor, not two.

    In torch 2.11 TorchDynamo passes over the globals if none was assigned to, so one is.
    """

    def calls() -> Iterator[tuple[Any, ...]]:
        for number, x in enumerate((torch.ones(3), torch.zeros(3), TABLE)):
            monkeypatch.setattr(sys.modules[__name__], "number", number, raising=False)
            yield (x,)

    actual, expected = new_by(shifted, calls()), compiled_by(shifted, calls())

    assert expected == actual, f"compiled: {expected}, a new key: {actual}; the third is the global"


constants = st.sampled_from([0, 1, 2, True, False, 0.5, 1.0, "mean", "sum", None])
tensors = st.sampled_from(
    [A, B, A.double(), torch.ones(3, 2).t(), torch.ones(2, 3, requires_grad=True), torch.ones(3)]
)
arguments = st.recursive(
    constants | tensors,
    lambda inner: st.lists(inner, max_size=2) | st.tuples(inner, inner),
    max_leaves=3,
)


@settings(max_examples=6, phases=[Phase.generate])  # each compiles a few times
@given(pool=st.lists(st.tuples(tensors, arguments), min_size=1, max_size=3), data=st.data())
def test_any_sequence_of_calls(pool: list[tuple[Any, ...]], data: st.DataObject) -> None:
    """A cache with your key misses exactly where TorchDynamo compiles."""
    calls = data.draw(st.lists(st.sampled_from(pool), min_size=2, max_size=4))
    actual, expected = new_by(looks, calls), compiled_by(looks, calls)

    assert expected == actual, f"compiled: {expected}, a new key: {actual}"


def test_a_key_keeps_no_tensor_alive() -> None:
    """A cache lives as long as the program; its keys must not hold the data of the first calls."""
    x, module = torch.ones(3), nn.Linear(2, 2)
    alive, weight = weakref.ref(x), weakref.ref(module.weight)
    key = guards(looks, x, [x], module)
    del x, module
    gc.collect()

    assert key is not None
    assert alive() is None, "the key holds the tensor"
    assert weight() is None, "the key holds the module, and that holds its parameters"


def test_the_key_is_computed_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is the function called."""

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

    assert guards(function, x) == guards(function, torch.zeros(3))
    assert [] == calls, "guards looks at a call, it does not make one"


INPUTS = {
    "positive": torch.tensor([0.5, 0.25, 0.125]),
    "negative": torch.tensor([-3.0, 1.5, 1.0]),
    "large": torch.tensor([0.5, -40.0, 60.0]),
    "zero": torch.zeros(3),
}
REWRITTEN = ["flip", "limit", "report"]


def values(name: str, x: torch.Tensor, whole: Callable[..., Any]) -> tuple[Any, Any]:
    """Return value and gradient of the given function, and of the one written anew."""
    given_x, whole_x = x.clone().requires_grad_(), x.clone().requires_grad_()
    expected, actual = getattr(kata, name)(given_x), whole(whole_x)
    if name == "report":
        actual, mean = actual
        torch.testing.assert_close(mean, (x.sin() + x).mean(), msg="the mean is what was printed")
    (expected * torch.arange(1.0, 4.0)).sum().backward()
    (actual * torch.arange(1.0, 4.0)).sum().backward()
    assert torch.equal(whole_x.detach(), x), "the caller's tensor was written to"
    return (expected, given_x.grad), (actual, whole_x.grad)


@pytest.mark.parametrize("data", INPUTS)
@pytest.mark.parametrize("name", REWRITTEN)
def test_what_is_written_anew_computes_the_same(name: str, data: str) -> None:
    """Values and gradients, uncompiled."""
    expected, actual = values(name, INPUTS[data], getattr(kata, f"whole_{name}"))

    torch.testing.assert_close(actual, expected, msg=lambda m: f"whole_{name}, {data}: {m}")


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_matrix_is_computed_as_a_whole(name: str) -> None:
    """All of its elements decide together, not each row for itself, and its dtype stays."""
    x = torch.tensor([[0.5, 0.25, 3.0], [-8.0, 1.0, 2.0]], dtype=torch.float16)
    expected, actual = values(name, x, getattr(kata, f"whole_{name}"))

    torch.testing.assert_close(actual, expected, msg=lambda m: f"whole_{name} of a matrix: {m}")


@pytest.mark.parametrize("name", ["flip", "limit"])
def test_nan_spreads_as_it_did(name: str) -> None:
    """Of what holds NaN, the sum is not negative, and the largest magnitude is NaN."""
    x = torch.tensor([2.0, float("nan"), -4.0])
    expected, actual = getattr(kata, name)(x), getattr(kata, f"whole_{name}")(x)

    torch.testing.assert_close(
        actual, expected, equal_nan=True, msg=lambda m: f"whole_{name} of {x.tolist()}: {m}"
    )


@pytest.mark.parametrize("name", REWRITTEN)
def test_it_is_one_graph_for_all_data(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Compiled once, without a break, for data that take either branch; of PyTorch's operators."""
    whole = getattr(kata, f"whole_{name}")
    whole(INPUTS["large"])
    capsys.readouterr()
    oracle = Oracle()
    compiled = torch.compile(whole, backend=oracle, fullgraph=True)
    for data, x in INPUTS.items():
        try:
            expected, actual = values(name, x, compiled)
        except torch._dynamo.exc.Unsupported as error:  # noqa: SLF001
            reason = str(error).partition("\n")[0]
            pytest.fail(f"whole_{name} breaks the graph: {reason}", pytrace=False)
        torch.testing.assert_close(actual, expected, msg=lambda m, d=data: f"{name}, {d}: {m}")

    assert 1 == len(oracle.graphs), f"{len(oracle.graphs)} graphs for four inputs of one shape"
    symbols = (torch.SymInt, torch.SymFloat, torch.SymBool)
    numbers = [
        node.name
        for node in oracle.graphs[0].graph.nodes
        if node.target in {"item", "tolist"} or isinstance(node.meta.get("example_value"), symbols)
    ]
    assert [] == numbers, f"the graph takes a number out of a tensor: {numbers}"
    called = [node.target for node in oracle.graphs[0].graph.nodes if node.op == "call_function"]
    homes = {str(getattr(function, "__module__", "torch")) for function in called}
    foreign = [
        home for home in homes if home.partition(".")[0] not in {"torch", "_operator", "math"}
    ]
    spaces = {getattr(function, "namespace", "aten") for function in called}
    assert [] == foreign, f"the graph calls functions of {foreign}, which nothing can optimise"
    assert spaces <= {"aten", "higher_order"}, f"the graph calls operators of {spaces}"


def test_the_whole_report_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The caller may print what it returns."""
    _, mean = kata.whole_report(torch.rand(3))

    assert "" == capsys.readouterr().out
    assert torch.Size([]) == mean.shape, (
        f"the mean has shape {tuple(mean.shape)}: it is one number, in a tensor without dims"
    )


def test_the_whole_average_is_the_average() -> None:
    """Of all inputs so far; what was returned earlier stays as it was."""
    average, xs = kata.WholeAverage(4), torch.rand(5, 4)
    means = [average(x) for x in xs]

    for steps, mean in enumerate(means, 1):
        torch.testing.assert_close(mean, xs[:steps].mean(0))


def test_the_average_has_the_gradient_of_the_average() -> None:
    """The mean depends on the input: after n steps by one n-th."""
    given, whole, xs = kata.Average(4), kata.WholeAverage(4), torch.rand(2, 4)
    gradients = []
    for average in (given, whole):
        average(xs[0])
        x = xs[1].clone().requires_grad_()
        mean = average(x)
        assert mean.requires_grad, f"{type(average).__name__}: what it returns has no graph"
        mean.sum().backward()
        gradients.append(x.grad)

    torch.testing.assert_close(gradients[1], gradients[0])


def test_an_earlier_input_has_its_gradient_too() -> None:
    """It is in every later mean as well: after two steps by one half."""
    gradients = []
    for average in (kata.Average(4), kata.WholeAverage(4)):
        x = torch.rand(4, requires_grad=True)
        average(x)
        mean = average(torch.rand(4))
        assert mean.requires_grad, f"{type(average).__name__}: the second mean has no graph"
        mean.sum().backward()
        gradients.append(x.grad)

    torch.testing.assert_close(
        gradients[1], gradients[0], msg=lambda m: f"the first of two inputs: {m}"
    )


def test_the_average_is_compiled_once() -> None:
    """For more steps than Dynamo would compile versions."""
    average, oracle, xs = kata.WholeAverage(4), Oracle(), torch.rand(12, 4)
    compiled = torch.compile(average, backend=oracle, fullgraph=True)
    means = [compiled(x) for x in xs]

    torch.testing.assert_close(means[-1], xs.mean(0))
    assert 1 == len(oracle.graphs), (
        f"{len(oracle.graphs)} graphs for 12 steps: a number of Python's is guarded by its value"
    )


def test_the_average_goes_on_from_its_state() -> None:
    """``state_dict`` holds mean and steps, both tensors: a copy goes on where it was."""
    first, second, xs = kata.WholeAverage(4), kata.WholeAverage(4), torch.rand(5, 4)
    for x in xs[:3]:
        first(x)
    state = first.state_dict()
    assert {"mean", "steps"} == set(state), (
        f"the state_dict has {sorted(state)}, expected mean and steps"
    )
    assert 3 == int(state["steps"])
    second.load_state_dict(state)
    for x in xs[3:]:
        last = second(x)

    torch.testing.assert_close(last, xs.mean(0))
    assert [] == list(first.parameters()), "nothing here is learned: buffers, no parameters"


def test_a_marked_batch_is_compiled_once() -> None:
    """For every size of dim 0 from 2, however large."""
    oracle = Oracle()
    compiled = torch.compile(straight, backend=oracle)
    for size in (3, 5, 2, 100_000):
        x = torch.rand(size, 4)
        assert kata.any_batch(x) is x, "x itself is marked and returned, no copy"
        compiled(x)

    assert 1 == len(oracle.graphs), f"{len(oracle.graphs)} graphs for four batch sizes"


def test_the_other_dims_stay_as_they_are() -> None:
    """``dynamic=True`` would make all of them variables; sizes that are known compile better."""
    oracle = Oracle()
    compiled = torch.compile(straight, backend=oracle)
    for sizes in ((3, 4), (5, 4), (5, 6)):
        compiled(kata.any_batch(torch.rand(sizes)))

    assert 2 == len(oracle.graphs), f"{len(oracle.graphs)} graphs: one for each size of dim 1"


def test_the_mark_is_a_promise() -> None:
    """A function that fixes the batch size is refused, instead of compiled for each."""

    def fixed(x: torch.Tensor) -> torch.Tensor:
        return x + torch.ones(3, 4)

    compiled = torch.compile(fixed, backend=Oracle())
    x = kata.any_batch(torch.rand(3, 4))
    try:
        compiled(x)
    except Exception as error:  # noqa: BLE001 - its class has moved between versions
        message = str(error)
    else:
        message = "no error"

    assert "Constraints violated" in message, "mark dim 0 so that specialising it is an error"
