"""Languages beside C++: who names them, and how they are found."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from plugins.course import hooks
from plugins.native.languages import RewriteError
from plugins.native.languages import find_languages
from plugins.native.languages import language_names
from tests.support.native import LOUD


class Plugin:
    """A plugin that names languages."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def pytest_kata_languages(self) -> tuple[str, ...]:
        """Return them."""
        return self.names


def test_hook_languages() -> None:
    """Each plugin names its own, in the order of the plugins."""
    manager = pytest.PytestPluginManager()
    manager.add_hookspecs(hooks)
    for plugin in (Plugin("a:A", "b:B"), Plugin("c:C")):
        manager.register(plugin)
    config: Any = SimpleNamespace(hook=manager.hook)

    assert ["a:A", "b:B", "c:C"] == language_names(config)


def test_a_language_is_an_object_in_a_module() -> None:
    """One that is missing says so where it was asked for."""
    assert (LOUD,) == find_languages(["tests.support.native:LOUD"])

    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        find_languages(["no_such_package.language:LOUD"])


def test_what_cannot_be_rewritten_has_a_line() -> None:
    """The message of the learner's error begins with it."""
    error = RewriteError(3, "no questions")

    assert (3, "no questions") == (error.line, str(error))
