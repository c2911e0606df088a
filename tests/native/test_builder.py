"""Builds by a stand-in compiler: once for each content, never stale, never stuck; their folder."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from plugins import ROOT
from plugins.native.builder import Builder
from plugins.native.builder import BuildError
from plugins.native.builder import build_folder
from plugins.native.builder import describe_build
from plugins.native.builder import prune
from plugins.native.compile import BrokenToolError
from plugins.native.sources import Unit
from plugins.native.sources import read_unit
from plugins.native.toolchain import Compiler
from plugins.native.toolchain import find_toolchain
from plugins.native.toolchain import identify_compiler


NATIVE = Path(__file__).parent
HEADERS = [" > libtorch_cpu.so", " > libc10.so", "faults.cpp > faults.cpp.o"]
HEADERS += ["tier.h > tier.pch", "tier.pch > tier.o"]
LIBRARY = ["k01.cpp > k01.cpp.o", " > library"]


class Bench:
    """A stand-in compiler, an empty build folder and one source."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self.source = path / "k01.cpp"
        self.folder = path / "build"
        self.folder.mkdir()
        self.log = path / "calls"
        self.compiler = path / "clang++"
        shutil.copy(NATIVE / "compiler.sh", self.compiler)
        (path / "torch/lib").mkdir(parents=True)
        (path / "torch/__init__.py").write_text("")
        (path / "torch/version.py").write_text("__version__ = '2.13.0'")
        monkeypatch.setenv("CALLS", str(self.log))
        monkeypatch.setenv("KATAS_CXX", str(self.compiler))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(path), str(ROOT))))
        monkeypatch.syspath_prepend(path)
        # An imported torch would be found before the one on the path.
        monkeypatch.delitem(sys.modules, "torch", raising=False)
        self.builder = Builder(find_toolchain(), self.folder)

    def unit(self, text: str = "int x;") -> Unit:
        """Write the source and read it."""
        self.source.write_text(f"// tier: small\n{text}\n")
        return read_unit("lecture01_k01", [self.source], self.path, self.path)

    def calls(self) -> list[str]:
        """Return what was compiled and linked since the last call."""
        text = self.log.read_text() if self.log.exists() else ""
        self.log.unlink(missing_ok=True)
        return text.splitlines()

    def once(self, target: str, action: str) -> None:
        """Let the compiler do something else, the next time it makes `target`."""
        self.path.joinpath("calls.once").write_text(f"{target} {action}\n")

    def names(self, pattern: str = "*") -> list[str]:
        """Return the names of the files in the build folder, except locks."""
        names = sorted(file.name for file in self.folder.glob(pattern))
        return [name for name in names if not name.endswith(".lock")]

    def start(self) -> subprocess.Popen[str]:
        """Build the source in a process of its own, which leads a group."""
        return subprocess.Popen(
            [sys.executable, NATIVE / "build.py", self.folder, self.source],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Return the bench."""
    return Bench(tmp_path, monkeypatch)


def test_headers_are_compiled_once_and_each_content_once(bench: Bench) -> None:
    """An edit compiles the source alone; to build it again, or to undo the edit, runs nothing."""
    assert bench.builder.needs_headers(bench.unit())
    assert not bench.builder.ready(bench.unit())

    first = bench.builder.build(bench.unit())

    assert HEADERS + LIBRARY == bench.calls()
    assert not bench.builder.needs_headers(bench.unit())
    assert bench.builder.ready(bench.unit())
    edited = bench.builder.build(bench.unit("int y;"))
    assert LIBRARY == bench.calls()
    assert first == bench.builder.build(bench.unit())
    assert edited == bench.builder.build(bench.unit("int y;"))
    assert [] == bench.calls()


def test_nothing_is_left_beside_the_libraries(bench: Bench) -> None:
    """Intermediate files are removed."""
    library = bench.builder.build(bench.unit())

    assert sorted([library.name, bench.builder.recipe(bench.unit()).name]) == bench.names()


def test_sources_and_their_headers_may_be_in_folders(bench: Bench) -> None:
    """All sources of a kata become one library."""
    (bench.path / "deep").mkdir()
    (bench.path / "deep/a.cpp").write_text('// tier: vec\n#include "b.h"')
    (bench.path / "b.h").write_text("")
    unit = bench.unit('#include "deep/b.h"')
    (bench.path / "deep/b.h").write_text("")
    more = read_unit(
        "k", [bench.source, bench.path / "deep/a.cpp"], bench.path, bench.path / "deep"
    )
    bench.builder.build(unit)
    bench.calls()

    bench.builder.build(more)

    assert ["k01.cpp > k01.cpp.o", "a.cpp > a.cpp.o", " > library"] == bench.calls()


def test_a_source_that_does_not_compile_is_remembered(bench: Bench) -> None:
    """The message stays the same, and a run without an edit compiles nothing."""
    for calls in ([*HEADERS, LIBRARY[0]], []):
        with pytest.raises(BuildError, match=r"^k01.cpp:2:1: error: this is wrong\nWRONG\n\^$"):
            bench.builder.build(bench.unit("WRONG"))

        assert calls == bench.calls()
        assert bench.builder.ready(bench.unit("WRONG"))


def test_another_compiler_or_torch_builds_anew(bench: Bench) -> None:
    """Headers and libraries of the others stay, for a switch back."""
    chain = bench.builder.toolchain
    torch = replace(chain.torch, stamp="torch 2.14.0")
    shutil.copy(bench.compiler, bench.path / "clang++-20")
    compiler = identify_compiler(str(bench.path / "clang++-20"))
    assert compiler
    libraries = {bench.builder.build(bench.unit())}
    for other in (replace(chain, torch=torch), replace(chain, compiler=compiler)):
        bench.calls()

        libraries.add(Builder(other, bench.folder).build(bench.unit()))

        assert HEADERS + LIBRARY == bench.calls()
    assert 3 == len(libraries)
    assert sorted(library.name for library in libraries) == bench.names("*.so")


def test_a_build_reads_compiler_and_headers_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often a session asks for a library; the next session notices an update."""
    read = vars(Compiler)["stamp"].fget
    stamps: list[str] = []

    def counted(compiler: Compiler) -> str:
        stamps.append(read(compiler))
        return stamps[-1]

    monkeypatch.setattr(Compiler, "stamp", property(counted))
    builder = Builder(find_toolchain(), bench.folder)
    first = builder.build(bench.unit())
    builder.build(bench.unit("int y;"))

    assert 1 == len(stamps)
    os.utime(bench.compiler, (1, 1))
    assert first == builder.build(bench.unit())
    bench.calls()
    later = Builder(find_toolchain(), bench.folder).build(bench.unit())

    assert HEADERS + LIBRARY == bench.calls()
    assert first != later
    assert 2 == len(set(stamps)) == len(stamps)


def test_eight_builds_of_one_source_are_one(bench: Bench) -> None:
    """The others wait, and get the library that is complete."""
    bench.unit()
    with ExitStack() as stack:
        builds = [stack.enter_context(bench.start()) for _ in range(8)]
        outputs = [build.communicate(timeout=100) for build in builds]

    assert {("", "")} == set(outputs)
    assert HEADERS + LIBRARY == bench.calls()
    assert 1 == len(bench.names("*.so"))


def test_no_waiter_of_a_failing_build_gets_an_older_library(bench: Bench) -> None:
    """All get the error, even with a library of the source before the edit."""
    bench.builder.build(bench.unit())
    bench.calls()
    bench.unit("WRONG")
    with ExitStack() as stack:
        builds = [stack.enter_context(bench.start()) for _ in range(4)]
        outputs = [build.communicate(timeout=100) for build in builds]

    error = "does not compile: k01.cpp:2:1: error: this is wrong\nWRONG\n^\n"
    assert [("", error)] * 4 == outputs


@pytest.mark.parametrize("target", ["tier.pch", "k01.cpp.o"])
def test_a_killed_build_leaves_no_lock_and_no_half_library(bench: Bench, target: str) -> None:
    """The next one starts over, whether headers or the source were being compiled."""
    bench.once(target, "sleep")
    unit = bench.unit()
    build = bench.start()
    while (bench.path / "calls.once").exists():
        assert build.poll() is None
        time.sleep(0.01)
    build.send_signal(signal.SIGKILL)
    build.communicate()
    bench.calls()
    left = bench.names("*/tier-*") + bench.names("*.build-*")
    assert left

    bench.builder.build(unit)

    # The compiler of the killed build still runs, in a folder that is removed.
    os.killpg(build.pid, signal.SIGKILL)
    made = HEADERS if target == "tier.pch" else []
    assert made + LIBRARY == bench.calls()
    assert 1 == len(bench.names("*/tier-*"))
    assert [] == bench.names("*.build-*")


@pytest.mark.parametrize(
    ("target", "action", "message"),
    [
        ("k01.cpp.o", "full", "clang\\+\\+: No space left on device"),
        ("tier.pch", "full", "clang\\+\\+: No space left on device"),
        ("k01.cpp.o", "crash", r"clang\+\+ was ended by signal 9\n2\n3\n4\n5\n6"),
        ("library", "broken", r"clang\+\+ ended with status 3\nld: error: no such library"),
    ],
)
def test_failures_of_the_tools_are_not_remembered(
    bench: Bench, target: str, action: str, message: str
) -> None:
    """The message names tool and folder; once there is room again, the same source builds."""
    bench.once(target, action)

    with pytest.raises(BrokenToolError, match=rf"^{message}\n\(builds are in .*KATAS_BUILD"):
        bench.builder.build(bench.unit())

    assert [] == bench.names("*.failed")
    assert bench.builder.build(bench.unit()).exists()


def test_a_full_disk_is_named_when_python_finds_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy of the source may be the first file that does not fit."""

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    unit = bench.unit()
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.write_text", full)

        with pytest.raises(BrokenToolError, match=r"^No space left on device\n.*KATAS_BUILD"):
            bench.builder.build(unit)

    assert bench.builder.build(unit).exists()


def test_headers_that_changed_since_are_compiled_again(bench: Bench) -> None:
    """An update of the system's C++ library makes clang refuse what it has compiled before."""
    bench.builder.build(bench.unit())
    bench.calls()
    bench.once("k01.cpp.o", "stale")

    bench.builder.build(bench.unit("int y;"))

    assert [LIBRARY[0], *HEADERS, *LIBRARY] == bench.calls()


def test_gxx_starts_the_linker_itself(bench: Bench) -> None:
    """Only clang says how it would."""
    compiler = replace(bench.builder.toolchain.compiler, clang=False)
    builder = Builder(replace(bench.builder.toolchain, compiler=compiler), bench.folder)

    assert builder.build(bench.unit()).exists()
    assert LIBRARY == bench.calls()[-2:]


@pytest.fixture
def no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ask for no folder, and keep temporary files in one that is empty."""
    monkeypatch.delenv("KATAS_BUILD", raising=False)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))


@pytest.mark.usefixtures("no_folder")
def test_builds_are_kept_under_the_root(tmp_path: Path) -> None:
    """They survive the run, and git ignores them."""
    assert (tmp_path / ".katas/build", "") == build_folder(tmp_path)

    assert (tmp_path / ".katas/build").is_dir()


@pytest.mark.usefixtures("no_folder")
def test_katas_build_names_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path counts from where pytest was started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KATAS_BUILD", "here")

    assert (tmp_path / "here", "") == build_folder(tmp_path / "root")


@pytest.mark.usefixtures("no_folder")
def test_a_folder_that_cannot_be_written_to_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one that lasts, with a warning of one line; /proc is read-only even for root."""
    monkeypatch.setenv("KATAS_BUILD", "/proc/katas")

    folder, warning = build_folder(tmp_path)

    other = tmp_path / f"tmp/katas-build-{os.getuid()}"
    assert other == folder
    assert warning.startswith(f"C++ katas are built in {other}: /proc/katas cannot be written to (")


@pytest.mark.usefixtures("no_folder")
def test_without_any_folder_both_reasons_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the folder asked for nor the temporary one can be made."""
    monkeypatch.setenv("KATAS_BUILD", "/proc/katas")
    (tmp_path / f"tmp/katas-build-{os.getuid()}").write_text("")

    with pytest.raises(
        OSError, match=r"neither /proc/katas \(.*\) nor .* \(File exists\) can hold"
    ):
        build_folder(tmp_path)


@pytest.mark.usefixtures("no_folder")
def test_the_folder_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its libraries would run with our rights."""
    monkeypatch.setenv("KATAS_BUILD", "/proc/katas")
    monkeypatch.setattr("os.getuid", lambda: 123456)

    with pytest.raises(OSError, match="it belongs to another user"):
        build_folder(tmp_path)


def test_the_libraries_used_last_are_kept(tmp_path: Path) -> None:
    """As many as there is room for; the errors of a source take room too."""
    now = time.time()
    for age, name in enumerate(("d.so", "b.failed", "c.so", "a.so")):
        (tmp_path / name).write_bytes(b"x" * 1000)
        os.utime(tmp_path / name, (now - age, now - age))
    (tmp_path / "lock").write_bytes(b"x" * 5000)

    prune(tmp_path, megabytes=0.002)

    assert ["b.failed", "d.so", "lock"] == sorted(file.name for file in tmp_path.iterdir())


def test_headers_that_are_no_longer_used_are_removed(tmp_path: Path) -> None:
    """Those of an older torch, but none that are being compiled."""
    for name, days in (("old", 40), ("new", 20)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ready").write_text("tier")
        then = time.time() - days * 86400
        os.utime(tmp_path / name / "ready", (then, then))
    (tmp_path / "unfinished").mkdir()

    prune(tmp_path)

    assert ["new", "unfinished"] == sorted(file.name for file in tmp_path.iterdir())


def test_two_processes_may_prune_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that the other has removed is no error."""
    monkeypatch.setattr("pathlib.Path.glob", lambda self, _pattern: [self / "gone"])

    prune(tmp_path)


@pytest.mark.parametrize(
    ("clang", "first", "line"),
    [
        (True, True, "(small, cc-19) ... first build: about 8 s"),
        (False, True, "(small, cc-19) ... first build: about 13 s"),
        (True, False, "(small, cc-19) ..."),
    ],
)
def test_the_line_about_a_build_says_how_long_the_first_one_takes(
    line: str, *, clang: bool, first: bool
) -> None:
    """It compiles the headers, which takes longer with g++."""
    compiler = SimpleNamespace(name="cc-19", clang=clang)
    builder: Any = SimpleNamespace(
        toolchain=SimpleNamespace(compiler=compiler),
        needs_headers=lambda _unit: first,
        recipe=lambda _unit: SimpleNamespace(tier=SimpleNamespace(seconds=(8, 13))),
    )
    unit: Any = SimpleNamespace(tier="small")

    assert f"building lecture01/k01 {line}" == describe_build(builder, unit, "lecture01/k01")
