"""The page of the course as one HTML file that asks the network for nothing. No pytest.

Whatever comes from a feed, a test or a file is escaped by Jinja2. The browser is told as well to
run no script and no style but ours, which the policy names by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.catalogue import ADDRESS
from plugins.history import curve_of
from plugins.pagedata import WORDS
from plugins.ring import SIZE
from plugins.ring import arcs


if TYPE_CHECKING:
    from jinja2 import Environment

    from plugins.pagedata import Page


FOLDER = Path(__file__).parent / "page"
COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# What could hide or reorder text: control characters, marks of direction, half characters.
UNREADABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def html_of(page: Page) -> str:
    """Return the file's text."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with Jinja2, which is optional

    style, script = (text_of(name) for name in ("page.css", "page.js"))
    return (
        environment()
        .get_template("page.html")
        .render(
            page=page,
            curve=curve_of(page.days, page.generated.date()),
            policy=policy(style, script),
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - likewise
            words=WORDS,
            size=SIZE,
        )
    )


def environment() -> Environment:
    """Return the templates, and what they can call."""
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
        # Every text that is put into the page passes through it.
        finalize=lambda value: readable(value) if type(value) is str else value,
    )
    made.filters["web"] = web
    made.globals["arcs"] = arcs
    return made


def text_of(name: str) -> str:
    """Return a file of ours as it shall stand in the page."""
    return (FOLDER / name).read_text(encoding="utf-8")


def policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy: our style, our script, episodes; nothing else."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{digest(style)}'",
            f"script-src '{digest(script)}'",
            "img-src data:",  # the empty icon, without which a browser asks for one
            "media-src http: https:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def digest(text: str) -> str:
    """Return the hash by which a policy allows `text`."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def readable(text: str) -> str:
    """Return `text` without a terminal's colours; what could deceive the eye is shown as U+FFFD."""
    return UNREADABLE.sub("\ufffd", COLOURS.sub("", text))


def web(address: str) -> str:
    """Return an address on the web as it is, and "" for any other."""
    return address if ADDRESS.fullmatch(address) else ""
