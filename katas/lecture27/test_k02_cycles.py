"""Tests of k02_cycles: your answers against the callback of a weak reference."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import TYPE_CHECKING

import pytest

from katas.lecture27.k02_cycles import CASES
from katas.lecture27.k02_cycles import collector_off
from katas.lecture27.k02_cycles import fate
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


class Thing:
    """Something to refer to."""

    def __init__(self, *, itself: bool = False) -> None:
        self.me = self if itself else None


KEPT: list[Thing] = []


def kept() -> Thing:
    """Return an object that is also in a list."""
    KEPT.append(Thing())
    return KEPT[-1]


def old() -> Thing:
    """Return a cycle that has survived three collections, so a quick one skips it."""
    thing = Thing(itself=True)
    for _ in range(3):
        gc.collect()
    return thing


def state() -> tuple[object, ...]:
    """Return the collector's other settings, and the objects it has set aside."""
    return gc.get_threshold(), gc.get_debug(), gc.get_freeze_count(), len(gc.garbage)


def measured(make: Callable[[], object]) -> str:
    """Return when a callback reports that the object was freed."""
    gone: list[int] = []
    with collector_off():
        watch = weakref.finalize(make(), gone.append, 1)
        watch.atexit = False
        if gone:
            return "immediately"
        gc.collect()
        return "collected" if gone else "kept"


def check(name: str, make: Callable[[], object]) -> None:
    """Compare your answer with the callback's."""
    __tracebackhide__ = True
    with warnings.catch_warnings():
        # PyTorch warns about the cycle that create_graph makes.
        warnings.simplefilter("ignore")
        yours, expected = fate(make), measured(make)
    assert yours == expected, f"{name}: yours {yours!r}, expected {expected!r}"


def test_without_a_cycle() -> None:
    """The last reference is removed when make has returned."""
    check("an object", Thing)


def test_a_cycle() -> None:
    """An object that refers to itself, and may be old."""
    check("a cycle", lambda: Thing(itself=True))
    check("an old cycle", old)


def test_what_is_held() -> None:
    """An object in a list that stays alive is kept."""
    check("an element of a list", kept)


@pytest.mark.parametrize("name", CASES)
def test_pytorch(name: str) -> None:
    """Your answer for each of CASES agrees with a callback."""
    check(name, CASES[name])


def test_make_is_called_one_time() -> None:
    """The returned object may be large, so call make once."""
    calls: list[int] = []

    def make() -> Thing:
        calls.append(1)
        return Thing(itself=True)

    fate(make)
    assert len(calls) == 1, f"your code calls make {len(calls)} times, expected once"


@pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
def test_the_collector_is_as_it_was(on: bool) -> None:  # noqa: FBT001 - a parameter
    """The collector stays on or off, even if make raises; nothing is frozen or in gc.garbage."""
    was, before = gc.isenabled(), state()
    try:
        (gc.enable if on else gc.disable)()
        with unchanged():
            fate(Thing)
            fate(lambda: Thing(itself=True))
        with pytest.raises(ZeroDivisionError):
            fate(lambda: 1 / 0)
        after, left = gc.isenabled(), state()
    finally:
        (gc.enable if was else gc.disable)()
    assert after == on, f"the collector was {on}, but your code leaves it {after} (True means on)"
    says = f"thresholds, debug, frozen, garbage: yours leaves {left}, expected {before}"
    assert left == before, says


def test_it_does_not_run_meanwhile() -> None:
    """A busy make could trigger the collector, and a cycle would seem freed immediately."""
    seen: list[bool] = []

    def make() -> Thing:
        seen.append(gc.isenabled())
        return Thing(itself=True)

    fate(make)
    assert not any(seen), "your code leaves the collector on while make runs; turn it off"
