"""nvcc, found and called; what it says of a source; and what its PTX is read for."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins import nvcc
from plugins.lectures import read_course
from plugins.nvcc import Nvcc
from plugins.nvcc import NvccError
from plugins.nvcc import find_nvcc
from plugins.nvcc import no_nvcc
from plugins.ptx import Ptx
from plugins.ptx import instructions


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


ROOT = Path(__file__).parents[1]
COURSE = read_course(sorted((ROOT / "katas").glob("lecture*/")))
SOURCES = sorted(
    kata.folder / "solutions" / name
    for lecture in COURSE.lectures
    for kata in lecture.katas
    for name in kata.cuda
)
PTX = """
.version 9.0
.target sm_90

	// .globl	_Z4axpyifPKfS0_Pf
.visible .entry _Z4axpyifPKfS0_Pf(
	.param .u32 _Z4axpyifPKfS0_Pf_param_0
)
.maxntid 256
{
	.reg .pred 	%p<3>;
	.local .align 4 .b8 	__local_depot0[88];
	.loc	1 9 5

	ld.param.u32 	%r1, [_Z4axpyifPKfS0_Pf_param_0];
	@%p1 bra 	$L__BB0_2;
$L__BB0_1:
	ld.global.v4.f32 	{%f1, %f2, %f3, %f4}, [%rd1];
	@!%p2 fma.rn.f32 	%f5, %f1, %f2, %f3;
	st.local.u32 	[%rd2], %r1;
$L__BB0_2:
	ret;
}
.func  (.param .b32 func_retval0) _Z6helperv(
)
{
	fma.rn.f32 	%f5, %f1, %f2, %f3;
	fma.rn.f64 	%fd5, %fd1, %fd2, %fd3;
	ret;
}
"""


def program(folder: Path, name: str, text: str = "") -> Path:
    """Write a program for the shell."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def test_where_nvcc_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA_HOME, CUDA_PATH and PATH, as PyTorch does; then where toolkits and wheels are."""
    monkeypatch.setattr(nvcc, "CUDA", str(tmp_path / "toolkit"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "cuda path"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda home"))
    places = ("site/nvidia/cu12/bin", "site/nvidia/cu13/bin", "toolkit/bin", "path")

    assert find_nvcc() is None
    assert str(no_nvcc()).startswith("nvcc is not installed; python -m pip install --group nvcc")
    for place in (*places, "cuda path/bin", "cuda home/bin"):
        program(tmp_path / place, "nvcc")
        importlib.invalidate_caches()
        assert Nvcc(tmp_path / place / "nvcc") == find_nvcc()
    assert "nvcc compiles with g++, which is not on PATH; install it (on Debian: g++)" == no_nvcc()
    program(tmp_path / "path", "g++")
    assert no_nvcc() is None


def test_the_wheels_say_where_their_runtime_is(tmp_path: Path) -> None:
    """They have it in lib, where nvcc does not look; a toolkit's needs no telling."""
    found = Nvcc(program(tmp_path / "bin", "nvcc"))

    assert [] == found.libraries
    program(tmp_path / "lib", "libcudart_static.a")
    assert [f"-L{tmp_path / 'lib'}"] == found.libraries


@pytest.mark.parametrize(
    ("output", "says"),
    [
        (
            'k01.cu(2): error: expected a ";"\n\n1 error detected',
            'nvcc: k01.cu:2: error: expected a ";"\n    y[i] = x[i]',
        ),
        ("other.cuh(7): error: what", "nvcc: other.cuh:7: error: what"),
        ("nvcc fatal   : Unsupported", "nvcc cannot compile k01.cu:\nnvcc fatal   : Unsupported"),
    ],
)
def test_what_a_learner_hears_of_an_error(tmp_path: Path, output: str, says: str) -> None:
    """The first error, with file and line as compilers write them, and the line itself."""
    source = tmp_path / "k01.cu"
    source.write_text("{\n    y[i] = x[i]\n}\n")
    script = program(tmp_path, "nvcc", f"cat <<'END'\n{output}\nEND\nexit 2")

    with pytest.raises(NvccError) as caught:
        Nvcc(script).run(source, tmp_path / "out", ["-ptx"], tmp_path)

    assert says == str(caught.value)


def test_instructions_are_counted_by_kernel() -> None:
    """Directives, labels and predicates are none; a loop's instructions stand once."""
    found = instructions(PTX)
    ptx = Ptx("csrc/k01.cu", found)

    assert ["_Z4axpyifPKfS0_Pf", "_Z6helperv"] == list(found)
    assert ["ld.param.u32", "bra", "ld.global.v4.f32", "fma.rn.f32", "st.local.u32", "ret"] == list(
        found["_Z4axpyifPKfS0_Pf"]
    )
    assert 2 == ptx.count("fma.rn.f32")
    assert 3 == ptx.count("fma.*")
    assert 2 == ptx.count("ld.local.*", "st.local.*", "*.v4.f32")
    assert 0 == ptx.count("fma")
    assert (
        "csrc/k01.cu for sm_90:\n  _Z4axpyifPKfS0_Pf: 1 ld.param.u32, 1 bra, 1 ld.global.v4.f32, 1"
    ) in ptx.table()
    assert "  empty: nothing" in Ptx("x", {"empty": type(found["_Z6helperv"])()}).table()


def test_a_source_without_kernels_has_none() -> None:
    """Templates that nothing launches yet: no function, and no error either."""
    assert {} == instructions(PTX.partition(".visible")[0])


COURSE_TEST = """
import pytest

pytestmark = pytest.mark.backend("nvcc")

def test_it_is_fused(ptx):
    assert 2 == ptx.count("fma.rn.f32")
"""


def ptx_course(course: MiniCourse, script: str, *, source: str = "csrc/k01_first.cu") -> Path:
    """Return the test module of a kata whose nvcc is `script`."""
    names = ("course", "solutions", "absent", "backends", "nvcc", "native", "ptx")
    course.plugins(*(f"plugins.{name}" for name in names))
    folder = program(course.path / "bin", "nvcc", script).parent
    course.monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    course.monkeypatch.delenv("CUDA_HOME", raising=False)
    course.monkeypatch.delenv("CUDA_PATH", raising=False)
    return course.kata(test=COURSE_TEST, stub="// a kernel\n", csrc=(source,))


def test_the_fixture(course: MiniCourse) -> None:
    """A test reads the PTX of its kata's source; the source and the target are nvcc's."""
    text = course.write("bin/text", PTX)
    script = f'while [ "$1" != -o ]; do shift; done; grep -q kernel "$3" && cat {text} > "$2"'

    course.run(ptx_course(course, script)).assert_outcomes(passed=1)


def test_a_source_that_nvcc_refuses(course: MiniCourse) -> None:
    """It is a failure of the test that asks, in one line of the compiler's and one of theirs."""
    result = course.run(ptx_course(course, "echo 'k01_first.cu(1): error: no'; exit 1"))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["nvcc: k01_first.cu:1: error: no", "// a kernel"])


def test_a_kata_without_a_cuda_source(course: MiniCourse) -> None:
    """Whoever writes such a test hears what it needs."""
    result = course.run(ptx_course(course, "", source="csrc/k01_first.cpp"))

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*`ptx` needs a CUDA source and the backend nvcc*"])


@pytest.mark.backend("nvcc")
@pytest.mark.parametrize("source", SOURCES, ids=[source.stem for source in SOURCES])
def test_nvcc_takes_every_solution(source: Path, tmp_path: Path) -> None:
    """Unchanged, for an H100, and with nothing in local memory."""
    found = find_nvcc()
    assert found
    headers = f"-I{source.parents[2] / 'csrc'}"
    found.run(source, tmp_path / "ptx", ["-ptx", "-arch=sm_90", headers], tmp_path)
    ptx = Ptx(source.name, instructions((tmp_path / "ptx").read_text()))

    assert ptx.count("st.global.*", "red.global.*", "atom.global.*")
    assert 0 == ptx.count("ld.local.*", "st.local.*"), ptx.table()


@pytest.mark.backend("nvcc")
@pytest.mark.parametrize("name", ["right.cu", "wrong.cu"])
def test_nvcc_takes_the_simulators_examples(name: str, tmp_path: Path) -> None:
    """They are CUDA C++: what is wrong with them shows when they run, if it does."""
    found = find_nvcc()
    assert found
    target = tmp_path / "ptx"
    found.run(ROOT / "tests/kernels" / name, target, ["-ptx", "-arch=sm_90"], tmp_path)
    kernels = [kernel for kernel in instructions(target.read_text()) if "kata_" not in kernel]

    assert len(kernels) >= 18, kernels
