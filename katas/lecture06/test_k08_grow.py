"""Tests of k08_grow: forked processes read the data and report how many pages became their own."""

from __future__ import annotations

import gc
import json
import os
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture06.k08_grow import Captions


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


ROLLUP = Path("/proc/self/smaps_rollup")
COUNT = 100_000


def objects(start: object) -> int:
    """Return how many Python objects can be reached from an object's attributes."""
    waiting, seen = list(vars(start).values()), set()
    while waiting:
        each = waiting.pop()
        if id(each) not in seen and not isinstance(each, type):
            seen.add(id(each))
            waiting += gc.get_referents(each) if isinstance(each, tuple | list | dict) else []
    return len(seen)


def check(texts: Sequence[str], labels: Sequence[int]) -> None:
    """Compare the samples, and count the objects that hold them."""
    __tracebackhide__ = True
    captions = Captions(texts, labels)
    expected = list(zip(texts, labels, strict=True))
    yours = [captions[index] for index in range(len(expected))]

    assert len(expected) == len(captions), (
        f"your length is {len(captions)}, expected {len(expected)}"
    )
    assert yours == expected, f"yours {yours[:6]}, expected {expected[:6]}"
    for text, label in yours:
        assert (str, int) == (type(text), type(label)), (
            f"the types are {type(text)} and {type(label)}, expected str and int"
        )
    kept = objects(captions)
    assert kept <= 20, (
        f"{len(expected)} pairs are kept in {kept} Python objects, and reading an object writes"
        " its reference count; expected a few large ones"
    )


def test_a_few_texts() -> None:
    """Each text comes with its number."""
    check([f"caption {i * i}" for i in range(30)], range(30))


def test_texts_of_any_kind() -> None:
    """Texts may be empty, in other alphabets, or contain a zero or a newline."""
    texts = ["", "cat", "", "кошка", "猫", "🐈 and 🐕", "a\0b", "two\nlines", "end\0", ""]
    check(texts * 3, [i * 3 for i in range(30)])


def test_large_and_negative_labels() -> None:
    """Labels use all 64 bits."""
    check(["a", "b", "c"] * 9, [2**63 - 1, -(2**63), -1] * 9)


def test_the_ends_of_the_list() -> None:
    """A negative index counts from the end, and IndexError ends a ``for`` loop."""
    captions = Captions([str(i) for i in range(25)], range(25))
    yours = [captions[-1], captions[-25], captions[24]]

    assert [("24", 24), ("0", 0), ("24", 24)] == yours, (
        f"at -1, -25 and 24: yours {yours}, expected the last, the first and the last"
    )
    for index in (25, -26):
        with pytest.raises(IndexError):
            print(captions[index])  # noqa: T201 - shown if it does not raise
    assert 25 == len([*captions]), "a for loop does not end after 25 items"
    assert objects(captions) <= 20, (
        f"25 pairs are kept in {objects(captions)} Python objects, expected at most 20"
    )


def test_what_it_was_made_of_may_change() -> None:
    """The caller may change its lists and arrays later; and there may be no captions at all."""
    texts, labels = [f"t{i}" for i in range(25)], array("q", range(25))
    captions = Captions(texts, labels)
    texts[0], labels[0] = "other", 77
    yours, empty = captions[0], len(Captions([], []))

    assert ("t0", 0) == yours, (
        f"the caller changed its list afterwards, and now yours is {yours}, expected ('t0', 0)"
    )
    assert 0 == empty, f"without captions: your length is {empty}, expected 0"
    assert objects(captions) <= 20, (
        f"25 pairs are kept in {objects(captions)} Python objects, expected at most 20"
    )


def memory() -> dict[str, int]:
    """Return how many kB this process has written itself, and its PSS without files.

    PSS divides a shared page among the processes that share it. Pages of libraries are left out,
    since they would change whenever another process starts or ends.
    """
    rows = (line.split() for line in ROLLUP.read_text("ascii").splitlines())
    sizes = {row[0].rstrip(":"): int(row[1]) for row in rows if row[-1] == "kB"}
    return {name: sizes[name] for name in ("Private_Dirty", "Pss_Anon") if name in sizes}


def grown(read: Callable[[], None]) -> dict[str, int]:
    """Fork, read, and return by how many kB the child's memory has grown; empty if it failed."""
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            gc.disable()
            before = memory()
            read()
            after = memory()
            os.write(send, json.dumps({key: after[key] - before[key] for key in after}).encode())
            status = 0
        finally:
            os._exit(status)
    os.waitpid(child, 0)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        found: dict[str, int] = json.loads(pipe.read() or b"{}")
    return found


def test_a_worker_that_reads_grows_by_next_to_nothing() -> None:
    """Read each of a hundred thousand captions once; a plain list is read for comparison."""
    if not ROLLUP.exists():
        pytest.skip("private pages are counted in /proc/self/smaps_rollup: Linux has it")
    texts = [f"a caption with the number {i}" for i in range(COUNT)]
    captions = Captions(texts, range(COUNT))

    def read_list() -> None:
        for index in range(COUNT):
            len(texts[index])

    def read_yours() -> None:
        for index in range(COUNT):
            len(captions[index][0])

    torch.zeros(2).tolist()
    naive, yours = grown(read_list), grown(read_yours)

    assert yours, "your dataset raised an error in the worker"
    for name, most in naive.items():
        bar = most // 4
        assert yours[name] <= bar, (
            f"a forked worker read {COUNT} captions, and its {name} grew by {yours[name]} kB,"
            f" expected at most {bar}; with a list of texts {most}. Reading an object writes its"
            " reference count"
        )
