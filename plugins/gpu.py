"""CUDA katas on a GPU: the kernels are built by nvcc before the first test that needs them."""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
from pathlib import Path

import pytest

from katas import source
from plugins.course import kata_of
from plugins.extension import Extension
from plugins.locks import locked
from plugins.native import native_key
from plugins.nvcc import Nvcc
from plugins.nvcc import NvccError
from plugins.nvcc import find_nvcc


bound_key = pytest.StashKey[set[Path]]()
OPTIONS = ("-shared", "-Xcompiler", "-fPIC", "-lineinfo")


def kernels(nvcc: Nvcc, file: Path, headers: Path, folder: Path, arch: str = "native") -> Path:
    """Return the library of the kernels in `file`, built into `folder` unless it is there.

    Raises
    ------
    NvccError
        If the source does not compile.
    """
    options = [*OPTIONS, f"-arch={arch}", f"-I{headers}"]
    facts = [file.read_text(encoding="utf-8"), str(nvcc.path), *options]
    facts += [header.read_text(encoding="utf-8") for header in sorted(headers.glob("*.cuh"))]
    name = hashlib.sha256("\0".join(facts).encode()).hexdigest()[:32]
    library = folder / f"{name}.so"
    with locked(folder / f"{name[-2:]}.lock"):
        if not library.exists():
            with tempfile.TemporaryDirectory(dir=folder, prefix=f"{name}.build-") as work:
                made = Path(work, "kernels.so")
                nvcc.run(file, made, options, folder)
                made.replace(library)
    return library


def bind(item: pytest.Function, extension: Extension, nvcc: Nvcc, arch: str = "native") -> None:
    """Tell the operator in `extension` where its kernels for CUDA are; build them if need be."""
    kata = kata_of(item)
    done = item.config.stash.setdefault(bound_key, set())
    if not kata or extension.problem or extension.path in done:
        return
    (name,) = kata.cuda
    file = source(item.module.__package__, name)
    folder = item.config.stash[native_key].folder[0]
    try:
        library = kernels(nvcc, file, kata.folder / "csrc", folder, arch)
    except NvccError as error:
        pytest.fail(str(error), pytrace=False)
    ctypes.CDLL(str(extension.path)).kata_bind(b"cuda", bytes(library), b"", ctypes.c_uint64(0))
    done.add(extension.path)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Bind the kernels for a test on a GPU that takes the argument ``extension``."""
    if item.get_closest_marker("cuda") and isinstance(item, pytest.Function):
        extension = item.funcargs.get("extension")
        if isinstance(extension, Extension) and extension.kernels != extension.path:
            nvcc = find_nvcc()
            assert nvcc, "the mark backend('nvcc') has looked for it"
            bind(item, extension, nvcc)
