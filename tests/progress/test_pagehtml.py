"""The page as a file: complete, without the network, and safe from text of strangers."""

from __future__ import annotations

import re
from datetime import date
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from plugins.course.paths import CoursePath
from plugins.course.syllabus import Part
from plugins.progress.pagedata import WORDS
from plugins.progress.pagehtml import RADIUS
from plugins.progress.pagehtml import SIZE
from plugins.progress.pagehtml import arc_paths
from plugins.progress.pagehtml import axis_top
from plugins.progress.pagehtml import curve_of
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

    from plugins.progress.standing import State

FIRST, SECOND = date(2026, 11, 20), date(2026, 11, 22)


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


def test_paths_are_offered() -> None:
    """Each with what is solved of it, its time and its command; a course may have none."""
    places = (a_place("k01_one", "solved"), a_place("k02_two"))
    path = CoursePath("short", "A short <way>", "For you.", tuple(it.kata for it in places))
    text = Reader(html_of(a_page(*places, paths=(path,)))).text
    told = " ".join(text.partition("Paths through the course")[2].split())

    assert told.startswith(
        "A short <way> For you. 1 of 2 solved, 0 min pytest katas --next --path short"
    )
    assert "Paths through" not in html_of(a_page(*places))


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


@pytest.mark.parametrize("state", list(WORDS))
def test_the_legend_names_what_occurs(state: State) -> None:
    """A course that is written to its end has no lecture that is "not written yet"."""
    parts = (Part("Internals", {"lecture01": "One"}),)
    written = html_of(a_page(a_place("k01_a", state), parts=parts))
    planned = html_of(a_page(a_place("k01_a", state)))

    assert [WORDS[state]] == legend(written)
    assert [WORDS[state], "not written yet"] == legend(planned)
    assert "lectures written" not in written
    assert "lectures written" in planned
    assert [] == legend(html_of(a_page(parts=())))


def legend(text: str) -> list[str]:
    """Return the words of the map's legend."""
    found = re.search(r'<ul class="legend">(.*?)</ul>', text, re.DOTALL)
    return re.findall(r"</svg>(.*)</li>", found[1]) if found else []


def test_a_kata_that_is_not_decided_is_called_so() -> None:
    """On its card; it is counted, and filtered, with what cannot run here."""
    tests = {"a": TestOutcome("passed"), "b": TestOutcome("skipped", "torchx: none")}
    text = html_of(a_page(a_place("k01_a", "unavailable", tests=tests)))

    assert re.search(r'class="state t-unavailable">.*?</svg>undecided ', text, re.DOTALL)
    assert "Not run here: torchx: none" in text


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
        assert f">{fact}</span>" in text
    assert "0 of 1 solved, 1 failing, 2 tests, 2 min spent" in Reader(text).text


def test_one_lecture_is_unfolded() -> None:
    """That of the next kata; with nothing to do, none is."""
    first, second = a_place("k01_a", "solved"), a_place("k01_b", lecture="lecture02")
    done = html_of(a_page(first))

    assert [False, True] == ["open" in each for each in folds(html_of(a_page(first, second)))]
    assert [False] == ["open" in each for each in folds(done)]


def test_the_next_kata_is_marked() -> None:
    """On a phone its card alone shows a message outside its fold."""
    places = (a_place("k01_a", "solved"), a_place("k02_b", "failing"), a_place("k03_c", "failing"))
    page = Reader(html_of(a_page(*places)))

    assert ["lecture01/k02_b"] == [
        found["id"] for found in page.of("article") if "due" in str(found["class"]).split()
    ]


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


def test_two_arcs_are_halves() -> None:
    """The first lies on the right and runs down from the top, with a gap before the next."""
    right, left = arc_paths(2)

    assert "M37.26 8.03A28 28 0 0 1 37.26 63.97" == right
    assert "M34.74 63.97A28 28 0 0 1 34.74 8.03" == left


@pytest.mark.parametrize("count", [1, 3, 14, 200])
def test_arcs_lie_on_the_ring(count: int) -> None:
    """Any number of arcs has its ends on the circle, and no two share an end."""
    paths = arc_paths(count)
    numbers = [[float(n) for n in re.findall(r"[\d.]+", path)] for path in paths]
    ends = [(x, y) for n in numbers for x, y in ((n[0], n[1]), (n[7], n[8]))]

    assert count == len(paths)
    assert all(abs((x - SIZE / 2) ** 2 + (y - SIZE / 2) ** 2 - RADIUS**2) < 1 for x, y in ends)
    assert len(set(ends)) == len(ends)
    assert (1.0 if count == 1 else 0.0) == numbers[0][5]


def test_a_lecture_without_katas_has_none() -> None:
    """It has an empty ring."""
    assert [] == arc_paths(0)


def test_the_curve_steps_in_the_middle_of_a_day() -> None:
    """And it goes on until today."""
    curve = curve_of([(FIRST, 1), (SECOND, 4)], date(2026, 11, 23))

    assert curve
    assert "M0 100H125V75H625V0H1000" == curve.edge
    assert f"{curve.edge}V100Z" == curve.area
    assert (4, (FIRST, date(2026, 11, 21), date(2026, 11, 23))) == (curve.top, curve.days)


def test_a_single_day_has_a_curve() -> None:
    """Even if the clock was set back since."""
    curve = curve_of([(SECOND, 1)], FIRST)

    assert curve
    assert ("M0 100H500V50H1000", (SECOND,)) == (curve.edge, curve.days)


def test_before_the_first_solution_there_is_none() -> None:
    """There are no axes without a curve."""
    assert curve_of([], SECOND) is None


@pytest.mark.parametrize(
    ("count", "top"), [(0, 2), (2, 2), (3, 4), (5, 10), (11, 20), (41, 50), (51, 100), (300, 400)]
)
def test_the_axis_ends_at_a_round_number(count: int, top: int) -> None:
    """It is even, since the axis also labels its half."""
    assert top == axis_top(count)
