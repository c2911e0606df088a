"""Tests of k32_fusable: what a kernel needs, what a fusion saves, and when it is legal."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import torch
from hypothesis import given
from hypothesis import strategies as st

import katas.lecture10.k32_fusable as kata
from katas.lecture10.k32_fusable import can_fuse
from katas.lecture10.k32_fusable import needs
from katas.lecture10.k32_fusable import saved
from katas.lecture10.schedule import Dep
from katas.lecture10.schedule import Kernel
from katas.lecture10.schedule import Node
from plugins.kit import forbids


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


def test_needs_are_direct_and_indirect() -> None:
    """A kernel may need another through a third; what no kernel writes is an input of the graph."""
    a, b = node("a", {"x": FULL}), node("b", {"a": FULL})
    c, d = node("c", {"y": FULL}), node("d", {"b": FULL, "c": FULL})

    assert [set(), {0}, set(), {0, 1, 2}] == needs(alone(a, b, c, d)), (
        "d reads b and c, and b reads a: d needs all three, a through b"
    )
    assert [set(), set(), {0, 1}] == needs([(a, b), (c,), (d,)]), (
        "b reads a in the same kernel, and a kernel does not need itself; d reads from both kernels"
    )
    assert [] == needs([]), "no kernels: expected no needs"


def test_needs_go_through_all_nodes_of_a_kernel() -> None:
    """C does not read a, but another node of its kernel does: what needs c's kernel needs a too."""
    a, b = node("a", {"x": FULL}), node("b", {"a": FULL})
    c, d = node("c", {"y": FULL}), node("d", {"c": FULL})

    assert [set(), {0}, {0, 1}] == needs([(a,), (b, c), (d,)]), (
        "d reads c, and c is in the same kernel as b, which reads a: d needs both kernels"
    )


def test_what_is_shared_is_saved() -> None:
    """A kernel reads what the other writes, or what the other reads, at the same index."""
    a = node("a", {"x": FULL, "v": ROWS})
    both = 4 * N * M
    cases = {
        "a producer and its consumer": (node("b", {"a": FULL}), both),
        "a common input": (node("b", {"x": FULL, "y": FULL}), both),
        "two common inputs, one of them small": (node("b", {"v": ROWS, "x": FULL}), both + 4 * N),
        "nothing": (node("b", {"y": FULL}), 0),
        "an input that is read otherwise": (node("b", {"v": (1,)}, (M, N)), 0),
    }
    for what, (other, expected) in cases.items():
        got = saved((a,), (other,))
        assert expected == got, f"{what}: you save {got} bytes, expected {expected}"


def test_what_kernels_share_counts_once() -> None:
    """Two nodes of a kernel that read x do not save it twice."""
    a, b, c = node("a", {"x": FULL}), node("b", {"x": FULL}), node("c", {"x": FULL, "b": FULL})

    for first, second in (((a, b), (c,)), ((c,), (a, b))):
        got = saved(first, second)
        names = [tuple(each.name for each in kernel) for kernel in (first, second)]
        assert 2 * 4 * N * M == got, (
            f"you save {got} bytes for the kernels {names}, expected {2 * 4 * N * M}: both read or "
            f"write x and b, so count each once, however many nodes read it"
        )


def shown(kernels: Sequence[Kernel]) -> str:
    """Return a line for each kernel: its nodes, with their loops and which element they read."""
    lines = []
    for place, kernel in enumerate(kernels):
        nodes = []
        for each in kernel:
            reads = ", ".join(f"{read.name}{list(read.index)}" for read in each.reads)
            reduced = f", reduces {each.reduced}" if each.reduced else ""
            extern = ", a library call" if each.extern else ""
            nodes.append(f"{each.name}: ranges {each.ranges}{reduced}{extern}, reads {reads}")
        lines.append(f"  {place}  {' + '.join(nodes)}")
    return "\n".join(lines)


def assert_fused(why: str, kernels: list[Kernel], first: int = 0, second: int = 1) -> None:
    """Check that the kernels at two positions may be one."""
    got = can_fuse(kernels, first, second)
    assert got is True, (
        f"can_fuse of {first} and {second} is {got!r}, expected True: {why}\n{shown(kernels)}"
    )


