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
        ("axpy << <4, 256 >> > (n, x);", "axpy", "4, 256 "),
        ("k<(N)> \\\n    <<<grid, block>>>(x);", "k<(N)>", "grid, block"),
    ],
)  # fmt: skip
def test_a_launch_is_a_call(launch: str, name: str, config: str) -> None:
    """Of an object with the kernel and its configuration; the arguments stay."""
    new = rewrite_cuda(launch)

    call = f"[=](auto... simt_arguments) {{ {name}(simt_arguments...); }}"
    assert new.startswith(f"simt::kernel(SIMT_NAME({name}), simt::Config({config}), {call})")
    assert new.endswith(launch.rpartition(">")[2])


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


@pytest.mark.parametrize(
    ("declaration", "new"),
    [
        ("extern float __shared__ x[];", 'float* x = static_cast<float*>(simt::dynamic("x"'),
        ("extern __shared__ alignas(16) T x[];", 'T* x = static_cast<T*>(simt::dynamic("x"'),
        (
            "extern __shared__ half x[][N + 8];",
            "simt::Element<half[N + 8]>* x = static_cast<simt::Element<half[N + 8]>*>",
        ),
        ("float __shared__ x[3];", "struct simt_x { float x[3]; }; auto& x ="),
        ("alignas(8) __shared__ int x;", "struct simt_x { alignas(8) int x; }; auto& x ="),
        ("volatile __shared__ float x[2];", "struct simt_x { volatile float x[2]; };"),
        ("__shared__ A<int, 3>::B x;", "struct simt_x { A < int , 3 > :: B x; };"),
    ],
)
def test_every_spelling_of_a_shared_array(declaration: str, new: str) -> None:
    """The words may stand in any order, and the type may be anything."""
    assert new in rewrite_cuda(f"void f() {{ {declaration} }}")


def test_variables_of_a_file_are_watched() -> None:
    """Those of the device and of blocks, in a namespace or not; functions are left alone."""
    new = rewrite_cuda(
        "namespace a { __device__ int b[3] = {0}, c{3}; }\n__constant__ float d;\n"
        "__shared__ float e[4];\nextern __shared__ float f[];\n"
        "__device__ const float g[] = {1};\n"
        "__device__ float h(int i) { return i; }\n__device__ float h(int i);\n"
        "auto k = [] __device__ (int i) { return i; };\nextern __device__ int l;\n"
    )

    watched = ("Device, b", "Device, c", "Constant, d", "Shared, e", "Device, g")
    assert all(f"SIMT_WATCH({name}," in new for name in watched)
    assert len(watched) == new.count("SIMT_WATCH")
    assert 'static float* const f = static_cast<float*>(simt::dynamic_file("f"' in new
    assert "SIMT_DEVICE __device__ const" not in new


def test_a_kernel_that_is_launched_by_address_keeps_its_type() -> None:
    """The cast to a pointer to anything is what has to go."""
    new = rewrite_cuda(
        "cudaLaunchCooperativeKernel((void*)k<float, 3>, grid, block, args);\n"
        "cudaLaunchKernel(reinterpret_cast<const void*>(&k), 1);\ncudaLaunchKernel(k, 1);"
    )

    assert "(simt::named(SIMT_NAME(k<float, 3>), k<float, 3>), grid" in new
    assert 2 == new.count("(simt::named(SIMT_NAME(k), k), 1)")


def test_inline_ptx_becomes_a_call_that_is_refused() -> None:
    """Also in a macro, whose lines stay its lines; what is no text is no assembly."""
    text = '#define A(x) asm volatile("a" \\\n : "=r"(x)); f()\nvoid g() { asm("b;"); asm(x); }\n'

    new = rewrite_cuda(text)

    assert new.startswith("#define A(x) simt::inline_ptx()\\\n; f()\n")
    assert "void g() { simt::inline_ptx(); asm(x); }" in new


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
        ("\n\nvoid f(texture<float, 2> t);", "textures and surfaces are not supported on the CPU"),
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
    (tmp_path / "k.cu").write_text('#include "k.cuh"\n#include "k.h"\n')
    (tmp_path / "k.cuh").write_text("void f() { __shared__ int a; }")
    (tmp_path / "k.h").write_text("void g() { __shared__ int b; }")

    unit = read_unit("k", [tmp_path / "k.cu"], tmp_path, tmp_path)

    assert "simt" == unit.tier
    assert ["k.cu.cpp", "k.cuh", "k.h"] == [file.copy for file in unit.files]
    assert ["k.cu"] == [file.name for file in unit.sources]
    assert all("__shared__" not in file.numbered for file in unit.files)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        # One variable with two words; one of dynamic shared memory that is no array.
        ("__device__ __managed__ int a;", 'SIMT_WATCH(Device, a, "a")'),
        ("void f() { extern __shared__ int a; }", "int& a = *static_cast<int*>(simt::dynamic"),
        # A template's parameters, and a bracket that closes nothing, are no part of a type.
        ("template <class T> __device__ T a;", "template <class T> SIMT_DEVICE __device__ T a;"),
        (") __device__ int a;", ") SIMT_DEVICE __device__ int a;"),
        ("__device__ __align__(8) int a{3};", 'SIMT_WATCH(Device, a, "a")'),
        ("alignas(8 __device__ int a;", "alignas(8 SIMT_DEVICE __device__ int a;"),
    ],
)
def test_words_around_a_variable(text: str, new: str) -> None:
    """Each belongs to the declaration or does not."""
    assert new in rewrite_cuda(text)


@pytest.mark.parametrize(
    "text",
    [
        "__device__ int f() const {}",
        "__device__ __attribute__((noinline)) int f() {}",
        "__device__ int a",
        "{ __device__ int a } ;",
    ],
)
def test_what_is_no_variable_stays(text: str) -> None:
    """A function, and what does not end."""
    assert text == rewrite_cuda(text)


@pytest.mark.parametrize("text", ["__shared__ a;", "__shared__ alignas;"])
def test_a_variable_needs_a_type_and_a_name(text: str) -> None:
    """The compiler would not know what to say about it."""
    with pytest.raises(CudaError, match="expected a type and a name"):
        rewrite_cuda(text)
