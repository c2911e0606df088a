"""Tests of k04_recompiles: graphs are counted, and PyTorch's log names the guards that failed."""

from __future__ import annotations

import logging
import re
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture27.k04_recompiles import METRES
from katas.lecture27.k04_recompiles import Steps
from katas.lecture27.k04_recompiles import convert
from katas.lecture27.k04_recompiles import counting
from katas.lecture27.k04_recompiles import layout
from katas.lecture27.k04_recompiles import rows


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


pytestmark = pytest.mark.time_limit(60)


class Reports(logging.Handler):
    """Collects what PyTorch logs about recompilations."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the lines of a report that name a guard."""
        for line in record.getMessage().splitlines():
            if guard := re.match(r" *- (\d+/\d+: .*)", line):
                self.lines.append(guard[1].partition("  #")[0].strip()[:90])


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Return the guards that failed so far, starting without compiled code."""
    import torch._dynamo.guards  # noqa: PLC0415 - takes seconds
    from torch._logging import set_logs  # type: ignore[attr-defined, unused-ignore]  # noqa: PLC0415

    torch.compiler.reset()
    handler, logger = Reports(), logging.getLogger("torch._dynamo.guards.__recompiles")
    # If the variable is set, PyTorch ignores the call.
    monkeypatch.delenv("TORCH_LOGS", raising=False)
    set_logs(recompiles=True)
    kept, propagates = logger.handlers, logger.propagate
    logger.handlers, logger.propagate = [handler], False
    try:
        yield handler.lines
    finally:
        logger.handlers, logger.propagate = kept, propagates
        set_logs()
        torch.compiler.reset()


def values(*sizes: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Return irrational numbers."""
    return torch.arange(torch.Size(sizes).numel(), dtype=dtype).sqrt().reshape(sizes)


def counter(graphs: list[torch.fx.GraphModule]) -> Callable[..., Any]:
    """Return torch.compile with the test's own backend."""

    def backend(graph: torch.fx.GraphModule, _: object) -> Any:
        graphs.append(graph)
        return graph.forward

    return partial(torch.compile, backend=backend)


