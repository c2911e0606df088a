"""Builds a unit into a library, once for each content, so an undo builds nothing.

A library is named by the hash of everything that went into it. One process at a time makes it,
under another name, and moves it to its own when it is complete. The errors of a source that does
not compile are kept in the same way.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.native.compile import BrokenToolError
from plugins.native.compile import HeadersError
from plugins.native.compile import WaitingCompiler
from plugins.native.compile import check_status
from plugins.native.compile import compile_headers
from plugins.native.compile import driven_by_clang
from plugins.native.compile import forget_headers
from plugins.native.compile import headers_ready
from plugins.native.compile import refusal
from plugins.native.compile import run_tool
from plugins.native.diagnostics import format_diagnostics
from plugins.native.diagnostics import read_diagnostics
from plugins.native.folder import VARIABLE
from plugins.native.folder import prune
from plugins.native.recipe import Recipe
from plugins.native.toolchain import HOW
from plugins.native.toolchain import VARIABLE as NAMED
from plugins.tools.locks import locked
from plugins.tools.locks import slot


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence

    from plugins.native.sources import Unit
    from plugins.native.tiers import Tier
    from plugins.native.toolchain import Toolchain


# How clang complains about a header that has changed since it was compiled, as after an update
# of the system.
STALE = ("precompiled header", "precompiled file", "PCH file", "AST file")


class BuildError(Exception):
    """The source does not compile; the message is for the learner, and is kept."""


@dataclass(frozen=True)
class Builder:
    """Builds with one toolchain into one folder, whose path is absolute.

    Its recipes read compiler and headers once. Make a builder for a session, or for less: the
    next session's notices an update of either.
    """

    toolchain: Toolchain
    folder: Path
    # A compiler that was started before the source was there.
    waiting: WaitingCompiler | None = None
    _recipes: dict[str, Recipe] = field(default_factory=dict, init=False, repr=False, compare=False)

    def recipe(self, unit: Unit) -> Recipe:
        """Return how `unit` is built."""
        return self.recipe_of(unit.tier)

    def recipe_of(self, tier: Tier) -> Recipe:
        """Return how a tier is built: with the first compiler that has not refused its headers."""
        if (recipe := self._recipes.get(tier.name)) is None:
            usable = (item for item in self._possible(tier) if not refusal(item, self.folder))
            recipe = next(usable, None) or next(self._possible(tier))
            self._recipes[tier.name] = recipe
        return recipe

    def _possible(self, tier: Tier) -> Iterator[Recipe]:
        for compiler in self.toolchain.compilers():
            yield Recipe(replace(self.toolchain, compiler=compiler), tier)

    def passed_over(self, tier: Tier) -> list[str]:
        """Return the names of the compilers that come before the one of the tier."""
        chosen = self.recipe_of(tier).toolchain.compiler
        before = takewhile(lambda compiler: compiler != chosen, self.toolchain.compilers())
        return [compiler.name for compiler in before]

    def library(self, unit: Unit) -> Path:
        """Return where the library of `unit` is, or will be."""
        return self.folder / f"{unit.key(self.recipe(unit).stamp)}.so"

    def ready(self, unit: Unit) -> bool:
        """Whether `build` has nothing to do."""
        library = self.library(unit)
        return library.exists() or library.with_suffix(".failed").exists()

    def needs_headers(self, unit: Unit) -> bool:
        """Whether the headers of the tier must be compiled before `unit`."""
        return not headers_ready(self.recipe(unit), self.folder)

    def build(self, unit: Unit) -> Path:
        """Return the library of `unit`, built unless it is there.

        Raises
        ------
        BuildError
            If the source does not compile.
        BrokenToolError
            If the compiler, the linker or the disk fails.
        """
        try:
            if not self.ready(unit):
                self._settle(unit)
            library = self.library(unit)
            # A lock file must never be removed, so builds share a few names.
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

    def _settle(self, unit: Unit) -> None:
        """Compile the headers of the tier, with the next compiler where one cannot."""
        failed: dict[str, str] = {}
        while (recipe := self.recipe(unit)).name not in failed:
            try:
                compile_headers(recipe, self.folder)
            except HeadersError as error:
                name = recipe.toolchain.compiler.name
                failed[recipe.name] = f"{name} cannot compile them:\n{error}"
                self._recipes.pop(unit.tier.name, None)
            else:
                return
        trouble = "\n".join(failed.values())
        raise BrokenToolError(
            f"the fault is not in your code, but in the headers of the tier {unit.tier.name}\n"
            f"{trouble}\ninstall another compiler, or name one by {NAMED}: {HOW}"
        )

    def _advice(self, trouble: str) -> str:
        return f"{trouble}\n(builds are in {self.folder}, or where {VARIABLE} says)"

    def _build(self, unit: Unit, library: Path) -> None:
        recipe = self.recipe(unit)
        prefix = f"{library.stem}.build-"
        for killed in self.folder.glob(f"{prefix}*"):
            shutil.rmtree(killed, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=prefix) as name:
            work = Path(name)
            write_copies(unit, work)
            objects = []
            for file in unit.sources:
                objects.append(work / f"{file.name}.o")
                if message := self._compile(unit, work / file.copy, objects[-1]):
                    (work / "failed").write_text(message, encoding="utf-8")
                    (work / "failed").replace(library.with_suffix(".failed"))
                    return
            command = self._link(recipe, objects, work / "library")
            check_status(*self._run(recipe, command), command)
            (work / "library").replace(library)

    def _compile(self, unit: Unit, source: Path, target: Path) -> str:
        """Return the learner's errors; raise all others."""
        recipe = self.recipe(unit)
        command = recipe.compile(source, target, unit.folders)
        status, output = self._compile_by_waiting(unit, target) or self._run(recipe, command)
        if status and any(words in output for words in STALE):
            forget_headers(recipe, self.folder)
            status, output = self._run(recipe, command)
        texts = {file.shown: file.text for file in unit.files}
        if status and (message := format_diagnostics(read_diagnostics(output, texts), texts)):
            return message
        check_status(status, output, command)
        return ""

    def _compile_by_waiting(self, unit: Unit, target: Path) -> tuple[int, str] | None:
        """Return status and output of the compiler that waits for this; None if none does."""
        recipe, waiting = self.recipe(unit), self.waiting
        if not waiting or waiting.object.name != target.name:
            return None
        if not waiting.waits_for(recipe, unit, compile_headers(recipe, self.folder)):
            return None
        write_copies(unit, waiting.folder)
        with slot(self.folder):
            result = waiting.compile(unit.sources[0].numbered)
        if result and waiting.object.exists():
            waiting.object.replace(target)
        return result

    def wait_for(self, unit: Unit, folder: Path) -> WaitingCompiler | None:
        """Start a compiler that waits for the next content of `unit`, in `folder`; g++ does not."""
        recipe = self.recipe(unit)
        if not recipe.toolchain.compiler.clang:
            return None
        waiting = WaitingCompiler(recipe, unit, compile_headers(recipe, self.folder), folder)
        # Asked now, the linker's command is known then.
        self._link(recipe, [waiting.object], folder / "library")
        return waiting

    def _link(self, recipe: Recipe, objects: list[Path], target: Path) -> list[str]:
        """Return the command of the linker itself, where clang says what that is."""
        if not recipe.toolchain.compiler.clang or recipe.platform == "darwin":
            return recipe.link(objects, target)
        # clang passes these on as they are, and refuses objects that are not there yet.
        marks = [Path(f"-Wl,object{number}") for number in range(len(objects))]
        command = tuple(recipe.link(marks, Path("target")))
        driven = driven_by_clang(command, compile_headers(recipe, self.folder))
        files = {f"object{number}": str(file) for number, file in enumerate(objects)}
        files |= {f"-Wl,{mark}": file for mark, file in files.items()} | {"target": str(target)}
        return [files.get(word, word) for word in driven]

    def _run(self, recipe: Recipe, command: list[str]) -> tuple[int, str]:
        """Run `command` in the folder of the tier, whose headers are compiled first."""
        return run_tool(command, compile_headers(recipe, self.folder), self.folder)


def write_copies(unit: Unit, folder: Path) -> None:
    """Write the files of a unit as the compiler reads them."""
    for file in unit.files:
        (folder / file.copy).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.copy).write_text(file.numbered, encoding="utf-8")


def describe_build(builder: Builder, units: Sequence[Unit], kata: str) -> str:
    """Return the line shown while the first of `units` is built; the others wait for it.

    A first build says how long it may take to compile the headers of all of them.
    """
    unit = units[0]
    compiler = builder.recipe(unit).toolchain.compiler
    refused = "".join(f"; {name} cannot" for name in builder.passed_over(unit.tier))
    text = f"building {kata} ({unit.tier.name}, {compiler.name}{refused}) ..."
    first = {each.tier.name: each for each in units if builder.needs_headers(each)}
    if seconds := sum(_seconds(builder, each) for each in first.values()):
        text += f" first build: about {seconds} s"
    return text


def _seconds(builder: Builder, unit: Unit) -> int:
    """Return about how long the headers of `unit` take."""
    clang, gxx = unit.tier.seconds
    return clang if builder.recipe(unit).toolchain.compiler.clang else gxx
