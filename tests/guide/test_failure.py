"""A failure as data: its cause, and its way through JSON."""

from __future__ import annotations

import json

import pytest

from plugins.guide.failure import PROPERTY
from plugins.guide.failure import Failure
from plugins.guide.failure import ShownFrame
from plugins.guide.failure import cause_of
from plugins.guide.failure import failure_among
from plugins.guide.reading import Pointer
from plugins.guide.reading import Reading
from plugins.guide.steps import LabStep


SOURCE = "katas/lecture01/csrc/k01.cpp"
READING = Reading(
    "lecture01/k01_first",
    "The title",
    (Pointer("a.h: A", "https://a"), Pointer("b.h: B", "https://b")),
    (Pointer("#62 Strides, 20:31", "https://c", "why \N{SNOWMAN}"),),
    "pytest --hint",
    ("katas/lecture01/k07_old.py",),
)
FAILURE = Failure(
    "katas/lecture01/test_k01_first.py::test_it[cpu]",
    "fails",
    "AssertionError: \x1b[31mone",
    READING,
    LabStep(2, 5, "all operators"),
    (ShownFrame("k01.py", 3, ("k01.py:3: in f", "    return 1")), ShownFrame("k01.py", 4)),
    ("AssertionError: \x1b[31mone", ""),
    7,
    ("katas/lecture01/test_k01_first.py::test_it[cpu]",),
)


def test_a_failure_comes_back_as_it_was() -> None:
    """As JSON in ASCII, which XML can hold too, whatever the test has printed."""
    name, text = FAILURE.to_property()

    assert (PROPERTY, True) == (name, text.isascii() and text.isprintable())
    assert failure_among([("kata", "k01"), (name, text)]) == FAILURE
    assert (
        failure_among([tuple(pair) for pair in json.loads(json.dumps([(name, text)]))]) == FAILURE
    )
    assert "lecture01/k01_first" == FAILURE.kata


def test_other_properties_are_no_failure() -> None:
    """Those of a test that passes, and of the project's own tests."""
    assert failure_among([]) is None
    assert failure_among([("kata", "k01")]) is None


@pytest.mark.parametrize(
    ("message", "kind", "what"),
    [
        ("NotImplementedError: parse_schema", "unwritten", "parse_schema"),
        ("NotImplementedError: TODO: Scan::forward", "unwritten", "Scan::forward"),
        ("NotImplementedError: kata_axpy is yet to be written", "unwritten", "kata_axpy"),
        ("NotImplementedError: rank 2 of 4: shard\n\nranks 0, 1", "unwritten", "shard"),
        ("NotImplementedError", "unwritten", ""),
        ("E   In the process:\nE   NotImplementedError: TODO: empty", "unwritten", "empty"),
        (
            "NotImplementedError: Could not run 'aten::add' with arguments from Meta",
            "fails",
            "NotImplementedError: Could not run 'aten::add' with arguments from Meta",
        ),
        ("AssertionError: one\ntwo", "fails", "AssertionError: one"),
        ("Failed: \nthe second line", "fails", "Failed: the second line"),
        ("AssertionError", "fails", "AssertionError"),
        ("", "fails", ""),
    ],
)
def test_the_cause_of_a_message(message: str, kind: str, what: str) -> None:
    """What is unwritten is told from PyTorch's own NotImplementedError, by its message."""
    assert (kind, what) == cause_of(message)


def test_a_source_that_does_not_build_is_the_cause_whatever_the_message() -> None:
    """The native plugin says so."""
    assert ("unbuilt", SOURCE) == cause_of("NotImplementedError: f", SOURCE)
