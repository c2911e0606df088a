"""What one wing notes on a test or on the configuration, for wings that must not import it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Poisoned:
    """A device that a fault has broken for this process, why it is, and by which test."""

    device: str
    why: str
    nodeid: str


# Set by --watch: called with what takes long just now, which its own clock shows.
status_key = pytest.StashKey[Callable[[str], None]]()
# Set on a test that fails because a source does not build: the source's path, as messages have it.
unbuilt_key = pytest.StashKey[str]()
# On a test: the devices and backends that it needs and this machine has.
found_key = pytest.StashKey[list[str]]()
# On the configuration: the descriptor of the file for the stack of this process, should it die.
stack_key = pytest.StashKey[int]()
# On the configuration: the names of the devices that a test can be marked with.
devices_key = pytest.StashKey[tuple[str, ...]]()
# On the configuration: the device that is broken in this process, if there is one.
poisoned_key = pytest.StashKey[Poisoned]()
# On the configuration, by the crash guard: another process goes on where this one ends.
replaced_key = pytest.StashKey[bool]()


def devices_of(item: pytest.Item) -> list[str]:
    """Return the names of the devices that `item` is marked with: one, or none for most tests."""
    return [
        name for name in item.config.stash.get(devices_key, ()) if item.get_closest_marker(name)
    ]
