"""The compilers that the simulator is tested with."""

from __future__ import annotations

import pytest

from tests.support.compilers import compiler_of


@pytest.fixture(scope="module", params=["clang", "g++"])
def compiler(request: pytest.FixtureRequest) -> str:
    """Return the path of clang and of g++: the sanitizers of both make the same calls."""
    found = compiler_of(request.param)
    if not found:
        pytest.skip(f"{request.param} is not installed")
    return found.path
