"""XML that could harm or would have to be guessed at is refused before it is read."""

from __future__ import annotations

import pytest

from plugins.wellformed import LONGEST_TEXT
from plugins.wellformed import FeedError
from plugins.wellformed import check_xml


BOMB = """<?xml version="1.0"?>
<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<rss><channel><item><title>&b;</title></item></channel></rss>"""
OUTSIDE = """<?xml version="1.0"?>
<!DOCTYPE rss [<!ENTITY secret SYSTEM "file:///etc/hostname">]>
<rss><channel><item><title>&secret;</title></item></channel></rss>"""
FAR = '<!DOCTYPE rss SYSTEM "http://radio.example/rss.dtd"><rss/>'


@pytest.mark.parametrize("text", [BOMB, OUTSIDE, FAR])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_refused(text: str, encoding: str) -> None:
    """Entity bombs, local files and far definitions all need one, in whatever encoding."""
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
    """The message has the line and the column of the parser."""
    with pytest.raises(FeedError) as caught:
        check_xml(document)

    assert str(caught.value).startswith(message.rstrip("*"))


def test_an_endless_text_is_refused() -> None:
    """One of the longest length passes, and the message has the item and the line."""
    fine = "x" * LONGEST_TEXT
    check_xml(f"<rss><item><a>{fine}</a><b>{fine}</b></item></rss>".encode())

    with pytest.raises(FeedError, match=r"^item 2, line 3: expected no text above 30000 char"):
        check_xml(f"<rss><item/>\n<item>\n<title>{fine}x</title></item></rss>".encode())
