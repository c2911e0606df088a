"""What a test's process and its ranks send each other: calls, results, exceptions, outcomes.

All of it is pickled. A function travels by its name; an exception travels as text together with
its type, from which the test's process makes a twin to raise.
"""

from __future__ import annotations

import pickle
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.crash.stacks import OTHERS


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    from plugins.ranks.traffic import Call
    from plugins.tools.private.pytest import Traceback


# Why a rank was stopped: its time was over, or another one had failed.
LATE = "time"
AFTER = "after"


@dataclass(frozen=True)
class RankOutcome:
    """How one rank ended, with its calls and what it printed."""

    rank: int
    value: bytes = b""
    raised: Raised | None = None
    # How the process died, and why it was stopped if it was.
    death: str = ""
    stopped: str = ""
    # Where it was when it was stopped.
    place: str = ""
    calls: tuple[Call, ...] = ()
    # Why its calls could not be counted.
    uncounted: str = ""
    out: str = ""
    err: str = ""

    @property
    def failed(self) -> bool:
        """Whether it did not return."""
        return bool(self.raised or self.death or self.stopped)


@dataclass(frozen=True)
class Raised:
    """An exception as text, with its type still pickled: not every process can import it."""

    name: str
    text: str
    message: str
    # Empty unless it is an Exception: for pytest.skip(), say, or Ctrl-C.
    kind: bytes = b""
    # The status if it was sys.exit(), which no test may catch.
    status: str | None = None


class RaisedElsewhere:
    """Turns an exception type into one whose message is the report of all ranks."""

    def __init__(self, text: str) -> None:
        BaseException.__init__(self, text)  # type: ignore[arg-type]
        self.text = text

    def __str__(self) -> str:
        return self.text


def describe_exception(error: BaseException, root: Path) -> Raised:
    """Return an exception in a form that can be sent to the test's process."""
    return Raised(
        name=type(error).__name__,
        text=format_exception(error, root),
        message=str(error),
        kind=pickle_type(error) if isinstance(error, Exception) else b"",
        status=str(error) if isinstance(error, SystemExit) else None,
    )


def format_exception(error: BaseException, root: Path) -> str:
    """Format an exception in pytest's short style, with the learner's and the test's frames."""

    def learners(info: pytest.ExceptionInfo[BaseException]) -> Traceback:
        return info.traceback.filter(lambda entry: is_learners(Path(entry.path), root))

    info = pytest.ExceptionInfo.from_exception(error)
    if not learners(info):
        return f"E   {info.exconly()}"
    return str(info.getrepr(style="short", tbfilter=learners))


def is_learners(file: Path, root: Path) -> bool:
    """Whether a file is the learner's or the test's."""
    return file.is_relative_to(root) and not any(other in str(file) for other in OTHERS)


def pickle_type(error: BaseException) -> bytes:
    """Pickle the nearest type of an exception that another process can find by its name."""
    return next(filter(None, map(_pickled, type(error).__mro__)))


def _pickled(kind: type) -> bytes:
    with suppress(pickle.PicklingError, AttributeError):
        return pickle.dumps(kind)
    return b""


def make_twin(raised: Raised, text: str) -> BaseException:
    """Return an exception with the message `text` that an ``except`` for that type catches."""
    if not raised.kind:
        outcome = pytest.skip if raised.name == "Skipped" else pytest.fail
        return outcome.Exception(text, pytrace=False)
    kind: Any = pickle.loads(raised.kind)  # noqa: S301 - from a rank
    twin = type(kind.__name__, (RaisedElsewhere, kind), {"__module__": "builtins"})
    return twin(text)  # type: ignore[no-any-return]


def pack(value: object, what: str) -> bytes:
    """Pickle `value` for another process; `what` names it in the error.

    Raises
    ------
    TypeError
        If it cannot be pickled: a generator, an open file, a function within a function.
    """
    __tracebackhide__ = True
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise TypeError(f"{what} goes to another process, and cannot be pickled: {error}") from None


def pack_call(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """Pickle a call; a rank finds the function by its name.

    Raises
    ------
    TypeError
        If the function has no name by which another process could find it.
    """
    __tracebackhide__ = True
    name = getattr(function, "__qualname__", "")
    if "<" in name:
        raise TypeError(
            f"world({name}) cannot run: ranks are other processes, which look a function up by "
            f"its name. Write a function at the top level of the test module, and hand what it "
            f"needs to world() as arguments."
        )
    return pack((function, args), "What world() hands to its ranks")


def pack_filters() -> tuple[bytes, ...]:
    """Pickle the filters of warnings that hold in this test, each that can be."""
    found = []
    for each in warnings.filters:
        with suppress(pickle.PicklingError, TypeError, AttributeError):
            found.append(pickle.dumps(each))
    return tuple(found)


def apply_filters(packed: Iterable[bytes]) -> None:
    """Let this process warn as the test does: its server may have been started by another one."""
    warnings.resetwarnings()
    for each in packed:
        # Its category may be of a module that this process cannot import.
        with suppress(Exception):
            warnings.filters.append(unpack(each))  # type: ignore[attr-defined]


def unpack(data: bytes) -> Any:
    """Return what was packed, and import the modules that it needs."""
    return pickle.loads(data)  # noqa: S301 - from another process of the same session
