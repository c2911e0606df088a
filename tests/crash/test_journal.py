"""The journal that one process writes and another reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from plugins.crash.journal import Journal
from plugins.crash.journal import Reader
from plugins.crash.journal import Record
from plugins.crash.journal import Writer


if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Each event once, while the journal is being written."""
    journal = Journal(tmp_path, "0")
    reader = Reader(journal)
    assert not reader.news()

    writer = Writer(journal)
    writer.write("collect", nodeid="a.py", limit=2.0)
    assert reader.news()
    assert not reader.news()
    assert (os.getpid(), ["a.py"], 2.0) == (
        reader.record.process,
        reader.record.collecting,
        reader.record.limit,
    )


def test_half_a_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    """The reader may look at any moment."""
    journal = Journal(tmp_path, "0")
    reader = Reader(journal)
    journal.events.write_text('["begun", 1.0, {"beg')
    assert not reader.news()

    with journal.events.open("a") as file:
        file.write('un": true}]\n["collect", 2.0, {"nod')
    assert reader.news()
    assert reader.record.begun


def test_a_process_that_a_test_has_forked_writes_nothing(tmp_path: Path) -> None:
    """It may run on into the next test, which belongs to its parent."""
    journal = Journal(tmp_path, "0")
    writer = Writer(journal)
    before = journal.events.read_bytes()
    child = os.fork()
    if child == 0:
        writer.write("begun", begun=True)
        os._exit(0)
    os.waitpid(child, 0)

    assert before == journal.events.read_bytes()


def test_what_cannot_be_written_is_written_as_its_text(tmp_path: Path) -> None:
    """A plugin may put anything on a report."""
    journal = Journal(tmp_path, "0")
    writer, reader = Writer(journal), Reader(journal)
    writer.write("test", nodeid="a.py::test_it")
    writer.write("report", report={"path": tmp_path})
    reader.news()

    assert reader.record.run
    assert [{"path": str(tmp_path)}] == reader.record.run.reports


def test_a_record_knows_what_is_going_on() -> None:
    """The test that runs, or the innermost file that is imported."""
    record = Record()
    assert record.busy is None

    record.add("collect", 1.0, {"nodeid": "katas", "limit": None})
    record.add("collect", 1.0, {"nodeid": "katas/a.py", "limit": None})
    assert "katas/a.py" == record.busy

    record.add("collected", 1.0, {"limit": None})
    record.add("collected", 1.0, {"limit": None})
    record.add("test", 2.0, {"nodeid": "a.py::test_it"})
    assert "a.py::test_it" == record.busy
    assert 2.0 == record.since

    record.add("tested", 3.0, {"phase": None})
    assert record.busy is None
    assert ["a.py::test_it"] == [run.nodeid for run in record.runs]


def test_a_warning_belongs_to_the_test_before_it() -> None:
    """A replayed warning belongs to no test of this process."""
    record = Record()
    record.add("warning", 1.0, {"warning": {"nodeid": "a.py::test_it"}})
    record.add("test", 1.0, {"nodeid": "a.py::test_it"})
    record.add("tested", 1.0, {})
    record.add("warning", 1.0, {"warning": {"nodeid": "a.py::test_it"}})
    record.add("warning", 1.0, {"warning": {"nodeid": "a.py::test_other"}})

    assert [{"nodeid": "a.py::test_it"}] == record.runs[0].warnings
