"""One verdict of many ranks, and what it is made of."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from plugins.hang import collective
from plugins.hang import counted
from plugins.hang import ordinal
from plugins.hang import place_of
from plugins.outcomes import AFTER
from plugins.outcomes import LATE
from plugins.outcomes import Outcome
from plugins.raised import kind_of
from plugins.raised import raised
from plugins.raised import twin
from plugins.rankreport import by_time
from plugins.rankreport import difference
from plugins.rankreport import report
from plugins.traffic import Call
from plugins.traffic import Results
from plugins.traffic import Sent
from plugins.traffic import call_of
from plugins.traffic import line_of
from plugins.traffic import read_calls


REDUCE = Call("all_reduce", 8)
WAITS = "waits in all_reduce, its 1st call\nk01.py:3: in run"
STACK = """Thread 0x01 (most recent call first):
  File "{root}/k01.py", line 9 in other
Current thread 0x02 (most recent call first):
  File "/lib/torch/distributed/distributed_c10d.py", line 3200 in all_gather
  File "/lib/torch/distributed/c10d_logger.py", line 81 in wrapper
  File "/lib/torch/distributed/distributed_c10d.py", line 3300 in all_gather_object
  File "{root}/k01.py", line 2 in run
  File "/lib/pluggy/_callers.py", line 1 in call
"""


class LocalError(Exception):
    """Can be named in other processes."""


def thrown(exception: BaseException) -> BaseException:
    """Return an exception that somebody raised."""
    try:
        raise exception  # noqa: TRY301 - for its traceback
    except BaseException as caught:  # noqa: BLE001 - any
        return caught


def error(text: str) -> Outcome:
    """A rank that raised."""
    return Outcome(0, raised=raised(thrown(RuntimeError(text)), Path("/nowhere")))


def test_what_failed_by_itself_comes_first() -> None:
    """Then those that lost a connection, then those that only waited for it."""
    waited = Outcome(0, stopped=AFTER, place=WAITS)
    gone = replace(error("Connection closed by peer [127.0.0.1]:1"), rank=1)
    died = Outcome(2, death="segmentation fault")
    fine = Outcome(3)

    assert [died, gone, waited] == by_time([waited, gone, fine, died])
    assert report([waited, gone, fine, died], 4, 9.0).split("\n\n") == [
        "rank 2 of 4: segmentation fault",
        "rank 2 died: segmentation fault",
        "rank 1 lost the connection to a rank that is gone",
        "rank 0 waited in all_reduce, its 1st call\nk01.py:3: in run",
        "rank 3 returned",
    ]


def test_only_lost_connections_are_shown() -> None:
    """When there is nothing else to be blamed."""
    text = report([error("Broken pipe")], 2, None)

    assert text == (
        "rank 0 of 2: Broken pipe\n\nrank 0 raised RuntimeError\nE   RuntimeError: Broken pipe"
    )


def test_ranks_to_which_the_same_happened_are_told_once() -> None:
    """In one text, with all their numbers."""
    same = [replace(error("no"), rank=rank) for rank in (2, 0, 1)]

    assert "ranks 0, 1, 2 raised RuntimeError\nE   RuntimeError: no" in report(same, 3, None)


def test_a_deadline_names_who_waits_where() -> None:
    """And the first collective in which the ranks differ."""
    late = Outcome(0, stopped=LATE, place=WAITS, calls=(REDUCE, Call("send", 1, 1)))
    other = Outcome(1, stopped=LATE, place="runs, before any call of torch.distributed")

    assert report([other, late, Outcome(2, calls=(REDUCE,))], 3, 20.0).splitlines() == [
        "still running after 20 s: rank 0 waits in all_reduce; rank 1 runs; rank 2 returned",
        "",
        "rank 1 runs, before any call of torch.distributed",
        "",
        "rank 0 waits in all_reduce, its 1st call",
        "k01.py:3: in run",
        "",
        "rank 2 returned",
        "",
        "Collective number 1 is all_reduce in ranks 0, 2, not made in rank 1.",
        "All ranks of a group must make the same calls of collectives in the same order.",
    ]
    assert "" == difference([Outcome(0), Outcome(1, calls=(Call("recv", 1, 0),))])
    assert "Collective number 2 is all_reduce in rank 0, not made in rank 1." == difference(
        [Outcome(0, calls=(REDUCE, REDUCE)), Outcome(1, calls=(REDUCE,))]
    )


def test_a_place_is_the_function_that_the_learner_called(tmp_path: Path) -> None:
    """The outermost of torch.distributed, in the main thread, which is written last."""
    (tmp_path / "k01.py").write_text("\n    dist.all_gather_object(all, x)\n    work.wait()\n")
    stack = STACK.format(root=tmp_path)
    waits = stack.replace("torch/distributed/distributed", "torch/other").replace(
        "line 2", "line 3"
    )

    assert "all_gather_object" == collective(stack)
    assert "" == collective(stack.replace("all_gather", "get_rank"))
    # The innermost call is a property that get_rank() asks for; or the learner asks for it.
    asks = stack.replace("all_gather_object", "get_rank").replace("all_gather", "WORLD")
    assert "" == collective(asks)
    assert "" == collective(asks.replace("get_rank", "_new_group"))
    assert place_of(stack, [REDUCE] * 3, tmp_path).splitlines() == [
        "waits in all_gather_object, its 3rd call",
        "k01.py:2: in run",
        "    dist.all_gather_object(all, x)",
    ]
    assert "waits in all_gather_object" == place_of(stack, [], tmp_path).splitlines()[0]
    assert (
        "waits for what it began, 1 all_reduce"
        == place_of(waits, [REDUCE], tmp_path).splitlines()[0]
    )
    assert "runs, before any call of torch.distributed" == place_of("", [], tmp_path)
    assert "runs, after 1 all_reduce" == place_of("", [REDUCE], tmp_path)


def test_calls_are_counted_in_words() -> None:
    """By name, in the order of the first ones."""
    assert "2 send, 1 recv" == counted([Call("send", 1), Call("recv", 1), Call("send", 1)])
    assert ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "112th"] == [
        ordinal(number) for number in (1, 2, 3, 4, 11, 12, 21, 112)
    ]


def test_a_twin_is_of_the_same_type() -> None:
    """Or of the nearest that other processes know; it says what it is told."""

    class HiddenError(KeyError):
        pass

    found = twin(raised(thrown(LocalError("a")), Path("/nowhere")), "the report")
    near = twin(raised(thrown(HiddenError("a")), Path("/nowhere")), "the report")

    assert isinstance(found, LocalError)
    assert isinstance(near, KeyError)
    assert ("the report", "the report") == (str(found), str(near))
    assert "LocalError" == type(found).__name__
    assert pickle.dumps(KeyError) == kind_of(HiddenError())
    assert "3" == raised(thrown(SystemExit(3)), Path("/nowhere")).status
    with pytest.raises(pytest.fail.Exception, match="the report"):
        raise twin(raised(thrown(pytest.fail.Exception("a")), Path("/nowhere")), "the report")


class Tensor:
    """So many bytes."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


