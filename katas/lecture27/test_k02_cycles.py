"""Tests of k02_cycles: the test hears of a death by a callback, and compares."""

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
    """Return what a list holds as well."""
    KEPT.append(Thing())
    return KEPT[-1]


def old() -> Thing:
    """Return a cycle that has outlived three collections: a quick one leaves it alone."""
    thing = Thing(itself=True)
    for _ in range(3):
        gc.collect()
    return thing


def state() -> tuple[object, ...]:
    """Return what else can be set on the collector, and what it has put aside."""
    return gc.get_threshold(), gc.get_debug(), gc.get_freeze_count(), len(gc.garbage)


def measured(make: Callable[[], object]) -> str:
    """Return when a callback says that the object has gone."""
    gone: list[int] = []
    with collector_off():
        watch = weakref.finalize(make(), gone.append, 1)
        watch.atexit = False
        if gone:
            return "immediately"
        gc.collect()
        return "collected" if gone else "kept"


def check(name: str, make: Callable[[], object]) -> None:
    """Compare."""
    __tracebackhide__ = True
    with warnings.catch_warnings():
        # PyTorch warns of the cycle that create_graph makes.
        warnings.simplefilter("ignore")
        yours, expected = fate(make), measured(make)
    assert yours == expected, f"{name}: yours {yours!r}, expected {expected!r}"


def test_without_a_cycle() -> None:
    """The last reference goes when make has returned."""
    check("an object", Thing)


def test_a_cycle() -> None:
    """It refers to itself, and it may be old."""
    check("a cycle", lambda: Thing(itself=True))
    check("an old cycle", old)


def test_what_is_held() -> None:
    """A list that lives on has it."""
    check("an element of a list", kept)


@pytest.mark.parametrize("name", CASES)
def test_pytorch(name: str) -> None:
    """Your answer for each of CASES is what a callback says."""
    check(name, CASES[name])


def test_make_is_called_one_time() -> None:
    """What it returns may be large."""
    calls: list[int] = []

    def make() -> Thing:
        calls.append(1)
        return Thing(itself=True)

    fate(make)
    assert len(calls) == 1, f"yours calls make {len(calls)} times, expected once"


@pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
def test_the_collector_is_as_it_was(on: bool) -> None:  # noqa: FBT001 - a parameter
    """On or off, also where make raises; nothing is frozen, and nothing in gc.garbage."""
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
    assert after == on, f"the collector was {on}, and yours leaves it {after}; True is on"
    says = f"thresholds, debug, frozen, garbage: yours leaves {left}, expected {before}"
    assert left == before, says


def test_it_does_not_run_meanwhile() -> None:
    """A busy make would have it run by itself, and a cycle would be gone at once."""
    seen: list[bool] = []

    def make() -> Thing:
        seen.append(gc.isenabled())
        return Thing(itself=True)

    fate(make)
    assert not any(seen), "yours leaves the collector on while make runs, expected it off"
