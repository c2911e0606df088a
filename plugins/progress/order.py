"""In which order katas come for the learner who stands here: no pytest, no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Sequence

    from plugins.layout import Kata


def starting_at(katas: Sequence[Kata], first: Kata) -> list[Kata]:
    """Return `first` and the katas after it."""
    ids = [kata.id for kata in katas]
    return list(katas[ids.index(first.id) :])


def ordered(katas: Iterable[Kata], skipped: Sequence[str]) -> list[Kata]:
    """Return the katas as they are to be tried.

    Those that were skipped come after the others, in the order in which they were skipped, and
    each comes after what its ``after`` names, if that is among `katas` at all.
    """
    katas = list(katas)
    rank = {name: place for place, name in enumerate(skipped)}
    waiting = sorted(katas, key=lambda kata: rank.get(kata.id, -1))
    found: list[Kata] = []
    while waiting:
        left = {kata.id for kata in waiting}
        # Two katas that wait for each other: the first of them goes first.
        kata = next((kata for kata in waiting if not waits(kata, left)), waiting[0])
        waiting.remove(kata)
        found.append(kata)
    return found


def waits(kata: Kata, left: Collection[str]) -> bool:
    """Whether `kata` builds on one that is still to come."""
    return any(f"{kata.lecture}/{name}" in left for name in kata.after)


def skip(skipped: Iterable[str], kata: str) -> list[str]:
    """Return the list with `kata` as the last one."""
    return [*(name for name in skipped if name != kata), kata]
