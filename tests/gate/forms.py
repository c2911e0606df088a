"""The gate as pytest tests: one per kata and answer, so that a failure names both."""

from __future__ import annotations

import re
import time
from operator import itemgetter
from typing import TYPE_CHECKING

import pytest

from plugins.tomltable import TomlError
from tests.gate.answers import answers_file
from tests.gate.answers import read_answers
from tests.gate.cases import read_gate
from tests.gate.changes import changed_lectures
from tests.gate.runner import HOME


if TYPE_CHECKING:
    from plugins.layout import Kata
    from tests.gate.cases import Gate
    from tests.gate.checks import Checks


gate_key = pytest.StashKey["Gate"]()
changed_key = pytest.StashKey[set[str]]()


def add_options(parser: pytest.Parser) -> None:
    """Add the options that say how much of the gate to run."""
    group = parser.getgroup("katas")
    group.addoption(
        "--gate",
        choices=("quick", "full"),
        default="quick",
        help="Try a sample of each kata's mutants and few repeats, or all (default: quick).",
    )
    group.addoption(
        "--gate-minutes",
        type=float,
        default=float("inf"),
        help="Try no further wrong answers and mutants this many minutes after the first.",
    )


def gate_of(config: pytest.Config) -> Gate:
    """Return the course of this repository, the lectures that changed first."""
    if gate_key not in config.stash:
        gate = read_gate(HOME)
        config.stash[changed_key] = changed = changed_lectures(HOME)
        config.stash[gate_key] = gate.sorted(lambda lecture: lecture.name not in changed)
    return config.stash[gate_key]


def per_kata(metafunc: pytest.Metafunc) -> None:
    """Give the test every kata."""
    katas = gate_of(metafunc.config).katas
    metafunc.parametrize("kata", katas, ids=[kata.id for kata in katas])


def per_wrong_answer(metafunc: pytest.Metafunc) -> None:
    """Give the test every wrong answer; a file that cannot be read gives none.

    The first answer of each kata, then the second of each, and so on: where time ends the gate,
    every kata has had its turn. Lectures that changed come before the others all the same.
    """
    gate = gate_of(metafunc.config)
    changed = metafunc.config.stash[changed_key]
    pairs = []
    for kata in gate.katas:
        file = answers_file(gate.tests, kata)
        try:
            answers = read_answers(file).wrong
        except TomlError:
            # tests/test_katas.py says so.
            continue
        pairs += [
            (kata.lecture not in changed, number, kata, answer)
            for number, answer in enumerate(answers, 1)
        ]
    pairs.sort(key=itemgetter(0, 1))
    params = [
        pytest.param(kata, answer, id=f"{kata.id}-{number}-{words(answer.because)}")
        for _, number, kata, answer in pairs
    ]
    metafunc.parametrize(("kata", "answer"), params)


def per_right_answer(metafunc: pytest.Metafunc) -> None:
    """Give the test every alternative solution."""
    gate = gate_of(metafunc.config)
    pairs = [
        pytest.param(kata, path, id=f"{kata.lecture}/{path.name}")
        for kata in gate.katas
        for path in gate.right(kata)
    ]
    metafunc.parametrize(("kata", "answer"), pairs)


def per_lecture(metafunc: pytest.Metafunc) -> None:
    """Give the test every lecture that has katas."""
    lectures = [each for each in gate_of(metafunc.config).course.lectures if each.katas]
    metafunc.parametrize("lecture", lectures, ids=[lecture.name for lecture in lectures])


def words(text: str) -> str:
    """Return a text as a part of a test's id."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def in_time(config: pytest.Config, started: float, kata: Kata) -> None:
    """Skip what there is no time for in this session; everything has its turn in `verify`."""
    minutes = config.getoption("gate_minutes")
    if time.monotonic() - started > 60 * minutes:
        pytest.skip(f"--gate-minutes {minutes:g} are over; nox -s verify -- {kata.lecture}")


def need(checks: Checks, kata: Kata) -> None:
    """Skip where this machine lacks what the whole kata needs; fail where no answer is red."""
    if absent := checks.absent(kata):
        pytest.skip(absent)
    if checks.solved(kata):
        pytest.fail(f"{kata.id} must pass with its solution first", pytrace=False)


def judge(kata: Kata, problems: list[str]) -> None:
    """Fail with what is wrong, if anything is."""
    if problems:
        pytest.fail("\n\n".join(f"{kata.id}: {problem}" for problem in problems), pytrace=False)
