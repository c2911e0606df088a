"""The crash guard where xdist runs the tests: it replaces workers, this says how they died."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from pathlib import Path
from subprocess import TimeoutExpired
from threading import Event
from threading import Lock
from threading import Thread
from typing import Any

import pytest

from plugins.crashed import Crash
from plugins.crashed import reports
from plugins.journal import Journal
from plugins.recorder import Recorder
from plugins.standins import Known
from plugins.standins import StandIn
from plugins.standins import StandIns
from plugins.watchdog import GRACE
from plugins.watchdog import TICK
from plugins.watchdog import Watch


FOLDER = "kata_journals"
# The imports that ended a worker, one JSON object on each line.
BROKEN = "broken"


class Controller:
    """Watches the workers, and reports what becomes of them."""

    def __init__(self, memory: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="katas-"))
        self.memory = memory
        self._session: Any = None
        self._watches: dict[str, Watch] = {}
        self._crashes: dict[str, Crash] = {}
        self._later: dict[str, list[pytest.TestReport]] = {}
        self._lock = Lock()
        self._over = Event()
        self._thread = Thread(target=self._look, daemon=True)
        self._thread.start()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Remember where reports go."""
        self._session = session

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker where to keep its journal."""
        node.workerinput[FOLDER] = str(self.folder)
        self._watches[node.gateway.id] = Watch(Journal(self.folder, node.gateway.id), self.memory)

    def _look(self) -> None:
        while not self._over.wait(TICK):
            with self._lock:
                for watch in self._watches.values():
                    watch.look()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Find out what a worker died of, before xdist replaces it."""
        with self._lock:
            watch = self._watches.pop(node.gateway.id)
        if not error:
            return
        root = node.config.rootpath
        death = watch.death(status_of(node), root)
        crash, record = watch.crash(death, root), watch.record
        if record.run:
            self._crashes[record.run.nodeid] = crash
        elif record.collecting:
            line = json.dumps([record.collecting[-1], dataclasses.asdict(crash)])
            with (self.folder / BROKEN).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        """Say what happened, instead of which worker it happened to."""
        if crash := self._crashes.pop(crashitem, None):
            file, _, name = crashitem.rpartition("::")
            path = self._session.config.rootpath / file.partition("::")[0]
            item = StandIn.from_parent(
                self._session, name=name, nodeid=crashitem, path=path, crash=crash
            )
            made, *later = reports(item, crash)
            for new in later:
                new.__dict__["node"] = report.node
            self._later[crashitem] = later
            report.__dict__.update(made.__dict__)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Report the end of a test that crashed after its failure."""
        for later in self._later.pop(report.nodeid, ()):
            self._session.config.hook.pytest_runtest_logreport(report=later)

    def pytest_unconfigure(self) -> None:
        """Look no longer."""
        self._over.set()
        self._thread.join()
        shutil.rmtree(self.folder, ignore_errors=True)


def status_of(node: Any) -> int | None:
    """Return how the process of a worker ended, where it is one of this machine's."""
    popen = getattr(getattr(node.gateway, "_io", None), "popen", None)
    try:
        return popen.wait(GRACE) if popen else None
    except TimeoutExpired:
        return None


def enlist(config: pytest.Config, limit: float | None) -> None:
    """Make this process, a worker, keep a journal where the controller can read it."""
    folder = Path(config.workerinput.get(FOLDER, ""))  # type: ignore[attr-defined]
    if folder.is_absolute() and folder.is_dir():
        journal = Journal(folder, config.workerinput["workerid"])  # type: ignore[attr-defined]
        config.pluginmanager.register(Recorder(journal, limit))
        config.pluginmanager.register(StandIns())
        config.pluginmanager.register(Known(lambda nodeid: broken(folder / BROKEN).get(nodeid)))


def broken(file: Path) -> dict[str, Crash]:
    """Return the imports that have ended a worker so far."""
    if not file.exists():
        return {}
    pairs = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {nodeid: Crash(**crash) for nodeid, crash in pairs}
