"""Blind runs: how people fare who solve a stub and have seen neither its tests nor its solution."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.gate.ledger import SHORT
from tests.gate.ledger import proof_file
from tests.gate.ledger import read_proof
from tests.gate.ledger import write_proof
from tests.gate.overlay import right_laid_over
from tests.gate.proof_key import text_of


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.course.model import Kata
    from tests.gate.checks import Checks


def enter_blind_run(checks: Checks, kata: Kata, answer: Path) -> str:
    """Run the tests with the answer, add a line to the kata's entry, and return it in words.

    Raises
    ------
    OSError, ProofError
        If there is no answer, or no entry yet that can be read.
    """
    proof = read_proof(proof_file(kata))
    with right_laid_over(kata, answer) as folder:
        tests = checks.runner.one(checks.run_of(kata, folder)).tests
    tests = tuple(test for test in tests if test.outcome != "skipped")
    passed = sum(test.outcome == "passed" for test in tests)
    day = dt.datetime.now(tz=dt.UTC).date().isoformat()
    line = {"date": day, "tests": len(tests), "passed": passed, "text": text_of(kata)[:SHORT]}
    write_proof(kata, replace(proof, blind=[*proof.blind, line]))
    return f"{kata.id}: {passed} of {len(tests)} tests pass"
