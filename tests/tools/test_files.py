"""A file is replaced whole or not at all."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plugins.wholefile import write_whole


ROOT = Path(__file__).parents[1]
SIZE = 1 << 20
FOREVER = """
import itertools, pathlib, sys
from plugins.wholefile import write_whole
for letter in itertools.cycle(b"ab"):
    write_whole(pathlib.Path(sys.argv[1]), bytes([letter]) * int(sys.argv[2]))
    print("written", flush=True)
"""


def test_a_killed_process_leaves_a_whole_file(tmp_path: Path) -> None:
    """Whenever SIGKILL comes, the file is the old one or the new one."""
    moments = random.Random(0)  # noqa: S311 - no secret
    file = tmp_path / "file"
    write_whole(file, b"a" * SIZE)
    # Whoever measures coverage would be left half-written files by processes that are killed.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    pipe = subprocess.PIPE
    for _ in range(15):
        command = [sys.executable, "-c", FOREVER, str(file), str(SIZE)]
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe) as process:
            assert process.stdout is not None
            # It is not being started any more, and is in the middle of a further write.
            for _ in range(moments.randint(1, 3)):
                assert b"written\n" == process.stdout.readline()
            time.sleep(moments.uniform(0, 0.03))
            os.kill(process.pid, signal.SIGKILL)
        assert file.read_bytes() in {b"a" * SIZE, b"b" * SIZE}

    # Beside the file lies nothing that git would see.
    assert {"file", ".katas"} == {path.name for path in tmp_path.iterdir()}


def test_permissions_stay(tmp_path: Path) -> None:
    """A file that others may read can still be read by them, and a new one is an ordinary one."""
    file = tmp_path / "file"
    write_whole(file, b"one")
    assert 0o600 == file.stat().st_mode & 0o600
    file.chmod(0o640)
    write_whole(file, b"two")

    assert (b"two", 0o640) == (file.read_bytes(), file.stat().st_mode & 0o777)
    assert [] == list((tmp_path / ".katas").iterdir())


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What it points to is replaced."""
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "folder/file")
    write_whole(link, b"text")

    assert link.is_symlink()
    assert b"text" == (tmp_path / "folder/file").read_bytes()


def test_a_failure_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old file stays, and the half-written one goes."""
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left"):
        write_whole(file, b"new")

    assert b"old" == file.read_bytes()
    assert [] == list((tmp_path / ".katas").iterdir())
