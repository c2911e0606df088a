"""Tests of k01_watch: the graphs that a backend is given, prints and runs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline

from katas.lecture10.k01_watch import Watch
from plugins.kit import graph_text


with torch.inference_mode():
    INFERENCE = torch.ones(2, 3)

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _fresh_dynamo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget all compiled code, before and after: Dynamo keeps it with each function's code."""
    # A failing test should not print the compiler's own trace of hundreds of lines.
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "disabled", True)
    torch._dynamo.reset()  # noqa: SLF001 - it has no other name in all versions
    yield
    torch._dynamo.reset()  # noqa: SLF001


def straight(x: torch.Tensor) -> torch.Tensor:
    """One graph."""
    return x.sin() + 1


def printing(x: torch.Tensor) -> torch.Tensor:
    """Break between two graphs; the second needs `x` once more."""
    y = x.sin()
    print("between")  # noqa: T201 - it is what breaks the graph
    return y.cos() + x


def watched(function: Callable[..., Any], *args: Any) -> Watch:
    """Return a watch after one call of it."""
    watch = Watch(function)
    try:
        theirs, yours = function(*args), watch(*args)
    except torch._dynamo.exc.BackendCompilerFailed as error:  # noqa: SLF001 - its only name
        raise error.inner_exception from None  # what went wrong in the method itself
    torch.testing.assert_close(
        yours, theirs, msg=lambda m: f"what your backend returns must run the graph: {m}"
    )
    return watch


def test_one_graph_is_captured() -> None:
    """A function that Dynamo understands from end to end is one graph, which runs once."""
    watch = watched(straight, torch.arange(3.0))

    assert 1 == len(watch.graphs), (
        f"graphs holds {len(watch.graphs)} graphs, expected 1: append the graph that you are given"
    )
    assert isinstance(watch.graphs[0], torch.fx.GraphModule), (
        f"graphs holds a {type(watch.graphs[0])}, expected the GraphModule itself"
    )
    assert 1 == watch.runs, f"runs is {watch.runs} after one call, expected 1"


def test_the_graph_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The backend prints the Python code that FX generates for the graph."""
    watch = watched(straight, torch.arange(3.0))
    printed = capsys.readouterr().out

    assert watch.graphs, "append the graph to graphs"
    code = watch.graphs[0].code
    assert code.strip() == printed.strip(), f"your backend prints {printed!r}, expected {code!r}"


def test_the_second_call_compiles_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The compiled piece is kept: the backend is not called again, but the graph runs again."""
    watch = watched(straight, torch.arange(3.0))
    capsys.readouterr()
    torch.testing.assert_close(watch(torch.ones(3)), straight(torch.ones(3)))

    assert 1 == len(watch.graphs), f"{len(watch.graphs)} graphs after two calls, expected 1"
    assert 2 == watch.runs, (
        f"runs is {watch.runs} after two calls, expected 2: count in the function you return"
    )
    printed = capsys.readouterr().out
    assert not printed, (
        f"print when the graph is compiled, not when it runs: the second call printed {printed!r}"
    )


def test_a_print_splits_the_function() -> None:
    """The first graph returns what is needed later; the second takes that and `x` as inputs."""
    watch = watched(printing, torch.rand(3))

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


def test_runs_are_counted_where_they_happen() -> None:
    """Two graphs run in each call, and calling the backend alone runs nothing."""
    watch = watched(printing, torch.rand(3))
    watch(torch.rand(3))
    assert 4 == watch.runs, f"runs is {watch.runs} after two calls of two graphs, expected 4"

    run = watch.backend(watch.graphs[0], [torch.rand(3)])
    assert 4 == watch.runs, (
        "a call of backend changed runs: count only calls of the function it returns"
    )
    (yours,) = run(torch.ones(3))
    torch.testing.assert_close(yours, torch.ones(3).sin())
    assert 5 == watch.runs, (
        f"runs is {watch.runs}, expected 5: count calls of the function that backend returns"
    )


def test_another_dtype_is_another_graph() -> None:
    """Each graph that is compiled later is appended after the earlier ones."""
    watch = watched(straight, torch.arange(3.0))
    torch.testing.assert_close(watch(torch.arange(3)), straight(torch.arange(3)))
    watch(torch.arange(3.0))

    assert 2 == len(watch.graphs), f"{len(watch.graphs)} graphs for two dtypes, expected 2"
    assert 3 == watch.runs, f"runs is {watch.runs} after three calls, expected 3"
