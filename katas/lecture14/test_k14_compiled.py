"""Tests of k14_compiled: lines compared with autograd's engine and with compiled autograd."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture14 import k14_compiled as kata
from katas.lecture14.k14_compiled import capture
from katas.lecture14.k14_compiled import early
from katas.lecture14.k14_compiled import nodes
from katas.lecture14.k14_compiled import replay
from plugins.kit import forbids
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable

    Leaves = list[torch.Tensor]
    Hooks = dict[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]


def leaves() -> Leaves:
    """Return three leaves of irrational float64 values; the last two require gradients."""
    numbers = torch.arange(2, 29).double().sqrt().sin()
    x, v, w = (numbers[9 * n : 9 * n + 9].reshape(3, 3).clone() for n in range(3))
    return [x, v.requires_grad_(), w.requires_grad_()]


def chain(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Return the loss of two layers."""
    return ((x @ v).relu() @ w).sum()


def shared(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Use a leaf three times, and a value twice."""
    y = x @ v
    return (y * (y @ v).sigmoid() + w * v).sum()


def squared(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Multiply a value by itself: two results of one node go to the same input."""
    y = x @ v + w
    return (y * y).sum()


def unbound(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Leave the first result of a node unused, so that it gets no gradient there."""
    rows = (v * w).unbind()
    return (rows[2] * rows[1].exp() * x[0]).sum()


def second(x: torch.Tensor, v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Return a loss that is result 1 of its node."""
    return ((x @ v) * w).sum(0).unbind()[1]


LOSSES = {
    "two layers": chain,
    "shared leaves": shared,
    "a square": squared,
    "unused results": unbound,
    "second result": second,
}
losses = pytest.mark.parametrize("name", LOSSES)


def doubled(gradient: torch.Tensor) -> torch.Tensor:
    """Square and add 1: not linear, so only right on the whole gradient."""
    return gradient.square() + 1


def of_engine(name: str, hooked: int | None) -> list[torch.Tensor | None]:
    """Return the gradients of ``backward()``, with a hook on one of the leaves."""
    every = leaves()
    if hooked:
        every[hooked].register_hook(doubled)
    LOSSES[name](*every).backward()
    return [leaf.grad for leaf in every]


def kinds(lines: Any) -> list[str]:
    """Return what the lines do, in compiled autograd's names."""
    return [line.call.name() if line.kind == "node" else line.kind for line in lines]


def compare(name: str, every: Leaves, hooked: int | None, times: int = 1) -> None:
    """Compare gradients with the engine's."""
    __tracebackhide__ = True
    for leaf, right in zip(every, of_engine(name, hooked), strict=True):
        if right is None:
            assert leaf.grad is None, (
                f"{name}: your code gives a gradient to a tensor that requires none"
            )
            continue
        assert leaf.grad is not None, f"{name}: yours is None, the engine's {right}"
        assert torch.allclose(leaf.grad, times * right, rtol=1e-12, atol=1e-13), (
            f"{name}, {'a' if hooked else 'no'} hook, replayed {times} times:\n"
            f"yours       {leaf.grad.tolist()}\nthe engine's {(times * right).tolist()}"
        )


def test_one_product() -> None:
    """The lines of the brief."""
    x, w, _ = leaves()
    w.requires_grad_()
    loss = (x @ w).sum()
    lines = capture(loss, {w: doubled})
    assert kinds(lines) == ["SumBackward0", "MmBackward0", "hook", "accumulate"], (
        f"yours: {kinds(lines)}; expected the two nodes, the hook, the accumulation"
    )
    places = [
        [[(source and lines.index(source), place) for source, place in values] for values in each]
        for each in (line.inputs for line in lines)
    ]
    expected: list[Any] = [[[(None, 0)]], [[(0, 0)]], [[(1, 1)]], [[(2, 0)]]]
    assert places == expected, f"inputs as (line, result): yours {places}, expected {expected}"


def test_nothing_runs_yet() -> None:
    """`capture` runs no operator and creates no gradient."""
    x, v, w = leaves()
    loss = chain(x, v, w)
    with forbids(kata, "torch.autograd.grad", "torch.autograd.backward") as mine:
        with unchanged(x=x, v=v, w=w, loss=loss), watched_operators() as ran:
            lines = mine.capture(loss, {})
        expected = [
            "accumulate" if hasattr(node, "variable") else node.name()
            for node in nodes(loss.grad_fn)
        ]
        assert kinds(lines) == expected, (
            f"yours: {kinds(lines)}; expected a line for each node, in the order of `nodes`: "
            f"{expected}"
        )
    assert not ran, f"your code runs {sorted(set(ran))}; expected nothing before `replay`"


@losses
def test_gradients_of_the_engine(name: str) -> None:
    """The lines give what ``backward()`` gives."""
    every = leaves()
    replay(capture(LOSSES[name](*every), {}), torch.ones((), dtype=torch.float64))
    compare(name, every, None)


@losses
@pytest.mark.parametrize("hooked", [1, 2])
def test_hooks_see_the_whole_gradient(name: str, hooked: int) -> None:
    """A gradient that comes from several nodes is summed before the hook."""
    every = leaves()
    seen: list[torch.Tensor] = []

    def hook(gradient: torch.Tensor) -> torch.Tensor:
        seen.append(gradient)
        return doubled(gradient)

    loss = LOSSES[name](*every)
    hooks: Hooks = {every[hooked]: hook}
    lines = capture(loss, hooks)
    assert len(hooks) == 1, (
        f"{name}: your code leaves {len(hooks)} entries in `hooks`, expected it unchanged"
    )
    replay(lines, torch.ones((), dtype=torch.float64))
    assert len(seen) == 1, f"{name}: your code calls the hook {len(seen)} times, expected 1"
    compare(name, every, hooked)
    loss.backward()
    assert len(seen) == 1, (
        f"{name}: your code registers the hook on the leaf, expected a line for it"
    )


@losses
def test_lines_run_again(name: str) -> None:
    """Lines can be replayed: a second time adds the gradients up, and early lines give the same."""
    every = leaves()
    hooks: Hooks = {every[1]: doubled}
    lines = capture(LOSSES[name](*every), hooks)
    before = list(lines)
    replay(lines, torch.ones((), dtype=torch.float64))
    replay(early(lines), torch.ones((), dtype=torch.float64))
    assert lines == before, "your `early` changes its argument"
    compare(name, every, 1, times=2)


@losses
def test_each_comes_right_behind_what_it_needs(name: str) -> None:
    """No nodes come between an accumulation and the last line it needs."""
    every = leaves()
    lines = capture(LOSSES[name](*every), {every[1]: doubled, every[2]: doubled})
    called = [line.kind for line in lines].count("hook")
    assert called == 2, f"your lines have {called} hooks, expected one per leaf: {kinds(lines)}"
    yours = early(lines)
    assert sorted(map(id, yours)) == sorted(map(id, lines)), (
        f"yours: {kinds(yours)}, expected the same lines in a different order: {kinds(lines)}"
    )
    same = [line for line in lines if line.kind == "node"]
    assert [line for line in yours if line.kind == "node"] == same, (
        f"yours: {kinds(yours)}; expected the nodes in their order: {kinds(same)}"
    )
    for place, line in enumerate(yours):
        needed = [yours.index(s) for values in line.inputs for s, _ in values if s is not None]
        assert max(needed, default=-1) < place, (
            f"yours: {kinds(yours)}; line {place} is before its input"
        )
        if line.kind != "node":
            between = yours[max(needed) + 1 : place]
            assert all(each.kind != "node" for each in between), (
                f"yours: {kinds(yours)}; line {place} needs line {max(needed)}, and "
                f"{kinds(between)} come between: expected no node"
            )


# PyTorch reads .grad of one of its own tensors.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
@pytest.mark.parametrize("hooked", [1, 2])
def test_compiled_autograd_writes_the_same(hooked: int) -> None:
    """Nodes, hook and accumulations, in PyTorch's graph of the same loss."""
    every = leaves()
    yours = kinds(early(capture(chain(*every), {every[hooked]: doubled})))
    theirs = written_by_pytorch(hooked)
    assert yours == theirs, f"yours:     {yours}\nPyTorch's: {theirs}"


def written_by_pytorch(hooked: int) -> list[str]:
    """Return the calls in compiled autograd's graph, in order."""
    from torch._dynamo import compiled_autograd  # noqa: PLC0415 - takes seconds

    graphs: list[Any] = []

    def keep(graph: Any) -> Any:
        graphs.append(graph)
        return graph

    every = leaves()
    every[hooked].register_hook(doubled)
    loss = chain(*every)
    with compiled_autograd._enable(keep):  # noqa: SLF001 - takes any backend
        loss.backward()
    names = [str(node.target) for node in graphs[0].graph.nodes]
    found = [re.search(r"\w+Backward\d+|call_hook|accumulate_grad", name) for name in names]
    short = {"call_hook": "hook", "accumulate_grad": "accumulate"}
    return [short.get(match[0], match[0]) for match in found if match]
