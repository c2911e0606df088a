"""The page as a file: whole, without the network, and with nothing of a stranger's that runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from plugins.pagehtml import digest
from plugins.pagehtml import html_of
from plugins.pagehtml import readable
from plugins.pagehtml import text_of
from plugins.pagehtml import web
from tests.pages import HOSTILE
from tests.pages import a_page
from tests.pages import a_place
from tests.pages import an_episode
from tests.pages import everything


class Reader(HTMLParser):
    """Collects elements, with their attributes, and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of the elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]


def test_nothing_is_loaded() -> None:
    """No element has an address that a browser opens by itself; the icon is an empty one."""
    page = Reader(html_of(everything()))

    assert set() == {tag for tag, found in page.elements if {"src", "srcset", "style"} & set(found)}
    assert ["data:,"] == [found["href"] for found in page.of("link")]
    assert not {tag for tag, _ in page.elements} & {"audio", "iframe", "img", "object", "base"}
    assert "url(" not in text_of("page.css")
    assert "@import" not in text_of("page.css")


def test_what_a_stranger_wrote_is_text() -> None:
    """In titles of episodes and katas, names of tests, messages, errors: one script, one style."""
    page = Reader(html_of(everything()))

    assert [1, 1, 1] == [len(page.of(tag)) for tag in ("script", "style", "h1")]
    assert set() == {
        name for _, found in page.elements for name in found if name.startswith("on")
    } | {name for _, found in page.elements for name in found if name == "autofocus"}
    assert all(text in page.text for text in HOSTILE)


def test_the_policy_names_what_is_ours() -> None:
    """By hash: anything else inline is refused, and so is any address but that of an episode."""
    text = html_of(everything())
    policy = next(found["content"] for found in Reader(text).of("meta") if "http-equiv" in found)
    style, script = (
        re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL) for tag in ("style", "script")
    )

    assert style
    assert script
    assert policy == (
        f"default-src 'none'; style-src '{digest(style[1])}'; script-src '{digest(script[1])}'; "
        "img-src data:; media-src http: https:; base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize(
    ("address", "shown"),
    [("https://a.example/x", True), ("javascript:alert(1)", False), ("https://a b", False)],
)
def test_only_addresses_on_the_web_are_links(address: str, shown: bool) -> None:  # noqa: FBT001
    """A plugin's episode may have any; then its title is text and there is nothing to play."""
    episode = an_episode(1, audio=address)
    page = Reader(html_of(a_page(a_place("k01_a"), episodes=(episode,))))

    assert (address if shown else "") == web(address)
    assert ([address] if shown else []) == [
        found["data-audio"] for found in page.of("button") if "data-audio" in found
    ]


def test_text_is_readable() -> None:
    """No colours of a terminal, nothing that reorders, no half characters."""
    assert "red \ufffd\ufffd\ufffd\n\tend" == readable(
        "\x1b[1;31mred\x1b[0m \x00\u202e\ud800\n\tend"
    )
    assert "größer\xa0∑ 字 \U0001f600" == readable("größer\xa0∑ 字 \U0001f600")


def test_every_state_is_shown() -> None:
    """On the map, in the storage and on the card; the cards say it in words."""
    page = Reader(html_of(everything()))
    states = ["solved", "failing", "open", "failing", "unavailable", "new"]
    classes = [(tag, str(found.get("class"))) for tag, found in page.elements]

    assert states == [found["data-state"] for found in page.of("article")]
    assert [f"s-{state}" for state in states] == [name for tag, name in classes if tag == "rect"]
    assert [f"s-{state}" for state in states] == [
        name for tag, name in classes if tag == "path" and name.startswith("s-")
    ]
    assert ["lecture01", "lecture02"] == [
        found["id"] for found in page.of("section") if found.get("class") == "lecture"
    ]


def test_links_within_the_page_lead_somewhere() -> None:
    """Each has its target, no target exists twice, and labels are there."""
    page = Reader(html_of(everything()))
    ids = [found["id"] for _, found in page.elements if "id" in found]
    links = [str(found["href"]) for found in page.of("a")]
    labels = [found["aria-labelledby"] for _, found in page.elements if "aria-labelledby" in found]

    assert len(set(ids)) == len(ids)
    assert {link[1:] for link in links if link.startswith("#")} | set(labels) <= set(ids)


def test_a_course_without_anything_has_a_page() -> None:
    """No lecture, nothing solved, nothing to do."""
    text = Reader(html_of(a_page(parts=()))).text

    assert "Everything that can run here is solved." in text
    assert "The curve begins with the first kata that you solve." in text


def test_the_next_step_is_named() -> None:
    """With its command."""
    text = Reader(html_of(everything())).text

    assert "pytest katas/lecture01/test_k02_second.py -x" in text
    assert 1 == text.count("you are here")
