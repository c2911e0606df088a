"""Tests of k15_frontier: compared with PyTorch's matrix products; the simulator counts accesses."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas import source
from plugins.kit import forbids_tokens
from plugins.kit import unchanged


if TYPE_CHECKING:
    from plugins.kit import CudaExtension
    from plugins.kit import Launch


pytestmark = [pytest.mark.backend("cxx"), pytest.mark.device("cpu", "cuda")]

BLOCKS, THREADS = 8, 64
WAITS = (
    *("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize"),
    *("cudaStreamQuery", "cudaMemcpy", "cudaMemcpyAsync"),
)
PATH = [(0, 1), (1, 2), (2, 3), (3, 4)]
DIAMOND = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)]


class Graph:
    """A directed graph, in the operator's format."""

    def __init__(self, nodes: int, edges: list[tuple[int, int]], device: str = "cpu") -> None:
        self.nodes, self.edges, self.device = nodes, sorted(edges), device
        starts = torch.tensor([start for start, _ in self.edges], dtype=torch.int64)
        counts = torch.bincount(starts, minlength=nodes)
        offsets = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
        ends = [end for _, end in self.edges]
        self.offsets = offsets.to(torch.int32).to(device)
        self.neighbours = torch.tensor(ends, dtype=torch.int32, device=device)

    def arguments(self, source: int, levels: int) -> tuple[Any, ...]:
        """Return the operator's arguments."""
        start = torch.tensor([source], dtype=torch.int32, device=self.device)
        return self.offsets, self.neighbours, start, levels

    def distances(self, source: int, levels: int) -> torch.Tensor:
        """Return the distances: one product with the graph's matrix for each level."""
        matrix = torch.zeros(self.nodes, self.nodes)
        for start, end in self.edges:
            matrix[start, end] = 1
        found = torch.full((self.nodes,), -1, dtype=torch.int32)
        reached = torch.zeros(self.nodes)
        reached[source] = 1
        for level in range(levels + 1):
            found[(reached > 0) & (found < 0)] = level
            reached = reached @ matrix
        return found


def check(extension: CudaExtension, graph: Graph, source: int, levels: int) -> torch.Tensor:
    """Compare one call with PyTorch's products, and return the distances."""
    __tracebackhide__ = True
    arguments = graph.arguments(source, levels)
    with unchanged(*arguments[:3]):
        yours = extension.op("distances")(*arguments).cpu()
    right = graph.distances(source, levels)
    assert yours.equal(right), (
        f"edges {graph.edges[:12]}, source {source}, {levels} levels: yours {yours.tolist()[:20]},"
        f" expected {right.tolist()[:20]}, as computed with PyTorch's matrix"
    )
    return right


def launched(extension: CudaExtension, graph: Graph, source: int, levels: int) -> list[Launch]:
    """Check one call, and return its launches."""
    __tracebackhide__ = True
    check(extension, graph, source, levels)
    return extension.launches()


def fan(width: int) -> Graph:
    """Return a node with many neighbours, which all share a neighbour."""
    out = [(0, n) for n in range(1, width + 1)]
    return Graph(width + 2, [*out, *((n, width + 1) for n in range(1, width + 1))])


def test_a_path(extension: CudaExtension, device: str) -> None:
    """In a chain of nodes, each frontier has one node."""
    check(extension, Graph(5, PATH, device), 0, 4)


def test_no_levels(extension: CudaExtension, device: str) -> None:
    """The source is at distance 0, and no other node is visited."""
    check(extension, Graph(5, PATH, device), 1, 0)


def test_what_is_too_far(extension: CudaExtension, device: str) -> None:
    """Nodes that are too far away, or unreachable, get -1."""
    graph = Graph(5, PATH, device)
    for start, levels in ((0, 2), (2, 4), (4, 3)):
        check(extension, graph, start, levels)


def test_levels_after_the_last(extension: CudaExtension, device: str) -> None:
    """After an empty frontier, all later frontiers are empty."""
    check(extension, Graph(5, DIAMOND, device), 0, 9)


