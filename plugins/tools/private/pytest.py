"""The private names of pytest, as of 9.2.0."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING
from typing import Any

from plugins.tools.private.missing import MissingNameError
from plugins.tools.text import parse_python


if TYPE_CHECKING:
    import ast
    from collections.abc import Callable
    from collections.abc import Generator
    from typing import TextIO

    import pytest
    from _pytest import _code
    from _pytest import timing
    from _pytest._io import TerminalWriter
    from _pytest.junitxml import LogXML

    # Types without a public name, for the annotations of other modules.
    Instant = timing.Instant
    Source = _code.Source
    Traceback = _code.Traceback


# More files than the failures of a kata show; the tree of a long one takes ten megabytes.
TREES = 8


def redirect_terminal(config: pytest.Config, file: TextIO) -> TextIO:
    """Let pytest's terminal reporter write to `file`; return the file that it wrote to before.

    `TerminalWriter._file`: the writer that the public `Config.get_terminal_writer` returns takes
    its file when it is made, and other plugins hold on to that writer (pytest 9.2.0).
    """
    writer = config.get_terminal_writer()
    before, writer._file = writer._file, file  # noqa: SLF001
    return before


def terminal_writer(config: pytest.Config) -> TerminalWriter:
    """Return a writer for standard output, with the colours that the command line asks for.

    `_pytest.config.create_terminal_writer`: the public `Config.get_terminal_writer` is that of the
    terminal reporter, which there is none of before pytest is configured (pytest 9.2.0).
    """
    from _pytest.config import create_terminal_writer  # noqa: PLC0415 - see `read_clock`

    return create_terminal_writer(config, sys.stdout)


def read_clock() -> Instant:
    """Return the current time in the form in which pytest keeps the start of a session.

    `_pytest.timing.Instant`: what `set_session_start` and JUnit XML take; pytest has no hook and
    no option for the start of a session (pytest 9.2.0).
    """
    from _pytest import timing  # noqa: PLC0415 - commands about git have no pytest

    return timing.Instant()


def set_session_start(config: pytest.Config, begun: Instant) -> None:
    """Let the last line of the terminal count the session's time from `begun`.

    `TerminalReporter._session_start`: the reporter sets it itself in `pytest_sessionstart`, and
    no option or hook changes it (pytest 9.2.0).
    """
    if reporter := config.pluginmanager.get_plugin("terminalreporter"):
        reporter._session_start = begun  # noqa: SLF001


def junit_xml(config: pytest.Config) -> LogXML | None:
    """Return the plugin that writes ``--junit-xml``, if this session has one.

    `_pytest.junitxml.xml_key`: the fixture `record_testsuite_property` is public but serves
    tests alone; nothing public reaches a module's element or the start of the suite (pytest 9.2.0).
    """
    from _pytest import junitxml  # noqa: PLC0415 - commands about git have no pytest

    return config.stash.get(junitxml.xml_key, None)


def tear_down_for(session: pytest.Session, nextitem: pytest.Item | None) -> None:
    """Tear down all fixtures that `nextitem` does not share.

    `Session._setupstate.teardown_exact`: pytest calls it in `pytest_runtest_teardown`, which needs
    an item that was set up; a test that is only replayed was not (pytest 9.2.0).
    """
    session._setupstate.teardown_exact(nextitem)  # noqa: SLF001


def captured_files(config: pytest.Config) -> dict[str, int]:
    """Return the descriptors of the files that pytest captures ``out`` and ``err`` into.

    `CaptureManager._global_capturing` and `_pytest.capture.FDCaptureBase`: the public fixtures
    read what was captured, but cannot say where it is stored (pytest 9.2.0). Empty if pytest does
    not capture file descriptors, as with ``-s``.

    Raises
    ------
    MissingNameError
        If pytest captures file descriptors, and hides the files.
    """
    manager: Any = config.pluginmanager.get_plugin("capturemanager")
    if manager is None:
        return {}
    try:
        from _pytest.capture import FDCaptureBase  # noqa: PLC0415 - see `read_clock`

        capturing = manager._global_capturing  # noqa: SLF001
        streams = {"out": capturing.out, "err": capturing.err} if capturing else {}
        files = {
            name: stream.tmpfile.fileno()
            for name, stream in streams.items()
            if isinstance(stream, FDCaptureBase)
        }
    except (AttributeError, ImportError) as error:
        raise MissingNameError(str(error)) from error
    if len(files) < len(streams) and config.getoption("capture") == "fd":
        raise MissingNameError("FDCaptureBase is not the class of what captures a descriptor")
    return files


def configure(config: pytest.Config) -> None:
    """Let all plugins configure themselves.

    `Config._do_configure`: pytest calls it for ``--help`` and for a session; a command that shows
    something runs no session and has no public way to it (pytest 9.2.0).
    """
    config._do_configure()  # noqa: SLF001


def unconfigure(config: pytest.Config) -> None:
    """Let all plugins tidy up after `configure`.

    `Config._ensure_unconfigure`: the other half of `Config._do_configure` (pytest 9.2.0).
    """
    config._ensure_unconfigure()  # noqa: SLF001


def explain_asserts(item: pytest.Item) -> Generator[None, object, object]:
    """Let asserts explain themselves as in `item`, until what is returned is closed or ends.

    `_pytest.assertion.pytest_runtest_protocol`: pytest offers the explanations only around the
    whole run of a test, not to another process that runs a part of it (pytest 9.2.0).
    """
    from _pytest import assertion  # noqa: PLC0415 - see `read_clock`

    explaining = assertion.pytest_runtest_protocol(item)
    next(explaining)
    return explaining


def share_trees() -> Callable[[], None]:
    """Let all failures share the syntax trees of the files that they show; return the way back.

    `_pytest._code.code.getstatementrange_ast`: to find the lines of a statement, pytest parses
    each file of a traceback, and forgets the trees with it. The tests of a kata all fail in the
    same file, before it is solved: parsing it for each took half of the time (pytest 9.2.0).
    A pytest without that function does as it does.
    """
    from _pytest._code import code  # noqa: PLC0415 - see `read_clock`

    names = vars(code)
    find = names.get("getstatementrange_ast")
    if find is None:
        return lambda: None

    tree_of = lru_cache(maxsize=TREES)(parse_python)

    def find_in_shared(
        lineno: int, source: Source, *, astnode: ast.AST | None = None
    ) -> tuple[ast.AST, int, int]:
        found: tuple[ast.AST, int, int]
        found = find(lineno, source, astnode=astnode or tree_of(str(source)))
        return found

    def restore() -> None:
        names["getstatementrange_ast"] = find

    names["getstatementrange_ast"] = find_in_shared
    return restore
