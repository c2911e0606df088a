"""Builds a unit into a library, once per content: nothing is ever stale, an undo costs nothing.

A library is named by the hash of all that went into it, made under another name by one
process at a time, and moved to its own when it is complete. That a source does not compile
is remembered in the same way.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.compiling import BrokenToolError
from plugins.compiling import attempt
from plugins.compiling import check
from plugins.diagnostics import diagnostics
from plugins.diagnostics import shown
from plugins.folder import VARIABLE
from plugins.folder import prune
from plugins.headers import compile_headers
from plugins.headers import compiled
from plugins.headers import forget_headers
from plugins.locks import locked
from plugins.prelude import tiers
from plugins.recipe import Recipe


if TYPE_CHECKING:
    from plugins.sources import Unit
    from plugins.toolchain import Toolchain


# What clang says when a header has changed since it was compiled: the system was updated.
STALE = ("precompiled header", "precompiled file", "PCH file", "AST file")


class BuildError(Exception):
    """The source does not compile; the message is for the learner, and is remembered."""


@dataclass(frozen=True)
class Builder:
    """Builds with one toolchain into one folder, whose path is absolute."""

    toolchain: Toolchain
    folder: Path

    def recipe(self, unit: Unit) -> Recipe:
        """Return how `unit` is built."""
        return Recipe(self.toolchain, tiers()[unit.tier])

    def library(self, unit: Unit) -> Path:
        """Return where the library of `unit` is, or will be."""
        return self.folder / f"{unit.key(self.recipe(unit).stamp)}.so"

    def ready(self, unit: Unit) -> bool:
        """Whether `build` has nothing left to do."""
        library = self.library(unit)
        return library.exists() or library.with_suffix(".failed").exists()

    def first(self, unit: Unit) -> bool:
        """Whether the headers of the tier must be compiled before `unit` can be."""
        return not compiled(self.recipe(unit), self.folder)

    def build(self, unit: Unit) -> Path:
        """Return the library of `unit`, which is built if need be.

        Raises
        ------
        BuildError
            If the source does not compile.
        BrokenToolError
            If the compiler, the linker or the disk fails.
        """
        library = self.library(unit)
        try:
            # Few names for many locks: files of locks must never be removed.
            with locked(self.folder / f"{library.stem[-2:]}.lock"):
                if not self.ready(unit):
                    self._build(unit, library)
                    prune(self.folder)
            if library.exists():
                # The time of the last use, for `prune`.
                os.utime(library)
                return library
            raise BuildError(library.with_suffix(".failed").read_text(encoding="utf-8"))
        except OSError as error:
            raise BrokenToolError(self._advice(error.strerror or str(error))) from error
        except BrokenToolError as error:
            raise BrokenToolError(self._advice(str(error))) from error

    def _advice(self, trouble: str) -> str:
        return f"{trouble}\n(builds are in {self.folder}, or where {VARIABLE} says)"

    def _build(self, unit: Unit, library: Path) -> None:
        recipe = self.recipe(unit)
        prefix = f"{library.stem}.build-"
        for killed in self.folder.glob(f"{prefix}*"):
            shutil.rmtree(killed, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=prefix) as name:
            work = Path(name)
            for file in unit.files:
                (work / file.copy).parent.mkdir(parents=True, exist_ok=True)
                (work / file.copy).write_text(file.numbered, encoding="utf-8")
            objects = []
            for file in unit.sources:
                objects.append(work / f"{file.name}.o")
                if message := self._compile(unit, work / file.copy, objects[-1]):
                    (work / "failed").write_text(message, encoding="utf-8")
                    (work / "failed").replace(library.with_suffix(".failed"))
                    return
            command = recipe.link(objects, work / "library")
            check(*attempt(command, compile_headers(recipe, self.folder), self.folder), command)
            (work / "library").replace(library)

    def _compile(self, unit: Unit, source: Path, target: Path) -> str:
        """Return the learner's errors; raise those that are not theirs."""
        recipe = self.recipe(unit)
        command = recipe.compile(source, target)
        for folder in unit.folders:
            command += ["-iquote", str(folder)]
        status, output = attempt(command, compile_headers(recipe, self.folder), self.folder)
        if status and any(words in output for words in STALE):
            forget_headers(recipe, self.folder)
            status, output = attempt(command, compile_headers(recipe, self.folder), self.folder)
        texts = {file.shown: file.text for file in unit.files}
        if status and (message := shown(diagnostics(output, texts), texts)):
            return message
        check(status, output, command)
        return ""
