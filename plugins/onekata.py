"""Runs one kata, solved or not, until a test fails: what ``--watch`` does when it is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.bookmark import Bookmark
from plugins.lesson import Teller
from plugins.lessonview import Line
from plugins.walk import Walk
from plugins.walk import is_solved


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence

    import pytest

    from plugins.layout import Kata


PARTLY = "Nothing failed, but not all of its tests ran."


class OneKata(Walk):
    """Stays with one kata; `katas` are those that the bar counts."""

    def __init__(self, config: pytest.Config, katas: Sequence[Kata], kata: Kata) -> None:
        super().__init__(config, list(katas), Bookmark())
        self.waiting = [kata]
        root = config.rootpath
        others = sum(is_solved(root, each) for each in katas if each.id != kata.id)
        self.teller = OneTeller(config, katas, others)

    def mark(self, kata: Kata) -> None:
        """Leave it to ``--next`` where it stands."""


class OneTeller(Teller):
    """Says no more of a kata without a failure than what became of it."""

    def done(self) -> Iterator[Line]:
        """Say so if it is neither solved nor cannot run here."""
        if not self.solved_now and self.kata.id not in self.away:
            yield Line(PARTLY)
