"""The page in a browser: what a person sees, clicks and hears, and axe-core's findings."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins import ROOT
from plugins.progress.pagehtml import html_of
from plugins.progress.standing import TestOutcome
from tests.support.browser import chromium
from tests.support.pages import HOSTILE
from tests.support.pages import a_page
from tests.support.pages import a_place
from tests.support.pages import everything
from tests.support.webserver import answer
from tests.support.webserver import web_server
from tests.support.wholecourse import all_wrong
from tests.support.wholecourse import as_stub
from tests.support.wholecourse import solved
from tests.support.wholecourse import untouched
from tests.support.wholecourse import whole_page


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.wholecourse import Invented


pytestmark = pytest.mark.tool("chromium")
FILE = "page.html"
# What axe-core calls WCAG 2.2 on the levels A and AA, and its own best practices.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


class Visit:
    """An open page, with its messages on the console and its requests."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        self.events: dict[str, Callable[[Any], None]] = {
            "console": lambda message: self.said.append(message.text),
            "pageerror": lambda error: self.said.append(str(error)),
            "request": lambda request: self.asked.append(request.url),
        }
        for name, note in self.events.items():
            page.on(name, note)

    def end(self) -> None:
        """Note no more of the page."""
        for name, note in self.events.items():
            self.page.remove_listener(name, note)

    def katas(self) -> list[str]:
        """Return the katas that are shown."""
        # The page filters in a timeout after its form is reset; this one comes after it.
        self.page.evaluate("new Promise(done => setTimeout(done))")
        shown = "cards => cards.filter(card => card.checkVisibility()).map(card => card.id)"
        return list(self.page.locator(".kata").evaluate_all(shown))

    def press(self, *keys: str) -> None:
        """Press keys one after another."""
        for key in keys:
            self.page.keyboard.press(key)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return one browser for all tests."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page as a file."""
    file = tmp_path_factory.mktemp("page") / FILE
    file.write_text(html_of(everything()), encoding="utf-8")
    return file


class Windows:
    """The windows of a browser: a page is opened in one that an earlier test has left."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.contexts: list[Any] = []
        self.free: dict[tuple[str, ...], list[Any]] = {}
        self.used: list[tuple[tuple[str, ...], Any]] = []

    def take(self, width: int, scheme: str, **options: bool) -> Any:
        """Return an empty page in a window of this width; to start a new one takes long."""
        # Two windows of one test are two people.
        key = tuple(sorted(options))
        if not (free := self.free.setdefault(key, [])):
            context = self.browser.new_context(**options)
            context.set_default_timeout(60_000)
            self.contexts.append(context)
            free.append(context.new_page())
        self.used.append((key, page := free.pop()))
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme, media="screen")
        return page

    def leave(self) -> None:
        """Forget what the pages have stored, so that the next test finds none of it."""
        for key, page in self.used:
            page.unroute_all()
            page.evaluate("localStorage.clear()")
            page.goto("about:blank")
            self.free[key].append(page)
        self.used.clear()


@pytest.fixture(scope="module")
def windows(browser: Any) -> Windows:
    """Return the windows of all tests."""
    return Windows(browser)


@pytest.fixture
def visit(windows: Windows, file: Path) -> Iterator[Callable[..., Visit]]:
    """Return a function that opens the page, at an anchor, in a window of some width."""
    visits = []

    def opened(
        address: str = "", *, width: int = 1280, color_scheme: str = "light", **options: bool
    ) -> Visit:
        visits.append(found := Visit(windows.take(width, color_scheme, **options)))
        found.page.goto(address if "://" in address else file.as_uri() + address)
        return found

    yield opened
    for found in visits:
        found.end()
    windows.leave()


def test_it_opens_from_disk_and_asks_for_nothing(visit: Callable[..., Visit], file: Path) -> None:
    """The file is the only request, and the console stays empty."""
    found = visit()
    found.page.wait_for_load_state("networkidle")

    assert [file.as_uri()] == [address for address in found.asked if address != "data:,"]
    assert [] == found.said


def test_it_opens_from_a_static_host(visit: Callable[..., Visit], file: Path) -> None:
    """The page is one request."""
    with web_server() as server:
        page = file.read_bytes()
        server.routes[f"/{FILE}"] = lambda handler: answer(
            handler, body=page, Content_Type="text/html"
        )
        found = visit(f"{server.address}/{FILE}")
        found.page.wait_for_load_state("networkidle")

        assert ([], 1) == (found.said, len(server.requests))


def test_what_a_stranger_wrote_is_text(visit: Callable[..., Visit]) -> None:
    """It is shown as it was written, and has no effect."""
    found = visit()
    for more in found.page.locator("details").all():
        more.evaluate("more => more.open = true")
    text = found.page.locator("body").inner_text()

    assert all(part in text for part in HOSTILE)
    assert found.page.title().startswith("PyTorch internals: ")
    assert [1, 1, 0] == [found.page.locator(tag).count() for tag in ("script", "h1", "img")]
    assert [] == found.said


def test_a_script_that_slips_in_does_not_run(visit: Callable[..., Visit]) -> None:
    """The policy refuses scripts and handlers that are not the page's own."""
    found = visit()
    found.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'document.title = 1';"
        "document.body.append(s); document.body.setAttribute('onclick', 'document.title = 2'); }"
    )
    found.page.locator("footer").click(position={"x": 2, "y": 2})

    assert found.page.title().startswith("PyTorch internals: ")
    assert any("Content Security Policy" in line for line in found.said)


