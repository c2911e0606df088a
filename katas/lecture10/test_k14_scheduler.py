"""Tests of k14_scheduler: legal and greedy fusion, checked by running the schedules."""

from __future__ import annotations

import math
from itertools import combinations
from itertools import product
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st
from torch.fx import Interpreter
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import SDPBackend
from torch.nn.attention import sdpa_kernel

import katas.lecture10.k14_scheduler as kata
from katas.lecture10.k14_scheduler import Dep
from katas.lecture10.k14_scheduler import Kernel
from katas.lecture10.k14_scheduler import Node
from katas.lecture10.k14_scheduler import allocate
from katas.lecture10.k14_scheduler import can_fuse
from katas.lecture10.k14_scheduler import fuse
from katas.lecture10.k14_scheduler import needs
from katas.lecture10.k14_scheduler import prune
from katas.lecture10.k14_scheduler import saved
from katas.lecture10.k14_scheduler import traffic
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
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
    """Make a node from the loops' numbers in each read, one for each dim."""
    loops = ranges + reduced
    deps = (Dep(name, index, tuple(loops[i] for i in index)) for name, index in reads.items())
    return Node(name, ranges, reduced, tuple(deps), extern)


def alone(*nodes: Node) -> list[Kernel]:
    """Return one kernel for each node."""
    return [(each,) for each in nodes]


def text(kernels: Sequence[Kernel]) -> str:
    """Return a line for each kernel, which does not depend on the order that was chosen."""
    return "\n".join(sorted(" + ".join(sorted(each.name for each in kernel)) for kernel in kernels))


FULL, ROWS, TURNED = (0, 1), (0,), (1, 0)
# Which of them a graph has depends on the version.
SOFTMAXES = ("softmax", "_softmax", "_safe_softmax")

# A softmax along the rows of x, in five nodes.
SOFTMAX = [
    node("b_max", {"x": FULL}, (N,), (M,)),
    node("c_sub", {"x": FULL, "b_max": ROWS}),
    node("d_exp", {"c_sub": FULL}),
    node("e_sum", {"d_exp": FULL}, (N,), (M,)),
    node("f_div", {"d_exp": FULL, "e_sum": ROWS}),
]


class Program(NamedTuple):
    """Nodes, what each computes of what it reads, the graph's inputs, and its outputs."""

    nodes: list[Node]
    functions: dict[str, Callable[..., torch.Tensor]]
    inputs: dict[str, torch.Tensor]
    outputs: list[str]


def element(value: torch.Tensor, dep: Dep, loops: tuple[int, ...], at: tuple[int, ...]) -> Any:
    """Read a buffer: the first loops stand still at `at`, the others become dims."""
    value = value[tuple(at[i] if i < len(at) else slice(None) for i in dep.index)]
    free = [i for i in dep.index if i >= len(at)]
    value = value.permute(sorted(range(len(free)), key=free.__getitem__))
    return value.reshape([loops[i] if i in free else 1 for i in range(len(at), len(loops))])


