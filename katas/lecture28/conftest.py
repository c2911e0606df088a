"""The fixture of lecture 28: a miniature framework, with an upstream, a fork and a clone.

``python -m katas.lecture28.conftest FOLDER`` creates them in an empty folder, to look around.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from katas.lecture28.repository import Branch
from katas.lecture28.repository import Clone
from katas.lecture28.repository import build


if TYPE_CHECKING:
    from collections.abc import Callable

    Kept = Callable[[Callable[[Path], Clone]], Clone]


@pytest.fixture
def tinytorch(tmp_path: Path) -> Callable[..., Clone]:
    """Return a function that creates the three repositories in the test's folder, like `build`."""
    count = 0

    def make(*branches: Branch, **options: object) -> Clone:
        nonlocal count
        count += 1
        return build(tmp_path / f"made{count}", *branches, **options)  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Return a function that calls its argument with a folder, or returns the previous result.

    The tests of a module share one repository: the first creates it and runs the answer. If the
    answer raises, each test creates it again.
    """
    made: dict[Callable[[Path], Clone], Clone] = {}

    def keep(make: Callable[[Path], Clone]) -> Clone:
        __tracebackhide__ = True
        if make not in made:
            made[make] = make(tmp_path_factory.mktemp("tinytorch"))
        return made[make]

    return keep


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="conftest", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.absolute()
    if folder.exists() and any(folder.iterdir()):
        parser.error(f"{folder} is not empty")
    build(folder)
