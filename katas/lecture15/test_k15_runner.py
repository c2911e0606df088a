"""Tests of k15_runner: the program is built, and runs files that ExecuTorch wrote."""

from __future__ import annotations

import base64
import math
import os
import shutil
import subprocess
import zlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from katas import source


pytestmark = [pytest.mark.backend("cxx", "executorch"), pytest.mark.time_limit(120)]

# What ExecuTorch 1.5.1 wrote for up to 4 rows of 3 numbers: relu(x * x * x), and tanh(x * x).
WRITTEN = {
    "cube": (
        "c-pN}u};EJ6um823wB^Y?9icU7#N5F<04^jz}>+Os{*Z&q!t2g)EG8L2L}g7M?b;Q&v5hu`~;=m_j<ucQ%FpNoZk"
        "2DyXU-<d!GRS2S@cC3{U_azeS81sF20Tb^sN`u7LY#6lF0=u=rzp6_Mrt#k|2+CDbZ|i921mr-UbELH`cXMAAN@g"
        "?N?$J~IHap!p!IS-#5e1$g|9BIZFuAO!|t0C|j^!1WuAk?Vy3uPHUTdCg_$k>>(e&(D44iStBY++#$I?k+~LE~6X"
        "Mcr8(#Op&1})V)V>FU5Y!1P9LwRHssBRjN()S4!+NLXOpbk>^9&zx{exE8&`z&*rVid8LbaiM%i|nYbA~XAL&U&r"
        "Ih;(9!2J2c?4f8u>}ndckuec7ktVlXqU@RHnSn-v?tAMO{VVGf`IPsyMM6d7SC%u(eb_>H7nHovqZ5-^Hv4EyNz8"
        "U9XzAR&X<Pt%m7`o>w)k-oOvs>p)0c^gU<f`lsWe+rxC*p4iBpCizx3?0Z4qA8!ZY&~vQ?EsKd+X=?w*|BL@gs&A"
        "*?3li71ZEKl?%_ahHJ{VnfMh^S{#7w!m"
    ),
    "tanh": (
        "c-pOz&rZTX5XPtcsRcQ3z}f?cX2Zb)F<?9>XT2H^-bkYeH8iP(z&2`>#G?lv#0TIBd@%6aWlBl|CMLG|y4~r_Z@%"
        "u-iRkjCeS(Fm<ltGuS|N)HSk;c`2s%w^zE~~`SPj~|)ZT&$`reG!^_vY=gIw&KR395(8qgW*L-j?G1J$8cj_55<l"
        "uI%1GQHKertS?7@TYuKAe7N4mQ=>tlYZ3c$X+x=?v|X=I_EJC*>_db%WJP?t_fMHZ;SiBFIP-e`pJBQ`3C1IeIc*"
        "Pc^03T#f<E^8JT@96;s?fbj_YDJolN!K8oMyrAm@nI;*&Og?PeKz#R9^vp+qrqK*7ReF_y_rl@;*UJ27#&z4N}|E"
        "-kIEZ4&6mDpdxx9MOfzn12krapi3SN>{7$^TzK=TNuZbYF#h8T+E+MsXN6UC|#!(tnnzz%U306F<70j{QEuU2o>0"
        "c9E?Y_i+%)AetV_cpUm-gC!J9Y@_{K{a^ggw)!3feVJ+7^~5fOrzS%5Fq%B|CIk8bv|Xg*"
    ),
}
MOST = 4


