"""Tests of k12_libraries: small graphs, then the libraries of this wheel and of this process."""

from __future__ import annotations

import shutil
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from katas.lecture01 import k12_libraries as kata


def needs(text: str) -> kata.Needed:
    """Return `needed` for a graph such as "a: b c, b: c"."""
    table = {line.split(":")[0].strip(): line.split(":")[1].split() for line in text.split(",")}
    return lambda name: tuple(table.get(name, ()))


def wheel() -> kata.Needed:
    """Return `needed` for the wheel, or skip if no tool can read it."""
    if shutil.which(kata.TOOL) is None:
        how = "xcode-select --install" if kata.TOOL == "otool" else "install binutils"
        pytest.skip(f"{kata.TOOL}, which reads shared libraries, is missing: {how}")
    if not kata.needed(kata.EXTENSION):
        pytest.skip(f"{kata.TOOL} finds nothing in {kata.EXTENSION}: is it another format?")
    return kata.needed


def check(start: str, needed: kata.Needed, expected: set[str]) -> list[str]:
    """Check which libraries are listed, and their order."""
    found = kata.closure(start, needed)
    assert set(found) == expected, f"you list {sorted(found)}\nexpected {sorted(expected)}"
    assert len(found) == len(expected), f"your code lists a library more than once: {found}"
    for name in found:
        for each in needed(name):
            assert found.index(each) < found.index(name), (
                f"{name} needs {each}, but {each} comes later: {found}"
            )
    return found


def test_a_library_alone() -> None:
    """The closure of a library that needs nothing is the library itself."""
    assert kata.closure("a", needs("a:")) == ["a"], "expected only the library itself"


def test_a_line() -> None:
    """A library comes after those that it needs."""
    found = kata.closure("a", needs("a: b, b: c"))

    assert found == ["c", "b", "a"], f"your closure is {found}, expected c, b, a"


def test_needed_by_two() -> None:
    """The library is listed once, before both; libraries that nobody needs are left out."""
    check("a", needs("a: b c d, b: d, c: d, e: a"), {"a", "b", "c", "d"})
    check("a", needs("a: d b, b: c, c: d"), {"a", "b", "c", "d"})
    check("a", needs("a: b d, b: c, c: d"), {"a", "b", "c", "d"})


def test_many_paths() -> None:
    """Forty layers of two have 2 ** 40 paths, so ask for each library's needs once."""
    text = ", ".join(f"a{i}: a{i + 1} b{i + 1}, b{i}: a{i + 1} b{i + 1}" for i in range(40))
    drawing = needs(text)
    asked: list[str] = []

    def counted(name: str) -> tuple[str, ...]:
        asked.append(name)
        assert len(asked) < 1000, (
            "your code visits libraries again and again: remember which ones you have seen"
        )
        return tuple(drawing(name))

    found = kata.closure("a0", counted)
    assert 80 + 1 == len(found), f"your list has {len(found)} libraries, expected 81"
    asked.clear()
    yours = kata.chain("a0", "b40", counted)
    assert 41 == len(yours), f"your chain has {len(yours)} libraries, expected 41"


def test_a_second_call_begins_anew() -> None:
    """A different graph has a different answer."""
    assert kata.closure("a", needs("a: b")) == ["b", "a"], "first graph: expected b, a"
    assert kata.closure("a", needs("a: c")) == ["c", "a"], "second graph: expected c, a"
    assert kata.chain("a", "c", needs("a: b, b: c")) == ["a", "b", "c"], "expected a, b, c"
    assert kata.chain("a", "c", needs("a: c")) == ["a", "c"], "second graph: expected a, c"


def test_chains() -> None:
    """Follow the arrows, not against them, along a shortest path."""
    drawing = needs("a: b c, b: d, c: e, d: e, e: f")
    cases = {"a": ["a"], "c": ["a", "c"], "e": ["a", "c", "e"], "d": ["a", "b", "d"], "x": []}
    for goal, expected in cases.items():
        found = kata.chain("a", goal, drawing)
        assert found == expected, f"from a to {goal} your chain is {found}, expected {expected}"
    assert kata.chain("e", "a", drawing) == [], "from e to a: a needs e, not the other way round"


def test_a_short_chain_that_is_found_late() -> None:
    """The first path that you find may not be the shortest."""
    drawing = needs("a: b z, b: c, c: d, d: goal, z: goal")
    found = kata.chain("a", "goal", drawing)

    assert found == ["a", "z", "goal"], (
        f"your chain is {found}, expected a, z, goal, which is shorter"
    )


def test_of_several_the_same_length() -> None:
    """Any shortest chain is right."""
    found = kata.chain("a", "d", needs("a: b c, b: d, c: d"))

    assert found in (["a", "b", "d"], ["a", "c", "d"]), (
        f"your chain is {found}, expected a, b, d or a, c, d"
    )


def test_the_extension() -> None:
    """From the tiny extension to the kernels: four layers of the wheel, and c10 below them."""
    needed = wheel()
    # Everything reachable from the extension: repeat until nothing new is found.
    expected, size = {kata.EXTENSION}, 0
    while size != len(expected):
        size = len(expected)
        expected |= {each for name in expected for each in needed(name)}
    found = check(kata.EXTENSION, needed, expected)
    own = [name for name in found if kata.path_of(name).is_file()]
    parts = [next(name for name in own if part in name) for part in ("c10", "torch_cpu")]

    assert own.index(parts[0]) < own.index(parts[1]), (
        f"c10 must come before torch_cpu, which needs it; your list is {own}"
    )
    yours = kata.chain(kata.EXTENSION, parts[0], needed)
    assert [yours[0], yours[-1]] == [kata.EXTENSION, parts[0]], (
        f"your chain from {kata.EXTENSION} to {parts[0]} is {yours}"
    )
    for name, each in pairwise(yours):
        assert each in needed(name), f"{name} does not need {each}: your chain is {yours}"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, which Linux has")
def test_this_process_has_them() -> None:
    """The libraries that you found for the extension are mapped into this process."""
    needed = wheel()
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    own = [name for name in kata.closure(kata.EXTENSION, needed) if kata.path_of(name).is_file()]
    missing = [name for name in own if f"/{name}" not in maps]

    assert len(own) >= 4, f"your list is {own}, expected at least 4 of PyTorch's libraries"
    assert missing == [], f"your list contains {missing}, but this process has not loaded them"
