"""C++ katas from the source to the test, with the compilers of this machine."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.native.compile import compile_headers
from plugins.native.recipe import Recipe
from plugins.native.tiers import tiers
from plugins.native.toolchain import ToolchainError
from plugins.native.toolchain import find_toolchain
from tests.support.builds import BUILDS
from tests.support.builds import share_headers
from tests.support.cxxkatas import GRADIENT
from tests.support.cxxkatas import HEAD
from tests.support.cxxkatas import TWICE
from tests.support.cxxkatas import VECTOR
from tests.support.cxxkatas import add
from tests.support.cxxkatas import source
from tests.support.terminal import Terminal
from tests.support.threekatas import PLUGINS as PLUGINS_OF_NEXT
from tests.support.warm import TORCH


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


pytestmark = pytest.mark.torch
PLUGINS = (
    "plugins.course.session",
    "plugins.course.solutions",
    "plugins.machine.absent",
    "plugins.machine.backends",
    "plugins.native.plugin",
)
WATCHED = (
    *PLUGINS_OF_NEXT,
    "plugins.loop.watch",
    "plugins.native.plugin",
    "plugins.native.ahead",
)
TWO = f"""{TWICE}
def test_again(extension):
    assert extension.op("twice")
"""
COUNTER = """// tier: small
#include <torch/library.h>

struct Counter : torch::CustomClassHolder {
  int64_t value = 41;
  int64_t next() { return ++value; }
};

TORCH_LIBRARY(lecture01_k02, m) {
  m.class_<Counter>("Counter").def(torch::init<>()).def("next", &Counter::next);
}
"""
# Takes longer to build than a run may take without a clock.
SLOW = """
import time

from plugins.native import plugin
from plugins.native.builder import Builder

plugin.builds_ahead = lambda config: False
build = Builder.build

def build_slowly(builder, unit):
    time.sleep(3)
    return build(builder, unit)

Builder.build = build_slowly
"""


@pytest.fixture
def native(course: MiniCourse, monkeypatch: pytest.MonkeyPatch) -> MiniCourse:
    """Return a course that shares the compiled headers of this checkout."""
    try:
        find_toolchain()
    except ToolchainError as error:
        pytest.skip(str(error))
    course.plugins(*PLUGINS)
    course.imported = TORCH
    monkeypatch.setenv("KATAS_BUILD", str(BUILDS))
    return course


@pytest.mark.slow
def test_every_tier_compiles_loads_and_computes(native: MiniCourse) -> None:
    """Operators on the stable and the full interface, TensorIterator, autograd, vectors."""
    tests = {"stable": TWICE, "small": TWICE, "iter": TWICE, "full": GRADIENT, "vec": VECTOR}
    for number, (tier, test) in enumerate(tests.items(), 1):
        add(native, number, source(tier, number), test)

    native.run().assert_outcomes(passed=5)


@pytest.mark.tool("clang++")
@pytest.mark.parametrize("name", tiers())
def test_headers_leave_no_template_to_a_source(tmp_path: Path, name: str) -> None:
    """Else a source without a line would instantiate it, and take twice as long."""
    recipe = Recipe(find_toolchain(), tiers()[name])
    headers = compile_headers(recipe, share_headers(tmp_path / "builds", name))
    source = tmp_path / "nothing.cpp"
    source.touch()
    trace = ["-ftime-trace", "-ftime-trace-granularity=0"]
    command = [*recipe.compile(source, source.with_suffix(".o")), *trace]
    subprocess.run(command, cwd=headers, check=True)
    events = json.loads(source.with_suffix(".json").read_text())["traceEvents"]

    assert [event for event in events if event["name"] == "ExecuteCompiler"]
    assert [] == [event["args"] for event in events if event["name"] == "InstantiateFunction"]


@pytest.mark.slow
@pytest.mark.tool("g++")
def test_gxx_builds_the_same_and_the_header_names_the_faster_compiler(native: MiniCourse) -> None:
    """A variable chooses the fallback; its errors look like those of clang."""
    native.monkeypatch.setenv("KATAS_CXX", "g++")
    add(native, 1, source("stable", 1), TWICE)
    add(native, 2, source("small", 2), TWICE)
    add(native, 3, source("stable", 3).replace("numel", "numle"), TWICE)

    result = native.run("--verbose")

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "katas: g++ builds the C++ katas; clang is five times faster: docs/optional.md",
            "katas/lecture01/csrc/k03_cpp.cpp:12:32: error: * has no member named 'numle'*",
            "  for (int64_t i = 0; i < self.numle(); ++i) {",
            "                               ^",
        ]
    )


CRASHES = """// tier: small
#include <ATen/core/Tensor.h>
#include <torch/library.h>

