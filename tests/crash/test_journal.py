"""The journal that one process writes and another reads."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from typing import TYPE_CHECKING

import pytest

from plugins.crash.journal import Journal
from plugins.crash.journal import Reader
from plugins.crash.journal import Record
from plugins.crash.journal import Writer
from plugins.crash.journal import has_room
from plugins.crash.journal import new_folder


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


FULL = os.strerror(errno.ENOSPC)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that sets how many bytes the disk still takes, beside what it frees."""
    write, truncate = os.write, os.ftruncate
    room = [1 << 30]

    def write_while_there_is_room(file: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, FULL)
        taken = write(file, data[: room[0]])
        room[0] -= taken
        return taken

    def truncate_and_free(file: int, size: int) -> None:
        room[0] += os.fstat(file).st_size - size
        truncate(file, size)

    def set_room(size: int) -> None:
        room[0] = size

    monkeypatch.setattr(os, "write", write_while_there_is_room)
    monkeypatch.setattr(os, "ftruncate", truncate_and_free)
    return set_room


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


@pytest.mark.parametrize("read", [True, False])
@pytest.mark.parametrize("room", [0, 1, 40])
def test_a_journal_that_cannot_be_written_is_given_up(
    tmp_path: Path, disk: Callable[[int], None], room: int, *, read: bool
) -> None:
    """Its reader learns why, of no test any more, and how the session ends all the same."""
    journal = Journal(tmp_path, "0")
    writer, reader = Writer(journal), Reader(journal)
    writer.write("begun", begun=True)
    # A disk has more room for the line that says why than the folder's name is long.
    writer.write("test", nodeid="a.py::test_it", place=f"lecture01/k01_first on {'c' * 999}")
    writer.write("phase", phase="call", limit=60)
    if read:
        reader.news()
        assert ("a.py::test_it", "") == (reader.record.busy, reader.record.lost)

    disk(room)
    writer.write("tested", phase=None, limit=None, text="x" * 100)
    writer.write("test", nodeid="a.py::test_other")
    reader.news()
    assert f"{tmp_path}: {FULL}" == writer.lost == reader.record.lost
    assert (None, None, True) == (reader.record.busy, reader.record.limit, reader.record.begun)
    assert not reader.news()

    writer.write("finished", status=1)
    reader.news()
    assert (writer.lost, 1) == (reader.record.lost, reader.record.status)


def test_a_journal_without_room_for_the_reason(
    tmp_path: Path, disk: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reader still learns that it is given up, and how the session ends."""
    journal = Journal(tmp_path, "0")
    writer, reader = Writer(journal), Reader(journal)
    reader.news()

    disk(9)
    monkeypatch.setattr(os, "ftruncate", os.truncate)  # others take what it frees
    writer.write("test", nodeid="a.py::test_it")
    reader.news()
    assert (None, "emptied") == (reader.record.busy, reader.record.lost)
    disk(99)
    writer.write("finished", status=1)
    reader.news()
    assert 1 == reader.record.status


def test_a_journal_that_is_full_from_the_start(tmp_path: Path, disk: Callable[[int], None]) -> None:
    """It stays empty; what ends the session can be written as soon as there is room."""
    disk(0)
    journal = Journal(tmp_path, "0")
    writer, reader = Writer(journal), Reader(journal)

    assert not reader.news()
    assert (f"{tmp_path}: {FULL}", "") == (writer.lost, reader.record.lost)

    disk(1000)
    writer.write("finished", status=0)
    reader.news()
    assert 0 == reader.record.status


def test_a_journal_that_was_emptied_is_given_up(tmp_path: Path) -> None:
    """By its writer, for which others left no room, or by somebody else."""
    journal = Journal(tmp_path, "0")
    writer, reader = Writer(journal), Reader(journal)
    writer.write("test", nodeid="a.py::test_it", limit=60)
    reader.news()
    os.truncate(journal.events, 0)

    assert not reader.news()
    assert (None, None, "emptied") == (
        reader.record.busy,
        reader.record.limit,
        reader.record.lost,
    )


def test_a_disk_that_is_nearly_full_takes_a_line_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is lost."""
    journal = Journal(tmp_path, "0")
    writer, reader = Writer(journal), Reader(journal)
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:3]))

    writer.write("test", nodeid="a.py::test_it")
    reader.news()
    assert "a.py::test_it" == reader.record.busy


def test_a_journal_that_is_removed_goes_on(tmp_path: Path) -> None:
    """Both processes have opened it, and its output too, if they share it."""
    journal = Journal(tmp_path / "folder", "0")
    journal.folder.mkdir()
    journal.share()
    writer, reader = Writer(journal), Reader(journal)
    shutil.rmtree(journal.folder)
    files = (journal.stack, journal.out, journal.err)
    for file in files:
        os.write(journal.open(file), f"to {file.suffix}\xff".encode("latin-1"))
    writer.write("begun", begun=True)
    reader.news()
    assert reader.record.begun

    assert ["to .stack\ufffd", "to .out\ufffd", "to .err\ufffd"] == list(map(journal.text, files))
    journal.close()
    assert ["", "", ""] == list(map(journal.text, files))


def test_what_is_short_needs_no_disk(tmp_path: Path) -> None:
    """Nor does the output where the disk has no room: Linux keeps files in memory."""
    full = Journal(tmp_path / "none", "0")
    full.share()
    assert "" == Writer(full).lost
    os.write(full.open(full.out), b"printed")
    assert "printed" == full.text(full.out)
    fine = Journal(tmp_path, "0")
    fine.share()

    assert {"0.out", "0.err"} == {file.name for file in tmp_path.iterdir()}
    full.close()
    fine.close()


def test_without_files_in_memory_all_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS; who cannot open one goes on without it."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    files = Journal(tmp_path, "0")
    files.share()
    files.close()
    assert {"0.events", "0.stack", "0.out", "0.err"} == {file.name for file in tmp_path.iterdir()}

    nowhere = Journal(tmp_path / "none", "0")
    nowhere.share()
    writer, reader = Writer(nowhere), Reader(nowhere)
    writer.write("finished", status=0)
    assert not reader.news()
    assert f"{tmp_path}/none: No such file or directory" == writer.lost == reader.record.lost
    with pytest.raises(FileNotFoundError):
        nowhere.open(nowhere.out)


def test_a_folder_that_cannot_be_made_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens a file in it learns so."""

    def refuse(**_: object) -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    made = new_folder()
    monkeypatch.setattr(tempfile, "mkdtemp", refuse)

    assert made.is_dir()
    assert not new_folder().exists()
    made.rmdir()


def test_a_disk_without_room_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as the system says; a folder that is gone has none."""
    assert has_room(tmp_path)
    assert not has_room(tmp_path / "none")

    full = os.statvfs_result([4096, 4096, 16, 16, 2, 9, 9, 9, 0, 255])
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    assert not has_room(tmp_path)