@pytest.mark.parametrize("width", [63, 64, 65, 512, 1100])
def test_a_frontier_larger_than_the_grid(extension: CudaExtension, device: str, width: int) -> None:
    """512 threads share a frontier of any length; each node has its own neighbour."""
    out = [(0, n) for n in range(1, width + 1)]
    on = [(n, width + n) for n in range(1, width + 1)]
    check(extension, Graph(2 * width + 1, [*out, *on], device), 0, 2)


@pytest.mark.parametrize("order", ["forwards", "backwards", "shuffled"])
def test_a_node_is_found_once(extension: CudaExtension, order: str) -> None:
    """Many threads reach the last node at the same time, and one of them appends it."""
    graph = fan(100)
    with extension.simulated(order=order):
        launches = launched(extension, graph, 0, 3)
    found = [launch.count("global", "atomic").accesses for launch in launches[1:]]
    # One atomic for each edge out of the frontier, one for each new node.
    expected = [100 + 100, 100 + 1, 0]
    assert found == expected, (
        f"100 nodes share a neighbour: yours has {found} atomics at levels 0, 1, 2, expected"
        f" {expected}: one for each edge, and one for each new node"
    )


@given(
    nodes=st.integers(1, 12),
    seed=st.integers(0, 1000),
    dense=st.integers(0, 40),
    levels=st.integers(0, 5),
)
def test_any_graph(
    extension: CudaExtension, nodes: int, seed: int, dense: int, levels: int
) -> None:
    """Graphs may have self-loops, parallel edges, and nodes without edges."""
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.randint(0, nodes, (dense, 2), generator=generator).tolist()
    check(extension, Graph(nodes, [(a, b) for a, b in pairs]), seed % nodes, levels)


def test_the_launches_do_not_depend_on_the_graph(extension: CudaExtension) -> None:
    """A CUDA graph is captured once, and replayed with whatever the memory holds by then."""
    sequences = []
    for edges in (PATH, DIAMOND, []):
        launches = launched(extension, Graph(5, edges), 0, 3)
        sequences.append([(launch.kernel, launch.grid[0], launch.block[0]) for launch in launches])
    expected = [("begin", 1, 1), *[("step", BLOCKS, THREADS)] * 3]
    for yours in sequences:
        assert yours == expected, (
            f"3 levels: your launches are {yours}, expected {expected}, for any graph with 5 nodes"
        )


def test_the_host_does_not_wait(extension: CudaExtension) -> None:
    """The simulator finishes before the host could wait, so the source code is checked."""
    check(extension, Graph(5, PATH), 0, 3)
    try:
        forbids_tokens(source("katas.lecture11", "csrc/k15_frontier.cu"), *WAITS)
    except AssertionError as error:
        used = str(error).partition("\n")[0]
        pytest.fail(
            f"{used}: your code waits for the device or queries it, which a CUDA graph's capture"
            " prohibits; expected memsets and launches, which are enough",
            pytrace=False,
        )


def test_all_threads_share_a_frontier(extension: CudaExtension) -> None:
    """There are four nodes for each thread; neighbouring threads read neighbouring elements."""
    nodes = 4 * BLOCKS * THREADS
    step = launched(extension, fan(nodes), 0, 2)[-1]
    blocks = step.storing_blocks
    assert blocks == BLOCKS, (
        f"{nodes} nodes: {blocks} of your blocks have work, expected all {BLOCKS}"
    )
    most = max(
        line.count.sectors for line in step.lines if (line.space, line.kind) == ("global", "read")
    )
    assert most <= nodes // 8 + BLOCKS * THREADS, (
        f"{nodes} adjacent ints fill {nodes // 8} sectors of 32 bytes; one of your lines reads"
        f" {most}: does each thread take the node next to its neighbour's?\n{step.table()}"
    )


def test_all_of_it_is_on_the_stream_of_the_caller(extension: CudaExtension) -> None:
    """A capture records only its own stream: use that stream for memsets and launches."""
    with extension.simulated(stream=11):
        check(extension, Graph(5, DIAMOND), 0, 3)


@pytest.mark.parametrize("launch", [1, 2, 4])
def test_a_launch_that_fails_is_reported(extension: CudaExtension, launch: int) -> None:
    """A failed launch does not raise; return the error that cudaGetLastError() reports."""
    with extension.refused(launch):
        check(extension, Graph(5, DIAMOND), 0, 3)
