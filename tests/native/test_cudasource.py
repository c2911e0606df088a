"""What CUDA C++ adds to C++ is rewritten, on its own lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.native.cudasource import CudaError
from plugins.native.cudasource import rewrite_cuda
from plugins.native.sources import SourceError
from plugins.native.sources import read_unit


if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("launch", "name", "config"),
    [
        ("axpy<<<4, 256>>>(n, x);", "axpy", "4, 256"),
        ("axpy <<<dim3(2, (n + 1) / 2), block>>> (n, x);", "axpy", "dim3(2, (n + 1) / 2), block"),
        ("my::sum<float, 32><<<g, b, 4 * n, s>>>(x);", "my::sum<float, 32>", "g, b, 4 * n, s"),
        ("k<Pair<int, 2>><<<{1, 2}, sizes[0]>>>(x);", "k<Pair<int, 2>>", "{1, 2}, sizes[0]"),
    ],
)  # fmt: skip
def test_a_launch_is_a_call(launch: str, name: str, config: str) -> None:
    """Of an object with the kernel and its configuration; the arguments stay."""
    new = rewrite_cuda(launch)

    call = f"[](auto... simt_arguments) {{ {name}(simt_arguments...); }}"
    assert new.startswith(f"simt::kernel(SIMT_NAME({name}), simt::Config({config}), {call})")
    assert new.endswith(launch.rpartition(">>>")[2])


def test_lines_stay_lines() -> None:
    """A launch over several lines does not move the lines below it."""
    text = "a();\nkernel<<<1,\n    32>>>(\n  x);\nb();\n"

    new = rewrite_cuda(text)

    assert text.count("\n") == new.count("\n")
    assert "b();" == new.splitlines()[4]


def test_a_shared_variable_is_placed_by_name() -> None:
    """Each variable of a declaration on its own, with the type of all."""
    new = rewrite_cuda(
        "void f() { __shared__ float as[16][17], bs[N]; static __shared__ bool last; }"
    )

    assert "struct simt_as { float as[16][17]; }; auto& as = simt::shared(&simt_as::as, " in new
    assert "struct simt_bs { float bs[N]; }; auto& bs = simt::shared(&simt_bs::bs, " in new
    assert "struct simt_last { bool last; };" in new
    assert "__shared__" not in new


def test_dynamic_shared_memory_is_a_pointer() -> None:
    """Of the launch's size, which the declaration does not know."""
    new = rewrite_cuda("void f() { extern __shared__ __align__(16) unsigned char raw[]; }")

    place = 'unsigned char* raw = static_cast<unsigned char*>(simt::dynamic("raw", '
    assert f"void f() {{ {place}sizeof(unsigned char))); }}" == new


def test_comments_and_texts_are_left_alone() -> None:
    """What looks like a launch in them is none."""
    text = '// k<<<1, 2>>>(x)\n/* __shared__ int a; */ puts("k<<<1, 2>>>(x)");\n'

    assert text == rewrite_cuda(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\nk<<<1, 2>>(x);", "<<< has no >>>"),
        ("\n\nk<<<1, f(2;", "<<< has no >>>"),
        ("\n\n  <<<1, 2>>>(x);", "<<< follows no kernel's name"),
        ("\n\nx> <<<1, 2>>>(x);", "<<< follows no kernel's name"),
        ("\n\nextern __shared__ float a[];", "declare extern __shared__ a inside the kernel"),
        ("\n\n__shared__ float a[3];", "declare __shared__ variables inside the kernel"),
        ("void f() {\n\n__shared__ int a = 3; }", "expected __shared__ TYPE NAME"),
    ],
)
def test_incomplete_cuda_is_an_error_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    """The line is the learner's, not one of the rewritten text."""
    with pytest.raises(CudaError, match=message) as caught:
        rewrite_cuda(text)
    assert 3 == caught.value.line

    source = tmp_path / "k.cu"
    source.write_text(text)
    with pytest.raises(SourceError, match=r"^k.cu:3: "):
        read_unit("k", [source], tmp_path, tmp_path)


def test_headers_of_kernels_are_rewritten_too(tmp_path: Path) -> None:
    """A source includes them by quotes; the copy of a source has a name of C++."""
    (tmp_path / "k.cu").write_text('#include "k.cuh"\n')
    (tmp_path / "k.cuh").write_text("void f() { __shared__ int a; }")

    unit = read_unit("k", [tmp_path / "k.cu"], tmp_path, tmp_path)

    assert "simt" == unit.tier
    assert ["k.cu.cpp", "k.cuh"] == [file.copy for file in unit.files]
    assert ["k.cu"] == [file.name for file in unit.sources]
    assert all("__shared__" not in file.numbered for file in unit.files)
