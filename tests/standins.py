"""Stand-ins for the CUDA libraries that PyPI's torchvision and torchaudio link to, for CI.

PyPI has these packages for Linux as built for a CUDA build of torch. Beside a CPU build they do not
import: the loader does not find `libcudart`, `libc10_cuda` and `libtorch_cuda`. Their kernels for
the CPU need none of these, so libraries of the same names whose functions do nothing are enough:

    python -m tests.standins FOLDER
    LD_LIBRARY_PATH=FOLDER pytest katas/lecture20

This is for the tests of the course alone. Who calls a CUDA kernel through such a library gets 0.
It needs `ldd` and `nm`, and gcc.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path


PACKAGES = ("torchvision", "torchaudio")

# What the interpreter itself has, and `ldd`, which runs without it, reports as undefined.
OF_PYTHON = re.compile(r"_?Py[A-Z_]")
ABSENT = re.compile(r"^\s*(\S+) => not found$", re.MULTILINE)
UNDEFINED = re.compile(r"^undefined symbol: ([^\s,]+)", re.MULTILINE)


@dataclass(frozen=True)
class Missing:
    """What the loader would not find: the names of libraries, and symbols with their versions."""

    libraries: frozenset[str]
    symbols: frozenset[tuple[str, str]]  # the version is "" for most


def read_missing(loader: str, symbols: str) -> Missing:
    """The libraries and symbols that are missing, of what `ldd -r` and `nm -D` say of a library."""
    undefined = {name for name in UNDEFINED.findall(loader) if not OF_PYTHON.match(name)}
    versions = {}
    for line in symbols.splitlines():
        name, _, version = line.split()[-1].partition("@")
        versions[name] = version
    found = {(name, versions.get(name, "")) for name in undefined}
    return Missing(frozenset(ABSENT.findall(loader)), frozenset(found))


def write_assembly(names: list[str]) -> str:
    """Functions of these names, each of which returns 0."""
    labels = "".join(f".globl {name}\n.type {name}, @function\n{name}:\n" for name in names)
    zero = {"x86_64": "xor %eax, %eax\nret\n", "aarch64": "mov x0, #0\nret\n"}[os.uname().machine]
    return f'.text\n{labels}{zero}.section .note.GNU-stack,"",%progbits\n'


def build(missing: Missing, folder: Path) -> list[Path]:
    """Write a library for each missing name to `folder`; together they have all missing symbols."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = sorted(missing.libraries - {version for _, version in missing.symbols})
    built = []
    for library in sorted(missing.libraries):
        # A versioned symbol is looked for in its own library alone, others in all.
        versions = {library, ""} if library in plain[:1] else {library}
        names = sorted(name for name, version in missing.symbols if version in versions)
        source = folder / f"{library}.s"
        source.write_text(write_assembly(names), "utf-8")
        target = folder / library
        command = ["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{library}"]
        if library not in plain:
            versioned = folder / f"{library}.map"
            versioned.write_text(f"{library} {{ global: *; }};\n", "utf-8")
            command.append(f"-Wl,--version-script={versioned}")
        subprocess.run([*command, "-o", target, source], check=True)
        built.append(target)
    return built


def find_libraries(package: str) -> list[Path]:
    """The shared libraries of an installed package, which is not imported."""
    files = importlib.metadata.files(package) or []
    paths = [Path(str(file.locate())) for file in files]
    return [
        path for path in paths if path.suffix == ".so" and not path.parent.name.endswith(".libs")
    ]


def inspect(library: Path, folder: Path) -> Missing:
    """What the loader would not find for `library` beside the torch that is installed."""
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        sys.exit("torch is not installed here: install it first")
    path = f"{Path(torch.origin).parent / 'lib'}:{folder}"
    there = {**os.environ, "LD_LIBRARY_PATH": path, "LC_ALL": "C"}
    run = partial(subprocess.run, capture_output=True, text=True, env=there, check=True)
    loader = run(["ldd", "-r", library])
    symbols = run(["nm", "-D", "-u", library])
    return read_missing(loader.stdout + loader.stderr, symbols.stdout)


def main() -> None:
    """Build what the installed packages of `PACKAGES` miss."""
    parser = argparse.ArgumentParser(prog="python -m tests.standins", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="where the libraries go")
    folder = parser.parse_args().folder.resolve()
    found = [inspect(path, folder) for package in PACKAGES for path in find_libraries(package)]
    libraries = frozenset[str]().union(*(missing.libraries for missing in found))
    symbols = frozenset[tuple[str, str]]().union(*(missing.symbols for missing in found))
    for path in build(Missing(libraries, symbols), folder):
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
