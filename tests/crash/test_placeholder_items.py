"""A module whose import kills the process is one failed test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.crashes import IMPORTS
from tests.support.crashes import SOON
from tests.support.crashes import add_fault
from tests.support.crashes import add_import
from tests.support.crashes import expect_log
from tests.support.crashes import read_cases
from tests.support.crashes import read_log


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


@pytest.mark.parametrize("name", IMPORTS)
def test_a_fault_of_an_import_is_one_failed_test(kata: MiniCourse, name: str) -> None:
    """It replaces the tests of its module; those of other modules run."""
    fault = IMPORTS[name]
    first = add_import(kata, 1, name, fault.line)
    second = add_fault(kata, 2, "fine", "pass")

    result = kata.run("--junit-xml=report.xml", *SOON)

    result.assert_outcomes(failed=1, passed=3)
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "collected 4 items",
            f"katas/lecture01/test_{first}.py F*25%]",
            f"katas/lecture01/test_{second}.py ...*100%]",
            f"*import of test_{first}.py*",
            f"{fault.says} at katas/lecture01/{first}.py:*",
            f"katas/lecture01/test_{first}.py:1: in <module>",
            f"katas/lecture01/{first}.py:*: in <module>",
            f"FAILED katas/lecture01/test_{first}.py - Crashed: *",
            "*listen*#62 Strides*",
        ]
    )
    assert expect_log(second) == read_log(kata)
    assert ["properties", "failure"] == read_cases(kata)[f"katas.lecture01.test_{first}"]


def test_a_module_that_crashes_is_not_deselected(kata: MiniCourse) -> None:
    """Nor does it get lost when one of its tests is asked for by name."""
    name = add_import(kata, 1, "abort", "os.abort()")
    other = add_import(kata, 2, "exit", "sys.exit(1)")

    result = kata.run("-k", "nothing")
    named = kata.run(f"katas/lecture01/test_{name}.py::test_it")
    exit_named = kata.run(f"katas/lecture01/test_{other}.py::test_it")

    assert 2 == result.parseoutcomes()["failed"]
    named.assert_outcomes(failed=1)
    named.stdout.fnmatch_lines([f"FAILED katas/lecture01/test_{name}.py::test_it - Crashed: *"])
    exit_named.assert_outcomes(failed=1)


def test_an_ordinary_import_error_does_not_stop_the_others(kata: MiniCourse) -> None:
    """After a syntax error in one exercise, the rest of the lecture runs."""
    kata.kata(test="from katas.lecture01.k01_first import nothing\n", stub="def\n")
    kata.kata("k02_later", test="def test_later(): pass\n")

    kata.run().assert_outcomes(errors=1, passed=1)
