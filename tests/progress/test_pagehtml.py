"""The page as a file: complete, without the network, and safe from text of strangers."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from plugins.progress.pagehtml import hash_source
from plugins.progress.pagehtml import html_of
from plugins.progress.pagehtml import read_template
from plugins.progress.pagehtml import web_address
from plugins.progress.standing import TestOutcome
from tests.support.pages import HOSTILE
from tests.support.pages import a_page
from tests.support.pages import a_place
from tests.support.pages import an_episode
from tests.support.pages import everything


if TYPE_CHECKING:
    from pathlib import Path


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
        """Return the attributes of all elements with a tag."""
        return [attributes for name, attributes in self.elements if name == tag]


def test_nothing_is_loaded() -> None:
    """No element has an address that a browser opens by itself, and the icon is empty."""
    page = Reader(html_of(everything()))

    assert set() == {tag for tag, found in page.elements if {"src", "srcset", "style"} & set(found)}
    assert ["data:,"] == [found["href"] for found in page.of("link")]
    assert not {tag for tag, _ in page.elements} & {"audio", "iframe", "img", "object", "base"}
    assert "url(" not in read_template("page.css")
    assert "@import" not in read_template("page.css")


def test_what_a_stranger_wrote_is_text() -> None:
    """No title, test name, message or error adds an element or a handler."""
    page = Reader(html_of(everything()))

    assert [1, 1, 1] == [len(page.of(tag)) for tag in ("script", "style", "h1")]
    assert set() == {
        name for _, found in page.elements for name in found if name.startswith("on")
    } | {name for _, found in page.elements for name in found if name == "autofocus"}
    assert all(text in page.text for text in HOSTILE)


def test_the_policy_names_what_is_ours() -> None:
    """Its hashes allow our script and style; besides, only media may be loaded."""
    text = html_of(everything())
    policy = next(found["content"] for found in Reader(text).of("meta") if "http-equiv" in found)
    style, script = (
        re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL) for tag in ("style", "script")
    )

    assert style
    assert script
    assert policy == (
        f"default-src 'none'; style-src '{hash_source(style[1])}'; "
        f"script-src '{hash_source(script[1])}'; "
        "img-src data:; media-src http: https:; base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize(
    ("address", "shown"),
    [("https://a.example/x", True), ("javascript:alert(1)", False), ("https://a b", False)],
)
def test_only_addresses_on_the_web_are_links(address: str, shown: bool) -> None:  # noqa: FBT001
    """A plugin's episode may have another address; then there is nothing to play."""
    episode = an_episode(1, audio=address)
    page = Reader(html_of(a_page(a_place("k01_a"), episodes=(episode,))))

    assert (address if shown else "") == web_address(address)
    assert ([address] if shown else []) == [
        found["data-audio"] for found in page.of("button") if "data-audio" in found
    ]


def test_every_state_is_shown() -> None:
    """On the map, in the storage and on the card."""
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


def test_failures_alike_are_one() -> None:
    """The first message stands on the card, and all of them, whole, in a fold."""
    long = "\n".join(f"line {n}" for n in range(9))
    said = {"test_a": "first", "test_b": "other", "test_c": "first"}
    tests = {name: TestOutcome("failed", message) for name, message in said.items()}
    page = a_page(
        a_place("k01_a", "failing", tests=tests),
        a_place("k02_b", "failing", tests={"test_d": TestOutcome("failed", long)}),
        a_place("k03_c", "failing"),
    )
    cards = html_of(page).split("<article ")[1:]
    shown = [
        re.findall(r'class="(rest|more|test)"|<pre>(.*?)</pre>', card, re.DOTALL) for card in cards
    ]

    assert [
        ["test", "first", "rest", "test", "first", "test", "other", "more"],
        ["test", "\n".join([*long.splitlines()[:5]]) + " ...", "rest", "test", long, "more"],
        ["test", "assert 1 == 2\nwhy it matters", "more"],
    ] == [["".join(pair) for pair in pairs] for pairs in shown]
    assert '<span class="test">test_a, test_c</span>' in cards[0]
    assert "<summary>All 3 failing tests<" in cards[0]
    assert "<summary>The whole message<" in cards[1]


def test_size_and_minutes_are_shown(tmp_path: Path) -> None:
    """Of each kata and each lecture: tests, lines of code, the time that was spent."""
    place = a_place("k01_a", "failing", folder=tmp_path / "katas/lecture01")
    reference = place.kata.folder / "solutions/k01_a.py"
    reference.parent.mkdir(parents=True)
    reference.write_text("x = 1\ny = 2\n")
    text = html_of(a_page(place))

    for fact in ("1 of 2 tests pass", "2 lines of code", "2 min spent"):
        assert f"<span>{fact}</span>" in text
    assert "0 of 1 solved, 1 failing, 2 tests, 2 min spent" in Reader(text).text


def test_one_lecture_is_unfolded() -> None:
    """That of the next kata; with nothing to do, none is."""
    first, second = a_place("k01_a", "solved"), a_place("k01_b", lecture="lecture02")
    done = html_of(a_page(first))

    assert [False, True] == ["open" in each for each in folds(html_of(a_page(first, second)))]
    assert [False] == ["open" in each for each in folds(done)]


def folds(text: str) -> list[dict[str, str | None]]:
    """Return the folds of the lectures, with their attributes."""
    return [each for each in Reader(text).of("details") if "class" not in each]


def test_links_within_the_page_lead_somewhere() -> None:
    """Each has its target, no id exists twice, and every label exists."""
    page = Reader(html_of(everything()))
    ids = [found["id"] for _, found in page.elements if "id" in found]
    links = [str(found["href"]) for found in page.of("a")]
    labels = [found["aria-labelledby"] for _, found in page.elements if "aria-labelledby" in found]

    assert len(set(ids)) == len(ids)
    assert {link[1:] for link in links if link.startswith("#")} | set(labels) <= set(ids)


def test_a_course_without_anything_has_a_page() -> None:
    """It has no lecture, nothing solved and nothing to do."""
    text = Reader(html_of(a_page(parts=()))).text

    assert "Everything that can run here is solved." in text
    assert "The curve begins with the first kata that you solve." in text


def test_the_next_step_is_named() -> None:
    """It stands on the page with its command."""
    text = Reader(html_of(everything())).text

    assert "pytest lecture01/k02_second -x" in text
    assert 1 == text.count("you are here")
