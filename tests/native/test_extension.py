"""An extension without a library fails the test that uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.native.extension import Extension


@pytest.mark.parametrize("use", [Extension.op, Extension.cls, Extension.symbol])
@pytest.mark.torch
def test_a_problem_is_a_failed_test(use: object) -> None:
    """Whichever part of the library it asks for first, with the compiler's message."""
    broken = Extension(Path(), "lecture01_k01", "k01.cpp", "k01.cpp:1: no such thing")

    assert callable(use)
    with pytest.raises(pytest.fail.Exception, match=r"^k01.cpp:1: no such thing$"):
        use(broken, "twice")


def test_an_extension_without_a_problem_passes_the_check() -> None:
    """It need not be loaded for that."""
    Extension(Path("library.so"), "lecture01_k01", "k01.cpp").check()


def test_what_identifies_an_extension_is_short() -> None:
    """Its path and its problem would fill the message of a test that fails."""
    shown = repr(Extension(Path("/a/library.so"), "lecture01_k01", "k01.cpp", "a long problem"))

    assert "Extension(namespace='lecture01_k01', source='k01.cpp')" == shown
