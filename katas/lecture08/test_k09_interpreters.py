"""Tests of k09_interpreters: each row is tried in a process of its own, with this command.

python -m katas.lecture08.test_k09_interpreters "import os; os.chdir('/')" "os.getcwd()"
"""

from __future__ import annotations

import importlib
import os
import random
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

import katas
from katas.lecture08 import k09_interpreters as kata
from katas.lecture08.k09_interpreters import ROWS
from plugins.kit import forbids


# Seconds allowed for one experiment, which takes a tenth of a second.
DEADLINE = 30
PLACES = {
    "a name in a module": "where is the dict in which a module keeps its names?",
    "a builtin": "where is the dict of builtins, and whose is it?",
    "random's seed": "the generator is an object, and which module holds it?",
    "the working directory": "who keeps it: Python, or the kernel?",
    "os.environ": "os.environ is a mapping that was filled when os was imported: by whom?",
    "a child's environment": "setting os.environ calls putenv: what is a child process given?",
    "the time zone": "tzset is a function of the C library: how many of these are there?",
    "a file descriptor": "who keeps the table of descriptors: Python, or the kernel?",
}


# The names a question may use.
NAMES = {"os": os, "random": random, "subprocess": subprocess, "sys": sys, "time": time}


def run_in_another(code: str) -> None:
    """Run code in a new interpreter, and destroy the interpreter."""
    # Since Python 3.14 the module has a documented name: concurrent.interpreters.
    new = sys.version_info >= (3, 13)
    interpreters = importlib.import_module("_interpreters" if new else "_xxsubinterpreters")
    number = interpreters.create()
    try:
        if (failed := interpreters.run_string(number, code)) is not None:
            raise RuntimeError(failed)
    finally:
        interpreters.destroy(number)


def experiment(change: str, question: str) -> tuple[object, object]:
    """Return this interpreter's answers before and after the other ran `change`."""
    before = eval(question, NAMES)  # noqa: S307 - the reader's own
    run_in_another(change)
    return before, eval(question, NAMES)  # noqa: S307


def changes(row: str) -> bool:
    """Run a row's experiment, and return whether the answer changed."""
    change, question = ROWS[row]
    done = subprocess.run(  # noqa: S603 - the row, in a module of the course
        [sys.executable, "-m", "katas.lecture08.test_k09_interpreters", change, question],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE,
        cwd=Path(katas.__file__).parents[1],
        check=False,
    )
    assert not done.returncode, f"the experiment cannot run: {done.stderr[-500:]}"
    before, after = (line.split(maxsplit=1)[1] for line in done.stdout.splitlines())
    return before != after


def predicted() -> set[str]:
    """Return your rows, computed where PyTorch cannot be imported."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        names: set[str] = fresh.shared()
        assert names == fresh.shared(), "called again, your function returns different rows"
    assert names <= set(ROWS), (
        f"your answer has {sorted(names - set(ROWS))}, expected only names in ROWS"
    )
    return names


def test_some_are_shared() -> None:
    """Some rows are shared and some are not, and your file starts no interpreter."""
    yours = predicted()
    assert 0 < len(yours) < len(ROWS), (
        f"yours has {len(yours)} of {len(ROWS)} rows, expected some, but not all"
    )


@pytest.mark.parametrize("row", ROWS)
def test_row(row: str) -> None:
    """The experiment on this machine decides."""
    yours = row in predicted()
    change, question = map(shlex.quote, ROWS[row])
    assert yours == changes(row), (
        f"{row}: your answer is {'shared' if yours else 'own'}, the experiment disagrees.\n"
        f"{PLACES[row]} Run it:\n"
        f"python -m katas.lecture08.test_k09_interpreters {change} {question}"
    )


if __name__ == "__main__":
    answers = experiment(*sys.argv[1:3])
    sys.stdout.write("before {!r}\nafter  {!r}\n".format(*answers))
