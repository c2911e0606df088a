"""Which failures of a session are shown in full, and what is said of the others."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.guide import folding
from plugins.guide.failure import Failure
from plugins.guide.failure import cause_of
from plugins.guide.reading import Reading
from plugins.guide.steps import LabStep
from plugins.guide.steps import function_of


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Mapping


# In these tests with the numbers of tests in place of failures.
Folded: Any = folding.Folded
STEPS = [LabStep(number, 5, f"title {number}") for number in range(1, 6)]
KATA, OTHER = "lecture01/k01_first", "lecture01/k02_second"
SOURCE = "katas/lecture01/csrc/k01.cpp"


def failures(*messages: str, kata: str = KATA, source: str = "") -> list[Failure]:
    """Return failures with these messages; each of another test, whose name is a number."""
    numbers, reading = count(1), Reading(kata, "T", (), (), "")
    return [
        Failure(f"{kata}::{number}", *cause_of(message, source), reading)
        for message, number in zip(messages, numbers, strict=False)
    ]


def fold(
    failed: Iterable[Failure],
    given: Collection[str],
    steps: Mapping[str, Mapping[str, LabStep]] = MappingProxyType({}),
    unknown: Collection[str] = (),
) -> Any:
    """Fold failures of tests in these steps, and name each that is shown by its number."""
    placed = [
        replace(each, step=steps.get(each.kata, {}).get(function_of(each.test))) for each in failed
    ]
    folded: Any = folding.fold(placed, given, unknown)
    shown, named = (
        [int(function_of(each.test)) for each in some] for some in (folded.shown, folded.named)
    )
    return replace(folded, shown=shown, named=tuple(named))


def unwritten(*names: str) -> list[str]:
    """Return the messages of tests that reach what is to be written."""
    return [f"NotImplementedError: {name}" for name in names]


def test_nothing_fails() -> None:
    """Nothing is shown."""
    assert fold([], ()) == Folded([], {})


def test_an_untouched_kata_is_one_failure() -> None:
    """The others have one line, whatever they fail with."""
    messages = [*unwritten("parse", "parse", "parse"), "AssertionError: it raised another error"]

    folded = fold(failures(*messages), {KATA})

    assert folded == Folded([1], {KATA: ["3 more tests wait for parse"]})


def test_an_untouched_hunt_for_bugs_is_one_failure() -> None:
    """No code is missing in it, and each of its tests fails in its own way."""
    folded = fold(failures(*(f"AssertionError: {number}" for number in range(9))), {KATA})

    assert folded == Folded([1], {KATA: ["8 more tests fail too"]})


def test_a_test_that_fails_twice_is_one_test() -> None:
    """In the call and in the teardown; and xdist reports a module from each worker."""
    twice = [*failures("ValueError: a"), *failures("ValueError: b")]

    assert fold(twice, ()) == Folded([1, 1], {KATA: []})


def test_what_waits_is_named_in_the_order_of_the_tests() -> None:
    """Each name once."""
    folded = fold(failures(*unwritten("f", "h", "f", "g", "h")), ())

    assert folded.notes[KATA] == ["4 more tests wait for h, f and g"]


def test_many_names_make_one_line() -> None:
    """No line is wider than the terminal."""
    names = [f"a_function_with_a_name_{number}" for number in range(9)]

    (note,) = fold(failures(*unwritten(*names)), ()).notes[KATA]

    assert note.startswith("8 more tests wait for a_function_with_a_name_1, a_function")
    assert len(note) <= 78


@pytest.mark.parametrize(
    ("messages", "note"),
    [
        (unwritten("f", "f"), "1 more test waits for f"),
        (["NotImplementedError"] * 2, "1 more test waits for what is still to write"),
        (["ValueError: a"] * 2, "1 more test fails: ValueError: a"),
        (["ValueError: a"] * 3, "2 more tests fail: ValueError: a"),
    ],
)
def test_one_line_for_what_fails_alike(messages: list[str], note: str) -> None:
    """One test or several."""
    assert fold(failures(*messages), ()) == Folded([1], {KATA: [note]})


def test_of_a_kata_alone_three_different_failures_are_shown() -> None:
    """Those of code that is written first; what waits has a line."""
    messages = [
        *unwritten("g"),
        "AssertionError: a",
        "AssertionError: b",
        *unwritten("g"),
        "AssertionError: a",
        "AssertionError: c",
        "AssertionError: d",
    ]

    folded = fold(failures(*messages), ())

    assert folded.shown == [2, 3, 6]
    assert folded.notes[KATA] == [
        "2 more tests wait for g",
        "1 more test fails: AssertionError: a",
        "1 more test fails: AssertionError: d",
    ]


def test_where_nobody_knows_the_smallest_case_comes_first() -> None:
    """Without git's history: a kata may be untouched although a test fails in another way."""
    messages = [*unwritten("f", "f"), "AssertionError: no fma", *unwritten("g")]

    folded = fold(failures(*messages), (), unknown={KATA})

    assert folded.shown == [1]
    assert folded.notes[KATA] == [
        "2 more tests wait for f and g",
        "1 more test fails: AssertionError: no fma",
    ]
    written = failures("AssertionError: a", *unwritten("f"), "AssertionError: b")
    assert fold(written, (), unknown={KATA}).shown == [1, 3]


