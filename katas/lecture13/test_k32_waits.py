"""Tests of k32_waits: where waits are after the pass, and that the graph computes the same."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch import fx

from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k32_waits import sink_waits


if TYPE_CHECKING:
    from plugins.kit import World


C10D, ATEN = torch.ops._c10d_functional, torch.ops.aten  # noqa: SLF001 - its name


def graph_of(*names: str) -> fx.Graph:
    """Return a graph of these nodes; each name is followed by those of its inputs: ``"mm w w"``."""
    graph = fx.Graph()
    nodes: dict[str, Any] = {name: graph.placeholder(name) for name in ("x", "w")}
    for line in names:
        name, *taken = line.split()
        kind = name.rstrip("0123456789")
        args = tuple(nodes[each] for each in taken)
        if kind == "reduce":
            args += ("sum", "0")
        targets: dict[str, Any] = {
            "reduce": C10D.all_reduce.default,
            "wait": C10D.wait_tensor.default,
            "mm": ATEN.mm.default,
            "add": ATEN.add.Tensor,
        }
        nodes[name] = graph.create_node("call_function", targets[kind], args, {}, name)
    graph.output(nodes[names[-1].split()[0]])
    return graph


def order(*names: str) -> str:
    """Return the order of the nodes after your pass."""
    graph = graph_of(*names)
    sink_waits(graph)
    graph.lint()
    return " ".join(node.name for node in graph.nodes if node.op == "call_function")


def test_a_wait_sinks_to_its_first_user() -> None:
    """The example of the brief: the product runs while the sum is on its way."""
    found = order("reduce x", "wait reduce", "mm w w", "add wait mm")
    same(found, "reduce mm wait add", "the order of nodes")


def test_the_first_of_several_users_counts() -> None:
    """The first user is the first in the graph, not the first that was added."""
    found = order("reduce x", "wait reduce", "mm1 w w", "mm2 wait w", "mm3 w w", "add wait mm3")
    same(found, "reduce mm1 wait mm2 mm3 add", "the order of nodes")
    graph = graph_of("reduce x", "wait reduce", "mm1 w w", "mm2 w w", "add wait mm2")
    nodes = {node.name: node for node in graph.nodes}
    with graph.inserting_before(nodes["mm2"]):
        graph.create_node("call_function", ATEN.mm.default, (nodes["wait"], nodes["w"]), {}, "late")
    sink_waits(graph)
    found = " ".join(node.name for node in graph.nodes if node.op == "call_function")
    same(found, "reduce mm1 wait late mm2 add", "the order of nodes, where a user was added late")


def test_several_waits_keep_nothing_up() -> None:
    """Each wait sinks by itself, even to a collective that uses its result."""
    found = order(
        "reduce1 x", "wait1 reduce1", "reduce2 w", "wait2 reduce2", "mm w w", "add wait1 wait2"
    )
    assert found in {"reduce1 reduce2 mm wait1 wait2 add", "reduce1 reduce2 mm wait2 wait1 add"}, (
        f"the order of nodes\nyours:    {found}\nexpected: both waits right before add"
    )
    found = order(
        "reduce1 x",
        "wait1 reduce1",
        "mm1 w w",
        "reduce2 wait1",
        "wait2 reduce2",
        "mm2 w w",
        "add wait2 mm2",
    )
    same(found, "reduce1 mm1 wait1 reduce2 mm2 wait2 add", "the order of nodes")


def test_a_wait_that_nobody_uses_stays() -> None:
    """A graph without a wait stays the same, too."""
    same(order("reduce x", "wait reduce", "mm w w"), "reduce wait mm", "the order of nodes")
    same(order("mm w w", "add mm x"), "mm add", "the order of nodes")


def run() -> torch.Tensor:
    """Return what a graph computes on this rank after the pass."""
    graph = graph_of("reduce x", "wait reduce", "mm w w", "add wait mm")
    graph.find_nodes(op="call_function", target=C10D.all_reduce.default)[0].args = (
        next(iter(graph.nodes)),
        "sum",
        dist.group.WORLD.group_name,
    )
    sink_waits(graph)
    return fx.GraphModule(torch.nn.Module(), graph)(torch.ones(2, 2), 2 * torch.eye(2))


@pytest.mark.backend("gloo")
@pytest.mark.ranks_import("torch.distributed._functional_collectives")
def test_the_graph_computes_the_same(world: World) -> None:
    """The sum of ones on two ranks, and four times the identity."""
    for rank, found in enumerate(world(run, 2, timeout=SOON)):
        close(found, 2 + 4 * torch.eye(2), f"the result on rank {rank}")
