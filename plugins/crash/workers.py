"""The crash guard where xdist runs the tests: xdist replaces workers, this reports their deaths."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from functools import partial
from pathlib import Path
from subprocess import TimeoutExpired
from threading import Event
from threading import Lock
from threading import Thread
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.course.session import course_root
from plugins.course.session import file_of
from plugins.crash.crash_reports import Crash
from plugins.crash.crash_reports import Repeats
from plugins.crash.crash_reports import make_reports
from plugins.crash.journal import Journal
from plugins.crash.journal import new_folder
from plugins.crash.placeholder_items import BrokenImports
from plugins.crash.placeholder_items import Spared
from plugins.crash.placeholder_items import StandIn
from plugins.crash.placeholder_items import StandIns
from plugins.crash.recorder import Recorder
from plugins.crash.verdict import explain_lost
from plugins.crash.watchdog import Watch
from plugins.tools.files import read_text_if_there
from plugins.tools.private import MissingNameError
from plugins.tools.private import replace_in_silence
from plugins.tools.private import worker_process
from plugins.tools.processes import GRACE
from plugins.tools.processes import TICK


if TYPE_CHECKING:
    from collections.abc import Iterable


FOLDER = "kata_journals"
# The files of imports that killed a worker, and of katas on devices whose tests need not run any
# more; each has one JSON array on each line. A worker that comes later is told them, too.
BROKEN = "broken"
SPARED = "spared"
NOTES = (BROKEN, SPARED)
# Whether a worker may leave what remains to another.
REPLACED = "kata_replaced"


class Controller:
    """Watches the workers, and reports how they died."""

    def __init__(self, memory: int) -> None:
        self.folder = new_folder()
        self.memory = memory
        # Why journals could not be written, or "".
        self._lost = ""
        self._notes: dict[str, list[str]] = {name: [] for name in NOTES}
        self._session: Any = None
        self._blind = False
        self._replaces = False
        self._watches: dict[str, Watch] = {}
        self._crashes: dict[str, Crash] = {}
        self._later: dict[str, list[pytest.TestReport]] = {}
        self._repeats = Repeats()
        self._lock = Lock()
        self._over = Event()
        self._thread = Thread(target=self._look, daemon=True)
        self._thread.start()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Remember the session, to which reports go, and replace the workers that leave."""
        self._session = session
        # A worker then stays, and skips the tests of a device that is broken.
        with contextlib.suppress(MissingNameError):
            replace_in_silence(session.config, self._has_left)
            self._replaces = True

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker where to keep its journal."""
        if not self.folder.is_dir():
            # Something has removed it.
            self.folder = new_folder()
        node.workerinput[FOLDER] = str(self.folder)
        node.workerinput |= {file: [*lines] for file, lines in self._notes.items()}
        node.workerinput[REPLACED] = self._replaces
        _outlive_the_worker(node)
        watch = Watch(Journal(self.folder, node.gateway.id), self.memory)
        # A dict that grows while `_look` goes through it would end that thread, and with it all
        # limits of time and memory.
        with self._lock:
            self._watches[node.gateway.id] = watch

    def _look(self) -> None:
        while not self._over.wait(TICK):
            with self._lock:
                for watch in self._watches.values():
                    watch.look()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Find out how a worker died, before xdist replaces it."""
        with self._lock:
            watch = self._watches.pop(node.gateway.id, None)
        if watch is None:
            # xdist tells twice of a worker that `pytest.exit` has ended.
            return
        watch.reader.news()
        record = watch.record
        self._lost = self._lost or record.lost
        if error:
            self._note_death(node, watch)
        elif record.why:
            # The import of a module may be why a worker has left.
            self._note(BROKEN, record.collecting[-1], Crash(record.why, left=True))
        watch.journal.close()

    def _note_death(self, node: Any, watch: Watch) -> None:
        """Keep the crash for the report of the test, and tell the other workers what to spare."""
        record = watch.record
        root = course_root(node.config)
        death = watch.death(self._status_of(node), root)
        crash = watch.crash(death, root)
        if record.run:
            self._crashes[record.run.nodeid] = crash
            if known := self._repeats.add(record.run, crash):
                self._note(SPARED, record.run.place, known)
        elif record.collecting:
            self._note(BROKEN, record.collecting[-1], crash)

    def _has_left(self, node: Any) -> bool:
        """Whether a worker that is gone has left what remains to another one."""
        with self._lock:
            watch = self._watches.get(node.gateway.id)
            if watch:
                watch.reader.news()
        return bool(watch and watch.record.left)

    def _note(self, file: str, name: str, crash: Crash) -> None:
        """Add a crash to a file that the workers read."""
        line = json.dumps([name, dataclasses.asdict(crash)])
        self._notes[file].append(line)
        # Without room for it, the workers that are there may end in the same way.
        with (
            contextlib.suppress(OSError),
            (self.folder / file).open("a", encoding="utf-8") as stream,
        ):
            stream.write(f"{line}\n")

    def _status_of(self, node: Any) -> int | None:
        """Return the exit code of a worker, if it is known; warn once if this xdist hides it."""
        try:
            return worker_status(node)
        except MissingNameError as error:
            text = (
                "a crashed test will not show how its process ended: this release of xdist or "
                f"execnet has changed where it keeps the process of a worker ({error})"
            )
            if not self._blind:
                node.config.issue_config_time_warning(pytest.PytestWarning(text), stacklevel=2)
            self._blind = True
            return None

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        """Replace the report that names the worker by one that says how it died."""
        if crash := self._crashes.pop(crashitem, None):
            name = crashitem.rpartition("::")[2]
            path = file_of(crashitem, self._session.config)
            item = StandIn.from_parent(
                self._session, name=name, nodeid=crashitem, path=path, crash=crash
            )
            made, *later = make_reports(item, crash)
            for new in later:
                new.__dict__["node"] = report.node
            self._later[crashitem] = later
            report.__dict__.update(made.__dict__)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Report the teardown of a crashed test after its failure."""
        for later in self._later.pop(report.nodeid, ()):
            self._session.config.hook.pytest_runtest_logreport(report=later)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say that journals could not be written."""
        if self._lost:
            terminalreporter.line(explain_lost(self._lost), yellow=True)

    def pytest_unconfigure(self) -> None:
        """Stop watching."""
        self._over.set()
        self._thread.join()
        shutil.rmtree(self.folder, ignore_errors=True)