FAILING = ["lecture01/k02_second", "lecture02/k01_other"]


def test_filters_work_by_mouse(visit: Callable[..., Visit]) -> None:
    """By state, lecture and text, alone and together; the number of katas is shown."""
    found = visit()
    page = found.page
    page.locator("#lecture01 > details > summary").click()
    folded = found.katas()
    page.locator("#lecture02 > details > summary").click()
    one = found.katas()
    page.locator(".chip", has_text="failing").click()
    failing, told = found.katas(), page.locator("#found").inner_text()
    page.locator("#lecture").select_option("lecture02")
    both = found.katas()
    page.locator(".chip", has_text="solved").click()
    page.locator("#lecture").select_option("lecture01")
    states = found.katas()
    page.locator("button[type=reset]").click()
    cleared = found.katas()
    page.locator("#text").fill("BROAD casting")
    text, headings = found.katas(), page.locator(".lecture:not([hidden])").count()
    page.locator("#text").fill("no such kata")

    assert ([], 3) == (folded, len(one))
    assert (FAILING, "2 of 6 katas") == (failing, told)
    assert FAILING[1:] == both
    assert ["lecture01/k01_first", "lecture01/k02_second"] == states
    # A filter unfolds what it finds; without one the folds are as they were.
    assert one == cleared
    assert (FAILING[1:], 1) == (text, headings)
    assert ([], True) == (found.katas(), page.locator("#none").is_visible())


def test_filters_work_by_keyboard(visit: Callable[..., Visit]) -> None:
    """Beginning with the link that skips the map; the focus is visible."""
    found = visit()
    found.press("Tab", "Enter", "Tab")
    found.page.keyboard.type("second")
    text = found.katas()
    found.press("Control+A", "Delete", "Tab")
    found.page.keyboard.type("2")
    lecture = found.katas()
    found.press("Home", "Tab", "Tab", "Space")
    failing = found.katas()
    outline = found.page.evaluate(
        "getComputedStyle(document.activeElement.closest('.chip')).outlineStyle"
    )
    for _ in range(4):
        found.press("Tab")
    found.press("Enter")

    assert FAILING[:1] == text
    assert ["lecture02"] * 3 == [name.partition("/")[0] for name in lecture]
    assert (FAILING, "solid") == (failing, outline)
    assert 3 == len(found.katas())


def test_a_text_may_be_that_of_the_lecture(visit: Callable[..., Visit]) -> None:
    """Its title finds all its katas; folded text is searched as well."""
    found = visit()
    shown = []
    for text in ("whole title of lecture02", "Storage.h", "k02_"):
        found.page.locator("#text").fill(text)
        shown.append(len(found.katas()))

    assert [3, 6, 2] == shown


def test_a_station_leads_to_its_lecture(visit: Callable[..., Visit]) -> None:
    """Even to one that a filter hides; a link to a kata unfolds its card."""
    found = visit()
    found.page.locator("#text").fill("k01_first")
    found.page.locator(".line a", has_text="Two").click()
    found.page.wait_for_function("document.querySelector('#lecture02').checkVisibility()")
    arrived = found.page.url.rpartition("#")[2]
    direct = visit("#lecture02/k01_other")

    assert ("lecture02", 6) == (arrived, len(found.katas()))
    assert direct.page.locator("article:target .more").get_attribute("open") is not None
    assert "lecture02/k01_other" in direct.katas()


