"""The lines of the lectures' READMEs print what stands below them."""

from __future__ import annotations

import doctest
import re
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT


if TYPE_CHECKING:
    from pathlib import Path


PAGES = [
    page
    for page in sorted((ROOT / "katas").glob("lecture*/README.md"))
    if ">>> " in page.read_text(encoding="utf-8")
]


@pytest.mark.torch
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_an_exploration_prints_what_it_says(page: Path) -> None:
    """Each block is a program of its own, as a reader pastes it."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^( *)```python\n( *>>> .*?)^\1```", text, re.DOTALL | re.MULTILINE)
    runner = doctest.DocTestRunner(verbose=False)
    said: list[str] = []
    for number, (_, block) in enumerate(blocks, 1):
        test = doctest.DocTestParser().get_doctest(block, {}, f"block {number}", str(page), 0)
        runner.run(test, out=said.append)

    assert runner.failures == 0, "".join(said)
    assert runner.tries >= len(blocks) > 0