def same(yours: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    """Compare bits and dtypes."""
    __tracebackhide__ = True
    says = f"{what}: yours is not the eager result to the bit\n".__add__
    torch.testing.assert_close(yours, expected, rtol=0, atol=0, msg=says)


def one_graph(graphs: list[torch.fx.GraphModule], reports: list[str]) -> torch.fx.GraphModule:
    """Check that there is a single graph, with sin and a product."""
    __tracebackhide__ = True
    guards = "\n".join(reports) or "(none)"
    says = f"yours compiles {len(graphs)} graphs, expected 1; the guards that failed:\n{guards}"
    assert len(graphs) == 1, says
    called = [str(getattr(n.target, "__name__", n.target)) for n in graphs[0].graph.nodes]
    for name in ("sin", "mul"):
        missing = f"yours compiles a graph without {name}, expected all the work in it:\n{called}"
        assert name in called or f"i{name}" in called, missing
    return graphs[0]


def test_the_counting_backend(reports: list[str]) -> None:
    """One graph serves the first size, a second all others: the size becomes a symbol."""
    yours: list[torch.fx.GraphModule] = []
    theirs: list[torch.fx.GraphModule] = []
    for graphs, compiles in (
        (yours, partial(torch.compile, backend=counting(yours))),
        (theirs, counter(theirs)),
    ):
        torch.compiler.reset()
        f = compiles(lambda x: x.sin() * 3)
        for n in (3, 4, 5):
            same(f(values(n)), values(n).sin() * 3, f"{n} numbers")
            assert all(isinstance(graph, torch.fx.GraphModule) for graph in graphs), (
                f"your code appends {graphs}, expected the graphs themselves"
            )
    guards = "\n".join(reports)
    assert len(yours) == len(theirs), (
        f"your code counts {len(yours)} graphs, expected {len(theirs)}\n{guards}"
    )


def test_steps(reports: list[str]) -> None:
    """Six calls share one graph, and the count continues from call to call."""
    graphs: list[torch.fx.GraphModule] = []
    model = Steps()
    compiled = counter(graphs)(model)
    for n in range(1, 7):
        same(compiled(values(5)), values(5).sin() * n, f"call {n}")
    one_graph(graphs, reports)


def test_steps_of_two_modules(reports: list[str]) -> None:
    """Each Module has its own count; a result does not change when the count increases."""
    graphs: list[torch.fx.GraphModule] = []
    first, second = (counter(graphs)(Steps()) for _ in range(2))
    early = first(values(5))
    first(values(5))
    same(second(values(5)), values(5).sin(), "call 1 of the second Module")
    same(early, values(5).sin(), "the result of call 1, after call 2")
    single = Steps()(values(5, dtype=torch.float32))
    assert single.dtype == torch.float32, f"yours is {single.dtype}, expected torch.float32 like x"
    assert len(graphs) <= 2, f"your code compiles {len(graphs)} graphs for two Modules; {reports}"


def test_steps_then_a_backward(reports: list[str]) -> None:
    """A product saves its factors, so do not write to them."""
    graphs: list[torch.fx.GraphModule] = []
    model, x = counter(graphs)(Steps()), values(5).requires_grad_()
    loss = (model(x) + model(x)).sum()
    try:
        (yours,) = torch.autograd.grad(loss, x)
    except RuntimeError as error:
        pytest.fail(
            f"your code writes to a tensor that the first call saved for backward:\n{error}"
        )
    says = "the gradient of two calls: yours is not 3 cos(x)\n".__add__
    torch.testing.assert_close(yours, 3 * x.detach().cos(), rtol=0, atol=1e-12, msg=says)
    one_graph(graphs, reports)


def test_rows(reports: list[str]) -> None:
    """Four batch sizes share one graph; the other size stays a constant."""
    graphs: list[torch.fx.GraphModule] = []
    f = rows(counter(graphs))
    for n in (3, 2, 7, 5):
        same(f(values(n, 4)), values(n, 4).sin() * n, f"{n} rows")
    graph = one_graph(graphs, reports)
    shapes = [
        n.meta["example_value"].shape
        for n in graph.graph.nodes
        if n.op == "placeholder" and isinstance(n.meta.get("example_value"), torch.Tensor)
    ]
    (shape,) = [shape for shape in shapes if len(shape) == 2]
    assert isinstance(shape[1], int), (
        f"in your graph the shape is {tuple(shape)}, expected the second size to be the number 4"
    )


def test_convert(reports: list[str]) -> None:
    """Four units share one graph; the factors have more digits than float32 can hold."""
    graphs: list[torch.fx.GraphModule] = []
    f = convert(counter(graphs))
    for unit, metres in METRES.items():
        same(f(values(5), unit), values(5).sin() * metres, unit)
        same(f(values(5) + 1, unit), (values(5) + 1).sin() * metres, f"{unit}, of another x")
    one_graph(graphs, reports)


def test_convert_float32(reports: list[str]) -> None:
    """A factor in a tensor does not change the dtype."""
    graphs: list[torch.fx.GraphModule] = []
    f = convert(counter(graphs))
    x = values(5, dtype=torch.float32)
    for unit, metres in METRES.items():
        same(f(x, unit), x.sin() * metres, unit)
    one_graph(graphs, reports)


def test_layout(reports: list[str]) -> None:
    """Contiguous, transposed and strided inputs share one graph."""
    graphs: list[torch.fx.GraphModule] = []
    f = layout(counter(graphs))
    for x in (values(4, 4), values(4, 4).t(), values(4, 8)[:, ::2]):
        before = x.clone()
        same(f(x), before.sin() * 2, f"strides {x.stride()}")
        same(x, before, "the input, afterwards")
    one_graph(graphs, reports)


@pytest.mark.given
def test_what_they_cost(reports: list[str]) -> None:
    """PyTorch makes a graph for each string, because a guard compares it."""
    graphs: list[torch.fx.GraphModule] = []
    f = counter(graphs)(lambda x, unit: x * METRES[unit])
    for unit in METRES:
        f(values(2), unit)
    assert len(graphs) == len(METRES), (
        f"PyTorch compiled {len(graphs)} graphs, expected one for each unit\n{reports}"
    )
    assert any("'cm'" in line or "'mm'" in line for line in reports), (
        f"PyTorch's log does not name the string: {reports}"
    )
    assert all(a != b for a, b in pairwise(map(id, graphs))), (
        "PyTorch's graphs are not distinct objects"
    )
