"""Every kata test has a seed of its own, the same on any machine and in any order."""

from __future__ import annotations

import random
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from plugins.course.seeds import seed_of
from plugins.course.seeds import set_seeds
from plugins.course.seeds import wants_hypothesis


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


DRAWS = """
import random
import numpy

def test_one():
    print("drawn one", random.random(), numpy.random.rand())

def test_two():
    print("drawn two", random.random(), numpy.random.rand())
"""


@pytest.fixture
def kata(course: MiniCourse) -> MiniCourse:
    """A course that loads what seeding needs."""
    course.plugins("plugins.course.session", "plugins.course.seeds")
    return course


def drawn(result: pytest.RunResult, name: str) -> str:
    """Return the line that a test printed."""
    (line,) = (line for line in result.outlines if f"drawn {name}" in line)
    return line[line.index("drawn") :]


def test_a_test_draws_the_same_alone_and_in_company(kata: MiniCourse) -> None:
    """Two tests draw differently from each other."""
    kata.kata(test=DRAWS)
    both = kata.run("-s")
    alone = kata.run("-s", "katas/lecture01/test_k01_first.py::test_two")

    assert drawn(both, "two") == drawn(alone, "two")
    assert drawn(both, "two").replace("two", "one") != drawn(both, "one")


def test_a_seed_changes_every_draw(kata: MiniCourse) -> None:
    """And the same seed repeats it."""
    kata.kata(test=DRAWS)
    first, again, other = (kata.run("-s", f"--seed={seed}") for seed in (3, 3, 4))

    assert drawn(first, "one") == drawn(again, "one")
    assert drawn(first, "one") != drawn(other, "one")


def test_foreign_tests_are_not_seeded(kata: MiniCourse) -> None:
    """A project's own tests keep their generators."""
    kata.write("other/test_other.py", DRAWS)
    first, second = (kata.run("-s", "other") for _ in range(2))

    assert drawn(first, "one") != drawn(second, "one")


@pytest.mark.torch
def test_torch_is_seeded_once_it_is_imported(kata: MiniCourse) -> None:
    """Its generator is set before each test."""
    test = """
    import torch

    def test_one():
        print("drawn one", torch.rand(()).item())
    """
    kata.kata(test=test)
    first, second = (kata.run("-s") for _ in range(2))

    assert drawn(first, "one") == drawn(second, "one")


HYPOTHESIS = """
from hypothesis import given, settings, strategies as st

@given(st.integers())
def test_profile(number):
    settings = settings_of()
    assert settings.deadline is None
    print("drawn", number)

def settings_of():
    return settings.default
"""

TWO_FAILURES = """
from hypothesis import given
from hypothesis import strategies as st

@given(number=st.integers())
def test_fails_in_two_ways(number):
    assert number < 10
    if number < -10:
        raise RuntimeError(number)
"""


def examples(result: pytest.RunResult) -> list[str]:
    """Return the numbers that hypothesis drew."""
    return [line for line in result.outlines if "drawn" in line]


def test_hypothesis_draws_the_same_without_a_deadline(kata: MiniCourse) -> None:
    """25 examples, the same in every run, others with a seed."""
    kata.kata(test=HYPOTHESIS)
    kata.kata("k02_second", test=HYPOTHESIS)
    file = "katas/lecture01/test_k01_first.py"
    first, second = (kata.run("-s", file) for _ in range(2))
    seeded = [kata.run("-s", "--seed=5", file) for _ in range(2)]

    first.assert_outcomes(passed=1)
    assert 25 == len(examples(first))
    assert examples(first) == examples(second)
    assert examples(seeded[0]) != examples(seeded[1])
    kata.run().assert_outcomes(passed=2)


def test_hypothesis_shows_one_failure_at_a_time(kata: MiniCourse) -> None:
    """A learner fixes one after the other; no plugin looks into an ExceptionGroup."""
    kata.kata(test=TWO_FAILURES)
    result = kata.run()

    result.assert_outcomes(failed=1)
    assert "ExceptionGroup" not in result.stdout.str()


def test_an_explicit_profile_wins(kata: MiniCourse) -> None:
    """``--hypothesis-profile`` replaces that of the katas."""
    kata.kata(test=HYPOTHESIS)
    lines = (
        (kata.path / "conftest.py").read_text(),
        "from hypothesis import settings",
        "settings.register_profile('few', max_examples=3, deadline=None)",
    )
    kata.write("conftest.py", "\n".join(lines))

    result = kata.run("-s", "--hypothesis-profile=few")

    assert 3 == len(examples(result))


def test_seeds_are_thirty_two_bits_and_differ() -> None:
    """A test's seed follows from its name and the session's seed alone."""
    seeds = {seed_of(node, seed) for node in ("a", "b") for seed in (0, 1)}

    assert 4 == len(seeds)
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert seed_of("a", 0) == seed_of("a", 0)


def test_hypothesis_is_not_imported_for_others() -> None:
    """Only a module whose text contains its name needs it."""
    assert wants_hypothesis(b"from hypothesis import given")
    assert not wants_hypothesis(b"import torch")


@pytest.mark.parametrize(
    ("accelerator", "devices", "seeded"),
    [(None, True, "the CPU"), ("cuda", True, "all"), ("cuda", False, "the CPU")],
)
def test_each_device_that_torch_is_built_for_is_seeded(
    monkeypatch: pytest.MonkeyPatch, *, accelerator: str | None, devices: bool, seeded: str
) -> None:
    """And no other: torch would keep a note of the seed for each that it lacks.

    None is while one is broken, which would raise its fault in each test.
    """
    calls: list[str] = []
    stand_in = SimpleNamespace(
        accelerator=SimpleNamespace(current_accelerator=lambda: accelerator),
        default_generator=SimpleNamespace(manual_seed=lambda _: calls.append("the CPU")),
        manual_seed=lambda _: calls.append("all"),
    )
    monkeypatch.setitem(sys.modules, "torch", stand_in)
    monkeypatch.delitem(sys.modules, "numpy", raising=False)
    before = random.getstate()

    set_seeds(1, devices=devices)

    random.setstate(before)
    assert [seeded] == calls
