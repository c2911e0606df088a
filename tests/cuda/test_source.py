"""What CUDA C++ adds to C++ is rewritten, on its own lines."""

from __future__ import annotations

import pytest

from plugins.cuda.source import rewrite_cuda
from plugins.native.languages import RewriteError


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
def test_incomplete_cuda_is_an_error_with_its_line(text: str, message: str) -> None:
    """The line is the learner's, not one of the rewritten text."""
    with pytest.raises(RewriteError, match=message) as caught:
        rewrite_cuda(text)
    assert 3 == caught.value.line
