"""The gate as pytest tests: one per kata or lecture, so a failure names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gate.cases import read_gate
from tests.gate.runner import HOME


if TYPE_CHECKING:
    from plugins.course.model import Kata
    from tests.gate.cases import Gate


gate_key = pytest.StashKey["Gate"]()


def gate_of(config: pytest.Config) -> Gate:
    """Return the course of this repository."""
    if gate_key not in config.stash:
        config.stash[gate_key] = read_gate(HOME)
    return config.stash[gate_key]


def per_kata(metafunc: pytest.Metafunc) -> None:
    """Parametrize the test with every kata."""
    katas = gate_of(metafunc.config).katas
    metafunc.parametrize("kata", katas, ids=[kata.id for kata in katas])


def per_lecture(metafunc: pytest.Metafunc) -> None:
    """Parametrize the test with every lecture that has katas."""
    lectures = [each for each in gate_of(metafunc.config).course.lectures if each.katas]
    metafunc.parametrize("lecture", lectures, ids=[lecture.name for lecture in lectures])


def judge(kata: Kata, problems: list[str]) -> None:
    """Fail the test if there are problems."""
    if problems:
        pytest.fail("\n\n".join(f"{kata.id}: {problem}" for problem in problems), pytrace=False)
