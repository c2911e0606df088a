"""With every failing kata: what to read, which episode to hear, the command for a hint."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


PLUGINS = ("plugins.course", "plugins.solutions", "plugins.episodes", "plugins.failures")
FAILING = """
import pytest

def test_first():
    assert 1 == 2, "one is not two"

def test_second():
    assert 1 == 2, "one is not two"

def test_passes():
    pass
"""
VERSION = """
import importlib.metadata

pytest_plugins = {plugins!r}
real = importlib.metadata.version

def version(name):
    if name != "torch":
        return real(name)
    {answer}

importlib.metadata.version = version
"""
PAGE = "https://pytorch-dev-podcast.simplecast.com/episodes/strides-J8T_8Obe"
ROOT = "https://github.com/pytorch/pytorch/blob/v2.13.0"
READ = [
    "read    c10/core/DispatchKeySet.h: DispatchKeySet",
    f"        {ROOT}/c10/core/DispatchKeySet.h",
    "listen  #62 Strides, 20:31: why strides fits",
    f"        {PAGE}",
    "hint    pytest katas/lecture01/test_k01_first.py --hint",
]
SECTION = f"{' next for lecture01/k01_first ':-^80}"
SUMMARY = [
    f"{' where to go on ':=^80}",
    "lecture01/k01_first: The title of k01_first",
    *(f"  {line}" for line in READ),
]


@pytest.fixture
def katas(course: MiniCourse) -> MiniCourse:
    """A course with the plugins for failures, on a machine with PyTorch 2.13.0."""
    course.write("conftest.py", VERSION.format(plugins=PLUGINS, answer="return '2.13.0+cpu'"))
    return course


def follows(expected: list[str], lines: list[str]) -> bool:
    """Whether `lines` hold the expected ones, one right after the other."""
    return any(
        expected == lines[start : start + len(expected)] for start in range(len(lines))
    )  # fmt: skip


def properties(file: Path) -> list[list[tuple[str | None, str | None]]]:
    """Return the properties of each test case in a JUnit file."""
    return [
        [(it.get("name"), it.get("value")) for it in case.iter("property")]
        for case in ET.parse(file).iter("testcase")  # noqa: S314 - our own file
    ]


def test_a_failure_and_the_summary(katas: MiniCourse) -> None:
    """Message, reading, episode, hint; at the end the same once for the kata."""
    katas.kata(test=FAILING)

    result = katas.run()

    result.assert_outcomes(failed=2, passed=1)
    lines = result.outlines
    assert 2 == lines.count(SECTION)
    assert follows([SECTION, *READ], lines)
    first = lines.index(SECTION)
    assert any("one is not two" in line for line in lines[:first])
    assert 1 == lines.count(SUMMARY[0])
    assert 1 == lines.count(SUMMARY[1])
    assert follows(SUMMARY, lines)
    # Below the list of pytest, which is long when a whole lecture fails.
    assert lines.index(f"{' short test summary info ':=^80}") < lines.index(SUMMARY[0])
    long = [line for line in lines if len(line) > 80 and "//" not in line]
    # pytest shows the folder of the test, whose name is as long as it is.
    assert [] == [line for line in long if not line.startswith("rootdir:")]


@pytest.mark.parametrize(
    "options", [["--tb=no"], ["-q", "--tb=no"], ["-x"], ["-n2", "-q", "--tb=no"]]
)
def test_the_summary_is_there_however_pytest_is_run(katas: MiniCourse, options: list[str]) -> None:
    """Once for each kata, in the order of the course."""
    katas.kata(test=FAILING)
    katas.kata("k02_second", test=FAILING)
    lines = katas.run(*options).outlines

    assert follows(SUMMARY, lines)
    heads = [line for line in lines if line.startswith("lecture01/")]
    assert heads == sorted(set(heads))
    assert ("-x" in options) == (1 == len(heads))
    start = "One kata at a time: pytest katas/lecture01/test_k01_first.py -x"
    assert ("-x" in options) != (start in lines)


@pytest.mark.parametrize("options", [[], ["-n2"]])
def test_junit(katas: MiniCourse, options: list[str]) -> None:
    """Each failing test has the reading, each fact once, from a worker too; others have none."""
    katas.kata(test=FAILING)
    result = katas.run("--junitxml=out.xml", *options)

    assert 2 == result.outlines.count(SECTION)
    assert follows([SECTION, *READ], result.outlines)

    expected = [
        ("kata", "lecture01/k01_first"),
        ("read", f"c10/core/DispatchKeySet.h: DispatchKeySet {ROOT}/c10/core/DispatchKeySet.h"),
        ("listen", f"#62 Strides, 20:31: why strides fits {PAGE}"),
        ("hint", "pytest katas/lecture01/test_k01_first.py --hint"),
    ]
    found = properties(katas.path / "out.xml")
    assert [[], expected, expected] == sorted(found)


def test_only_failures_of_katas(katas: MiniCourse) -> None:
    """Not those of the project's own tests, and not what is skipped or expected to fail."""
    katas.write("tests/test_ours.py", FAILING)
    katas.write("tests/test_broken.py", "raise ValueError")
    katas.kata(test="import pytest\ndef test_s(): pytest.skip()\n@pytest.mark.xfail\n"
                    "def test_x(): assert 0\n")  # fmt: skip

    result = katas.run("tests", "katas", "--continue-on-collection-errors", "--junitxml=out.xml")

    result.assert_outcomes(failed=2, passed=1, errors=1, skipped=1, xfailed=1)
    result.stdout.no_fnmatch_line("*next for*")
    result.stdout.no_fnmatch_line("*where to go on*")
    assert [[]] * 6 == properties(katas.path / "out.xml")


