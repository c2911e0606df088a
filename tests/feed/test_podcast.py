"""A feed yields its episodes, and passes over an item that cannot be one, by its name."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import feedparser
import pytest

from plugins.feed.podcast import LONGEST_TEXT
from plugins.feed.podcast import FeedEntry
from plugins.feed.podcast import FeedError
from plugins.feed.podcast import check_xml
from plugins.feed.podcast import read_podcast


FEEDS = Path(__file__).parent
RSS = (FEEDS / "rss.xml").read_text(encoding="utf-8")
TODAY = dt.date(2024, 1, 1)
BOMB = """<?xml version="1.0"?>
<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<rss><channel><item><title>&b;</title></item></channel></rss>"""
OUTSIDE = """<?xml version="1.0"?>
<!DOCTYPE rss [<!ENTITY secret SYSTEM "file:///etc/hostname">]>
<rss><channel><item><title>&secret;</title></item></channel></rss>"""
FAR = '<!DOCTYPE rss SYSTEM "http://radio.example/rss.dtd"><rss/>'


def read(text: str) -> tuple[FeedEntry, ...]:
    """Read a feed, no item of which is passed over, on the first day of 2024."""
    podcast = read_podcast(text.encode(), TODAY)
    assert () == podcast.passed_over

    return podcast.entries


def read_others(text: str, left: tuple[str, ...]) -> str:
    """Return the line about the one item that is passed over; the guids `left` are taken."""
    podcast = read_podcast(text.encode(), TODAY)
    assert left == tuple(entry.guid for entry in podcast.entries)

    (passed_over,) = podcast.passed_over
    assert passed_over.line.isprintable()
    assert len(passed_over.line) < 200
    return passed_over.line


def changed(old: str, new: str) -> str:
    """Return the RSS feed with one place changed."""
    assert 1 == RSS.count(old)

    return RSS.replace(old, new)


def test_rss() -> None:
    """The oldest comes first; dates are in UTC, durations in seconds."""
    first, second, third = read(RSS)

    assert third == FeedEntry(
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
    """It has no numbers; an entry without a publication date has that of its last change."""
    earlier, later = read((FEEDS / "atom.xml").read_text(encoding="utf-8"))

    assert later == FeedEntry(
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
    """Seconds, MM:SS or HH:MM:SS, above zero and up to a day; the line says so of another."""
    feed = changed(">12:34<", f">{duration}<")
    if seconds:
        assert seconds == read(feed)[1].seconds
    else:
        line = read_others(feed, ("guid-1", "guid-3"))
        place = "item 2 ('C++, second'): itunes:duration: "
        bound = "expected HH:MM:SS, MM:SS or seconds, above 0 and at most a day, found "
        assert line.startswith(place + bound)


@pytest.mark.parametrize(
    "date",
    [
        "Wed, 03 Jan 2024 00:00:00 GMT",
        "Fri, 31 Dec 1999 23:59:59 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "9999-12-31T23:59:59-12:00",
        "0000-01-01T00:00:00Z",
        "yesterday",
        "",
    ],
)
def test_absurd_dates(date: str) -> None:
    """An episode is from this century, and from today at the latest in some time zone."""
    line = read_others(changed("Mon, 02 Jan 2023 12:00:00 GMT", date), ("guid-1", "guid-3"))

    assert line.startswith("item 2 ('C++, second'): pubDate: expected a date")


def test_the_first_and_the_last_date() -> None:
    """That of the first podcast, and tomorrow, which it may be somewhere."""
    for date, n in ((dt.date(2000, 1, 1), 0), (dt.date(2024, 1, 2), -1)):
        feed = changed("Mon, 02 Jan 2023 12:00:00 GMT", f"{date}T23:59:59Z")

        assert date == read(feed)[n].published


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<title>First</title>", "", "item 3 ('guid-1'): title: expected a text"),
        ("<title>First", "<title>&lt;script&gt;x", "item 3 ('<script>x'): title: expected a text"),
        ("<title>First", f"<title>{'x' * 301}", "item 3 ('*'): title: expected at most 300 char"),
        (">guid-1<", "><", "item 3 ('First'): guid: expected a printable text of at m"),
        (">guid-1<", ">a\tb<", "item 3 ('First'): guid: expected a printable text of at m"),
        (">guid-1<", f">{'x' * 301}<", "item 3 ('First'): guid: expected a printable text of at m"),
        (">guid-1<", ">guid-3<", "item 3 ('First'): guid: 'guid-3' is that of item 1 too"),
        (":episode>1<", ":episode>3<", "item 3 ('First'): number: 3 is that of item 1 too"),
        (":episode>1<", ":episode>0<", "item 3 ('First'): itunes:episode: expected a number from"),
        (
            ":episode>1<",
            ":episode>one<",
            "item 3 ('First'): itunes:episode: expected a number from",
        ),
        (
            "<link>https://radio.example/1</link>",
            "<link>javascript:alert(1)</link>",
            "item 3 ('First'): link: *http or https address of at most 2000 characters, found 'jav",
        ),
        (
            "<link>https://radio.example/1</link>",
            "",
            "item 3 ('First'): link: *http or https address of at most 2000 characters, found ''",
        ),
        (
            "https://radio.example/1.mp3",
            "file:///etc/passwd",
            "item 3 ('First'): enclosure: *http or https address of at most 2000 characters, found 'file:///e",
        ),
        (
            "https://radio.example/1.mp3",
            "https://radio.example/" + "x" * 2000,
            "item 3 ('First'): enclosure: *http or https address of at most 2000 characters, found 'https://ra",
        ),
        (
            '<enclosure url="https://radio.example/1.mp3" type="audio/mpeg" length="1"/>',
            "",
            "item 3 ('First'): enclosure: *https address of at most 2000 characters, found ''",
        ),
    ],
)
def test_an_item_with_a_missing_or_absurd_fact_is_passed_over(
    old: str, new: str, message: str
) -> None:
    """The others are taken. The line has its place and title; quotations are short, printable."""
    line = read_others(changed(old, new), ("guid-2", "guid-3"))

    start, _, end = message.partition("*")
    assert line.startswith(start)
    assert end in line


def test_a_few_of_many_items_do_not_refuse_the_others() -> None:
    """Wherever they stand, and each for a reason of its own."""
    item = RSS[RSS.index("<item>") : RSS.index("</item>") + len("</item>")]
    items = [item.replace("guid-3", f"guid-{n}").replace("e>3<", f"e>{n}<") for n in range(1, 731)]
    items[0] = items[0].replace(">01:00:05<", ">0<")
    items[1] = items[1].replace("<link>https://radio.example/3</link>", "")
    items[399] = items[399].replace("Sun, 31 Dec 2023", "some day")
    items[729] = items[729].replace("guid-730", "guid-729")
    feed = RSS[: RSS.index("<item>")] + "".join(items) + RSS[RSS.rindex("</item>") + 7 :]

    podcast = read_podcast(feed.encode(), TODAY)

    assert 730 - 4 == len(podcast.entries)
    assert [("guid-1", 1), ("guid-2", 2), ("guid-400", 400), ("guid-729", 730)] == [
        (each.guid, int(each.line.split()[1])) for each in podcast.passed_over
    ]


def test_a_feed_of_which_no_item_can_be_taken_is_an_error() -> None:
    """It has the first reason, and how many others there are."""
    none = RSS.replace("enclosure", "other")
    one = none[: none.index("</item>")] + none[none.rindex("</item>") :]
    first = (
        r"^none of its items can be taken: item 1 \('What comes third & last'\): enclosure: "
        r"expected an http or https address of at most 2000 characters, found ''"
    )
    with pytest.raises(FeedError, match=f"{first}, and 2 more like it$"):
        read(none)
    with pytest.raises(FeedError, match=f"{first}$"):
        read(one)


def test_titles_are_plain() -> None:
    """Markup, scripts and control characters do not get into the file."""
    hostile = "&lt;b&gt;Fi&lt;/b&gt;&amp;#x202e;rst&lt;script&gt;alert(1)&lt;/script&gt;"

    assert "First" == read(changed("<title>First", f"<title>{hostile}"))[0].title


@pytest.mark.parametrize(
    "document",
    [
        "<opml><body>A list of feeds</body></opml>",
        '<rss version="2.0"><channel><title>No items</title></channel></rss>',
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>No entries</title></feed>',
    ],
)
def test_what_is_no_feed(document: str) -> None:
    """XML alone is not enough, and neither is a feed without an item."""
    with pytest.raises(FeedError, match=r"^expected an RSS or Atom feed with at least one item$"):
        read(document)


@pytest.mark.parametrize(
    "page",
    [
        b"<html><body>Sign in to this network</body></html>",
        b"<!doctype html><meta charset=utf-8><title>Sign in</title><br>",
        b"\n <!-- made by hand --> <!DOCTYPE HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'><HTML>",
        b"\xef\xbb\xbf<?xml version='1.0'?><!DOCTYPE html><html xmlns='...'/>",
        b"<head><title>No opening tag</title></head>",
        b"<script>location = '/login'</script>",
        "<!DOCTYPE html><p>Bonjour".encode("utf-16"),
    ],
    ids=["no-doctype", "html5", "html4", "xhtml", "head", "script", "utf-16"],
)
def test_a_web_page_is_called_one(page: bytes) -> None:
    """Well-formed or not, as a proxy or an address of a podcast's site answers."""
    with pytest.raises(FeedError, match=r"^it is a web page: expected an RSS or Atom feed$"):
        read_podcast(page, TODAY)


