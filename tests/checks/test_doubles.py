"""A CUDA source computes nothing in double, by its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.checks.doubles import doubles
from plugins.checks.doubles import forbids_doubles


if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "code",
    [
        "double own = 0.0;",
        "long double x;",
        "out[i] = static_cast<double>(x);",
        "std::numeric_limits<double>::max()",
        "const double2 two{};",
        "out[i] = 1.0 * a * x[i];",
        "out[i] = a*2.;",
        "out[i] = (x[i]) - .5;",
        "out[i] = x[i] / (1e3);",
        "sum += 1.0;",
        "sum -=\n    1.5e-3;",
        f"sum -= /* {'x' * 300} */ 1.5;",
        "if (x[i] > 0.0) f();",
        "if (0.5 <= x[i]) f();",
        "if (x[i] == 1'000.0) f();",
        "y = 1.0 / sqrtf(x);",
        "y = x * -1.0;",
        "y = 1.0 - -x;",
        "auto half = 0.5;",
        "auto half{-0.5};",
        "#define HALF 0.5",
        "y = M_PI;",
        "y = x < DBL_MAX;",
        "y = __dadd_rn(x, y);",
    ],
)
def test_what_makes_doubles_is_found(code: str) -> None:
    """The type, what has it, and a literal without an f that meets another number."""
    assert [2] == list(dict.fromkeys(line - code.count("\n") for line, _ in doubles(f"\n{code}")))


@pytest.mark.parametrize(
    "code",
    [
        "float own = 0.0f;",
        "float own = 0.0, other{1.}, third(-2.5);",
        "out[i] = 1.0f * a * x[i] + 2.f - 1e3f * .5F;",
        "y = fmaxf(x, -1.0);",
        "y = static_cast<float>(0.5) * x;",
        "y = T(0.5) * x;",
        "y = flag ? 1.0 : 0.0;",
        "constexpr unsigned ALL = 0xffffffffu;",
        "int x = 1'000 * y;",
        "// double own = 1.0 * x;",
        '/* double */ const char* text = "1.0 * double";',
        "x1.y - row.sum2 * v2e3;",
        "redouble(x);",
        "extern __shared__ double room[];",
        "extern __shared__ __align__(16) double room [ ];",
        "return 0.0;",
    ],
)
def test_what_makes_floats_passes(code: str) -> None:
    """A literal that initialises one or is converted; whole numbers; comments and texts."""
    assert [] == doubles(code)


def test_the_message_has_the_lines(tmp_path: Path) -> None:
    """And what is given is left out."""
    source = tmp_path / "k01.cu"
    source.write_text("float x = 1.0 * y;\n// given\ndouble z;\n")

    with pytest.raises(AssertionError) as caught:
        forbids_doubles(source, given="// given")
    assert "k01.cu:1 has 1.0\nthat makes a double of what it meets, write 1.0f" == str(caught.value)
    source.write_text("float x = y;\n// given\ndouble z;\n")
    forbids_doubles(source, given="// given")
    with pytest.raises(AssertionError, match=r"^k01\.cu:3 has double\n"):
        forbids_doubles(source)


@pytest.mark.parametrize("folder", ["solutions/csrc", ".meta/*/right"])
def test_right_answers_pass(folder: str) -> None:
    """The katas in float32, as PyTorch's people would write them."""
    names = ("k03_axpy", "k04_strided", "k05_block_sum", "k08_matmul", "k09_softmax")
    lecture = ROOT / "katas/lecture09"
    files = [file for name in names for file in lecture.glob(f"{folder}/{name}*.cu")]
    found = {file.name: doubles(file.read_text(encoding="utf-8")) for file in files}

    assert {name: [] for name in found} == found
    assert len(found) >= len(names) - 1
