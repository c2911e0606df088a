"""Reads the sources of a C++ kata: its tier, and the headers beside it that it includes."""

from __future__ import annotations

import codecs
import hashlib
import re
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from pathlib import PurePath
from typing import TYPE_CHECKING

from plugins.native.cudasource import CudaError
from plugins.native.cudasource import rewrite_cuda
from plugins.native.cudastatements import statement_spans
from plugins.native.tiers import tiers


if TYPE_CHECKING:
    from plugins.course.model import Kata


TIER = re.compile(r"// tier: (\w+)[ \t]*(?:\n|$)")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">\n]+)[">]', re.MULTILINE)
SOURCES = {".cpp", ".cc", ".cu"}
# Sources and headers of kernels.
CUDA = (".cu", ".cuh")
# Each includes all of PyTorch: 15 to 20 s after every edit.
REFUSED = ("torch/extension.h", "torch/torch.h", "torch/all.h")


class SourceError(Exception):
    """A source that no compiler needs to see; the message is for the learner."""


def unit_name(kata: Kata) -> str:
    """Return ``lecture04_k03``: the namespace of a kata's operators, and its library's name."""
    return f"{kata.lecture}_{kata.name.partition('_')[0]}"


def library_sources(kata: Kata) -> dict[str, list[str]]:
    """Return the sources of each library of `kata`, by name: its kernels, then the operators."""
    name = unit_name(kata)
    found = {
        f"{name}_cuda": kata.cuda,
        name: [file for file in kata.csrc if file.endswith(".cpp")],
    }
    return {name: files for name, files in found.items() if files}


@dataclass(frozen=True)
class SourceFile:
    """A file as it was read; `shown` is its name in messages, `name` is relative to its folder.

    `cuda` says whether a source of kernels includes it, whatever its own name is. `before` is a
    line that only the compiler reads.
    """

    name: str
    shown: str
    text: str
    cuda: bool = False
    before: str = ""

    @property
    def of_kernels(self) -> bool:
        """Whether its text is CUDA C++."""
        return self.cuda or self.name.endswith(CUDA)

    @property
    def copy(self) -> str:
        """The name of the copy: a C++ compiler would take a ``.cu`` file for its own CUDA."""
        return f"{self.name}.cpp" if self.name.endswith(".cu") else self.name

    @property
    def numbered(self) -> str:
        """The text for the compiler, whose messages then name the learner's file, not the copy."""
        return f'{self.before}#line 1 "{self.shown}"\n{self.rewritten}'

    @property
    def rewritten(self) -> str:
        """The text as C++ without CUDA, with the same lines."""
        return rewrite_cuda(self.text) if self.of_kernels else self.text


@dataclass(frozen=True)
class Unit:
    """The content of one library: `files` are the sources, then the local headers."""

    name: str
    tier: str
    folders: tuple[Path, ...]
    files: tuple[SourceFile, ...]

    @property
    def sources(self) -> list[SourceFile]:
        """The files that are compiled."""
        return [file for file in self.files if PurePath(file.name).suffix in SOURCES]

    def key(self, recipe: str) -> str:
        """Return a name for the library that no other content has."""
        facts = [recipe, *(part for file in self.files for part in (file.name, file.text))]
        digest = hashlib.sha256("\0".join(facts).encode()).hexdigest()
        return f"{self.name}-{digest[:16]}"


def read_unit(name: str, sources: list[Path], root: Path, beside: Path) -> Unit:
    """Read the sources of the library `name`; messages show paths relative to `root`.

    Their local headers are in the folder of the first source or in the folder `beside`: a
    solution has no copy of the headers that come with its exercise.

    Raises
    ------
    SourceError
        If the first source names no tier, or a file includes all of PyTorch or is in UTF-16.
    """
    folders = tuple(dict.fromkeys((sources[0].parent, beside)))
    files: dict[str, SourceFile] = {}
    waiting = [source.name for source in sources]
    while waiting:
        wanted = waiting.pop(0)
        path = next((folder / wanted for folder in folders if (folder / wanted).is_file()), None)
        if path and wanted not in files:
            shown = path.relative_to(root) if path.is_relative_to(root) else path
            text = _read_text(path, shown.as_posix())
            kernels = sources[0].name.endswith(CUDA)
            files[wanted] = file = SourceFile(wanted, shown.as_posix(), text, kernels)
            waiting += _read_includes(file)
            _check_rewriting(file)
    first, *others = files.values()
    tier = _read_tier(first)
    if tier == "simt":
        first = replace(first, before=_statements([first, *others]))
    return Unit(name, tier, folders, (first, *others))


def _read_text(path: Path, shown: str) -> str:
    """Return the text of a source, which may begin with the mark of UTF-8, as compilers take it."""
    with path.open("rb") as file:
        if file.read(2) in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
            raise SourceError(f"{shown}: the file is in UTF-16; save it in UTF-8")
    return path.read_text(encoding="utf-8-sig", errors="replace")


def _statements(files: list[SourceFile]) -> str:
    """Return what tells the simulator where statements are; empty if each is a whole line."""
    lines = []
    for file in files:
        if file.of_kernels and (spans := statement_spans(file.rewritten)):
            places = ("-".join(f"{line}:{column}" for line, column in span) for span in spans)
            lines += [file.shown, *places]
    text = "\\n".join(lines)
    return f'SIMT_STATEMENTS("{text}");\n' if text else ""


def _check_rewriting(file: SourceFile) -> None:
    try:
        file.numbered  # noqa: B018 - rewritten when it is read
    except CudaError as error:
        raise SourceError(f"{file.shown}:{error.line}: {error}") from None


def _read_tier(first: SourceFile) -> str:
    if first.name.endswith(CUDA):
        return "simt"
    match = TIER.match(first.text)
    if match and match[1] in tiers():
        return match[1]
    names = ", ".join(name for name in tiers() if name != "simt")
    raise SourceError(f"{first.shown}:1: expected // tier: NAME, with a name out of {names}")


def _read_includes(file: SourceFile) -> list[str]:
    """Return the headers that `file` includes by quotes; refuse all of PyTorch."""
    for match in INCLUDE.finditer(file.text):
        if match[2] in REFUSED:
            line = file.text.count("\n", 0, match.start()) + 1
            raise SourceError(
                f"{file.shown}:{line}: #include <{match[2]}> is all of PyTorch and compiles for"
                " 20 seconds after every edit; leave it out, the tier in the first line has what"
                " this kata needs"
            )
    return [match[2] for match in INCLUDE.finditer(file.text) if match[1] == '"']