def run(program: Program, kernels: Sequence[Kernel]) -> dict[str, torch.Tensor]:
    """Run kernels one by one, each row by row, as a GPU does: and return the outputs.

    In a kernel with a reduction a row is an iteration of the outer loops, else of all loops. What
    a kernel writes is seen by its own nodes in the same row only: no row waits for another.
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
    """Say whether these groups of nodes can be kernels: the oracle, by its own way."""
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
            # What was written at (0, 1, ...) is read there, or else in another iteration.
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


def partitions(nodes: Sequence[Node]) -> Iterator[list[list[Node]]]:
    """Return all ways to put nodes into groups."""
    if not nodes:
        yield []
        return
    for groups in partitions(nodes[:-1]):
        yield [*groups, [nodes[-1]]]
        for number, group in enumerate(groups):
            yield [*groups[:number], [*group, nodes[-1]], *groups[number + 1 :]]


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
    """Say whether every node stands behind all that it reads from."""
    order = [each for kernel in kernels for each in kernel]
    written = {each.name for each in order}
    for each in order:
        if {read.name for read in each.reads} & written:
            return False
        written.discard(each.name)
    return True


@pytest.mark.given
def test_an_access_has_bytes() -> None:
    """A matrix of 3 by 5 float32; its diagonal, which one loop reads; a scalar."""
    assert 60 == Dep("x", (0, 1), (3, 5)).bytes
    assert 12 == Dep("x", (0, 0), (3, 3)).bytes
    assert 4 == Dep("x", (), ()).bytes
    assert Dep("b_max", (0,), (N,)) == SOFTMAX[0].write == SOFTMAX[1].reads[1]
    assert SOFTMAX[4].reads[1] != Dep("e_sum", (1,), (N,)), (
        "the same buffer at another loop is another access"
    )


def test_dead_nodes_are_pruned() -> None:
    """What only a dead node reads is dead as well; the order stays."""
    a, b = node("a", {"x": FULL}), node("b", {"a": FULL})
    c, d = node("c", {"a": FULL}), node("d", {"b": FULL})
    cases = {"d": [a, b, d], "c": [a, c], "a": [a]}
    for output, expected in cases.items():
        got = prune([a, b, c, d], [output])
        assert expected == got, f"for {output}: {[each.name for each in got]} stay"

    assert [a, b, c] == prune([a, b, c, d], ["c", "b"]), "a node that is read twice stays once"
    assert [] == prune([a, b], []), "nobody wants anything"
    call = node("call", {"a": FULL}, extern=True)
    yours = [each.name for each in prune([a, call, c], ["c"])]
    assert ["a", "c"] == yours, f"a library call that no output needs is dead; yours keeps {yours}"
    assert [] == prune([a, b], ["x"]), "an input is no node"


def test_needs_are_direct_and_indirect() -> None:
    """Through a third kernel too; what nobody writes is an input, which is there."""
    a, b = node("a", {"x": FULL}), node("b", {"a": FULL})
    c, d = node("c", {"y": FULL}), node("d", {"b": FULL, "c": FULL})

    assert [set(), {0}, set(), {0, 1, 2}] == needs(alone(a, b, c, d))
    assert [set(), set(), {0, 1}] == needs([(a, b), (c,), (d,)]), "a kernel needs not itself"
    assert [] == needs([])


def test_needs_go_through_all_nodes_of_a_kernel() -> None:
    """C reads nothing of a kernel that d stands in, but d needs a: who needs c's kernel needs a."""
    a, b = node("a", {"x": FULL}), node("b", {"a": FULL})
    c, d = node("c", {"y": FULL}), node("d", {"c": FULL})

    assert [set(), {0}, {0, 1}] == needs([(a,), (b, c), (d,)]), "the kernel (b, c) waits for a"


def test_what_is_shared_is_saved() -> None:
    """A read of what the other writes, or of what the other reads, at the same place."""
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
        assert expected == got, f"{what}: {expected} bytes, not {got}"


def test_what_kernels_share_counts_once() -> None:
    """Two nodes of a kernel that read x do not save it twice."""
    a, b, c = node("a", {"x": FULL}), node("b", {"x": FULL}), node("c", {"x": FULL, "b": FULL})

    assert 2 * 4 * N * M == saved((a, b), (c,)), "x and b are shared, each once"
    assert 2 * 4 * N * M == saved((c,), (a, b)), "from either side"


def fusable(first: Node, second: Node) -> bool:
    """Say whether two nodes, with none between them, may be fused."""
    got = can_fuse(alone(first, second), 0, 1)
    assert isinstance(got, bool), f"{got!r} is neither True nor False"
    return got


def test_equal_loops_are_fused() -> None:
    """One after the other, or side by side; other ranges are other loops, if not in number."""
    a = node("a", {"x": FULL})

    assert fusable(a, node("b", {"a": FULL})), (
        "the loops are equal, and b reads each element where a wrote it"
    )
    assert fusable(a, node("b", {"x": FULL})), "two readers of x, of which neither needs the other"
    assert fusable(a, node("b", {"y": FULL})), "legal, if of no use"
    assert not fusable(a, node("b", {"y": FULL}, (M, N))), "fifteen iterations, in other loops"
    assert not fusable(a, node("b", {"y": ROWS}, (N,))), "an outer loop alone is another nest"


def test_a_read_must_be_what_was_written() -> None:
    """The transpose of a square: element (i, j) waits for (j, i), which is another iteration."""
    a = node("a", {"x": FULL}, (N, N))

    assert not fusable(a, node("b", {"a": TURNED}, (N, N))), "b reads what a has not yet written"
    assert fusable(a, node("b", {"x": TURNED}, (N, N))), "an input is all there: any place will do"
    two = Node("b", (N, N), (), (*node("b", {"a": FULL}, (N, N)).reads, Dep("a", TURNED, (N, N))))
    assert not fusable(a, two), "one of two reads fits; every one must"


