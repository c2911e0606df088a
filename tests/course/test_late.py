"""A run tells the process that forked it which slow modules it had to import."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from plugins.course import late as module
from plugins.course.late import Late


if TYPE_CHECKING:
    import pytest


def test_what_a_run_imports_late_is_there_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the modules that take long, and only after a run."""
    monkeypatch.setattr(module, "LATE", ("string", "there_is_no_such_module"))
    late = Late()
    late.catch_up()
    late.pytest_sessionfinish()
    monkeypatch.setitem(sys.modules, "there_is_no_such_module", sys)
    late.pytest_sessionfinish()
    monkeypatch.delitem(sys.modules, "there_is_no_such_module")
    monkeypatch.delitem(sys.modules, "string")
    late.catch_up()

    assert "string" in sys.modules
    assert "there_is_no_such_module" not in sys.modules
