"""The order in which the plugins answer ``pytest_cmdline_main``, as the root conftest.py says."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


CONFTEST = ROOT / "conftest.py"
ORDER = (
    "plugins.ranks.job",
    "plugins.course.session",
    "plugins.machine.edition",
    "plugins.loop.watch",
    "plugins.progress.page",
    "plugins.progress.export",
    "plugins.loop.reference",
    "plugins.loop.hint",
    "plugins.guide.neighbours",
    "plugins.crash.plugin",
)
# pluggy calls the implementations from the last of its list to the first.
PRINT = """
import pytest

class Print:
    @pytest.hookimpl(wrapper=True)
    def pytest_load_initial_conftests(self, early_config):
        yield
        hook = early_config.pluginmanager.hook.pytest_cmdline_main
        for found in reversed(hook.get_hookimpls()):
            print(found.plugin_name)
        raise SystemExit

pytest.main(["katas"], plugins=[Print()])
"""
# subprocess does not use this function. The crash guard itself refuses to guard a session that
# runs no test: with that check off, only the order keeps it from forking.
NO_FORK = """

def forbidden():
    raise AssertionError("a process was forked")


os.fork = forbidden


def pytest_plugin_registered(plugin):
    if getattr(plugin, "__name__", "") == "plugins.crash.plugin":
        assert plugin.shows_only
        plugin.shows_only = lambda config: False
"""


def call_order(**environment: str) -> list[str]:
    """Return the plugins that answer ``pytest_cmdline_main``, in the order of the calls."""
    done = subprocess.run(
        [sys.executable, "-c", PRINT],
        cwd=ROOT,
        env={
            **{name: value for name, value in os.environ.items() if name != "KATAS_VERDICT"},
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_the_plugins_answer_in_the_documented_order() -> None:
    """Before pytest's own, and before those of other packages."""
    found = call_order()

    assert list(ORDER) == found[: len(ORDER)]
    assert [] == [name for name in found[len(ORDER) :] if name.startswith("plugins.")]
    assert "main" in found[len(ORDER) :]


def test_the_documented_order_is_this_one() -> None:
    """The list in the docstring of conftest.py names each plugin once, by its wing."""
    text = ast.get_docstring(ast.parse(CONFTEST.read_text(encoding="utf-8"))) or ""
    listed = text[text.index("``pytest_cmdline_main``") :]

    assert list(ORDER) == [f"plugins.{name}" for name in re.findall(r"`(\w+\.\w+)`", listed)]


def test_a_proof_has_only_the_first_of_them() -> None:
    """The gate loads nothing that shows something, watches, or guards against a crash."""
    found = call_order(KATAS_VERDICT="1")

    assert list(ORDER[:2]) == [name for name in found if name.startswith("plugins.")]


@pytest.fixture
def forkless(course: MiniCourse) -> MiniCourse:
    """Return a course with one kata, in which no process can fork."""
    course.write("conftest.py", CONFTEST.read_text(encoding="utf-8") + NO_FORK)
    course.kata()
    return course


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["katas/lecture01/test_k01_first.py", "--hint"], "Hint 1 of 3: the first hint"),
        (
            ["katas/lecture01/test_k01_first.py", "--solution=now"],
            "k01_first.py: the same as the reference",
        ),
        (["--progress-json=progress.json"], ""),
        (["--page=page.html"], ""),
    ],
    ids=["hint", "solution", "progress-json", "page"],
)
def test_what_only_shows_something_forks_no_process(
    forkless: MiniCourse, arguments: list[str], says: str
) -> None:
    """It answers before the crash guard does."""
    result = forkless.run(*arguments)

    assert (pytest.ExitCode.OK, "") == (result.ret, result.stderr.str())
    assert says in result.stdout.str()
    if not says:
        assert (forkless.path / arguments[0].partition("=")[2]).stat().st_size


def test_what_runs_tests_forks_one(forkless: MiniCourse) -> None:
    """The crash guard forks the process that runs them."""
    result = forkless.run("katas")

    assert pytest.ExitCode.OK != result.ret
    assert "a process was forked" in result.stderr.str()
