"""What a failing kata adds: what to read, which episode to hear, the command for a hint."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from plugins.guide.failure import ShownFrame
from plugins.guide.failure import failure_among


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


PLUGINS = (
    "plugins.course.session",
    "plugins.course.solutions",
    "plugins.guide.episodes",
    "plugins.guide.failures",
    "plugins.guide.summary",
)
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
FILE = "katas/lecture01/test_k01_first.py"
HEADING = "lecture01/k01_first: The title of k01_first"
SUMMARY = [
    f"{' where to go on ':=^80}",
    HEADING,
    "  1 more test fails: AssertionError: one is not two",
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


def properties(file: Path) -> list[list[tuple[str, str]]]:
    """Return the properties of each test case in a JUnit file."""
    return [
        [(it.get("name", ""), it.get("value", "")) for it in case.iter("property")]
        for case in ET.parse(file).iter("testcase")  # noqa: S314 - our own file
    ]


def test_a_failure_and_the_summary(katas: MiniCourse) -> None:
    """Source, episode and hint stand once, in the summary, below everything else."""
    katas.kata(test=FAILING)

    result = katas.run()

    result.assert_outcomes(failed=2, passed=1)
    lines = result.outlines
    assert 1 == lines.count("  " + READ[0])
    assert 1 == lines.count(SUMMARY[0])
    assert 1 == lines.count(SUMMARY[1])
    assert follows(SUMMARY, lines)
    # Below pytest's own list, which is long when a whole lecture fails.
    assert lines.index(f"{' short test summary info ':=^80}") < lines.index(SUMMARY[0])
    long = [line for line in lines if len(line) > 80 and "//" not in line]
    # The path of the temporary folder may be longer.
    assert [] == [line for line in long if not line.startswith("rootdir:")]


def test_a_stub_points_to_the_answer_of_an_earlier_edition(katas: MiniCourse) -> None:
    """If the learner's file is still where it was; the path is as they would type it."""
    katas.kata(test=FAILING)
    table = katas.katas / "lecture01/lecture.toml"
    table.write_text(table.read_text().replace('kind = "', 'was = "k07_old"\nkind = "', 1))
    before = katas.run("--tb=no")
    katas.write("katas/lecture01/k07_old.py", "answer = 1")
    after = katas.run("--tb=no")

    before.stdout.no_fnmatch_line("*yours*")
    after.stdout.fnmatch_lines(["  yours   katas/lecture01/k07_old.py: your answer to the kata*"])


@pytest.mark.parametrize(
    "options", [["--tb=no"], ["-q", "--tb=no"], ["-x"], ["-n2", "-q", "--tb=no"]]
)
def test_the_summary_is_there_however_pytest_is_run(katas: MiniCourse, options: list[str]) -> None:
    """It has each failing kata once, in the order of the course."""
    katas.kata(test=FAILING)
    katas.kata("k02_second", test=FAILING)
    lines = katas.run(*options).outlines

    stopped = "-x" in options
    assert follows([line for line in SUMMARY if not stopped or "more test" not in line], lines)
    heads = [line for line in lines if line.startswith("lecture01/")]
    assert heads == sorted(set(heads))
    assert stopped == (1 == len(heads))
    start = "One kata at a time: pytest katas --next"
    assert stopped != (start in lines)