def test_a_hostile_beginning_is_read_once() -> None:
    """A thousand comments before nothing: were they tried in each order, this would never end."""
    with pytest.raises(FeedError, match=r"^it is not well-formed XML: no element found"):
        check_xml(b" <!-- a -->" * 1000)


def test_what_feedparser_cannot_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error inside it becomes a FeedError."""

    def parse(_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(feedparser, "parse", parse)
    with pytest.raises(FeedError, match=r"^feedparser cannot read it: too deep$"):
        read(RSS)


def test_a_source_is_never_taken_for_a_file_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if a file has the document for its name, the document is read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "<rss><").mkdir()
    (tmp_path / "<rss></rss>").write_text(RSS)

    with pytest.raises(FeedError, match=r"^expected an RSS or Atom feed with at least one item$"):
        read("<rss></rss>")


@pytest.mark.parametrize("text", [BOMB, OUTSIDE, FAR])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_refused(text: str, encoding: str) -> None:
    """Entity bombs, local files and remote definitions need one, in every encoding."""
    with pytest.raises(FeedError, match=r"^it declares a document type: "):
        check_xml(text.encode(encoding))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"not XML at all", "it is not well-formed XML: syntax error: line 1, column 0"),
        (b"<rss><channel>", "it is not well-formed XML: no element found: line 1, column 14"),
        (b"<rss>&nbsp;</rss>", "it is not well-formed XML: undefined entity: line 1, column 5"),
        (b"<rss>\x1b[31m</rss>", "it is not well-formed XML: not well-formed *"),
        (b"<rss>\xff</rss>", "it is not well-formed XML: not well-formed *"),
        (b"<rss/>and more", "it is not well-formed XML: junk after document element*"),
        (b'<?xml version="1.0" encoding="ebcdic-9"?><r/>', "it is not well-formed XML: unknown*"),
        (b'<?xml version="1.0" encoding="gbk"?><r/>', "it is not well-formed XML: multi-byte*"),
    ],
)
def test_damage_is_refused(document: bytes, message: str) -> None:
    """The message has the parser's line and column."""
    with pytest.raises(FeedError) as caught:
        check_xml(document)

    assert str(caught.value).startswith(message.rstrip("*"))