at::Tensor crash(const at::Tensor& x) {
  int* nothing = nullptr;
  *nothing = 1;
  return x;
}

TORCH_LIBRARY(lecture01_k01, m) { m.def("crash", &crash); }
"""
CRASH = f"""{HEAD}
def test_crash(extension):
    extension.op("crash")(torch.ones(1))

def test_after(extension):
    assert extension.op("crash")
"""


@pytest.mark.parametrize("arguments", [(), ("-n1",)], ids=["", "-n1"])
def test_a_crash_names_the_line_of_the_source(
    native: MiniCourse, arguments: tuple[str, ...]
) -> None:
    """Below the call in Python; the tests after it run in another process."""
    native.plugins(*PLUGINS, "plugins.course.limits", "plugins.crash.plugin")
    add(native, 1, CRASHES, CRASH)

    result = native.run("katas", *arguments)

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "segmentation fault (SIGSEGV) at katas/lecture01/csrc/k01_cpp.cpp:7",
            "katas/lecture01/test_k01_cpp.py:7: in test_crash",
            "katas/lecture01/csrc/k01_cpp.cpp:7: in crash",
            "    [*]nothing = 1;",
        ]
    )


def test_errors_of_a_source_have_their_place(native: MiniCourse) -> None:
    """In full once per module, in the compiler's words, with line and caret, and no traceback.

    A source without a tier, or one that includes all of PyTorch, is refused without a compiler.
    """
    add(native, 1, source("stable").replace("numel", "numle"), TWO)
    add(native, 2, "#include <torch/library.h>", TWICE)
    add(native, 3, "// tier: small\n#include <torch/extension.h>", TWICE)

    result = native.run()

    result.assert_outcomes(failed=4)
    place = "katas/lecture01/csrc/k0%d_cpp.cpp"
    result.stdout.fnmatch_lines(
        [
            f"{place % 1}:12:32: error: *no member named 'numle'*",
            "  for (int64_t i = 0; i < self.numle(); ++i) {",
            "                               ^",
            f"{place % 1} has no library, see test_twice:",
            f"{place % 1}:12:32: error: *no member named 'numle'*",
            f"{place % 2}:1: expected // tier: NAME, *",
            f"{place % 3}:2: #include <torch/extension.h> is all of PyTorch *",
        ]
    )
    assert "plugins/" not in result.stdout.str()


def test_a_library_that_cannot_be_loaded_is_a_failed_test(native: MiniCourse) -> None:
    """A bad schema, a namespace that is taken or a missing function do not abort the run."""
    add(native, 1, source("small").replace(") -> Tensor", ") arrow Tensor"), TWICE)
    add(native, 2, source("small", 2), TWICE)
    add(native, 3, source("small", 2) + "\n", TWICE)
    missing = source("small", 4).replace("namespace {", "at::Tensor f(at::Tensor);\nnamespace {")
    add(native, 4, missing.replace("return out;", "return f(out);"), TWICE)

    result = native.run()

    result.assert_outcomes(passed=1, failed=3)
    start = "katas/lecture01/csrc/k0%d_cpp.cpp compiles, but cannot be loaded: "
    result.stdout.fnmatch_lines(
        [
            start % 1 + "expected arrow but found 'ident' here:",
            "twice(Tensor self) arrow Tensor",
            start % 3 + "Only a single TORCH_LIBRARY can be used to register the namespace"
            " lecture01_k02; *",
            start % 4 + "f(at::Tensor) is declared and used, but defined nowhere",
        ]
    )


def test_a_missing_operator_class_or_function_is_an_assertion(native: MiniCourse) -> None:
    """In the test that asks for it, with the line that is missing."""
    test = f"""{HEAD}
def test_op(extension):
    extension.op("clamp")

def test_cls(extension):
    extension.cls("Counter")

def test_symbol(extension):
    assert 42 == extension.symbol("kata_answer")()
    extension.symbol("kata_question")
"""
    there = f'{HEAD}\ndef test_it(extension):\n    assert 42 == extension.cls("Counter")().next()\n'
    add(native, 1, source("stable"), test)
    add(native, 2, COUNTER, there)

    result = native.run("--tb=short")

    result.assert_outcomes(failed=3, passed=1)
    place = "E   AssertionError: katas/lecture01/csrc/k01_cpp.cpp "
    result.stdout.fnmatch_lines(
        [
            place + "defines no operator 'clamp': TORCH_LIBRARY(lecture01_k01, m) needs m.def*",
            place + "registers no class 'Counter': TORCH_LIBRARY(lecture01_k01, m) needs m.class_*",
            place + "exports no function 'kata_question': it must be extern \"C\", *",
        ]
    )
    assert "plugins/native/extension.py" not in result.stdout.str()


def test_a_library_may_be_built_and_not_loaded(native: MiniCourse) -> None:
    """Tests load a library that registers for the whole process in one of their own."""
    test = f"""{HEAD}
