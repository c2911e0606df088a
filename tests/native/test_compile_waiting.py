"""A compiler that waits for its source: what it makes of it, and when another one must."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.native.builder import Builder
from plugins.native.builder import BuildError
from plugins.native.compile import driven_by_clang
from plugins.native.compile import run_tool
from plugins.native.sources import Unit
from plugins.native.sources import read_unit
from plugins.native.tiers import tiers
from plugins.native.toolchain import find_toolchain
from tests.support.builds import share_headers
from tests.support.terminal import eventually
from tests.support.terminal import gone


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.native.compile import WaitingCompiler


pytestmark = [pytest.mark.torch, pytest.mark.tool("clang++")]
ANSWER = '#include "answer.h"\nextern "C" int kata_answer() { return ANSWER; }\n'


class Bench:
    """A source with a header of its own, and a build folder with the headers of a tier."""

    def __init__(self, path: Path, tier: str) -> None:
        self.path, self.tier = path, tier
        self.folder = share_headers(path / "build", tier)
        (path / "answer.h").write_text("#define ANSWER 42\n")

    def unit(self, text: str = ANSWER) -> Unit:
        """Write the source and read it."""
        source = self.path / "k01.cpp"
        source.write_text(f"// tier: {self.tier}\n{text}")
        return read_unit("lecture01_k01", [source], self.path, self.path)

    def answer(self, library: Path) -> int:
        """Return what the built function does; the libraries of torch are loaded before."""
        import torch  # noqa: F401, PLC0415 - collected without torch, too

        found: int = ctypes.CDLL(str(library)).kata_answer()
        return found

    def waiting(self) -> WaitingCompiler:
        """Start a compiler; the source has an error still."""
        unit = self.unit("int before")
        waiting = Builder(find_toolchain(), self.folder).wait_for(unit, self.path / "waits")
        assert waiting
        return waiting


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Return the source and the folder."""
    return Bench(tmp_path, "stable")


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the tools that are started from now on."""
    started: list[str] = []

    def note(command: Sequence[str], cwd: Path, folder: Path) -> tuple[int, str]:
        started.append(os.path.basename(command[0]))  # noqa: PTH119 - a name in a command
        return run_tool(command, cwd, folder)

    monkeypatch.setattr("plugins.native.builder.run_tool", note)
    return started


@pytest.mark.parametrize("tier", tiers())
def test_it_compiles_what_is_saved_later(tmp_path: Path, tools: list[str], tier: str) -> None:
    """In every tier, with the headers beside the source as they are then; only a linker starts."""
    bench = Bench(tmp_path, tier)
    waiting = bench.waiting()
    (bench.path / "answer.h").write_text("#define ANSWER 43\n")
    builder = Builder(find_toolchain(), bench.folder, waiting)

    library = builder.build(bench.unit())

    assert 43 == bench.answer(library)
    assert 1 == len(tools)
    assert not tools[0].startswith("clang")


def test_the_errors_are_those_of_any_compiler(bench: Bench, tools: list[str]) -> None:
    """With the learner's file, line and column, and kept."""
    unit = bench.unit("int one;\nint two() { return tow; }\n")
    with pytest.raises(BuildError) as ordinary:
        Builder(find_toolchain(), bench.folder).build(unit)
    (*_, failed) = bench.folder.glob("*.failed")
    failed.unlink()
    waiting = bench.waiting()
    tools.clear()

    with pytest.raises(BuildError) as error:
        Builder(find_toolchain(), bench.folder, waiting).build(bench.unit(unit.files[0].text[16:]))

    assert str(error.value) == str(ordinary.value)
    assert str(error.value).startswith("k01.cpp:3:20: error: use of undeclared identifier 'tow'")
    assert failed.exists()
    assert [] == tools


def test_another_tier_takes_another_compiler(bench: Bench, tools: list[str]) -> None:
    """So would another version of clang or of torch: they have other headers."""
    waiting = bench.waiting()
    source = bench.path / "k01.cpp"
    source.write_text(f"// tier: vec\n{ANSWER}")
    unit = read_unit("lecture01_k01", [source], bench.path, bench.path)

    library = Builder(find_toolchain(), bench.folder, waiting).build(unit)
    waiting.end()

    assert 42 == bench.answer(library)
    assert [True, False] == [name.startswith("clang") for name in tools[-2:]]


def test_one_that_has_ended_is_replaced(bench: Bench, tools: list[str]) -> None:
    """The kernel ends processes where memory is short."""
    waiting = bench.waiting()
    waiting.process.kill()
    waiting.process.wait()

    library = Builder(find_toolchain(), bench.folder, waiting).build(bench.unit())
    waiting.end()

    assert 42 == bench.answer(library)
    assert [True, False] == [name.startswith("clang") for name in tools]


WAIT = """
import sys, time
from pathlib import Path
from plugins.native.builder import Builder
from plugins.native.sources import read_unit
from plugins.native.toolchain import find_toolchain

path = Path(sys.argv[1])
unit = read_unit("lecture01_k01", [path / "k01.cpp"], path, path)
waiting = Builder(find_toolchain(), path / "build").wait_for(unit, path / "waits")
print(waiting.process.pid, flush=True)
time.sleep(60)
"""


def test_it_ends_with_the_process_that_started_it(bench: Bench) -> None:
    """However that ends: clang waits for the rest of an empty file."""
    bench.unit()
    command = [sys.executable, "-c", WAIT, str(bench.path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        compiler = int(process.stdout.readline())
        assert not gone(compiler)
        process.send_signal(signal.SIGKILL)

    assert eventually(lambda: gone(compiler))


@pytest.mark.tool("g++")
def test_gxx_does_not_wait(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads a source before the headers that are compiled."""
    monkeypatch.setenv("KATAS_CXX", "g++")
    builder = Builder(find_toolchain(), bench.folder)

    assert builder.wait_for(bench.unit(), bench.path / "waits") is None


def test_the_linker_needs_no_clang(bench: Bench) -> None:
    """Started by itself, it makes the same library."""
    recipe = Builder(find_toolchain(), bench.folder).recipe(bench.unit())
    waiting, target = bench.waiting(), bench.path / "library"
    assert waiting.compile(bench.unit().sources[0].numbered) == (0, "")
    command = recipe.link([waiting.object], target)
    driven = driven_by_clang(tuple(command), waiting.headers)
    made = []
    for words in (command, driven):
        subprocess.run(words, cwd=waiting.headers, check=True)
        made.append(target.read_bytes())

    assert made[0] == made[1]
    assert command[0] != driven[0]
