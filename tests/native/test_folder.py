"""The folder of builds: where it is, what is wrong with it, and what stays in it."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from plugins.native.folder import build_folder
from plugins.native.folder import prune


if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ask for no folder, and keep temporary files in one that is empty."""
    monkeypatch.delenv("KATAS_BUILD", raising=False)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))


@pytest.mark.usefixtures("no_folder")
def test_builds_are_kept_under_the_root(tmp_path: Path) -> None:
    """They survive the run, and git ignores them."""
    assert (tmp_path / ".katas/build", "") == build_folder(tmp_path)

    assert (tmp_path / ".katas/build").is_dir()


@pytest.mark.usefixtures("no_folder")
def test_katas_build_names_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path counts from where pytest was started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KATAS_BUILD", "here")

    assert (tmp_path / "here", "") == build_folder(tmp_path / "root")


@pytest.mark.usefixtures("no_folder")
def test_a_folder_that_cannot_be_written_to_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one that lasts, with a warning of one line; /proc is read-only even for root."""
    monkeypatch.setenv("KATAS_BUILD", "/proc/katas")

    folder, warning = build_folder(tmp_path)

    other = tmp_path / f"tmp/katas-build-{os.getuid()}"
    assert other == folder
    assert warning.startswith(f"C++ katas are built in {other}: /proc/katas cannot be written to (")


@pytest.mark.usefixtures("no_folder")
def test_without_any_folder_both_reasons_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the folder asked for nor the temporary one can be made."""
    monkeypatch.setenv("KATAS_BUILD", "/proc/katas")
    (tmp_path / f"tmp/katas-build-{os.getuid()}").write_text("")

    with pytest.raises(
        OSError,
        match=r"/proc/katas cannot be written to \(.*, and .* \(File exists\): .*KATAS_BUILD",
    ):
        build_folder(tmp_path)


@pytest.mark.usefixtures("no_folder")
def test_the_folder_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its libraries would run with our rights."""
    monkeypatch.setenv("KATAS_BUILD", "/proc/katas")
    monkeypatch.setattr("os.getuid", lambda: 123456)

    with pytest.raises(OSError, match="belongs to another user"):
        build_folder(tmp_path)


@pytest.mark.usefixtures("no_folder")
def test_a_folder_from_which_nothing_can_be_loaded_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can be written to, but is mounted noexec; if both are, the message says so of both."""
    mounted = [str(tmp_path / "here"), ""]

    def statvfs(folder: Path) -> SimpleNamespace:
        return SimpleNamespace(f_flag=os.ST_NOEXEC if str(folder) in mounted else 0)

    monkeypatch.setenv("KATAS_BUILD", mounted[0])
    monkeypatch.setattr(os, "statvfs", statvfs)

    other, warning = build_folder(tmp_path)

    assert tmp_path / f"tmp/katas-build-{os.getuid()}" == other
    assert f"built in {other}: {mounted[0]} is mounted noexec, so nothing" in warning
    mounted[1] = str(other)
    with pytest.raises(OSError, match=r"here is mounted noexec.*0 is mounted noexec.*KATAS_BUILD"):
        build_folder(tmp_path)


def test_the_libraries_used_last_are_kept(tmp_path: Path) -> None:
    """As many as there is room for; the errors of a source take room too."""
    now = time.time()
    for age, name in enumerate(("d.so", "b.failed", "c.so", "a.so")):
        (tmp_path / name).write_bytes(b"x" * 1000)
        os.utime(tmp_path / name, (now - age, now - age))
    (tmp_path / "lock").write_bytes(b"x" * 5000)

    prune(tmp_path, megabytes=0.002)

    assert ["b.failed", "d.so", "lock"] == sorted(file.name for file in tmp_path.iterdir())


def test_headers_that_are_no_longer_used_are_removed(tmp_path: Path) -> None:
    """Those of an older torch, but none that are being compiled."""
    for name, days in (("old", 40), ("new", 20)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ready").write_text("tier")
        then = time.time() - days * 86400
        os.utime(tmp_path / name / "ready", (then, then))
    (tmp_path / "unfinished").mkdir()

    prune(tmp_path)

    assert ["new", "unfinished"] == sorted(file.name for file in tmp_path.iterdir())


def test_two_processes_may_prune_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that the other has removed is no error."""
    monkeypatch.setattr("pathlib.Path.glob", lambda self, _pattern: [self / "gone"])

    prune(tmp_path)
