"""The backend ``nvcc``: NVIDIA's compiler, which a GPU needs and which works without one.

Without a GPU it shows what a kernel becomes (`plugins.ptx`); for one it builds the library of
kernels that an operator calls with tensors of CUDA (`plugins.gpu`).
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.capability import Capability
from plugins.compiling import attempt
from plugins.course import kata_of


if TYPE_CHECKING:
    from collections.abc import Iterator


CUDA = "/usr/local/cuda"
MISSING = (
    "nvcc is not installed; python -m pip install --group nvcc (105 MB to download, Linux), or the"
    " CUDA toolkit: https://developer.nvidia.com/cuda-toolkit"
)
# As for the CPU, and for PyTorch's own kernels.
STANDARD = "-std=c++20"
ERROR = re.compile(r"^(?P<file>[^\n(]+)\((?P<line>\d+)\): error: (?P<text>.+)$", re.MULTILINE)


class NvccError(Exception):
    """nvcc refuses the source; the message is for the learner."""


@dataclass(frozen=True)
class Nvcc:
    """An nvcc, and where it finds what it links with."""

    path: Path

    @property
    def libraries(self) -> list[str]:
        """The option for the CUDA runtime's folder, which the wheels call otherwise than nvcc."""
        lib = self.path.parent.parent / "lib"
        return [f"-L{lib}"] if (lib / "libcudart_static.a").is_file() else []

    def run(self, source: Path, target: Path, options: list[str], folder: Path) -> None:
        """Compile `source` to `target`, under one of the locks in `folder`.

        Raises
        ------
        NvccError
            With nvcc's first error and the line of the source it is in.
        """
        command = [str(self.path), STANDARD, *options, *self.libraries, "-o", str(target)]
        status, output = attempt([*command, str(source)], target.parent, folder)
        if status:
            raise NvccError(_first(output, source))


def _first(output: str, source: Path) -> str:
    found = ERROR.search(output)
    if not found:
        last = "\n".join(output.strip().splitlines()[-5:])
        return f"nvcc cannot compile {source.name}:\n{last}"
    line = int(found["line"])
    lines = source.read_text(encoding="utf-8").splitlines()
    own = Path(found["file"]).name == source.name and line <= len(lines)
    shown = f"\n{lines[line - 1]}" if own else ""
    return f"nvcc: {Path(found['file']).name}:{line}: error: {found['text']}{shown}"


def places() -> Iterator[str]:
    """Return the folders to look for nvcc in: those that PyTorch asks, then its wheels."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    yield from (str(Path(home, "bin")) for home in homes if home)
    yield os.environ.get("PATH", os.defpath)
    yield str(Path(CUDA, "bin"))
    wheels = find_spec("nvidia")
    for folder in (wheels and wheels.submodule_search_locations) or ():
        yield from map(str, sorted(Path(folder).glob("cu*/bin"), reverse=True))


def find_nvcc() -> Nvcc | None:
    """Return the first nvcc of `places`, or None."""
    found = next(filter(None, (shutil.which("nvcc", path=place) for place in places())), None)
    return Nvcc(Path(found)) if found else None


def no_nvcc() -> str | None:
    """Return why CUDA sources cannot be compiled."""
    if not find_nvcc():
        return MISSING
    if not shutil.which("g++"):
        return "nvcc compiles with g++, which is not on PATH; install it (on Debian: g++)"
    return None


def pytest_kata_backends() -> list[Capability]:
    """Declare the backend."""
    return [Capability("nvcc", no_nvcc)]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests that run a kata's CUDA source on a GPU: there it is built by nvcc."""
    kata = kata_of(item)
    if kata and item.get_closest_marker("cuda") and kata.cuda:
        item.add_marker(pytest.mark.backend("nvcc"))
