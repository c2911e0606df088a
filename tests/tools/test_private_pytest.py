"""The private names of pytest do, in the release installed here, what the plugins need."""

from __future__ import annotations

import ast
import io
import os
import sys
from datetime import UTC
from datetime import datetime
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from _pytest._code.source import getstatementrange_ast

from plugins.tools import private


if TYPE_CHECKING:
    from collections.abc import Generator


PASSES = "def test_it(): pass\n"
FAILS = "def test_one(): assert 1 == 2\n\ndef test_two():\n    assert 3 == (\n        4\n    )\n"
WRITES = "import os\n\ndef test_it():\n    os.write(1, b'one')\n    os.write(2, b'two')\n"
FIXTURE = """
import pytest

@pytest.fixture(scope="module")
def ends():
    yield
    open("ended", "w").close()

def test_runs(ends): pass
def test_replayed(ends): pass
"""
NEXT = "from pathlib import Path\n\ndef test_next(): assert Path('ended').exists()\n"


class HourAgo:
    """The start of a session, an hour ago: what pytest asks of an instant."""

    def elapsed(self) -> SimpleNamespace:
        """Return the time since then."""
        return SimpleNamespace(seconds=3600.0)

    def as_utc(self) -> datetime:
        """Return the date."""
        return datetime.now(UTC) - timedelta(hours=1)


HOUR_AGO: Any = HourAgo()


def test_redirect_terminal(pytester: pytest.Pytester) -> None:
    """A file that replaces it gets what the reporter writes, until it is put back."""
    config = pytester.parseconfigure()
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    file = io.StringIO()

    before = private.redirect_terminal(config, file)
    reporter.write_line("here")

    assert sys.stdout is before
    assert "here\n" == file.getvalue()
    assert file is private.redirect_terminal(config, before)


def test_read_clock() -> None:
    """An instant tells the time since, and its date."""
    instant = private.read_clock()

    assert 0 <= instant.elapsed().seconds < 3600
    assert abs(datetime.now(UTC) - instant.as_utc()) < timedelta(hours=1)


def test_set_session_start(pytester: pytest.Pytester) -> None:
    """The last line of the terminal has the time since then."""

    class Earlier:
        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self, session: pytest.Session) -> None:
            private.set_session_start(session.config, HOUR_AGO)

    pytester.makepyfile(PASSES)

    result = pytester.runpytest_inprocess(plugins=[Earlier()])

    result.stdout.fnmatch_lines(["*1 passed in 3600.00s (1:00:00)*"])


def test_set_session_start_without_a_terminal(pytester: pytest.Pytester) -> None:
    """A worker of xdist has none either."""
    config = pytester.parseconfigure("-p", "no:terminal")

    private.set_session_start(config, HOUR_AGO)

    assert not config.pluginmanager.has_plugin("terminalreporter")


def test_junit_xml(pytester: pytest.Pytester) -> None:
    """It has the start of the suite, and the element of a module that could not be imported."""

    class Earlier:
        failed: pytest.CollectReport

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if report.failed:
                self.failed = report

        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionfinish(self, session: pytest.Session) -> None:
            xml = private.junit_xml(session.config)
            assert xml
            xml.suite_start = HOUR_AGO
            xml.node_reporter(self.failed).add_property("name", "value")

    pytester.makepyfile("raise OSError")

    pytester.runpytest_inprocess("--junit-xml=report.xml", plugins=[Earlier()])

    suite = ET.parse(pytester.path / "report.xml").getroot()[0]  # noqa: S314 - our own file
    assert "3600.000" == suite.attrib["time"]
    properties = [each.attrib for each in suite.iterfind("testcase/properties/property")]
    assert [{"name": "name", "value": "value"}] == properties


def test_junit_xml_that_is_not_asked_for(pytester: pytest.Pytester) -> None:
    """Only ``--junit-xml`` makes one."""
    assert private.junit_xml(pytester.parseconfigure()) is None


def test_tear_down_for(pytester: pytest.Pytester) -> None:
    """A test that is not run ends the fixtures of the one before it, if it is their last."""

    class Replayed:
        def pytest_runtest_protocol(
            self, item: pytest.Item, nextitem: pytest.Item | None
        ) -> bool | None:
            if item.name != "test_replayed":
                return None
            private.tear_down_for(item.session, nextitem)
            return True

    pytester.makepyfile(test_first=FIXTURE, test_second=NEXT)

    result = pytester.runpytest_inprocess(plugins=[Replayed()])

    result.assert_outcomes(passed=2)