def test_links_are_right(visit: Callable[..., Visit]) -> None:
    """They lead to the source at the tag and to the episodes."""
    found = visit("#lecture01/k02_second")
    links = [
        link.get_attribute("href") for link in found.page.locator("article:target details a").all()
    ]

    assert [
        "https://github.com/pytorch/pytorch/blob/v2.13.0/c10/core/Storage.h",
        "https://radio.example/1",
        "https://radio.example/2",
    ] == links


def test_an_episode_is_loaded_when_it_is_played(visit: Callable[..., Visit]) -> None:
    """And not before; the keyboard works, and the player has a name and the focus."""
    found = visit("#lecture01/k01_first")
    heard: list[str] = []

    def silence(route: Any) -> None:
        heard.append(route.request.url)
        route.fulfill(status=404)

    found.page.route("https://radio.example/**", silence)
    play = found.page.get_by_role("button", name="Play #1 Strides").first
    before = (found.page.locator("audio").count(), [*heard])
    play.focus()
    found.press("Enter")
    player = found.page.locator("audio")
    player.wait_for()
    found.page.wait_for_function("document.querySelector('audio').error")

    assert (0, []) == before
    assert ["https://radio.example/1.mp3"] == list(dict.fromkeys(heard))
    assert ["#1 Strides"] == [player.get_attribute("aria-label")]
    assert "AUDIO" == found.page.evaluate("document.activeElement.tagName")


def test_the_colours_follow_the_system_or_the_reader(visit: Callable[..., Visit]) -> None:
    """The choice outlives a reload."""
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = visit(color_scheme="light"), visit(color_scheme="dark")
    found = [light.page.evaluate(ground), dark.page.evaluate(ground)]
    dark.page.locator("#theme").click()
    dark.page.reload()
    found.append(dark.page.evaluate(ground))
    dark.page.locator("#theme").click()
    found.append(dark.page.evaluate(ground))

    assert found[0] != found[1]
    assert [found[0], found[1]] == found[2:]
    assert "Colours: dark" == dark.page.locator("#theme").inner_text()


# What Tab stops at, and what cannot be reached, such as the content of a fold.
STOPS = """[...document.querySelectorAll("a, button, input, select, summary, audio, [tabindex]")]
    .filter(each => each.tabIndex >= 0 && each.checkVisibility({visibilityProperty: true}))
    .length"""
# The pixels that the page of the whole course may be high, however wide its window is.
HIGHEST = 6000


@pytest.mark.parametrize("place", [all_wrong, as_stub, solved, untouched])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_whole_course_stays_short(
    visit: Callable[..., Visit], tmp_path: Path, place: Invented, *, scheme: str, width: int
) -> None:
    """Whether every test fails, as in a stub or not, or none does."""
    file = tmp_path / FILE
    file.write_text(html_of(whole_page(place)), encoding="utf-8")
    found = visit(file.as_uri(), width=width, color_scheme=scheme)

    height = found.page.evaluate("document.documentElement.scrollHeight")
    assert height <= HIGHEST
    assert 120 >= found.page.evaluate(STOPS)
    assert width >= found.page.evaluate("document.documentElement.scrollWidth")


# The controls that are lower than a fingertip, of those that are shown.
LOW = """[...document.querySelectorAll("button, summary, .chip, #text, select, .line a")]
    .filter(each => each.checkVisibility() && each.getBoundingClientRect().height < 40)
    .map(each => each.outerHTML)"""


def test_a_finger_finds_what_it_taps(visit: Callable[..., Visit]) -> None:
    """On a phone, whatever is unfolded."""
    found = visit(width=390)
    folded = found.page.evaluate(LOW)
    found.page.locator("details").evaluate_all("all => all.forEach(more => more.open = true)")

    assert [] == folded
    assert [] == found.page.evaluate(LOW)


