"""Reads the sources of a C++ kata: its tier, and the headers beside it that it includes.

A source in another language (`plugins.native.languages`) is C++ when it has been read.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from pathlib import PurePath
from typing import TYPE_CHECKING

from plugins.native.languages import RewriteError
from plugins.native.tiers import tiers
from plugins.tools.cxx import line_number


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.course.model import Kata
    from plugins.native.languages import Language
    from plugins.native.tiers import Tier


TIER = re.compile(r"// tier: (\w+)[ \t]*(?:\n|$)")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">\n]+)[">]', re.MULTILINE)
SOURCES = {".cpp", ".cc"}
# Each includes all of PyTorch: 15 to 20 s after every edit.
REFUSED = ("torch/extension.h", "torch/torch.h", "torch/all.h")


class SourceError(Exception):
    """A source that no compiler needs to see; the message is for the learner."""


def unit_name(kata: Kata) -> str:
    """Return ``lecture04_k03``: the namespace of a kata's operators, and its library's name."""
    return f"{kata.lecture}_{kata.name.partition('_')[0]}"


def library_sources(kata: Kata, languages: Sequence[Language]) -> dict[str, list[str]]:
    """Return the sources of each library of `kata`, by name: the one with the operators is last."""
    name = unit_name(kata)
    ends = [(f"{name}_{one.suffix.strip('.')}", one.suffix) for one in languages]
    found = {
        library: [file for file in kata.csrc if file.endswith(suffix)]
        for library, suffix in (*ends, (name, ".cpp"))
    }
    return {library: files for library, files in found.items() if files}


@dataclass(frozen=True)
class SourceFile:
    """A file as it was read; `shown` is its name in messages, `name` is relative to its folder.

    `rewritten` is the text as C++, with the same lines, and `copy` the name of the file that the
    compiler reads. `before` is a line that only the compiler reads.
    """

    name: str
    shown: str
    text: str
    rewritten: str
    copy: str
    before: str = ""

    @property
    def numbered(self) -> str:
        """The text for the compiler, whose messages then name the learner's file, not the copy."""
        return f'{self.before}#line 1 "{self.shown}"\n{self.rewritten}'


@dataclass(frozen=True)
class Unit:
    """The content of one library: `files` are the sources, then the local headers."""

    name: str
    tier: Tier
    folders: tuple[Path, ...]
    files: tuple[SourceFile, ...]

    @property
    def sources(self) -> list[SourceFile]:
        """The files that are compiled."""
        return [file for file in self.files if PurePath(file.copy).suffix in SOURCES]

    def key(self, recipe: str) -> str:
        """Return a name for the library that no other content has."""
        facts = [recipe, *(part for file in self.files for part in (file.name, file.rewritten))]
        digest = hashlib.sha256("\0".join(facts).encode()).hexdigest()
        return f"{self.name}-{digest[:16]}"


def read_unit(
    name: str, sources: list[Path], root: Path, beside: Path, languages: Sequence[Language] = ()
) -> Unit:
    """Read the sources of the library `name`; messages show paths relative to `root`.

    Their local headers are in the folder of the first source or in the folder `beside`: a
    solution has no copy of the headers that come with its exercise.

    Raises
    ------
    SourceError
        If the first source names no tier, or a file includes all of PyTorch, is in UTF-16 or
        cannot be rewritten.
    """
    folders = tuple(dict.fromkeys((sources[0].parent, beside)))
    language = next((one for one in languages if sources[0].name.endswith(one.suffix)), None)
    files: dict[str, SourceFile] = {}
    rewritten: dict[str, str] = {}
    waiting = [source.name for source in sources]
    while waiting:
        wanted = waiting.pop(0)
        path = next((folder / wanted for folder in folders if (folder / wanted).is_file()), None)
        if path and wanted not in files:
            shown = path.relative_to(root) if path.is_relative_to(root) else path
            own = language or _language_of(wanted, languages)
            files[wanted] = file = _read_file(path, wanted, shown.as_posix(), own)
            waiting += _read_includes(file)
            if own:
                rewritten[file.shown] = file.rewritten
    first, *others = files.values()
    if language:
        first = replace(first, before=language.before(rewritten))
    return Unit(name, language.tier if language else _read_tier(first), folders, (first, *others))


def _language_of(name: str, languages: Sequence[Language]) -> Language | None:
    return next((one for one in languages if name.endswith((one.suffix, *one.headers))), None)


def _read_file(path: Path, name: str, shown: str, language: Language | None) -> SourceFile:
    text = _read_text(path, shown)
    if not language:
        return SourceFile(name, shown, text, text, name)
    try:
        # A compiler would take the suffix for its own language of that name.
        copy = f"{name}.cpp" if name.endswith(language.suffix) else name
        return SourceFile(name, shown, text, language.rewrite(text), copy)
    except RewriteError as error:
        raise SourceError(f"{shown}:{error.line}: {error}") from None


def _read_text(path: Path, shown: str) -> str:
    """Return the text of a source, which may begin with the mark of UTF-8, as compilers take it."""
    with path.open("rb") as file:
        if file.read(2) in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
            raise SourceError(f"{shown}: the file is in UTF-16; save it in UTF-8")
    return path.read_text(encoding="utf-8-sig", errors="replace")


def _read_tier(first: SourceFile) -> Tier:
    match = TIER.match(first.text)
    if match and match[1] in tiers():
        return tiers()[match[1]]
    names = ", ".join(tiers())
    raise SourceError(f"{first.shown}:1: expected // tier: NAME, with a name out of {names}")


def _read_includes(file: SourceFile) -> list[str]:
    """Return the headers that `file` includes by quotes; refuse all of PyTorch."""
    for match in INCLUDE.finditer(file.text):
        if match[2] in REFUSED:
            line = line_number(file.text, match.start())
            raise SourceError(
                f"{file.shown}:{line}: #include <{match[2]}> is all of PyTorch and compiles for"
                " 20 seconds after every edit; leave it out, the tier in the first line has what"
                " this kata needs"
            )
    return [match[2] for match in INCLUDE.finditer(file.text) if match[1] == '"']
