"""The backend ``nvcc``: NVIDIA's compiler, which a GPU needs and which works without one.

Without a GPU it shows what a kernel becomes (`plugins.cuda.ptx`). For one, this module builds
the library of kernels that an operator calls with tensors of CUDA, before the first test that
needs it.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from katas import source
from plugins.course.session import kata_of
from plugins.cuda.simt import CudaExtension
from plugins.machine.builtin import CUDA_DEVICE
from plugins.machine.builtin import cuda_architecture
from plugins.native.compile import run_tool
from plugins.native.plugin import native_key
from plugins.tools.capability import Capability
from plugins.tools.locks import locked
from plugins.tools.terminal import install_group


if TYPE_CHECKING:
    from collections.abc import Iterator


CUDA = "/usr/local/cuda"
# As for the CPU, and for PyTorch's own kernels.
STANDARD = "-std=c++20"
# What a source may include from its folder.
HEADERS = ("*.cuh", "*.h")
OPTIONS = ("-shared", "-Xcompiler", "-fPIC", "-lineinfo")
ERROR = re.compile(r"^(?P<file>[^\n(]+)\((?P<line>\d+)\): error: (?P<text>.+)$", re.MULTILINE)


class NvccError(Exception):
    """nvcc refuses the source; the message is for the learner."""


@dataclass(frozen=True)
class Nvcc:
    """An nvcc, and where it finds what it links with."""

    path: Path

    @cached_property
    def version(self) -> str:
        """The output of ``nvcc --version``, read once."""
        command = [str(self.path), "--version"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603 - found by `find_nvcc`

    @property
    def libraries(self) -> list[str]:
        """The option for the folder of the CUDA runtime, which nvcc does not find in the wheels."""
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
        status, output = run_tool([*command, str(source)], target.parent, folder)
        if status:
            raise NvccError(_first_error(output, source))


def _first_error(output: str, source: Path) -> str:
    found = ERROR.search(output)
    if not found:
        last = "\n".join(output.strip().splitlines()[-5:])
        return f"nvcc cannot compile {source.name}:\n{last}"
    line = int(found["line"])
    lines = source.read_text(encoding="utf-8").splitlines()
    own = Path(found["file"]).name == source.name and line <= len(lines)
    shown = f"\n{lines[line - 1]}" if own else ""
    return f"nvcc: {Path(found['file']).name}:{line}: error: {found['text']}{shown}"


def nvcc_folders() -> Iterator[str]:
    """Yield the folders to look for nvcc in: those that PyTorch searches, then its wheels."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    yield from (str(Path(home, "bin")) for home in homes if home)
    yield os.environ.get("PATH", os.defpath)
    yield str(Path(CUDA, "bin"))
    wheels = find_spec("nvidia")
    for folder in (wheels and wheels.submodule_search_locations) or ():
        yield from map(str, sorted(Path(folder).glob("cu*/bin"), reverse=True))


def find_nvcc() -> Nvcc | None:
    """Return the first nvcc in `nvcc_folders`, or None."""
    programs = (shutil.which("nvcc", path=folder) for folder in nvcc_folders())
    found = next(filter(None, programs), None)
    return Nvcc(Path(found)) if found else None


def no_nvcc() -> str | None:
    """Return why CUDA sources cannot be compiled."""
    if not find_nvcc():
        return (
            f"nvcc is not installed; {install_group('nvcc')} (105 MB to download, Linux), or the"
            " CUDA toolkit: https://developer.nvidia.com/cuda-toolkit"
        )
    if not shutil.which("g++"):
        return "nvcc compiles with g++, which is not on PATH; install it (on Debian: g++)"
    return None


def pytest_kata_backends() -> list[Capability]:
    """Declare the backend."""
    return [Capability("nvcc", no_nvcc)]


nvcc_key = pytest.StashKey[Nvcc]()
bound_key = pytest.StashKey[set[Path]]()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests that run a kata's CUDA source on a GPU with the backend that builds it."""
    kata = kata_of(item)
    if kata and item.get_closest_marker(CUDA_DEVICE) and kata.cuda:
        item.add_marker(pytest.mark.backend("nvcc"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Bind the kernels for a test on a GPU that takes the argument ``extension``."""
    if item.get_closest_marker(CUDA_DEVICE) and isinstance(item, pytest.Function):
        extension = item.funcargs.get("extension")
        if isinstance(extension, CudaExtension) and extension.kernels != extension.path:
            bind_cuda_kernels(item, extension)


def bind_cuda_kernels(item: pytest.Function, extension: CudaExtension) -> None:
    """Give the operator in `extension` its kernels for the GPU, built unless they are there."""
    kata = kata_of(item)
    bound = item.config.stash.setdefault(bound_key, set())
    if not kata or extension.problem or extension.path in bound:
        return
    (name,) = kata.cuda
    file = source(item.module.__package__, name)
    folder = item.config.stash[native_key].folder[0]
    nvcc = session_nvcc(item.config)
    try:
        library = build_kernels(nvcc, file, kata.folder / "csrc", folder, cuda_architecture())
    except NvccError as error:
        pytest.fail(str(error), pytrace=False)
    bind = ctypes.CDLL(str(extension.path)).kata_bind
    bind(CUDA_DEVICE.encode(), bytes(library), b"", ctypes.c_uint64(0))
    bound.add(extension.path)


def session_nvcc(config: pytest.Config) -> Nvcc:
    """Return the nvcc of this session, whose version is read once."""
    if nvcc_key not in config.stash:
        nvcc = find_nvcc()
        assert nvcc, "the mark backend('nvcc') has looked for it"
        config.stash[nvcc_key] = nvcc
    return config.stash[nvcc_key]


def build_kernels(nvcc: Nvcc, file: Path, headers: Path, folder: Path, architecture: str) -> Path:
    """Return the library of the kernels in `file`, built into `folder` unless it is there.

    Another source, header, nvcc or architecture of the GPU makes another library.

    Raises
    ------
    NvccError
        If the source does not compile.
    """
    options = [*OPTIONS, f"-arch={architecture}", f"-I{headers}"]
    facts = [file.read_text(encoding="utf-8"), str(nvcc.path), nvcc.version, *options]
    found = sorted(path for kind in HEADERS for path in headers.glob(kind))
    facts += [f"{header.name}\0{header.read_text(encoding='utf-8')}" for header in found]
    name = hashlib.sha256("\0".join(facts).encode()).hexdigest()[:32]
    library = folder / f"{name}.so"
    with locked(folder / f"{name[-2:]}.lock"):
        if not library.exists():
            with tempfile.TemporaryDirectory(dir=folder, prefix=f"{name}.build-") as work:
                made = Path(work, "kernels.so")
                nvcc.run(file, made, options, folder)
                made.replace(library)
    return library
