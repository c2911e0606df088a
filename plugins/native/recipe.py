"""The command lines of a build, for clang and for g++; nothing here runs them.

clang compiles the headers of a tier into a precompiled header, and their inline functions
into an object that is linked statically, so that a kata compiles nothing but its own code.
g++ can do the former only. What is linked against are empty libraries of the right names:
the real ones are loaded already when the kata's is, and are slow to read.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable

    from plugins.prelude import Tier
    from plugins.toolchain import Toolchain


LIBRARIES = ("torch_cpu", "c10")
EXPORTS = "{ global: kata_*; local: *; };\n"
# Three errors are enough to read at a time, and the compiler stops early.
ERRORS = 3
# The first clang that writes how a template's parameter was declared into the names of its
# functions. The g++ that PyTorch's wheels for Linux are built with does not: some functions of
# ATen would be looked for in vain, such as Tensor::const_data_ptr of torch 2.11.
OTHER_NAMES = 18
NAMES_OF_GXX = "-fclang-abi-compat=17"


@dataclass(frozen=True)
class Recipe:
    """How sources of one tier become a library, with one compiler, for one torch.

    Commands run in the folder of the tier, where the files they name without a folder are.
    """

    toolchain: Toolchain
    tier: Tier
    platform: str = sys.platform

    @property
    def name(self) -> str:
        """The folder of the tier; another compiler, torch or set of headers has another."""
        files = [text for item in self.files().items() for text in item]
        digest = _digest(self.toolchain.compiler.stamp, self.toolchain.torch.stamp, *files)
        return f"{self.tier.name}-{_digest(digest, *map(' '.join, self.prepare()))}"

    @property
    def stamp(self) -> str:
        """A text that changes with the folder of the tier, or with how it is used."""
        use = [*self.compile(Path("a"), Path("b")), *self.link([], Path("c"))]
        return " ".join((self.name, *use))

    @property
    def options(self) -> list[str]:
        """What sources and headers are compiled with; a precompiled header wants the same."""
        include = self.toolchain.torch.folder / "include"
        abi = int(self.toolchain.torch.cxx11_abi)
        folders = ["-isystem", str(include), "-isystem", str(include / "torch/csrc/api/include")]
        standard = ["-fPIC", "-std=c++20", f"-D_GLIBCXX_USE_CXX11_ABI={abi}"]
        compiler = self.toolchain.compiler
        tier = self.tier.clang if compiler.clang else self.tier.gxx
        newer = compiler.clang and compiler.major >= OTHER_NAMES and self.platform != "darwin"
        names = [NAMES_OF_GXX] * newer
        return [compiler.path, *self.tier.options, *tier, *names, *standard, *folders]

    @property
    def compiled(self) -> bool:
        """Whether the headers' functions stand in an object of their own."""
        return self.toolchain.compiler.clang and self.tier.compiled

    def files(self) -> dict[str, str]:
        """Return the files that must be there before the first command runs."""
        own = {file.name: file.read_text(encoding="utf-8") for file in self.tier.files}
        return {"tier.h": self.tier.text, "exports": EXPORTS, "empty.cpp": "", **own}

    @property
    def objects(self) -> list[str]:
        """The objects of the tier that every library is linked with."""
        return ["tier.o"] * self.compiled + [f"{file.name}.o" for file in self._sources()]

    def _libraries(self) -> tuple[str, ...]:
        return LIBRARIES if self.tier.torch else ()

    def _sources(self) -> list[Path]:
        return [file for file in self.tier.files if file.suffix == ".cpp"]

    def prepare(self) -> list[list[str]]:
        """Return the commands that are run once per tier."""
        path = self.toolchain.compiler.path
        commands = [self._stub(name) for name in self._libraries() if self.platform != "darwin"]
        plain = [path, "-O2", "-g1", "-gdwarf-4", "-fPIC", "-std=c++20", "-c"]
        commands += [[*plain, file.name, "-o", f"{file.name}.o"] for file in self._sources()]
        if not self.toolchain.compiler.clang:
            return [*commands, [*self.options, "-x", "c++-header", "tier.h", "-o", "tier.h.gch"]]
        extra = ["-fpch-instantiate-templates", *["-fpch-codegen"] * self.compiled]
        header = [*self.options, *extra, "-x", "c++-header", "tier.h", "-o", "tier.pch"]
        commands.append(header)
        if self.compiled:
            sections = ["-ffunction-sections", "-fdata-sections"]
            level = self.tier.options[0]
            commands.append([path, level, "-fPIC", *sections, "-c", "tier.pch", "-o", "tier.o"])
        return commands

    def compile(self, source: Path, target: Path) -> list[str]:
        """Return the command that compiles one source."""
        if self.toolchain.compiler.clang:
            use = ["-include-pch", "tier.pch", "-fno-caret-diagnostics", f"-ferror-limit={ERRORS}"]
        else:
            use = ["-include", "tier.h", "-fno-diagnostics-show-caret", f"-fmax-errors={ERRORS}"]
        # Not to return a value is legal C++ that crashes.
        use.append("-Werror=return-type")
        return [*self.options, *use, "-c", str(source), "-o", str(target)]

    def link(self, objects: Iterable[Path], target: Path) -> list[str]:
        """Return the command that makes the library."""
        parts = [*map(str, objects), *self.objects, "-o", str(target)]
        if self.platform == "darwin":
            exports = ["-Wl,-exported_symbol,_kata_*", "-Wl,-dead_strip"]
            return [*self._shared(), *parts, *exports, "-Wl,-undefined,dynamic_lookup"]
        exports = ["-Wl,--version-script=exports", "-Wl,--gc-sections", "-Wl,--no-as-needed"]
        libraries = [f"-l{name}" for name in self._libraries()]
        return [*self._shared(), *parts, *exports, "-L.", *libraries]

    def _stub(self, name: str) -> list[str]:
        library = f"lib{name}.so"
        return [*self._shared(), "-nostdlib", "empty.cpp", f"-Wl,-soname,{library}", "-o", library]

    def _shared(self) -> list[str]:
        linker = self.toolchain.compiler.linker
        return [self.toolchain.compiler.path, "-shared", *[f"-fuse-ld={linker}"] * bool(linker)]


def _digest(*facts: str) -> str:
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:16]
