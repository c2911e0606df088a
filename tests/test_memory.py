"""The files of the memory: read and written whole, by any number of processes at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from plugins.layout import Kata
from plugins.memory import file_of
from plugins.memory import recall
from plugins.memory import update
from plugins.standing import Standing


KATA = Kata("lecture01", "k01_first", "T", "lab", (), (), (), (), (), (), (), Path("lecture01"))
WRITERS = 4
TIMES = 25


def one_more(standing: Standing) -> Standing:
    """Return a standing with one second more."""
    return replace(standing, seconds=standing.seconds + 1)


def write_often(root: Path, times: int) -> None:
    """Add a second so many times."""
    for _ in range(times):
        update(root, KATA, one_more)


def test_what_was_written_is_recalled(tmp_path: Path) -> None:
    """And before that nothing."""
    assert Standing() == recall(tmp_path, KATA)
    update(tmp_path, KATA, one_more)

    assert Standing(seconds=1.0) == recall(tmp_path, KATA)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"version": 99}', b"\xff\xfe", b"null"])
def test_a_damaged_file_is_forgotten(tmp_path: Path, damage: bytes) -> None:
    """It costs the learner what it held, and no more."""
    update(tmp_path, KATA, one_more)
    file_of(tmp_path, KATA).write_bytes(damage)

    assert Standing() == recall(tmp_path, KATA)
    update(tmp_path, KATA, one_more)
    assert Standing(seconds=1.0) == recall(tmp_path, KATA)


def test_a_read_only_checkout_remembers_nothing(tmp_path: Path) -> None:
    """And does not complain: a file stands where the folder should."""
    (tmp_path / ".katas").write_text("")
    update(tmp_path, KATA, one_more)

    assert Standing() == recall(tmp_path, KATA)


def test_no_update_is_lost_between_processes(tmp_path: Path) -> None:
    """Two terminals, or more, write at the same time."""
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_often, args=(tmp_path, TIMES)) for _ in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert WRITERS * TIMES == recall(tmp_path, KATA).seconds


def test_a_killed_writer_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    """Never a part, and never a lock that somebody waits for."""
    update(tmp_path, KATA, one_more)
    context = multiprocessing.get_context("spawn")
    for _ in range(3):
        writer = context.Process(target=write_often, args=(tmp_path, 100_000))
        writer.start()
        before = recall(tmp_path, KATA).seconds
        while recall(tmp_path, KATA).seconds == before:
            time.sleep(0.001)
        assert writer.pid
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        assert recall(tmp_path, KATA).seconds > before
        update(tmp_path, KATA, one_more)
