"""The compilers that the course promises to build with: the oldest and the newest of each kind."""

from __future__ import annotations

import os
import re
from pathlib import Path

from plugins.native.toolchain import OLDEST
from plugins.native.toolchain import OLDEST_GXX
from plugins.native.toolchain import Compiler
from plugins.native.toolchain import identify_compiler


NAME = re.compile(r"(?:clang\+\+|g\+\+)(?:-\d+)?")
ROLES = ("oldest clang++", "newest clang++", "oldest g++", "newest g++")


def compiler_of(role: str) -> Compiler | None:
    """Return the compiler in this role on this machine, of those that are new enough."""
    age, _, kind = role.partition(" ")
    clang = kind == "clang++"
    folders = map(Path, os.environ.get("PATH", os.defpath).split(os.pathsep))
    files = {
        file for folder in folders for file in folder.glob("*++*") if NAME.fullmatch(file.name)
    }
    known = [found for file in sorted(files) if (found := identify_compiler(str(file)))]
    oldest = OLDEST if clang else OLDEST_GXX
    usable = [found for found in known if found.clang == clang and found.major >= oldest]
    choose = min if age == "oldest" else max
    return choose(usable, key=lambda found: found.major, default=None)
