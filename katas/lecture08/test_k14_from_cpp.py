"""Tests of k14_from_cpp: compared with eager mode; then a C program runs without Python."""

from __future__ import annotations

import ctypes
import math
import os
import shutil
import subprocess
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas import source
from katas.lecture08.conftest import Network
from plugins.kit import forbids_tokens
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from typing import Self

    from plugins.kit import Extension


# The first run of all builds the package.
pytestmark = [pytest.mark.backend("cxx", "inductor"), pytest.mark.time_limit(600)]
# model_name, run_single_threaded, num_runners, device_index.
DEFAULTS = ("model", False, 1, -1)
# Operators that an answer may use to make and copy its batches.
OPERATORS = {
    *("empty", "empty_strided", "empty_like", "zeros", "zeros_like", "new_zeros", "zero_", "fill_"),
    *("copy_", "_to_copy", "to", "clone", "contiguous", "narrow", "slice", "select", "as_strided"),
    *("view", "cat", "pad", "constant_pad_nd", "from_blob", "detach", "alias"),
}
# A program that loads libraries by path. Its arrays end where accessible memory ends.
PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static float* floats(size_t count) {
  size_t page = sysconf(_SC_PAGESIZE);
  char* place = mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(place + page, page, PROT_NONE);
  return (float*)(place + page) - count;
}

int main(int count, char** words) {
  const char* libraries[] = {words[1], words[2]};
  void* found = 0;
  for (int i = 0; i < 2; ++i) {
    found = dlopen(libraries[i], RTLD_NOW | RTLD_GLOBAL);
    if (!found) return fprintf(stderr, "%s\n", dlerror()), 3;
  }
  void* (*load)(const char*) = dlsym(found, "kata_load");
  int (*answer)(void*, const float*, int64_t, float*) = dlsym(found, "kata_answer");
  void (*close)(void*) = dlsym(found, "kata_close");
  const char* (*error)(void) = dlsym(found, "kata_error");
  int rows = atoi(words[4]);
  float *x = floats(4 * rows), *y = floats(3 * rows);
  for (int i = 0; i < 4 * rows; ++i) x[i] = sinf(i + 1);
  void* model = load(words[3]);
  if (!model || answer(model, x, rows, y)) return fprintf(stderr, "%s\n", error()), 4;
  for (int i = 0; i < 3 * rows; ++i) printf("%.9g\n", y[i]);
  char line[4096];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    if (strstr(line, "libpython") || strstr(line, "libtorch_python")) printf("loaded %s", line);
  close(model);
  return 0;
}
"""


class Model:
    """A package that the library has loaded; ``with`` closes it."""

    def __init__(self, extension: Extension, path: Path) -> None:
        self.extension = extension
        loader = self.function("load", ctypes.c_void_p)(os.fsencode(path))
        self.raise_if(not loader)
        self.loader = ctypes.c_void_p(loader)

    def function(self, name: str, returns: type | None = ctypes.c_int) -> Any:
        """Return a function of the library."""
        found = self.extension.symbol(f"kata_{name}")
        found.restype = returns
        return found

    def raise_if(self, failed: object) -> None:
        """Raise the error that C++ threw."""
        if failed:
            text = self.function("error", ctypes.c_char_p)().decode().partition("\n")[0]
            raise NotImplementedError(text) if text.startswith("TODO") else AssertionError(text)

    def write(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """Write the answers to y."""
        places = ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr())
        rows = ctypes.c_int64(x.shape[0])
        self.raise_if(self.function("answer")(self.loader, places[0], rows, places[1]))

    def answer(self, x: torch.Tensor) -> torch.Tensor:
        """Return the answers, written into a larger tensor in case too much is written."""
        rows = x.shape[0]
        y = torch.full((rows + 4, 3), 123.0, dtype=torch.float32)
        with unchanged(x=x):
            self.write(x, y[2:])
        outside = (y[:2].unique().tolist(), y[rows + 2 :].unique().tolist())
        assert outside == ([123.0], [123.0]), (
            f"{rows} rows: your code wrote {outside} outside y, expected the old values there"
        )
        return y[2 : rows + 2]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.function("close", None)(self.loader)


def package(request: pytest.FixtureRequest, extension: Extension) -> Path:
    """Return the package; while `load` is not written, fail before it is built."""
    with suppress(AssertionError):  # this file is no package
        Model(extension, request.path)
    path: Path = request.getfixturevalue("aoti_package")
    return path


def inputs(rows: int) -> torch.Tensor:
    """Return this many rows, all different."""
    return torch.arange(1.0, 4 * rows + 1).sin().reshape(rows, 4)


def compare(yours: torch.Tensor, x: torch.Tensor) -> None:
    """Compare with the network in eager mode."""
    expected = Network()(x).detach()
    says = f"{len(x)} rows: yours against PyTorch's in eager mode\n".__add__
    torch.testing.assert_close(yours, expected, equal_nan=True, msg=says)


def unpacked(folder: Path) -> set[str]:
    """Return the unpacked libraries: in TMPDIR, and wherever this process has mapped them.

    PyTorch before 2.12 unpacks into /tmp whatever TMPDIR says.
    """
    found = {str(file) for file in folder.rglob("*.so")}
    maps = Path("/proc/self/maps")
    lines = maps.read_text("utf-8").splitlines() if maps.exists() else []
    mapped = {line.split(maxsplit=5)[-1] for line in lines if "/aotinductor/" in line}
    return found | {path for path in mapped if Path(path).exists()}


def test_two_rows(request: pytest.FixtureRequest, extension: Extension) -> None:
    """Two rows, the shape the package was compiled for, take one run."""
    with Model(extension, package(request, extension)) as model:
        x = inputs(2)
        compare(model.answer(x), x)


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 7, 10])
def test_any_number_of_rows(
    rows: int, request: pytest.FixtureRequest, extension: Extension
) -> None:
    """In batches of two, the last batch may have only one row, and no row may be left out."""
    with Model(extension, package(request, extension)) as model:
        x = inputs(rows)
        compare(model.answer(x), x)


def test_rows_do_not_meet(request: pytest.FixtureRequest, extension: Extension) -> None:
    """A NaN or infinite row spoils only its own answer, in this request and the next."""
    with Model(extension, package(request, extension)) as model:
        x = inputs(5)
        x[0], x[3, 1], x[4, 0] = math.nan, math.inf, math.nan
        compare(model.answer(x), x)
        for rows in (1, 3):
            x = inputs(rows)
            compare(model.answer(x), x)
        x = inputs(2)
        compare(model.answer(x), x)
        x.neg_()  # the next request has different values in the same place
        compare(model.answer(x), x)


def test_no_run_too_many(request: pytest.FixtureRequest, extension: Extension) -> None:
    """Two rows take one run, and so does a last single row; matrix products are counted."""
    path = package(request, extension)
    loader = torch._C._aoti.AOTIModelPackageLoader(str(path), *DEFAULTS)  # noqa: SLF001 - the class of this kata, bound to Python
    x = inputs(2)
    with watched_operators() as names:
        loader.run([x])
    # Operators that your own code may call do not show that the package ran.
    inner = {name: n for name, n in Counter(names).items() if name[6:] not in OPERATORS}
    assert inner, f"a run of the package calls {names}, expected a matrix product among them"
    with Model(extension, path) as model:
        for rows in range(6):
            x, y = inputs(rows), torch.empty(rows, 3)
            with watched_operators() as names:
                model.write(x, y)
            for name, n in inner.items():
                yours, right = names.count(name) / n, (rows + 1) // 2
                assert yours == right, f"{rows} rows: yours {yours:g} runs, expected {right}"


def test_another_default_dtype(request: pytest.FixtureRequest, extension: Extension) -> None:
    """A C++ tensor without a dtype gets the default dtype, but the package needs float32."""
    with Model(extension, package(request, extension)) as model:
        x = inputs(3)
        torch.set_default_dtype(torch.float64)
        try:
            yours = model.answer(x)
        finally:
            torch.set_default_dtype(torch.float32)
        compare(yours, x)


def test_loaded_once(
    request: pytest.FixtureRequest,
    extension: Extension,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A loader unpacks the archive into a folder, and removes the folder when it is closed."""
    copy = tmp_path / "network.pt2"
    shutil.copy(package(request, extension), copy)
    folder = tmp_path / "unpacked"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    before = unpacked(folder)
    with Model(extension, copy) as model:
        libraries = unpacked(folder) - before
        found = len(libraries)
        assert found == 1, f"unpacked after load: yours {found}, expected 1"
        copy.unlink()
        for rows in (3, 2):
            compare(model.answer(inputs(rows)), inputs(rows))
        # The file is gone, so earlier loads do not count.
        with pytest.raises(AssertionError) as thrown:
            Model(extension, copy)
        assert str(thrown.value), (
            "your code swallows the exception for a missing file, expected it to pass through"
        )
    found = len(libraries & unpacked(folder))
    assert found == 0, f"unpacked after close: yours {found}, expected 0"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the program in C with Inductor's compiler."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "main.c").write_text(PROGRAM, encoding="utf-8")
    compiler = os.environ.get("CXX", "g++")
    command = [compiler, "-x", "c", "main.c", "-o", "main", "-ldl", "-lm"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)  # noqa: S603 - our own source
    return folder / "main"


