"""``@pytest.mark.backend("gloo")`` skips a test where the backend it needs is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.absent import require
from plugins.capability import declared
from plugins.capability import named


if TYPE_CHECKING:
    from plugins.capability import Capability


backends_key = pytest.StashKey["dict[str, Capability]"]()


def pytest_configure(config: pytest.Config) -> None:
    """Ask all plugins for their backends and document the marker."""
    known = declared("backend", config.hook.pytest_kata_backends(config=config))
    config.stash[backends_key] = known
    config.addinivalue_line(
        "markers",
        f"backend(name, ...): skip the test where one of these is missing: {', '.join(known)}.",
    )


def backends_of(node: pytest.Item) -> list[Capability]:
    """Return the backends that the marks of `node`, its class and its module ask for."""
    known = node.config.stash[backends_key]
    marks = node.iter_markers("backend")
    return [backend for mark in marks for backend in named(mark, known, node.nodeid)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Refuse an unknown backend while collecting, on every machine."""
    backends_of(metafunc.definition)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip before any fixture is set up, which may take long or need what is missing."""
    require(item, backends_of(item))