def endless(text: str, encoding: str = "utf-8") -> tuple[str, str, tuple[str, ...]]:
    """Return the line and the guid of the one item that is passed over, and the guids taken."""
    podcast = read_podcast(text.encode(encoding), TODAY)
    (passed_over,) = podcast.passed_over
    return passed_over.line, passed_over.guid, tuple(entry.guid for entry in podcast.entries)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_an_item_with_an_endless_text_is_passed_over(encoding: str) -> None:
    """Others are read; its message has the item and the line, and its guid is known."""
    text = RSS.replace('"UTF-8"', f'"{encoding[:6]}"').replace(
        "12:34", f"12:34<!-- -->{'x' * 30_000}"
    )

    line, guid, left = endless(text, encoding)

    assert "item 2, line 26: expected no text above 30000 characters" == line
    assert ("guid-2", ("guid-1", "guid-3")) == (guid, left)


def test_the_longest_text_passes() -> None:
    """Each of several, with line ends after it."""
    fine = "x" * LONGEST_TEXT
    document = f"<rss><item><a>{fine}</a>\n<b>{fine}</b>\n</item></rss>".encode()

    checked = check_xml(document)

    assert (document, 1, {}) == (checked.document, checked.items, checked.endless)


def test_the_items_after_an_endless_one_keep_their_numbers() -> None:
    """They are those of the document; with the endless one, an item inside counts as its part."""
    long = f"<item><title>{'x' * LONGEST_TEXT}x</title><item/></item >"
    text = changed('<item>\n      <guid isPermaLink="false">guid-3', f"{long}<item><guid>guid-3")
    text = text.replace(">12:34<", "><")
    podcast = read_podcast(text.encode(), TODAY)

    assert ["", "guid-2"] == [each.guid for each in podcast.passed_over]
    first, third = (each.line for each in podcast.passed_over)
    assert first.startswith("item 1, line 6: ")
    assert third.startswith("item 3 ('C++, second'): itunes:duration: ")


def test_items_that_only_feedparser_knows_have_its_numbers() -> None:
    """An item of Atom in RSS 1.0's place, with a prefix."""
    text = (FEEDS / "atom.xml").read_text(encoding="utf-8")
    text = text.replace("<entry>", "<a:entry>").replace("</entry>", "</a:entry>")
    text = text.replace("<feed ", '<feed xmlns:a="http://www.w3.org/2005/Atom" ')
    entry = slice(text.index("<a:entry>"), text.index("</a:entry>"))
    text = text.replace(text[entry], text[entry].replace("urn:radio:b", ""))

    assert read_others(text, ("urn:radio:a",)).startswith("item 1 ")


def test_an_endless_text_outside_of_the_items_is_refused() -> None:
    """Before the first or after the last, it is the feed's."""
    long = "x" * (LONGEST_TEXT + 1)
    for text in (
        f"<rss>\n<title>{long}</title><item/></rss>",
        f"<rss><item><a>{long}</a></item>\n<title>{long}</title></rss>",
    ):
        with pytest.raises(FeedError, match=r"^outside of its items, line 2: expected no text abo"):
            check_xml(text.encode())


def test_a_feed_of_one_endless_item_has_none_that_can_be_taken() -> None:
    """It is a feed all the same."""
    start, end = RSS.index("<item>"), RSS.rindex("</item>")
    text = f"{RSS[:start]}<item><guid>{'x' * 400}</guid><a>{'x' * 30_001}</a>{RSS[end:]}"

    with pytest.raises(FeedError, match=r"^none of its items can be taken: item 1, line 6: expect"):
        read(text)