def test_a_reduction_goes_with_its_rows() -> None:
    """With what it reduces, with what is left of it, and with what spreads that out again."""
    total = node("total", {"x": FULL}, (N,), (M,))

    assert fusable(node("a", {"x": FULL}), node("b", {"a": FULL}, (N,), (M,))), (
        "a's ranges are those of the reduction and what it reduces"
    )
    assert fusable(total, node("b", {"total": ROWS}, (N,))), (
        "a node behind a reduction may have its ranges"
    )
    assert fusable(total, node("b", {"x": FULL, "total": ROWS})), "the row is gone over twice"
    assert fusable(total, node("b", {"x": FULL, "total": ROWS}, (N,), (M,))), (
        "two reductions with equal ranges and equal reduced share a kernel"
    )


def test_other_loops_than_the_reduction_s_do_not_fit() -> None:
    """Nor two reductions along different dims."""
    total = node("total", {"x": FULL}, (N,), (M,))

    assert not fusable(total, node("b", {"v": ROWS}, (M,))), "the reduced loop alone"
    assert not fusable(total, node("b", {"y": FULL}, (M, N))), (
        "(M, N) are the loops of the reduction the other way round"
    )
    assert not fusable(total, node("b", {"x": TURNED}, (M,), (N,))), (
        "as many iterations, but other ranges and another reduced"
    )
    assert not fusable(total, node("b", {"y": FULL}, (N,), (N,))), (
        "the ranges are equal, what is reduced is not"
    )
    assert not fusable(total, node("b", {"y": (0, 1)}, (), (N, M))), "all loops are reduced"
    square = node("total", {"x": FULL}, (N,), (N,))
    assert not fusable(square, node("b", {"total": (1,)}, (N, N))), "row i needs the total of row j"


def test_all_nodes_of_a_kernel_count() -> None:
    """A kernel of rows takes no reduction along another dim, whichever node shows it."""
    a = node("a", {"x": ROWS}, (N,))
    total = node("total", {"y": FULL}, (N,), (M,))
    wide = node("wide", {"z": FULL}, (N, 7))

    assert can_fuse([(a,), (total,), (wide,)], 0, 1)
    assert not can_fuse([(a, total), (wide,)], 0, 1), "(3, 7) is neither (3,) nor (3, 5)"
    assert can_fuse([(a, total), (node("b", {"y": FULL}),)], 0, 1)
    assert not can_fuse([(node("c", {"y": FULL}),), (a,)], 0, 1), (
        "no reduction brings them together"
    )


def test_a_library_call_is_not_fused() -> None:
    """Neither as a producer nor as a consumer."""
    product_of = node("product", {"x": FULL}, extern=True)

    assert not fusable(product_of, node("b", {"product": FULL})), (
        "rule 1: of a library call nothing is known"
    )
    assert not fusable(node("b", {"x": FULL}), product_of), (
        "rule 1 holds for the second as for the first"
    )


def test_no_third_kernel_stands_between() -> None:
    """The fused kernel would have to run both before and behind it."""
    a, b = node("a", {"x": FULL}), node("b", {"a": FULL}, extern=True)
    c, d = node("c", {"a": FULL, "b": FULL}), node("d", {"a": FULL})

    assert not can_fuse(alone(a, b, c), 0, 2), "c needs b, and b needs a"
    assert can_fuse(alone(a, b, d), 0, 2), "d stands behind b, but does not need it"
    e = node("e", {"b": FULL}, extern=True)
    f = node("f", {"e": FULL, "x": FULL})
    assert not can_fuse(alone(a, b, e, f), 0, 3), "two kernels between, the first of which needs a"


def test_a_fusion_may_close_the_way_to_another() -> None:
    """B1 needs a1 and a2 needs b2: one of the pairs can be fused, and then the other cannot."""
    a1, b2 = node("a1", {"x": FULL}), node("b2", {"y": FULL})
    e, f = node("e", {"a1": FULL}, extern=True), node("f", {"b2": FULL}, extern=True)
    a2, b1 = node("a2", {"x": FULL, "f": FULL}), node("b1", {"y": FULL, "e": FULL})
    apart = alone(a1, b2, e, f, a2, b1)

    assert can_fuse(apart, 0, 4), "no third kernel stands between the two before anything is fused"
    assert can_fuse(apart, 1, 5), "no third kernel stands between the two before anything is fused"
    kernels = [(b2,), (f,), (a1, a2), (e,), (b1,)]
    assert not can_fuse(kernels, 0, 4), (
        "b2 is before f, f before (a1, a2), that before e, e before b1"
    )


