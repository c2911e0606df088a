"""Every hook of the course is documented and has a test that is named for it."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

from plugins import HERE
from plugins import ROOT
from plugins.course import hooks as hookspecs


TESTS = Path(__file__).parents[1]
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
    """Pytest ignores names without ``pytest_``, and ``kata`` avoids those of other plugins."""
    assert [] == [name for name in HOOKS if not name.startswith("pytest_kata_")]


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_is_documented(name: str) -> None:
    """It says what to return, when it is called, and by which of our plugins."""
    text = " ".join(str(HOOKS[name].__doc__).split())

    assert text.split(maxsplit=1)[0].isalpha()
    assert "by ``plugins." in text.partition(" Called ")[2].partition(". ")[0]


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_is_called_where_its_text_says(name: str) -> None:
    """The modules that the text names are those that call it."""
    text = " ".join(str(HOOKS[name].__doc__).split()).partition(" Called ")[2].partition(". ")[0]
    callers = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for file in HERE.rglob("*.py")
        if f"hook.{name}(" in file.read_text(encoding="utf-8")
    }

    assert callers == set(re.findall(r"``(plugins\.[\w.]+)``", text))


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_has_a_test(name: str, tests: set[str]) -> None:
    """``pytest_kata_devices`` has ``test_hook_devices``."""
    assert name.replace("pytest_kata_", "test_hook_") in tests
