"""Tests of k14_flatbuffer: tables that the tests write, and a file from ExecuTorch."""

from __future__ import annotations

import base64
import importlib
import struct
import zlib
from typing import Any

import pytest
import torch

from katas.lecture15.k14_flatbuffer import elements
from katas.lecture15.k14_flatbuffer import field
from katas.lecture15.k14_flatbuffer import needs
from katas.lecture15.k14_flatbuffer import target


# A wrong offset may be read as a count of billions.
pytestmark = pytest.mark.time_limit(5)

# What ExecuTorch 1.5.1 wrote for torch.relu(x.t() + y), torch.mm(x, x.t()) of (3, 3) matrices.
WRITTEN = (
    "c-qxezi-n(6h6C-<EAN!LRDqx5Lq1<B1BQAh=HL<3>`Zlg{lpS5s{q4a&1BRAu%v?$k2g5fdMffu_4qUBNJk%Duf"
    "sq89FdlqV@6J`Pn{F6NJRVMW65P-S^&o@7-ON7-Kg!R<5FB6;{J{0ezWS%s?+@j4cBV1)t71H_&S=Yho;Hhd(%1Z"
    "A)^r$SxsD9kZGef01IZ621T@!bxY$0=^^Qu_>o%8!Kb6-(z5dbcy*o_P5ZNff-;J229M`fiq|}`+ec(<#0+V$9LS"
    "2vFACQ*_6}nb}@dN!>Ohm&++?V;B0k<-fmorid0=n^DmL_DWO35jeu>ciO6Yu8t)@Y+Mw|at%)Xd%@d9l?o%G0Q^"
    "G3~S76~x;gOF{aZz$vGl6Rg?<Mgx(yG(ANIn8C_!Z(?GJ-+hOh@9Yo~us#%`0{h`vR~J!<ru7jYHr77y;`*1Na8c"
    "3*ebJTVRd$I?1#bUXd<wpKGzrd>wJFCHrYv{sOB}>RUXD;yUW`^x`&0{q2mWf5g~T<{v12()O~oLNki>)Y3P?Obf"
    "Ovly{z{_lp0+9RHiJZBOwZW4$bunYasvJg-FGGS6ZkMdxevng704HBNDhro7iC)j#1d<?KfZ7t01Sr2Q7pbX6vF$"
    "v3ZP^ZEI_uk-13vykl^-NPi#yPP<Ce0u#Xoc=7uk##9lQKO6UWm%MEmEO4;_bcM=|3ROn=sN)30Iiiq{gEB)dXC+"
    "!+jqjA8}tS{mxIuA9lKGtJHtWXJP5?%Aaq@6y4Q2NzBAa`@th78TB*Na{Nj@sCOtNvD7*fJ7k=X1X#ZIEe~@=>w%"
    "uMQm=N3Aw5OF${*T@r`uE#@m;D3-3UM+"
)


def table(*fields: int, before: bytes = b"", behind: bool = False) -> tuple[bytes, int]:
    """Return data and where its table is; fields say how far after its start they are."""
    vtable = struct.pack(f"<HH{len(fields)}H", 4 + 2 * len(fields), 12, *fields)
    body = b"eight...."
    if behind:
        # The vtable comes after its table: the number in the table is negative.
        return before + struct.pack("<i", -4 - len(body)) + body + vtable + b"\xff" * 8, len(before)
    return before + vtable + struct.pack("<i", len(vtable)) + body, len(before) + len(vtable)


def check_field(made: tuple[bytes, int], number: int, expected: int | None, why: str) -> None:
    """Compare where a field is, counted from its table."""
    data, at = made
    yours = field(data, at, number)
    told = None if yours is None else yours - at

    assert expected == told, (
        f"{data.hex(' ')}\nthe table is at {at}; field {number}: yours is {told} bytes after it,"
        f" expected {expected}; {why}"
    )


def test_a_field() -> None:
    """The vtable gives each field's distance from the table's start, in any order."""
    for before in (b"", b"something"):
        check_field(table(8, 4, before=before), 0, 8, "field 0 is at vtable + 4")
        check_field(table(8, 4, before=before), 1, 4, "field 1 is two bytes further")


def test_a_field_that_is_absent() -> None:
    """A field is absent if its entry is 0 or beyond the vtable, as in an older file."""
    check_field(table(4, 0, 8), 1, None, "0 behind the table would be the table itself")
    check_field(table(4, 0, 8), 2, 8, "the next one is there")
    for number in (2, 3, 9):
        check_field(table(4, 8), number, None, "what follows the vtable is something else")


def test_a_vtable_behind_its_table() -> None:
    """A vtable may come after its table, since the number in the table has a sign."""
    check_field(table(8, 4, behind=True), 1, 4, "int32, and table - number")
    check_field(table(8, 4, behind=True), 2, None, "the vtable has two fields")


def test_a_target() -> None:
    """A target is counted from the number itself, and only forwards."""
    data = b"...." + struct.pack("<I", 9) + bytes(20)
    far = struct.pack("<I", 0x80000010)
    yours = target(data, 4), target(far, 0)

    assert (13, 0x80000010) == yours, (
        f"yours {yours}, expected 13 for 9 at byte 4, and 0x80000010 as unsigned"
    )


def vector(*, count: int, width: int) -> tuple[bytes, int]:
    """Return data with a table whose field 0 is a vector, and where the table is."""
    start = struct.pack("<HHH", 6, 8, 4) + bytes(2)
    return start + struct.pack("<iII", 8, 4, count) + bytes(count * width), len(start)


