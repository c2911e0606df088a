"""Tests of k05_minifier: lists, graphs, and a comparison with PyTorch's minifier."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import TYPE_CHECKING
from typing import Any
from typing import TypeVar

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import fx

from katas.lecture27 import k05_minifier as kata
from katas.lecture27.k05_minifier import Recorder
from katas.lecture27.k05_minifier import ddmin
from katas.lecture27.k05_minifier import extract
from katas.lecture27.k05_minifier import minify
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


T = TypeVar("T")

# A limit on the questions, or the time limit, stops a search that never ends.
quick = pytest.mark.time_limit(5)


def asked_of(items: list[T], fails: Callable[[list[T]], bool]) -> Callable[[list[T]], bool]:
    """Return a `fails` that accepts ordered parts of `items` and limits the questions."""
    place = {item: number for number, item in enumerate(items)}
    questions = 0

    def ask(part: list[T]) -> bool:
        nonlocal questions
        questions += 1
        bar = 2 * len(items) ** 2 + 20
        assert questions <= bar, (
            f"your code asked {questions} times about {len(items)} items without ending"
        )
        places = [place[item] for item in part]
        says = f"yours asks about {part}, expected a part of {items}, in order"
        assert all(a < b for a, b in pairwise(places)), says
        return fails(part)

    return ask


def limited(fails: Callable[..., bool]) -> Callable[[fx.GraphModule, list[torch.Tensor]], bool]:
    """Return a `fails` for at most as many questions as any search needs."""
    questions = iter(range(400))

    def ask(module: fx.GraphModule, inputs: list[torch.Tensor]) -> bool:
        assert next(questions, None) is not None, "your code asked 400 times without ending"
        return fails(module, inputs)

    return ask


def values(*sizes: int) -> torch.Tensor:
    """Return irrational numbers."""
    return torch.arange(torch.Size(sizes).numel(), dtype=torch.float64).sqrt().reshape(sizes)


def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the result of a few operators on x and y."""
    a = torch.sin(x)
    b = torch.mul(a, y)
    c = torch.add(b, a, alpha=2)
    return torch.exp(c).sum(dim=0)


def traced(f: Callable[..., Any], *inputs: torch.Tensor) -> tuple[Any, dict[str, fx.Node], Any]:
    """Return a graph, its nodes by name, and their values."""
    module = fx.symbolic_trace(f)
    recorder = Recorder(module)
    recorder.run(*inputs)
    return module, {node.name: node for node in module.graph.nodes}, recorder.values


def names(module: fx.GraphModule) -> list[str]:
    """Return the names of a graph's operators."""
    return [node.name for node in module.graph.nodes if node.op.startswith("call_")]


@quick
def test_an_item_that_matters() -> None:
    """One of eight items matters."""
    items = list("abcdefgh")
    yours = ddmin(items, asked_of(items, lambda part: "f" in part))
    assert yours == ["f"], f"yours {yours}, expected ['f']"


@quick
def test_two_that_matter() -> None:
    """The two items stay in order, and the given list does not change."""
    items = list("abcdefgh")
    yours = ddmin(items, asked_of(list(items), lambda part: {"b", "g"} <= set(part)))
    assert yours == ["b", "g"], f"yours {yours}, expected ['b', 'g']"
    assert items == list("abcdefgh"), f"your code changes the given list to {items}"


@quick
@settings(max_examples=60)
@given(st.integers(1, 20).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
@example((1, {0}))
@example((3, {0, 1, 2}))
@example((7, {0, 6}))
@example((5, set()))
def test_any_items_that_matter(drawn: tuple[int, set[int]]) -> None:
    """If a part fails because of certain items, exactly these remain, perhaps none."""
    n, culprits = drawn
    yours = ddmin(list(range(n)), asked_of(list(range(n)), culprits.issubset))
    assert yours == sorted(culprits), f"of {n}: yours {yours}, expected {sorted(culprits)}"


@quick
@pytest.mark.parametrize("n", range(1, 13))
def test_no_item_can_go(n: int) -> None:
    """Each item needs the one before it, and only the first matters: remove them one by one."""

    def fails(part: list[int]) -> bool:
        return 0 in part and all(item - 1 in part for item in part if item)

    yours = ddmin(list(range(n)), asked_of(list(range(n)), fails))
    assert yours == [0], f"of {n}: yours {yours} still fails without {yours[-1]}, expected [0]"


@quick
@settings(max_examples=60)
@given(st.integers(1, 5).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, 2**n)))))
@example((3, {0b011, 0b010}))
def test_parts_that_fail_as_they_like(drawn: tuple[int, set[int]]) -> None:
    """An item may become removable only after a later one is removed."""
    n, parts = drawn
    items, asked = list(range(n)), list[list[int]]()

    def fails(part: list[int]) -> bool:
        asked.append(part[:])
        return len(part) == n or sum(1 << item for item in part) in parts

    yours = ddmin(items, asked_of(items, fails))
    rests = [yours[:place] + yours[place + 1 :] for place in range(len(yours))]
    open_ = [rest for rest in rests if rest not in asked]
    assert fails(yours), f"your part {yours} of {n} passes, expected one that fails"
    assert not open_, f"yours {yours} of {n}: your code never asks whether {open_} fails"
    still = [rest for rest in rests if fails(rest)]
    assert not still, f"yours {yours} of {n} still fails with one item fewer: {still}"


