"""Renders the page of the course as one HTML file that loads nothing from the network.

Jinja2 escapes all text from feeds, tests and files. Besides, a Content-Security-Policy allows the
browser only our own script and style, by their hashes. Imports no pytest.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from plugins import HERE
from plugins.progress.drawing import SIZE
from plugins.progress.drawing import arc_paths
from plugins.progress.drawing import curve_of
from plugins.progress.pagedata import WORDS
from plugins.tools.text import ADDRESS
from plugins.tools.text import readable


if TYPE_CHECKING:
    from jinja2 import Environment

    from plugins.progress.pagedata import Page


FOLDER = HERE / "progress/templates"


def html_of(page: Page) -> str:
    """Return the page as HTML."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with Jinja2, which is optional

    style, script = (read_template(name) for name in ("page.css", "page.js"))
    return (
        make_environment()
        .get_template("page.html")
        .render(
            page=page,
            curve=curve_of(page.days, page.generated.date()),
            policy=make_policy(style, script),
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
            words=WORDS,
            size=SIZE,
        )
    )


def make_environment() -> Environment:
    """Return the templates with their filters and functions."""
    from jinja2 import Environment  # noqa: PLC0415 - an optional dependency
    from jinja2 import FileSystemLoader  # noqa: PLC0415
    from jinja2 import StrictUndefined  # noqa: PLC0415

    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Applied to everything that a template prints.
        finalize=lambda value: readable(value) if type(value) is str else value,
    )
    made.filters["web"] = web_address
    made.globals["arcs"] = arc_paths
    return made


def read_template(name: str) -> str:
    """Return the text of a file among the templates."""
    return (FOLDER / name).read_text(encoding="utf-8")


def make_policy(style: str, script: str) -> str:
    """Return a Content-Security-Policy for our style, our script and the episodes' audio."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{hash_source(style)}'",
            f"script-src '{hash_source(script)}'",
            "img-src data:",  # the empty icon, without which a browser asks for one
            "media-src http: https:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def hash_source(text: str) -> str:
    """Return the hash by which a Content-Security-Policy allows `text`."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def web_address(address: str) -> str:
    """Return an http or https address unchanged, and "" for any other."""
    return address if ADDRESS.fullmatch(address) else ""
