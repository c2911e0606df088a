"""How a process ended, in words."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from plugins.crash.stacks import Frame
from plugins.crash.stacks import Stack
from plugins.crash.verdict import WIDTH
from plugins.crash.verdict import Death
from plugins.crash.verdict import Stop
from plugins.crash.verdict import describe_death
from plugins.crash.verdict import explain_death
from plugins.crash.verdict import explain_lost


POKE = Stack((Frame("katas/lecture01/k01_first.py", 3, "poke"),))


@pytest.mark.parametrize(
    ("death", "what"),
    [
        (Death(-signal.SIGSEGV, POKE), "segmentation fault (SIGSEGV)"),
        (Death(-signal.SIGSEGV, Stack(POKE.frames, endless=True)), "stack overflow (SIGSEGV)"),
        (Death(-signal.SIGBUS, POKE), "bus error (SIGBUS)"),
        (Death(-signal.SIGFPE, POKE), "floating-point exception (SIGFPE)"),
        (Death(-signal.SIGILL, POKE), "illegal instruction (SIGILL)"),
        (Death(-signal.SIGABRT, POKE), "abort (SIGABRT)"),
        (Death(-signal.SIGKILL, POKE), "killed from outside (SIGKILL)"),
        (Death(-signal.SIGUSR1, POKE), "killed (SIGUSR1)"),
        (Death(-(signal.SIGRTMIN + 1), POKE), f"killed (signal {signal.SIGRTMIN + 1})"),
        (Death(7, POKE), "Python ended with status 7"),
        (Death(None, POKE), "the process of the test ended"),
        (Death(-signal.SIGABRT, POKE, "", Stop("time", "60 s")), "still running after 60 s"),
        (
            Death(-signal.SIGKILL, POKE, "", Stop("memory", "4.0 GiB")),
            "more than 4.0 GiB of memory taken",
        ),
        (Death(0, POKE, "", Stop("exit", "'why'")), "sys.exit('why') was called"),
        (Death(-signal.SIGABRT, POKE, "", Stop("interrupt")), "Ctrl-C"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_happened_is_named(death: Death, what: str) -> None:
    """By a word that a search engine knows, and by the signal."""
    assert what == explain_death(death)[0]


@pytest.mark.parametrize(
    ("errors", "what"),
    [
        (
            "terminate called after throwing an instance of 'std::runtime_error'\n  what():  boom",
            "uncaught C++ exception std::runtime_error: boom",
        ),
        (
            "terminate called after throwing an instance of 'c10::Error'\n  what():  no\nframe #0",
            "uncaught C++ exception c10::Error: no",
        ),
        (
            "terminate called after throwing an instance of 'int'\n",
            "uncaught C++ exception int",
        ),
        (
            "libc++abi: terminating due to uncaught exception of type std::logic_error: boom\n",
            "uncaught C++ exception std::logic_error: boom",
        ),
        (
            "libc++abi: terminating due to uncaught exception of type int\n",
            "uncaught C++ exception int",
        ),
        (
            "terminate called without an active exception\n",
            "std::terminate without an exception (SIGABRT)",
        ),
        (
            "so far\nfree(): double free detected in tcache 2\n",
            "abort (SIGABRT): free(): double free detected in tcache 2",
        ),
        (
            "a.out: a.cpp:3: int f(): Assertion `x == 1' failed.\n",
            "abort (SIGABRT): a.out: a.cpp:3: int f(): Assertion `x == 1' failed.",
        ),
        (
            "*** stack smashing detected ***: terminated\n",
            "abort (SIGABRT): *** stack smashing detected ***: terminated",
        ),
        ("so far\n", "abort (SIGABRT)"),
    ],
)
def test_an_abort_says_why(errors: str, what: str) -> None:
    """The C++ library, glibc and assert() print the reason first."""
    assert what == explain_death(Death(-signal.SIGABRT, POKE, errors))[0]


def test_only_an_abort_is_explained_by_what_was_printed() -> None:
    """A segmentation fault after such a message is still a segmentation fault."""
    text = "terminate called without an active exception\n"

    assert "segmentation fault (SIGSEGV)" == explain_death(Death(-signal.SIGSEGV, POKE, text))[0]


def test_the_place_and_the_calls_follow() -> None:
    """The first line is what the summary shows; no line of ours is too long for a terminal."""
    text = describe_death(Death(-signal.SIGSEGV, POKE), Path("/nowhere"))
    first, *lines = text.splitlines()

    assert "segmentation fault (SIGSEGV) at katas/lecture01/k01_first.py:3" == first
    assert ["", "katas/lecture01/k01_first.py:3: in poke"] == lines[-2:]
    assert all(len(line) <= WIDTH for line in lines)


def test_without_calls_there_is_no_place() -> None:
    """Native code may end the process; an option is never broken at its space."""
    text = describe_death(
        Death(-signal.SIGABRT, Stack(), "", Stop("time", "9 s")), Path("/nowhere")
    )

    assert "still running after 9 s" == text.splitlines()[0]
    assert "pytest -o kata_timeout=300" == text.splitlines()[-1]


def test_a_journal_that_cannot_be_written_is_named_with_what_to_do() -> None:
    """The folder, the reason and the remedies; the lines fit into the terminal."""
    text = explain_lost("/some/katas-x: No space left on device")

    assert "cannot be written (/some/katas-x: No space left on device)" in " ".join(text.split())
    assert "Free some space there, or name another folder" in " ".join(text.split())
    assert "TMPDIR=/another/folder" in text
    assert max(map(len, text.splitlines())) <= WIDTH