@pytest.mark.parametrize("width", [1, 4, 8])
def test_elements(width: int) -> None:
    """Elements follow the count, one after the other."""
    data, at = vector(count=3, width=width)
    yours, expected = elements(data, at, 0, width), [20 + width * n for n in range(3)]

    assert expected == yours, f"{data.hex(' ')}\nyours {yours}, expected {expected}"


def test_no_elements() -> None:
    """An empty vector has no elements, and neither has an absent one."""
    data, at = vector(count=0, width=4)
    yours = elements(data, at, 0, 4), elements(data, at, 1, 4)

    assert ([], []) == yours, f"yours {yours}, expected no elements in either"


def test_a_count_that_is_none() -> None:
    """A count that exceeds the file shows a wrong offset: the given `counted` raises."""
    data, at = vector(count=3, width=4)
    wrong = data.replace(struct.pack("<I", 3), struct.pack("<I", 2**31))
    with pytest.raises(ValueError, match="no count"):
        elements(wrong, at, 0, 4)


def check(data: bytes, expected: dict[str, Any]) -> None:
    """Compare what a file needs."""
    yours = needs(data)._asdict()
    wrong = {key: (yours[key], right) for key, right in expected.items() if yours[key] != right}

    assert not wrong, "\n".join(
        f"{key}\n  yours    {found}\n  expected {right}" for key, (found, right) in wrong.items()
    )


def test_a_file_of_executorch() -> None:
    """The kernels of a file from ExecuTorch write to out=, and its first arena is empty."""
    data = zlib.decompress(base64.b85decode("".join(WRITTEN)))
    operators = ["aten::permute_copy.out", "aten::add.out", "aten::relu.out", "aten::mm.out"]

    check(data, {"method": "forward", "values": 14, "operators": operators, "arenas": [0, 192]})


def test_an_operator_without_an_overload() -> None:
    """In an older file an overload is absent, or an empty string."""
    data = bytearray(zlib.decompress(base64.b85decode("".join(WRITTEN))))
    # Each of these strings "out" becomes an empty one.
    while (at := data.find(struct.pack("<I", 3) + b"out")) >= 0:
        data[at : at + 4] = bytes(4)
    operators = ["aten::permute_copy", "aten::add", "aten::relu", "aten::mm"]

    check(bytes(data), {"operators": operators, "arenas": [0, 192]})


def method(name: bytes) -> bytes:
    """Return a plan with nothing but a name; its table is at byte 8."""
    return struct.pack("<HHHxxiII", 6, 8, 4, 8, 4, len(name)) + name


def test_the_first_of_two_methods() -> None:
    """The first of two methods has only a name, and no other field."""
    first, second = method(b"forward"), method(b"prefill")
    # The program's table is at 12, the vector of plans at 20, and the first plan begins at 32.
    root = struct.pack("<IHHHHiI", 12, 8, 8, 0, 4, 8, 4)
    plans = struct.pack("<III", 2, 40 - 24, 40 + len(first) - 28)

    expected = {"method": "forward", "values": 0, "operators": [], "arenas": []}
    check(root + plans + first + second, expected)


def add_vector(data: bytearray, place: int, count: int, rest: bytes) -> int:
    """Append a vector, point the number at `place` to it; return where its elements begin."""
    data[place : place + 4] = struct.pack("<I", len(data) - place)
    data += struct.pack("<I", count) + rest
    return len(data) - len(rest)


def add_table(data: bytearray, place: int, *numbers: int) -> list[int]:
    """Append a table, point the number at `place` to it; return where its fields are."""
    count = max(numbers) + 1
    behind = {number: 4 + 4 * n for n, number in enumerate(numbers)}
    vtable = struct.pack(f"<{count}H", *(behind.get(number, 0) for number in range(count)))
    data += struct.pack("<HH", 4 + 2 * count, 4 + 4 * len(numbers)) + vtable
    at = len(data)
    data[place : place + 4] = struct.pack("<I", at - place)
    data += struct.pack("<i", 4 + 2 * count) + bytes(4 * len(numbers))
    return [at + behind[number] for number in numbers]


def test_large_numbers() -> None:
    """The root is far away, a name is long, an arena has 8 GiB, and a kernel occurs twice."""
    data = bytearray(70_000)
    (plans,) = add_table(data, 0, 1)
    first = add_vector(data, plans, 1, bytes(4))
    name, values, operators, arenas = add_table(data, first, 0, 2, 6, 8)
    add_vector(data, name, 693, b"forward" * 99)
    add_vector(data, values, 300, bytes(1200))
    listed = add_vector(data, operators, 2, bytes(8))
    for place in (listed, listed + 4):
        operator, overload = add_table(data, place, 0, 1)
        add_vector(data, operator, 9, b"aten::add")
        add_vector(data, overload, 3, b"out")
    add_vector(data, arenas, 2, struct.pack("<qq", 0, 2**33))

    expected = {"values": 300, "operators": ["aten::add.out"] * 2, "arenas": [0, 2**33]}
    check(bytes(data), {"method": "forward" * 99, **expected})


@pytest.mark.time_limit(120)
@pytest.mark.backend("executorch")
def test_as_executorch_says() -> None:
    """The needs of a file that ExecuTorch writes now agree with its own plan."""
    exir: Any = importlib.import_module("executorch.exir")
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    manager = exir.to_edge(torch.export.export(net, (torch.randn(2, 4),))).to_executorch()
    plan = manager.executorch_program.execution_plan[0]
    operators = [f"{each.name}.{each.overload}" for each in plan.operators]
    arenas = list(plan.non_const_buffer_sizes)

    check(
        manager.buffer,
        {"method": plan.name, "values": len(plan.values), "operators": operators, "arenas": arenas},
    )
