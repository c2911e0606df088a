"""Ctrl-C ends a session as an interrupt, whatever it falls into: alone, in workers, unguarded."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.crash import interrupts
from plugins.crash.interrupts import Interrupts
from plugins.crash.interrupts import leave
from plugins.crash.interrupts import listen
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import MiniCourse


PLUGINS = (
    "plugins.course.session",
    "plugins.course.limits",
    "plugins.crash.plugin",
    "plugins.guide.episodes",
    "plugins.guide.failures",
    "plugins.guide.summary",
)
HEARS = """
import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
"""
HEAD = """
import ast, gc, os, signal, subprocess, threading, time, weakref
import pytest

def press():
    # As a terminal does: to all processes in its foreground.
    os.killpg(0, signal.SIGINT)

class Fragile:
    def __del__(self):
        press()

def test_before():
    pass
"""
AFTER = """
def test_after():
    open("after", "w").close()
"""
FALLS = {
    "a test": "def test_it():\n    press()\n",
    "a destructor": "def test_it():\n    Fragile()\n    time.sleep(99)\n",
    "the last destructor": "def test_it():\n    Fragile()\n",
    "a weak reference": (
        "def test_it():\n    it = Fragile()\n    Fragile.__del__ = lambda _: None\n"
        "    kept = weakref.ref(it, lambda _: press())\n    del it\n    time.sleep(99)\n"
    ),
    "the garbage collector": (
        "def test_it():\n"
        "    def call(phase, info):\n        gc.callbacks.remove(call)\n        press()\n"
        "    gc.callbacks.append(call)\n    gc.collect()\n    time.sleep(99)\n"
    ),
    "a parser": (
        "def test_it():\n"
        "    def call(phase, info):\n        gc.callbacks.remove(call)\n        press()\n"
        "    gc.callbacks.append(call)\n"
        "    text = open(ast.__file__).read()\n"
        "    while True: ast.parse(text)\n"
    ),
    "a class": (
        "class Name:\n    def __set_name__(self, *_):\n        press()\n"
        "def test_it():\n    class A:\n        name = Name()\n"
    ),
    "a class of the module": (
        "class Name:\n    def __set_name__(self, *_):\n        press()\n"
        "class A:\n    name = Name()\n"
        "def test_it(): pass\n"
    ),
    "an except": "def test_it():\n    try:\n        press()\n    except:\n        pass\n",
    "another error": (
        "def test_it():\n    try:\n        press()\n    except KeyboardInterrupt:\n        1 / 0\n"
    ),
    "one of several finalizers": (
        "@pytest.fixture\ndef two(request):\n"
        "    request.addfinalizer(press)\n    request.addfinalizer(lambda: 1 / 0)\n"
        "def test_it(two): pass\n"
    ),
    "a group of errors": (
        "def test_it():\n    try:\n        press()\n"
        "    except KeyboardInterrupt as error:\n"
        "        raise BaseExceptionGroup('two', [ValueError(), error]) from None\n"
    ),
    "a program that runs": (
        "def test_it():\n"
        "    threading.Timer(0.3, press).start()\n"
        "    subprocess.run(['sleep', '99'])\n"
    ),
    "an import": "press()\ndef test_it(): pass\n",
}


# Of other plugins: what pytest calls an internal error, and a test module that is parsed.
BROKEN = """
def pytest_runtest_logreport(report):
    if report.when == "call" and report.nodeid.endswith("test_it"):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise SystemError("AST constructor recursion depth mismatch") from None
"""
PARSED = """
import ast

before = ast.parse

def parse(source, *args, **kwargs):
    if isinstance(source, bytes) and b"def test_it" in source:
        signal.raise_signal(signal.SIGINT)
    return before(source, *args, **kwargs)

ast.parse = parse
"""
COLLECTED = """
def pytest_collection_modifyitems():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise SystemError("one")
"""
HYPOTHESIS = """
import gc, signal, time
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.internal.conjecture import junkdrawer

def test_before():
    pass

@given(st.integers())
def test_it(n):
    count = junkdrawer._perf_counter

    def press():
        junkdrawer._perf_counter = count
        signal.raise_signal(signal.SIGINT)

    junkdrawer._perf_counter = press
    gc.collect()
    time.sleep(99)
