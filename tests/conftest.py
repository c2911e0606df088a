"""``course``: a small course in a temporary folder, run by the real plugins on their own."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tests import shards
from tests.gate.checks import Checks
from tests.gate.forms import add_options
from tests.gate.forms import gate_of
from tests.gate.runner import Runner


if TYPE_CHECKING:
    from collections.abc import Iterator

    from xdist.remote import Producer


ROOT = Path(__file__).parents[1]
# Katas of an example package and answers that are laid over katas: not tests of the project.
collect_ignore = ["plugin_example", "right", "wrong"]
# What a run of ours must not inherit from the run that tests it, KATAS_* aside.
CLEARED = (
    "BUILD_NUMBER",  # with it or with CI, pytest writes whole messages into its summary
    "CI",
    "EXPECTTEST_ACCEPT",
    "FORCE_COLOR",
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
csrc = {csrc}
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the gate, and of a part of all tests."""
    add_options(parser)
    shards.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker by which an environment without torch leaves tests out."""
    config.addinivalue_line("markers", "torch: this test of the project needs torch installed.")
    if config.getoption("store_times", default=False):
        config.pluginmanager.register(shards.Times())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run a part of the tests, if that is asked for."""
    shards.select(config, items)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> shards.Parts | None:
    """Let ``--dist loadgroup`` mean the parts that stand in tests/shards.py."""
    return shards.Parts(config, log) if config.getoption("dist") == "loadgroup" else None


class MiniCourse:
    """The repository's conftest.py and settings around lectures that a test writes."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester = pytester
        self.monkeypatch = monkeypatch
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
        """Run pytest on the course; always a process of its own, since `katas` is another one."""
        return self.pytester.runpytest_subprocess(*args, timeout=600)


@pytest.fixture
def course(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> MiniCourse:
    """Return an empty course; nothing of the surrounding run leaks into it."""
    for name in (*CLEARED, *(name for name in os.environ if name.startswith("KATAS_"))):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return MiniCourse(pytester, monkeypatch)


@pytest.fixture(scope="session")
def gate_started() -> float:
    """Return when the first test that time may end began: a wrong answer, or a mutant."""
    return time.monotonic()


@pytest.fixture(scope="session")
def checks(pytestconfig: pytest.Config) -> Iterator[Checks]:
    """Return the gate over all katas, with the warm process that runs them."""
    # Workers of xdist share the cores already.
    with Runner(1 if hasattr(pytestconfig, "workerinput") else None) as runner:
        yield Checks(gate_of(pytestconfig), runner)
