"""What a C++ source uses is found by token, however it is spelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.checks.tokens import forbids_tokens


if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "text",
    [
        "auto y = at::native::add(a, b);",
        "auto y = ::at :: native ::add(a, b);",
        "namespace n = at::native;\nauto y = n::add(a, b);",
        "using namespace at;\nauto y = native::add(a, b);",
        "using at::native::add;",
        "auto y = at::cpu::add(a, b);",
        "at::DisableRecordFunctionGuard guard;",
        "using namespace at;\nRecordFunctionGuard guard(false);",
        'auto s = R"(x)"; at::cuda::add(a);',
        "x = at::native::add",
    ],
)
def test_what_hides_is_found(tmp_path: Path, text: str) -> None:
    """Kernels without the dispatcher, and guards that hide from the profiler."""
    file = tmp_path / "k01_x.cpp"
    file.write_text(f"#include <x>\n{text}\n")

    with pytest.raises(AssertionError, match=r"k01_x.cpp:[23] uses "):
        forbids_tokens(file)


@pytest.mark.parametrize(
    "text",
    [
        "// at::native::add is what PyTorch calls\nauto y = a + b;",
        "/* at::native\n::add */ auto y = at::add(a, b);",
        'TORCH_CHECK(false, "at::native::add \\" refuses");',
        "char c = '\\''; my_native::add(a); natively::at::cpus::f();",
        'auto s = R"x(at::native::add)x";',
        "at::AutoDispatchBelowAutograd guard;",
    ],
)
def test_what_only_looks_alike_is_not(tmp_path: Path, text: str) -> None:
    """Comments, texts and longer names."""
    file = tmp_path / "k01_x.cpp"
    file.write_text(text)

    forbids_tokens(file, "at::softmax")


def test_an_exercise_has_names_of_its_own(tmp_path: Path) -> None:
    """A function, a bare name; and what the brief asks for is allowed."""
    file = tmp_path / "k01_x.cu"
    file.write_text(
        "v += __shfl_xor_sync(m, v, 1);\nauto y = at::softmax(x, 0);\n\nat::native::f();"
    )

    with pytest.raises(AssertionError) as raised:
        forbids_tokens(file, "__shfl_xor_sync", "softmax", allow=("at::native",))
    assert str(raised.value).splitlines()[:2] == [
        "k01_x.cu:1 uses __shfl_xor_sync",
        "k01_x.cu:2 uses softmax",
    ]
    forbids_tokens(file, "at::sum", allow=("at::native",))
