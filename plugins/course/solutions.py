"""``--solutions`` runs the katas with the reference answers, ``--unsolved`` proves they are red."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from katas import overlay
from plugins.course import kata_of


VARIABLE = "KATAS_SOLUTIONS"
# How an exercise that nobody has touched fails. Anything else is a broken kata.
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
    """Put the solutions first on every lecture's path, before a kata is imported."""
    if config.getoption("unsolved") and solutions_shown(config):
        raise pytest.UsageError("--unsolved expects untouched exercises: leave out --solutions")
    if not config.getoption("solutions"):
        return
    before = os.environ.get(VARIABLE)
    # The environment, so that processes which a test spawns see the solutions too.
    os.environ[VARIABLE] = "1"
    config.add_cleanup(lambda: _restore(before))
    _refresh_paths()


def solutions_shown(config: pytest.Config) -> bool:
    """Whether the katas of this session are the reference solutions."""
    return bool(config.getoption("solutions") or os.environ.get(VARIABLE))


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


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say whose answers are tested when it is not the learner's."""
    return "katas: reference solutions" if solutions_shown(config) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Under ``--unsolved``, a kata's test that is not given must fail for the right reason."""
    if not config.getoption("unsolved"):
        return
    for item in items:
        if kata_of(item) and not item.get_closest_marker("given"):
            reason = "the exercise is not solved"
            item.add_marker(pytest.mark.xfail(strict=True, raises=UNSOLVED, reason=reason))
