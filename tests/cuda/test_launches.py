"""The counts of launches: how they are read, added up and shown."""

from __future__ import annotations

import ctypes
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from plugins.cuda.launches import Count
from plugins.cuda.launches import Launch
from plugins.cuda.launches import Line
from plugins.cuda.launches import find_addr2line
from plugins.cuda.launches import locate_lines
from plugins.cuda.launches import read_launches
from tests.support.programs import write_program


LIBRARY = Path("library.so")
READ = Line(16, "global", "read", Count(64, 2, 8, 0, 0, 1))
WRITE = Line(32, "shared", "write", Count(64, 2, 0, 6, 4, 0))
ATOMIC = Line(48, "global", "atomic", Count(1, 1, 1))
LINES = (READ, WRITE, ATOMIC)
LAUNCH = Launch("twice", (2, 1, 1), (32, 1, 1), 0, 0, 0, (), 0, 0, 64, 2, LINES, LIBRARY)


def test_counts_add_up() -> None:
    """Number by number."""
    assert Count(11, 22, 33, 44, 55, 66) == Count(1, 2, 3, 4, 5, 6) + Count(10, 20, 30, 40, 50, 60)


def test_a_launch_sums_its_lines() -> None:
    """Those of a space, over all kinds of access or the kinds that are named."""
    assert 64 == LAUNCH.threads
    assert 65 == LAUNCH.count("global").accesses
    assert READ.count == LAUNCH.count("global", "read")
    assert WRITE.count == LAUNCH.count("shared", "write", "atomic")
    assert Count() == LAUNCH.count("shared", "read")


@pytest.mark.parametrize("words", [("local",), ("global", "load"), ("shared", "read", "add")])
def test_another_space_or_kind_is_an_error(words: tuple[str, ...]) -> None:
    """A misspelt name must not count as zero."""
    with pytest.raises(ValueError, match=r"expected a space of .* and kinds of"):
        LAUNCH.count(*words)


def test_launches_are_read_from_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives them as JSON, with numbers for spaces and kinds."""
    entry = {
        "kernel": "twice",
        "grid": [2, 1, 1],
        "block": [32, 1, 1],
        "stream": 0,
        "dynamic_bytes": 0,
        "static_bytes": 0,
        "variables": [],
        "barriers": 0,
        "warp_operations": 0,
        "active_threads": 64,
        "storing_blocks": 2,
        "lines": [
            [16, 0, 0, *READ.count.numbers],
            [32, 1, 1, *WRITE.count.numbers],
            [48, 0, 2, *ATOMIC.count.numbers],
        ],
    }

    def counts() -> bytes:
        return json.dumps([entry]).encode()

    loaded: dict[str, Any] = {str(LIBRARY): SimpleNamespace(kata_simt_counts=counts)}
    monkeypatch.setattr(ctypes, "CDLL", loaded.__getitem__)

    assert [LAUNCH] == read_launches(LIBRARY)


def test_a_table_shows_the_traffic_of_each_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sectors for global memory, wavefronts for shared memory, per request of a warp."""
    script = '[ "$*" = "-s -e library.so 0x10 0x20 0x30" ] && printf "k.cu:%s extra\\n" 7 8 9'
    write_program(tmp_path, "addr2line", script)
    monkeypatch.setenv("PATH", str(tmp_path))

    expected = [
        "twice<<<(2, 1, 1), (32, 1, 1)>>>",
        "  k.cu:7  global read           64 by threads,       2 by warps, 4.0 sectors each",
        "  k.cu:8  shared write          64 by threads,       2 by warps, 3.0 wavefronts each",
        "  k.cu:9  global atomic          1 by threads,       1 by warps, 1.0 sectors each",
    ]
    assert expected == LAUNCH.table().splitlines()


def test_a_table_has_one_row_for_all_accesses_of_a_kind_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of the lines, though a compiler may put the code in another."""
    write_program(tmp_path, "addr2line", 'printf "k.cu:%s\\n" 10 9 10')
    monkeypatch.setenv("PATH", str(tmp_path))
    lines = (READ, WRITE, replace(READ, place=40))

    expected = [
        "  k.cu:9  shared write          64 by threads,       2 by warps, 3.0 wavefronts each",
        "  k.cu:10  global read          128 by threads,       4 by warps, 4.0 sectors each",
    ]
    assert expected == replace(LAUNCH, lines=lines).table().splitlines()[1:]


def test_lines_need_a_program_that_finds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one, the counts are still shown."""
    monkeypatch.setenv("PATH", "")

    assert "" == find_addr2line()
    assert ["line unknown"] * 2 == locate_lines(LIBRARY, [1, 2])
    assert "  line unknown  global read" in LAUNCH.table()


@pytest.mark.parametrize("name", ["addr2line", "llvm-addr2line", "llvm-addr2line-19"])
def test_llvm_has_the_program_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Under its own name, with or without a version; no places need none."""
    program = write_program(tmp_path, name, "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))

    assert str(program) == find_addr2line()
    assert [] == locate_lines(LIBRARY, [])