@quick
def test_items_that_are_equal() -> None:
    """A list may hold the same item three times, and unhashable items."""
    items = [["a"], ["b"], ["a"], ["a"]]
    questions = iter(range(50))

    def fails(part: list[list[str]]) -> bool:
        assert next(questions, None) is not None, (
            "your code asked 50 times about 4 items without ending"
        )
        return part.count(["a"]) > 1

    yours = ddmin(items, fails)
    assert yours == [["a"], ["a"]], f"yours {yours}, expected two of the three equal items"


@quick
def test_the_questions() -> None:
    """Removing halves first takes far fewer questions than removing items one by one."""
    items, asked = list(range(128)), list[int]()

    def fails(part: list[int]) -> bool:
        asked.append(len(part))
        return {30, 31} <= set(part)

    ddmin(items, asked_of(items, fails))
    bar, naive = 40, 128
    assert len(asked) <= bar, (
        f"your code asks {len(asked)} times, expected {bar}; one by one: {naive}"
    )


def test_one_node() -> None:
    """The operands become inputs with their recorded values, not those of another run."""
    for y in (values(3) + 1, values(3) + 2):
        _, nodes, recorded = traced(program, values(3), y)
        module, inputs = extract(recorded, [nodes["mul"]])
        placeholders = [node.name for node in module.graph.nodes if node.op == "placeholder"]
        assert placeholders == ["sin", "y"], f"inputs: yours {placeholders}, expected ['sin', 'y']"
        for yours, right in zip(inputs, (values(3).sin(), y), strict=True):
            assert torch.equal(yours, right), f"an input: yours {yours}, expected {right}"
        output = module(*inputs)
        assert isinstance(output, tuple), f"output: yours {type(output).__name__}, expected a tuple"
        assert torch.equal(output[0], values(3).sin() * y), (
            f"your graph returns {output}, expected sin(x) * y"
        )


def test_some_nodes() -> None:
    """Kept nodes are computed, an operand read twice is one input, and constants stay."""
    x, y = values(3), values(3) + 1
    _, nodes, recorded = traced(program, x, y)
    module, inputs = extract(recorded, [nodes["sin"], nodes["add"], nodes["exp"]])
    found = [f"{node.op} {node.name}" for node in module.graph.nodes]
    right = ["placeholder x", "placeholder mul", "call_function sin", "call_function add"]
    right += ["call_function exp", "output output"]
    assert found == right, f"yours\n{found}\nexpected\n{right}"
    module.graph.lint()
    expected = torch.exp(x.sin() * y + 2 * x.sin())
    says = f"yours computes something else, expected what the nodes do:\n{module.code}".__add__
    output = module(*inputs)
    torch.testing.assert_close(output[0], expected, rtol=0, atol=1e-12, msg=says)
    assert len(output) == 1, f"you return {len(output)} tensors, expected only the last node's"
    module, inputs = extract(recorded, [nodes["sin"], nodes["exp"]])
    assert len(inputs) == 2, f"your graph has {len(inputs)} inputs, expected x and add"
    assert names(module) == ["sin", "exp"], (
        f"your graph keeps {names(module)}, expected sin even if nothing reads it"
    )
    module, inputs = extract(recorded, [nodes["mul"], nodes["add"]])
    assert len(inputs) == 2, f"your graph has {len(inputs)} inputs, expected sin, read twice, and y"


def test_operands_in_a_list() -> None:
    """Operands in lists and keywords: everything a node reads becomes an input."""

    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.add(torch.cat([x, y]), other=torch.sin(y))

    x, y = values(3), values(1) + 1
    _, nodes, recorded = traced(f, x, y)
    for name, right in (("cat", [x, y]), ("add", [torch.cat([x, y]), y.sin()])):
        module, inputs = extract(recorded, [nodes[name]])
        assert len(inputs) == 2, f"{name}: your graph has {len(inputs)} inputs, expected 2"
        same = all(map(torch.equal, inputs, right))
        assert same, f"{name}: your inputs are {inputs}, expected {right}"
        output = module(*inputs)[0]
        assert torch.equal(output, recorded[nodes[name]]), (
            f"{name}: your graph returns {output}, expected {recorded[nodes[name]]}"
        )


