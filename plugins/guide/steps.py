"""The steps of a lab: tests that say ``@pytest.mark.step(2, "all operators")`` fail together.

They are read from the text of the test module, which is there also where nothing runs: for the
page and the JSON. `plugins.guide.marks` refuses what makes no steps, and what the text does not
show. Imports neither pytest nor torch.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plugins.tools.text import parse_python


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence
    from pathlib import Path


STEP, GIVEN = "pytest.mark.step", "pytest.mark.given"
EXPECTED = 'expected @pytest.mark.step(2, "all operators"): a number from 1 on and a title'


@dataclass(frozen=True, order=True)
class LabStep:
    """A step of a lab, by its number."""

    number: int
    of: int
    title: str

    def __str__(self) -> str:
        """``step 2 of 5: all operators``."""
        return f"step {self.number} of {self.of}: {self.title}"


@dataclass(frozen=True)
class Marked:
    """A test function, the arguments of each mark that puts it in a step, and if it is given."""

    test: str
    marks: tuple[tuple[object, ...], ...] = ()
    given: bool = False

    @property
    def step(self) -> tuple[int, str] | None:
        """The number and the title, or None if it is in no step, or its marks are wrong."""
        match self.marks:
            case ((int() as number, str() as title),) if number is not True and number > 0:
                return (number, title) if title.strip() else None
        return None


def read_marked(text: str) -> list[Marked]:
    """Return the tests of a module with this text, in their order."""
    body = parse_python(text).body
    named = {
        target.id: node.value
        for node in body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = []
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            marks = [
                named.get(it.id, it) if isinstance(it, ast.Name) else it
                for it in node.decorator_list
            ]
            given = any(ast.unparse(mark) == GIVEN for mark in marks)
            found.append(Marked(node.name, tuple(_arguments(marks)), given))
    return found


def _arguments(marks: Iterable[ast.expr]) -> Iterator[tuple[object, ...]]:
    for mark in marks:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == STEP:
            yield (*map(_value, mark.args), *(... for _ in mark.keywords))
        elif ast.unparse(mark) == STEP:
            yield ()


def _value(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else ...


def read_steps(file: Path) -> dict[str, LabStep]:
    """Return the step of each test function that is in one, in their order."""
    try:
        text = file.read_text(encoding="utf-8")
        # Most modules have no steps, and need not be parsed.
        return steps_of(read_marked(text)) if STEP in text else {}
    except (OSError, ValueError, SyntaxError):
        return {}


def steps_of(tests: Iterable[Marked]) -> dict[str, LabStep]:
    """Return the step of each test function that is in one."""
    found = {test.test: test.step for test in tests if test.step}
    last = max((number for number, _ in found.values()), default=0)
    return {test: LabStep(number, last, title) for test, (number, title) in found.items()}


def wrong_steps(tests: Sequence[Marked]) -> Iterator[str]:
    """Return what is wrong with the steps of a module: a line each."""
    titles: dict[int, dict[str, str]] = {}
    for test in tests:
        if len(test.marks) > 1:
            yield f"{test.test} is in {len(test.marks)} steps: a test is in one"
        elif test.marks and not test.step:
            yield f"{test.test}: {EXPECTED}"
        elif test.step:
            number, title = test.step
            titles.setdefault(number, {}).setdefault(title, test.test)
    for number, named in titles.items():
        if len(named) > 1:
            names = " and ".join(f"{title!r} by {test}" for title, test in named.items())
            yield f"step {number} has one title, and is called {names}"
    missing = {*range(1, max(titles, default=0))} - {*titles}
    yield from (f"step {number} has no test: number the steps from 1 on" for number in missing)
    yield from out_of_order(tests)


def out_of_order(tests: Iterable[Marked]) -> Iterator[str]:
    """Return which tests stand before an earlier step, and which in no step come too early.

    Tests that are given pass from the beginning, and may stand anywhere.
    """
    reached, passed = 0, ""
    for test in tests:
        if test.step:
            number, _ = test.step
            if passed:
                yield f"{passed} is in no step, so it comes after {test.test}, which is in one"
            if number < reached:
                yield f"{test.test} is in step {number}, so it comes before those of step {reached}"
            reached, passed = max(reached, number), ""
        elif not (test.marks or test.given):
            passed = passed or test.test


def function_of(test: str) -> str:
    """Return the test function of a test, which may be one of its parameters: ``test_it[cpu]``."""
    return test.partition("[")[0].rpartition("::")[2]


def current_step(steps: Mapping[str, LabStep], verdicts: Mapping[str, str]) -> LabStep | None:
    """Return the first step that is not finished, of a kata in progress.

    `verdicts` say how each test ended. If none is known, or all steps are finished, the kata is
    at none of them.
    """
    ended = {function_of(test) for test in verdicts}
    failed = {function_of(test) for test, verdict in verdicts.items() if verdict == "failed"}
    if at := [steps[test] for test in failed if test in steps]:
        return min(at)
    if failed or not ended.intersection(steps):
        return None
    return min((step for test, step in steps.items() if test not in ended), default=None)
