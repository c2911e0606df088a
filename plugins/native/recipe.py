"""The command lines of a build, for clang and for g++; nothing here runs them.

clang compiles the headers of a tier into a precompiled header, and their inline functions into
an object that is linked statically: a kata then compiles only its own code. g++ can do the former
only. Katas link against empty libraries with the names of torch's: the real ones are slow to
read, and are already loaded when a kata's is.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from plugins import HERE


if TYPE_CHECKING:
    from collections.abc import Iterable

    from plugins.native.tiers import Tier
    from plugins.native.toolchain import Toolchain


LIBRARIES = ("torch_cpu", "c10")
EXPORTS = "{ global: kata_*; local: *; };\n"
# Three errors are enough to read at a time, and the compiler stops early.
ERRORS = 3
# Linked into every library: what writes the calls of a fault.
FAULTS = "faults.cpp"
# The lines of the calls, and no types or variables, which take a fifth longer: the last option
# decides. Every addr2line reads this version.
LINES = ("-gdwarf-4", "-g1")
# The first clang whose mangled names say how a template's parameter was declared. The g++ that
# builds PyTorch's wheels for Linux leaves that out, so some functions of ATen would be missing,
# such as Tensor::const_data_ptr of torch 2.11.
OTHER_NAMES = 18
NAMES_OF_GXX = "-fclang-abi-compat=17"


@dataclass(frozen=True)
class Recipe:
    """How sources of one tier become a library, with one compiler, for one torch.

    Commands run in the folder of the tier, which holds the files that they name without a folder.
    Files and compiler are read once: a recipe stands for what they were then.
    """

    toolchain: Toolchain
    tier: Tier
    platform: str = sys.platform

    @cached_property
    def name(self) -> str:
        """The folder of the tier; another compiler, torch or set of headers has another."""
        files = [text for item in self.files.items() for text in item]
        digest = _digest(self.toolchain.compiler.stamp, self.toolchain.torch.stamp, *files)
        return f"{self.tier.name}-{_digest(digest, *map(' '.join, self.prepare()))}"

    @cached_property
    def stamp(self) -> str:
        """A text that changes with the folder of the tier, or with how it is used."""
        use = [*self.compile(Path("a"), Path("b")), *self.link([], Path("c"))]
        return " ".join((self.name, *use))

    @property
    def options(self) -> list[str]:
        """The options for sources and headers; a precompiled header requires the same.

        clang's may lack the lines, which are of no use there.
        """
        include = self.toolchain.torch.folder / "include"
        abi = int(self.toolchain.torch.cxx11_abi)
        folders = ["-isystem", str(include), "-isystem", str(include / "torch/csrc/api/include")]
        standard = ["-fPIC", "-std=c++20", f"-D_GLIBCXX_USE_CXX11_ABI={abi}"]
        compiler = self.toolchain.compiler
        tier = self.tier.clang if compiler.clang else self.tier.gxx
        newer = compiler.clang and compiler.major >= OTHER_NAMES and self.platform != "darwin"
        names = [NAMES_OF_GXX] * newer
        lines = () if compiler.clang else LINES
        return [compiler.path, *self.tier.options, *tier, *names, *lines, *standard, *folders]

    @property
    def compiled(self) -> bool:
        """Whether the headers' functions are compiled into an object of their own."""
        return self.toolchain.compiler.clang and self.tier.compiled

    @cached_property
    def files(self) -> dict[str, str]:
        """The files that the first command needs: the same text that `name` is the hash of."""
        files = {FAULTS: HERE / "native" / FAULTS, **self.tier.files}
        own = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
        # g++ would compile the instances into each source.
        text = self.tier.text + self.tier.instantiated * self.compiled
        return {"tier.h": text, "exports": EXPORTS, "empty.cpp": "", **own}

    @property
    def objects(self) -> list[str]:
        """The objects of the tier, linked into every library."""
        return ["tier.o"] * self.compiled + [f"{name}.o" for name in self._sources()]

    def _libraries(self) -> tuple[str, ...]:
        return LIBRARIES if self.tier.torch else ()

    def _sources(self) -> list[str]:
        return [FAULTS, *(name for name in self.tier.files if name.endswith(".cpp"))]

    def prepare(self) -> list[list[str]]:
        """Return the commands that run once per tier."""
        path = self.toolchain.compiler.path
        commands = [self._stub(name) for name in self._libraries() if self.platform != "darwin"]
        ours = [path, "-O2", *LINES, "-fPIC", "-std=c++20", "-c"]
        commands += [
            [*ours, *self.tier.linked * (name != FAULTS), name, "-o", f"{name}.o"]
            for name in self._sources()
        ]
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

    def compile(self, source: Path, target: Path, folders: Iterable[Path] = ()) -> list[str]:
        """Return the command that compiles one source, with local headers in `folders`."""
        if self.toolchain.compiler.clang:
            use = ["-include-pch", "tier.pch", "-fno-caret-diagnostics", f"-ferror-limit={ERRORS}"]
            use += LINES
        else:
            use = ["-include", "tier.h", "-fno-diagnostics-show-caret", f"-fmax-errors={ERRORS}"]
        # A function that returns no value is legal C++ that crashes.
        use.append("-Werror=return-type")
        quoted = [word for folder in folders for word in ("-iquote", str(folder))]
        return [*self.options, *use, "-c", str(source), "-o", str(target), *quoted]

    def link(self, objects: Iterable[Path], target: Path) -> list[str]:
        """Return the command that links the library."""
        # Ours first: of a function that both have, such as one of std::string, the linker takes the
        # first, and a sanitizer's calls in the other would call themselves.
        parts = [*self.objects, *map(str, objects), "-o", str(target)]
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
