"""Reads ``lecture.toml`` into the dataclasses of `plugins.course.model`; no pytest, no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple

from plugins.course.model import HINTS
from plugins.course.model import KINDS
from plugins.course.model import NAME
from plugins.course.model import SIZES
from plugins.course.model import WAS
from plugins.course.model import Course
from plugins.course.model import EpisodeRef
from plugins.course.model import Kata
from plugins.course.model import Lecture
from plugins.course.model import TorchNeed
from plugins.course.model import Upstream
from plugins.tools.toml import TomlError
from plugins.tools.toml import TomlTable
from plugins.tools.toml import read_toml


if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


# What a kata's table may state of its size, with a word for each value: all of them or none.
EFFORT = {
    "size": f"one of {', '.join(SIZES)}",
    "minutes": "a number of minutes, at least 1",
    "core": "true or false",
}
# The screen shows what is learned in two lines of 80 columns, beside its label.
LEARNED = 140
SENTENCE = f"a sentence in one line, of at most {LEARNED} characters"


class Effort(NamedTuple):
    """How large a kata is, about how long it takes, and whether it is on the core path."""

    size: str = ""
    minutes: int = 0
    core: bool = True


def read_course(folders: Iterable[Path]) -> Course:
    """Read the lectures in `folders`; a broken one becomes a line in `Course.errors`."""
    lectures: list[Lecture] = []
    errors: list[str] = []
    # What is stored about a kata, and what the command line calls it, has the lecture's name.
    named: dict[str, Path] = {}
    for folder in folders:
        try:
            lecture = read_lecture(folder)
        except TomlError as error:
            errors.append(str(error))
            continue
        if (other := named.setdefault(lecture.name, folder)) == folder:
            lectures.append(lecture)
        else:
            errors.append(f"{folder}: left out, since {other} is called {lecture.name} too")
    return Course(tuple(lectures), (*errors, *unknown_prerequisites(lectures)))


def unknown_prerequisites(lectures: Iterable[Lecture]) -> list[str]:
    """Return a line for each kata that builds on one of another lecture that does not exist.

    Those of its own lecture were checked when that was read. A lecture that cannot be read has a
    line already, and so nothing that builds on it has another.
    """
    katas = [kata for lecture in lectures for kata in lecture.katas]
    known = {kata.id for kata in katas}
    written = {kata.lecture for kata in katas}
    return [
        f"{kata.folder / 'lecture.toml'}: kata {kata.name}: after: no kata is called {name!r}"
        for kata in katas
        for name in kata.builds_on
        if name not in known and name.partition("/")[0] in written
    ]


def read_lecture(folder: Path) -> Lecture:
    """Read ``folder/lecture.toml``.

    Raises
    ------
    TomlError
        If the file is missing, is not TOML, lacks a key or holds an unexpected value.
    """
    table = read_toml(folder / "lecture.toml")
    syllabus = table.strings_by_name("syllabus")
    entries = table.tables("kata", ())
    sized = any(EFFORT.keys() & entry.values.keys() for entry in entries)
    katas = sorted(
        (_kata(entry, folder, sized=sized) for entry in entries), key=lambda kata: kata.name
    )
    lecture = Lecture(folder.name, table.string("title"), syllabus, tuple(katas), folder)
    table.refuse_others()
    names = [kata.name for kata in katas]
    for kata in katas:
        entry = table.at(f"kata {kata.name}")
        if names.count(kata.name) > 1:
            raise entry.error("name", "expected once in the file, found again")
        entry.refuse_unknown("after", [each for each in kata.after if "/" not in each], names)
        entry.refuse_unknown("syllabus", kata.syllabus, list(syllabus))
    return lecture


def _kata(entry: TomlTable, folder: Path, *, sized: bool) -> Kata:
    name = entry.string("name")
    if not NAME.fullmatch(name):
        raise entry.error("name", f"expected kNN_words in lower case, found {name!r}")
    entry = entry.at(f"kata {name}")
    kind = entry.string("kind")
    entry.refuse_unknown("kind", [kind], KINDS)
    hints = entry.strings("hints")
    if len(hints) != HINTS:
        raise entry.error("hints", f"expected {HINTS} strings, found {len(hints)}")
    episodes = [
        EpisodeRef(episode.string("slug"), episode.string("why"))
        for episode in entry.tables("episodes")
    ]
    effort = _effort(entry) if sized else Effort()
    kata = Kata(
        lecture=folder.name,
        name=name,
        title=entry.string("title"),
        kind=kind,
        syllabus=entry.strings("syllabus"),
        episodes=tuple(episodes),
        upstream=tuple(_upstream(entry, text) for text in entry.strings("upstream")),
        hints=hints,
        after=entry.strings("after", ()),
        needs=entry.strings("needs", ()),
        csrc=entry.strings("csrc", ()),
        folder=folder,
        torch=torch_need(entry),
        was=_was(entry, folder.name),
        extra=entry.strings("extra", ()),
        size=effort.size,
        minutes=effort.minutes,
        core=effort.core,
        learned=_learned(entry),
    )
    entry.refuse_others()
    return kata


def _was(entry: TomlTable, lecture: str) -> str:
    """Return the id of the kata of an earlier edition that this one was made of, or ""."""
    if "was" not in entry.values:
        return ""
    text = entry.string("was")
    found = WAS.fullmatch(text)
    if not found:
        raise entry.error("was", f"expected kNN_words or lecture04/kNN_words, found {text!r}")
    return f"{found['lecture'] or lecture}/{found['name']}"


def _learned(entry: TomlTable) -> str:
    """Return what a solver has now seen, or "" if the table does not say it."""
    text: str = entry.get("learned", str, SENTENCE, "")
    if "learned" not in entry.values:
        return ""
    if not text.strip() or not text.isprintable() or len(text) > LEARNED:
        found = f"{len(text)} characters, {text!r}"
        raise entry.error("learned", f"expected {SENTENCE}, found {found}")
    return text


def _effort(entry: TomlTable) -> Effort:
    """Return what a kata's table states of its size; one kata of the lecture states some."""
    for key, expected in EFFORT.items():
        if key not in entry.values:
            raise entry.error(
                key, f"expected {expected}: a lecture states size, minutes and core of all katas"
            )
    size = entry.string("size")
    entry.refuse_unknown("size", [size], SIZES)
    minutes = entry.get("minutes", int, EFFORT["minutes"])
    if minutes < 1:
        raise entry.error("minutes", f"expected {EFFORT['minutes']}, found {minutes}")
    return Effort(size, minutes, entry.get("core", bool, EFFORT["core"]))


def _upstream(entry: TomlTable, text: str) -> Upstream:
    path, colon, symbol = text.partition(": ")
    if not (path and colon and symbol):
        raise entry.error("upstream", f'expected "path/in/pytorch: symbol", found {text!r}')
    return Upstream(path, symbol)


def torch_need(entry: TomlTable) -> TorchNeed | None:
    """Return the versions of torch that a kata is for, and why, or None if it is for all."""
    if not entry.values.keys() & {"torch", "torch_because"}:
        return None
    # Only a kata that is for some versions pays for the import.
    from packaging.specifiers import InvalidSpecifier  # noqa: PLC0415
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415

    versions = entry.string("torch")
    try:
        SpecifierSet(versions)
    except InvalidSpecifier:
        raise entry.error("torch", f'expected ">=2.13" or the like, found {versions!r}') from None
    return TorchNeed(versions, entry.string("torch_because"))
