"""A file is replaced whole or not at all, and copies replace nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.tools.files import describe_os_error
from plugins.tools.files import keep_copy
from plugins.tools.files import read_if_there
from plugins.tools.files import read_text_if_there
from plugins.tools.files import state_folder
from plugins.tools.files import why_nothing_is_kept
from plugins.tools.files import write_whole


if TYPE_CHECKING:
    from pathlib import Path


SIZE = 1 << 20
FOREVER = """
import itertools, pathlib, sys
from plugins.tools.files import write_whole
for letter in itertools.cycle(b"ab"):
    write_whole(pathlib.Path(sys.argv[1]), bytes([letter]) * int(sys.argv[2]))
    print("written", flush=True)
"""


def test_a_killed_process_leaves_a_whole_file(tmp_path: Path) -> None:
    """Whenever SIGKILL comes, the file is the old one or the new one."""
    moments = random.Random(0)  # noqa: S311 - no secret
    file = tmp_path / "file"
    write_whole(file, b"a" * SIZE)
    # A killed process would leave a half-written file of coverage data.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    pipe = subprocess.PIPE
    for _ in range(15):
        command = [sys.executable, "-c", FOREVER, str(file), str(SIZE)]
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe) as process:
            assert process.stdout is not None
            # It has started, and is in the middle of another write.
            for _ in range(moments.randint(1, 3)):
                assert b"written\n" == process.stdout.readline()
            time.sleep(moments.uniform(0, 0.03))
            os.kill(process.pid, signal.SIGKILL)
        assert file.read_bytes() in {b"a" * SIZE, b"b" * SIZE}

    # Git ignores the folder with the half-written copies.
    assert {"file", ".katas"} == {path.name for path in tmp_path.iterdir()}


def test_permissions_stay(tmp_path: Path) -> None:
    """A file keeps its mode, and a new one gets the usual mode."""
    file = tmp_path / "file"
    write_whole(file, b"one")
    assert 0o600 == file.stat().st_mode & 0o600
    file.chmod(0o640)
    write_whole(file, b"two")

    assert (b"two", 0o640) == (file.read_bytes(), file.stat().st_mode & 0o777)
    assert [] == list((tmp_path / ".katas").iterdir())


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """The file that it points to is replaced."""
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "folder/file")
    write_whole(link, b"text")

    assert link.is_symlink()
    assert b"text" == (tmp_path / "folder/file").read_bytes()


def test_a_failure_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old file stays, and the half-written one is removed."""
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left"):
        write_whole(file, b"new")

    assert b"old" == file.read_bytes()
    assert [] == list((tmp_path / ".katas").iterdir())


def test_the_half_written_copy_can_lie_elsewhere(tmp_path: Path) -> None:
    """In a folder on the same file system, which is made if it is missing."""
    file, folder = tmp_path / "katas/file", tmp_path / "folder"
    file.parent.mkdir()
    write_whole(file, b"text", folder)

    assert [file] == list(file.parent.iterdir())
    assert [] == list(folder.iterdir())


def test_a_folder_need_not_exist_for_what_is_remembered(tmp_path: Path) -> None:
    """It is the same for the root of the course and for the folder of a file."""
    assert tmp_path / ".katas" == state_folder(tmp_path)
    assert [] == list(tmp_path.iterdir())


def test_a_file_may_be_missing(tmp_path: Path) -> None:
    """A text without it is empty; its bytes are None, since an empty file is another thing."""
    file = tmp_path / "file"
    assert (None, "") == (read_if_there(file), read_text_if_there(file))

    file.write_bytes(b"gr\xc3\xb6\xff")
    assert (b"gr\xc3\xb6\xff", "grö\ufffd") == (read_if_there(file), read_text_if_there(file))
    assert read_if_there(tmp_path) is None


def test_a_copy_never_takes_the_place_of_another(tmp_path: Path) -> None:
    """Even if both are made in the same second."""
    now = datetime(2026, 11, 22, 12, 30, tzinfo=UTC)
    names = [keep_copy(tmp_path, "a/b.py", text, now) for text in (b"1", b"2", b"3")]

    assert names == [
        ".katas/backup/2026-11-22_12-30-00/a/b.py",
        ".katas/backup/2026-11-22_12-30-00_2/a/b.py",
        ".katas/backup/2026-11-22_12-30-00_3/a/b.py",
    ]
    assert [b"1", b"2", b"3"] == [(tmp_path / name).read_bytes() for name in names]


def test_why_nothing_is_kept(tmp_path: Path) -> None:
    """Nothing is left of the trial, and the system's words are in the answer."""
    assert "" == why_nothing_is_kept(tmp_path)
    assert [] == [*(tmp_path / ".katas").iterdir()]
    (tmp_path / ".katas").rmdir()
    (tmp_path / ".katas").touch()

    assert ".katas cannot be written (File exists)" == why_nothing_is_kept(tmp_path)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(1, "Not allowed", "a"), "a: Not allowed"),
        (OSError(1, "Not allowed", "a", None, "b"), "b: Not allowed"),
        (OSError("no more to say"), "no more to say"),
    ],
)
def test_the_system_refuses_a_file(error: OSError, text: str) -> None:
    """Of two files it is the one that would have been replaced."""
    assert text == describe_os_error(error)
