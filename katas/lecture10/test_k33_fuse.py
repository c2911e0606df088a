"""Tests of k33_fuse: which kernels greedy fusion makes, and in which order."""

from __future__ import annotations

import math
from itertools import combinations
from itertools import product
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import torch
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture10.k33_fuse import fuse
from katas.lecture10.k33_fuse import prune
from katas.lecture10.schedule import Dep
from katas.lecture10.schedule import Kernel
from katas.lecture10.schedule import Node
from katas.lecture10.schedule import saved


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

N, M = 3, 5


def node(
    name: str,
    reads: dict[str, tuple[int, ...]],
    ranges: tuple[int, ...] = (N, M),
    reduced: tuple[int, ...] = (),
    *,
    extern: bool = False,
) -> Node:
    """Make a node; each read is given as a loop index for each dim."""
    loops = ranges + reduced
    deps = (Dep(name, index, tuple(loops[i] for i in index)) for name, index in reads.items())
    return Node(name, ranges, reduced, tuple(deps), extern)


def alone(*nodes: Node) -> list[Kernel]:
    """Return one kernel for each node."""
    return [(each,) for each in nodes]


def text(kernels: Sequence[Kernel]) -> str:
    """Return a line for each kernel, independent of the order that was chosen."""
    return "\n".join(sorted(" + ".join(sorted(each.name for each in kernel)) for kernel in kernels))


FULL, ROWS, TURNED = (0, 1), (0,), (1, 0)


# A softmax along the rows of x, in five nodes.
SOFTMAX = [
    node("b_max", {"x": FULL}, (N,), (M,)),
    node("c_sub", {"x": FULL, "b_max": ROWS}),
    node("d_exp", {"c_sub": FULL}),
    node("e_sum", {"d_exp": FULL}, (N,), (M,)),
    node("f_div", {"d_exp": FULL, "e_sum": ROWS}),
]


class Program(NamedTuple):
    """Nodes, what each computes from its reads, the graph's inputs, and its outputs."""

    nodes: list[Node]
    functions: dict[str, Callable[..., torch.Tensor]]
    inputs: dict[str, torch.Tensor]
    outputs: list[str]


def element(value: torch.Tensor, dep: Dep, loops: tuple[int, ...], at: tuple[int, ...]) -> Any:
    """Read a buffer: the first loops are fixed at `at`, the others become dims."""
    value = value[tuple(at[i] if i < len(at) else slice(None) for i in dep.index)]
    free = [i for i in dep.index if i >= len(at)]
    value = value.permute(sorted(range(len(free)), key=free.__getitem__))
    return value.reshape([loops[i] if i in free else 1 for i in range(len(at), len(loops))])


def run(program: Program, kernels: Sequence[Kernel]) -> dict[str, torch.Tensor]:
    """Run kernels one by one, each row by row, as a GPU does, and return the outputs.

    In a kernel with a reduction a row is an iteration of the outer loops, otherwise of all loops.
    A kernel's nodes see what it writes only in the same row: no row waits for another.
    """
    memory = dict(program.inputs)
    for kernel in kernels:
        memory |= _run_kernel(program, kernel, memory)
    return {name: memory[name] for name in program.outputs}