@pytest.mark.parametrize("rows", [2, 5])
def test_a_program_without_python(
    rows: int, request: pytest.FixtureRequest, extension: Extension, program: Path
) -> None:
    """The program loads libtorch_cpu and your library; no memory follows its arrays."""
    path = package(request, extension)
    (libtorch,) = Path(torch.__file__).parent.glob("lib/libtorch_cpu.*")
    command = [str(program), str(libtorch), str(extension.path), str(path), str(rows)]
    # A package of PyTorch 2.11 names libtorch, which a program linked with it would have loaded.
    environment = os.environ | {"LD_LIBRARY_PATH": str(libtorch.parent)}
    done = subprocess.run(  # noqa: S603 - built above
        command, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert done.returncode >= 0, (
        f"{rows} rows: signal {-done.returncode} killed your code: did it go beyond x or y?"
    )
    assert not done.returncode, f"your code fails: {done.stderr[:1500]}"
    assert "was resized" not in done.stderr, (
        f"{rows} rows: your code runs the package on a shape other than (2, 4), so it writes beyond"
        f" its output:\n{done.stderr[:300]}"
    )
    lines = done.stdout.splitlines()
    numbers = [float(line) for line in lines if not line.startswith("loaded")]
    assert len(lines) == len(numbers), (
        f"your code loads a Python library, expected none: {lines[-1]}"
    )
    compare(torch.tensor(numbers).reshape(rows, 3), inputs(rows))
    forbids_tokens(
        source("katas.lecture08", "csrc/k14_from_cpp.cpp"), "torch::jit", "fork", "system", "dlopen"
    )
