"""The stacks of a crash, in Python and in C++, cut to the learner's calls."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from plugins import HERE
from plugins.crash import stacks
from plugins.crash.stacks import MOST
from plugins.crash.stacks import MOST_CPP
from plugins.crash.stacks import TOOLS
from plugins.crash.stacks import WORK
from plugins.crash.stacks import Frame
from plugins.crash.stacks import Stack
from plugins.crash.stacks import add_calls
from plugins.crash.stacks import find_tool
from plugins.crash.stacks import read_stack
from plugins.crash.stacks import read_traceback


ROOT = Path("/home/josé/course")
# The root as faulthandler writes it.
WRITTEN = r"/home/jos\xe9/course"
TEST = Frame("katas/lecture01/test_k01_first.py", 5, "test_it")
POKE = Frame("katas/lecture01/k01_first.py", 3, "poke")
RUNNER = """
  File "/venv/site-packages/_pytest/python.py", line 159 in pytest_pyfunc_call
  File "/venv/site-packages/pluggy/_callers.py", line 121 in _multicall
  File "/home/jos\\xe9/course/conftest.py", line 1 in <module>
"""
CALLS = f"""
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "{WRITTEN}/katas/lecture01/k01_first.py", line 3 in poke
  File "{WRITTEN}/.venv/lib/site-packages/torch/nn.py", line 9 in forward
  File "{WRITTEN}/katas/lecture01/test_k01_first.py", line 5 in test_it
"""
CURRENT = "Current thread 0x00007f (most recent call first):"
OTHER = "Thread 0x00008f [name] (most recent call first):"


def test_the_calls_between_the_test_and_the_crash_are_kept() -> None:
    """The outermost first, without libraries and without pytest."""
    text = f"Fatal Python error: Aborted\n\n{CURRENT}{CALLS}{RUNNER}"

    assert Stack((TEST, POKE)) == read_stack(text, ROOT)


def test_the_stack_that_os_exit_asks_for_is_read() -> None:
    """It has a heading of its own."""
    assert Stack((TEST, POKE)) == read_stack(f"Stack (most recent call first):{CALLS}", ROOT)


def test_the_thread_that_died_counts() -> None:
    """In any position; if it ran none of the learner's code, another thread counts."""
    ours = f'\n  File "{WRITTEN}/katas/lecture01/k01_first.py", line 3 in poke\n'

    assert (POKE,) == read_stack(f"{OTHER}{CALLS}{CURRENT}{ours}{OTHER}{CALLS}", ROOT).frames
    assert (TEST, POKE) == read_stack(f"{CURRENT}{RUNNER}{OTHER}{CALLS}", ROOT).frames


def test_the_last_stack_counts() -> None:
    """A process that the test forked may have written one before."""
    ours = f'\n  File "{WRITTEN}/katas/lecture01/k01_first.py", line 3 in poke\n'

    assert (POKE,) == read_stack(f"{CURRENT}{CALLS}{CURRENT}{ours}", ROOT).frames


def test_no_stack_is_no_stack() -> None:
    """A killed process writes none; a line before the first heading is no call."""
    assert Stack() == read_stack("", ROOT)
    assert Stack() == read_stack(CALLS, ROOT)
    assert Stack() == read_stack(f"{CURRENT}{RUNNER}", ROOT)


def test_a_stack_that_is_not_written_to_its_end_is_endless() -> None:
    """Only a hundred calls are written, which do not reach the caller of the test."""
    call = f'\n  File "{WRITTEN}/katas/lecture01/k01_first.py", line 3 in poke'

    assert not read_stack(CURRENT + call * (MOST - 1), ROOT).endless
    assert read_stack(CURRENT + call * MOST, ROOT).endless
    assert not read_stack(CURRENT + RUNNER + call * MOST, ROOT).endless


def test_a_stack_is_shown_as_pytest_shows_calls(tmp_path: Path) -> None:
    """Each call once, with its line where there is one."""
    (tmp_path / "k01.py").write_text("def f():\n    return f()\n")
    deep = Frame("k01.py", 2, "f")

    assert ["k01.py:2: in f", "    return f()"] == list(Stack((deep,)).format_calls(tmp_path))
    assert [
        "k01.py:99: in f",
        "k01.py:2: in f",
        "    return f()",
        "    (and the same calls again, at least 2 more)",
    ] == list(Stack((Frame("k01.py", 99, "f"), deep, deep, deep)).format_calls(tmp_path))


def test_a_traceback_is_cut_too() -> None:
    """An exception's traceback runs from the outermost call to the innermost."""
    entries = traceback.StackSummary.from_list(
        [
            ("/venv/pluggy/_callers.py", 121, "_multicall", None),
            ("/home/josé/course/katas/lecture01/test_k01_first.py", 5, "test_it", None),
            ("<frozen importlib._bootstrap>", 1, "_load", None),
            ("/home/josé/course/katas/lecture01/k01_first.py", 3, "poke", None),
        ]
    )

    assert Stack((TEST, POKE)) == read_traceback(entries, ROOT)


