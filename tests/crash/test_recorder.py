"""What is noted when nobody can see it otherwise: a debugger takes the place of coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugins.journal import Journal
from plugins.journal import Reader
from plugins.recorder import Recorder


if TYPE_CHECKING:
    from pathlib import Path


def test_a_debugger_is_noted_from_its_begin_to_its_end(tmp_path: Path) -> None:
    """In between no time counts."""
    journal = Journal(tmp_path, "0")
    recorder, reader = Recorder(journal, None), Reader(journal)

    recorder.pytest_enter_pdb()
    reader.news()
    assert reader.record.debugged

    recorder.pytest_leave_pdb()
    reader.news()
    assert not reader.record.debugged
