"""The verdict on many ranks: its order, its words, and the exception that carries it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from plugins.crash.crash_reports import Crashed
from plugins.ranks.messages import AFTER
from plugins.ranks.messages import LATE
from plugins.ranks.messages import RankOutcome
from plugins.ranks.messages import describe_exception
from plugins.ranks.messages import pack
from plugins.ranks.report import collect_results
from plugins.ranks.report import failures_by_cause
from plugins.ranks.report import first_difference
from plugins.ranks.report import format_report
from plugins.ranks.traffic import Call
from plugins.ranks.traffic import UncountedError


REDUCE = Call("all_reduce", 8)
WAITS = "waits in all_reduce, its 1st call\nk01.py:3: in run"


def thrown(exception: BaseException) -> BaseException:
    """Return an exception that was raised."""
    try:
        raise exception  # noqa: TRY301 - for its traceback
    except BaseException as caught:  # noqa: BLE001 - any
        return caught


def error(text: str) -> RankOutcome:
    """A rank that raised."""
    return RankOutcome(0, raised=describe_exception(thrown(RuntimeError(text)), Path("/nowhere")))


def test_causes_come_before_consequences() -> None:
    """First a rank that failed by itself, then lost connections, then ranks that only waited."""
    waited = RankOutcome(0, stopped=AFTER, place=WAITS)
    gone = replace(error("Connection closed by peer [127.0.0.1]:1"), rank=1)
    died = RankOutcome(2, death="segmentation fault")
    fine = RankOutcome(3)

    assert [died, gone, waited] == failures_by_cause([waited, gone, fine, died])
    assert format_report([waited, gone, fine, died], 4, 9.0).split("\n\n") == [
        "rank 2 of 4: segmentation fault",
        "rank 2 died: segmentation fault",
        "rank 1 lost the connection to a rank that is gone",
        "rank 0 waited in all_reduce, its 1st call\nk01.py:3: in run",
        "rank 3 returned",
    ]


def test_lost_connections_are_shown_alone() -> None:
    """When nothing else is known."""
    text = format_report([error("Broken pipe")], 2, None)

    assert text == (
        "rank 0 of 2: Broken pipe\n\nrank 0 raised RuntimeError\nE   RuntimeError: Broken pipe"
    )


def test_ranks_that_ended_alike_share_a_text() -> None:
    """With all their numbers, in order."""
    same = [replace(error("no"), rank=rank) for rank in (2, 0, 1)]

    assert "ranks 0, 1, 2 raised RuntimeError\nE   RuntimeError: no" in format_report(same, 3, None)


def test_a_deadline_names_who_waits_where() -> None:
    """Then the first collective in which the ranks differ."""
    late = RankOutcome(0, stopped=LATE, place=WAITS, calls=(REDUCE, Call("send", 1, 1)))
    other = RankOutcome(1, stopped=LATE, place="runs, before any call of torch.distributed")

    assert format_report([other, late, RankOutcome(2, calls=(REDUCE,))], 3, 20.0).splitlines() == [
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
    assert "" == first_difference([RankOutcome(0), RankOutcome(1, calls=(Call("recv", 1, 0),))])
    assert "Collective number 2 is all_reduce in rank 0, not made in rank 1." == first_difference(
        [RankOutcome(0, calls=(REDUCE, REDUCE)), RankOutcome(1, calls=(REDUCE,))]
    )


def test_results_are_in_the_order_of_the_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    """So is what they printed, each line with the number of its rank."""
    outcomes = [
        RankOutcome(1, value=pack("b", "B"), out="x\ny\n", calls=(REDUCE,)),
        RankOutcome(0, value=pack("a", "A"), err="z\n"),
    ]

    results = collect_results(outcomes, 2, None)

    assert ["a", "b"] == results
    assert ((), (REDUCE,)) == results.calls
    assert ("[rank 1] x\n[rank 1] y\n", "[rank 0] z\n") == capsys.readouterr()


def test_calls_that_one_rank_could_not_count_are_an_error() -> None:
    """Each rank asks its own PyTorch."""
    outcomes = [RankOutcome(0, value=pack(1, "1")), RankOutcome(1, pack(2, "2"), uncounted="gone")]

    results = collect_results(outcomes, 2, None)

    assert [1, 2] == results
    with pytest.raises(UncountedError, match="gone"):
        results.sent(0)


def test_the_first_failure_is_raised_with_the_report() -> None:
    """By its type if a rank raised, as a crash if it died."""
    with pytest.raises(RuntimeError, match="rank 0 of 2: no"):
        collect_results([error("no"), RankOutcome(1)], 2, None)
    with pytest.raises(Crashed, match="rank 0 of 2: abort"):
        collect_results([RankOutcome(0, death="abort"), RankOutcome(1)], 2, None)