# C++: what the process writes when it dies, and what is found for it.

NAME = "katas/lecture01/csrc/k01_faults.cpp"
SOURCE = """#include <cstdlib>
#include <thread>
namespace {
int read(int* pointer) {
  return *pointer;
}
int deep(volatile int* p) {
  volatile int here[512]; here[0] = *p;
  return deep(here) + here[0];
}
}
extern "C" {
void kata_null() { read(nullptr); }
void kata_divide() {
  volatile int zero = 0;
  zero = 7 / zero; }
void kata_abort() { std::abort(); }
void kata_trap() { __builtin_trap(); }
void kata_deep() { int here = 1;
  deep(&here); }
void kata_thread() { std::thread([] {
  read(nullptr); }).join(); }
}
"""
# The signal, and the lines, the outermost first; of an endless recursion, the last that are
# certain. The call after those faults at its call, its prologue or its first write: the stack
# starts at a random address.
FAULTS = {
    "null": ("SIGSEGV", [13, 5]),
    "divide": ("SIGFPE", [16]),
    "abort": ("SIGABRT", [17]),
    "trap": ("SIGILL", [18]),
    "thread": ("SIGSEGV", [22, 5]),
    "deep": ("SIGSEGV", [9] * 50),
}
DIE = """
import ctypes, faulthandler, os, sys

stack = open(sys.argv[2], "ab")
faulthandler.enable(stack)
library = ctypes.CDLL(sys.argv[1])
library.kata_write_faults(stack.fileno())
if sys.argv[4:] and os.fork():
    raise SystemExit(os.wait()[1])
library["kata_" + sys.argv[3]]()
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a library as those of katas are named and built, from a source with a `#line`."""
    folder = tmp_path_factory.mktemp("build")
    built, source = folder / "lecture01_k01-0123456789abcdef.so", folder / "copy.cpp"
    source.write_text(f'#line 1 "{NAME}"\n{SOURCE}')
    options = ["-shared", "-fPIC", "-O0", "-gdwarf-4", "-g1", "-w", "-pthread", "-o", str(built)]
    sources = [str(source), str(HERE / "native/faults.cpp")]
    subprocess.run(["g++", *sources, *options], check=True, cwd=folder)
    return built


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a checkout that has the source."""
    file = tmp_path / "course" / NAME
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE)
    return tmp_path / "course"


def die(library: Path, file: Path, *arguments: str) -> int:
    """Call a function of the library in a process; return the status, the stack is in `file`."""
    command = [sys.executable, "-c", DIE, str(library), str(file), *arguments]
    return subprocess.run(command, check=False).returncode


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_cpp_has_its_lines(library: Path, root: Path, fault: str) -> None:
    """The signal that ends the process, and what Python writes of itself, are as ever."""
    name, lines = FAULTS[fault]
    file = root / "stack"
    code = die(library, file, fault)
    text = file.read_text()
    found = add_calls(Stack(), text, root)

    assert -signal.Signals[name] == code
    assert "most recent call first" in text
    assert {NAME} == {frame.path for frame in found.frames}
    found_lines = [frame.line for frame in found.frames]
    if fault == "deep":
        assert found_lines.pop() in (7, 8, 9)
    assert lines == found_lines[-len(lines) :]
    assert (fault == "deep") == found.endless


def test_functions_have_short_names(library: Path, root: Path) -> None:
    """Without namespace of the file and types of the arguments; Python's calls are first."""
    file = root / "stack"
    die(library, file, "null")
    test = Frame("katas/lecture01/test_k01_faults.py", 3, "test_it")
    stack = add_calls(Stack((test,)), file.read_text(), root)

    assert (test, Frame(NAME, 13, "kata_null"), Frame(NAME, 5, "read")) == stack.frames
    assert [f"{NAME}:5: in read", "    return *pointer;"] == list(stack.format_calls(root))[-2:]


def test_a_process_that_a_test_forked_writes_no_calls(library: Path, root: Path) -> None:
    """The file is the other's, which lives."""
    file = root / "stack"
    die(library, file, "null", "forked")

    assert "C++ 0x" not in file.read_text()


