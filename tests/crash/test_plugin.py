"""Whatever a learner's code does to its process is one failed test; the others run once."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from plugins.watchdog import physical_memory


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


PLUGINS = (
    "plugins.course",
    "plugins.crashguard",
    "plugins.solutions",
    "plugins.episodes",
    "plugins.failures",
)
EXERCISE = """
import ctypes, os, sys, time
native = ctypes.PyDLL(os.environ["FAULTS"])


class Endless:
    def __repr__(self):
        return repr(self)


def exercise():
    {body}
"""
TEST = """
from katas.lecture01.{name} import exercise


def note(word):
    with open("log", "a") as log:
        log.write(word + "\\n")


def test_before():
    note("before {name}")


def test_fault():
    note("fault {name}")
    exercise()


def test_after():
    note("after {name}")
"""
IMPORT = "from katas.lecture01.{name} import exercise\n\n\ndef test_it(): pass\n"


@dataclass(frozen=True)
class Fault:
    """The line of an exercise, and what its failure says."""

    line: str
    says: str
    # Whether there is a Python line to point at.
    placed: bool = True


FAULTS = {
    "segfault": Fault("native.segfault()", "segmentation fault (SIGSEGV)"),
    "abort": Fault("native.abort_now()", "abort (SIGABRT)"),
    "division": Fault("native.divide(1, 0)", "floating-point exception (SIGFPE)"),
    "trap": Fault("native.fall_off()", "illegal instruction (SIGILL)"),
    "native_overflow": Fault(
        "native.recurse(ctypes.byref(ctypes.c_int()))", "segmentation fault (SIGSEGV)"
    ),
    "python_overflow": Fault(
        "sys.setrecursionlimit(10**8); repr(Endless())", "stack overflow (SIGSEGV)", placed=False
    ),
    "terminate": Fault("native.join_nothing()", "std::terminate without an exception (SIGABRT)"),
    "uncaught": Fault(
        "native.uncaught()", "uncaught C++ exception std::runtime_error: thrown to Python"
    ),
    "free_twice": Fault(
        "native.free_twice()", "abort (SIGABRT): free(): double free detected in tcache 2"
    ),
    "os_exit": Fault("os._exit(0)", "Python ended with status 0"),
    "native_exit": Fault("native.leave()", "Python ended with status 0", placed=False),
    "python_loop": Fault("while True: pass", "still running after 2 s"),
    "native_loop": Fault("native.spin()", "still running after 2 s"),
    "memory": Fault(
        "while True: sys.x = getattr(sys, 'x', []) + [bytearray(2**22)]", "of memory taken"
    ),
}
IMPORTS = {
    "segfault": Fault("native.segfault()", "segmentation fault (SIGSEGV)"),
    "os_exit": Fault("os._exit(3)", "Python ended with status 3"),
    "sys_exit": Fault("sys.exit(0)", "sys.exit(0) was called"),
    "loop": Fault("while True: pass", "still running after 2 s"),
}


@pytest.fixture(scope="session")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of native faults."""
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    source = Path(__file__).with_name("faults.cpp")
    options = ["-shared", "-fPIC", "-O0", "-w", "-pthread", "-o", str(library)]
    subprocess.run(["g++", str(source), *options], check=True)
    return library


