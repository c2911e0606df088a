"""What became of one rank, as it is told from process to process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from plugins.raised import Raised
    from plugins.traffic import Call


# Why a rank is stopped: its time is over, or another one has failed.
LATE = "time"
AFTER = "after"


@dataclass(frozen=True)
class Outcome:
    """What became of one rank."""

    rank: int
    value: bytes = b""
    raised: Raised | None = None
    # How the process ended, if that is what happened; of one that had to be stopped, why.
    death: str = ""
    stopped: str = ""
    # Where it was when it was stopped.
    place: str = ""
    calls: tuple[Call, ...] = ()
    out: str = ""
    err: str = ""

    @property
    def failed(self) -> bool:
        """Whether it did not return."""
        return bool(self.raised or self.death or self.stopped)
