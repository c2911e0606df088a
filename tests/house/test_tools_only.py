"""The part of all tests that runs on a machine with g++ alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from plugins import ROOT
from tests.tools_only import WINGS
from tests.tools_only import lectures_with_tools
from tests.tools_only import names_a_tool


def collected(*arguments: str) -> str:
    """Return what a collection with the part prints."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.tools_only", "--collect-only", "-q"]
    return subprocess.run(
        [*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout


def test_modules_that_name_a_tool_are_kept_whole() -> None:
    """Not those that no compiler can change."""
    names = ("native/test_builder.py", "cuda/test_simt_bounds.py", "house/test_wall.py")
    others = ("feed/test_podcast.py", "progress/test_store.py")

    assert all(names_a_tool(ROOT / "tests" / name) for name in names)
    assert not any(names_a_tool(ROOT / "tests" / name) for name in others)
    assert all((ROOT / "plugins" / wing).is_dir() for wing in WINGS)


def test_others_are_left_out_of_a_run() -> None:
    """The run says that it is a part."""
    own = collected("tests/feed/test_podcast.py", "tests/native/test_folder.py")

    assert "test_podcast" not in own
    assert "test_folder" in own
    assert " deselected" in own


def test_of_a_test_for_each_lecture_those_with_tools_are_kept() -> None:
    """One that needs no more than torch looks the same everywhere."""
    kept = collected("tests/house/test_wall.py", "-m", "torch")

    assert {"lecture08", "lecture09", "lecture27"} <= lectures_with_tools()
    assert lectures_with_tools().isdisjoint({"lecture02", "lecture13", "lecture14"})
    assert "test_any_lecture[lecture09]" in kept
    assert "test_any_lecture[lecture13]" not in kept
    assert "test_a_source_that_does_not_compile" in kept


@pytest.mark.torch
def test_other_katas_are_left_out_of_a_run() -> None:
    """Those without a backend, or with one that is in torch."""
    others = ("katas/lecture02/test_k01_bytes.py", "katas/lecture13/test_k11_ddp.py")
    katas = collected(*others, "katas/lecture04/test_k02_clamp.py")

    assert "test_k11_ddp" not in katas
    assert "test_k01_bytes" not in katas
    assert "test_k02_clamp" in katas