def assert_apart(why: str, kernels: list[Kernel], first: int = 0, second: int = 1) -> None:
    """Check that the kernels at two positions may not be one."""
    got = can_fuse(kernels, first, second)
    assert got is False, (
        f"can_fuse of {first} and {second} is {got!r}, expected False: {why}\n{shown(kernels)}"
    )


def test_equal_loops_are_fused() -> None:
    """They may run one after the other, or side by side; different ranges are different loops."""
    a = node("a", {"x": FULL})

    assert_fused(
        "the loops are equal, and b reads each element where a wrote it",
        alone(a, node("b", {"a": FULL})),
    )
    assert_fused(
        "both read x, and neither needs the other: a loop may do both",
        alone(a, node("b", {"x": FULL})),
    )
    assert_fused("it is legal, if of no use", alone(a, node("b", {"y": FULL})))
    assert_apart(
        "rule 2: fifteen iterations each, but of other loops",
        alone(a, node("b", {"y": FULL}, (M, N))),
    )
    assert_apart(
        "rule 2: one loop is not two, though it is the outer one",
        alone(a, node("b", {"y": ROWS}, (N,))),
    )


def test_a_read_must_be_what_was_written() -> None:
    """In the transpose of a square, element (i, j) waits for (j, i), which is another iteration."""
    a = node("a", {"x": FULL}, (N, N))

    assert_apart(
        "rule 3: at (0, 1) b would read a[1, 0], which a writes in a later iteration",
        alone(a, node("b", {"a": TURNED}, (N, N))),
    )
    assert_fused(
        "x is an input and is all there, so b may read any element of it",
        alone(a, node("b", {"x": TURNED}, (N, N))),
    )
    two = Node("b", (N, N), (), (*node("b", {"a": FULL}, (N, N)).reads, Dep("a", TURNED, (N, N))))
    assert_apart("rule 3: the first of two reads fits, and every one must", alone(a, two))


def test_a_reduction_goes_with_its_rows() -> None:
    """A reduction fuses with its input, with its results, and with what expands these results."""
    total = node("total", {"x": FULL}, (N,), (M,))

    assert_fused(
        "a's ranges are the ranges and the reduced of b, which are b's loops",
        alone(node("a", {"x": FULL}), node("b", {"a": FULL}, (N,), (M,))),
    )
    assert_fused(
        "b runs once for each row, like the reduction",
        alone(total, node("b", {"total": ROWS}, (N,))),
    )
    assert_fused(
        "b goes over a row a second time, when its total is there",
        alone(total, node("b", {"x": FULL, "total": ROWS})),
    )
    assert_fused(
        "two reductions with equal ranges and equal reduced share a kernel",
        alone(total, node("b", {"x": FULL, "total": ROWS}, (N,), (M,))),
    )


def test_other_loops_than_the_reduction_s_do_not_fit() -> None:
    """Two reductions along different dims do not fit either."""
    total = node("total", {"x": FULL}, (N,), (M,))

    assert_apart("rule 2: b has the reduced loop alone", alone(total, node("b", {"v": ROWS}, (M,))))
    assert_apart(
        "rule 2: b has the loops of the reduction the other way round",
        alone(total, node("b", {"y": FULL}, (M, N))),
    )
    assert_apart(
        "rule 2: as many iterations, but other ranges and another reduced",
        alone(total, node("b", {"x": TURNED}, (M,), (N,))),
    )
    assert_apart(
        "rule 2: the ranges are equal, what is reduced is not",
        alone(total, node("b", {"y": FULL}, (N,), (N,))),
    )
    assert_apart(
        "rule 2: b reduces both loops, total one", alone(total, node("b", {"y": FULL}, (), (N, M)))
    )
    square = node("total", {"x": FULL}, (N,), (N,))
    assert_apart(
        "rule 3: in row i, b needs the total of row j",
        alone(square, node("b", {"total": (1,)}, (N, N))),
    )


def test_all_nodes_of_a_kernel_count() -> None:
    """Whether a loop fits a kernel depends on all of the kernel's nodes, not only on the first."""
    a = node("a", {"x": ROWS}, (N,))
    total = node("total", {"y": FULL}, (N,), (M,))
    wide = node("wide", {"z": FULL}, (N, 7))

    assert_fused("a runs once for each row, like the reduction", [(a,), (total,), (wide,)])
    assert_apart(
        "rule 2: with total in it, the kernel takes (3,) and (3, 5), and wide is (3, 7)",
        [(a, total), (wide,)],
    )
    assert_fused(
        "with total in it, the kernel takes (3, 5) as well as (3,)",
        [(a, total), (node("b", {"y": FULL}),)],
    )
    assert_apart(
        "rule 2: without a reduction all have equal ranges", [(node("c", {"y": FULL}),), (a,)]
    )


