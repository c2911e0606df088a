"""Names a lecture's README, and its places to stop, where ``--next`` comes to them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plugins.course.files import path_from
from plugins.loop.screen import INDENT


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.course.model import Kata


# How a README names them: "Good places to stop for the day: after k06, k10, k14 and k19."
STOPS = re.compile(r"^Good places to stop for the day: (?P<where>after k\d.*)\.$", re.MULTILINE)
KATA = re.compile(r"\bk\d+\b")
PICTURE = re.compile(r"^!\[", re.MULTILINE)


def lecture_lines(kata: Kata, katas: Sequence[Kata], start: Path) -> list[str]:
    """Return what to say of the lecture, of which these are all `katas`, when `kata` comes.

    Of the first kata, that is what to read before; of one after a place to stop, that it is one.
    """
    readme = kata.folder / "README.md"
    text = readme.read_text(encoding="utf-8", errors="replace") if readme.is_file() else ""
    found = STOPS.search(text)
    stops = found["where"] if found else ""
    at = katas.index(kata)
    if at and katas[at - 1].name.partition("_")[0] in KATA.findall(stops):
        return [f"{'stop':<{INDENT}}{katas[at - 1].name} was a good place to stop for the day"]
    if at or not text:
        return []
    picture = ", with a picture" if PICTURE.search(text) else ""
    lines = [f"{'lecture':<{INDENT}}{path_from(start, readme)}{picture}"]
    return [*lines, f"{'stop':<{INDENT}}good places to stop: {stops}"] if stops else lines
