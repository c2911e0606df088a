"""Takes an exception from a rank to the test: what it is, how it reads, and a twin of its type."""

from __future__ import annotations

import pickle
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.stacks import OTHERS


if TYPE_CHECKING:
    from _pytest._code import Traceback


@dataclass(frozen=True)
class Raised:
    """An exception as text, and its type, pickled: which process can import it is seen there."""

    name: str
    text: str
    message: str
    # Empty for what is no error of a program: pytest.skip(), Ctrl-C.
    kind: bytes = b""
    # The status, if it was sys.exit(), which no test shall catch.
    status: str | None = None


class Told:
    """Says what happened in other processes, in an exception of the type that one raised."""

    def __init__(self, text: str) -> None:
        BaseException.__init__(self, text)  # type: ignore[arg-type]
        self.text = text

    def __str__(self) -> str:
        return self.text


def raised(error: BaseException, root: Path) -> Raised:
    """Return what the test shall hear of an exception."""
    return Raised(
        name=type(error).__name__,
        text=shown(error, root),
        message=str(error),
        kind=kind_of(error) if isinstance(error, Exception) else b"",
        status=str(error) if isinstance(error, SystemExit) else None,
    )


def shown(error: BaseException, root: Path) -> str:
    """Return an exception as pytest shows it in short, from the learner's and the test's frames."""

    def learners(info: pytest.ExceptionInfo[BaseException]) -> Traceback:
        return info.traceback.filter(lambda entry: is_learners(Path(entry.path), root))

    info = pytest.ExceptionInfo.from_exception(error)
    if not learners(info):
        return f"E   {info.exconly()}"
    return str(info.getrepr(style="short", tbfilter=learners))


def is_learners(file: Path, root: Path) -> bool:
    """Whether a file is the learner's or the test's."""
    return file.is_relative_to(root) and not any(other in str(file) for other in OTHERS)


def kind_of(error: BaseException) -> bytes:
    """Return the nearest type of an exception that can be named in another process, pickled."""
    return next(filter(None, map(_pickled, type(error).__mro__)))


def _pickled(kind: type) -> bytes:
    with suppress(pickle.PicklingError, AttributeError):
        return pickle.dumps(kind)
    return b""


def twin(raised: Raised, text: str) -> BaseException:
    """Return an exception that says `text`, and is caught by whoever expects that type."""
    if not raised.kind:
        outcome = pytest.skip if raised.name == "Skipped" else pytest.fail
        return outcome.Exception(text, pytrace=False)
    kind: Any = pickle.loads(raised.kind)  # noqa: S301 - from a rank
    made = type(kind.__name__, (Told, kind), {"__module__": "builtins"})
    return made(text)  # type: ignore[no-any-return]
