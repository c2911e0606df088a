"""Languages beside C++: how their sources become C++, and what they are built with.

A package names its languages by the hook ``pytest_kata_languages``. It gives names and no objects,
for the processes that build ahead of the tests know no hooks: they import the languages by name.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Mapping

    import pytest

    from plugins.native.tiers import Tier


class RewriteError(Exception):
    """A source that cannot be rewritten: what is wrong, and the line, from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


@dataclass(frozen=True)
class Language:
    """A language whose sources become C++.

    Attributes
    ----------
    suffix
        That of its sources, with the dot. Those of a kata are a library of their own, whose name
        ends with it, and which is built before the one with the operators.
    headers
        The suffixes of headers in the language; others are, too, if a source of it includes them.
    tier
        What the sources are built in.
    rewrite
        Returns a text as C++ with the same lines, or raises a `RewriteError`.
    before
        Returns a line for the compiler to read before the first source, from all that is rewritten,
        by the names that messages use; or an empty text.
    """

    suffix: str
    headers: tuple[str, ...]
    tier: Tier
    rewrite: Callable[[str], str]
    before: Callable[[Mapping[str, str]], str]


def language_names(config: pytest.Config) -> list[str]:
    """Return the names of all languages."""
    found = config.hook.pytest_kata_languages(config=config)
    return [name for names in reversed(found) for name in names]


def find_languages(names: Iterable[str]) -> tuple[Language, ...]:
    """Import languages by their names: ``package.module:NAME``."""
    return tuple(pkgutil.resolve_name(name) for name in names)
