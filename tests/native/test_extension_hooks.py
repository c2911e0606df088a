"""The hook by which another language takes part in the fixture ``extension``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.native.extension import Extension
from plugins.native.extension import ExtensionHooks


if TYPE_CHECKING:
    from collections.abc import Callable


PLAIN = Extension(Path("library.so"), "lecture01_k01", "k01.loud")


class Answer:
    """A plugin that answers the hook, and notes that it was asked."""

    def __init__(self, answer: Extension | None) -> None:
        self.answer = answer
        self.asked: list[bool] = []

    def pytest_kata_extension(self, loaded: bool) -> Extension | None:  # noqa: FBT001 - as the hook has it
        """Return the answer."""
        self.asked.append(loaded)
        return self.answer


@pytest.fixture
def call() -> Callable[..., Any]:
    """Return a function that calls the hook with these plugins registered."""

    def ask(*plugins: object) -> Any:
        manager = pytest.PytestPluginManager()
        manager.add_hookspecs(ExtensionHooks)
        for plugin in plugins:
            manager.register(plugin)
        return manager.hook.pytest_kata_extension(
            extension=PLAIN, libraries={}, kata=None, config=None, loaded=True
        )

    return ask


def test_without_another_language_there_is_no_answer(call: Callable[..., Any]) -> None:
    """The fixture returns its own extension then."""
    assert call() is None


def test_the_first_answer_counts(call: Callable[..., Any]) -> None:
    """The hook stops there: one extension, not a list of them."""
    last, first = Answer(None), Answer(PLAIN)

    assert PLAIN is call(last, first)
    assert ([], [True]) == (last.asked, first.asked)
