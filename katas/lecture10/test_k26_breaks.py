"""Tests of k26_breaks: the rewritten functions: values, gradients, and one graph."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture10 import k26_breaks as kata


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


class Oracle:
    """A backend of the tests' own: it keeps its graphs."""

    def __init__(self) -> None:
        self.graphs: list[torch.fx.GraphModule] = []

    def __call__(self, graph: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        """Keep the graph and run it as it is."""
        self.graphs.append(graph)
        return graph.forward


INPUTS = {
    "positive": torch.tensor([0.5, 0.25, 0.125]),
    "negative": torch.tensor([-3.0, 1.5, 1.0]),
    "large": torch.tensor([0.5, -40.0, 60.0]),
    "zero": torch.zeros(3),
}


REWRITTEN = ["flip", "limit", "report"]


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


@pytest.mark.parametrize("data", INPUTS)
@pytest.mark.parametrize("name", REWRITTEN)
def test_what_is_written_anew_computes_the_same(name: str, data: str) -> None:
    """Values and gradients, uncompiled."""
    expected, actual = values(name, INPUTS[data], getattr(kata, f"whole_{name}"))

    torch.testing.assert_close(actual, expected, msg=lambda m: f"whole_{name}, {data}: {m}")


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_matrix_is_computed_as_a_whole(name: str) -> None:
    """All of its elements decide together, not each row on its own, and its dtype stays."""
    x = torch.tensor([[0.5, 0.25, 3.0], [-8.0, 1.0, 2.0]], dtype=torch.float16)
    expected, actual = values(name, x, getattr(kata, f"whole_{name}"))

    torch.testing.assert_close(actual, expected, msg=lambda m: f"whole_{name} of a matrix: {m}")


@pytest.mark.parametrize("name", ["flip", "limit"])
def test_nan_spreads_as_it_did(name: str) -> None:
    """If the input holds NaN, its sum is not negative, and its largest magnitude is NaN."""
    x = torch.tensor([2.0, float("nan"), -4.0])
    expected, actual = getattr(kata, name)(x), getattr(kata, f"whole_{name}")(x)

    torch.testing.assert_close(
        actual, expected, equal_nan=True, msg=lambda m: f"whole_{name} of {x.tolist()}: {m}"
    )


@pytest.mark.parametrize("name", REWRITTEN)
def test_it_is_one_graph_for_all_data(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each function is one unbroken graph of PyTorch's operators, for data of either branch."""
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

    assert 1 == len(oracle.graphs), (
        f"{len(oracle.graphs)} graphs for four inputs of the same shape, expected 1"
    )
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
    assert [] == foreign, (
        f"the graph calls functions from {foreign}, which no compiler can optimise"
    )
    assert spaces <= {"aten", "higher_order"}, (
        f"the graph calls operators of {spaces}, expected only aten and higher_order"
    )


def test_the_whole_report_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The caller may print what it returns."""
    _, mean = kata.whole_report(torch.rand(3))

    assert "" == capsys.readouterr().out, (
        "whole_report printed: it should return the mean, so that its caller may print it"
    )
    assert torch.Size([]) == mean.shape, (
        f"the mean has shape {tuple(mean.shape)}: it is one number, in a tensor without dims"
    )


def test_the_whole_average_is_the_average() -> None:
    """The mean is that of all inputs so far; earlier results stay as they were."""
    average, xs = kata.WholeAverage(4), torch.rand(5, 4)
    means = [average(x) for x in xs]

    for steps, mean in enumerate(means, 1):
        torch.testing.assert_close(mean, xs[:steps].mean(0))


def test_the_average_has_the_gradient_of_the_average() -> None:
    """The mean depends on the input: after n steps with a factor of 1/n."""
    given, whole, xs = kata.Average(4), kata.WholeAverage(4), torch.rand(2, 4)
    gradients = []
    for average in (given, whole):
        average(xs[0])
        x = xs[1].clone().requires_grad_()
        mean = average(x)
        assert mean.requires_grad, f"{type(average).__name__}: its result has no graph"
        mean.sum().backward()
        gradients.append(x.grad)

    torch.testing.assert_close(gradients[1], gradients[0])


def test_an_earlier_input_has_its_gradient_too() -> None:
    """An input is in every later mean as well: after two steps with a factor of one half."""
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
    """The steps outnumber the versions that Dynamo would compile."""
    average, oracle, xs = kata.WholeAverage(4), Oracle(), torch.rand(12, 4)
    compiled = torch.compile(average, backend=oracle, fullgraph=True)
    means = [compiled(x) for x in xs]

    torch.testing.assert_close(means[-1], xs.mean(0))
    assert 1 == len(oracle.graphs), (
        f"{len(oracle.graphs)} graphs for 12 steps, expected 1: Dynamo guards a Python number by "
        f"its value"
    )


def test_the_average_goes_on_from_its_state() -> None:
    """``state_dict`` holds mean and steps, both tensors: a copy goes on where it was."""
    first, second, xs = kata.WholeAverage(4), kata.WholeAverage(4), torch.rand(5, 4)
    for x in xs[:3]:
        first(x)
    state = first.state_dict()
    assert {"mean", "steps"} == set(state), (
        f"the state_dict contains {sorted(state)}, expected mean and steps"
    )
    assert 3 == int(state["steps"]), (
        f"the state_dict has steps = {int(state['steps'])} after three calls, expected 3"
    )
    second.load_state_dict(state)
    for x in xs[3:]:
        last = second(x)

    torch.testing.assert_close(last, xs.mean(0))
    assert [] == list(first.parameters()), "nothing here is learned: use buffers, not parameters"
