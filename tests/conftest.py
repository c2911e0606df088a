"""``course``: a small course in a temporary folder, run by the real plugins on their own."""

from __future__ import annotations

import json
import os
import shutil
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from plugins.course import limits
from tests import measuring
from tests import shards
from tests.support.tools import TOOLS
from tests.support.warm import Warm


if TYPE_CHECKING:
    from collections.abc import Iterator


ROOT = Path(__file__).parents[1]
# Katas of an example package and answers that are laid over katas: not tests of the project.
collect_ignore = ["support/plugin_example"]
# What a run of ours must not inherit from the run that tests it, KATAS_* aside.
CLEARED = (
    "BUILD_NUMBER",  # with it or with CI, pytest writes whole messages into its summary
    "CI",
    "EXPECTTEST_ACCEPT",
    "FORCE_COLOR",
    "KINETO_LOG_LEVEL",
    "NO_COLOR",
    "PYTEST_ADDOPTS",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "PYTEST_PLUGINS",
    "PYTEST_THEME",
    "PYTEST_THEME_MODE",
    "PYTEST_XDIST_WORKER",
    "PYTEST_XDIST_WORKER_COUNT",
    "TRITON_INTERPRET",
)
TABLE = """
[[kata]]
name = {name}
title = "The title of {plain}"
kind = {kind}
syllabus = ["a"]
episodes = [{episodes}]
upstream = ["c10/core/DispatchKeySet.h: DispatchKeySet"]
hints = ["the first hint", "the second hint", "the third hint"]
needs = {needs}
extra = {extra}
csrc = {csrc}
"""


# One test at a time needs no pytest-xdist.
@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than katas have: many of these tests wait for processes."""
    return limits.pytest_xdist_auto_num_workers() + 1


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of a part of all tests."""
    shards.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks of the project's own tests, by what they cost and what they need."""
    config.addinivalue_line("markers", "torch: this test of the project needs torch installed.")
    config.addinivalue_line("markers", "slow: this test takes more than 5 seconds.")
    config.addinivalue_line(
        "markers", f"tool(name): skip the test without one of {', '.join(TOOLS)}, and say so."
    )
    config.pluginmanager.register(measuring.Measuring())
    if config.getoption("store_times", default=False):
        config.pluginmanager.register(shards.Times())


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose tool is missing on this machine, before its fixtures are set up."""
    for mark in item.iter_markers("tool"):
        for name in mark.args:
            if reason := TOOLS[name]():
                pytest.skip(f"{name}: {reason}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run a part of the tests, if that is asked for, and what takes longest first."""
    shards.select(config, items)


class MiniCourse:
    """The repository's conftest.py and settings around lectures that a test writes."""

    def __init__(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, warm: Warm
    ) -> None:
        self.pytester = pytester
        self.monkeypatch = monkeypatch
        self.warm = warm
        self.imported: tuple[str, ...] = ()
        self.path = pytester.path
        self.katas = self.path / "katas"
        self.katas.mkdir()
        for name in ("conftest.py", "pyproject.toml", "episodes.toml", "katas/__init__.py"):
            if (ROOT / name).exists():
                shutil.copy(ROOT / name, self.path / name)

    def plugins(self, *names: str) -> None:
        """Load only these plugins instead of all."""
        self.write("conftest.py", f"pytest_plugins = {names!r}")

    def write(self, name: str, text: str) -> Path:
        """Write a file below the root of the course."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
        return file

    def kata(
        self,
        name: str = "k01_first",
        test: str = "def test_nothing(): pass",
        *,
        lecture: str = "lecture01",
        stub: str = "",
        solution: str = "",
        kind: str = "lab",
        episodes: tuple[str, ...] = ("strides",),
        needs: tuple[str, ...] = (),
        extra: tuple[str, ...] = (),
        csrc: tuple[str, ...] = (),
    ) -> Path:
        """Add a kata to a lecture, which is made if need be, and return its test module."""
        folder = self.katas / lecture
        if not folder.exists():
            head = f'title = "The title of {lecture}"\n[syllabus]\na = "the first line"\n'
            self.write(f"katas/{lecture}/lecture.toml", head)
            text = "from katas import overlay\n\n__path__ = overlay(__path__)\n"
            self.write(f"katas/{lecture}/__init__.py", text)
        refs = ", ".join(f'{{ slug = "{slug}", why = "why {slug} fits" }}' for slug in episodes)
        table = TABLE.format(
            name=json.dumps(name),
            plain=name,
            kind=json.dumps(kind),
            episodes=refs,
            needs=json.dumps(needs),
            extra=json.dumps(extra),
            csrc=json.dumps(csrc),
        )
        with (folder / "lecture.toml").open("a") as file:
            file.write(table)
        exercise = csrc[0] if csrc else f"{name}.py"
        self.write(f"katas/{lecture}/{exercise}", stub)
        self.write(f"katas/{lecture}/solutions/{exercise}", solution)
        return self.write(f"katas/{lecture}/test_{name}.py", test)

    def path_first(self, folder: Path) -> None:
        """Let processes of the course import from `folder` before anything else."""
        before = os.environ["PYTHONPATH"]
        self.monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(folder), before)))

    def run(self, *args: str | Path) -> pytest.RunResult:
        """Run pytest on the course; always a process of its own, since `katas` is another one.

        It forks from one that has imported the modules `imported`, if they are set.
        """
        with self.monkeypatch.context() as patch:
            if self.imported:
                patch.setattr(self.pytester, "popen", partial(self.warm.popen, self.imported))
            return self.pytester.runpytest_subprocess(*args, timeout=600)


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """Return the processes that runs of courses fork from, each started with its first run."""
    with Warm({name: os.environ[name] for name in {*os.environ} - {*cleared()}}) as warm:
        yield warm


@pytest.fixture
def course(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, warm: Warm) -> MiniCourse:
    """Return an empty course; nothing of the surrounding run leaks into it."""
    for name in cleared():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return MiniCourse(pytester, monkeypatch, warm)


def cleared() -> tuple[str, ...]:
    """Return the variables that a run of ours must not inherit."""
    return (*CLEARED, *(name for name in os.environ if name.startswith("KATAS_")))