def test_filters_are_one_fold_on_a_phone(visit: Callable[..., Visit]) -> None:
    """It opens where there is room, and for a filter that the browser restores."""
    phone, wide = visit(width=390), visit()
    fold, text = phone.page.locator("#filters summary"), phone.page.locator("#text")
    shown = [text.is_visible(), wide.page.locator("#text").is_visible()]
    text.evaluate("text => { text.value = 'second'; }")
    text.dispatch_event("input")
    narrowed, shown = phone.katas(), [*shown, text.is_visible()]
    fold.click()
    told = phone.page.locator("#found").inner_text()
    phone.page.set_viewport_size({"width": 900, "height": 390})
    text.wait_for()

    assert [False, True, True] == shown
    assert not wide.page.locator("#filters summary").is_visible()
    assert (FAILING[:1], "1 of 6 katas") == (narrowed, told)


def test_a_phone_shows_the_next_message_and_folds_the_others(
    visit: Callable[..., Visit], tmp_path: Path
) -> None:
    """What a phone leaves out is in the fold; a wide window and paper show every message."""
    file = tmp_path / FILE
    failed = {name: TestOutcome("failed", f"{name} is wrong") for name in ("test_a", "test_b")}
    names = ("k01_first", "k02_second", "k03_third")
    places = [a_place(name, "failing", tests=failed) for name in names[:2]]
    file.write_text(html_of(a_page(*places, a_place(names[2], "failing"))), encoding="utf-8")
    found = visit(file.as_uri(), width=390)
    messages = found.page.locator(".kata > .failure:visible")
    phone = messages.count()
    found.page.locator(".rest").nth(1).locator("summary").click()
    unfolded = found.page.locator(".rest").nth(1).inner_text()
    found.page.emulate_media(media="print")
    paper = messages.count()
    wide = visit(file.as_uri()).page.locator(".kata > .failure:visible").count()

    # The third kata has one test that fails, and so no fold.
    assert (2, 3, 3) == (phone, paper, wide)
    assert "test_a is wrong" in unfolded


@pytest.mark.parametrize("width", [320, 375, 800, 1280])
def test_nothing_is_wider_than_the_window(visit: Callable[..., Visit], width: int) -> None:
    """On a phone too, with everything unfolded."""
    found = visit(width=width)
    found.page.locator("details").evaluate_all("all => all.forEach(more => more.open = true)")

    assert width >= found.page.evaluate("document.documentElement.scrollWidth")


def test_it_prints_without_what_needs_a_screen(visit: Callable[..., Visit]) -> None:
    """In light colours even if the reader's are dark, and with every kata."""
    found = visit(color_scheme="dark")
    found.page.emulate_media(media="print")

    assert "rgb(255, 255, 255)" == found.page.evaluate(
        "getComputedStyle(document.body).backgroundColor"
    )
    assert not found.page.locator("#filters").is_visible()
    assert 6 == len(found.katas())
    assert found.page.pdf(format="A4").startswith(b"%PDF")


def test_it_is_whole_without_scripts(visit: Callable[..., Visit]) -> None:
    """All katas can be unfolded, and there is no control that would do nothing."""
    found = visit(java_script_enabled=False)
    assert 3 == found.page.locator(".kata:visible").count()
    found.page.locator("#lecture02 > details > summary").click()

    assert 6 == found.page.locator(".kata:visible").count()
    assert 0 == found.page.locator("button:visible, input:visible, select:visible").count()


def test_the_picture_of_the_readme_can_be_taken(tmp_path: Path) -> None:
    """Its command works; neither the new picture nor the stored one is large."""
    file = tmp_path / "page.png"
    subprocess.run([sys.executable, "-m", "tests.screenshot", file], cwd=ROOT, check=True)

    for picture in (file, ROOT / "docs/page.png"):
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert 300_000 > picture.stat().st_size


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_the_page_is_accessible(visit: Callable[..., Visit], scheme: str, width: int) -> None:
    """Axe-core finds no violation in names, roles, headings or contrast, all unfolded."""
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415 - skipped without

    # Axe is a script of its own, which the policy would refuse.
    found = visit(color_scheme=scheme, width=width, bypass_csp=True)
    found.page.locator("details").evaluate_all("all => all.forEach(more => more.open = true)")
    results = Axe().run(found.page, options={"runOnly": RULES}).response

    assert [] == [
        (each["id"], node["target"], node["failureSummary"])
        for each in results["violations"]
        for node in each["nodes"]
    ]
    assert "color-contrast" in {each["id"] for each in results["passes"]}
