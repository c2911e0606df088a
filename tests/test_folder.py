"""Where builds go, and which of them go away."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from plugins.folder import build_folder
from plugins.folder import prune


if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is asked for, and the folder for temporary files is empty."""
    monkeypatch.delenv("KATAS_BUILD", raising=False)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))


def test_builds_are_kept_under_the_root(tmp_path: Path) -> None:
    """They survive the run, and git ignores them."""
    assert (tmp_path / ".katas/build", "") == build_folder(tmp_path)

    assert (tmp_path / ".katas/build").is_dir()


def test_katas_build_names_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path counts from where pytest was started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KATAS_BUILD", "here")

    assert (tmp_path / "here", "") == build_folder(tmp_path / "root")


def test_a_folder_that_cannot_be_written_to_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one that lasts, too; /proc is read-only even for root. One line says so."""
    monkeypatch.setenv("KATAS_BUILD", "/proc/katas")

    folder, warning = build_folder(tmp_path)

    other = tmp_path / f"tmp/katas-build-{os.getuid()}"
    assert other == folder
    assert warning.startswith(f"C++ katas are built in {other}: /proc/katas cannot be written to (")


def test_without_any_folder_both_reasons_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in the place of each of them."""
    monkeypatch.setenv("KATAS_BUILD", "/proc/katas")
    (tmp_path / f"tmp/katas-build-{os.getuid()}").write_text("")

    with pytest.raises(
        OSError, match=r"neither /proc/katas \(.*\) nor .* \(File exists\) can hold"
    ):
        build_folder(tmp_path)


def test_the_folder_of_somebody_else_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its libraries would run with our rights."""
    monkeypatch.setenv("KATAS_BUILD", "/proc/katas")
    monkeypatch.setattr("os.getuid", lambda: 123456)

    with pytest.raises(OSError, match="it belongs to somebody else"):
        build_folder(tmp_path)


def test_the_libraries_used_last_are_kept(tmp_path: Path) -> None:
    """As many as there is room for; that a source does not compile takes room too."""
    now = time.time()
    for age, name in enumerate(("d.so", "b.failed", "c.so", "a.so")):
        (tmp_path / name).write_bytes(b"x" * 1000)
        os.utime(tmp_path / name, (now - age, now - age))
    (tmp_path / "lock").write_bytes(b"x" * 5000)

    prune(tmp_path, megabytes=0.002)

    assert ["b.failed", "d.so", "lock", "tmp"] == sorted(file.name for file in tmp_path.iterdir())


def test_headers_that_nobody_uses_any_more_are_removed(tmp_path: Path) -> None:
    """Those of an older torch; not those that are being compiled."""
    for name, days in (("old", 40), ("new", 20)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ready").write_text("tier")
        then = time.time() - days * 86400
        os.utime(tmp_path / name / "ready", (then, then))
    (tmp_path / "unfinished").mkdir()

    prune(tmp_path)

    assert ["new", "tmp", "unfinished"] == sorted(file.name for file in tmp_path.iterdir())


def test_two_processes_may_prune_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other has removed is no error."""
    monkeypatch.setattr("pathlib.Path.glob", lambda self, _pattern: [self / "gone"])

    prune(tmp_path)