class Captured:
    """Reads the files of captured output while a test runs."""

    def __init__(self) -> None:
        self.texts = {"none": b"so far"}

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Read once the test has written."""
        done = yield
        files = private.captured_files(pyfuncitem.config)
        self.texts = {name: os.pread(file, 100, 0) for name, file in files.items()}
        return done


def test_captured_files(pytester: pytest.Pytester) -> None:
    """They have at once what a test writes to a file descriptor."""
    captured = Captured()
    pytester.makepyfile(WRITES)

    pytester.runpytest_inprocess("--capture=fd", plugins=[captured])

    assert {"out": b"one", "err": b"two"} == captured.texts


@pytest.mark.parametrize("argument", ["-s", "--capture=sys", "-pno:capture"])
def test_captured_files_where_no_descriptor_is_captured(
    pytester: pytest.Pytester, argument: str
) -> None:
    """What a test prints goes to the terminal, or to a stream of Python's."""
    captured = Captured()
    pytester.makepyfile(PASSES)

    pytester.runpytest_inprocess(argument, plugins=[captured])

    assert {} == captured.texts


def test_captured_files_of_another_manager() -> None:
    """The error has the name of the attribute that its manager lacks."""
    config: Any = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugin=lambda _: object()))

    with pytest.raises(private.MissingNameError, match="_global_capturing"):
        private.captured_files(config)


def test_captured_files_of_another_class(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Descriptors are captured, but not by what has the files: there is no empty answer then."""
    config = pytester.parseconfig()
    assert private.captured_files(config)
    monkeypatch.setattr("_pytest.capture.FDCaptureBase", type("Other", (), {}))

    with pytest.raises(private.MissingNameError, match="FDCaptureBase"):
        private.captured_files(config)


class Noted:
    """Notes when it is configured and when it tidies up."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def pytest_configure(self) -> None:
        """Note it."""
        self.seen.append("configured")

    def pytest_unconfigure(self) -> None:
        """Note it."""
        self.seen.append("unconfigured")


def test_configure(pytester: pytest.Pytester) -> None:
    """All plugins are configured as for a session, without one."""
    noted = Noted()
    config = pytester.parseconfig()
    config.pluginmanager.register(noted)
    before = config.pluginmanager.has_plugin("terminalreporter")

    private.configure(config)

    assert (["configured"], False) == (noted.seen, before)
    assert config.pluginmanager.has_plugin("terminalreporter")


def test_unconfigure(pytester: pytest.Pytester) -> None:
    """What was configured tidies up, once."""
    noted = Noted()
    config = pytester.parseconfigure()
    config.pluginmanager.register(noted)

    private.unconfigure(config)
    private.unconfigure(config)

    assert ["configured", "unconfigured"] == noted.seen


def test_explain_asserts(pytester: pytest.Pytester) -> None:
    """Outside of a test, a hook near the test explains an assert, until the protocol ends."""
    pytester.makeconftest("def pytest_assertrepr_compare(): return ['explained here']")
    item = pytester.getitem("def test_it():\n    one = 1\n    assert one == 2\n", "test_it")
    assert isinstance(item, pytest.Function)

    explaining = private.explain_asserts(item)
    with pytest.raises(AssertionError, match="explained here"):
        item.obj()
    with pytest.raises(StopIteration):
        next(explaining)

    with pytest.raises(AssertionError) as caught:
        item.obj()
    assert "explained here" not in str(caught.value)


def test_terminal_writer(capsys: pytest.CaptureFixture[str]) -> None:
    """It writes to what standard output is just then, and has colours as the options say."""
    options = SimpleNamespace(color="yes", code_highlight="no")
    config: Any = SimpleNamespace(option=options)
    writer = private.terminal_writer(config)
    writer.line("text", green=True)
    options.color = "no"

    assert capsys.readouterr().out == "\x1b[32mtext\x1b[0m\n"
    assert private.terminal_writer(config).markup("text", green=True) == "text"
    assert writer.fullwidth > 0


def test_share_trees(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two failures of one file need it parsed once, show the same, and twice after the way back."""
    parsed: list[object] = []
    parse: Any = ast.parse

    def noted(text: Any, *rest: Any, **options: Any) -> Any:
        if text == FAILS.rstrip():
            parsed.append(text)
        return parse(text, *rest, **options)

    monkeypatch.setattr(ast, "parse", noted)
    # These tests are a session of the course: its trees are shared already.
    monkeypatch.setattr("_pytest._code.code.getstatementrange_ast", getstatementrange_ast)
    file = pytester.makepyfile(FAILS)

    def shown() -> list[str]:
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-q", file).outlines[:-1]

    restore = private.share_trees()
    shared = shown()
    assert 1 == len(parsed)
    restore()

    assert shared == shown()
    assert 3 == len(parsed)
    assert "            4" in shared


def test_share_trees_of_another_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the function there is nothing to share, and nothing that fails."""
    monkeypatch.delattr("_pytest._code.code.getstatementrange_ast")

    private.share_trees()()
