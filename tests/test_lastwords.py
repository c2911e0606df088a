"""Where os._exit() was called from."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from plugins.lastwords import say_and_leave


if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("ours", [True, False])
def test_only_the_process_of_the_tests_says_from_where_it_leaves(
    tmp_path: Path, *, ours: bool
) -> None:
    """What a test forks may leave as it likes."""
    process = os.getpid() if ours else 0
    with (tmp_path / "stack").open("wb") as stack, pytest.raises(SystemExit, match="3"):
        say_and_leave(sys.exit, process, stack.fileno(), 3)

    assert ours == ("test_lastwords.py" in (tmp_path / "stack").read_text())