def test_a_chain_becomes_one_kernel() -> None:
    """Three nodes, of which each reads the one before."""
    chain = [node("a", {"x": FULL}), node("b", {"a": FULL}), node("c", {"b": FULL})]

    assert [("a", "b", "c")] == [tuple(each.name for each in kernel) for kernel in fuse(chain)]
    assert [] == fuse([])
    assert [chain[:1]] == [list(kernel) for kernel in fuse(chain[:1])]


def test_what_saves_nothing_is_not_fused() -> None:
    """Two nodes of equal loops that share nothing stay two kernels."""
    assert 2 == len(fuse([node("a", {"x": FULL}), node("b", {"y": FULL})])), (
        "the two share no byte: nothing is saved"
    )


def test_kernels_far_apart_may_be_fused() -> None:
    """A stranger stands between them in the list, on which neither depends."""
    nodes = [node("a", {"x": FULL}), node("b", {"y": FULL}, (M, N)), node("c", {"a": FULL})]

    assert "a + c\nb" == text(fuse(nodes))


def test_a_softmax_becomes_one_kernel() -> None:
    """Two reductions and three pointwise nodes, row by row."""
    assert_expected_inline(text(fuse(SOFTMAX)), """b_max + c_sub + d_exp + e_sum + f_div""")


def test_a_block_of_a_model_becomes_four_kernels() -> None:
    """Bias, residual and norm around a matrix product, and a transpose that fits nowhere."""
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
    """B goes with the first or with the last: with the first it shares less."""
    first = node("first", {"x": FULL}, (N,), (M,))
    b = node("b", {"first": ROWS, "v": ROWS}, (N,))
    last = node("last", {"b": ROWS, "v": ROWS, "y": FULL}, (N,), (M + 1,))

    assert "b + last\nfirst" == text(fuse([first, b, last])), "24 bytes come before 12"
    turned = node("c", {"first": ROWS, "b": ROWS, "v": ROWS, "w": ROWS}, (N,), (M + 1,))
    assert "b + c\nfirst" == text(fuse([first, b, turned]))


def test_the_score_is_in_bytes_not_in_buffers() -> None:
    """Three small tensors in common are less than one large one."""
    small = {"u": ROWS, "v": ROWS, "w": ROWS}
    rows = node("rows", {"y": FULL, **small}, (N,), (M,))
    b = node("b", {"x": FULL, **small})
    everything = node("everything", {"x": FULL}, (), (N, M))

    assert "b + everything\nrows" == text(fuse([rows, b, everything])), "60 bytes come before 36"


def test_the_score_is_that_of_kernels() -> None:
    """C shares 12 bytes with a, 12 with b, 16 with d: but a and b are one kernel by then."""
    a = node("a", {"y": FULL, "u": ROWS}, (N,), (M,))
    b = node("b", {"y": FULL, "v": ROWS}, (N,), (M,))
    c = node("c", {"u": ROWS, "v": ROWS, "w": ROWS, "s": ()}, (N,))
    d = node("d", {"z": FULL, "w": ROWS, "s": ()}, (N,), (M + 1,))

    assert "a + b + c\nd" == text(fuse([a, b, c, d])), "60 bytes for y, then 24, and not 16"


def test_the_result_is_in_topological_order() -> None:
    """What stood between the two and needs the first has to move behind them."""
    a, b = node("a", {"x": FULL}), node("b", {"a": TURNED}, (M, N))
    c, d = node("c", {"b": TURNED}), node("d", {"a": FULL})
    kernels = fuse([a, b, c, d])

    assert "a + d\nb\nc" == text(kernels)
    assert topological(kernels), f"{text(kernels)}: b and c read a, so (a, d) comes first"
    e, f = node("e", {"y": TURNED}, (M, N)), node("f", {"a": FULL, "e": TURNED})
    kernels = fuse([a, e, b, f])
    assert "a + f\nb\ne" == text(kernels)
    assert topological(kernels), "f needs e, and b needs a: e, then (a, f), then b"