@pytest.mark.parametrize(
    ("space", "operator", "arguments", "call"),
    [
        ("c10d", "send", {"tensors": [Tensor(4)], "dst": 2, "tag": 0}, Call("send", 4, 2)),
        ("c10d", "recv_", {"tensors": [Tensor(4)], "src": 1}, Call("recv", 4, 1)),
        ("c10d", "recv_any_source_", {"tensors": [Tensor(4)]}, Call("recv", 4)),
        ("c10d", "allreduce_", {"tensors": [Tensor(4), Tensor(8)]}, Call("all_reduce", 12)),
        ("c10d", "barrier", {"tensor": Tensor(1)}, Call("barrier", 0)),
        (
            "c10d",
            "allgather_",
            {"output_tensors": [[Tensor(4)] * 2], "input_tensors": [Tensor(4)]},
            Call("all_gather", 4),
        ),
        (
            "c10d",
            "scatter_",
            {"output_tensors": [Tensor(4)], "input_tensors": [[Tensor(4), Tensor(4)]]},
            Call("scatter", 8),
        ),
        ("_c10d_functional", "all_reduce", {"input": Tensor(4)}, Call("all_reduce", 4)),
        ("_c10d_functional", "wait_tensor", {"tensor": Tensor(4)}, None),
        ("aten", "send", {}, None),
    ],
)
def test_an_operator_is_a_call(
    space: str, operator: str, arguments: dict[str, object], call: Call | None
) -> None:
    """By the name of the function in torch.distributed, with the bytes that a rank contributes."""
    assert call == call_of(space, operator, arguments)


def test_calls_survive_the_process(tmp_path: Path) -> None:
    """But for one that it did not write to its end."""
    calls = [REDUCE, Call("send", 4, 1)]
    file = tmp_path / "calls"

    assert [] == read_calls(file)
    file.write_bytes(b"".join(map(line_of, calls)) + b'["recv", 4')
    assert calls == read_calls(file)


def test_what_was_sent_is_summed() -> None:
    """By send, or by the collectives that are named."""
    results = Results(["a"], [[REDUCE, Call("send", 4, 1), Call("recv", 4, 1), Call("send", 2, 1)]])

    assert ["a"] == results
    assert Sent(2, 6) == results.sent(0)
    assert Sent(3, 14) == results.sent(0, "send", "all_reduce")
