"""The picture of lecture 03: drawn from PyTorch's graph, current, legible, and with words."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from plugins import ROOT
from tests.pictures import MEASURED


SVG = "{http://www.w3.org/2000/svg}"
PICTURE = ROOT / "docs/lecture03.svg"


def words(picture: str) -> list[str]:
    """Return the lines of text of a picture."""
    return [text.text or "" for text in ET.fromstring(picture).iter(f"{SVG}text")]  # noqa: S314 - ours


@pytest.mark.torch
def test_the_picture_is_current() -> None:
    """``nox -s pictures`` draws what is there: PyTorch's names, saves and order."""
    drawn = MEASURED[PICTURE.name]()

    assert PICTURE.read_text(encoding="utf-8") == drawn, "nox -s pictures"


def test_it_shows_the_graph() -> None:
    """Each node stands there, what it saves, and that the shared one waits."""
    told = words(PICTURE.read_text(encoding="utf-8"))
    nodes = [word for word in told if re.fullmatch(r"[A-Z]\w+", word)]

    assert 2 == nodes.count("AccumulateGrad")
    assert 6 == len(nodes)
    assert "4, waits for 2" in told
    assert {"saves other, self", "saves result", "saves no tensor"} <= {*told}


def test_it_is_legible_in_the_dark() -> None:
    """Each colour has a second one, and none is named elsewhere."""
    picture = PICTURE.read_text(encoding="utf-8")
    style, rest = picture.partition("</style>")[::2]
    bright, dark = style.split("prefers-color-scheme: dark")

    assert re.findall(r"--\w+(?=:)", bright) == re.findall(r"--\w+(?=:)", dark)
    assert [] == re.findall(r"#[0-9a-f]{6}", rest)


def test_it_has_words() -> None:
    """The README shows it with a text; the file has a title and a description of its own."""
    page = (ROOT / "katas/lecture03/README.md").read_text(encoding="utf-8")
    (alternative,) = re.findall(r"!\[([^]]+)\]\(\.\./\.\./docs/lecture03\.svg\)", page)
    picture = ET.fromstring(PICTURE.read_text(encoding="utf-8"))  # noqa: S314 - ours

    assert len(alternative) > 40
    assert picture.findtext(f"{SVG}title")
    assert "MulBackward0" in str(picture.findtext(f"{SVG}desc"))
