"""Skips a test marked ``@pytest.mark.backend("gloo")`` where that backend is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.machine.absent import require
from plugins.tools.capability import collect_by_name
from plugins.tools.capability import resolve_mark


if TYPE_CHECKING:
    from plugins.tools.capability import Capability


backends_key = pytest.StashKey["dict[str, Capability]"]()


def pytest_configure(config: pytest.Config) -> None:
    """Ask all plugins for their backends and document the marker."""
    known = collect_by_name("backend", config.hook.pytest_kata_backends(config=config))
    config.stash[backends_key] = known
    config.addinivalue_line(
        "markers",
        f"backend(name, ...): skip the test where one of these is missing: {', '.join(known)}.",
    )


def backends_of(node: pytest.Item) -> list[Capability]:
    """Return the backends named by the marks of `node`, its class and its module."""
    known = node.config.stash[backends_key]
    marks = node.iter_markers("backend")
    return [backend for mark in marks for backend in resolve_mark(mark, known, node.nodeid)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Report an unknown backend as a collection error, on every machine."""
    backends_of(metafunc.definition)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip before fixtures, which may take long or need what is missing."""
    require(item, backends_of(item))
