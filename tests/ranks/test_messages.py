"""What ranks and the test's process send each other: calls, results and exceptions."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import pytest

from plugins.ranks.messages import AFTER
from plugins.ranks.messages import RankOutcome
from plugins.ranks.messages import apply_filters
from plugins.ranks.messages import describe_exception
from plugins.ranks.messages import is_learners
from plugins.ranks.messages import make_twin
from plugins.ranks.messages import pack
from plugins.ranks.messages import pack_call
from plugins.ranks.messages import pack_filters
from plugins.ranks.messages import pickle_type
from plugins.ranks.messages import unpack


NOWHERE = Path("/nowhere")


class LocalError(Exception):
    """Can be named in other processes."""


def thrown(exception: BaseException) -> BaseException:
    """Return an exception that was raised."""
    try:
        raise exception  # noqa: TRY301 - for its traceback
    except BaseException as caught:  # noqa: BLE001 - any
        return caught


def raise_it() -> None:
    """Raise in a frame of its own."""
    raise KeyError("x")


def named() -> None:
    """A function that another process finds by its name."""


def test_a_rank_that_did_not_return_has_failed() -> None:
    """It raised, died, or was stopped."""
    raised = describe_exception(thrown(KeyError("x")), NOWHERE)

    assert not RankOutcome(0, value=b"1").failed
    assert RankOutcome(0, raised=raised).failed
    assert RankOutcome(0, death="segmentation fault").failed
    assert RankOutcome(0, stopped=AFTER).failed


def test_an_exception_reads_as_pytest_shows_it() -> None:
    """In its short style, with the frames below the root; without any, in one line."""
    try:
        raise_it()
    except KeyError as error:
        here = describe_exception(error, Path(__file__).parent)
        nowhere = describe_exception(error, NOWHERE)

    assert ("KeyError", "'x'", None) == (here.name, here.message, here.status)
    pytest.LineMatcher(here.text.splitlines()).fnmatch_lines(
        [
            "*test_messages.py:*: in test_an_exception_reads_as_pytest_shows_it",
            "*test_messages.py:*: in raise_it",
            '*raise KeyError("x")',
            "E   KeyError: 'x'",
        ]
    )
    assert "E   KeyError: 'x'" == nowhere.text


def test_a_frame_is_the_learners_below_the_root(tmp_path: Path) -> None:
    """But not in a virtual environment that stands in the checkout."""
    assert is_learners(tmp_path / "katas/k01.py", tmp_path)
    assert not is_learners(tmp_path / ".venv/lib/site-packages/torch/x.py", tmp_path)
    assert not is_learners(Path("/usr/lib/python3/x.py"), tmp_path)


def test_a_twin_is_of_the_same_type() -> None:
    """Or of the nearest that other processes know; its message is the report."""

    class HiddenError(KeyError):
        pass

    found = make_twin(describe_exception(thrown(LocalError("a")), NOWHERE), "the report")
    near = make_twin(describe_exception(thrown(HiddenError("a")), NOWHERE), "the report")

    assert isinstance(found, LocalError)
    assert isinstance(near, KeyError)
    assert ("the report", "the report") == (str(found), str(near))
    assert "LocalError" == type(found).__name__
    assert pickle.dumps(KeyError) == pickle_type(HiddenError())


@pytest.mark.parametrize("outcome", [pytest.fail, pytest.skip])
def test_the_twin_of_an_outcome_of_pytest_is_that_outcome(outcome: pytest.fail) -> None:  # type: ignore[valid-type]
    """These are no errors, and need no type."""
    raised = describe_exception(thrown(outcome.Exception("a")), NOWHERE)  # type: ignore[attr-defined]

    with pytest.raises(outcome.Exception, match="the report"):  # type: ignore[attr-defined]
        raise make_twin(raised, "the report")


def test_an_exit_has_a_status_and_fails_the_test() -> None:
    """No test may catch it."""
    raised = describe_exception(thrown(SystemExit(3)), NOWHERE)

    assert ("3", b"") == (raised.status, raised.kind)
    with pytest.raises(pytest.fail.Exception, match="the report"):
        raise make_twin(raised, "the report")


def test_a_call_is_packed_by_name() -> None:
    """A function that another process cannot find is refused, with what to do."""
    assert (named, (1,)) == unpack(pack_call(named, (1,)))
    with pytest.raises(TypeError, match="Write a function at the top level of the test module"):
        pack_call(lambda: None, ())
    with pytest.raises(TypeError, match="What a rank returns goes to another process"):
        pack((n for n in range(3)), "What a rank returns")


def test_filters_of_warnings_travel() -> None:
    """Those that another process can have: a category is found by its name."""

    class Local(UserWarning):
        """No other process has it."""

    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.filterwarnings("ignore", "text", UserWarning, "module", 7)
        warnings.simplefilter("error", Local)
        packed = pack_filters()
        apply_filters([*packed, b"no pickle"])

        (kept,) = warnings.filters
    assert ("ignore", UserWarning, 7) == (kept[0], kept[2], kept[4])
    assert ("text", "module") == tuple(getattr(kept[n], "pattern", "") for n in (1, 3))