def test_a_library_call_is_not_fused() -> None:
    """A library call is fused neither as a producer nor as a consumer."""
    product_of = node("product", {"x": FULL}, extern=True)

    assert_apart(
        "rule 1: product is a library call", alone(product_of, node("b", {"product": FULL}))
    )
    assert_apart(
        "rule 1: product is a library call, though it comes second",
        alone(node("b", {"x": FULL}), product_of),
    )


def test_no_third_kernel_stands_between() -> None:
    """The fused kernel would have to run both before and after it."""
    a, b = node("a", {"x": FULL}), node("b", {"a": FULL}, extern=True)
    c, d = node("c", {"a": FULL, "b": FULL}), node("d", {"a": FULL})

    assert_apart("rule 4: c needs b, and b needs a", alone(a, b, c), 0, 2)
    assert_fused("d comes after b, but does not need it", alone(a, b, d), 0, 2)
    e = node("e", {"b": FULL}, extern=True)
    f = node("f", {"e": FULL, "x": FULL})
    assert_apart("rule 4: f needs e, e needs b, and b needs a", alone(a, b, e, f), 0, 3)


def test_a_fusion_may_close_the_way_to_another() -> None:
    """B1 needs a1 and a2 needs b2: one of the pairs can be fused, and then the other cannot."""
    a1, b2 = node("a1", {"x": FULL}), node("b2", {"y": FULL})
    e, f = node("e", {"a1": FULL}, extern=True), node("f", {"b2": FULL}, extern=True)
    a2, b1 = node("a2", {"x": FULL, "f": FULL}), node("b1", {"y": FULL, "e": FULL})
    apart = alone(a1, b2, e, f, a2, b1)

    why = "no third kernel is between the two before anything is fused"
    assert_fused(why, apart, 0, 4)
    assert_fused(why, apart, 1, 5)
    kernels = [(b2,), (f,), (a1, a2), (e,), (b1,)]
    assert_apart(
        "rule 4: b1 needs e, e needs (a1, a2), that needs f, and f needs b2", kernels, 0, 4
    )


def test_arguments_are_not_changed() -> None:
    """The given lists stay as they are."""
    kernels = alone(*SOFTMAX)
    needs(kernels)
    can_fuse(kernels, 0, 1)

    assert kernels == alone(*SOFTMAX), "the list of kernels was changed"


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
def test_any_pair(program: Program) -> None:
    """They are fusable if and only if they can be one kernel next to all others."""
    kernels = alone(*program.nodes)
    for _ in range(3):
        pairs = list(combinations(range(len(kernels)), 2))
        fit = []
        for first, second in pairs:
            others = [kernel for n, kernel in enumerate(kernels) if n not in {first, second}]
            expected = legal(program.nodes, [*others, kernels[first] + kernels[second]])
            got = can_fuse(kernels, first, second)
            assert expected == got, (
                f"can_fuse of {first} and {second} is {got}, expected {expected}\n{shown(kernels)}"
            )
            fit += [(first, second)] * expected
        # Go on with a list of kernels that is already in topological order.
        close = [pair for pair in fit if pair[1] == pair[0] + 1]
        if not close:
            break
        first, second = close[0]
        kernels[first : second + 1] = [kernels[first] + kernels[second]]


def test_nothing_of_inductor_is_called() -> None:
    """Inductor's scheduler may not be called: you are writing it."""
    names = ("katas.lecture10.schedule.can_fuse", "torch._inductor", "torch._inductor.scheduler")
    with forbids(kata, *names) as fresh:
        needed = fresh.needs(alone(*SOFTMAX))
        fusable = fresh.can_fuse(alone(*SOFTMAX), 1, 2), fresh.saved(*alone(*SOFTMAX)[1:3])

    assert {0} == needed[1], f"needs returns {needed}: c_sub, the second of a softmax, needs b_max"
    assert (True, 60) == fusable, (
        f"can_fuse and saved are {fusable} for c_sub and d_exp, expected (True, 60)"
    )