"""


@pytest.fixture
def kata(course: MiniCourse) -> MiniCourse:
    """A course in which Ctrl-C is heard."""
    course.plugins(*PLUGINS)
    course.write("conftest.py", (course.path / "conftest.py").read_text() + HEARS)
    return course


def check(result: pytest.RunResult, kata: MiniCourse) -> None:
    """Look for pytest's own short summary, and no other word; nothing ran after it."""
    text = result.stdout.str() + result.stderr.str()
    assert pytest.ExitCode.INTERRUPTED == result.ret, text
    assert 1 == text.count("!!! KeyboardInterrupt !!!")
    assert ": KeyboardInterrupt\n" in text
    for word in ("INTERNALERROR", "SIGINT", "Exception ignored", " failed", "Traceback"):
        assert word not in text
    assert not (kata.path / "after").exists()
    assert len(text.splitlines()) < 25


@pytest.mark.parametrize("name", FALLS)
@pytest.mark.parametrize("arguments", [(), ("--no-crashguard",)], ids=["guarded", "unguarded"])
def test_an_interrupt_ends_as_one(kata: MiniCourse, name: str, arguments: tuple[str, ...]) -> None:
    """Whatever it falls into, by the code of a kata."""
    kata.kata(test=HEAD + FALLS[name] + AFTER)

    result = kata.run(*arguments)

    check(result, kata)
    # The garbage collector may begin where `ast.parse` does, and the interrupt is heard there.
    if name not in {"the garbage collector", "a parser", "a program that runs"}:
        result.stdout.fnmatch_lines(["*katas/lecture01/test_k01_first.py:*: KeyboardInterrupt"])


@pytest.mark.parametrize("hook", [BROKEN, PARSED, COLLECTED], ids=["report", "parser", "items"])
def test_no_internal_error_is_shown(kata: MiniCourse, hook: str) -> None:
    """Where pytest or a plugin stumbles over it, as over the SystemError of a parser."""
    kata.write("conftest.py", (kata.path / "conftest.py").read_text() + hook)
    kata.kata(test=f"{HEAD}def test_it(): pass\n{AFTER}")

    check(kata.run("-p", "no:cacheprovider"), kata)


def test_a_failure_of_its_own_is_told_too(kata: MiniCourse) -> None:
    """The code has caught Ctrl-C, and what the test found after that is true all the same."""
    kata.kata(test=f"{HEAD}{FALLS['an except']}    assert 'mine' == 'yours'\n{AFTER}")

    result = kata.run()

    result.assert_outcomes(passed=1, failed=1)
    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.fnmatch_lines(["E * assert 'mine' == 'yours'", "*! KeyboardInterrupt !*"])
    assert not (kata.path / "after").exists()


def test_before_there_is_a_session_a_line_is_enough(course: MiniCourse) -> None:
    """While the course's plugins are imported: pytest would show a hundred lines of its own."""
    course.kata()
    own = (course.path / "conftest.py").read_text()
    course.write("conftest.py", f'{own}\n\npytest_plugins = ("pressed",)\n')
    course.write("pressed.py", "raise KeyboardInterrupt")
    course.path_first(course.path)

    result = course.run()

    assert pytest.ExitCode.INTERRUPTED == result.ret
    assert ["", "!!! KeyboardInterrupt !!!"] == result.errlines
    assert [] == result.outlines


@pytest.mark.slow
def test_the_callback_of_hypothesis_is_no_hiding_place(kata: MiniCourse) -> None:
    """It is called by the garbage collector, where Python ignores exceptions."""
    kata.kata(test=HYPOTHESIS + AFTER)

    check(kata.run(), kata)


@pytest.mark.parametrize("name", ["a test", "a destructor", "a parser", "an except", "an import"])
def test_a_worker_is_interrupted(kata: MiniCourse, name: str) -> None:
    """And so is the controller; the status is the same, and the other tests do not run."""
    kata.kata(test=HEAD + FALLS[name] + AFTER)

    result = kata.run("-n1")

    check(result, kata)


WAITS = """
import atexit, time

def wait(name):
    open(name, "w").close()
    time.sleep(99)

"""


@pytest.mark.parametrize("arguments", [(), ("--no-crashguard",)], ids=["guarded", "unguarded"])
@pytest.mark.parametrize(
    ("where", "test"),
    [
        ("def pytest_keyboard_interrupt(): wait('ready')", "def test_it(): press()"),
        ("def pytest_sessionfinish(): wait('ready')", "def test_it(): press()"),
        ("def pytest_sessionfinish(): wait('ready')", "def test_it(): pass"),
        ("atexit.register(wait, 'ready')", "def test_it(): assert 0"),
    ],
    ids=["interrupt", "summary", "summary of a whole session", "exit"],
)
def test_a_further_ctrl_c_ends_the_process(
    kata: MiniCourse, where: str, test: str, arguments: tuple[str, ...]
) -> None:
    """At once and without a word, while pytest or Python ends."""
    kata.write("conftest.py", (kata.path / "conftest.py").read_text() + WAITS + where)
    kata.kata(test=f"{HEAD}{test}\n")
    command = [sys.executable, "-mpytest", *arguments]
    with Path(os.devnull).open("w") as nothing:
        process = kata.warm.popen(PYTEST, command, stdout=nothing, stderr=nothing)
    deadline = time.monotonic() + 100
    while not (kata.path / "ready").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)

    status = process.wait(100)

    whole = "assert 0" in test
    expected = [-signal.SIGINT, 128 + signal.SIGINT] if arguments else [1 if whole else 2]
    assert status in expected


