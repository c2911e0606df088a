"""Keeps what is promised of a kata, whatever other plugins the learner's environment has.

The tests of a kata stand from the smallest case to the largest, and a failing kata is told by one
of them: that is no order to shuffle, as pytest-randomly does, and no list to print as it grows, as
the terminals of pytest-sugar and pytest-pretty do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.course.session import kata_of
from plugins.guide.shorten import shows_all


if TYPE_CHECKING:
    from collections.abc import Generator
    from collections.abc import Sequence


# The modules of plugins that put a terminal reporter of their own in the place of pytest's.
REPORTERS = {"pytest_sugar": "pytest-sugar", "pytest_pretty": "pytest-pretty"}
OFF = "katas: without {}, as a kata shows one failing test; -v shows all, and by it"
# Options that change what is promised, and what is said of them. With pytest 9.2
# pytest-forked 1.7.5 fails all tests of any project.
ASKED = {
    "instafail": "katas: --instafail shows each failure at once, a kata's others too",
    "forked": "katas: a crash is one failed test without --forked too, which may fail them all",
}
# Options of pytest's own that order tests.
ORDERS = ("failedfirst", "newfirst")

off_key = pytest.StashKey[list[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Turn other terminals off before they are configured, unless all failures are asked for."""
    manager = config.pluginmanager
    config.stash[off_key] = off = []
    for plugin in () if shows_all(config) else manager.get_plugins():
        if name := REPORTERS.get(getattr(plugin, "__name__", "")):
            manager.unregister(plugin)
            off.append(name)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is off, and what the learner has asked for."""
    off = config.stash.get(off_key, [])
    lines = [OFF.format(" and ".join(sorted(off)))] if off else []
    return [*lines, *(line for name, line in ASKED.items() if config.getoption(name, None))]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Let the tests of a kata stand together and in their order, whoever shuffles."""
    given = {item: place for place, item in enumerate(items)}
    yield
    if not any(config.getoption(name, None) for name in ORDERS):
        items[:] = keep_order(items, given)


def keep_order(items: Sequence[pytest.Item], given: dict[pytest.Item, int]) -> list[pytest.Item]:
    """Return the tests with those of each kata where its first one stands, in the order `given`.

    Tests that are not given stay behind those of their kata that are.
    """
    places = [given.get(item, len(given)) for item in items]
    if places == sorted(places):
        return [*items]
    tests: dict[object, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.path if kata_of(item) else item, []).append(item)
    return [
        item
        for own in tests.values()
        for item in sorted(own, key=lambda each: given.get(each, len(given)))
    ]
