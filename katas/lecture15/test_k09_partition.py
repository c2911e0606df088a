"""Tests of k09_partition: graphs by name, random ones, and PyTorch's own partitioner."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import fx
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner

from katas.lecture15.k09_partition import has_cycle
from katas.lecture15.k09_partition import partition


if TYPE_CHECKING:
    from collections.abc import Sequence

    from katas.lecture15.k09_partition import Graph

BRIEF = {"x": [], "relu": ["x"], "sin": ["relu"], "relu_1": ["sin"], "add": ["relu_1", "relu"]}


def check_cycle(graph: Graph, parts: list[list[str]], *, expected: bool, why: str) -> None:
    """Compare whether there is a cycle."""
    yours = has_cycle(graph, parts)

    assert expected is yours, (
        f"{graph}\npartitions {parts}: yours {yours}, expected {expected}; {why}"
    )


def test_no_partition_no_cycle() -> None:
    """A graph in which each name comes after its inputs can run."""
    check_cycle(BRIEF, [], expected=False, why="nothing is merged")
    check_cycle({}, [], expected=False, why="nothing is there")


def test_the_picture_of_the_brief() -> None:
    """The node sin needs relu, and relu_1 needs sin."""
    for parts in (
        [["relu"], ["relu_1", "add"]],
        [["relu", "sin", "relu_1", "add"]],
        [["x", "relu"]],
    ):
        check_cycle(BRIEF, parts, expected=False, why="these calls can be made in order")
    check_cycle(BRIEF, [["relu", "relu_1", "add"]], expected=True, why="it waits for sin")


def test_neighbours_only() -> None:
    """Each input of add is in its partition or comes from outside, and yet there is a path."""
    check_cycle(BRIEF, [["relu", "add"]], expected=True, why="relu -> sin -> relu_1 -> add")


def test_two_calls_wait_for_each_other() -> None:
    """Each partition alone is valid, but the two calls wait for each other."""
    graph = {"a1": [], "b1": ["a1"], "b2": [], "a2": ["b2"]}

    check_cycle(graph, [["a1", "a2"]], expected=False, why="b1 and b2 are two calls")
    check_cycle(graph, [["a1", "a2"], ["b1", "b2"]], expected=True, why="a needs b2, b needs a1")


def test_a_long_way_round() -> None:
    """A cycle may go through three partitions and the two nodes between them."""
    graph = {
        "a1": [],
        "n": ["a1"],
        "b1": ["n"],
        "b2": [],
        "c1": ["b2"],
        "m": [],
        "c2": ["m"],
        "a2": ["c2"],
    }

    check_cycle(graph, [["a1", "a2"], ["b1", "b2"]], expected=False, why="c1 and c2 are two calls")
    check_cycle(
        graph,
        [["a1", "a2"], ["b1", "b2"], ["c1", "c2"]],
        expected=True,
        why="a -> n -> b -> c -> a",
    )


def parts_of(graph: Graph, supported: set[str]) -> list[set[str]]:
    """Return your partitions, checked for what they contain."""
    yours = [list(each) for each in partition(graph, supported)]
    inside = sorted(name for each in yours for name in each)
    assert sorted(supported) == inside, f"{graph}\nyours {yours}; expected each of {supported} once"
    return sorted(({*each} for each in yours), key=min)


def test_a_chain() -> None:
    """A chain is one call, or two if a node in the middle is not supported."""
    graph: Graph = {"a": [], "b": ["a"], "c": ["b"], "d": ["c"]}
    for supported, expected in (
        ({"a", "b", "c", "d"}, [{"a", "b", "c", "d"}]),
        ({"a", "b", "d"}, [{"a", "b"}, {"d"}]),
        (set[str](), []),
    ):
        yours = parts_of(graph, supported)

        assert expected == yours, f"{graph}, {supported}: yours {yours}, expected {expected}"


def test_the_graph_of_the_brief() -> None:
    """In the graph of the brief, relu stays alone."""
    yours = parts_of(BRIEF, {"relu", "relu_1", "add"})
    expected = [{"relu_1", "add"}, {"relu"}]

    assert expected == yours, f"yours {yours}, expected {expected}"


def test_what_is_not_connected() -> None:
    """Two branches make one call: fewer calls, and no cycle."""
    yours = parts_of({"a": [], "b": [], "c": ["a"], "d": ["b"]}, {"c", "d"})

    assert [{"c", "d"}] == yours, (
        f"yours {yours}; expected c and d together: there is no path between them"
    )


def test_a_merge_that_another_makes_possible() -> None:
    """First and last alone would close a cycle through the middle; together with it they do not."""
    graph: Graph = {"first": [], "middle": ["first"], "last": ["first", "middle"]}
    yours = parts_of(graph, {*graph})

    assert [{*graph}] == yours, (
        f"yours {yours}, expected one partition: after each merge, look at all pairs again"
    )


def reaches(graph: Graph, parts: Sequence[set[str]]) -> bool:
    """Return whether a call waits for itself, by following each path."""
    homes: dict[str, frozenset[str]] = {name: frozenset({name}) for name in graph}
    homes.update({name: frozenset(each) for each in parts for name in each})
    after = {
        home: {homes[user] for user, needs in graph.items() if home & {*needs}} - {home}
        for home in homes.values()
    }
    for home, users in after.items():
        seen: set[frozenset[str]] = set()
        todo = [*users]
        while todo:
            at = todo.pop()
            if at == home:
                return True
            if at not in seen:
                seen.add(at)
                todo += after[at]
    return False


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, set[str]]:
    """Draw a graph of up to eight nodes, and which are supported."""
    names = "abcdefgh"[: draw(st.integers(1, 8))]
    graph = {
        name: sorted(draw(st.sets(st.sampled_from(names[:n]), max_size=3)) if n else ())
        for n, name in enumerate(names)
    }
    return graph, draw(st.sets(st.sampled_from(names)))


def check_partition(graph: Graph, supported: set[str]) -> None:
    """Check that there is no cycle, and that no two partitions could be merged."""
    yours = parts_of(graph, supported)

    assert not reaches(graph, yours), f"{graph}\nyours {yours} has a cycle"
    assert not has_cycle(graph, [sorted(each) for each in yours]), (
        f"{graph}\nyour has_cycle finds a cycle in {yours}"
    )
    for one, other in combinations(yours, 2):
        rest = [each for each in yours if each is not one and each is not other]
        assert reaches(graph, [*rest, one | other]), (
            f"{graph}\nyours {yours}: {one} and {other} could be one call"
        )


def test_two_merges_each_of_which_is_good() -> None:
    """Each merge alone is valid, but after both, the two calls wait for each other."""
    graph: Graph = {"a": [], "n": ["a"], "c": ["n"], "d": [], "e": [], "f": ["e"]}

    check_partition(graph, {"a", "c", "d", "e", "f"})
    check_partition({"a": [], "b": ["a"], "n": ["b"], "d": ["n"], "e": [], "f": ["e"]}, {*"abdef"})


@given(graphs())
def test_any_graph(drawn: tuple[Graph, set[str]]) -> None:
    """Your partitions have no cycle, and no two of them could be merged."""
    check_partition(*drawn)


@given(graphs(), st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_any_partitions(drawn: tuple[Graph, set[str]], numbers: list[int]) -> None:
    """`has_cycle` agrees with following each path."""
    graph, supported = drawn
    groups: dict[int, list[str]] = {}
    for name, number in zip(graph, numbers, strict=False):
        if name in supported:
            groups.setdefault(number, []).append(name)
    expected = reaches(graph, [{*each} for each in groups.values()])

    check_cycle(graph, [*groups.values()], expected=expected, why="follow each path")


class Network(torch.nn.Module):
    """The graph of the brief, with another branch."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        first = torch.relu(x)
        second = torch.relu(torch.sin(first))
        return torch.cos(second + first) * torch.relu(x)


