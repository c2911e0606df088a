"""The plugins that learners have most beside the course's: what is promised of a kata holds.

Each is loaded alone, from a folder of its own, which no other test sees: pytest would load all that
is installed beside it. ``KATAS_NEIGHBOURS`` names the folder; tox fills it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.terminal import Terminal
from tests.support.tools import NEIGHBOURS
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


pytestmark = pytest.mark.tool("neighbours")

# A course of the tests knows none of the variables of the course.
FOLDER = os.environ.get(NEIGHBOURS, "")
# By the name of the package: the plugin's module, and the options that give it something to do.
PLUGINS: dict[str, tuple[str, ...]] = {
    "anyio": ("anyio.pytest_plugin",),
    "pytest-asyncio": ("pytest_asyncio.plugin", "--asyncio-mode=auto"),
    "pytest-benchmark": ("pytest_benchmark.plugin",),
    "pytest-clarity": ("pytest_clarity.plugin",),
    "pytest-cov": ("pytest_cov.plugin", "--cov=katas", "--cov-report=", "--cov-config=/dev/null"),
    "pytest-env": ("pytest_env.plugin",),
    "pytest-forked": ("pytest_forked",),
    "pytest-html": ("pytest_html.plugin", "-p", "pytest_html.fixtures", "--html=report.html"),
    "pytest-icdiff": ("pytest_icdiff",),
    "pytest-instafail": ("pytest_instafail",),
    "pytest-json-report": ("pytest_jsonreport.plugin", "--json-report"),
    "pytest-metadata": ("pytest_metadata.plugin", "--metadata", "who", "we"),
    "pytest-mock": ("pytest_mock",),
    "pytest-order": ("pytest_order.plugin",),
    "pytest-picked": ("pytest_picked.plugin",),
    "pytest-pretty": ("pytest_pretty",),
    "pytest-random-order": ("random_order.plugin", "--random-order-bucket=global"),
    "pytest-randomly": ("pytest_randomly",),
    "pytest-repeat": ("pytest_repeat",),
    "pytest-reportlog": ("pytest_reportlog.plugin", "--report-log=log.json"),
    "pytest-rerunfailures": ("pytest_rerunfailures", "--reruns=1"),
    "pytest-socket": ("pytest_socket", "--disable-socket"),
    "pytest-split": ("pytest_split.plugin",),
    "pytest-sugar": ("pytest_sugar", "--force-sugar"),
    "pytest-timeout": ("pytest_timeout", "--timeout=60"),
}
# What else is needed to load it.
BEFORE = {
    "pytest-html": ("pytest_metadata.plugin",),
    "pytest-json-report": ("pytest_metadata.plugin",),
}
# What is said where less holds.
SAID = {
    "pytest-pretty": "katas: without pytest-pretty, as a kata shows one failing test",
    "pytest-sugar": "katas: without pytest-sugar, as a kata shows one failing test",
}
# What it does is not to be waited for: it runs no test of a kata in the order of the others.
LAB = """
import pytest
from katas.lecture01.k01_first import parse, evaluate

@pytest.mark.step(1, "numbers")
def test_zero(): assert parse("0") == 0

@pytest.mark.step(1, "numbers")
def test_one(): assert parse("1") == 1

@pytest.mark.step(2, "sums")
def test_sum(): assert evaluate("1 + 1") == 2

@pytest.mark.step(3, "products")
def test_product(): assert evaluate("2 * 3") == 6
"""
STUB = """
def parse(text):
    # TODO
    raise NotImplementedError("parse")

def evaluate(text):
    # TODO
    raise NotImplementedError("evaluate")
"""
ANSWER = """
def parse(text):
    return int(text)

def evaluate(text):
    return eval(text)
"""


@pytest.fixture
def katas(course: MiniCourse) -> MiniCourse:
    """A course of a lab that nobody has begun and a kata that is solved, and all of our plugins."""
    course.imported = PYTEST
    course.path_first(Path(FOLDER))
    course.monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    settings = (course.path / "pyproject.toml").read_text()
    # The project blocks it, since it is slow to import; here it is tried.
    course.write("pyproject.toml", settings.replace('"-p", "no:anyio",', ""))
    course.kata("k01_first", LAB, stub=STUB)
    course.kata("k02_second", "def test_it(): pass\n")
    return course


def arguments_of(*names: str) -> list[str]:
    """Return the options that load plugins and let them do something."""
    found: list[str] = []
    for name in names:
        module, *options = PLUGINS[name]
        found += [part for each in (*BEFORE.get(name, ()), module) for part in ("-p", each)]
        found += options
    return found


def check(result: pytest.RunResult) -> None:
    """One failing test is shown, the first of the lab, what waits, and where a hint is."""
    text = result.stdout.str()
    assert pytest.ExitCode.TESTS_FAILED == result.ret, text + result.stderr.str()
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert 1 == len(re.findall(r"^E +NotImplementedError: ", plain, re.MULTILINE)), plain
    assert 1 == len(re.findall(r"^_+ test_\w+(?:\[\S+\])? _+$", plain, re.MULTILINE)), plain
    assert "_ test_zero" in plain
    assert "  step 1 of 3: numbers; 3 more tests wait for parse and evaluate\n" in plain
    assert "  hint    pytest katas/lecture01/test_k01_first.py --hint" in plain


@pytest.mark.parametrize("name", PLUGINS)
def test_what_is_promised_holds_beside(katas: MiniCourse, name: str) -> None:
    """In a run of both katas, one of which is solved, and by ``--next``."""
    options = arguments_of(name)
    failing = katas.run(*options, "katas")
    shown = katas.run(*options, "katas", "--next")

    check(failing)
    assert (4, 1) == tuple(failing.parseoutcomes()[each] for each in ("failed", "passed"))
    said = [line for line in failing.outlines if line.startswith("katas: ")]
    assert [name in SAID] == [any(line.startswith(SAID.get(name, "-")) for line in said)]
    text = shown.stdout.str()
    assert pytest.ExitCode.TESTS_FAILED == shown.ret, text
    assert "test_zero" in text
    assert "NotImplementedError: parse" in text
    assert "test_one" not in text


def test_what_is_promised_holds_beside_all_of_them(katas: MiniCourse) -> None:
    """Together."""
    result = katas.run(*arguments_of(*PLUGINS), "katas")

    check(result)


@pytest.mark.slow
@pytest.mark.parametrize("names", [("pytest-sugar",), ("pytest-pretty", "pytest-randomly")])
def test_the_screen_of_watch_is_ours(katas: MiniCourse, names: tuple[str, ...]) -> None:
    """In a terminal: one failing test, and the verdict after a save."""
    options = [each for each in arguments_of(*names) if each != "--force-sugar"]
    with Terminal(katas.path, *options, "katas", "--watch") as terminal:
        failing = terminal.shown()
        katas.write("katas/lecture01/k01_first.py", ANSWER)
        solved = terminal.shown()
        terminal.process.send("q")
        terminal.end()

    assert 1 == failing.count("NotImplementedError: parse")
    assert "test_zero" in failing
    assert "test_one" not in failing
    assert "lecture01/k01_first is solved" in solved