def test_it(unloaded):
    assert not hasattr(torch.ops.lecture01_k01, "twice")
    torch.ops.load_library(unloaded.path)
    assert [6] == unloaded.op("twice")(torch.tensor([3.0])).tolist()
"""
    add(native, 1, source("stable"), test)
    add(native, 2, "// tier: stable\nint f() {}", test)

    result = native.run()

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["katas/lecture01/csrc/k02_cpp.cpp:2:10: error: *return*"])


def test_solutions_are_built_from_their_own_sources(native: MiniCourse) -> None:
    """The exercise beside them still fails."""
    stub = source("stable").replace("return out;", 'STD_TORCH_CHECK(false, "TODO");')
    add(native, 1, stub, TWICE, solution=source("stable"))

    native.run().assert_outcomes(failed=1)
    native.run("--solutions").assert_outcomes(passed=1)


def test_a_fixture_on_top_of_a_broken_library_says_the_same(native: MiniCourse) -> None:
    """As an error of the set-up, which is why tests ask for operators themselves."""
    test = f"""{HEAD}
@pytest.fixture
def twice(extension):
    return extension.op("twice")

def test_it(twice):
    pass
"""
    add(native, 1, "// tier: stable\nint f() {}", test)

    result = native.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["katas/lecture01/csrc/k01_cpp.cpp:2:10: error: *return*"])


def test_a_module_without_a_source_is_an_error(native: MiniCourse) -> None:
    """The message names the table that must have it."""
    native.kata("k01_python", "def test_it(extension): pass")

    result = native.run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*katas/lecture01/lecture.toml has no C++ source for test_k01_*"])


@pytest.mark.slow
def test_workers_share_the_builds_and_show_no_progress(native: MiniCourse) -> None:
    """Workers have no terminal."""
    add(native, 1, source("stable", 1) + unique(native), TWO)
    add(native, 2, source("stable", 2) + unique(native), TWO)

    result = native.run("-n", "2")

    result.assert_outcomes(passed=4)
    result.stdout.no_fnmatch_line("building *")


def unique(course: MiniCourse) -> str:
    """Return a comment that makes a source new to the shared build folder."""
    return f"// {course.path} {os.urandom(8).hex()}\n"


@pytest.fixture
def late(native: MiniCourse) -> MiniCourse:
    """Return a course that builds nothing before a test needs it."""
    ahead = "\nfrom plugins.native import plugin\n\nplugin.builds_ahead = lambda config: False\n"
    conftest = native.path / "conftest.py"
    conftest.write_text(conftest.read_text() + ahead)
    return native


def test_a_line_says_what_is_built(late: MiniCourse) -> None:
    """Unless it is ready; a file gets one plain line."""
    add(late, 1, source("stable") + unique(late), TWICE)
    line = r"^building lecture01/k01_cpp \(stable, \S+\) \.\.\.( first build: about \d+ s)?$"

    first, second = late.run(), late.run()

    first.assert_outcomes(passed=1)
    assert 1 == len([text for text in first.outlines if re.match(line, text)])
    second.stdout.no_fnmatch_line("building *")


def test_the_builds_of_a_lecture_are_one_line_that_counts(late: MiniCourse) -> None:
    """In a file the first line says how many they are; a terminal has one line for all."""
    for number in (1, 2):
        add(late, number, source("stable", number) + unique(late), TWICE)

    result = late.run()

    result.assert_outcomes(passed=2)
    built = [text for text in result.outlines if text.startswith("building ")]
    assert ["building 1 of 2 sources, lecture01/k01_cpp (stable, "] == [
        text.partition("stable, ")[0] + "stable, " for text in built
    ]


def test_a_terminal_forgets_the_line(late: MiniCourse) -> None:
    """It is overwritten when the build is done."""
    add(late, 1, source("stable") + unique(late), TWICE)
    terminal, program = pty.openpty()
    with os.fdopen(program, "w") as shown:
        command = [sys.executable, "-mpytest"]
        process = late.warm.popen(TORCH, command, stdout=shown, stderr=shown)
    output = b""
    while part := read(terminal):
        output += part
    os.close(terminal)

    assert 0 == process.wait()
    assert re.search(rb"\rbuilding lecture01/k01_cpp [^\n]*\r +\r", output)


def read(terminal: int) -> bytes:
    """Return some output; nothing when the last process has closed its end."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


def test_without_capture_the_line_is_shown_too(late: MiniCourse) -> None:
    """The session may lack pytest's plugin."""
    add(late, 1, source("stable") + unique(late), TWICE)

    result = late.run("-p", "no:capture")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["building lecture01/k01_cpp (stable, *) ...*"])