def test_inputs_are_copies() -> None:
    """Inputs are copies, because a graph that writes to them is tested more than once."""

    def writes(x: torch.Tensor) -> torch.Tensor:
        return x.add_(1).mul(2)

    _, nodes, recorded = traced(writes, values(3))
    before = copy.deepcopy(list(recorded.values()))
    for _ in range(2):
        module, inputs = extract(recorded, [nodes["add_"]])
        output = module(*inputs)[0]
        assert torch.equal(output, values(3) + 1), f"yours {output}, expected {values(3) + 1}"
    (copied,) = extract(recorded, [nodes["mul"]])[1]
    own = copied.data_ptr() != recorded[nodes["add_"]].data_ptr()
    assert own, "an input of mul: yours is the recorded tensor itself, expected a copy"
    same = all(map(torch.equal, before, recorded.values()))
    assert same, "your graph writes to the recorded values, expected copies"


def test_the_graph_stays() -> None:
    """Nodes are copied, not moved."""
    module, nodes, recorded = traced(program, values(3), values(3))
    before = str(module.graph)
    extract(recorded, [nodes["mul"], nodes["exp"]])
    assert str(module.graph) == before, (
        f"your code changes the graph:\n{module.graph}\nwas\n{before}"
    )


def chain(x: torch.Tensor) -> torch.Tensor:
    """Return a graph of forty operators, two of which fail together."""
    for _ in range(6):
        x = torch.cos(torch.add(x, 1).abs())
    x = torch.neg(torch.tanh(x))
    for _ in range(6):
        x = torch.sub(torch.sigmoid(x), 1).abs()
    return x


def crashes(module: fx.GraphModule, inputs: list[torch.Tensor]) -> bool:
    """Return whether a backend crashes: it wrongly fuses neg into the tanh that neg reads."""
    module(*inputs)
    targets = {node: node.target for node in module.graph.nodes}
    return any(
        target is torch.neg and any(targets[each] is torch.tanh for each in node.all_input_nodes)
        for node, target in targets.items()
    )


@quick
def test_a_backend_that_crashes() -> None:
    """Of forty nodes, two remain, with one input."""
    module, inputs = minify(fx.symbolic_trace(chain), [values(4)], limited(crashes))
    assert names(module) == ["tanh", "neg"], f"yours {names(module)}, expected ['tanh', 'neg']"
    assert len(inputs) == 1, f"your graph has {len(inputs)} inputs, expected 1"
    assert crashes(module, inputs), "your graph does not fail, expected one that fails"


@quick
def test_a_wrong_value() -> None:
    """If the fault is the first NaN, one node remains, with the input it needs."""

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(torch.sub(torch.cos(x), 1)).exp().tanh()

    def fails(module: fx.GraphModule, inputs: list[torch.Tensor]) -> bool:
        clean = not any(x.isnan().any() for x in inputs)
        return clean and bool(module(*inputs)[0].isnan().any())

    module, inputs = minify(fx.symbolic_trace(f), [values(4)], limited(fails))
    assert names(module) == ["sqrt"], f"yours {names(module)}, expected ['sqrt']"
    assert bool((inputs[0] < 0).any()), f"your input is {inputs[0]}, expected cos(x) - 1"


@pytest.mark.time_limit(30)
def test_beside_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's minifier does not find a smaller graph."""
    monkeypatch.chdir(tmp_path)
    asked: list[int] = []
    found, _ = minify(fx.symbolic_trace(chain), [values(4)], limited(crashes))

    from functorch.compile import minifier  # type: ignore[import-untyped, unused-ignore]  # noqa: PLC0415

    def fails(module: fx.GraphModule, inputs: list[torch.Tensor]) -> bool:
        asked.append(1)
        return crashes(module, inputs)

    theirs, _ = minifier(
        fx.symbolic_trace(chain), [values(4)], fails, dump_state=lambda *_args: None
    )
    yours, right = len(names(found)), len(names(theirs))
    assert yours <= right, (
        f"your code leaves {yours} nodes, PyTorch's {right}, in {len(asked)} queries"
    )


def test_it_is_written_here() -> None:
    """Your code does not call PyTorch's minifier."""
    with forbids(kata, "functorch") as fresh:
        module, _ = fresh.minify(fx.symbolic_trace(chain), [values(4)], limited(crashes))
        assert len(names(module)) == 2, f"yours {names(module)}, expected two nodes"
