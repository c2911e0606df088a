"""A rank's process: it follows its server, and finds the others."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from multiprocessing import Pipe
from typing import TYPE_CHECKING

from plugins.ranks.rank import Notes
from plugins.ranks.rank import Request
from plugins.ranks.rank import follow_parent
from plugins.ranks.rank import loopback
from plugins.ranks.traffic import Call
from plugins.ranks.traffic import read_calls


if TYPE_CHECKING:
    from pathlib import Path

    import pytest


STREAMS = """
import sys
from pathlib import Path
from plugins.ranks.rank import redirect_streams

redirect_streams(Path("out"), Path("err"))
print("to out")
print("to err", file=sys.stderr)
print(repr(sys.stdin.read()), flush=True)
import os
os.write(1, b"by descriptor\\n")
"""


def test_the_files_of_a_rank_have_its_number(tmp_path: Path) -> None:
    """All of them are in the folder of the request."""
    journal = Request(b"", 2, (0, 1), "file:", tmp_path, tmp_path).journal(1)

    assert tmp_path / "rank1.events" == journal.events
    assert tmp_path / "rank1.stack" == journal.stack


def test_loopback_is_what_the_system_calls_it() -> None:
    """It has another name on macOS."""
    assert "lo" == loopback([(1, "lo"), (2, "eth0")])
    assert "lo0" == loopback([(1, "en0"), (2, "lo0")])


def test_a_rank_follows_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the system where it can; by a thread elsewhere; at once if it is too late."""
    ours, its = Pipe()
    left: list[int] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())

    follow_parent(os.getppid(), its, left.append)
    ours.close()
    until = time.monotonic() + 60
    while not left and time.monotonic() < until:
        time.sleep(0.01)
    assert [1] == left

    follow_parent(-1, its, left.append)
    assert [1, 1] == left[:2]


def test_a_rank_leaves_when_its_server_is_gone() -> None:
    """Where the system does not see to it, a thread does."""
    script = (
        "from multiprocessing import Pipe\nfrom plugins.ranks.rank import wait_for_end\n"
        "ours, its = Pipe()\nours.close()\nwait_for_end(its, lambda status: print('left', status))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert "left 1\n" == done.stdout


def test_a_rank_writes_to_files_and_reads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """In Python and by descriptor."""
    monkeypatch.setenv("PYTHONPATH", str(pytestconfig.rootpath))
    done = subprocess.run(
        [sys.executable, "-c", STREAMS], cwd=tmp_path, input="typed", text=True, check=True
    )

    assert 0 == done.returncode
    assert "to out\n''\nby descriptor\n" == (tmp_path / "out").read_text()
    assert "to err\n" == (tmp_path / "err").read_text()


def test_a_call_that_cannot_be_written_down_is_made_all_the_same(tmp_path: Path) -> None:
    """Only a test that counts calls is told, and what to do."""
    fine, lost = Notes(tmp_path / "calls"), Notes(tmp_path / "none/calls")
    for notes in (fine, lost):
        notes.add(Call("send", 8, 1))
        notes.add(Call("recv", 8, 0))

    assert [Call("send", 8, 1), Call("recv", 8, 0)] == read_calls(tmp_path / "calls")
    assert "" == fine.lost
    assert lost.lost.startswith("calls could not be written down: ")
    assert "none/calls: No such file or directory. Free some space there" in lost.lost