def test_an_unsolved_kata_that_is_expected(katas: MiniCourse) -> None:
    """``--unsolved`` turns failures into expected ones before they are looked at."""
    katas.kata(test="def test_x(): raise NotImplementedError")

    result = katas.run("--unsolved")

    result.assert_outcomes(xfailed=1)
    result.stdout.no_fnmatch_line("*where to go on*")


def test_failures_of_fixtures(katas: MiniCourse) -> None:
    """Before and after a test; a test that fails in both has its reading once in JUnit XML."""
    katas.kata(
        test="""
        import pytest

        @pytest.fixture
        def before():
            raise ValueError

        @pytest.fixture
        def after():
            yield
            raise ValueError

        def test_before(before): pass
        def test_after(after): pass
        def test_both(after): assert 0
        """
    )

    result = katas.run("--junitxml=out.xml")

    result.assert_outcomes(passed=1, failed=1, errors=3)
    assert 4 == result.outlines.count(SECTION)
    assert 1 == result.outlines.count(SUMMARY[1])
    counts = [len(case) for case in properties(katas.path / "out.xml")]
    assert {4} == set(counts)


@pytest.mark.parametrize("options", [[], ["-n2"]])
def test_a_module_that_cannot_be_imported(katas: MiniCourse, options: list[str]) -> None:
    """It is the kata's failure too, in every place, and the other katas run."""
    katas.kata(test="raise RuntimeError('at import')")
    katas.kata("k02_second", test="def test_fine(): pass")

    result = katas.run("--continue-on-collection-errors", "--junitxml=out.xml", *options)

    assert follows([SECTION, *READ], result.outlines)
    assert follows(SUMMARY, result.outlines)
    assert 1 == result.outlines.count(SUMMARY[1])
    found = properties(katas.path / "out.xml")
    assert ["kata", "read", "listen", "hint"] in [[name for name, _ in case] for case in found]
    assert 1 == result.parseoutcomes()["passed"]


def test_junit_without_a_terminal(katas: MiniCourse) -> None:
    """A run that prints nothing writes its file."""
    katas.kata(test=FAILING)

    katas.run("-o", "addopts=", "-p", "no:terminal", "--junitxml=out.xml")

    assert 3 == len(properties(katas.path / "out.xml"))


