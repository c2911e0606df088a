"""Tests of k11_profile: rows with given times, and a profile of PyTorch."""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import nn
from torch.profiler import ProfilerActivity
from torch.profiler import profile
from torch.profiler import record_function

from katas.lecture15.k11_profile import Row
from katas.lecture15.k11_profile import self_times


BRIEF = [
    Row("linear", 0, 40),
    Row("addmm", 1, 39),
    Row("mkldnn", 3, 33),
    Row("copy_", 35, 37),
]


def compare(rows: list[Row], expected: dict[str, float], why: str) -> None:
    """Compare self times."""
    before = list(rows)
    yours = self_times(rows)
    told = "\n".join(f"{row.name:8} {row.start:4} to {row.end:4}" for row in rows)

    assert expected == yours, f"{told}\nyours {yours}, expected {expected}: {why}"
    assert before == rows, "your function modified the list that it was given"


# What the Inspector of ExecuTorch 1.5.1 reported about a run on a laptop, in nanoseconds: it lists
# the kernels before the calls that they are in.
INSPECTED = [
    Row("convolution.out", 8792, 7563013),
    Row("OPERATOR_CALL", 1103, 7567552),
    Row("relu.out", 7580948, 9679035),
    Row("OPERATOR_CALL", 7571443, 9681578),
    Row("permute_copy.out", 9691587, 10923261),
    Row("OPERATOR_CALL", 9683820, 10924368),
    Row("addmm.out", 10926816, 11903498),
    Row("OPERATOR_CALL", 10925458, 11904068),
    Row("tanh.out", 11905381, 11935235),
    Row("OPERATOR_CALL", 11904644, 11935603),
    Row("Method::execute", 0, 11936027),
]


def test_one_row() -> None:
    """A row with no row inside has its whole time as self time."""
    compare([Row("relu", 5, 12)], {"relu": 7}, "from 5 to 12")
    compare([], {}, "no rows at all")


def test_the_picture_of_the_brief() -> None:
    """Only rows directly inside are subtracted: mkldnn belongs to addmm."""
    compare(BRIEF, {"linear": 2, "addmm": 6, "mkldnn": 30, "copy_": 2}, "see the brief")


def test_rows_beside_each_other() -> None:
    """A row may begin at the moment another ends; a name gets the sum of its rows."""
    rows = [Row("relu", 0, 10), Row("relu", 10, 30), Row("neg", 30, 31), Row("net", 40, 50)]
    rows += [Row("relu", 42, 45)]

    compare(rows, {"relu": 33, "neg": 1, "net": 7}, "none of the first three is in another")


def test_a_name_inside_itself() -> None:
    """If an operator calls itself, each moment counts once."""
    rows = [Row("cat", 0, 20), Row("cat", 5, 15), Row("copy_", 6, 9), Row("cat", 10, 11)]

    compare(rows, {"cat": 17, "copy_": 3}, "20 in all, and copy_ has 3 of them")


def test_rows_that_begin_or_end_together() -> None:
    """The longer row is outside; of two equal rows, the first is."""
    rows = [Row("inner", 0, 6), Row("outer", 0, 10), Row("last", 8, 10)]
    same = [Row("outer", 0, 4), Row("inner", 0, 4), Row("next", 4, 5)]

    compare(rows, {"outer": 2, "inner": 6, "last": 2}, "inner begins with outer, last ends with it")
    compare(same, {"outer": 0, "inner": 4, "next": 1}, "the one that comes first is outside")


def test_any_order() -> None:
    """Rows may come in any order, such as in reverse."""
    compare(
        [*reversed(BRIEF)],
        {"linear": 2, "addmm": 6, "mkldnn": 30, "copy_": 2},
        "sort the rows by their start",
    )


def test_a_profile_of_executorch() -> None:
    """All rows add up to three times the run; a call itself costs little."""
    expected = {row.name: row.end - row.start for row in INSPECTED if row.name.endswith(".out")}

    compare(
        INSPECTED,
        {**expected, "OPERATOR_CALL": 36183, "Method::execute": 9326},
        "a kernel lies in an OPERATOR_CALL, and that in Method::execute",
    )


def test_as_pytorch_says() -> None:
    """For a real profile, self times are PyTorch's, and add up to the time covered."""
    net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4), nn.Softmax(1))
    with profile(activities=[ProfilerActivity.CPU]) as found, torch.no_grad():
        with record_function("network"):
            net(torch.randn(4, 32))
        torch.ones(2).add(1)
    thread = next(each.thread for each in found.events() if each.name == "network")
    events = [each for each in found.events() if each.thread == thread]
    theirs: dict[str, float] = defaultdict(float)
    for each in events:
        theirs[each.name] += each.self_cpu_time_total
    yours = self_times(
        [Row(each.name, each.time_range.start, each.time_range.end) for each in events]
    )
    pairs = {name: (yours.get(name, -1), right) for name, right in theirs.items()}
    wrong = {name: pair for name, pair in pairs.items() if abs(pair[0] - pair[1]) > 1e-3}

    assert not wrong, f"microseconds of yours and PyTorch's self_cpu_time_total: {wrong}"
