"""Ranks of one world in several processes of a job: they ask and answer through its store."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Any

from plugins.outcomes import LATE
from plugins.outcomes import Outcome
from plugins.rankcalls import packed
from plugins.rankcalls import unpacked


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from plugins.ranks import Request


# How long after the deadline of its rank a process may be silent.
SILENCE = 60.0


class Alone:
    """All ranks are here."""

    def __init__(self, request: Request) -> None:
        self._missing = len(request.ranks)

    def tell(self, outcome: Outcome) -> None:  # noqa: ARG002 - nobody else wants to know
        """Tell the others what became of a rank here."""
        self._missing -= 1

    def news(self) -> Sequence[Outcome]:
        """Return what became of ranks elsewhere, once."""
        return ()

    def hurried(self) -> bool:
        """Whether a rank has failed elsewhere."""
        return False

    def over(self) -> bool:
        """Whether it is known of all ranks what became of them."""
        return not self._missing


class Asker:
    """The first process of a job, which runs the tests: the other ranks are elsewhere."""

    def __init__(self, store: Any, request: Request) -> None:
        self._store = store
        self._number = store.add("katas/asked", 1)
        self.request = replace(request, ranks=(0,), place=f"{request.place}-{self._number}")
        self._missing = set(range(request.size))
        self._failed = False
        self._until = time.monotonic() + request.seconds + SILENCE if request.seconds else None
        store.set(f"katas/{self._number}", packed(self.request, "A request"))

    def tell(self, outcome: Outcome) -> None:
        """Note what became of the rank here; let the others hurry if it failed."""
        self._missing.discard(outcome.rank)
        if outcome.failed and not self._failed:
            self._failed = True
            self._store.set(f"katas/{self._number}/failed", b"1")

    def news(self) -> Sequence[Outcome]:
        """Return what became of ranks elsewhere, once."""
        found = []
        for rank in sorted(self._missing - {0}):
            key = f"katas/{self._number}/{rank}"
            if self._store.check([key]):
                found.append(unpacked(self._store.get(key)))
            elif self._until and time.monotonic() > self._until:
                found.append(Outcome(rank, stopped=LATE, place="is in a process that is silent"))
        for outcome in found:
            self.tell(outcome)
        return found

    def hurried(self) -> bool:
        """Whether a rank has failed elsewhere."""
        return self._failed

    def over(self) -> bool:
        """Whether it is known of all ranks what became of them; the others are told."""
        if not self._missing:
            self._store.set(f"katas/{self._number}/over", b"1")
        return not self._missing


class Answerer:
    """Another process of the job: it runs one rank and says what became of it."""

    def __init__(self, store: Any, number: int) -> None:
        self._store = store
        self._number = number

    def tell(self, outcome: Outcome) -> None:
        """Answer the first process."""
        key = f"katas/{self._number}/{outcome.rank}"
        self._store.set(key, packed(outcome, "What became of a rank"))

    def news(self) -> Sequence[Outcome]:
        """Return nothing: the first process collects the answers."""
        return ()

    def hurried(self) -> bool:
        """Whether a rank has failed elsewhere."""
        return bool(self._store.check([f"katas/{self._number}/failed"]))

    def over(self) -> bool:
        """Whether the first process knows all, or asks for something else."""
        keys = (f"katas/{self._number}/over", f"katas/{self._number + 1}")
        return any(self._store.check([key]) for key in keys)


Elsewhere = Alone | Asker | Answerer


def serve(store: Any, rank: int, run: Callable[[Request, Elsewhere], object]) -> None:
    """Run this process's rank of each world, until the first process is done."""
    number = 1
    while asked := unpacked(store.get(f"katas/{number}")):
        # A world that is too small for this rank, or one that nobody waits for any more.
        if rank < asked.size and not store.check([f"katas/{number + 1}"]):
            run(replace(asked, ranks=(rank,)), Answerer(store, number))
        number += 1


def dismiss(store: Any) -> None:
    """Let the other processes end."""
    store.set(f"katas/{store.add('katas/asked', 1)}", packed(None, "Nothing"))