@pytest.mark.parametrize(
    ("answer", "tag"),
    [
        ("return '2.99.1+cu140'", "v2.99.1"),
        ("return '3.0.0.dev20261101'", "main"),
        ("raise importlib.metadata.PackageNotFoundError(name)", "main"),
    ],
)
def test_the_source_is_that_of_the_installed_torch(
    course: MiniCourse, answer: str, tag: str
) -> None:
    """At its tag; without torch, or with a nightly one, the newest."""
    course.write("conftest.py", VERSION.format(plugins=PLUGINS, answer=answer))
    course.kata(test=FAILING)

    address = f"https://github.com/pytorch/pytorch/blob/{tag}/c10/core/DispatchKeySet.h"
    assert f"        {address}" in course.run().outlines


def test_what_is_said_again_is_said_without_the_reading(katas: MiniCourse) -> None:
    """As that a source does not compile; the summary below all names the reading once."""
    katas.kata(test=FAILING)
    hook = """
def pytest_runtest_setup(item):
    from plugins.failures import repeated_key

    item.stash[repeated_key] = True
"""
    conftest = katas.path / "conftest.py"
    conftest.write_text(conftest.read_text() + hook)

    shown = katas.run().stdout.str()

    assert "next for" not in shown
    assert 1 == shown.count("#62 Strides, 20:31")


def test_the_hint_can_be_copied(katas: MiniCourse) -> None:
    """Its path is good where pytest was started, and quoted where a shell wants it."""
    katas.kata(test=FAILING)
    katas.kata(test=FAILING, lecture="lecture02 b")
    katas.monkeypatch.chdir(katas.path / "katas/lecture01")

    below = katas.run()
    katas.monkeypatch.chdir(katas.path)
    spaced = katas.run("katas/lecture02 b")

    assert "hint    pytest test_k01_first.py --hint" in below.outlines
    assert "hint    pytest 'katas/lecture02 b/test_k01_first.py' --hint" in spaced.outlines


def on_terminal(katas: MiniCourse, *options: str) -> str:
    """Return what pytest prints when its output is a terminal."""
    controller, terminal = os.openpty()
    command = [sys.executable, "-m", "pytest", *options]
    with subprocess.Popen(command, cwd=katas.path, stdout=terminal) as process:
        os.close(terminal)
        pieces = []
        # Linux ends a terminal that nobody has open any more by an error.
        while piece := _piece(controller):
            pieces.append(piece)
    os.close(controller)
    assert 1 == process.returncode
    return b"".join(pieces).decode()


def _piece(controller: int) -> bytes:
    try:
        return os.read(controller, 1 << 16)
    except OSError:
        return b""


@pytest.mark.parametrize("options", [[], ["-n2"]])
def test_links_on_a_terminal(katas: MiniCourse, options: list[str]) -> None:
    """In the failure and in the summary, though a worker has no terminal; none in the file."""
    katas.monkeypatch.setenv("TERM", "xterm-kitty")
    for name in ("FORCE_HYPERLINK", "TMUX", "STY", "PY_COLORS"):
        katas.monkeypatch.delenv(name, raising=False)
    katas.kata(test=FAILING)
    shown = on_terminal(katas, "--junitxml=out.xml", *options)

    link = f"\x1b]8;;{PAGE}\x1b\\#62 Strides, 20:31\x1b]8;;\x1b\\: why strides fits"
    assert 3 == shown.count(f"listen  {link}")
    assert PAGE not in shown.replace(link, "")
    assert "\\x1b" not in (katas.path / "out.xml").read_text()
    assert "]8;;" not in (katas.path / "out.xml").read_text()


def test_no_links_without_colour(katas: MiniCourse) -> None:
    """Whoever wants no control sequences gets none, and sees the address."""
    katas.monkeypatch.setenv("FORCE_HYPERLINK", "1")
    katas.monkeypatch.delenv("PY_COLORS")
    katas.kata(test=FAILING)

    shown = on_terminal(katas, "--color=no")
    assert "\x1b]8" not in shown
    assert f"        {PAGE}\r\n" in shown


def test_no_links_in_a_file(katas: MiniCourse) -> None:
    """Output that is no terminal has none, even with colours."""
    katas.monkeypatch.setenv("FORCE_HYPERLINK", "1")
    katas.monkeypatch.delenv("PY_COLORS")
    katas.kata(test=FAILING)

    shown = katas.run("--color=yes").stdout.str()
    assert "\x1b[1m" in shown
    assert "\x1b]8" not in shown
