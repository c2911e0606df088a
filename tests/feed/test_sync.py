"""A sync changes the keys that the feed decides, and nothing kept by hand."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from plugins.feed.podcast import FeedEntry
from plugins.feed.podcast import FeedError
from plugins.feed.podcast import PassedOver
from plugins.feed.podcast import Podcast
from plugins.feed.sync import HEADER
from plugins.feed.sync import Sync
from plugins.feed.sync import merge_feed
from plugins.guide.catalogue import read_episodes
from plugins.tools.toml import TomlError


if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


FIRST = FeedEntry(
    number=1,
    guid="guid-1",
    title="First",
    published=dt.date(2023, 1, 1),
    seconds=600,
    page="https://radio.example/1",
    audio="https://radio.example/1.mp3",
    links=("https://radio.example/a", "https://radio.example/b"),
)
SECOND = FeedEntry(
    number=2,
    guid="guid-2",
    title='The "second" \\ one',
    published=dt.date(2023, 1, 2),
    seconds=754,
    page="https://radio.example/2",
    audio="https://radio.example/2.mp3",
    links=(),
)
BOTH = """
[[episode]]
number = 1
slug = "first"
guid = "guid-1"
title = "First"
published = 2023-01-01
seconds = 600
page = "https://radio.example/1"
audio = "https://radio.example/1.mp3"
links = [
  "https://radio.example/a",
  "https://radio.example/b",
]

[[episode]]
number = 2
slug = "the-second-one"
guid = "guid-2"
title = "The \\"second\\" \\\\ one"
published = 2023-01-02
seconds = 754
page = "https://radio.example/2"
audio = "https://radio.example/2.mp3"
links = []
"""
# Another order, other spaces, comments everywhere, and the three keys of people.
EDITED = """# mine
[[episode]]
topics   = ["strides"] # why not
slug = "my-slug"
number = 1 # the first of all
guid = "guid-1"
title = 'First'
published = 2023-01-01
seconds = 6_00
page = "https://radio.example/1"
audio = "https://radio.example/1.mp3"
links = ["https://radio.example/a", "https://radio.example/b"]
apple = 1000

# what comes second
[[episode]]
transcript = "episodes/2.md"
number = 2
slug = "the-second-one"
guid = "guid-2"
title = '''The "second" \\ one'''
published = 2023-01-02
seconds = 754
page = "https://radio.example/2"
audio = "https://radio.example/2.mp3"
links = []


# the end"""


def merge(file: Path, entries: Iterable[FeedEntry], *passed_over: PassedOver) -> Sync:
    """Merge a feed of these entries."""
    return merge_feed(file, Podcast(tuple(entries), passed_over))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the path of a file that does not exist yet."""
    return tmp_path / "episodes.toml"


def test_a_new_file(file: Path) -> None:
    """Its header says what survives a sync; a table for each episode follows, in feed order."""
    sync = merge(file, [FIRST, SECOND])

    assert ("", HEADER + BOTH) == (sync.before, sync.after)
    assert ("added 1: First", 'added 2: The "second" \\ one') == sync.added
    assert ((), ()) == (sync.changed, sync.gone)
    assert not file.exists()


def test_an_empty_file_is_a_new_one(file: Path) -> None:
    """It gets the header and the episodes."""
    file.write_text("")

    assert HEADER + BOTH == merge(file, [FIRST, SECOND]).after


@pytest.mark.parametrize("text", [HEADER + BOTH, EDITED])
def test_again_is_no_change(file: Path, text: str) -> None:
    """No byte changes, whether the file was written by a sync or by hand."""
    file.write_text(text)
    sync = merge(file, [FIRST, SECOND])

    assert text == sync.before
    assert text == sync.after
    assert ((), (), ()) == (sync.added, sync.changed, sync.gone)


def test_what_is_kept_by_hand_survives(file: Path) -> None:
    """Slug, topics, transcript, Apple's number, comments and layout, whatever the feed changes."""
    file.write_text(EDITED)
    changes = {
        "number": 9,
        "title": "A new title",
        "published": dt.date(2022, 12, 31),
        "seconds": 601,
        "page": "https://radio.example/9",
        "audio": "https://radio.example/9.mp3",
        "links": ("https://radio.example/c",),
    }
    sync = merge(file, [replace(FIRST, **changes), SECOND])  # type: ignore[arg-type]

    expected = EDITED
    for old, new in {
        "number = 1 #": "number = 9 #",
        "title = 'First'": 'title = "A new title"',
        "published = 2023-01-01": "published = 2022-12-31",
        "6_00": "601",
        "https://radio.example/1": "https://radio.example/9",
        '["https://radio.example/a", "https://radio.example/b"]': (
            '[\n  "https://radio.example/c",\n]'
        ),
    }.items():
        expected = expected.replace(old, new)
    assert expected == sync.after
    assert ("changed 9: number, title, published, seconds, page, audio, links",) == sync.changed
    file.write_text(sync.after)
    first, second = read_episodes(file)
    assert ("my-slug", ("strides",), 1000) == (first.slug, first.topics, first.apple)
    assert "episodes/2.md" == second.transcript


def test_an_episode_that_the_feed_no_longer_has_stays(file: Path) -> None:
    """It is reported, and the file is unchanged."""
    file.write_text(EDITED)
    sync = merge(file, [SECOND])

    assert EDITED == sync.after
    assert ("kept 1: First (gone from the feed)",) == sync.gone