@pytest.mark.parametrize("tool", [name for name in TOOLS if shutil.which(name)])
def test_each_tool_finds_the_same(
    library: Path, root: Path, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GNU's comes with g++; LLVM's may be the only one beside clang."""
    file = root / "stack"
    die(library, file, "thread")
    only = {tool: str(shutil.which(tool))}
    monkeypatch.setattr(shutil, "which", only.get)
    lines = [frame.line for frame in add_calls(Stack(), file.read_text(), root).frames]

    assert tool == Path(find_tool()[0]).name
    assert [22, 5] == lines[-2:]


KATA = "/build/lecture01_k01-0123456789abcdef.so"
SECOND = "/build/lecture01_k02-0123456789abcdef.so"
TEXT = f"C++ 0x10 {KATA}\nC++ 0x20 {SECOND}\nC++ 0x30 {KATA}\nC++ 0x40 /lib/libtorch_cpu.so\n"


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, output: str, status: int = 0) -> Path:
    """Let a script stand in for the tool; it notes its arguments in the file that is returned."""
    script = folder / "tool"
    script.write_text(
        f"#!/bin/sh\necho $@ >> {folder}/asked\ncat <<'.'\n{output}\n.\nexit {status}\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr(stacks, "find_tool", lambda: [str(script)])
    return folder / "asked"


def test_only_the_katas_own_libraries_are_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once each: it would take seconds to read torch's."""
    asked = stand_in(root, monkeypatch, "0x10\nf\n??:0\n")

    assert Stack() == add_calls(Stack(), TEXT * 2, root)
    assert [f"-a -f -i -C -e {KATA} 0x10 0x30", f"-a -f -i -C -e {SECOND} 0x20"] == (
        asked.read_text().splitlines()
    )


def test_only_the_learners_lines_are_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of inlined calls too; not those of headers, wherever the environment is."""
    header = root / "venv/lib/site-packages/torch/include/ATen.h"
    header.parent.mkdir(parents=True)
    header.touch()
    answers = f"""0x10
at::inlined(int)
{header}:7
(anonymous namespace)::sum(at::Tensor const&)::{{lambda(long)#1}}::operator()(long) const
/build/small-1/tier-2/{NAME}:5 (discriminator 3)
std::apply
/usr/include/c++/12/tuple:9
0x30
kata_null
/build/small-1/tier-2/{NAME}:13"""
    stand_in(root, monkeypatch, answers)
    frames = add_calls(Stack(), TEXT.replace(SECOND, "/lib/libc.so"), root).frames

    assert [(NAME, 13), (NAME, 5)] == [(frame.path, frame.line) for frame in frames]
    assert "kata_null" == frames[0].function


def test_the_harness_in_a_build_folder_of_the_checkout(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sources, the handler's among them, are below the root, and are not the learner's."""
    work = root / f".katas/build/small-1/{WORK}2"
    work.mkdir(parents=True)
    (work / "faults.cpp").touch()
    answers = f"0x10\nwrite_calls\n{work}/faults.cpp:56\n0x30\nkata_null\n{work}/{NAME}:13\n"
    # A lambda in it, inlined.
    answers += f"kata_null()::{{lambda()#1}}::operator()() const\n{work}/{NAME}:13\n"
    stand_in(root, monkeypatch, answers)
    frames = add_calls(Stack(), TEXT.replace(SECOND, "/lib/libc.so"), root).frames

    assert (Frame(NAME, 13, "kata_null"),) == frames
    assert f'prefix="{WORK}"' in (HERE / "native/compile.py").read_text()


@pytest.mark.parametrize("output", ["", "0x10", "0x10\nf", "nothing\nof\nthe kind", "0x10\n\n??"])
def test_an_answer_that_says_nothing_adds_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    """As of a library without debug information, or one that was pruned."""
    stand_in(root, monkeypatch, output, status=1)

    assert Stack() == add_calls(Stack(), TEXT, root)


def test_without_a_tool_python_alone_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was before there were lines; so with a tool that cannot be run, or does not end."""
    before = Stack((Frame("katas/lecture01/k01.py", 3, "f"),))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert before == add_calls(before, TEXT, root)

    monkeypatch.setattr(stacks, "find_tool", lambda: ["/no/such/tool"])
    assert before == add_calls(before, TEXT, root)

    script = root / "slow"
    script.write_text("#!/bin/sh\nexec sleep 60\n")
    script.chmod(0o755)
    monkeypatch.setattr(stacks, "find_tool", lambda: [str(script)])
    monkeypatch.setattr(stacks, "SECONDS", 0.1)
    assert before == add_calls(before, TEXT, root)


def test_a_stack_that_does_not_reach_python_is_endless(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer stops at some number; a deep stack of torch's ends in Python before that."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    calls = f"C++ 0x10 {KATA}\n" * (MOST_CPP - 1)

    assert not add_calls(Stack(), calls, root).endless
    assert add_calls(Stack(), f"{calls}C++ 0x10 {KATA}\n", root).endless
    assert not add_calls(Stack(), f"{calls}C++ 0x10 /usr/lib/libpython3.11.so\n", root).endless
    assert f"MOST = {MOST_CPP};" in (HERE / "native/faults.cpp").read_text()
