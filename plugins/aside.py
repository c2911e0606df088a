"""Decides where the crash guard steps aside, and why."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest


# Options with which pytest runs no test.
NO_TESTS = (
    "help",
    "version",
    "markers",
    "collectonly",
    "cacheshow",
    "showfixtures",
    "show_fixtures_per_test",
)


def why_aside(config: pytest.Config) -> str | None:
    """Return why this session runs without the guard, or None if it runs with it."""
    option, invocation = config.option, config.invocation_params
    reasons = (
        (not option.crashguard, "--no-crashguard"),
        (not hasattr(os, "fork"), "this system cannot fork"),
        (any(getattr(option, name, None) for name in NO_TESTS), "no test runs"),
        (
            bool(invocation.plugins) or not is_program(sys.argv, invocation.args),
            "another program runs pytest",
        ),
        (debugged(), "a debugger is attached"),
        (
            not any(names_katas(file, config.rootpath) for file in files(config)),
            "no lecture is among the arguments",
        ),
    )
    return next((reason for applies, reason in reasons if applies), None)


def is_program(argv: Sequence[str], args: Sequence[str]) -> bool:
    """Whether pytest with these arguments is what was started, and may be two processes."""
    program = Path(argv[0])
    # The script, or `python -m pytest`.
    named = program.name in {"pytest", "py.test"} or program.parts[-2:] == ("pytest", "__main__.py")
    return named and list(argv[1:]) == list(args)


def debugged() -> bool:
    """Whether a debugger follows this process, which would not follow its child."""
    tracer = getattr(sys.gettrace(), "__self__", None)
    return "pydevd" in sys.modules or isinstance(tracer, getattr(sys.modules.get("bdb"), "Bdb", ()))


def files(config: pytest.Config) -> list[Path]:
    """Return the paths among the arguments of the session."""
    start = config.invocation_params.dir
    return [(start / argument.partition("::")[0]).resolve() for argument in config.args]


def names_katas(path: Path, root: Path) -> bool:
    """Whether `path` is in a lecture, or katas/ is in it."""
    katas = root / "katas"
    return (
        path.is_relative_to(katas)
        or katas.is_relative_to(path)
        or any((folder / "lecture.toml").exists() for folder in (path, *path.parents))
    )