def test_kernels_are_asked_as_they_are_by_then() -> None:
    """Either pair could be fused in the beginning; after the one, the other no more."""
    a1, b2 = node("a1", {"x": FULL}), node("b2", {"y": FULL})
    e, f = node("e", {"a1": FULL}, extern=True), node("f", {"b2": FULL}, extern=True)
    a2, b1 = node("a2", {"x": FULL, "f": FULL}), node("b1", {"y": FULL, "e": FULL})
    kernels = fuse([a1, b2, e, f, a2, b1])

    assert 5 == len(kernels), f"one of the two pairs: {text(kernels)}"
    assert topological(kernels), text(kernels)


def test_arguments_are_not_changed() -> None:
    """Lists stay as they are."""
    nodes, kernels, outputs = list(SOFTMAX), alone(*SOFTMAX), ["f_div"]
    fuse(nodes)
    prune(nodes, outputs)
    needs(kernels)
    can_fuse(kernels, 0, 1)
    allocate(kernels, outputs)
    traffic(kernels, outputs)

    assert nodes == SOFTMAX, "the list of nodes was changed"
    assert kernels == alone(*SOFTMAX), "the list of kernels was changed"
    assert ["f_div"] == outputs, f"the list of outputs was changed: {outputs}"


def test_traffic_is_what_crosses_a_kernel_s_border() -> None:
    """A softmax apart: every node reads and writes; in one kernel: x in, the quotient out."""
    large, small = 4 * N * M, 4 * N
    apart = traffic(alone(*SOFTMAX), ["f_div"])
    one = traffic([tuple(SOFTMAX)], ["f_div"])

    assert 8 * large + 4 * small == apart, (
        f"{apart} bytes; x, c, d twice in, c, d, f out, b, e both"
    )
    assert 2 * large == one, f"{one} bytes; x is read once, f_div written, the rest never exists"
    assert large == traffic([tuple(SOFTMAX)], []), "nobody wants f_div, so that it is not written"
    assert 3 * large == traffic([tuple(SOFTMAX)], ["f_div", "d_exp"]), "an output has to exist"


def test_an_access_is_moved_once_for_each_kernel() -> None:
    """Two nodes that read x share it; at another place it is another read."""
    a, b = node("a", {"x": FULL}, (N, N)), node("b", {"x": FULL}, (N, N))
    c = node("c", {"x": TURNED}, (N, N))
    size = 4 * N * N

    assert 3 * size == traffic([(a, b)], ["a", "b"]), (
        "x is read once for both nodes, and both results are written"
    )
    assert 4 * size == traffic(alone(a, b), ["a", "b"]), "each kernel reads x for itself"
    assert 4 * size == traffic([(a, c)], ["a", "c"]), "x and its transpose are two streams"


def test_a_buffer_that_another_kernel_reads_exists() -> None:
    """And one that is read inside alone does not; an output exists in any case."""
    a, b = node("a", {"x": FULL}), node("b", {"a": FULL})
    c = node("c", {"b": FULL}, extern=True)

    assert {"b", "c"} == allocate([(a, b), (c,)], ["c"]).keys(), "a stays in a register"
    assert {"a", "b"} == allocate([(a, b)], ["a", "b"]).keys()
    assert {} == allocate([(a, b)], []), "what nobody wants has no storage"
    assert {"a"} == allocate([(a,)], ["a", "x"]).keys(), "an input has its own memory"


def test_storage_is_used_again() -> None:
    """Of two buffers in turn; but a kernel does not write where it reads."""
    chain = [node("a", {"x": FULL})]
    chain += [node(name, {before: FULL}) for before, name in zip("abcd", "bcde", strict=True)]
    got = allocate(alone(*chain), ["e"])

    assert {0, 1} == set(got.values()), f"{got}: two storages do, in turn, and they are 0 and 1"
    assert all(got[one] != got[other] for one, other in zip("abcd", "bcde", strict=True)), got


def test_storage_has_bytes_and_no_shape() -> None:
    """A matrix of 3 by 4, of which nothing is needed any more, makes room for one of 4 by 3."""
    sizes = {"a": (3, 4), "b": (5,), "c": (4, 3), "d": (5,)}
    nodes, reads = [], ()
    for name, size in sizes.items():
        nodes.append(Node(name, size, (), reads, extern=True))
        reads = (nodes[-1].write,)
    plan = allocate([(node,) for node in nodes], ["d"])

    assert plan["a"] == plan["c"], f"a and c have 48 bytes, and c is written behind b: {plan}"


