"""The fixture ``ptx``: how PTX is read, and what nvcc makes of the course's kernels."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.course.lectures import read_course
from plugins.cuda.nvcc import find_nvcc
from plugins.cuda.ptx import Ptx
from plugins.cuda.ptx import count_instructions
from plugins.cuda.ptx import find_unwritten
from tests.support.programs import write_program
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.course.model import Kata
    from tests.conftest import MiniCourse


COURSE = read_course(sorted((ROOT / "katas").glob("lecture*/")))
SOURCES = sorted(kata.folder / "solutions" / name for kata in COURSE.katas for name in kata.cuda)
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
COURSE_TEST = """
import pytest

pytestmark = pytest.mark.backend("nvcc")

def test_it_is_fused(ptx):
    assert 2 == ptx.count("fma.rn.f32")
"""


def test_instructions_are_counted_by_kernel() -> None:
    """Directives, labels and predicates are not; the instructions of a loop count once."""
    found = count_instructions(PTX)
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
    assert {} == count_instructions(PTX.partition(".visible")[0])


def ptx_course(course: MiniCourse, script: str, *, source: str = "csrc/k01_first.cu") -> Path:
    """Return the test module of a kata whose nvcc is `script`."""
    names = (
        *("plugins.course.session", "plugins.course.solutions", "plugins.machine.absent"),
        *("plugins.machine.backends", "plugins.native.plugin", "plugins.cuda.simt"),
        *("plugins.cuda.nvcc", "plugins.cuda.ptx"),
    )
    course.plugins(*names)
    course.imported = PYTEST
    folder = write_program(course.path / "bin", "nvcc", script).parent
    course.monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    course.monkeypatch.delenv("CUDA_HOME", raising=False)
    course.monkeypatch.delenv("CUDA_PATH", raising=False)
    return course.kata(test=COURSE_TEST, stub="// a kernel\n", csrc=(source,))


def test_the_fixture(course: MiniCourse) -> None:
    """A test reads the PTX of its kata's source; the source and the target are nvcc's."""
    text = course.write("bin/text", PTX)
    script = f'while [ "$1" != -o ]; do shift; done; grep -q kernel "$3" && cat {text} > "$2"'

    course.run(ptx_course(course, script)).assert_outcomes(passed=1)


def test_what_nobody_has_written_waits(course: MiniCourse) -> None:
    """An empty kernel lacks every instruction: the test waits as those that run it do."""
    text = course.write("bin/text", PTX)
    script = f'while [ "$1" != -o ]; do shift; done; cat {text} > "$2"'
    module = ptx_course(course, script)
    stub = 'extern "C" cudaError_t kata_first(int n) {\n  return cudaErrorNotYetImplemented;\n}\n'
    course.write("katas/lecture01/csrc/k01_first.cu", stub)

    result = course.run(module)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E * NotImplementedError: kata_first is yet to be written"])


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("", ""),
        ("// cudaErrorNotYetImplemented", ""),
        ("cudaError_t a(int n) { return cudaSuccess; }", ""),
        ("cudaError_t a(int n) {}\ncudaError_t b() { return cudaErrorNotYetImplemented; }", "b"),
    ],
)
def test_which_function_waits(text: str, function: str) -> None:
    """The one that says so, of several; without a function there is none."""
    assert function == find_unwritten(text)


WRITTEN = [kata for kata in COURSE.katas if kata.cuda and kata.kind != "debug"]


@pytest.mark.parametrize("kata", WRITTEN, ids=lambda it: it.id)
def test_each_stub_names_the_function_that_waits(kata: Kata) -> None:
    """As its operator does, so that tests that run it and tests that read it say the same."""
    for name in kata.cuda:
        assert find_unwritten((kata.folder / name).read_text(encoding="utf-8"))
        solution = (kata.folder / "solutions" / name).read_text(encoding="utf-8")
        assert not find_unwritten(solution)


def test_a_source_that_nvcc_refuses(course: MiniCourse) -> None:
    """The test that counts fails, with one line of the compiler and one of the learner."""
    result = course.run(ptx_course(course, "echo 'k01_first.cu(1): error: no'; exit 1"))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["nvcc: k01_first.cu:1: error: no", "// a kernel"])


def test_a_kata_without_a_cuda_source(course: MiniCourse) -> None:
    """The error of the set-up says what such a test needs."""
    result = course.run(ptx_course(course, "", source="csrc/k01_first.cpp"))

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*`ptx` needs a CUDA source and the backend nvcc*"])


@pytest.mark.tool("nvcc")
@pytest.mark.parametrize("source", SOURCES, ids=[source.stem for source in SOURCES])
def test_nvcc_takes_every_solution(source: Path, tmp_path: Path) -> None:
    """Unchanged, for an H100, and without local memory."""
    found = find_nvcc()
    assert found
    headers = f"-I{source.parents[2] / 'csrc'}"
    found.run(source, tmp_path / "ptx", ["-ptx", "-arch=sm_90", headers], tmp_path)
    ptx = Ptx(source.name, count_instructions((tmp_path / "ptx").read_text()))

    assert ptx.count("st.global.*", "red.global.*", "atom.global.*")
    assert 0 == ptx.count("ld.local.*", "st.local.*"), ptx.table()


@pytest.mark.tool("nvcc")
@pytest.mark.parametrize(
    ("name", "fewest"),
    [
        *(("right.cu", 18), ("wrong.cu", 18), ("groups.cu", 16), ("sixteen.cu", 9)),
        *(("order.cu", 30), ("runtime.cu", 5), ("async.cu", 13), ("matrix.cu", 6)),
    ],
)
def test_nvcc_takes_the_simulators_examples(name: str, fewest: int, tmp_path: Path) -> None:
    """They are CUDA C++, and their faults appear only when they run."""
    found = find_nvcc()
    assert found
    target = tmp_path / "ptx"
    found.run(ROOT / "tests/cuda" / name, target, ["-ptx", "-arch=sm_90"], tmp_path)
    kernels = [kernel for kernel in count_instructions(target.read_text()) if "kata_" not in kernel]

    assert len(kernels) >= fewest, kernels
