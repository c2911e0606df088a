"""A course of one good kata for the tests of the gate, its proof, and the process that runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gate import ledger
from tests.gate import repeats
from tests.gate.ledger import Proof
from tests.gate.ledger import write_proof
from tests.gate.prove import Prover
from tests.gate.runner import Runner
from tests.support.smallkata import Small


if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import MiniCourse


KEPT: list[Proof] = []


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    """Return one warm process for all katas."""
    # Workers of xdist share the cores already.
    with Runner(1) as runner:
        yield runner


@pytest.fixture
def small(course: MiniCourse, runner: Runner) -> Small:
    """Return the course of one good kata."""
    return Small(course, runner)


@pytest.fixture
def proof(small: Small) -> Proof:
    """Return the proof of the good kata, which is entered; it is made once for all tests."""
    if not KEPT:
        row = Prover(small.checks).prove(small.kata)
        assert row.problems == []
        assert row.proof
        KEPT.append(row.proof)
    write_proof(small.kata, KEPT[0])
    return KEPT[0]


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof needs one repeat, where they are not what a test is about: half of its runs."""
    monkeypatch.setattr(repeats, "LEAST", 1)
    monkeypatch.setattr(repeats, "MOST", 1)


@pytest.fixture
def short(proof: Proof, once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prove with one repeat from now on, and let the ledger take that; the first has them all."""
    assert proof
    assert once is None
    monkeypatch.setattr(ledger, "LEAST", 1)
