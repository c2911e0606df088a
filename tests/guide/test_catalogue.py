"""``episodes.toml``: its content, and the error for a broken one."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.guide.catalogue import Episode
from plugins.guide.catalogue import read_catalogue
from plugins.guide.catalogue import read_episodes
from plugins.guide.catalogue import slugify
from plugins.tools.toml import TomlError


if TYPE_CHECKING:
    from pathlib import Path


ONE = """
[[episode]]
number = 7
slug = "a-title"
guid = "guid-7"
title = "A title"
published = 2023-01-01
seconds = 90
page = "https://radio.example/7"
audio = "https://radio.example/7.mp3"
links = ["https://radio.example/a"]
"""
BY_HAND = """transcript = "episodes/7.md"
apple = 1000
topics = ["strides"]
"""
EPISODE = Episode(
    number=7,
    slug="a-title",
    guid="guid-7",
    title="A title",
    published=dt.date(2023, 1, 1),
    seconds=90,
    page="https://radio.example/7",
    audio="https://radio.example/7.mp3",
    links=("https://radio.example/a",),
)


def write(folder: Path, text: str, name: str = "episodes.toml") -> Path:
    """Write a file of episodes."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_the_podcast_is_whole() -> None:
    """It has the 83 episodes of 2024, at least 64 with a transcript, all with topics."""
    episodes = read_episodes(ROOT / "episodes.toml")

    assert list(range(1, 84)) == [episode.number for episode in episodes][:83]
    assert 64 <= sum(episode.transcript is not None for episode in episodes)
    assert [] == [episode.title for episode in episodes if not 1 <= len(episode.topics) <= 4]
    assert [] == [it.title for it in episodes[:83] if it.slug != slugify(it.title)]
    assert 1000664250427 == episodes[82].apple
    assert "episodes/2021-04-28-Pytorch-Python-Bindings.md" == episodes[0].transcript
    assert "episodes/2021-07-21-Torch-Deterministic.md" == episodes[46].transcript


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("C++ frontend", "c-frontend"),
        ("__torch_function__", "torch-function"),
        ("Inductor - Post-grad FX passes", "inductor-post-grad-fx-passes"),
        ("PyTorch 2.0", "pytorch-2-0"),
        ("日本語", ""),
    ],
)
def test_slugs(title: str, slug: str) -> None:
    """Lower case; each run of other characters than a-z and 0-9 becomes one dash inside."""
    assert slug == slugify(title)


@pytest.mark.parametrize(
    ("seconds", "length"), [(59, "0:59"), (1231, "20:31"), (3599, "59:59"), (3723, "1:02:03")]
)
def test_lengths(seconds: int, length: str) -> None:
    """Hours are shown only from one hour on."""
    episode = Episode(**{**vars(EPISODE), "seconds": seconds})

    assert length == episode.length


def test_what_is_kept_by_hand_may_be_left_out(tmp_path: Path) -> None:
    """It is read where it is given."""
    by_hand = {"transcript": "episodes/7.md", "apple": 1000, "topics": ("strides",)}

    assert (EPISODE,) == read_episodes(write(tmp_path, ONE))
    assert (Episode(**{**vars(EPISODE), **by_hand}),) == read_episodes(
        write(tmp_path, ONE + BY_HAND)
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("number = 7", "", "episode 1: number: expected a whole number above 0, found nothing"),
        ("number = 7", "number = 0", "episode 1: number: expected a whole number above 0, found 0"),
        ("number = 7", "number = true", "episode 1: number: expected a whole number above 0, fou"),
        ("= 90", "= -1", "episode 7: seconds: expected a whole number above 0, found -1"),
        ("= 90", '= "1:30"', "episode 7: seconds: expected a whole number above 0, found '1:30'"),
        ("2023-01-01", '"2023"', "episode 7: published: expected a date such as 2021-05-04, foun"),
        ('"A title"', "1", "episode 7: title: expected a string, found 1"),
        ('"A title"', '"\\u001b[31m"', r"episode 7: title: expected no control characters, foun"),
        ('"guid-7"', '"a\\tb"', r"episode 7: guid: expected no control characters, found 'a\tb'"),
        ('"a-title"', '"A title"', "episode 7: slug: expected a-z, 0-9 and single dashes, found"),
        ('"https://radio.example/7"', '"radio"', "episode 7: page: expected an http or https ad"),
        ('"https://radio.example/7.mp3"', '"file:///a"', "episode 7: audio: expected an http or"),
        ('["https://radio.example/a"]', '"none"', "episode 7: links: expected an array of strin"),
        ("links", "lniks", "episode 7: links: expected an array of strings, found nothing"),
        ("links =", "link = 1\nlinks =", "episode 7: link: expected one of apple, audio, guid, "),
        ("[[episode]]", "[episode]", "episode: expected an array of tables, found {"),
        ("[[episode]]", "[[episodes]]", "episodes: expected one of episode"),
        ("[[episode]]", "[[episode]", "file: expected valid TOML: "),
    ],
)
def test_a_broken_file_is_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    """The line names file, episode, key, what was expected and what was found."""
    file = write(tmp_path, ONE.replace(old, new))
    with pytest.raises(TomlError) as caught:
        read_episodes(file)

    assert str(caught.value).startswith(f"{file}: {message}")
    assert 1 == len(str(caught.value).splitlines())


@pytest.mark.parametrize(
    ("key", "own", "other"),
    [
        ("number", "number = 8", "number = 7"),
        ("slug", '"b"', '"a-title"'),
        ("guid", '"guid-8"', '"guid-7"'),
    ],
)
def test_what_must_be_unique(tmp_path: Path, key: str, own: str, other: str) -> None:
    """Two episodes of one file share neither number nor slug nor guid."""
    second = ONE.replace("= 7", "= 8").replace('"a-title"', '"b"').replace("guid-7", "guid-8")
    assert 2 == len(read_episodes(write(tmp_path, ONE + second)))

    file = write(tmp_path, ONE + second.replace(own, other))
    with pytest.raises(TomlError, match=rf"episode 7: {key}: expected once in the file, found "):
        read_episodes(file)


def test_several_files(tmp_path: Path) -> None:
    """All their episodes are there; for a repeated slug the first file wins, with an error."""
    mine = ONE.replace("A title", "Mine") + ONE.replace("7", "8").replace("a-title", "b")
    first = write(tmp_path, ONE)
    second = write(tmp_path, mine, "mine.toml")
    missing = tmp_path / "none.toml"

    catalogue = read_catalogue([first, missing, second])

    assert {"a-title": "A title", "b": "A title"} == {
        slug: episode.title for slug, episode in catalogue.episodes.items()
    }
    gone = f"[Errno 2] No such file or directory: '{missing}'"
    assert (
        f"{missing}: file: expected a readable UTF-8 file: {gone}",
        f"{second}: episode 7: slug: expected one that no other file has, found 'a-title'",
    ) == catalogue.errors
