"""Runs compilers and linkers, at most one per processor, and keeps compiled headers.

The headers of a tier are compiled once for each compiler and torch, into a folder of their own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.tools.locks import locked
from plugins.tools.locks import slot


if TYPE_CHECKING:
    from collections.abc import Sequence

    from plugins.native.recipe import Recipe
    from plugins.native.sources import Unit


# How much of its output the message about a broken tool shows.
LINES = 5
ERROR = re.compile(r"\b(?:error|undefined reference)\b", re.IGNORECASE)
FULL = "No space left on device"
# Names the folder with complete headers; its time is that of the last use, for `builder.prune`.
READY = "ready"
# Holds why this compiler cannot compile the headers, for as many seconds: the rest of the system
# may be mended, as by an installation of the standard library that a newer clang looks for.
REFUSED, WHILE = "refused", 24 * 60 * 60
# What the compiler says although nothing is wrong with it or with the headers.
PASSING = re.compile(r"killed|out of memory|memory exhausted|No space left", re.IGNORECASE)
# By these a compiler or a linker would read, write or run something else than the command says:
# "Environment Variables Affecting GCC" in GCC's manual, "Environment" in clang's and ld's, and
# CompilerInvocation and Driver in clang's sources.
FOREIGN = frozenset(
    {
        # Folders of headers: of another torch or a CUDA toolkit, and before those of the system.
        *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH"),
        "OBJCPLUS_INCLUDE_PATH",
        # Folders of libraries, and of those that ours would look for when it is loaded.
        *("LIBRARY_PATH", "LD_RUN_PATH"),
        # Other programs in the place of cc1plus, as and ld.
        *("COMPILER_PATH", "GCC_EXEC_PREFIX", "GCC_COMPARE_DEBUG", "LDEMULATION", "GNUTARGET"),
        # Options that are added to the command, or taken from it.
        *("CCC_OVERRIDE_OPTIONS", "QA_OVERRIDE_GCC3_OPTIONS", "CCC_ADD_ARGS", "RC_DEBUG_OPTIONS"),
        # Output beside the errors, or in a file.
        *("DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES", "CC_LOG_DIAGNOSTICS", "CC_PRINT_OPTIONS"),
        *("CC_PRINT_HEADERS", "CC_PRINT_PROC_STAT", "CC_PRINT_INTERNAL_STAT"),
        "CLANG_CRASH_DIAGNOSTICS_DIR",
    }
)
# Apple's compilers find the system's headers by it; elsewhere it is somebody's cross compilation.
APPLE = ("SDKROOT", "MACOSX_DEPLOYMENT_TARGET")


class BrokenToolError(Exception):
    """Compiler, linker or disk failed, not the source: trying again may help."""


class HeadersError(BrokenToolError):
    """A compiler cannot compile the headers of a tier; another one may."""


def run_tool(command: Sequence[str], cwd: Path, folder: Path) -> tuple[int, str]:
    """Run `command` in `cwd` under one of the locks in `folder`; return its status and output."""
    with slot(folder):
        done = subprocess.run(  # noqa: S603 - a command of plugins.native.recipe
            command,
            cwd=cwd,
            env=tool_environment(cwd),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    return done.returncode, done.stdout


def tool_environment(cwd: Path) -> dict[str, str]:
    """Return the variables of a tool that works in `cwd`.

    The learner's, since PATH, HOME and what wraps a compiler (ccache, Nix, conda) are needed, but
    none that make the same command do something else.
    """
    foreign = FOREIGN if sys.platform == "darwin" else FOREIGN.union(APPLE)
    kept = {name: value for name, value in os.environ.items() if name not in foreign}
    # Messages that are parsed must be in English, and temporary files of the compiler belong
    # where its result has room.
    return {**kept, "LC_ALL": "C", "TMPDIR": str(cwd)}


@cache
def driven_by_clang(command: tuple[str, ...], cwd: Path) -> tuple[str, ...]:
    """Return what clang runs to do `command`; without clang, that takes a third less."""
    done = subprocess.run(  # noqa: S603 - a command of plugins.native.recipe
        [*command, "-###"],
        cwd=cwd,
        env=tool_environment(cwd),
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
    )
    lines = done.stderr.splitlines()
    words = shlex.split(lines[-1]) if lines and not done.returncode else []
    return tuple(words) if words and Path(words[0]).is_absolute() else command


def check_status(status: int, output: str, command: Sequence[str]) -> None:
    """Raise a BrokenToolError if `command`, which compiles no source of a learner's, failed."""
    if status == 0:
        return
    name = Path(command[0]).name
    if FULL in output:
        raise BrokenToolError(f"{name}: {FULL}")
    end = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    raise BrokenToolError(f"{name} {end}\n{telling_lines(output)}".rstrip())