class Config:
    """As much of pytest's config as is asked."""

    def __init__(self, **options: bool) -> None:
        self.options = options
        self.registered: list[Any] = []
        self.cleanups: list[Any] = []
        self.add_cleanup = self.cleanups.append
        self.pluginmanager = SimpleNamespace(register=self.registered.append)

    def getoption(self, name: str, *, default: bool) -> bool:
        """Return an option."""
        return self.options.get(name, default)


@pytest.fixture
def config() -> Iterator[Config]:
    """Leave the handler and the hook as they are."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hook = sys.unraisablehook
    yield Config()
    signal.signal(signal.SIGINT, before)
    sys.unraisablehook = hook


def test_who_listens_already_goes_on(config: Any) -> None:
    """Such as nobody, in the background; and with ``--pdb`` Ctrl-C opens the debugger."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listen(config, leaves=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.options["usepdb"] = True
    listen(config, leaves=True)
    assert [] == config.registered

    config.options.clear()
    listen(config, leaves=True)
    assert 1 == len(config.registered)


def test_another_program_gets_its_handler_back(config: Any) -> None:
    """And a further Ctrl-C is the program's: its process is not ended."""
    hook = sys.unraisablehook
    listener = Interrupts(config, leaves=False)
    listener.pytest_sessionfinish()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    for undo in config.cleanups:
        undo()

    assert signal.default_int_handler is signal.getsignal(signal.SIGINT)
    assert hook == sys.unraisablehook


def test_a_debugger_keeps_ctrl_c(config: Any) -> None:
    """The session goes on after it."""
    listener = Interrupts(config, leaves=True)
    listener.pytest_enter_pdb()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert not listener.came
    listener.pytest_leave_pdb()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)

    assert listener.came


def test_a_fork_of_a_test_knows_nothing_of_the_session(config: Any) -> None:
    """There Ctrl-C is an exception as ever."""
    listener = Interrupts(config, leaves=True)
    listener.ending = True
    listener.process = -1
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)

    assert not listener.came


def test_what_is_sent_again_ends_no_process(config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session may have begun to end meanwhile, of the same Ctrl-C."""
    monkeypatch.setattr(interrupts, "SOON", 0.0)
    listener = Interrupts(config, leaves=True)
    listener.came = listener.ending = True
    listener.send_again()
    listener.ending = False
    with pytest.raises(KeyboardInterrupt):
        listener.send_again()
    listener.ending = listener.again = True

    signal.raise_signal(signal.SIGINT)


def test_while_the_session_ends_the_process_does(
    config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pytest sees it, it never comes back."""
    monkeypatch.setattr(interrupts, "leave", sys.exit)
    listener = Interrupts(config, leaves=True)
    listener.pytest_keyboard_interrupt()
    with pytest.raises(SystemExit):
        signal.raise_signal(signal.SIGINT)


def test_what_else_is_ignored_is_pytest_s(config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It warns of an error in a destructor, whether Ctrl-C has come or not."""
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    listener = Interrupts(config, leaves=True)
    listener.came = True
    error = SimpleNamespace(exc_type=ValueError)
    sys.unraisablehook(error)
    listener.came = False
    interrupt = SimpleNamespace(exc_type=KeyboardInterrupt)
    sys.unraisablehook(interrupt)

    assert [error, interrupt] == seen


def test_an_internal_error_of_its_own_is_one(kata: MiniCourse) -> None:
    """Nobody has pressed Ctrl-C."""
    kata.kata()
    hook = "\ndef pytest_collection_modifyitems(): 1 / 0\n"
    kata.write("conftest.py", (kata.path / "conftest.py").read_text() + hook)

    result = kata.run()

    assert pytest.ExitCode.INTERNAL_ERROR == result.ret
    assert "INTERNALERROR> ZeroDivisionError" in result.stdout.str()


def test_the_process_ends_as_by_the_signal(config: Any) -> None:
    """So that a shell hears of it."""
    ends: list[int] = []
    listener = Interrupts(config, leaves=True)
    leave(ends.append)

    assert [signal.SIGINT] == ends
    assert signal.SIG_DFL is signal.getsignal(signal.SIGINT)
    assert listener
