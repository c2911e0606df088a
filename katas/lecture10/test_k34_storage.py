"""Tests of k34_storage: bytes that move, and storages that are reused."""

from __future__ import annotations

from itertools import combinations
from itertools import product
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import torch
from hypothesis import given
from hypothesis import strategies as st

import katas.lecture10.k34_storage as kata
from katas.lecture10.k34_storage import allocate
from katas.lecture10.k34_storage import traffic
from katas.lecture10.schedule import Dep
from katas.lecture10.schedule import Kernel
from katas.lecture10.schedule import Node
from katas.lecture10.schedule import can_fuse
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


def test_arguments_are_not_changed() -> None:
    """The given lists stay as they are."""
    kernels, outputs = alone(*SOFTMAX), ["f_div"]
    allocate(kernels, outputs)
    traffic(kernels, outputs)

    assert kernels == alone(*SOFTMAX), "the list of kernels was changed"
    assert ["f_div"] == outputs, f"the list of outputs was changed: {outputs}"


def test_traffic_is_what_crosses_a_kernel_s_border() -> None:
    """In an unfused softmax every node reads and writes; fused, x goes in, the quotient out."""
    large, small = 4 * N * M, 4 * N
    apart = traffic(alone(*SOFTMAX), ["f_div"])
    one = traffic([tuple(SOFTMAX)], ["f_div"])

    assert 8 * large + 4 * small == apart, (
        f"you count {apart} bytes: x and d are read twice, c once, and c, d and f are written; "
        f"b and e are small"
    )
    assert 2 * large == one, (
        f"you count {one} bytes: x is read once, f_div is written, the rest never exists"
    )
    assert large == traffic([tuple(SOFTMAX)], []), "f_div is not an output, so it is not written"
    assert 3 * large == traffic([tuple(SOFTMAX)], ["f_div", "d_exp"]), (
        "d_exp is an output too, so it has to be written"
    )


def test_an_access_is_moved_once_for_each_kernel() -> None:
    """Two nodes that read x share the read; at a different index it is a different read."""
    a, b = node("a", {"x": FULL}, (N, N)), node("b", {"x": FULL}, (N, N))
    c = node("c", {"x": TURNED}, (N, N))
    size = 4 * N * N

    assert 3 * size == traffic([(a, b)], ["a", "b"]), (
        "expected one read of x for both nodes, and two writes"
    )
    assert 4 * size == traffic(alone(a, b), ["a", "b"]), (
        "expected two reads of x: each kernel reads it itself"
    )
    assert 4 * size == traffic([(a, c)], ["a", "c"]), (
        "expected two reads: x and its transpose are different accesses"
    )


def test_a_buffer_that_another_kernel_reads_exists() -> None:
    """A buffer that is only read inside its kernel does not exist; an output always does."""
    a, b = node("a", {"x": FULL}), node("b", {"a": FULL})
    c = node("c", {"b": FULL}, extern=True)

    assert {"b", "c"} == allocate([(a, b), (c,)], ["c"]).keys(), (
        "expected storage for b and c: a stays in a register"
    )
    assert {"a", "b"} == allocate([(a, b)], ["a", "b"]).keys(), (
        "a and b are both outputs, so both have storage, though one kernel makes and reads them"
    )
    assert {} == allocate([(a, b)], []), "a buffer that is not needed must have no storage"
    assert {"a"} == allocate([(a,)], ["a", "x"]).keys(), (
        "expected storage only for a: an input has its own memory"
    )


def test_storage_is_used_again() -> None:
    """Two storages take turns; but a kernel does not write where it reads."""
    chain = [node("a", {"x": FULL})]
    chain += [node(name, {before: FULL}) for before, name in zip("abcd", "bcde", strict=True)]
    got = allocate(alone(*chain), ["e"])

    assert {0, 1} == set(got.values()), (
        f"your plan is {got}: two storages that take turns, 0 and 1, are enough"
    )
    assert all(got[one] != got[other] for one, other in zip("abcd", "bcde", strict=True)), (
        f"your plan is {got}: a kernel reads one buffer while it writes the next, so the two need "
        f"different storages"
    )


