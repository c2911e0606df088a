"""Every hook of the course is documented and has a test that is named for it."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from plugins import hookspecs


TESTS = Path(__file__).parent
HOOKS = {
    name: function
    for name, function in inspect.getmembers(hookspecs, inspect.isfunction)
    if name.startswith("pytest_")
}


@pytest.fixture(scope="module")
def tests() -> set[str]:
    """Return the names of all functions in the test modules of the project."""
    return {
        node.name
        for file in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.FunctionDef)
    }


def test_hooks_have_a_name_of_ours() -> None:
    """Pytest ignores what does not begin with ``pytest_``, and other plugins have hooks too."""
    assert [] == [name for name in HOOKS if not name.startswith("pytest_kata_")]


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_is_documented(name: str) -> None:
    """What to return or to do, and when and by which of our plugins it is called."""
    text = " ".join(str(HOOKS[name].__doc__).split())

    assert text.split(maxsplit=1)[0].isalpha()
    assert "by ``plugins." in text.partition(" Called ")[2].partition(". ")[0]


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_has_a_test(name: str, tests: set[str]) -> None:
    """``pytest_kata_devices`` has ``test_hook_devices``."""
    assert name.replace("pytest_kata_", "test_hook_") in tests
