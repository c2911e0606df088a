"""``--page=FILE`` writes the page of the course, or its summary in Markdown, and runs nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.course.paths import read_paths
from plugins.course.session import course_key
from plugins.course.session import course_root
from plugins.course.syllabus import FILE
from plugins.course.syllabus import read_syllabus
from plugins.guide.episodes import catalogue_of
from plugins.guide.reading import torch_tag
from plugins.guide.untouched import katas_as_given
from plugins.progress.map import places_of
from plugins.progress.markdown import summary_of
from plugins.progress.pagedata import page_of
from plugins.progress.pagehtml import html_of
from plugins.progress.standing import Results
from plugins.tools.showing import configured
from plugins.tools.showing import write_for
from plugins.tools.terminal import install_group
from plugins.tools.toml import TomlError


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from plugins.progress.map import Place
    from plugins.progress.pagedata import Page


MARKDOWN = ".md"
HTML = (".html", ".htm")
# Where the page is without a FILE.
PAGE = ".katas/page.html"
REFUSED = (
    "--page: {} is no name for a page, which ends in .html, or in .md for the summary. The word "
    "after --page is its FILE: pytest --page=page.html"
)
ABSENT = "--page: Jinja2 is not installed; {}. A FILE that ends in .md does not need it."


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--page``."""
    parser.getgroup("katas").addoption(
        "--page",
        nargs="?",
        const=PAGE,
        metavar="FILE",
        help="Write the page of the course to FILE, or its summary if that ends in .md, and run "
        f"nothing. Without FILE it is {PAGE}.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Write the file and stop: no kata is imported or run."""
    wanted = config.getoption("page")
    if wanted is None or config.option.help:
        return None
    folder = course_root(config) if wanted == PAGE else config.invocation_params.dir
    file = folder / wanted
    if (kind := file.suffix.lower()) not in {MARKDOWN, *HTML}:
        # The word may be meant as what to run: an exercise is never replaced by a page.
        raise pytest.UsageError(REFUSED.format(wanted))
    with configured(config):
        page = gather_page(config)
        text = summary_of(page) if kind == MARKDOWN else render_html(page)
        write_for("--page", file, text)
        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        reporter.line(f"wrote {wanted}: {file.resolve().as_uri()}")
    return 0


def gather_page(config: pytest.Config) -> Page:
    """Return the page of the whole course, from what is stored here."""
    root, course = course_root(config), config.stash[course_key]
    try:
        syllabus = read_syllabus(root / FILE)
        paths = read_paths(course, root)
    except TomlError as error:
        raise pytest.UsageError(f"--page: {error}") from None
    now = datetime.now().astimezone()
    catalogue = catalogue_of(config)
    places = merely_shown(root, places_of(root, course))
    return page_of(
        course, places, syllabus, catalogue=catalogue, tag=torch_tag(), now=now, paths=paths
    )


def merely_shown(root: Path, places: Sequence[Place]) -> list[Place]:
    """Return the places; a kata whose tests have run while it was as given has not failed yet."""
    failing = [place.kata for place in places if place.state == "failing"]
    given = {kata.id for kata in katas_as_given(root, failing)}
    return [
        replace(place, state="new", standing=replace(place.standing, results=Results("", {})))
        if place.kata.id in given
        else place
        for place in places
    ]


def render_html(page: Page) -> str:
    """Return the page as HTML, which needs Jinja2."""
    try:
        return html_of(page)
    except ModuleNotFoundError:
        raise pytest.UsageError(ABSENT.format(install_group("page"))) from None
