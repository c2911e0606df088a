"""Variables of CUDA's memory spaces become C++ that the simulator knows of."""

from __future__ import annotations

import pytest

from plugins.cuda.source import rewrite_cuda
from plugins.native.languages import RewriteError


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
    wide = "simt::is_wide<unsigned char>"
    assert f"void f() {{ {place}sizeof(unsigned char), {wide})); }}" == new


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


def test_what_a_macro_is_given_is_in_a_function() -> None:
    """As far as one can tell: at file scope it would be a variable of the file."""
    new = rewrite_cuda("KERNEL(k, __shared__ float x[8]; x[0] = 1;)")

    assert "struct simt_x { float x[8]; }; auto& x = simt::shared(" in new


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
        "alignas(8 __device__ int a;",
        "{ __device__ int a } ;",
    ],
)
def test_what_is_no_variable_stays(text: str) -> None:
    """A function, and what does not end."""
    assert text == rewrite_cuda(text)


@pytest.mark.parametrize("text", ["__shared__ a;", "__shared__ alignas;"])
def test_a_variable_needs_a_type_and_a_name(text: str) -> None:
    """The compiler would not know what to say about it."""
    with pytest.raises(RewriteError, match="expected a type and a name"):
        rewrite_cuda(text)
