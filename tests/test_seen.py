"""Which version of a feed a file is equal to is remembered, as long as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.seen import remember_version
from plugins.seen import version_seen


if TYPE_CHECKING:
    from pathlib import Path


FEED = "https://radio.example/feed"
VERSION = {"ETag": '"one"', "Last-Modified": "yesterday"}


def test_a_version_is_remembered(tmp_path: Path) -> None:
    """For its source, beside what is remembered of others."""
    file = tmp_path / "episodes.toml"
    file.write_text("one")
    remember_version(FEED, file, VERSION)
    remember_version("https://other.example", file, {})

    assert VERSION == version_seen(FEED, file)
    assert {} == version_seen("https://other.example", file)
    assert {} == version_seen("https://unknown.example", file)


def test_an_edited_file_wants_the_feed_again(tmp_path: Path) -> None:
    """Also one that is gone; restored, it is the one that was remembered."""
    file = tmp_path / "episodes.toml"
    file.write_text("one")
    remember_version(FEED, file, VERSION)
    file.write_text("two")
    assert {} == version_seen(FEED, file)
    file.unlink()
    assert {} == version_seen(FEED, file)
    file.write_text("one")

    assert VERSION == version_seen(FEED, file)


@pytest.mark.parametrize(
    "damage", [b"", b"[]", b"\xff", b'{"https://radio.example/feed": 1}', b'{"https://radio.']
)
def test_a_damaged_memory_is_none(tmp_path: Path, damage: bytes) -> None:
    """The feed is read once more, and remembered."""
    file = tmp_path / "episodes.toml"
    (tmp_path / ".katas").mkdir()
    (tmp_path / ".katas/feed.json").write_bytes(damage)
    assert {} == version_seen(FEED, file)
    remember_version(FEED, file, VERSION)

    assert VERSION == version_seen(FEED, file)


def test_a_value_of_another_kind_is_left_out(tmp_path: Path) -> None:
    """Headers are strings."""
    file = tmp_path / "episodes.toml"
    memory = tmp_path / ".katas/feed.json"
    remember_version(FEED, file, VERSION)
    memory.write_text(memory.read_text().replace('"yesterday"', "7"))

    assert {"ETag": '"one"'} == version_seen(FEED, file)


def test_a_memory_that_cannot_be_written(tmp_path: Path) -> None:
    """It is no error to forget."""
    (tmp_path / ".katas").write_text("in the way")
    remember_version(FEED, tmp_path / "episodes.toml", VERSION)

    assert {} == version_seen(FEED, tmp_path / "episodes.toml")