def _outlive_the_worker(node: Any) -> None:
    """Let nothing be sent to a worker that has died.

    When two workers die at once, xdist gives the tests of the first to the second, of whose death
    it has not heard, and ends in an internal error (pytest-xdist issue 204). The tests that were
    not sent go to another worker as soon as it has.
    """
    send = node.sendcommand

    def send_while_alive(name: str, **arguments: object) -> None:
        with contextlib.suppress(OSError):
            send(name, **arguments)

    node.sendcommand = send_while_alive


def worker_status(node: Any) -> int | None:
    """Return the exit code of a worker; None if it is on another machine or does not end.

    Raises
    ------
    MissingNameError
        If the installed xdist hides the process.
    """
    process = worker_process(node.gateway)
    try:
        return process.wait(GRACE) if process else None
    except TimeoutExpired:
        return None


def prepare_worker(config: pytest.Config, limit: float | None) -> None:
    """Let this process, a worker, keep a journal that the controller can read."""
    told: dict[str, Any] = config.workerinput  # type: ignore[attr-defined]
    folder = Path(told.get(FOLDER, ""))
    if folder.is_absolute() and folder.is_dir():
        recorder = Recorder(Journal(folder, told["workerid"]), limit, replaced=told[REPLACED])
        register = config.pluginmanager.register
        register(recorder)
        register(StandIns())
        broken, spared = (partial(read_crashes, folder / name, told[name]) for name in NOTES)
        register(BrokenImports(lambda nodeid: broken().get(nodeid)))
        register(Spared(recorder.begin, lambda place: spared().get(place)))


def read_crashes(file: Path, known: Iterable[str] = ()) -> dict[str, Crash]:
    """Return the crashes that are `known`, and what the controller has noted in this file."""
    found = {}
    for line in (*known, *read_text_if_there(file).splitlines()):
        # The last line may be half written, or any on a full disk.
        with contextlib.suppress(ValueError):
            name, crash = json.loads(line)
            found[name] = Crash(**crash)
    return found
