"""The page in a browser: what a person sees, clicks and hears, and what a strict one checks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.pagehtml import html_of
from tests.browser import chromium
from tests.browser import missing
from tests.pages import HOSTILE
from tests.pages import everything
from tests.webserver import answer
from tests.webserver import web_server


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))
ROOT = Path(__file__).parents[1]
FILE = "page.html"
# What axe-core calls WCAG 2.2 on the levels A and AA, and its own best practices.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


class Visit:
    """A page that is open, with what the browser has said and asked for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def katas(self) -> list[str]:
        """Return the katas that are shown."""
        # What a filter has put off until the form is cleared has been done then.
        self.page.evaluate("new Promise(done => setTimeout(done))")
        shown = "cards => cards.filter(card => card.checkVisibility()).map(card => card.id)"
        return list(self.page.locator(".kata").evaluate_all(shown))

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
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


@pytest.fixture
def visit(browser: Any, file: Path) -> Iterator[Callable[..., Visit]]:
    """Return how to open the page: with what colours, how wide, where in it."""
    contexts = []

    def opened(address: str = "", *, width: int = 1280, **options: Any) -> Visit:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(60_000)
        contexts.append(context)
        found = Visit(context.new_page())
        found.page.goto(address if "://" in address else file.as_uri() + address)
        return found

    yield opened
    for context in contexts:
        context.close()


def test_it_opens_from_disk_and_asks_for_nothing(visit: Callable[..., Visit], file: Path) -> None:
    """No request but that for the file, no word on the console."""
    found = visit()
    found.page.wait_for_load_state("networkidle")

    assert [file.as_uri()] == [address for address in found.asked if address != "data:,"]
    assert [] == found.said


def test_it_opens_from_a_static_host(visit: Callable[..., Visit], file: Path) -> None:
    """As one request."""
    with web_server() as server:
        page = file.read_bytes()
        server.routes[f"/{FILE}"] = lambda handler: answer(
            handler, body=page, Content_Type="text/html"
        )
        found = visit(f"{server.address}/{FILE}")
        found.page.wait_for_load_state("networkidle")

        assert ([], 1) == (found.said, len(server.requests))


def test_what_a_stranger_wrote_is_text(visit: Callable[..., Visit]) -> None:
    """It shows as it was written, and does nothing."""
    found = visit()
    for more in found.page.locator("details").all():
        more.evaluate("more => more.open = true")
    text = found.page.locator("body").inner_text()

    assert all(part in text for part in HOSTILE)
    assert found.page.title().startswith("PyTorch internals: ")
    assert [1, 1, 0] == [found.page.locator(tag).count() for tag in ("script", "h1", "img")]
    assert [] == found.said


def test_a_script_that_slips_in_does_not_run(visit: Callable[..., Visit]) -> None:
    """The policy refuses what the page itself does not bring."""
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
    """By state, lecture and text, each alone and together; their number is told."""
    found = visit()
    page = found.page
    everything_shown = found.katas()
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

    assert 6 == len(everything_shown)
    assert (FAILING, "2 of 6 katas") == (failing, told)
    assert FAILING[1:] == both
    assert ["lecture01/k01_first", "lecture01/k02_second"] == states
    assert everything_shown == cleared
    assert (FAILING[1:], 1) == (text, headings)
    assert ([], True) == (found.katas(), page.locator("#none").is_visible())


def test_filters_work_by_keyboard(visit: Callable[..., Visit]) -> None:
    """From the link that skips the map; every step has a visible focus."""
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
    assert 6 == len(found.katas())


def test_a_text_may_be_that_of_the_lecture(visit: Callable[..., Visit]) -> None:
    """Its title finds all its katas; what is unfolded is searched as well."""
    found = visit()
    shown = []
    for text in ("whole title of lecture02", "Storage.h", "k02_"):
        found.page.locator("#text").fill(text)
        shown.append(len(found.katas()))

    assert [3, 6, 2] == shown


def test_a_station_leads_to_its_lecture(visit: Callable[..., Visit]) -> None:
    """Even to one that a filter hides; a link to a kata opens it."""
    found = visit()
    found.page.locator("#text").fill("k01_first")
    found.page.locator(".line a", has_text="Two").click()
    found.page.wait_for_function("document.querySelector('#lecture02').checkVisibility()")
    arrived = found.page.url.rpartition("#")[2]
    direct = visit("#lecture02/k01_other")

    assert ("lecture02", 6) == (arrived, len(found.katas()))
    assert direct.page.locator("article:target details").get_attribute("open") is not None


def test_links_are_right(visit: Callable[..., Visit]) -> None:
    """To the source at the tag, to the episode, and within the page."""
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
    """Not before; by the keyboard as by the mouse; the player has a name and the focus."""
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


@pytest.mark.parametrize("width", [320, 375, 800, 1280])
def test_nothing_is_wider_than_the_window(visit: Callable[..., Visit], width: int) -> None:
    """On a telephone too, with everything unfolded."""
    found = visit(width=width)
    found.page.locator("details").evaluate_all("all => all.forEach(more => more.open = true)")

    assert width >= found.page.evaluate("document.documentElement.scrollWidth")


def test_it_prints_without_what_needs_a_screen(visit: Callable[..., Visit]) -> None:
    """In light colours, however the reader likes it, and with every kata."""
    found = visit(color_scheme="dark")
    found.page.emulate_media(media="print")

    assert "rgb(255, 255, 255)" == found.page.evaluate(
        "getComputedStyle(document.body).backgroundColor"
    )
    assert not found.page.locator("#filters").is_visible()
    assert 6 == len(found.katas())
    assert found.page.pdf(format="A4").startswith(b"%PDF")


def test_it_is_whole_without_scripts(visit: Callable[..., Visit]) -> None:
    """Katas and links are there, and no control that does nothing."""
    found = visit(java_script_enabled=False)

    assert 6 == found.page.locator(".kata:visible").count()
    assert 0 == found.page.locator("button:visible, input:visible, select:visible").count()


def test_the_picture_of_the_readme_can_be_taken(tmp_path: Path) -> None:
    """By its command; neither it nor the one that is stored is large."""
    file = tmp_path / "page.png"
    subprocess.run([sys.executable, "-m", "tests.screenshot", file], cwd=ROOT, check=True)

    for picture in (file, ROOT / "docs/page.png"):
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert 300_000 > picture.stat().st_size


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_nothing_bars_anyone(visit: Callable[..., Visit], scheme: str, width: int) -> None:
    """Axe-core finds nothing: names, roles, order of headings, contrast; all is unfolded."""
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
