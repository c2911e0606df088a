"""CUDA C++ as a language: what its sources become, and what they are built with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.cuda.language import CSRC
from plugins.cuda.language import CUDA
from plugins.cuda.language import NESTED
from plugins.native.sources import SourceError
from plugins.native.sources import read_unit


if TYPE_CHECKING:
    from pathlib import Path


def test_headers_of_kernels_are_rewritten_too(tmp_path: Path) -> None:
    """A source includes them by quotes; the copy of a source has a name of C++."""
    (tmp_path / "k.cu").write_text('#include "k.cuh"\n#include "k.h"\n')
    (tmp_path / "k.cuh").write_text("void f() { __shared__ int a; }")
    (tmp_path / "k.h").write_text("void g() { __shared__ int b; }")

    unit = read_unit("k", [tmp_path / "k.cu"], tmp_path, tmp_path, [CUDA])

    assert "simt" == unit.tier.name
    assert ["k.cu.cpp", "k.cuh", "k.h"] == [file.copy for file in unit.files]
    assert ["k.cu"] == [file.name for file in unit.sources]
    assert all("__shared__" not in file.numbered for file in unit.files)


def test_the_simulator_is_told_the_statements_that_are_no_whole_lines(tmp_path: Path) -> None:
    """In a line before the source's first, and of all files of its library."""
    (tmp_path / "k.cu").write_text('#include "k.cuh"\nint a =\n    3;\n')
    (tmp_path / "k.cuh").write_text("int b =\n  4,\n  c;\nint d;\n")

    unit = read_unit("k", [tmp_path / "k.cu"], tmp_path, tmp_path, [CUDA])

    told = 'SIMT_STATEMENTS("k.cu\\n2:1-3:6\\nk.cuh\\n1:1-3:4");\n'
    assert unit.files[0].numbered.startswith(f'{told}#line 1 "k.cu"\n#include')
    assert unit.files[1].numbered.startswith('#line 1 "k.cuh"\n')

    (tmp_path / "k.cu").write_text("int a = 3;\n")
    unit = read_unit("k", [tmp_path / "k.cu"], tmp_path, tmp_path, [CUDA])
    assert '#line 1 "k.cu"\nint a = 3;\n' == unit.files[0].numbered


def test_incomplete_cuda_is_an_error_of_the_source(tmp_path: Path) -> None:
    """With the learner's file and line."""
    (tmp_path / "k.cu").write_text("\n\nk<<<1, 2>>(x);")

    with pytest.raises(SourceError, match=r"^k.cu:3: <<< has no >>>$"):
        read_unit("k", [tmp_path / "k.cu"], tmp_path, tmp_path, [CUDA])


def test_the_simulator_comes_with_its_own_files() -> None:
    """One source, which is linked and includes its parts; no header hides one of CUDA's."""
    files = CUDA.tier.files

    assert {"simt.cpp", "simt.h", "cuda_runtime.h"} <= set(files)
    assert ["simt.cpp"] == [name for name in files if name.endswith(".cpp")]
    assert {*CSRC.iterdir()} == {*files.values(), CSRC / "README.md"}


def test_some_headers_of_cudas_are_one_of_ours() -> None:
    """Each is there by its own name, and has all of ``simt.h``."""
    found = [CUDA.tier.files[name] for name in ("cuda.h", "cuda_runtime.h", "vector_types.h")]

    assert [CSRC / "same.h"] * 3 == found
    assert '#include "simt.h"' in found[0].read_text(encoding="utf-8").splitlines()
    assert "same.h" not in CUDA.tier.files


def test_headers_in_folders_have_the_names_of_cudas() -> None:
    """A kernel includes them as nvcc finds them, and by no other name."""
    files = CUDA.tier.files

    assert set(NESTED.values()) <= set(files)
    assert not set(NESTED) & set(files)
    assert {"cooperative_groups_reduce.h", "libcu_atomic.h"} == {
        files[name].name for name in ("cooperative_groups/reduce.h", "cuda/atomic")
    }
