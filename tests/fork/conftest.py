"""The fork that most tests of the wing begin with, under git settings of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.fork import EXERCISE
from tests.support.fork import SETTINGS
from tests.support.fork import SOLVED
from tests.support.fork import Fork


if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True, scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Forks are copies of one that is built once."""
    Fork.templates = tmp_path_factory.mktemp("templates")


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the git settings of this machine."""
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def fork(tmp_path: Path) -> Fork:
    """A fork with one committed answer."""
    fork = Fork(tmp_path)
    fork.commit({EXERCISE: SOLVED})
    return fork
