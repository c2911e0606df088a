"""Builds by a stand-in compiler: once for each content, never stale, never stuck."""

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
from plugins.native import toolchain
from plugins.native.builder import Builder
from plugins.native.builder import BuildError
from plugins.native.builder import describe_build
from plugins.native.compile import BrokenToolError
from plugins.native.recipe import Recipe
from plugins.native.sources import Unit
from plugins.native.sources import read_unit
from plugins.native.tiers import Tier
from plugins.native.tiers import tiers
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


class Two:
    """A bench with a second compiler, g++, whose headers are other ones."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        text = bench.compiler.read_text().replace("clang version 19.1.7", "g++ (GCC) 12.2.0")
        self.bench = bench
        self.gxx = bench.path / "g++"
        self.gxx.write_text(text.replace("tier.h)", "-x) source=$3; shift 2 ;; none)"))
        self.gxx.chmod(0o755)
        monkeypatch.delenv("KATAS_CXX")
        monkeypatch.setenv("PATH", f"{bench.path}:/usr/bin:/bin")
        monkeypatch.setattr(toolchain, "NEWEST", 0)
        monkeypatch.setattr(toolchain, "KEGS", ())

    def builder(self) -> Builder:
        """Return a builder of a session that begins now."""
        return Builder(find_toolchain(), self.bench.folder)


@pytest.fixture
def two(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Two:
    """Return the two compilers, clang first."""
    return Two(bench, monkeypatch)


def test_a_compiler_that_cannot_build_a_tier_is_passed_over(two: Two) -> None:
    """The next one builds, at once and in later sessions, until a day has passed."""
    bench, builder = two.bench, two.builder()
    unit = bench.unit()
    assert ["clang++"] == [c.name for c in (builder.recipe(unit).toolchain.compiler,)]
    bench.once("tier.pch", "broken")

    library = builder.build(unit)

    assert "g++" == builder.recipe(unit).toolchain.compiler.name
    assert ["clang++"] == builder.passed_over(tiers()["small"])
    assert "(small, g++; clang++ cannot) ..." in describe_build(builder, [unit], "lecture01/k01")
    later = two.builder()
    assert later.ready(unit)
    assert library == later.build(unit)
    assert ["clang++"] == later.passed_over(tiers()["small"])
    assert [] == later.passed_over(tiers()["iter"])
    clang = Recipe(find_toolchain(), tiers()["small"])
    os.utime(bench.folder / clang.name / "refused", (1, 1))

    assert library != two.builder().build(unit)
    assert [] == two.builder().passed_over(tiers()["small"])


def test_a_compiler_that_was_interrupted_is_not_passed_over(two: Two) -> None:
    """Neither a signal nor a full disk says anything about it."""
    bench = two.bench
    for action in ("crash", "full"):
        bench.once("tier.pch", action)
        with pytest.raises(BrokenToolError):
            two.builder().build(bench.unit())

        assert [] == two.builder().passed_over(tiers()["small"])


def test_where_no_compiler_can_the_first_error_of_each_is_shown(two: Two) -> None:
    """And that the learner's code is not to blame, and what to do."""
    bench = two.bench
    two.gxx.write_text(two.gxx.read_text().replace('cat "$', 'echo "a.h:7: error: what"; false "$'))
    bench.once("tier.pch", "broken")

    with pytest.raises(BrokenToolError) as caught:
        two.builder().build(bench.unit())

    text = str(caught.value)
    assert text.startswith("the fault is not in your code, but in the headers of the tier small\n")
    assert "\nclang++ cannot compile them:\nld: error: no such library\n" in text
    assert "\ng++ cannot compile them:\na.h:7: error: what\n" in text
    assert "\ninstall another compiler, or name one by KATAS_CXX: apt install clang lld;" in text


def test_a_compiler_that_was_asked_for_is_not_passed_over(bench: Bench) -> None:
    """Its error is shown, each time."""
    bench.once("tier.pch", "broken")
    with pytest.raises(
        BrokenToolError, match=r"clang\+\+ cannot compile them:\nld: error: no such"
    ):
        bench.builder.build(bench.unit())

    assert bench.builder.build(bench.unit()).exists()


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
    recipe = SimpleNamespace(toolchain=SimpleNamespace(compiler=compiler))
    builder: Any = SimpleNamespace(
        needs_headers=lambda _unit: first,
        recipe=lambda _unit: recipe,
        passed_over=lambda _tier: [],
    )
    unit: Any = SimpleNamespace(tier=Tier("small", (), (8, 13)))

    assert f"building lecture01/k01 {line}" == describe_build(builder, [unit], "lecture01/k01")


def test_a_first_build_counts_the_headers_of_all_libraries_of_the_kata() -> None:
    """Each tier once, and none that is ready."""
    units: Any = [
        SimpleNamespace(tier=Tier(name, (), (seconds, 0)))
        for name, seconds in (("simt", 9), ("small", 8), ("small", 8), ("ready", 100))
    ]
    compiler = SimpleNamespace(name="cc-19", clang=True)
    builder: Any = SimpleNamespace(
        needs_headers=lambda unit: unit.tier.name != "ready",
        recipe=lambda _unit: SimpleNamespace(toolchain=SimpleNamespace(compiler=compiler)),
        passed_over=lambda _tier: [],
    )

    found = [describe_build(builder, units[start:], "lecture09/k01") for start in (0, 1, 3)]

    assert [
        "building lecture09/k01 (simt, cc-19) ... first build: about 17 s",
        "building lecture09/k01 (small, cc-19) ... first build: about 8 s",
        "building lecture09/k01 (ready, cc-19) ...",
    ] == found