class Takes:
    """What the delegate takes."""

    def is_node_supported(self, _modules: object, node: fx.Node) -> bool:
        """Return whether it is relu or add."""
        return node.op == "call_function" and "sin" not in node.name and "cos" not in node.name


def test_as_pytorch_does() -> None:
    """PyTorch's partitions of a traced network have no cycle, and yours are at most as many."""
    traced = fx.symbolic_trace(Network())
    found = CapabilityBasedPartitioner(
        traced,
        Takes(),  # type: ignore[arg-type]
        allows_single_node_partition=True,
    ).propose_partitions()
    theirs = [[node.name for node in each.nodes] for each in found]
    graph = {node.name: [each.name for each in node.all_input_nodes] for node in traced.graph.nodes}
    supported = {name for each in theirs for name in each}
    yours = parts_of(graph, supported)

    assert not has_cycle(graph, theirs), f"{graph}\nyour has_cycle finds one in {theirs}"
    assert len(theirs) >= len(yours), f"yours {yours} has more partitions than PyTorch's {theirs}"
    joined = [name for each in theirs for name in each]
    assert has_cycle(graph, [joined]), f"{graph}\nyour has_cycle finds none in [{joined}]"


@pytest.mark.given
def test_the_delegate_takes_five_nodes() -> None:
    """The delegate takes three relus, a sum and a product, but not sin and cos."""
    nodes = [
        n.name for n in fx.symbolic_trace(Network()).graph.nodes if Takes().is_node_supported(0, n)
    ]
    assert 5 == len(nodes), nodes
