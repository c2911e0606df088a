"""Tests of k11_graphs: running the function again is the oracle."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

from katas.lecture07.k11_graphs import Graph
from katas.lecture07.k11_graphs import Recorder
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


def values(seed: int) -> torch.Tensor:
    """Return values that no rounding can hide."""
    return (torch.arange(6, dtype=torch.float64) + seed).sin().reshape(2, 3)


def in_place(x: torch.Tensor) -> torch.Tensor:
    """Write to a view of a new tensor."""
    y = x * 2
    y.t()[0].add_(x[:, 1])
    return y.relu_()


def several(x: torch.Tensor) -> torch.Tensor:
    """Use both results of an operator."""
    largest, where = x.max(dim=1)
    return largest * where


def made_within(x: torch.Tensor) -> torch.Tensor:
    """Fill a tensor created inside: each run begins with zeros."""
    total = torch.zeros(3, dtype=x.dtype)
    for row in x:
        total += row
    return total


PROGRAMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "one": lambda x: x * 3,
    "chain": lambda x: (x.exp() + x).sum(dim=1, keepdim=True) * x,
    "view": lambda x: x.t().reshape(-1).cos(),
    "in_place": in_place,
    "several": several,
    "made_within": made_within,
    "keywords": lambda x: torch.add(x, x.exp(), alpha=2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_replay_with_new_values(name: str) -> None:
    """The tensor returned by the capture holds the new result after every replay."""
    program, x = PROGRAMS[name], values(0)
    graph = Graph()
    y = graph.capture(lambda: program(x))
    place = y.data_ptr()
    torch.testing.assert_close(y, program(x), msg="at the capture: another result\n".__add__)
    for seed in (1, 2, 0):
        x.copy_(values(seed))
        with unchanged(x=x):
            graph.replay()
        says = f"{name}, replayed: yours is not what the program gives\n".__add__
        torch.testing.assert_close(y, program(x), rtol=1e-12, atol=1e-12, msg=says)
    assert place == y.data_ptr(), (
        "the result is at a new address: write it to the old one, which the caller still reads"
    )


def test_an_empty_graph() -> None:
    """A graph without launches replays nothing."""
    graph = Graph()
    assert graph.capture(lambda: 7) == 7, (
        "expected capture to return the result of `work`, whatever it is"
    )
    graph.replay()


def test_python_does_not_run_again() -> None:
    """Numbers and branches are frozen at the capture: a well-known surprise."""
    x, factor, calls = torch.ones(2), 3.0, []

    def work() -> torch.Tensor:
        calls.append(1)
        return x * factor

    graph = Graph()
    y = graph.capture(work)
    factor = 100.0
    x.fill_(2)
    graph.replay()

    assert [1] == calls, f"`work` was called {len(calls)} times, expected 1: replay without it"
    assert y.tolist() == [6.0, 6.0], (
        f"yours {y.tolist()}, expected [6, 6], with the factor 3 of the capture"
    )


def test_another_input_is_not_seen() -> None:
    """Addresses are those of the capture, so copy new values into the static input."""
    box = [torch.ones(2)]
    graph = Graph()
    y = graph.capture(lambda: box[0] + 1)
    box[0] = torch.zeros(2)
    graph.replay()
    assert y.tolist() == [2.0, 2.0], (
        f"yours {y.tolist()}, expected [2, 2], computed from the old input"
    )


def test_a_replay_overwrites_the_last() -> None:
    """Each replay overwrites the result, so copy what you want to keep."""
    x = torch.ones(2)
    graph = Graph()
    first = graph.capture(lambda: x + 1)
    kept = first.clone()
    x.fill_(9)
    graph.replay()
    assert first.tolist() == [10.0, 10.0], f"yours {first.tolist()}, expected the new values"
    assert kept.tolist() == [2.0, 2.0], "the replay changed the copy as well"


def test_two_graphs_and_a_second_capture() -> None:
    """Each graph has its own launches, and a new capture replaces the old one."""
    x = torch.ones(2)
    graph, other = Graph(), Graph()
    a = graph.capture(lambda: x * 2)
    b = other.capture(lambda: x * 5)
    c = graph.capture(lambda: x * 7)
    x.fill_(3)
    graph.replay()
    found = [each.tolist()[0] for each in (a, b, c)]
    assert found == [2.0, 5.0, 21.0], (
        f"yours {found}, expected [2, 5, 21]: replay only the last capture"
    )


def test_a_model_without_autograd() -> None:
    """Weights are read where they are, even after a training step, and autograd records nothing."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    x = values(0)
    graph = Graph()
    with unchanged(model=model, x=x):
        y = graph.capture(partial(model, x))
    assert not y.requires_grad, (
        "the result requires a gradient: switch autograd off, since it does not see a replay"
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5)
    graph.replay()
    says = "after a step of training: yours is not the model's\n".__add__
    torch.testing.assert_close(y, model(x).detach(), msg=says)


def test_a_write_to_the_input_is_replayed() -> None:
    """An in-place write is a launch like any other, so a counter counts."""
    count = torch.zeros(1)
    graph = Graph()
    graph.capture(partial(count.add_, 1))
    graph.replay()
    graph.replay()
    assert count.item() == 3, f"yours {count.item()}, expected 3: a capture and two replays"


def test_a_replay_launches_what_was_captured() -> None:
    """No operator is left out; only copies into the old tensors may be added."""
    x = values(0)
    graph = Graph()

    def work() -> torch.Tensor:
        y = x.exp() + 1
        return y.sum()

    graph.capture(work)
    with Recorder() as recorder:
        graph.replay()
    names = [str(call[0]) for call in recorder.calls if "copy_" not in str(call[0])]
    expected = ["aten.exp.default", "aten.add.Tensor", "aten.sum.default"]
    assert expected == names, f"the replay launched {names}, expected {expected}"
