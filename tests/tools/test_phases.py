"""The phases of a run, as the benchmark of ``--watch`` reads them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from plugins.tools.phases import VARIABLE
from plugins.tools.phases import note_phase


if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_phases_are_noted_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its moment; nothing is written unless that is asked for."""
    monkeypatch.delenv(VARIABLE, raising=False)
    note_phase("before")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "phases"))
    begin = time.monotonic()
    note_phase("fork")
    note_phase("tests")

    found = [line.split() for line in (tmp_path / "phases").read_text().splitlines()]
    assert ["fork", "tests"] == [name for name, _ in found]
    moments = [float(moment) for _, moment in found]
    assert begin - 0.001 <= moments[0] <= moments[1] <= time.monotonic() + 0.001
