"""Calls are counted by the names of torch.distributed, or a test that asks for them fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.ranks import traffic
from plugins.ranks.traffic import CONTRIBUTED
from plugins.ranks.traffic import SILENT
from plugins.ranks.traffic import SPACES
from plugins.ranks.traffic import Call
from plugins.ranks.traffic import RankResults
from plugins.ranks.traffic import Sent
from plugins.ranks.traffic import UncountedError
from plugins.ranks.traffic import call_of
from plugins.ranks.traffic import format_call
from plugins.ranks.traffic import read_calls
from plugins.ranks.traffic import why_uncounted
from tests.support.patience import be_patient


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


REDUCE = Call("all_reduce", 8)
# A release of PyTorch in which the name is gone that each rank needs to see its calls.
CHANGED = """

def dispatch_mode():
    raise ImportError("cannot import name 'TorchDispatchMode'")


from plugins.ranks import traffic

traffic.dispatch_mode = dispatch_mode
"""
TEST = """
import sys

import pytest
import torch
from torch import distributed as dist


def summed():
    tensor = torch.ones(2)
    dist.all_reduce(tensor)
    return tensor.tolist(), "torch._dynamo" in sys.modules


def test_the_ranks_run(world):
    assert [([2.0, 2.0], False)] * 2 == world(summed, 2)


def test_calls(world):
    assert 1 == len(world(summed, 2).calls[0])


def test_sent(world):
    assert 1 == world(summed, 2).sent(0, "all_reduce").messages


def test_no_torch_distributed(world):
    assert ((), ()) == world(int, 2, backend=None).calls
"""


class Tensor:
    """So many bytes."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


@pytest.mark.parametrize(
    ("operator", "arguments", "call"),
    [
        ("c10d::send", {"tensors": [Tensor(4)], "dst": 2, "tag": 0}, Call("send", 4, 2)),
        ("c10d::recv_", {"tensors": [Tensor(4)], "src": 1}, Call("recv", 4, 1)),
        ("c10d::recv_any_source_", {"tensors": [Tensor(4)]}, Call("recv", 4)),
        ("c10d::allreduce_", {"tensors": [Tensor(4), Tensor(8)]}, Call("all_reduce", 12)),
        ("c10d::barrier", {"tensor": Tensor(1)}, Call("barrier", 0)),
        (
            "c10d::allgather_",
            {"output_tensors": [[Tensor(4)] * 2], "input_tensors": [Tensor(4)]},
            Call("all_gather", 4),
        ),
        (
            "c10d::scatter_",
            {"output_tensors": [Tensor(4)], "input_tensors": [[Tensor(4), Tensor(4)]]},
            Call("scatter", 8),
        ),
        (
            "c10d::_allgather_base_",
            {"output_tensor": Tensor(8), "input_tensor": Tensor(4)},
            Call("all_gather_single", 4),
        ),
        (
            "_c10d_functional::reduce_scatter_tensor",
            {"input": Tensor(8)},
            Call("reduce_scatter_single", 8),
        ),
        ("_c10d_functional::all_reduce", {"input": Tensor(4)}, Call("all_reduce", 4)),
        ("_c10d_functional::wait_tensor", {"tensor": Tensor(4)}, None),
        ("aten::send", {}, None),
    ],
)
def test_an_operator_is_a_call(
    operator: str, arguments: dict[str, object], call: Call | None
) -> None:
    """By the name of the function in torch.distributed, with the bytes that a rank contributes."""
    assert call == call_of(operator, arguments)


@pytest.mark.torch
def test_each_operator_of_the_installed_torch_has_a_name_and_tensors() -> None:
    """Its call has the name of a function, and an argument that holds what the rank contributes."""
    import torch  # noqa: PLC0415 - for tests that need it
    from torch import distributed  # noqa: PLC0415 - for tests that need it

    schemas = [
        schema
        for schema in torch._C._jit_get_all_schemas()  # noqa: SLF001 - there is no public list
        if schema.name.partition("::")[0] in SPACES
    ]
    assert schemas
    unnamed = set()
    for schema in schemas:
        names = {argument.name for argument in schema.arguments}
        call = call_of(schema.name, dict.fromkeys(names, ()))
        if call is None:
            assert schema.name.partition("::")[2] in SILENT
        else:
            assert names & set(CONTRIBUTED), schema
            if not hasattr(distributed, call.name):
                unnamed.add(call.name)
    # Only the compiler calls it, for batch_isend_irecv().
    assert unnamed <= {"batch_p2p_ops"}


