"""A feed becomes the facts of its episodes, or an error that names the item."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import feedparser
import pytest

from plugins.podcast import Entry
from plugins.podcast import read_podcast
from plugins.wellformed import FeedError


FEEDS = Path(__file__).parent / "feeds"
RSS = (FEEDS / "rss.xml").read_text(encoding="utf-8")
TODAY = dt.date(2024, 1, 1)


def read(text: str) -> tuple[Entry, ...]:
    """Read a feed as of the first day of 2024."""
    return read_podcast(text.encode(), TODAY)


def changed(old: str, new: str) -> str:
    """Return the RSS feed with one thing in it changed."""
    assert 1 == RSS.count(old)

    return RSS.replace(old, new)


def test_rss() -> None:
    """The oldest comes first; dates are those of UTC, durations are seconds."""
    first, second, third = read(RSS)

    assert third == Entry(
        number=3,
        guid="guid-3",
        title="What comes third & last",
        published=dt.date(2024, 1, 1),
        seconds=3605,
        page="https://radio.example/3",
        audio="https://radio.example/3.mp3?a=1&b=2",
        links=("https://radio.example/b", "https://radio.example/a"),
    )
    assert (2, "C++, second", 754) == (second.number, second.title, second.seconds)
    assert ("http://radio.example/d",) == second.links
    assert (1, dt.date(2023, 1, 1), 600, ()) == (
        first.number,
        first.published,
        first.seconds,
        first.links,
    )


def test_atom() -> None:
    """It has no numbers; what was never published counts from its last change."""
    earlier, later = read((FEEDS / "atom.xml").read_text(encoding="utf-8"))

    assert later == Entry(
        number=None,
        guid="urn:radio:b",
        title="The later one",
        published=dt.date(2023, 1, 2),
        seconds=100,
        page="https://radio.example/b",
        audio="https://radio.example/b.mp3",
        links=("https://radio.example/notes",),
    )
    assert ("urn:radio:a", dt.date(2023, 1, 1)) == (earlier.guid, earlier.published)


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [
        ("1", 1),
        ("0", None),
        ("86400", 86400),
        ("86401", None),
        ("0:59", 59),
        ("0:60", None),
        ("90:00", 5400),
        ("1:2:03", 3723),
        ("01:02:03", 3723),
        ("24:00:00", 86400),
        ("24:00:01", None),
        (" 5:00 ", 300),
        ("5:0", None),
        ("-5", None),
        ("1:", None),
        ("1e3", None),
        ("twelve", None),
        ("\u0665", None),
        ("9" * 1000, None),
        ("", None),
    ],
)
def test_durations(duration: str, seconds: int | None) -> None:
    """Seconds, MM:SS or HH:MM:SS, above nothing and up to a day."""
    feed = changed(">12:34<", f">{duration}<")
    if seconds:
        assert seconds == read(feed)[1].seconds
    else:
        with pytest.raises(
            FeedError, match=r"^item 2 \('C\+\+, second'\): itunes:duration: "
        ) as it:
            read(feed)
        assert len(str(it.value)) < 200


@pytest.mark.parametrize(
    "date",
    [
        "Wed, 03 Jan 2024 00:00:00 GMT",
        "Fri, 31 Dec 1999 23:59:59 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "yesterday",
        "",
    ],
)
def test_absurd_dates(date: str) -> None:
    """A podcast is from this century, and from today at the latest, wherever that is."""
    with pytest.raises(FeedError, match=r"^item 2 \('C\+\+, second'\): pubDate: expected a date"):
        read(changed("Mon, 02 Jan 2023 12:00:00 GMT", date))


def test_it_may_be_tomorrow_somewhere() -> None:
    """One day ahead is no mistake."""
    feed = changed("Mon, 02 Jan 2023 12:00:00 GMT", "Tue, 02 Jan 2024 23:59:59 GMT")

    assert dt.date(2024, 1, 2) == read(feed)[-1].published


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<title>First</title>", "", "item 3 ('guid-1'): title: expected a text"),
        ("<title>First", "<title>&lt;script&gt;x", "item 3 ('<script>x'): title: expected a text"),
        ("<title>First", f"<title>{'x' * 301}", "item 3 ('*'): title: expected at most 300 char"),
        (">guid-1<", "><", "item 3 ('First'): guid: expected a short printable text"),
        (">guid-1<", ">a\tb<", "item 3 ('First'): guid: expected a short printable text"),
        (">guid-1<", f">{'x' * 301}<", "item 3 ('First'): guid: expected a short printable text"),
        (">guid-1<", ">guid-3<", "item 3 ('First'): guid: 'guid-3' is that of item 1 too"),
        (":episode>1<", ":episode>3<", "item 3 ('First'): number: 3 is that of item 1 too"),
        (":episode>1<", ":episode>0<", "item 3 ('First'): itunes:episode: expected a number, fo"),
        (":episode>1<", ":episode>one<", "item 3 ('First'): itunes:episode: expected a number, "),
        (
            "<link>https://radio.example/1</link>",
            "<link>javascript:alert(1)</link>",
            "item 3 ('First'): link: expected an http or https address, found 'javascript:alert",
        ),
        (
            "<link>https://radio.example/1</link>",
            "",
            "item 3 ('First'): link: expected an http or https address, found ''",
        ),
        (
            "https://radio.example/1.mp3",
            "file:///etc/passwd",
            "item 3 ('First'): enclosure: expected an http or https address, found 'file:///e",
        ),
        (
            "https://radio.example/1.mp3",
            "https://radio.example/" + "x" * 2000,
            "item 3 ('First'): enclosure: expected an http or https address, found 'https://ra",
        ),
        (
            '<enclosure url="https://radio.example/1.mp3" type="audio/mpeg" length="1"/>',
            "",
            "item 3 ('First'): enclosure: expected an http or https address, found ''",
        ),
    ],
)
def test_a_missing_or_absurd_fact_is_an_error(old: str, new: str, message: str) -> None:
    """The item is named by its place and title, and nothing long or strange is quoted."""
    with pytest.raises(FeedError) as caught:
        read(changed(old, new))

    start, _, end = message.partition("*")
    assert str(caught.value).startswith(start)
    assert end in str(caught.value)
    assert len(str(caught.value)) < 200
    assert str(caught.value).isprintable()


def test_titles_are_plain() -> None:
    """Markup, scripts and what a terminal would act on do not get into the file."""
    hostile = "&lt;b&gt;Fi&lt;/b&gt;&amp;#x202e;rst&lt;script&gt;alert(1)&lt;/script&gt;"

    assert "First" == read(changed("<title>First", f"<title>{hostile}"))[0].title


@pytest.mark.parametrize(
    "document",
    [
        "<html><body>Sign in to this network</body></html>",
        '<rss version="2.0"><channel><title>No items</title></channel></rss>',
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>No entries</title></feed>',
    ],
)
def test_what_is_no_feed(document: str) -> None:
    """XML alone is not enough, and neither is a feed without an item."""
    with pytest.raises(FeedError, match=r"^expected an RSS or Atom feed with at least one item$"):
        read(document)


def test_what_feedparser_cannot_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error inside of it is one of the feed."""

    def parse(_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(feedparser, "parse", parse)
    with pytest.raises(FeedError, match=r"^feedparser cannot read it: too deep$"):
        read(RSS)


def test_a_source_is_never_taken_for_a_file_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where a file has the very document for its name, the document is what is read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "<rss><").mkdir()
    (tmp_path / "<rss></rss>").write_text(RSS)

    with pytest.raises(FeedError, match=r"^expected an RSS or Atom feed with at least one item$"):
        read("<rss></rss>")
