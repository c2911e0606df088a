"""The reading of a failure: short, in order, within 80 columns; and links in terminals."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from plugins.course.model import EpisodeRef
from plugins.course.model import Kata
from plugins.course.model import Upstream
from plugins.guide.catalogue import Catalogue
from plugins.guide.catalogue import Episode
from plugins.guide.reading import Pointer
from plugins.guide.reading import Reading
from plugins.guide.reading import format_brief
from plugins.guide.reading import format_link
from plugins.guide.reading import format_reading
from plugins.guide.reading import junit_properties
from plugins.guide.reading import knows_links
from plugins.guide.reading import reading_of
from plugins.guide.reading import tag_of


WHY = "why this episode explains the kata, in words that need more than one line of a terminal"
ROOT = "https://github.com/pytorch/pytorch/blob/v2.13.0"
READING = Reading(
    "lecture02/k01_strides",
    "Sizes and strides",
    (
        Pointer("c10/core/Contiguity.h: _compute_contiguous", f"{ROOT}/c10/core/Contiguity.h"),
        Pointer("c10/core/TensorImpl.h: TensorImpl", f"{ROOT}/c10/core/TensorImpl.h"),
    ),
    (
        Pointer("#62 Strides, 20:31", "https://radio.example/62", "why it fits"),
        Pointer("#45 Memory layout, 16:26", "https://radio.example/45", WHY),
    ),
    "pytest katas/lecture02/test_k01_strides.py --hint",
)


def test_an_answer_to_an_earlier_edition_comes_first() -> None:
    """With its path and what it is, in the width of a terminal."""
    path = "katas/lecture02/csrc/k04_a_rather_long_name_of_a_kata.cpp"
    lines = format_reading(replace(READING, earlier=("katas/lecture02/k04_x.py", path)), links=True)

    assert lines[:3] == [
        "yours   katas/lecture02/k04_x.py: your answer to the kata that this was made of",
        f"        {path}: your answer",
        "        to the kata that this was made of",
    ]
    assert max(map(len, lines[:3])) <= 80
    assert lines[3:] == format_reading(READING, links=True)


@pytest.mark.parametrize(
    ("version", "tag"),
    [
        ("2.13.0", "v2.13.0"),
        ("2.13.0+cpu", "v2.13.0"),
        ("2.13.0+cu130", "v2.13.0"),
        ("2.13.0.post1", "v2.13.0"),
        ("2.14.0rc3", "v2.14.0-rc3"),
        ("2.14.0rc3+cpu", "v2.14.0-rc3"),
        ("2.15.0.dev20261101+cpu", "main"),
        ("2.15.0a0+git1b2c3d4", "main"),
        ("2.15", "main"),
        ("whatever", "main"),
        (None, "main"),
    ],
)
def test_tags(version: str | None, tag: str) -> None:
    """A release has its own tag; everything else means ``main``."""
    assert tag == tag_of(version)


def test_what_a_kata_points_to() -> None:
    """The upstream sources at the tag, and the known episodes with the reason for each."""
    refs = [EpisodeRef("strides", "why it fits"), EpisodeRef("unknown", "never mind")]
    upstream = (Upstream("c10/core/Contiguity.h", "_compute_contiguous"),)
    kata = Kata(
        "lecture02", "k01_strides", "Sizes and strides", "lab", (), (), upstream, (), (), (), (),
        Path("lecture02"),
    )  # fmt: skip
    episode = Episode(
        62, "strides", "guid", "Strides", dt.date(2022, 5, 30), 1231, "https://radio.example/62",
        "https://radio.example/62.mp3", (),
    )  # fmt: skip
    catalogue = Catalogue({"strides": episode})

    assert reading_of(kata, refs, catalogue, "v2.13.0", READING.hint) == replace(
        READING, sources=READING.sources[:1], episodes=READING.episodes[:1]
    )


def test_a_failure() -> None:
    """Read, listen, hint; an address has a line of its own and is never wrapped."""
    assert format_reading(READING, links=False) == [
        "read    c10/core/Contiguity.h: _compute_contiguous",
        "        https://github.com/pytorch/pytorch/blob/v2.13.0/c10/core/Contiguity.h",
        "        c10/core/TensorImpl.h: TensorImpl",
        "listen  #62 Strides, 20:31: why it fits",
        "        https://radio.example/62",
        "        #45 Memory layout, 16:26: why this episode explains the kata, in words",
        "        that need more than one line of a terminal",
        "        https://radio.example/45",
        "hint    pytest katas/lecture02/test_k01_strides.py --hint",
    ]


def test_a_failure_with_links() -> None:
    """The labels are links, and every source has its own."""
    first, second = (format_link(source.label, source.address) for source in READING.sources)
    short, long = (format_link(episode.label, episode.address) for episode in READING.episodes)
    assert format_reading(READING, links=True) == [
        f"read    {first}",
        f"        {second}",
        f"listen  {short}: why it fits",
        f"        {long}: why this episode explains the kata, in words",
        "        that need more than one line of a terminal",
        "hint    pytest katas/lecture02/test_k01_strides.py --hint",
    ]


def test_a_label_that_needs_two_lines_is_no_link() -> None:
    """Its address is shown instead of a link."""
    long = Pointer(f"#1 {'word ' * 20}end, 1:00", "https://radio.example/1", "why")
    lines = format_reading(replace(READING, sources=(), episodes=(long,)), links=True)

    assert ["        https://radio.example/1"] == [line for line in lines if "//" in line]
    assert 4 == len(lines)


def test_a_kata_without_episodes() -> None:
    """A label without an entry is left out."""
    reading = replace(READING, sources=(), episodes=())

    assert [f"hint    {READING.hint}"] == format_reading(reading, links=False)


def test_a_long_word_stays_whole() -> None:
    """It can be copied from the terminal."""
    label = f"{'a/' * 40}file-name.cpp: {'symbol' * 10}"
    (line, _, _) = format_reading(
        replace(READING, sources=(Pointer(label.replace(": ", ":"), "https://a"),), episodes=()),
        links=False,
    )

    assert f"read    {label.replace(': ', ':')}" == line


def test_the_summary_of_a_kata() -> None:
    """Its name, the first source, the first episode and the hint."""
    first = replace(READING, sources=READING.sources[:1], episodes=READING.episodes[:1])

    assert "lecture02/k01_strides: Sizes and strides" == READING.heading
    for links in (False, True):
        shown = format_reading(READING, links=links, many=1)
        assert shown == format_reading(first, links=links)


def test_no_more_than_a_line_of_each_in_brief() -> None:
    """Neither URLs nor what an episode is about, nor the rest of a label that needs two lines."""
    long = Pointer(f"#1 {'word ' * 20}end, 1:00", "https://radio.example/1", "why")
    source, episode = READING.sources[0], READING.episodes[0]
    wrapped = format_brief(replace(READING, episodes=(long,), earlier=("k.py",)), links=False)

    assert format_brief(READING, links=False) == [
        "read    c10/core/Contiguity.h: _compute_contiguous",
        "listen  #62 Strides, 20:31",
        f"hint    {READING.hint}",
    ]
    assert format_brief(READING, links=True)[:2] == [
        f"read    {format_link(source.label, source.address)}",
        f"listen  {format_link(episode.label, episode.address)}",
    ]
    assert ["read", "listen", "hint"] == [line.split()[0] for line in wrapped]
    assert [] == format_brief(Reading("k", "T", (), (), ""), links=False)


def test_properties() -> None:
    """They hold everything, as plain text."""
    assert junit_properties(READING) == [
        ("kata", "lecture02/k01_strides"),
        ("read", f"c10/core/Contiguity.h: _compute_contiguous {ROOT}/c10/core/Contiguity.h"),
        ("read", f"c10/core/TensorImpl.h: TensorImpl {ROOT}/c10/core/TensorImpl.h"),
        ("listen", "#62 Strides, 20:31: why it fits https://radio.example/62"),
        ("listen", f"#45 Memory layout, 16:26: {WHY} https://radio.example/45"),
        ("hint", "pytest katas/lecture02/test_k01_strides.py --hint"),
    ]


def test_a_link() -> None:
    """The control sequence OSC 8 opens it before the text and closes it after."""
    assert format_link("text", "https://a.example") == (
        "\x1b]8;;https://a.example\x1b\\text\x1b]8;;\x1b\\"
    )


@pytest.mark.parametrize(
    ("environment", "known"),
    [
        ({}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM_PROGRAM": "WezTerm", "TERM": "xterm-256color"}, True),
        ({"TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"WT_SESSION": "a-b-c"}, True),
        ({"VTE_VERSION": "7600"}, True),
        ({"VTE_VERSION": "5001"}, True),
        ({"VTE_VERSION": "5000"}, False),
        ({"VTE_VERSION": "new"}, False),
        ({"VTE_VERSION": "7600", "TMUX": "socket,1,0"}, False),
        ({"VTE_VERSION": "7600", "STY": "1.pts"}, False),
        ({"FORCE_HYPERLINK": "1"}, True),
        ({"FORCE_HYPERLINK": "1", "TMUX": "socket,1,0"}, True),
        ({"FORCE_HYPERLINK": "0", "TERM": "xterm-kitty"}, False),
    ],
)
def test_terminals(environment: dict[str, str], *, known: bool) -> None:
    """Only terminals known to have links count, unless ``FORCE_HYPERLINK`` is set."""
    assert known == knows_links(environment)
