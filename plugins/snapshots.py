"""Who may accept expect tests: a maintainer, with the solutions, in one process."""

from __future__ import annotations

import os

import pytest

from plugins.solutions import solutions_shown


VARIABLE = "EXPECTTEST_ACCEPT"


def pytest_configure(config: pytest.Config) -> None:
    """Refuse acceptance that could overwrite an expected output by accident."""
    value = os.environ.get(VARIABLE)
    if value is None:
        return
    if value in {"", "0"}:
        # expecttest takes any value for a yes, also this one.
        del os.environ[VARIABLE]
        config.add_cleanup(lambda: os.environ.update({VARIABLE: value}))
        return
    parallel = hasattr(config, "workerinput") or bool(config.getoption("numprocesses", None))
    if reason := refusal(solutions=solutions_shown(config), parallel=parallel):
        raise pytest.UsageError(reason)


def refusal(*, solutions: bool, parallel: bool) -> str | None:
    """Return why expected outputs must not be accepted in this session, or None if they may."""
    if not solutions:
        return (
            f"{VARIABLE} is set: it would replace the expected outputs of the katas by what "
            f"your answers print. Unset it. (Maintainers: nox -s accept)"
        )
    if parallel:
        return f"{VARIABLE} is set: several processes would rewrite one file. Leave out -n."
    return None