@dataclass(frozen=True)
class Program:
    """The program in its folder, with the files, or why there is none."""

    folder: Path
    problem: str

    def run(self, name: str, x: torch.Tensor) -> tuple[list[str], str]:
        """Return the lines that the program prints for a file, and what ExecuTorch logs."""
        __tracebackhide__ = True
        numbers = [f"{number:.9g}" for number in x.flatten().tolist()]
        return self.call(f"{name}.pte", str(len(x)), *numbers)

    def call(self, *words: str) -> tuple[list[str], str]:
        """Call the program."""
        __tracebackhide__ = True
        if self.problem:
            pytest.fail(f"csrc/k15_runner.cpp does not compile:\n{self.problem}", pytrace=False)
        command = [str(self.folder / "run"), *words]
        done = subprocess.run(  # noqa: S603 - built below
            command, cwd=self.folder, capture_output=True, text=True, timeout=20, check=False
        )
        assert not done.returncode, (
            f"your program exits with {done.returncode}: {done.stderr[-800:]}"
        )
        lines = done.stdout.splitlines()
        if lines and lines[0].startswith("not written"):
            raise NotImplementedError(lines[0])
        return lines, done.stderr


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Build the program, and write the files next to it."""
    folder = tmp_path_factory.mktemp("runner")
    for name, text in WRITTEN.items():
        data = zlib.decompress(base64.b85decode("".join(text)))
        (folder / f"{name}.pte").write_bytes(data)
    (folder / "zip.pte").write_bytes(b"PK\3\4".ljust(999, b"\0"))
    found = find_spec("executorch")
    assert found is not None
    (home,) = map(Path, found.submodule_search_locations or ())
    include, libraries = home / "include", home / "lib"
    chosen = os.environ.get("KATAS_CXX") or shutil.which("clang++") or "g++"
    command = [
        *(chosen, "-std=c++17", "-w", "-DC10_USING_CUSTOM_GENERATED_MACROS"),
        *("-isystem", str(include)),
        *("-isystem", str(include / "executorch/runtime/core/portable_type/c10")),
        *(str(source("katas.lecture15", "csrc/k15_runner.cpp")), "-o", "run"),
        *(f"-L{libraries}", "-lexecutorch", f"-Wl,-rpath,{libraries}"),
    ]
    done = subprocess.run(  # noqa: S603 - a compiler, and the learner's source
        command, cwd=folder, capture_output=True, text=True, timeout=100, check=False
    )
    return Program(folder, done.stderr[:2000] if done.returncode else "")


def cubed(x: torch.Tensor) -> torch.Tensor:
    """Return what the model answers in eager mode."""
    return torch.relu(x * x * x)


def check(program: Program, x: torch.Tensor, why: str) -> None:
    """Compare an answer with eager mode."""
    lines, log = program.run("cube", x)
    assert not any(line.startswith("error") for line in lines), f"yours: {lines}; {log[-800:]}"
    yours, expected = torch.tensor([float(line) for line in lines]), cubed(x).flatten()

    assert len(expected) == len(yours), (
        f"{len(x)} rows: yours has {len(yours)} numbers, expected {len(expected)}; {why}"
    )
    assert torch.allclose(expected, yours, equal_nan=True), (
        f"{x.tolist()}: yours {yours.tolist()}, expected {expected.tolist()}; {why}"
    )


def rows(count: int) -> torch.Tensor:
    """Return rows of numbers, about half of them negative."""
    return (torch.arange(3.0 * count) + 1).mul(2.5).sin().view(count, 3) * 2


def test_the_kernels_alone(program: Program) -> None:
    """The kernels write three numbers in the middle of five, and leave the other two alone."""
    found = [float(line) for line in program.call()[0]]
    yours = {"mul": found[:5], "relu": found[5:]}
    expected = {"mul": [7, -4, 2.5, 18, 7], "relu": [7, 0, 0.5, 3, 7]}

    assert expected == yours, f"yours {yours}, expected {expected}; each output held 7s before"


def test_four_rows(program: Program) -> None:
    """Four rows are as many as `out` has from the start."""
    check(program, rows(MOST), "mul.out has two inputs: x * x, and then that times x")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_fewer_rows(program: Program, count: int) -> None:
    """For fewer rows, each kernel resizes its output."""
    check(program, rows(count), "the file plans for 4 rows, and resize_tensor says how many it is")


def test_a_nan(program: Program) -> None:
    """A NaN stays a NaN, being neither below nor above 0; infinities are handled as usual."""
    x = rows(2)
    x[0, 0], x[1, 1], x[1, 2] = math.nan, math.inf, -math.inf
    check(program, x, "torch.relu leaves a NaN as it is")


def refused(program: Program, name: str, x: torch.Tensor, error: str) -> str:
    """Check that the program prints an error and nothing else; return the log."""
    lines, log = program.run(name, x)

    assert [f"error {error}"] == lines, (
        f"your program prints {lines}, expected error {error}; {log[-800:]}"
    )
    return log


def test_more_rows_than_were_exported(program: Program) -> None:
    """For more rows than the file allows, forward returns an error, NotSupported."""
    refused(program, "cube", rows(MOST + 1), "0x10")


def test_a_kernel_that_nobody_has_written(program: Program) -> None:
    """Loading returns OperatorMissing, and the log contains the kernel's name."""
    log = refused(program, "tanh", rows(2), "0x14")

    assert "kernel 'aten::tanh.out' not found" in log, log[-800:]


@pytest.mark.parametrize(("name", "error"), [("zip", "0x23"), ("nowhere", "0x22")])
def test_what_is_no_program(program: Program, name: str, error: str) -> None:
    """A different kind of file gives InvalidProgram, a missing file AccessFailed."""
    refused(program, name, rows(2), error)
