"""Builds by a stand-in compiler: once per content, by one process, never stale, never stuck."""

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

import pytest

from plugins.builder import Builder
from plugins.builder import BuildError
from plugins.compiling import BrokenToolError
from plugins.sources import Unit
from plugins.sources import read_unit
from plugins.toolchain import find_toolchain
from plugins.toolchain import identify


ROOT = Path(__file__).parents[1]
NATIVE = Path(__file__).parent / "native"
HEADERS = [" > libtorch_cpu.so", " > libc10.so", "tier.h > tier.pch", "tier.pch > tier.o"]
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
        # What is imported already would be found before what is on the path.
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
        """Let the compiler do something else, the next time it shall make `target`."""
        self.path.joinpath("calls.once").write_text(f"{target} {action}\n")

    def names(self, pattern: str = "*") -> list[str]:
        """Return the names of the files in the build folder, those of locks aside."""
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
    """An edit compiles the source alone; to build it again, or undo the edit, costs nothing."""
    assert bench.builder.first(bench.unit())
    assert not bench.builder.ready(bench.unit())

    first = bench.builder.build(bench.unit())

    assert HEADERS + LIBRARY == bench.calls()
    assert not bench.builder.first(bench.unit())
    assert bench.builder.ready(bench.unit())
    edited = bench.builder.build(bench.unit("int y;"))
    assert LIBRARY == bench.calls()
    assert first == bench.builder.build(bench.unit())
    assert edited == bench.builder.build(bench.unit("int y;"))
    assert [] == bench.calls()


def test_nothing_is_left_beside_the_libraries(bench: Bench) -> None:
    """Files on the way to them are removed."""
    library = bench.builder.build(bench.unit())

    assert sorted([library.name, bench.builder.recipe(bench.unit()).name]) == bench.names()


def test_sources_and_their_headers_may_stand_in_folders(bench: Bench) -> None:
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
    """The message stays the same, and a run without an edit does not wait for it."""
    for calls in ([*HEADERS, LIBRARY[0]], []):
        with pytest.raises(BuildError, match=r"^k01.cpp:2:1: error: this is wrong\nWRONG\n\^$"):
            bench.builder.build(bench.unit("WRONG"))

        assert calls == bench.calls()
        assert bench.builder.ready(bench.unit("WRONG"))


def test_another_compiler_or_torch_builds_anew(bench: Bench) -> None:
    """Headers and libraries of the others stay, for when they come back."""
    chain = bench.builder.toolchain
    torch = replace(chain.torch, stamp="torch 2.14.0")
    shutil.copy(bench.compiler, bench.path / "clang++-20")
    compiler = identify(str(bench.path / "clang++-20"))
    assert compiler
    libraries = {bench.builder.build(bench.unit())}
    for other in (replace(chain, torch=torch), replace(chain, compiler=compiler)):
        bench.calls()

        libraries.add(Builder(other, bench.folder).build(bench.unit()))

        assert HEADERS + LIBRARY == bench.calls()
    assert 3 == len(libraries)
    assert sorted(library.name for library in libraries) == bench.names("*.so")


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
    """All of them get the error, though there is a library of the source before the edit."""
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

    # The compiler that is left runs still, in a folder that is no more.
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
def test_trouble_of_the_tools_is_not_remembered(
    bench: Bench, target: str, action: str, message: str
) -> None:
    """The message says what and where; once there is room again, the same source builds."""
    bench.once(target, action)

    with pytest.raises(BrokenToolError, match=rf"^{message}\n\(builds are in .*KATAS_BUILD"):
        bench.builder.build(bench.unit())

    assert [] == bench.names("*.failed")
    assert bench.builder.build(bench.unit()).exists()


def test_a_full_disk_is_named_when_python_finds_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy of the source may be the first that does not fit."""

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