def test_calls_survive_the_process(tmp_path: Path) -> None:
    """But for one that it did not write to its end."""
    calls = [REDUCE, Call("send", 4, 1)]
    file = tmp_path / "calls"

    assert [] == read_calls(file)
    file.write_bytes(b"".join(map(format_call, calls)) + b'["recv", 4')
    assert calls == read_calls(file)


def test_messages_are_summed() -> None:
    """By send, or by the collectives that are named."""
    results = RankResults(
        ["a"], [[REDUCE, Call("send", 4, 1), Call("recv", 4, 1), Call("send", 2, 1)]]
    )

    assert ["a"] == results
    assert Sent(2, 6) == results.sent(0)
    assert Sent(3, 14) == results.sent(0, "send", "all_reduce")


def test_a_collective_has_an_old_name_and_a_new_one() -> None:
    """Two of them are counted by the names that PyTorch 2.13 recommends; the old ones find them."""
    calls = [Call("all_gather_single", 4), Call("reduce_scatter_single", 8)]
    results = RankResults(["a"], [calls])

    assert Sent(1, 4) == results.sent(0, "all_gather_into_tensor")
    assert Sent(1, 4) == results.sent(0, "all_gather_single")
    assert Sent(1, 8) == results.sent(0, "reduce_scatter_tensor")
    assert Sent(1, 8) == results.sent(0, "reduce_scatter_single")


def test_calls_that_were_not_counted_are_an_error() -> None:
    """The results are there, but a test that asks for calls does not get none."""
    results = RankResults(["a"], [[]], "no such name")

    assert ["a"] == results
    with pytest.raises(UncountedError, match="no such name"):
        results.sent(0)
    with pytest.raises(UncountedError, match="no such name"):
        _ = results.calls


@pytest.mark.torch
def test_the_installed_torch_can_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a name that counting needs it cannot, and the reason has the name and the version."""
    import torch  # noqa: PLC0415 - for tests that need it

    def no_schema(operator: object) -> str:
        return str(operator._no_schema)  # type: ignore[attr-defined]  # noqa: SLF001

    head = f"calls of torch.distributed cannot be counted with torch {torch.__version__}: "

    assert "" == why_uncounted()
    monkeypatch.setattr(traffic, "operator_name", no_schema)
    assert why_uncounted().startswith(head)
    assert "_no_schema" in why_uncounted()


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("PROBED", {"c10d": ("send", "no_such")}, "no_such"),
        ("PROBED", {"_no_such": ("all_reduce",)}, "_no_such"),
        ("CONTRIBUTED", ("given",), "c10d::send has no argument given"),
        ("PEERS", ("to", "by"), "c10d::send has no argument to or by"),
    ],
)
def test_a_torch_whose_operators_have_changed_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object, reason: str
) -> None:
    """An operator of another name is not seen, and one with other arguments counts no bytes."""
    monkeypatch.setattr(traffic, name, value)

    assert reason in why_uncounted()


@pytest.mark.torch
def test_a_torch_that_has_changed_runs_ranks_and_counts_nothing(course: MiniCourse) -> None:
    """A test that asks for calls fails with the reason; the ranks write it to stderr."""
    be_patient(course)
    conftest = (course.path / "conftest.py").read_text()
    course.write("conftest.py", conftest + CHANGED)
    course.kata(test=TEST)

    result = course.run()

    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E*UncountedError: calls of torch.distributed cannot be counted with torch *: *",
            "*[[]rank 1] calls of torch.distributed cannot be counted with torch *",
        ]
    )


@pytest.mark.torch
def test_counting_imports_no_dynamo(course: MiniCourse) -> None:
    """It would take a rank seconds at its first tensor."""
    be_patient(course)
    course.kata(test=TEST)

    course.run().assert_outcomes(passed=4)