def telling_lines(output: str) -> str:
    """Return the first error in the output of a tool and what explains it, or the last lines."""
    lines = output.strip().splitlines()
    first = next((number for number, line in enumerate(lines) if ERROR.search(line)), None)
    shown = lines[-LINES:] if first is None else lines[first : first + LINES]
    return "\n".join(shown)


class WaitingCompiler:
    """A running clang that waits for the first source of a unit, for the next save of ``--watch``.

    Starting, and reading of the headers what every source needs, takes clang half of the time of a
    small source. So it is started when a build has ended, on a file that includes a pipe: the
    source that is saved next goes into the pipe.
    """

    def __init__(self, recipe: Recipe, unit: Unit, headers: Path, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.folder = folder
        self.object = folder / f"{unit.sources[0].name}.o"
        self.headers, self.command = headers, self._command(recipe, unit)
        reader, writer = os.pipe()
        self._pipe = os.fdopen(writer, "w", encoding="utf-8")
        wanted = recipe.tier.wanted.read_text(encoding="utf-8") if recipe.tier.wanted else ""
        text = f'{wanted}#include "/dev/fd/{reader}"\n'
        (folder / "main.cpp").write_text(text, encoding="utf-8")
        self.process = subprocess.Popen(  # noqa: S603 - a command of plugins.native.recipe
            self.command,
            cwd=headers,
            env=tool_environment(headers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # If this process ends, however it does, clang comes to the end of the pipe and ends.
            pass_fds=(reader,),
        )
        os.close(reader)

    def _command(self, recipe: Recipe, unit: Unit) -> list[str]:
        return recipe.compile(self.folder / "main.cpp", self.object, unit.folders)

    def waits_for(self, recipe: Recipe, unit: Unit, headers: Path) -> bool:
        """Whether it compiles the first source of `unit` as another one would now."""
        return (self.headers, self.command) == (headers, self._command(recipe, unit))

    def compile(self, text: str) -> tuple[int, str] | None:
        """Compile `text` into `object`; return status and output, or None if it has ended."""
        try:
            with self._pipe:
                self._pipe.write(text)
        except BrokenPipeError:
            return None
        output, _ = self.process.communicate()
        return self.process.returncode, output

    def end(self) -> None:
        """End it, if it waits still."""
        self._pipe.close()
        with self.process:
            self.process.kill()


def headers_ready(recipe: Recipe, folder: Path) -> bool:
    """Whether `compile_headers` has nothing to do."""
    return (folder / recipe.name / READY).exists()


def compile_headers(recipe: Recipe, folder: Path) -> Path:
    """Compile the headers of `recipe`, unless they are ready, and return their folder.

    Raises
    ------
    HeadersError
        If the compiler finds an error in them, or cannot do what the recipe wants.
    BrokenToolError
        If something else fails.
    """
    home = folder / recipe.name
    home.mkdir(exist_ok=True)
    ready = home / READY
    with locked(home / "lock"):
        if not ready.exists():
            for killed in home.glob("tier-*"):
                shutil.rmtree(killed, ignore_errors=True)
            # A new folder each time: compilers of a killed build may still write to the old one.
            work = Path(tempfile.mkdtemp(dir=home, prefix="tier-"))
            for name, text in recipe.files.items():
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                (work / name).write_text(text, encoding="utf-8")
            for command in recipe.prepare():
                status, output = run_tool(command, work, folder)
                if status > 0 and ERROR.search(output) and not PASSING.search(output):
                    reason = telling_lines(output)
                    (home / REFUSED).write_text(reason, encoding="utf-8")
                    raise HeadersError(reason)
                check_status(status, output, command)
            (home / REFUSED).unlink(missing_ok=True)
            (work / READY).write_text(work.name, encoding="utf-8")
            (work / READY).replace(ready)
        os.utime(ready)
        return home / ready.read_text(encoding="utf-8")


def refusal(recipe: Recipe, folder: Path) -> str:
    """Return why the compiler could not compile the headers when it last tried; empty if it can."""
    file = folder / recipe.name / REFUSED
    try:
        recent = time.time() - file.stat().st_mtime < WHILE
        return file.read_text(encoding="utf-8") if recent else ""
    except FileNotFoundError:
        return ""


def forget_headers(recipe: Recipe, folder: Path) -> None:
    """Make the next `compile_headers` compile anew."""
    (folder / recipe.name / READY).unlink(missing_ok=True)