def _run_kernel(
    program: Program, kernel: Kernel, memory: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    if kernel[0].extern:
        tensors = [memory[read.name] for read in kernel[0].reads]
        return {kernel[0].name: program.functions[kernel[0].name](*tensors)}
    outer = next((each.ranges for each in kernel if each.reduced), kernel[0].ranges)
    results = {each.name: torch.full(each.ranges, math.nan).double() for each in kernel}
    for at in product(*map(range, outer)):
        row = {each.name: torch.full(each.ranges, math.nan).double() for each in kernel}
        for each in kernel:
            loops = each.ranges + each.reduced
            seen = memory | row
            values = (element(seen[dep.name], dep, loops, at) for dep in each.reads)
            value = program.functions[each.name](*values).expand(loops[len(at) :])
            for _ in each.reduced:
                value = value.amax(-1) if "max" in each.name.split("_") else value.sum(-1)
            row[each.name][at] = results[each.name][at] = value
    return results


def legal(nodes: Sequence[Node], groups: Sequence[Sequence[Node]]) -> bool:
    """Return whether these groups of nodes can be kernels: an independent oracle."""
    position = {each.name: number for number, group in enumerate(groups) for each in group}
    for number, group in enumerate(groups):
        if len(group) > 1 and any(each.extern for each in group):
            return False
        nests = {(each.ranges, each.reduced) for each in group}
        loops = {ranges + reduced for ranges, reduced in nests if reduced}
        outer = {ranges for ranges, reduced in nests if reduced}
        others = {ranges for ranges, reduced in nests if not reduced}
        if max(len(loops), len(outer)) > 1 or (not loops and len(others) > 1):
            return False
        if loops and not others <= loops | outer:
            return False
        for read in (read for each in group for read in each.reads):
            # Either it is read where it was written, at (0, 1, ...), or in another iteration.
            if position.get(read.name) == number and read.index != tuple(range(len(read.index))):
                return False
    waiting = list(range(len(groups)))
    while waiting:
        ready = [
            number
            for number in waiting
            if not any(
                position.get(read.name, number) in set(waiting) - {number}
                for each in groups[number]
                for read in each.reads
            )
        ]
        if not ready:
            return False
        waiting = [number for number in waiting if number not in ready]
    return True


def cost(groups: Sequence[Sequence[Node]], outputs: Sequence[str]) -> int:
    """Return the bytes that kernels move: the oracle, summed over the buffers."""
    total = 0
    buffers = {dep.name for group in groups for each in group for dep in (*each.reads, each.write)}
    for name in buffers:
        readers = [
            {read for each in group for read in each.reads if read.name == name}
            for group in groups
            if name not in {each.name for each in group}
        ]
        total += sum(dep.bytes for deps in readers for dep in deps)
        writes = [each.write for group in groups for each in group if each.name == name]
        if any(readers) or name in outputs:
            total += sum(dep.bytes for dep in writes)
    return total


def topological(kernels: Sequence[Kernel]) -> bool:
    """Return whether every node comes after all nodes that it reads from."""
    order = [each for kernel in kernels for each in kernel]
    written = {each.name for each in order}
    for each in order:
        if {read.name for read in each.reads} & written:
            return False
        written.discard(each.name)
    return True


def test_dead_nodes_are_pruned() -> None:
    """What only a dead node reads is dead as well; the order stays."""
    a, b = node("a", {"x": FULL}), node("b", {"a": FULL})
    c, d = node("c", {"a": FULL}), node("d", {"b": FULL})
    cases = {"d": [a, b, d], "c": [a, c], "a": [a]}
    for output, expected in cases.items():
        got = prune([a, b, c, d], [output])
        assert expected == got, (
            f"of a, b, c, d with output {output} your pass keeps {[each.name for each in got]}, "
            f"expected {[each.name for each in expected]}, which the output needs directly or "
            f"through others"
        )

    assert [a, b, c] == prune([a, b, c, d], ["c", "b"]), (
        "expected a, b and c: keep a node that is read twice only once"
    )
    assert [] == prune([a, b], []), "no outputs: no node is needed"
    call = node("call", {"a": FULL}, extern=True)
    yours = [each.name for each in prune([a, call, c], ["c"])]
    assert ["a", "c"] == yours, (
        f"your pass keeps {yours}, expected a and c: no output needs the library call"
    )
    assert [] == prune([a, b], ["x"]), "the output x is an input of the graph, which no node writes"


def test_a_chain_becomes_one_kernel() -> None:
    """Three nodes, each of which reads the one before."""
    chain = [node("a", {"x": FULL}), node("b", {"a": FULL}), node("c", {"b": FULL})]

    assert [("a", "b", "c")] == [tuple(each.name for each in kernel) for kernel in fuse(chain)], (
        f"you make {text(fuse(chain))!r}, expected one kernel of a, b and c: each reads what the "
        f"one before has written"
    )
    assert [] == fuse([]), f"without nodes there are no kernels, but you return {fuse([])}"
    assert [chain[:1]] == [list(kernel) for kernel in fuse(chain[:1])], (
        "expected one kernel for one node"
    )


def test_what_saves_nothing_is_not_fused() -> None:
    """Two nodes of equal loops that share nothing stay two kernels."""
    assert 2 == len(fuse([node("a", {"x": FULL}), node("b", {"y": FULL})])), (
        "expected two kernels: the two share no bytes, so nothing is saved"
    )


def test_kernels_far_apart_may_be_fused() -> None:
    """An unrelated kernel is between them in the list."""
    nodes = [node("a", {"x": FULL}), node("b", {"y": FULL}, (M, N)), node("c", {"a": FULL})]

    assert "a + c\nb" == text(fuse(nodes)), (
        f"your kernels are\n{text(fuse(nodes))}\nbut should be a + c, b: neither of the two "
        f"depends on b, which is between them"
    )


def test_a_softmax_becomes_one_kernel() -> None:
    """Two reductions and three pointwise nodes, row by row."""
    assert_expected_inline(text(fuse(SOFTMAX)), """b_max + c_sub + d_exp + e_sum + f_div""")


def test_a_block_of_a_model_becomes_four_kernels() -> None:
    """Bias, residual and norm around a matrix product, and a transpose that cannot be fused."""
    nodes = [
        node("a_scale", {"x": FULL, "s": (1,)}),
        node("b_matmul", {"a_scale": FULL}, extern=True),
        node("c_bias", {"b_matmul": FULL, "v": (1,)}),
        node("d_residual", {"c_bias": FULL, "x": FULL}),
        node("e_mean", {"d_residual": FULL}, (N,), (M,)),
        node("f_centred", {"d_residual": FULL, "e_mean": ROWS}),
        node("g_square", {"f_centred": FULL}, (N,), (M,)),
        node("h_norm", {"f_centred": FULL, "g_square": ROWS}),
        node("i_turned", {"h_norm": TURNED}, (M, N)),
        node("j_columns", {"i_turned": FULL}, (M,), (N,)),
    ]
    assert_expected_inline(
        text(fuse(nodes)),
        """\
a_scale
b_matmul
c_bias + d_residual + e_mean + f_centred + g_square + h_norm
i_turned + j_columns""",
    )


def test_what_saves_most_is_fused_first() -> None:
    """B can be fused with the first or with the last, but shares less with the first."""
    first = node("first", {"x": FULL}, (N,), (M,))
    b = node("b", {"first": ROWS, "v": ROWS}, (N,))
    last = node("last", {"b": ROWS, "v": ROWS, "y": FULL}, (N,), (M + 1,))

    assert "b + last\nfirst" == text(fuse([first, b, last])), (
        "expected b + last: the pair that saves 24 bytes comes before the one that saves 12"
    )
    turned = node("c", {"first": ROWS, "b": ROWS, "v": ROWS, "w": ROWS}, (N,), (M + 1,))
    assert "b + c\nfirst" == text(fuse([first, b, turned])), (
        f"your kernels are\n{text(fuse([first, b, turned]))}\nbut should be b + c, first: b shares "
        f"36 bytes with c (b itself and two inputs), and 12 with first"
    )


def test_the_score_is_in_bytes_not_in_buffers() -> None:
    """Three small tensors in common are less than one large one."""
    small = {"u": ROWS, "v": ROWS, "w": ROWS}
    rows = node("rows", {"y": FULL, **small}, (N,), (M,))
    b = node("b", {"x": FULL, **small})
    everything = node("everything", {"x": FULL}, (), (N, M))

    assert "b + everything\nrows" == text(fuse([rows, b, everything])), (
        "expected b + everything: the pair that saves 60 bytes comes before the one that saves 36"
    )


def test_the_score_is_that_of_kernels() -> None:
    """C shares 12 bytes with a, 12 with b, 16 with d: but by then a and b are one kernel."""
    a = node("a", {"y": FULL, "u": ROWS}, (N,), (M,))
    b = node("b", {"y": FULL, "v": ROWS}, (N,), (M,))
    c = node("c", {"u": ROWS, "v": ROWS, "w": ROWS, "s": ()}, (N,))
    d = node("d", {"z": FULL, "w": ROWS, "s": ()}, (N,), (M + 1,))

    assert "a + b + c\nd" == text(fuse([a, b, c, d])), (
        "expected a + b + c: fuse the pair that saves 60 bytes first, then the one that saves 24, "
        "not 16"
    )


def test_the_result_is_in_topological_order() -> None:
    """What was between the two and needs the first has to move to after them."""
    a, b = node("a", {"x": FULL}), node("b", {"a": TURNED}, (M, N))
    c, d = node("c", {"b": TURNED}), node("d", {"a": FULL})
    kernels = fuse([a, b, c, d])

    assert "a + d\nb\nc" == text(kernels), (
        f"your kernels are\n{text(kernels)}\nbut should be a + d, b, c: b is transposed, so only a "
        f"and d save anything together"
    )
    assert topological(kernels), (
        f"your kernels are {text(kernels)}: b and c read a, so (a, d) must come first"
    )
    e, f = node("e", {"y": TURNED}, (M, N)), node("f", {"a": FULL, "e": TURNED})
    kernels = fuse([a, e, b, f])
    assert "a + f\nb\ne" == text(kernels), (
        f"your kernels are\n{text(kernels)}\nbut should be a + f, b, e: b and e are transposed, so "
        f"only a and f save anything together"
    )
    assert topological(kernels), "f needs e, and b needs a: expected e, then (a, f), then b"


def test_kernels_are_asked_as_they_are_by_then() -> None:
    """At first either pair could be fused; once one is, the other cannot."""
    a1, b2 = node("a1", {"x": FULL}), node("b2", {"y": FULL})
    e, f = node("e", {"a1": FULL}, extern=True), node("f", {"b2": FULL}, extern=True)
    a2, b1 = node("a2", {"x": FULL, "f": FULL}), node("b1", {"y": FULL, "e": FULL})
    kernels = fuse([a1, b2, e, f, a2, b1])

    assert 5 == len(kernels), f"expected exactly one of the two pairs to be fused: {text(kernels)}"
    assert topological(kernels), f"a kernel comes before one that it reads from:\n{text(kernels)}"


@st.composite
def programs(draw: st.DrawFn, most: int = 7) -> Program:
    """Draw a graph over matrices, rows, columns and scalars, with transposes and library calls."""
    n, m = draw(st.sampled_from(((2, 2), (2, 3), (2, 2), (3, 2))))
    inputs = {"x": (n, m), "u": (n,), "v": (m,)}
    known = dict(inputs)
    nodes: list[Node] = []
    kinds = {
        "map": ((n, m), ()),
        "turned": ((m, n), ()),
        "rows": ((n,), (m,)),
        "columns": ((m,), (n,)),
        "column": ((n,), ()),
        "all": ((), (n, m)),
    }
    for number in range(draw(st.integers(1, most))):
        ranges, reduced = kinds[draw(st.sampled_from([*kinds, "map", "rows"]))]
        loops = ranges + reduced
        # Each way to walk through a buffer with these loops: a square has two.
        ways = [
            Dep(name, index, size)
            for name, size in known.items()
            for index in ((), (0,), (1,), (0, 1), (1, 0))
            if len(index) == len(size)
            and all(i < len(loops) and loops[i] == s for i, s in zip(index, size, strict=True))
        ]
        reads = draw(st.lists(st.sampled_from(ways), min_size=1, max_size=3)) if ways else []
        extern = ranges == (n, m) and draw(st.integers(0, 3)) == 0
        name = f"buf{number}"
        nodes.append(Node(name, ranges, reduced, tuple(dict.fromkeys(reads)), extern))
        known[name] = ranges
    generator = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    values = {
        name: torch.randn(size, generator=generator, dtype=torch.float64)
        for name, size in inputs.items()
    }
    outputs = draw(st.sets(st.sampled_from([each.name for each in nodes]), min_size=1, max_size=3))
    functions = {each.name: weighted(each) for each in nodes}
    return Program(nodes, functions, values, sorted(outputs))


def weighted(of: Node) -> Callable[..., torch.Tensor]:
    """Return a function of what a node reads, in which no two reads are interchangeable."""

    def function(*values: torch.Tensor) -> torch.Tensor:
        result = torch.ones((), dtype=torch.float64)
        for weight, value in enumerate(values, 2):
            result = result + value / weight
        return result

    def library(*tensors: torch.Tensor) -> torch.Tensor:
        reads = zip(of.reads, tensors, strict=True)
        return function(*(element(t, dep, of.ranges, ()) for dep, t in reads)).expand(of.ranges)

    return library if of.extern else function


@given(program=programs())
def test_any_schedule(program: Program) -> None:
    """Fused kernels compute what single nodes do, move less, and leave nothing to be fused."""
    nodes = prune(program.nodes, program.outputs)
    fused = fuse(nodes)
    what = text(fused)
    assert sorted(each.name for each in nodes) == sorted(
        each.name for kernel in fused for each in kernel
    ), f"expected every node once: {what}"
    assert topological(fused), f"a node reads a buffer that is only written later:\n{what}"
    assert legal(nodes, fused), f"these cannot be kernels, or have no valid order:\n{what}"

    expected = run(program, alone(*program.nodes))
    got = run(program, fused)
    for name, value in expected.items():
        torch.testing.assert_close(got[name], value, msg=lambda m: f"{what}\n{m}")
    apart = cost(alone(*nodes), program.outputs)
    assert cost(fused, program.outputs) <= apart, (
        f"fused, these move more bytes than unfused: {what}"
    )
    left = [
        (kernels[0], kernels[1])
        for kernels in combinations(fused, 2)
        if saved(*kernels) > 0
        and legal(nodes, [*(k for k in fused if k not in kernels), kernels[0] + kernels[1]])
    ]
    assert not left, f"these could still be fused: {left}"


def greedy(nodes: Sequence[Node]) -> set[int]:
    """Return what the best legal first fusion saves; empty if none saves anything."""
    scores = set()
    for pair in combinations(nodes, 2):
        rest = [[each] for each in nodes if each not in pair]
        first, second = ({*each.reads, each.write} for each in pair)
        if legal(nodes, [*rest, list(pair)]):
            scores.add(sum(dep.bytes for dep in first & second))
    return {max(scores, default=0)} - {0}


@given(program=programs(most=5))
def test_the_best_pair_is_in_one_kernel(program: Program) -> None:
    """Some pair with the highest score ends up in one kernel; nothing of Inductor is called."""
    nodes = program.nodes
    fused = fuse(nodes)
    for best in greedy(nodes):
        together = [
            sum(dep.bytes for dep in {*one.reads, one.write} & {*other.reads, other.write})
            for kernel in fused
            for one, other in combinations(kernel, 2)
        ]
        assert best in together, (
            f"the best pair shares {best} bytes, but the pairs in your kernels, {text(fused)}, "
            f"share {together}"
        )