def test_of_several_katas_the_first_failure_each_is_shown() -> None:
    """The others have at most three lines."""
    messages = [f"AssertionError: {number}" for number in range(1, 7)]

    folded = fold([*failures(*messages), *failures("ValueError", kata=OTHER)], ())

    assert folded.shown == [1, 1]
    assert folded.notes == {
        KATA: [
            "1 more test fails: AssertionError: 2",
            "1 more test fails: AssertionError: 3",
            "3 more tests fail in other ways",
        ],
        OTHER: [],
    }


def test_one_more_fails_in_another_way() -> None:
    """The line is English for one test as well."""
    messages = [f"AssertionError: {number}" for number in range(7)]

    folded = fold(failures(*messages), ())

    assert folded.notes[KATA][-1] == "2 more tests fail in other ways"
    assert fold(failures(*messages[:2]), {KATA}).notes[KATA] == [
        "1 more test fails: AssertionError: 1"
    ]


def test_a_source_that_does_not_build_is_one_failure() -> None:
    """Its tests need one line together."""
    folded = fold(failures("error: a", "see above", "see above", source=SOURCE), ())

    assert folded == Folded([1], {KATA: [f"2 more tests wait for {SOURCE} to compile"]})


def in_steps(*numbers: int) -> dict[str, dict[str, LabStep]]:
    """Return the steps of `failures`, by their numbers; 0 stands for none."""
    tests = {str(place): STEPS[number - 1] for place, number in enumerate(numbers, 1) if number}
    return {KATA: tests}


def test_of_a_lab_the_first_unfinished_step_is_shown() -> None:
    """Its first test in full, its other tests in a line, and all later ones in another."""
    messages = [*unwritten("f"), "ValueError: a", *unwritten("g", "g", "g", "h"), "ValueError: b"]

    folded = fold(failures(*messages), (), in_steps(3, 3, 2, 2, 2, 4, 0))

    assert folded == Folded(
        [3],
        {
            KATA: [
                "step 2 of 5: title 2; 2 more tests wait for g",
                "step 3, step 4 and the tests after the steps: 4 more tests wait",
            ]
        },
    )


@pytest.mark.parametrize(
    ("numbers", "lines"),
    [
        ([1], ["step 1 of 5: title 1"]),
        ([1, 1], ["step 1 of 5: title 1; 1 more test waits for f"]),
        ([1, 2], ["step 1 of 5: title 1", "step 2: 1 more test waits"]),
        ([1, 2, 3], ["step 1 of 5: title 1", "step 2 and step 3: 2 more tests wait"]),
        ([1, 2, 3, 3, 4], ["step 1 of 5: title 1", "steps 2 to 4: 4 more tests wait"]),
        ([1, 0], ["step 1 of 5: title 1", "the tests after the steps: 1 more test waits"]),
        ([0, 0], ["1 more test waits for f"]),
    ],
)
def test_what_waits_for_a_step(numbers: list[int], lines: list[str]) -> None:
    """Steps are counted together; without a failing step the kata is as any other."""
    messages = unwritten(*["f"] * len(numbers))

    assert fold(failures(*messages), (), in_steps(*numbers)).notes == {KATA: lines}


def test_an_untouched_lab_has_one_line() -> None:
    """It names the first step."""
    messages = [*unwritten("f", "f", "g"), "ValueError: a"]

    folded = fold(failures(*messages), {KATA}, in_steps(1, 1, 2, 3))

    assert folded == Folded([1], {KATA: ["step 1 of 5: title 1; 3 more tests wait for f and g"]})


def test_a_test_of_a_step_that_fails_twice_is_one_test() -> None:
    """In the call and in the teardown."""
    twice = [*failures("ValueError: a"), *failures("ValueError: b")]

    folded = fold(twice, (), in_steps(1))

    assert folded == Folded([1, 1], {KATA: ["step 1 of 5: title 1"]})


def test_the_line_of_a_step_fits_the_terminal() -> None:
    """Whatever waits for it."""
    names = [f"a_function_with_a_name_{number}" for number in range(9)]

    (line,) = fold(failures(*unwritten(*names)), (), in_steps(*[1] * 9)).notes[KATA]

    assert line.startswith("step 1 of 5: title 1; 8 more tests wait for a_function_with")
    assert len(line) <= 78


def test_of_many_untouched_katas_the_first_eight_are_shown() -> None:
    """The others are named; one that was begun, or does not build, is shown wherever it stands."""
    names = [f"lecture01/k{number:02}_x" for number in range(1, 13)]
    failed = [
        each
        for name in names
        for each in failures(*unwritten("f", "f"), kata=name, source=SOURCE * (name == names[11]))
    ]
    failed = [replace(each, test=f"{each.kata}::{n}") for n, each in enumerate(failed)]
    folded = fold(failed, {*names} - {names[10]})

    assert frozenset(names[8:10]) == folded.brief
    first = [*range(0, len(failed), 2)]
    assert first == list(folded.named)
    assert [*first[:8], *first[10:]] == list(folded.shown)
    assert {"1 more test waits for f"} == {folded.notes[name][0] for name in names[:11]}