@pytest.mark.parametrize("options", [[], ["-n1"]])
def test_junit(katas: MiniCourse, options: list[str]) -> None:
    """Each failing test has each fact once, from a worker too; a passing test has none."""
    katas.kata(test=FAILING)
    result = katas.run("--junitxml=out.xml", *options)

    assert follows(SUMMARY, result.outlines)

    expected = [
        ("kata", "lecture01/k01_first"),
        ("read", f"c10/core/DispatchKeySet.h: DispatchKeySet {ROOT}/c10/core/DispatchKeySet.h"),
        ("listen", f"#62 Strides, 20:31: why strides fits {PAGE}"),
        ("hint", "pytest katas/lecture01/test_k01_first.py --hint"),
    ]
    found = properties(katas.path / "out.xml")
    assert [[], expected, expected] == sorted(case[:-1] for case in found)
    told = [failure for case in found if (failure := failure_among(case))]
    assert [f"{FILE}::test_first", f"{FILE}::test_second"] == [each.test for each in told]
    for failure in told:
        assert ("fails", "AssertionError: one is not two") == (failure.kind, failure.what)
        assert ("AssertionError: one is not two", "assert 1 == 2") == failure.message
        assert [FILE] == [frame.path for frame in failure.frames]


def test_only_failures_of_katas(katas: MiniCourse) -> None:
    """The project's own tests have no reading, nor do skipped tests or expected failures."""
    katas.write("tests/test_ours.py", FAILING)
    katas.write("tests/test_broken.py", "raise ValueError")
    katas.kata(test="import pytest\ndef test_s(): pytest.skip()\n@pytest.mark.xfail\n"
                    "def test_x(): assert 0\n")  # fmt: skip

    result = katas.run("tests", "katas", "--continue-on-collection-errors", "--junitxml=out.xml")

    result.assert_outcomes(failed=2, passed=1, errors=1, skipped=1, xfailed=1)
    assert 2 == result.outlines.count("E       AssertionError: one is not two")
    result.stdout.no_fnmatch_line("*where to go on*")
    assert [[]] * 6 == properties(katas.path / "out.xml")


def test_an_unsolved_kata_that_is_expected(katas: MiniCourse) -> None:
    """``--unsolved`` makes a failure an expected one before the reading is added."""
    katas.kata(test="def test_x(): raise NotImplementedError")

    result = katas.run("--unsolved")

    result.assert_outcomes(xfailed=1)
    result.stdout.no_fnmatch_line("*where to go on*")


def test_failures_of_fixtures(katas: MiniCourse) -> None:
    """Setup and teardown count; a test that fails in both has its reading once in JUnit XML."""
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
    assert 1 == result.outlines.count(HEADING)
    assert "  1 more test fails: ValueError" in result.outlines
    counts = [len(case) for case in properties(katas.path / "out.xml")]
    assert {5} == set(counts)


@pytest.mark.parametrize("options", [[], ["-n1"]])
def test_a_module_that_cannot_be_imported(katas: MiniCourse, options: list[str]) -> None:
    """It counts as a failure of its kata everywhere, and the other katas run."""
    katas.kata(test="raise RuntimeError('at import')")
    katas.kata("k02_second", test="def test_fine(): pass")

    result = katas.run("--continue-on-collection-errors", "--junitxml=out.xml", *options)

    assert follows([HEADING, *(f"  {line}" for line in READ)], result.outlines)
    assert 1 == result.outlines.count(HEADING)
    found = properties(katas.path / "out.xml")
    names = [[name for name, _ in case] for case in found]
    assert ["kata", "read", "listen", "hint", "kata_failure"] in names
    assert 1 == result.parseoutcomes()["passed"]


def test_what_has_no_traceback_has_a_place(katas: MiniCourse) -> None:
    """That where it was raised, as by the crash guard; its text names none."""
    fail = "import pytest\n\ndef answer():\n    pytest.fail('\\nit has ended', pytrace=False)\n"
    test = "from katas.lecture01.k01_first import answer\n\ndef test_it(): answer()\n"
    katas.kata(stub=fail, test=test)
    katas.run("--junitxml=out.xml")

    (failure,) = (failure_among(case) for case in properties(katas.path / "out.xml"))
    assert failure
    assert (ShownFrame("katas/lecture01/k01_first.py", 4),) == failure.frames
    assert ("it has ended",) == failure.message


