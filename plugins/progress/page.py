"""``--page FILE`` writes the page of the course, or its summary in Markdown; it runs nothing."""

from __future__ import annotations

import importlib.metadata
from datetime import datetime
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.course import course_key
from plugins.episodes import catalogue_of
from plugins.pagebuild import page_of
from plugins.pagehtml import html_of
from plugins.pagesummary import summary_of
from plugins.places import places_of
from plugins.reading import tag_of
from plugins.showing import configured
from plugins.showing import write_for
from plugins.syllabus import FILE
from plugins.syllabus import read_syllabus
from plugins.tomltable import TomlError


if TYPE_CHECKING:
    from plugins.pagedata import Page


MARKDOWN = ".md"
ABSENT = (
    "--page: Jinja2 is not installed; python -m pip install --group page, with pip 25.1 or newer. "
    "A FILE that ends in .md needs nothing."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("katas").addoption(
        "--page",
        metavar="FILE",
        help="Write the page of the course to FILE, or its summary if that ends in .md, and run "
        "nothing.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Write the file and end: no kata is imported, none is run."""
    wanted = config.getoption("page")
    if wanted is None or config.option.help:
        return None
    with configured(config):
        file = config.invocation_params.dir / wanted
        page = page_here(config)
        text = summary_of(page) if file.suffix == MARKDOWN else html(page)
        write_for("--page", file, text)
        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        reporter.line(f"wrote {wanted}: {file.resolve().as_uri()}")
    return 0


def page_here(config: pytest.Config) -> Page:
    """Return what there is to say of the whole course, from what is stored here."""
    root, course = config.rootpath, config.stash[course_key]
    try:
        syllabus = read_syllabus(root / FILE)
    except TomlError as error:
        raise pytest.UsageError(f"--page: {error}") from None
    now = datetime.now().astimezone()
    catalogue = catalogue_of(config)
    return page_of(
        course, places_of(root, course), syllabus, catalogue=catalogue, tag=torch_tag(), now=now
    )


def torch_tag() -> str:
    """Return the tag of the installed PyTorch, or ``main``."""
    try:
        return tag_of(importlib.metadata.version("torch"))
    except importlib.metadata.PackageNotFoundError:
        return tag_of(None)


def html(page: Page) -> str:
    """Return the page as HTML, which needs Jinja2."""
    try:
        return html_of(page)
    except ModuleNotFoundError:
        raise pytest.UsageError(ABSENT) from None
