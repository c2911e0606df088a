"""Devices, compilers and libraries that a test needs and this machine may lack."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Mapping
    from collections.abc import Sequence


@dataclass(frozen=True)
class Capability:
    """A name, and a probe that returns None or a sentence: what is missing, and how to get it."""

    name: str
    probe: Callable[[], str | None]

    @cached_property
    def missing(self) -> str | None:
        """Why it cannot be used here, or None if it can; the first access runs the probe."""
        try:
            reason = self.probe()
        except Exception as error:  # noqa: BLE001 - a probe runs code of drivers and of third parties
            reason = f"its probe failed with {type(error).__name__}: {error}"
        return None if reason is None else " ".join(reason.split())


def collect_by_name(kind: str, groups: Iterable[Sequence[Capability]]) -> dict[str, Capability]:
    """Return the capabilities of all plugins by name: the CPU first, then in alphabetical order.

    Test ids follow this order, which is the same on every machine.
    """
    known: dict[str, Capability] = {}
    for capability in (capability for group in groups for capability in group):
        if not capability.name.isidentifier():
            raise pytest.UsageError(f"the {kind} {capability.name!r} cannot be written as a mark")
        if capability.name in known:
            raise pytest.UsageError(f"two plugins declare the {kind} {capability.name!r}")
        known[capability.name] = capability
    return {name: known[name] for name in sorted(known, key=lambda name: (name != "cpu", name))}


def resolve_mark(
    mark: pytest.Mark, known: Mapping[str, Capability], nodeid: str
) -> list[Capability]:
    """Return the capabilities that a mark such as ``backend("gloo", "nvcc")`` names.

    Fails the test otherwise: during collection this is an error of one line.
    """
    names = [*mark.args, *mark.kwargs]
    if not names or any(name not in list(known) for name in names):
        asked = ", ".join(repr(name) for name in names)
        pytest.fail(
            f"{nodeid}: {mark.name}({asked}): expected one or more of {', '.join(known)}",
            pytrace=False,
        )
    return [known[name] for name in mark.args]
