"""Tests of k10_tokens: addresses say whether a window is a view of the file."""

from __future__ import annotations

import pickle
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch

from katas.lecture06.k10_tokens import Tokens


MAPS = Path("/proc/self/maps")
SMAPS = Path("/proc/self/smaps")


def values(count: int) -> torch.Tensor:
    """Return tokens that use all of 16 bits."""
    return (torch.arange(count, dtype=torch.int64) * 40_503 + 7) % 65_536


def written(folder: Path, count: int) -> Path:
    """Write a file of so many tokens."""
    path = folder / "tokens.bin"
    values(count).numpy().astype(np.uint16).tofile(path)
    return path


@pytest.mark.parametrize(
    ("count", "size", "expected"), [(10, 4, 2), (9, 4, 2), (8, 4, 1), (2, 1, 1)]
)
def test_how_many_windows(tmp_path: Path, count: int, size: int, expected: int) -> None:
    """The last target needs a token more than the inputs."""
    yours = len(Tokens(written(tmp_path, count), size))

    assert expected == yours, f"{count} tokens, windows of {size}: yours {yours}, not {expected}"


@pytest.mark.parametrize("index", [0, 1])
def test_a_window(tmp_path: Path, index: int) -> None:
    """Its tokens, and the one after it, with which the next window begins."""
    yours = Tokens(written(tmp_path, 10), 4).window(index)
    expected = values(10)[4 * index : 4 * index + 5]

    assert torch.uint16 == yours.dtype, f"yours is of {yours.dtype}, expected that of the file"
    assert expected.tolist() == yours.tolist(), f"yours {yours.tolist()}, expected {expected}"


def test_windows_look_at_one_memory(tmp_path: Path) -> None:
    """Window 3 lies 3 * size * 2 bytes behind window 0."""
    tokens = Tokens(written(tmp_path, 1000), 16)
    first, fourth, again = tokens.window(0), tokens.window(3), tokens.window(3)

    apart = fourth.data_ptr() - first.data_ptr()
    assert 3 * 16 * 2 == apart, f"windows 0 and 3 lie {apart} bytes apart, expected {3 * 16 * 2}"
    assert fourth.data_ptr() == again.data_ptr(), "asked again, yours gave another memory"


def test_the_memory_is_the_file(tmp_path: Path) -> None:
    """It is mapped: the system's list of mappings says so."""
    if not MAPS.exists():
        pytest.skip("mappings are listed in /proc/self/maps: Linux has it")
    path = written(tmp_path, 100_000)
    tokens = Tokens(path, 16)
    address = tokens.window(7).data_ptr()
    found = ""
    for line in MAPS.read_text("utf-8").splitlines():
        low, high = (int(each, 16) for each in line.split()[0].split("-"))
        found = line if low <= address < high else found

    assert found.endswith(path.name), f"window 7 lies in {found!r}, expected a mapping of {path}"


def test_writing_does_not_reach_the_file(tmp_path: Path) -> None:
    """A mistake in the training loop is no mistake in the corpus."""
    path = written(tmp_path, 100)
    before = path.read_bytes()
    tokens = Tokens(path, 4)
    with suppress(RuntimeError, ValueError):
        tokens.window(0).zero_()
    del tokens

    assert before == path.read_bytes(), "yours has written to the file"


def test_a_batch(tmp_path: Path) -> None:
    """Inputs and targets, which an embedding takes."""
    tokens = Tokens(written(tmp_path, 50), 4)
    inputs, targets = tokens.batch([2, 0, 2])
    every = values(50)
    expected = torch.stack([every[8:12], every[:4], every[8:12]])
    after = torch.stack([every[9:13], every[1:5], every[9:13]])

    for what, yours, wanted in (("inputs", inputs, expected), ("targets", targets, after)):
        assert torch.int64 == yours.dtype, (
            f"{what}: yours {yours.dtype}, expected int64; an embedding takes that or int32"
        )
        says = f"{what} of the windows 2, 0, 2: not those expected\n".__add__
        torch.testing.assert_close(yours, wanted, msg=says)
    inputs[0].zero_()
    left = tokens.window(2)[:4].tolist()
    assert every[8:12].tolist() == left, f"a write to a batch reached the tokens: {left}"


def resident(path: Path) -> int:
    """Return how many kB of its mapping of a file this process has looked at."""
    found, is_here = 0, False
    for line in SMAPS.read_text("utf-8").splitlines():
        if not line.split()[0].endswith(":"):
            is_here = line.endswith(str(path))
        elif is_here and line.startswith("Rss:"):
            found += int(line.split()[1])
    return found


def test_a_batch_reads_no_more_than_its_windows(tmp_path: Path) -> None:
    """Converted are the tokens of the batch, and not those of the file."""
    if not SMAPS.exists():
        pytest.skip("pages that were looked at are counted in /proc/self/smaps: Linux has it")
    path = written(tmp_path, 4_000_000)
    tokens = Tokens(path, 16)
    tokens.batch([3, 1])
    yours, whole = resident(path), path.stat().st_size // 1024

    assert yours <= whole // 2, f"a batch of two windows: yours has read {yours} of {whole} kB"


def test_a_pickle_holds_no_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes to each worker that is spawned, and opens the file there."""
    tokens = Tokens(written(tmp_path, 100_000), 16)
    tokens.window(5)
    data = pickle.dumps(tokens)
    # Another process imports the module anew, and has none of its objects.
    monkeypatch.delitem(sys.modules, Tokens.__module__)
    again = pickle.loads(data)  # noqa: S301 - our own
    yours = again.window(5)

    assert len(data) < 2000, f"100,000 tokens: your pickle has {len(data)} bytes"
    assert tokens.window(5).tolist() == yours.tolist(), f"from the pickle: {yours}"
    assert len(tokens) == len(again), f"from the pickle: {len(again)} windows, not {len(tokens)}"
