"""Finds the C++ compiler and the torch to build for, without importing it, which takes a second.

``KATAS_CXX`` names another compiler, by name or by path: ``KATAS_CXX=g++ pytest katas/lecture04``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterator

from plugins.tools.terminal import install_command


VARIABLE = "KATAS_CXX"
# The first clang that instantiates templates in a precompiled header and compiles them there.
OLDEST, NEWEST = 14, 30
# The first g++ that knows all of C++20 that PyTorch's headers use.
OLDEST_GXX = 11
HOW = "apt install clang lld; brew install llvm lld; or conda install -c conda-forge clangxx lld"
# Homebrew keeps its clang out of PATH, where it would hide Apple's.
KEGS = ("/opt/homebrew/opt/llvm/bin", "/usr/local/opt/llvm/bin")


class ToolchainError(Exception):
    """No C++ source can be built here; the message says why and what to install, in a sentence."""


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler and the fastest linker that it can drive; `linker` is empty for its own."""

    path: str
    clang: bool
    major: int
    version: str
    linker: str

    @property
    def name(self) -> str:
        """``clang++-19``."""
        return Path(self.path).name

    @property
    def stamp(self) -> str:
        """A text that changes when another compiler replaces this one."""
        real = Path(self.path).resolve()
        return f"{real} {real.stat().st_mtime_ns} {self.version} {self.linker}"


@dataclass(frozen=True)
class Torch:
    """The torch that this Python would import."""

    folder: Path
    cxx11_abi: bool
    stamp: str


@dataclass(frozen=True)
class Toolchain:
    """The compiler, and the torch that must be able to load its libraries.

    Where `replaceable`, the next compiler of the machine takes over what this one cannot build.
    """

    compiler: Compiler
    torch: Torch
    replaceable: bool = False

    def compilers(self) -> Iterator[Compiler]:
        """Yield the compiler, and then those that may take its place."""
        yield self.compiler
        if self.replaceable:
            yield from (other for other in find_compilers() if other != self.compiler)


def find_toolchain() -> Toolchain:
    """Return the compiler and torch to use.

    Raises
    ------
    ToolchainError
        If one of them is missing.
    """
    return Toolchain(find_compiler(), find_torch(), replaceable=not os.environ.get(VARIABLE))


def find_compiler() -> Compiler:
    """Return the compiler that ``KATAS_CXX`` names, else the newest clang, else g++."""
    if found := next(find_compilers(), None):
        return found
    if asked := os.environ.get(VARIABLE):
        raise ToolchainError(f"{VARIABLE}={asked} is not a C++ compiler that can be run")
    raise ToolchainError(f"no C++ compiler (clang++ {OLDEST} or g++ {OLDEST_GXX}); {HOW}")


def find_compilers() -> Iterator[Compiler]:
    """Yield the compiler that ``KATAS_CXX`` names, else each clang, newest first, and then g++.

    A compiler under two names is one; none is asked for its version before it is its turn.
    """
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *KEGS))
    if asked := os.environ.get(VARIABLE):
        found = shutil.which(asked, path=path)
        if found and (compiler := identify_compiler(found)):
            yield compiler
        return
    numbered = (shutil.which(f"clang++-{n}", path=path) for n in range(NEWEST, OLDEST - 1, -1))
    clangs = [*filter(None, numbered)]
    # The name without a number may be that of a newer one.
    names = (*clangs[:1], shutil.which("clang++", path=path))
    first = [clang for name in names if (clang := _identify(name))]
    first.sort(key=lambda clang: -clang.major)
    others = (*clangs[1:], *(shutil.which(name, path=path) for name in ("g++", "c++")))
    seen = set()
    for compiler in chain(first, filter(None, map(_identify, others))):
        real = Path(compiler.path).resolve()
        if compiler.major >= (OLDEST if compiler.clang else OLDEST_GXX) and real not in seen:
            seen.add(real)
            yield compiler


def _identify(path: str | None) -> Compiler | None:
    return identify_compiler(path) if path else None


def identify_compiler(path: str) -> Compiler | None:
    """Return the compiler at `path`, by its ``--version``; None if it is neither clang nor g++.

    It is asked once for each file: a build takes ten times as long, but a test may not.
    """
    try:
        found = Path(path).stat()
    except OSError:
        return None
    version, clang, major = _ask(path, (found.st_ino, found.st_size, found.st_mtime_ns))
    return Compiler(path, clang, major, version, find_linker(path, clang, major)) if major else None


@cache
def _ask(path: str, _stamp: tuple[int, ...]) -> tuple[str, bool, int]:
    """Return the line with the version, whether it is clang's, and the major version, or 0."""
    try:
        output = subprocess.run(  # noqa: S603 - the learner's own compiler
            [path, "--version"], capture_output=True, text=True, check=False, timeout=60
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return "", False, 0
    version = output.partition("\n")[0]
    if match := re.search(r"clang version (\d+)", version):
        return version, True, int(match[1])
    match = re.search(r"\) (\d+)\.", version)
    return version, False, int(match[1]) if match else 0


def find_linker(path: str, clang: bool, major: int) -> str:  # noqa: FBT001 - two facts of one compiler
    """Return the value of ``-fuse-ld``: mold takes half the time of lld, lld half of the others."""
    beside = Path(path).resolve().parent
    # g++ has known mold since version 12.
    if shutil.which("ld.mold") and (clang or major >= 12):  # noqa: PLR2004
        return "mold"
    if shutil.which("ld.lld") or (clang and (beside / "ld.lld").exists()):
        return "lld"
    return ""


def find_torch() -> Torch:
    """Return the installed torch, read from its files."""
    spec = find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        how = install_command("-r requirements.txt")
        raise ToolchainError(f"torch is not installed; {how}")
    folder = Path(spec.submodule_search_locations[0])
    about = folder / "version.py"
    # The exported names show which std::string the wheel was built with.
    library = next((folder / "lib").glob("libc10.*"), None)
    abi = library is None or b"__cxx11" in library.read_bytes()
    # With the time: precompiled headers do not match those of a torch that was installed again.
    stamp = f"{folder} {about.stat().st_mtime_ns} {about.read_text(encoding='utf-8')}"
    return Torch(folder, abi, stamp)