def test_a_new_episode_stands_at_the_end(file: Path) -> None:
    """After the last comment too; the next sync changes nothing."""
    file.write_text(EDITED)
    third = replace(SECOND, number=3, guid="guid-3", title="Third")
    sync = merge(file, [FIRST, SECOND, third])

    assert sync.after.startswith(EDITED + '\n\n[[episode]]\nnumber = 3\nslug = "third"\n')
    assert sync.after.endswith("links = []\n")
    assert ("added 3: Third",) == sync.added
    file.write_text(sync.after)
    assert sync.after == merge(file, [FIRST, SECOND, third]).after


def test_a_feed_without_numbers(file: Path) -> None:
    """Known episodes keep theirs; new ones continue after the highest, in feed order."""
    file.write_text(EDITED.replace("number = 2", "number = 5"))
    entries = [
        replace(FIRST, number=None),
        replace(SECOND, number=None),
        replace(FIRST, number=None, guid="guid-3", title="Third"),
        replace(FIRST, number=8, guid="guid-8", title="Eighth"),
        replace(FIRST, number=None, guid="guid-4", title="Fourth"),
    ]
    sync = merge(file, entries)

    assert () == sync.changed
    assert ("added 9: Third", "added 8: Eighth", "added 10: Fourth") == sync.added


def test_a_first_feed_without_numbers(file: Path) -> None:
    """Numbers begin at one."""
    sync = merge(file, [replace(FIRST, number=None)])

    assert ("added 1: First",) == sync.added


def test_equal_titles_get_unequal_slugs(file: Path) -> None:
    """The number is appended; a title without letters becomes "episode"."""
    entries = [
        FIRST,
        replace(FIRST, number=2, guid="guid-2"),
        replace(FIRST, number=3, guid="guid-3", title="First 4"),
        replace(FIRST, number=4, guid="guid-4"),
        replace(FIRST, number=5, guid="guid-5", title="日本語"),
        replace(FIRST, number=6, guid="guid-6", title="???"),
    ]
    file.write_text(merge(file, entries).after)

    slugs = [episode.slug for episode in read_episodes(file)]
    assert ["first", "first-2", "first-4", "first-4-4", "episode", "episode-6"] == slugs


def test_a_number_of_another_episode(file: Path) -> None:
    """A new guid for a known number is passed over, by a line that names both."""
    file.write_text(EDITED)
    sync = merge(file, [replace(FIRST, guid="guid-new", title="First, anew"), SECOND])

    assert EDITED == sync.after
    (line,) = sync.passed_over
    assert line == (
        "number 1: expected one episode, found 'First' (guid guid-1) and 'First, anew' "
        "(guid guid-new); if they are the same, write the feed's guid into the file"
    )


def test_a_known_episode_with_the_number_of_another_keeps_its_own(file: Path) -> None:
    """Whether the feed has the other, without a number, or no longer; new ones are added."""
    file.write_text(EDITED)
    third = replace(FIRST, number=3, guid="guid-3", title="Third")
    second = replace(SECOND, number=1)
    for others in ([replace(FIRST, number=None)], []):
        sync = merge(file, [*others, second, third])

        assert (("added 3: Third",), ()) == (sync.added, sync.changed)
        assert ["number 1: expected one episode, found 'First' (guid guid-1) and 'The"] == [
            line[: line.index(' "')] for line in sync.passed_over
        ]


def test_a_feed_of_which_each_entry_contradicts_the_file_is_an_error(file: Path) -> None:
    """All guids have changed, as when a podcast moves: that is for a person to decide."""
    file.write_text(EDITED)
    with pytest.raises(
        FeedError, match=r"^number 1: expected one episode, found 'First' \(guid gu"
    ):
        merge(file, [replace(FIRST, guid="a"), replace(SECOND, guid="b")])


def test_an_item_that_was_passed_over_is_not_gone(file: Path) -> None:
    """The feed still has it: its episode stays as it is, and its line says why."""
    file.write_text(EDITED)
    sync = merge(file, [SECOND], PassedOver("guid-1", "item 1: no duration"))

    assert (EDITED, ()) == (sync.after, sync.gone)
    assert ("item 1: no duration",) == sync.passed_over


def test_numbers_may_be_swapped(file: Path) -> None:
    """Two known episodes may trade numbers."""
    file.write_text(EDITED)
    sync = merge(file, [replace(FIRST, number=2), replace(SECOND, number=1)])

    assert ("changed 2: number", "changed 1: number") == sync.changed


@pytest.mark.parametrize("text", [b"[[episode]", b"[[episode]]\nnumber = 1\n", b"# \xff"])
def test_a_broken_file_is_not_touched(file: Path, text: bytes) -> None:
    """It is a TomlError that names the file."""
    file.write_bytes(text)
    with pytest.raises(TomlError, match=r"episodes\.toml: "):
        merge(file, [FIRST, SECOND])


def test_line_ends_stay(file: Path) -> None:
    """A file with Windows line ends is no difference."""
    file.write_bytes(EDITED.replace("\n", "\r\n").encode())

    assert file.read_bytes() == merge(file, [FIRST, SECOND]).after.encode()