@pytest.mark.parametrize("style", ["long", "native", "line", "no"])
def test_another_style_than_pytests_short_one_has_no_frames(katas: MiniCourse, style: str) -> None:
    """The failure has its message all the same, and as much of it as the report shows."""
    katas.kata(test="def test_it():\n    assert 0, '\\n'.join(map(str, range(50)))\n")
    katas.run("--junitxml=out.xml", f"--tb={style}")

    (failure,) = (failure_among(case) for case in properties(katas.path / "out.xml"))
    assert failure
    assert () == failure.frames
    assert any("AssertionError: 0" in line for line in failure.message)


def test_junit_without_a_terminal(katas: MiniCourse) -> None:
    """A run that prints nothing still writes its file."""
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
    """Links use its tag, or ``main`` without torch or with a nightly build."""
    course.write("conftest.py", VERSION.format(plugins=PLUGINS, answer=answer))
    course.kata(test=FAILING)

    address = f"https://github.com/pytorch/pytorch/blob/{tag}/c10/core/DispatchKeySet.h"
    assert f"          {address}" in course.run().outlines


def test_the_hint_can_be_copied(katas: MiniCourse) -> None:
    """Its path is relative to where pytest was started, and quoted for the shell."""
    katas.kata(test=FAILING)
    katas.kata(test=FAILING, lecture="lecture02 b")
    katas.monkeypatch.chdir(katas.path / "katas/lecture01")

    below = katas.run()
    katas.monkeypatch.chdir(katas.path)
    spaced = katas.run("katas/lecture02 b")

    assert "  hint    pytest test_k01_first.py --hint" in below.outlines
    assert "  hint    pytest 'katas/lecture02 b/test_k01_first.py' --hint" in spaced.outlines


def on_terminal(katas: MiniCourse, *options: str) -> str:
    """Return what pytest prints when its output is a terminal."""
    controller, terminal = os.openpty()
    command = [sys.executable, "-m", "pytest", *options]
    with subprocess.Popen(command, cwd=katas.path, stdout=terminal) as process:
        os.close(terminal)
        pieces = []
        # On Linux, reading fails with EIO once the last process has closed the terminal.
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


@pytest.mark.parametrize("options", [[], ["-n1"]])
def test_links_on_a_terminal(katas: MiniCourse, options: list[str]) -> None:
    """The summary has them, though a worker has no terminal; JUnit XML has none."""
    katas.monkeypatch.setenv("TERM", "xterm-kitty")
    for name in ("FORCE_HYPERLINK", "TMUX", "STY", "PY_COLORS"):
        katas.monkeypatch.delenv(name, raising=False)
    katas.kata(test=FAILING)
    shown = on_terminal(katas, "--junitxml=out.xml", *options)

    link = f"\x1b]8;;{PAGE}\x1b\\#62 Strides, 20:31\x1b]8;;\x1b\\: why strides fits"
    assert 1 == shown.count(f"listen  {link}")
    assert PAGE not in shown.replace(link, "")
    assert "\\x1b" not in (katas.path / "out.xml").read_text()
    assert "]8;;" not in (katas.path / "out.xml").read_text()


def test_no_links_without_colour(katas: MiniCourse) -> None:
    """``--color=no`` means no control sequences at all; the address is shown instead."""
    katas.monkeypatch.setenv("FORCE_HYPERLINK", "1")
    katas.monkeypatch.delenv("PY_COLORS")
    katas.kata(test=FAILING)

    shown = on_terminal(katas, "--color=no")
    assert "\x1b]8" not in shown
    assert f"        {PAGE}\r\n" in shown


def test_no_links_in_a_file(katas: MiniCourse) -> None:
    """Output to a file has none, even with colours."""
    katas.monkeypatch.setenv("FORCE_HYPERLINK", "1")
    katas.monkeypatch.delenv("PY_COLORS")
    katas.kata(test=FAILING)

    shown = katas.run("--color=yes").stdout.str()
    assert "\x1b[1m" in shown
    assert "\x1b]8" not in shown
