"""The C++ compilers of this machine, for tests that build with more than one."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from plugins.native.toolchain import NEWEST
from plugins.native.toolchain import OLDEST
from plugins.native.toolchain import OLDEST_GXX
from plugins.native.toolchain import Compiler
from plugins.native.toolchain import ToolchainError
from plugins.native.toolchain import find_compiler
from plugins.native.toolchain import identify_compiler


def installed() -> dict[str, Compiler]:
    """Return every compiler that katas can be built with, by its name: ``clang++-14``."""
    versions = range(NEWEST, OLDEST_GXX - 1, -1)
    clangs, gxxs = ([f"{name}-{version}" for version in versions] for name in ("clang++", "g++"))
    found: dict[Path, Compiler] = {}
    # Those that `find_compiler` looks for come first: a build is kept by the name of its compiler.
    for name in (*clangs, "clang++", "g++", *gxxs):
        path = shutil.which(name)
        compiler = identify_compiler(path) if path else None
        if compiler and compiler.major >= (OLDEST if compiler.clang else OLDEST_GXX):
            found.setdefault(Path(compiler.path).resolve(), compiler)
    return {compiler.name: compiler for compiler in found.values()}


def compiler_of(kind: str) -> Compiler | None:
    """Return the compiler of the kind ``"clang"`` or ``"g++"`` to test with.

    That is the one that builds katas here, which ``KATAS_CXX`` chooses, or the newest of the other
    kind.
    """
    clang = kind == "clang"
    with suppress(ToolchainError):
        if (chosen := find_compiler()).clang == clang:
            return chosen
    others = [compiler for compiler in installed().values() if compiler.clang == clang]
    return max(others, key=lambda compiler: compiler.major, default=None)
