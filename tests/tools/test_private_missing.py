"""The error that names what the installed release lacks."""

from __future__ import annotations

from plugins.tools.private import MissingNameError


def test_it_is_no_error_of_python() -> None:
    """An `except` for it lets mistakes of our own through."""
    assert not issubclass(MissingNameError, (AttributeError, ImportError))
    assert "_gone" == str(MissingNameError("_gone"))