def test_outputs_and_what_is_read_late_keep_their_storage() -> None:
    """And a buffer of another size gets another storage."""
    a, b, c, d = (node(name, {"x": FULL}) for name in "abcd")
    e = node("e", {"a": FULL, "d": FULL})
    got = allocate(alone(a, b, c, d, e), ["b", "e"])
    assert got["a"] not in {got["b"], got["d"], got["e"]}, "a is read by the last kernel"
    assert got["b"] not in {got["a"], got["d"], got["e"]}, "b is an output"
    assert 4 == len(set(got.values())), got
    assert "c" not in got, "nobody reads c"

    small = node("small", {"a": FULL}, (N,), (M,))
    last = node("last", {"small": (1,)}, (M,), (N,))
    other = node("other", {"last": (1,)}, (N,), (M,))
    got = allocate(alone(a, small, last, other), ["other"])
    assert 3 == len({got["a"], got["small"], got["last"]}), f"15, 3 and 5 elements: {got}"
    assert got["small"] == got["other"], "3 elements again, when small is no longer needed"


def lives(kernels: Sequence[Kernel], outputs: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """Return for each buffer that has to exist its bytes, and from when to when it is needed."""
    found = {}
    for at, kernel in enumerate(kernels):
        for each in kernel:
            readers = [
                number
                for number, other in enumerate(kernels)
                if number != at and each.name in {dep.name for one in other for dep in one.reads}
            ]
            if each.name in outputs:
                readers.append(len(kernels))
            if readers:
                found[each.name] = (each.write.bytes, at, max(readers))
    return found


def check_storages(kernels: Sequence[Kernel], outputs: Sequence[str]) -> None:
    """Assert that a plan has what is needed, twice nothing at a time, and no more."""
    plan, needed = allocate(kernels, outputs), lives(kernels, outputs)
    assert needed.keys() == plan.keys(), f"these have to exist: {sorted(needed)}; planned: {plan}"
    for one, other in combinations(needed, 2):
        (size, begin, end), (size2, begin2, end2) = needed[one], needed[other]
        if plan[one] == plan[other]:
            assert size == size2, f"{one} and {other} are not of one size: {plan}"
            assert end < begin2 or end2 < begin, f"{one} and {other} are needed at a time: {plan}"
    most = {size: 0 for size, _, _ in needed.values()}
    for size, at in product(most, range(len(kernels))):
        alive = sum(size == own and begin <= at <= end for own, begin, end in needed.values())
        most[size] = max(most[size], alive)
    numbers = set(plan.values())
    assert set(range(sum(most.values()))) == numbers, f"{sum(most.values())} storages do: {plan}"


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
        # Each way to walk through a buffer with these loops: of a square, there are two.
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
    """Return a function of what a node reads, in which no read is like another."""

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
    """Fusable if, and only if, the two can be one kernel beside the others, apart or not."""
    kernels = alone(*program.nodes)
    for _ in range(3):
        pairs = list(combinations(range(len(kernels)), 2))
        fit = []
        for first, second in pairs:
            others = [kernel for n, kernel in enumerate(kernels) if n not in {first, second}]
            expected = legal(program.nodes, [*others, kernels[first] + kernels[second]])
            got = can_fuse(kernels, first, second)
            assert expected == got, f"{kernels[first]} and {kernels[second]} in {kernels}: {got}"
            fit += [(first, second)] * expected
        # Go on with a list of kernels that stand in topological order by themselves.
        close = [pair for pair in fit if pair[1] == pair[0] + 1]
        if not close:
            break
        first, second = close[0]
        kernels[first : second + 1] = [kernels[first] + kernels[second]]


@given(program=programs())
def test_any_schedule(program: Program) -> None:
    """Fused kernels compute what single nodes do, move less, and leave nothing to be fused."""
    nodes = prune(program.nodes, program.outputs)
    apart, fused = alone(*nodes), fuse(nodes)
    what = text(fused)
    assert sorted(each.name for each in nodes) == sorted(
        each.name for kernel in fused for each in kernel
    ), f"every node once: {what}"
    assert topological(fused), f"a node reads what comes later: {fused}"
    assert legal(nodes, fused), what

    expected = run(program, alone(*program.nodes))
    got = run(program, fused)
    for name, value in expected.items():
        torch.testing.assert_close(got[name], value, msg=lambda m: f"{what}\n{m}")
    check_storages(apart, program.outputs)
    check_storages(fused, program.outputs)

    assert cost(apart, program.outputs) == traffic(apart, program.outputs)
    assert cost(fused, program.outputs) == traffic(fused, program.outputs), what
    assert traffic(fused, program.outputs) <= traffic(apart, program.outputs)
    left = [
        (kernels[0], kernels[1])
        for kernels in combinations(fused, 2)
        if saved(*kernels) > 0
        and legal(nodes, [*(k for k in fused if k not in kernels), kernels[0] + kernels[1]])
    ]
    assert not left, f"these could still be fused: {left}"


def greedy(nodes: Sequence[Node]) -> set[int]:
    """Return what the best first fusion saves, of all that are legal; none if none saves."""
    scores = set()
    for pair in combinations(nodes, 2):
        rest = [[each] for each in nodes if each not in pair]
        first, second = ({*each.reads, each.write} for each in pair)
        if legal(nodes, [*rest, list(pair)]):
            scores.add(sum(dep.bytes for dep in first & second))
    return {max(scores, default=0)} - {0}


@given(program=programs(most=5))
def test_the_best_pair_is_in_one_kernel(program: Program) -> None:
    """Some pair with the highest score of all ends in one kernel: it was fused first."""
    nodes = program.nodes
    fused = fuse(nodes)
    for best in greedy(nodes):
        together = [
            sum(dep.bytes for dep in {*one.reads, one.write} & {*other.reads, other.write})
            for kernel in fused
            for one, other in combinations(kernel, 2)
        ]
        assert best in together, f"a pair shares {best} bytes, but in {text(fused)}: {together}"


@pytest.mark.parametrize("nodes", [SOFTMAX, SOFTMAX[1:], SOFTMAX[:4]], ids=["all", "tail", "head"])
def test_no_other_fusion_of_a_softmax_is_better(nodes: list[Node]) -> None:
    """All partitions into legal kernels are tried: here greedy finds the least traffic."""
    outputs = [nodes[-1].name]
    best = min(cost(groups, outputs) for groups in partitions(nodes) if legal(nodes, groups))

    assert best == traffic(fuse(nodes), outputs), "the optimum, by brute force"


class Lowering(Interpreter):
    """Runs a graph of aten operators and notes nodes: loops where it can, else library calls."""

    MAPS = ("add", "sub", "mul", "div", "relu", "exp", "tanh")

    def __init__(self, graph: Any) -> None:
        super().__init__(graph)
        self.program = Program([], {}, {}, [])
        self.values: dict[str, torch.Tensor] = {}

    def buffer(self, tensor: torch.Tensor) -> str:
        """Return the name of a tensor's buffer; one that no node has written is an input."""
        for name, value in self.values.items():
            if value is tensor:
                return name
        name = f"in{len(self.values)}"
        self.values[name] = self.program.inputs[name] = tensor
        return name

    def note(self, made: Node, function: Callable[..., torch.Tensor]) -> torch.Tensor:
        """Add a node, and return what it computes."""
        self.program.nodes.append(made)
        self.program.functions[made.name] = function
        self.values |= _run_kernel(self.program, (made,), self.values)
        return self.values[made.name]

    def loops(
        self,
        what: str,
        function: Callable[..., torch.Tensor],
        tensors: Sequence[torch.Tensor],
        reduced: int = 0,
    ) -> torch.Tensor:
        """Note loops over the sizes of the first tensor, whose last dims are reduced."""
        sizes = tuple(tensors[0].shape)
        outer = len(sizes) - reduced
        reads = []
        for tensor in tensors:
            # Statistics of rows have the outer dims; weights and biases have the last.
            size = tuple(tensor.shape)
            start = 0 if size == sizes[: len(size)] else len(sizes) - len(size)
            index = tuple(range(start, start + len(size)))
            reads.append(Dep(self.buffer(tensor), index, size))
        name = f"{len(self.program.nodes)}_{what}"
        return self.note(Node(name, sizes[:outer], sizes[outer:], tuple(reads)), function)

    def softmax(self, x: torch.Tensor) -> torch.Tensor:
        """Four nodes."""
        largest = self.loops("softmax_max", lambda x: x, [x], 1)
        shifted = self.loops("softmax_exp", lambda x, high: (x - high).exp(), [x, largest])
        total = self.loops("softmax_sum", lambda x: x, [shifted], 1)
        return self.loops("softmax_div", torch.div, [shifted, total])

    def layer_norm(self, x: torch.Tensor, sizes: Any, *affine: Any) -> torch.Tensor:
        """Four nodes."""
        weight, bias, eps = affine
        mean = self.loops("norm_mean", lambda x: x / sizes[0], [x], 1)
        centred = self.loops("norm_centred", torch.sub, [x, mean])
        square = self.loops("norm_square", lambda x: x * x / sizes[0], [centred], 1)
        return self.loops(
            "norm_scaled",
            lambda x, square, weight, bias: x / (square + eps).sqrt() * weight + bias,
            [centred, square, weight, bias],
        )

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        """Note one operator."""
        what = getattr(target, "__name__", "").split(".")[0]
        if what in SOFTMAXES and args[1] in {-1, args[0].dim() - 1}:
            return self.softmax(args[0])
        if what == "native_layer_norm":
            return self.layer_norm(*args), None, None
        tensors = [x for x in args if isinstance(x, torch.Tensor)]

        def function(*values: torch.Tensor) -> torch.Tensor:
            given = iter(values)
            filled = [next(given) if isinstance(x, torch.Tensor) else x for x in args]
            return target(*filled, **kwargs)

        fits = tensors and all(x.shape == tensors[0].shape[-x.dim() :] for x in tensors)
        if what in self.MAPS and not kwargs and fits:
            return self.loops(what, function, tensors)
        result = target(*args, **kwargs)
        if not isinstance(result, torch.Tensor):
            return result
        reads = tuple(Dep(self.buffer(x), tuple(range(x.dim())), tuple(x.shape)) for x in tensors)
        name = f"{len(self.program.nodes)}_{what}"
        return self.note(Node(name, tuple(result.shape), (), reads, extern=True), function)


def test_the_loops_of_a_transformer_layer(zoo: Callable[..., Any]) -> None:
    """Its softmax is one kernel, and so is each norm with the addition before it."""
    model, (x,) = zoo("transformer")
    model, x = model.double(), x.double()
    # As it is written, not as one operator for the layer (its parameters require grad), or for
    # its attention (there is a softmax in it).
    with sdpa_kernel(SDPBackend.MATH):
        lowering = Lowering(make_fx(model)(x))
    with torch.no_grad():
        result = lowering.buffer(lowering.run(x))
    program = lowering.program._replace(outputs=[result])
    nodes = prune(program.nodes, [result])
    kernels = fuse(nodes)

    got = run(program, kernels)[result]
    torch.testing.assert_close(got, model(x).detach(), msg=lambda m: f"{text(kernels)}\n{m}")
    where = {each.name: kernel for kernel in kernels for each in kernel}
    softmax = [name for name in where if "softmax" in name]
    assert 4 == len(softmax)
    assert 1 == len({where[name] for name in softmax}), text(kernels)
    norms = [name for name in where if "norm" in name]
    assert 8 == len(norms)
    assert 2 == len({where[name] for name in norms}), f"two norms, two kernels: {text(kernels)}"
    for name in norms:
        kinds = {each.name.split("_", 1)[1] for each in where[name]}
        assert "add" in kinds, "the residual addition runs in the kernel of the norm"
    assert traffic(kernels, [result]) < traffic(alone(*nodes), [result])
    plan = allocate(kernels, [result])
    assert len(set(plan.values())) < len(plan), "storages are used again"


def test_nothing_of_inductor_is_called() -> None:
    """Its scheduler is what is being written here."""
    names = ("torch._inductor", "torch._inductor.scheduler", "torch._inductor.dependencies")
    with forbids(kata, *names) as fresh:
        kernels = fresh.fuse(fresh.prune(SOFTMAX, ["f_div"]))
        needed = fresh.needs(alone(*SOFTMAX))
        fusable = fresh.can_fuse(alone(*SOFTMAX), 1, 2), fresh.saved(*alone(*SOFTMAX)[1:3])
        storage = fresh.allocate([tuple(SOFTMAX)], ["f_div"])
        moved = fresh.traffic([tuple(SOFTMAX)], ["f_div"])

    assert 1 == len(kernels)
    assert {0} == needed[1]
    assert (True, 60) == fusable
    assert {"f_div": 0} == storage
    assert 120 == moved
