"""``--solutions`` runs the katas with the reference answers, ``--unsolved`` proves they are red.

Only a maintainer may accept expected outputs (``EXPECTTEST_ACCEPT``): with the solutions, and in
one process.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from katas import overlay
from plugins.course.session import kata_of


VARIABLE = "KATAS_SOLUTIONS"
# With it, expecttest rewrites the expected outputs in the source of a test.
ACCEPT = "EXPECTTEST_ACCEPT"
# The end of expecttest's message addresses the test's author; a learner needs to read the rest.
ADVICE = re.compile(r"To accept the new output, [^()]*EXPECTTEST_ACCEPT[^()]*(?:\([^()]*\))?")
READ_IT = "A line with - is expected, one with + is yours."
# How an untouched exercise fails; with any other exception, the kata is broken.
UNSOLVED = (NotImplementedError, AssertionError)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("katas")
    group.addoption(
        "--solutions",
        action="store_true",
        help="Run the katas with their reference solutions instead of your answers.",
    )
    group.addoption(
        "--unsolved",
        action="store_true",
        help="Expect every test of a kata to fail, as it does before the kata is solved.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Put the solutions first on each lecture's path before a kata is imported; guard snapshots."""
    if config.getoption("unsolved") and solutions_shown(config):
        raise pytest.UsageError("--unsolved expects untouched exercises: leave out --solutions")
    if config.getoption("solutions"):
        before = os.environ.get(VARIABLE)
        # In the environment, for the processes that a test spawns.
        os.environ[VARIABLE] = "1"
        config.add_cleanup(lambda: _restore(before))
        _refresh_paths()
    _guard_snapshots(config)


def _restore(value: str | None) -> None:
    if value is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = value


def _refresh_paths() -> None:
    # A lecture's conftest.py is imported before options are known, and its package with it.
    for name, module in list(sys.modules.items()):
        if name.startswith("katas.") and hasattr(module, "__path__") and module.__file__:
            module.__path__ = overlay([str(Path(module.__file__).parent)])


def _guard_snapshots(config: pytest.Config) -> None:
    """Refuse to accept expected outputs where this could overwrite one by accident."""
    value = os.environ.get(ACCEPT)
    if value is None:
        return
    if value in {"", "0"}:
        # expecttest takes any value for a yes, 0 too.
        del os.environ[ACCEPT]
        config.add_cleanup(lambda: os.environ.update({ACCEPT: value}))
        return
    parallel = hasattr(config, "workerinput") or bool(config.getoption("numprocesses", None))
    if reason := why_not_accept(solutions=solutions_shown(config), parallel=parallel):
        raise pytest.UsageError(reason)


def why_not_accept(*, solutions: bool, parallel: bool) -> str | None:
    """Return why expected outputs must not be accepted in this session, or None if they may."""
    if not solutions:
        return (
            f"{ACCEPT} is set: it would replace the expected outputs of the katas by what "
            f"your answers print. Unset it. (Maintainers: nox -s accept)"
        )
    if parallel:
        return f"{ACCEPT} is set: several processes would rewrite one file. Leave out -n."
    return None


def solutions_shown(config: pytest.Config) -> bool:
    """Whether the katas of this session are the reference solutions."""
    return bool(config.getoption("solutions") or os.environ.get(VARIABLE))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Replace expecttest's advice, which would be refused, before the failure is reported."""
    if call.excinfo and "expecttest" in sys.modules and not solutions_shown(item.config):
        # Its own calls have the advice among their arguments; with this pytest leaves them out.
        vars(sys.modules["expecttest"])["__tracebackhide__"] = True
        error = call.excinfo.value
        error.args = tuple(
            ADVICE.sub(READ_IT, part) if isinstance(part, str) else part for part in error.args
        )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Report that the reference solutions are tested, and not the learner's answers."""
    return "katas: reference solutions" if solutions_shown(config) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Under ``--unsolved``, require each test of a kata to fail as expected, unless it is given."""
    if not config.getoption("unsolved"):
        return
    for item in items:
        if kata_of(item) and not item.get_closest_marker("given"):
            reason = "the exercise is not solved"
            item.add_marker(pytest.mark.xfail(strict=True, raises=UNSOLVED, reason=reason))