@pytest.fixture
def kata(course: MiniCourse, faults: Path) -> MiniCourse:
    """A course with limits of two seconds and some 400 MiB."""
    course.plugins(*PLUGINS)
    share = -(-400 * 100 * 2**20 // physical_memory())
    limits = f'[tool.pytest]\nkata_timeout = 2.0\nkata_memory = "{share}%"'
    lines = (course.path / "pyproject.toml").read_text()
    course.write("pyproject.toml", lines.replace("[tool.pytest]", limits))
    course.monkeypatch.setenv("FAULTS", str(faults))
    return course


def add(kata: MiniCourse, number: int, fault: str, line: str) -> str:
    """Add a kata whose second test calls an exercise of this line, and return its name."""
    name = f"k{number:02}_{fault}"
    test = TEST.format(name=name)
    if fault == "memory":
        # To fill it takes its time on a busy machine.
        test = test.replace("def test_fault", "@pytest.mark.time_limit(90)\ndef test_fault")
    kata.kata(name, test=f"import pytest\n{test}", stub=EXERCISE.format(body=line))
    return name


def add_import(kata: MiniCourse, number: int, fault: str, line: str) -> str:
    """Add a kata whose exercise does this when it is imported."""
    name = f"k{number:02}_{fault}"
    stub = EXERCISE.format(body="pass") + f"\n{line}\n"
    kata.kata(name, test=IMPORT.format(name=name), stub=stub)
    return name


def log(kata: MiniCourse) -> list[str]:
    """Return what has run."""
    return (kata.path / "log").read_text().splitlines()


def ran(*names: str) -> list[str]:
    """Return what is logged when each test of these katas runs once."""
    return [f"{word} {name}" for name in names for word in ("before", "fault", "after")]


def cases(kata: MiniCourse) -> dict[str, list[str]]:
    """Return what JUnit XML has of each test."""
    suite = ET.parse(kata.path / "report.xml").getroot()[0]  # noqa: S314 - our own file
    found = {
        f"{case.get('classname')}.{case.get('name')}".lstrip("."): [part.tag for part in case]
        for case in suite.iter("testcase")
    }
    assert int(suite.attrib["tests"]) == len(found) == len(list(suite.iter("testcase")))
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_failed_test(kata: MiniCourse, name: str) -> None:
    """What happened, where, and its episode; the summary, the exit code and the XML are whole."""
    fault = FAULTS[name]
    first = add(kata, 1, name, fault.line)
    second = add(kata, 2, "fine", "pass")

    result = kata.run("--junit-xml=report.xml")

    result.assert_outcomes(failed=1, passed=5)
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    place = f" at katas/lecture01/{first}.py:*" if fault.placed else "*"
    result.stdout.fnmatch_lines(
        [
            "collected 6 items",
            "",
            f"katas/lecture01/test_{first}.py .F.*50%]",
            f"katas/lecture01/test_{second}.py ...*100%]",
            "* test_fault *",
            f"*{fault.says}{place}",
            *([f"katas/lecture01/{first}.py:*: in exercise"] if fault.placed else []),
            "*listen*#62 Strides*",
            f"FAILED katas/lecture01/test_{first}.py::test_fault - Crashed: *",
        ]
    )
    assert [1, 1] == [
        sum(text in line for line in result.outlines) for text in ("session starts", "in exercise")
    ] or not fault.placed
    assert ran(first, second) == log(kata)
    assert ["properties", "failure"] == cases(kata)[f"katas.lecture01.test_{first}.test_fault"]
    assert "" == result.stderr.str()


def test_continuous_integration_shows_the_whole_message(
    kata: MiniCourse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With CI set, pytest does not cut its summary; the fault is still one failed test."""
    monkeypatch.setenv("CI", "true")
    first = add(kata, 1, "segfault", FAULTS["segfault"].line)

    result = kata.run()

    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(
        [
            f"FAILED katas/lecture01/test_{first}.py::test_fault - Crashed: segmentation fault *",
            "It read or wrote memory that is not its own: *",
            "* where to go on *",
            "*listen*#62 Strides*",
        ]
    )
    assert ran(first) == log(kata)


@pytest.mark.parametrize("name", IMPORTS)
def test_a_fault_of_an_import_is_one_failed_test(kata: MiniCourse, name: str) -> None:
    """It stands for the tests of its module; those of the other modules run."""
    fault = IMPORTS[name]
    first = add_import(kata, 1, name, fault.line)
    second = add(kata, 2, "fine", "pass")

    result = kata.run("--junit-xml=report.xml")

    result.assert_outcomes(failed=1, passed=3)
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "collected 4 items",
            f"katas/lecture01/test_{first}.py F*25%]",
            f"katas/lecture01/test_{second}.py ...*100%]",
            f"*import of test_{first}.py*",
            f"{fault.says} at katas/lecture01/{first}.py:*",
            f"katas/lecture01/test_{first}.py:1: in <module>",
            f"katas/lecture01/{first}.py:*: in <module>",
            "*listen*#62 Strides*",
            f"FAILED katas/lecture01/test_{first}.py - Crashed: *",
        ]
    )
    assert ran(second) == log(kata)
    assert ["properties", "failure"] == cases(kata)[f"katas.lecture01.test_{first}"]


def test_all_faults_in_workers(kata: MiniCourse) -> None:
    """Under ``-n 2`` xdist replaces the workers; the reports are as helpful."""
    named = {
        name: add(kata, number, name, fault.line)
        for number, (name, fault) in enumerate(FAULTS.items(), 1)
    }

    result = kata.run("-n2", "--junit-xml=report.xml", "-o", "kata_memory=50%", "-k", "not memory")

    count = len(FAULTS) - 1
    result.assert_outcomes(failed=count, passed=2 * count)
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    text = result.stdout.str()
    for name, fault in FAULTS.items():
        if name != "memory":
            place = f" at katas/lecture01/{named[name]}.py:" if fault.placed else ""
            assert f"{fault.says}{place}" in text
            test = f"katas.lecture01.test_{named[name]}.test_fault"
            assert ["properties", "failure"] == cases(kata)[test]
    assert sorted(line for line in ran(*named.values()) if "memory" not in line) == sorted(
        log(kata)
    )


def test_imports_and_memory_in_workers(kata: MiniCourse) -> None:
    """Each worker learns of what has ended another, and has its share of the memory."""
    named = [
        add_import(kata, number, name, fault.line)
        for number, (name, fault) in enumerate(IMPORTS.items(), 1)
    ]
    last = add(kata, 9, "memory", FAULTS["memory"].line)

    result = kata.run("-n2", "--tb=short")

    result.assert_outcomes(failed=len(IMPORTS) + 1, passed=2)
    text = result.stdout.str()
    for name, fault in zip(named, IMPORTS.values(), strict=True):
        assert f"{fault.says} at katas/lecture01/{name}.py:" in text
    assert f"0.2 GiB of memory taken at katas/lecture01/{last}.py:" in text


def test_a_worker_that_dies_between_tests(kata: MiniCourse) -> None:
    """No test is to blame: xdist says which one it was about to run."""
    kata.kata(test="def test_one(): pass\ndef test_two(): pass\n")
    conftest = (kata.path / "conftest.py").read_text()
    hook = "def pytest_runtest_logstart():\n    os.mkdir('dead')\n    os.abort()\n"
    only = "def pytest_configure(config):\n    if hasattr(config, 'workerinput'):\n"
    register = "        if not os.path.exists('dead'): config.pluginmanager.register(Dead())\n"
    dead = "class Dead:\n    " + hook.replace("\n    ", "\n        ").replace("()", "(self)", 1)
    kata.write("conftest.py", f"{conftest}\nimport os\n{dead}\n{only}{register}")

    result = kata.run("-n1")

    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["worker 'gw0' crashed while running '*::test_one'"])


def test_what_it_printed_is_shown(kata: MiniCourse) -> None:
    """What a library says before it aborts was in pytest's hands when it died."""
    add(kata, 1, "uncaught", "print('so far'); native.uncaught()")

    kata.run().stdout.fnmatch_lines(
        ["*Captured stdout call*", "so far", "*Captured stderr call*", "*what():  thrown*"]
    )


def test_an_exit_in_a_test_is_an_ordinary_failure(kata: MiniCourse) -> None:
    """An exit is caught by pytest in a test, as are RecursionError and MemoryError."""
    add(kata, 1, "exit", "sys.exit(0)")
    add(kata, 2, "recursion", "exercise()")
    add(kata, 3, "bytes", "bytearray(2**60)")

    result = kata.run()

    result.assert_outcomes(failed=3, passed=6)
    result.stdout.fnmatch_lines(["*- SystemExit: 0", "*- RecursionError: *", "*- MemoryError"])


def test_several_faults_in_one_session(kata: MiniCourse) -> None:
    """Each costs one process; the terminal shows each test once, in order; ``-x`` stops."""
    names = [add(kata, n, name, FAULTS[name].line) for n, name in enumerate(list(FAULTS)[:3], 1)]

    result = kata.run("-v", "--durations=0")
    first = kata.run("-x", "-q")

    result.assert_outcomes(failed=3, passed=6)
    shown = [line.split()[:2] for line in result.outlines if "%]" in line]
    words = ("before PASSED", "fault FAILED", "after PASSED")
    assert [
        f"katas/lecture01/test_{name}.py::test_{word}".split() for name in names for word in words
    ] == shown
    first.assert_outcomes(failed=1, passed=1)
    assert [*ran(*names), *ran(names[0])[:2]] == log(kata)


def test_a_fault_of_a_fixture(kata: MiniCourse) -> None:
    """In the set-up it is an error of the test; in the tear-down one after the test has passed."""
    test = """
        import os
        import pytest

        @pytest.fixture
        def before(): os.abort()

        @pytest.fixture
        def after():
            yield
            os.abort()

        def test_setup(before): pass
        def test_teardown(after): pass
        def test_last(): pass
        """
    kata.kata(test=test)

    result = kata.run()

    result.assert_outcomes(errors=2, passed=2)
    result.stdout.fnmatch_lines(
        ["*.py E.E.*", "*ERROR at setup of test_setup*", "*ERROR at teardown of test_teardown*"]
    )


def test_a_second_crash_while_modules_are_imported_again(kata: MiniCourse) -> None:
    """The terminal goes on where the first process left it, not the second."""
    first = add(kata, 1, "abort", "os.abort()")
    later = 'if os.path.exists("log") and not os.path.exists("dead"):\n'
    add_import(kata, 2, "moody", f"{later}    open('dead', 'w').close()\n    os.abort()")

    result = kata.run()

    result.assert_outcomes(failed=2, passed=2)
    result.stdout.fnmatch_lines(["*k01_abort.py .F.*", "*k02_moody.py F*"])
    assert 1 == sum("session starts" in line for line in result.outlines)
    assert ran(first) == log(kata)


def test_warnings_and_failures_before_a_crash_are_kept(kata: MiniCourse) -> None:
    """In the summary, with their source; and `--lf` knows all that failed."""
    test = """
        import os
        import warnings

        warnings.warn("while it is imported", FutureWarning)

        def test_warns(): warnings.warn("take care", FutureWarning)
        def test_fails(): assert 1 == 2
        def test_dies(): os.abort()
        """
    kata.kata(test=test)

    result = kata.run()
    again = kata.run("--lf")

    result.assert_outcomes(failed=2, passed=1, warnings=2)
    result.stdout.fnmatch_lines(["*.FF*", "*assert 1 == 2", "*FutureWarning: take care"])
    again.assert_outcomes(failed=2)


def test_a_module_that_crashes_is_not_deselected(kata: MiniCourse) -> None:
    """Nor is it lost when one of its tests is asked for by name."""
    name = add_import(kata, 1, "abort", "os.abort()")
    other = add_import(kata, 2, "exit", "sys.exit(1)")

    result = kata.run("-k", "nothing")
    named = kata.run(f"katas/lecture01/test_{name}.py::test_it")
    exit_named = kata.run(f"katas/lecture01/test_{other}.py::test_it")

    assert 2 == result.parseoutcomes()["failed"]
    named.assert_outcomes(failed=1)
    named.stdout.fnmatch_lines([f"FAILED katas/lecture01/test_{name}.py::test_it - Crashed: *"])
    exit_named.assert_outcomes(failed=1)


def test_an_ordinary_import_error_does_not_stop_the_others(kata: MiniCourse) -> None:
    """A syntax error in one exercise leaves the rest of the lecture to be run."""
    kata.kata(test="from katas.lecture01.k01_first import nothing\n", stub="def\n")
    kata.kata("k02_later", test="def test_later(): pass\n")

    kata.run().assert_outcomes(errors=1, passed=1)


def test_a_crash_is_never_expected(kata: MiniCourse) -> None:
    """``--unsolved`` expects an exception."""
    add(kata, 1, "abort", "os.abort()")

    kata.run("--unsolved", "-k", "fault").assert_outcomes(failed=1, deselected=2)


def test_a_test_may_ask_for_more_time(kata: MiniCourse) -> None:
    """By a marker; the project's own tests have all the time they want."""
    slow = "def test_slow(): time.sleep(2.5)\n"
    kata.kata(test=f"import time, pytest\n@pytest.mark.time_limit(30)\n{slow}")
    kata.write("tests/test_own.py", f"import time\n{slow}")

    kata.run("katas", "tests").assert_outcomes(passed=2)


def test_a_test_may_fork(kata: MiniCourse) -> None:
    """What its children do is their own affair."""
    test = "import os\n\ndef test_it():\n    child = os.fork()\n    if not child: os._exit(5)\n"
    kata.kata(test=f"{test}    assert 5 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n")

    kata.run().assert_outcomes(passed=1)


def test_a_thread_that_goes_on_does_not_keep_pytest(kata: MiniCourse) -> None:
    """Python would wait for it for ever; the result is that of the session."""
    kata.monkeypatch.setenv("PYTHONPATH", f"{kata.path}:{Path(__file__).parents[1]}")
    kata.write(
        "conftest.py",
        f"import plugins.recorder\nplugins.recorder.LEAVING = 1.0\npytest_plugins = {PLUGINS!r}\n",
    )
    thread = "threading.Thread(target=time.sleep, args=[99]).start()"
    test = f"import threading, time\ndef test_it(): {thread}\n"
    kata.kata(test=test)

    result = kata.run()

    result.assert_outcomes(passed=1)
    assert pytest.ExitCode.OK == result.ret
    result.stderr.fnmatch_lines(
        ["katas: Python did not end well after the tests: still running after 1 s*"]
    )


def test_a_crash_after_the_tests_is_said(kata: MiniCourse) -> None:
    """No test is to blame for it; os._exit(0) between tests is no success."""
    kata.kata(test="import atexit, os\n\ndef test_it(): atexit.register(os.abort)\n")
    ended = kata.run()
    conftest = (kata.path / "conftest.py").read_text()
    kata.write("conftest.py", f"{conftest}\nimport os\ndef pytest_sessionfinish(): os._exit(0)\n")
    finished = kata.run()

    ended.assert_outcomes(passed=1)
    assert pytest.ExitCode.INTERNAL_ERROR == ended.ret
    ended.stderr.fnmatch_lines(["katas: Python did not end well after the tests: abort (SIGABRT)*"])
    assert pytest.ExitCode.INTERNAL_ERROR == finished.ret
    finished.stderr.fnmatch_lines(
        ["katas: Python did not end well after the tests: Python ended with status 0 at *"]
    )


def test_a_mistake_in_the_command_is_said_once(kata: MiniCourse) -> None:
    """As without the guard; and a limit that is none is a mistake."""
    kata.kata()
    result = kata.run("--unsolved", "--solutions")
    memory = kata.run("-o", "kata_memory=4 GB")

    assert [pytest.ExitCode.USAGE_ERROR] * 2 == [result.ret, memory.ret]
    assert 1 == sum("--unsolved expects" in line for line in result.errlines)
    memory.stderr.fnmatch_lines(["ERROR: kata_memory: expected a share such as 50%, found '4 GB'"])


def test_an_internal_error_is_shown(kata: MiniCourse) -> None:
    """Also while the past is replayed."""
    add(kata, 1, "abort", "os.abort()")
    conftest = (kata.path / "conftest.py").read_text()
    hook = "def pytest_collection_finish():\n    if os.path.exists('log'): raise OSError('oh no')\n"
    kata.write("conftest.py", f"{conftest}\nimport os\n{hook}")

    result = kata.run()

    assert pytest.ExitCode.INTERNAL_ERROR == result.ret
    result.stdout.fnmatch_lines(["INTERNALERROR> OSError: oh no"])


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--no-crashguard", "--no-crashguard"),
        ("--collect-only", "no test runs"),
        ("tests", "no lecture is among the arguments"),
    ],
)
def test_the_guard_steps_aside(kata: MiniCourse, option: str, reason: str) -> None:
    """With -v the header says why; the session then runs in the process that was started."""
    conftest = (kata.path / "conftest.py").read_text()
    kata.write("conftest.py", f"{conftest}\nimport os\nPROCESS = os.getpid()\n")
    test = "import os, conftest\ndef test_here(): assert os.getpid() == conftest.PROCESS\n"
    kata.kata(test=test)
    kata.write("tests/test_own.py", test)

    kata.run().assert_outcomes(failed=1)
    result = kata.run(option, "-v")

    result.stdout.fnmatch_lines([f"crash guard: off ({reason})"])
    assert pytest.ExitCode.OK == result.ret


def test_a_program_that_calls_pytest_goes_on_once(kata: MiniCourse) -> None:
    """It might not expect to be two processes."""
    kata.kata()
    kata.write("program.py", "import pytest\nprint('code', int(pytest.main(['-q'])))\n")

    result = kata.pytester.runpython(kata.path / "program.py")

    assert ["code 0"] == [line for line in result.outlines if line.startswith("code")]


def test_without_a_terminal_reporter(kata: MiniCourse) -> None:
    """Nothing is shown, and nothing else is different."""
    add(kata, 1, "abort", "os.abort()")

    result = kata.run("-o", "addopts=", "-p", "no:terminal", "--junit-xml=report.xml")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert 3 == len(cases(kata))
