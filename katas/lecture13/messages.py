"""For the tests only: what a rank does with messages, in order, and whether it waits for them."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING
from typing import Any

import pytest
from torch import distributed as dist


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.kit import Call


class Message:
    """Remembers when a message was begun, and when somebody first waited for it."""

    def __init__(self, work: Any, log: list[str], name: str) -> None:
        self._work, self._log, self._name = work, log, name
        log.append(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    def wait(self, *args: Any) -> Any:
        """Wait."""
        if (what := f"wait for {self._name}") not in self._log:
            self._log.append(what)
        return self._work.wait(*args)


@contextmanager
def recorded() -> Iterator[list[str]]:
    """List what a rank does, ``"send 0", "recv 0", "wait for recv 0"``; all must be waited for."""
    log: list[str] = []
    # A request that is dropped takes its message with it, and the other rank would wait.
    kept: list[Message] = []

    def watched(name: str, begin: Any) -> Any:
        numbers = count()

        def call(*args: Any) -> Message:
            kept.append(Message(begin(*args), log, f"{name} {next(numbers)}"))
            return kept[-1]

        return call

    # All of send, recv, isend, irecv and batch_isend_irecv end here, however they were imported.
    with pytest.MonkeyPatch.context() as patch:
        for name in ("send", "recv"):
            patch.setattr(dist.ProcessGroup, name, watched(name, getattr(dist.ProcessGroup, name)))
        yield log
    begun = [what for what in log if not what.startswith("wait")]
    missing = [what for what in begun if f"wait for {what}" not in log]
    assert not missing, (
        f"your code does not call wait() on {missing}: until then the tensor belongs to the"
        f" request, and a request that is dropped may take its message with it"
    )


def check_at_once(log: Sequence[str]) -> None:
    """Check that a rank sends while it receives: number k of both begins before it waits."""
    __tracebackhide__ = True
    for number in range(sum(what.startswith("send") for what in log)):
        pair = (f"send {number}", f"recv {number}")
        begun = max(log.index(what) for what in pair)
        waited = min(log.index(f"wait for {what}") for what in pair)
        assert begun < waited, (
            f"your code waits before both {' and '.join(pair)} have begun, so the ranks wait for"
            f" each other. In order: {log}"
        )


def rounds_of(calls: Sequence[Sequence[Call]]) -> int:
    """Return how many rounds the messages take, if a rank takes part in one message per round."""
    clocks, at = [0] * len(calls), [0] * len(calls)
    while any(place < len(each) for place, each in zip(at, calls, strict=True)):
        before = list(at)
        for sender, each in enumerate(calls):
            if at[sender] == len(each) or each[at[sender]].name != "send":
                continue
            receiver = each[at[sender]].peer or 0
            theirs = calls[receiver][at[receiver] : at[receiver] + 1]
            if theirs and theirs[0].name == "recv" and theirs[0].peer == sender:
                clocks[sender] = clocks[receiver] = max(clocks[sender], clocks[receiver]) + 1
                at[sender] += 1
                at[receiver] += 1
        assert before != at, (
            f"your code has a send without its recv, or a recv without its send: {calls}"
        )
    return max(clocks)