def test_storage_has_bytes_and_no_shape() -> None:
    """A 3 by 4 matrix that is no longer needed makes room for one of 4 by 3."""
    sizes = {"a": (3, 4), "b": (5,), "c": (4, 3), "d": (5,)}
    nodes, reads = [], ()
    for name, size in sizes.items():
        nodes.append(Node(name, size, (), reads, extern=True))
        reads = (nodes[-1].write,)
    plan = allocate([(node,) for node in nodes], ["d"])

    assert plan["a"] == plan["c"], (
        f"a and c both have 48 bytes, and a is free when c is written, so they share a storage: "
        f"{plan}"
    )


def test_outputs_and_what_is_read_late_keep_their_storage() -> None:
    """A buffer of a different size gets a different storage."""
    a, b, c, d = (node(name, {"x": FULL}) for name in "abcd")
    e = node("e", {"a": FULL, "d": FULL})
    got = allocate(alone(a, b, c, d, e), ["b", "e"])
    assert got["a"] not in {got["b"], got["d"], got["e"]}, (
        f"a is read by the last kernel, and another buffer got its storage before that: {got}"
    )
    assert got["b"] not in {got["a"], got["d"], got["e"]}, (
        f"b is an output, and another buffer got its storage: {got}"
    )
    assert 4 == len(set(got.values())), (
        f"your plan is {got}: none of a, b, d and e is free when the next is written, so expected "
        f"4 storages"
    )
    assert "c" not in got, "nobody reads c, so it needs no storage"

    small = node("small", {"a": FULL}, (N,), (M,))
    last = node("last", {"small": (1,)}, (M,), (N,))
    other = node("other", {"last": (1,)}, (N,), (M,))
    got = allocate(alone(a, small, last, other), ["other"])
    assert 3 == len({got["a"], got["small"], got["last"]}), (
        f"buffers of 15, 3 and 5 elements need different storages: {got}"
    )
    assert got["small"] == got["other"], (
        "other has 3 elements and small is no longer needed: expected the same storage"
    )


def lives(kernels: Sequence[Kernel], outputs: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """Return the bytes of each buffer that has to exist, and when it is first and last needed."""
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
    """Assert that a plan stores what is needed, shares nothing in use, and wastes no storage."""
    plan, needed = allocate(kernels, outputs), lives(kernels, outputs)
    assert needed.keys() == plan.keys(), (
        f"these buffers need storage: {sorted(needed)}, but your plan is {plan}"
    )
    for one, other in combinations(needed, 2):
        (size, begin, end), (size2, begin2, end2) = needed[one], needed[other]
        if plan[one] == plan[other]:
            assert size == size2, f"{one} and {other} share a storage but differ in size: {plan}"
            assert end < begin2 or end2 < begin, (
                f"{one} and {other} share a storage but are needed at the same time: {plan}"
            )
    most = {size: 0 for size, _, _ in needed.values()}
    for size, at in product(most, range(len(kernels))):
        alive = sum(size == own and begin <= at <= end for own, begin, end in needed.values())
        most[size] = max(most[size], alive)
    numbers = set(plan.values())
    assert set(range(sum(most.values()))) == numbers, (
        f"your plan is {plan}, but {sum(most.values())} storages are enough"
    )


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
    """Bytes and storages of single nodes, and of pairs that may be fused."""
    nodes, outputs = program.nodes, program.outputs
    kernels = alone(*nodes)
    for place in range(len(kernels) - 1, 0, -1):
        if can_fuse(kernels, place - 1, place):
            kernels[place - 1 : place + 1] = [kernels[place - 1] + kernels[place]]
    for each in (alone(*nodes), kernels):
        check_storages(each, outputs)
        expected, yours = cost(each, outputs), traffic(each, outputs)
        assert expected == yours, f"you count {yours} bytes, expected {expected}, for {text(each)}"


def test_nothing_of_inductor_is_called() -> None:
    """Inductor's scheduler may not be called: you are writing it."""
    with forbids(kata, "torch._inductor", "torch._inductor.codegen.wrapper") as fresh:
        storage = fresh.allocate([tuple(SOFTMAX)], ["f_div"])
        moved = fresh.traffic([tuple(SOFTMAX)], ["f_div"])

    assert {"f_div": 0} == storage, (
        f"your plan is {storage}, expected one storage, number 0, for f_div: everything else stays "
        f"in the kernel"
    )
    assert 120 == moved, f"you count {moved} bytes, expected 120: 15 floats in and 15 out"