def test_a_folder_that_cannot_be_written_to_is_a_warning(native: MiniCourse) -> None:
    """The builds go to a temporary folder, and the tests run."""
    add(native, 1, source("stable"), TWICE)
    folder = share_headers(native.path / f"katas-build-{os.getuid()}", "stable")
    native.monkeypatch.setenv("KATAS_BUILD", "/proc/katas")
    native.monkeypatch.setenv("TMPDIR", str(native.path))

    result = native.run()

    result.assert_outcomes(passed=1, warnings=1)
    assert list(folder.glob("*.so"))
    result.stdout.fnmatch_lines(["*C++ katas are built in *: /proc/katas cannot be written to (*"])


def test_without_any_folder_the_test_says_so(native: MiniCourse) -> None:
    """Both folders and both reasons."""
    add(native, 1, source("stable"), TWICE)
    native.monkeypatch.setenv("KATAS_BUILD", "/proc/katas")
    native.write(f"katas-build-{os.getuid()}", "in the way")
    native.monkeypatch.setenv("TMPDIR", str(native.path))

    result = native.run()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*k01_cpp.cpp could not be built: /proc/katas cannot be written to (*), and */katas-*"]
    )


def test_without_a_compiler_the_tests_are_skipped(native: MiniCourse) -> None:
    """With the reason; a test without the mark fails with it."""
    native.monkeypatch.setenv("KATAS_CXX", "no-such-compiler")
    add(native, 1, source("stable"), TWICE)
    add(native, 2, source("stable", 2), TWICE.replace("pytestmark", "unused"))

    result = native.run("-rs")

    result.assert_outcomes(skipped=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*k02_cpp.cpp could not be built: KATAS_CXX=no-such-compiler is not a C++ compiler *",
            "SKIPPED * cxx: KATAS_CXX=no-such-compiler is not a C++ compiler that can be run",
        ]
    )


def test_without_fork_the_backend_is_missing(native: MiniCourse) -> None:
    """As on Windows, which has WSL."""
    add(native, 1, source("stable"), TWICE)
    conftest = native.path / "conftest.py"
    conftest.write_text(f"import os\n\ndel os.fork\n{conftest.read_text()}")

    result = native.run("-rs")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED * cxx: * on Windows, use WSL"])


@pytest.mark.slow
def test_the_clock_of_a_watch_shows_what_is_built(late: MiniCourse) -> None:
    """In one row, with the keys; no other line about the build is drawn over it."""
    late.plugins(*WATCHED)
    conftest = late.path / "conftest.py"
    conftest.write_text(conftest.read_text() + SLOW)
    add(late, 1, source("stable") + unique(late), TWICE)
    with Terminal(late.path, "katas/lecture01", "--watch") as terminal:
        text = terminal.shown("lecture01/k01_cpp is solved")

    clock = r"\r\x1b\[K +\d s  building lecture01/k01_cpp \(stable, \S+\) \.\.\. .* r rerun  q quit"
    assert re.search(clock, text)
    assert "\rbuilding" not in text
    assert "\nbuilding" not in text


@pytest.mark.slow
def test_a_save_in_a_watch_rebuilds_only_what_changed(native: MiniCourse, tmp_path: Path) -> None:
    """One library is built anew: not the other kata's, not the headers; an undo builds none."""
    folder = share_headers(tmp_path / "build", "stable")
    native.monkeypatch.setenv("KATAS_BUILD", str(folder))
    native.plugins(*WATCHED)
    text = source("stable")
    for number in (1, 2):
        add(native, number, source("stable", number), TWICE)
    native.run().assert_outcomes(passed=2)

    def built() -> dict[str, int]:
        """Return the inode of each library and of each compiled header, by name."""
        files = [*folder.glob("*.so"), *folder.glob("*/*/*.[pg]ch")]
        return {file.relative_to(folder).as_posix(): file.stat().st_ino for file in files}

    before = built()
    exercise = native.path / "katas/lecture01/csrc/k01_cpp.cpp"
    with Terminal(native.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        exercise.write_text(f"{text}\n// another word\n")
        saved = terminal.shown()
        after = built()
        exercise.write_text(text)
        undone = terminal.shown()

    # Two libraries, and the headers: clang calls them .pch, g++ .gch.
    assert {".so"} < {Path(name).suffix for name in before}
    assert "lecture01/k01_cpp is solved" in saved
    assert "lecture01/k01_cpp is solved" in undone
    assert before.items() <= after.items() == built().items()
    (name,) = after.keys() - before.keys()
    assert name.startswith("lecture01_k01")
    assert [] == [*folder.glob("waits-*")]
