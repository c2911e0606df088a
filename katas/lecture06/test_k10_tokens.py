"""Tests of k10_tokens: addresses show whether a window is a view of the file."""

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
    """Return tokens that use all 16 bits."""
    return (torch.arange(count, dtype=torch.int64) * 40_503 + 7) % 65_536


def written(folder: Path, count: int) -> Path:
    """Write a file of this many tokens."""
    path = folder / "tokens.bin"
    values(count).numpy().astype(np.uint16).tofile(path)
    return path


@pytest.mark.parametrize(
    ("count", "size", "expected"), [(10, 4, 2), (9, 4, 2), (8, 4, 1), (2, 1, 1)]
)
def test_how_many_windows(tmp_path: Path, count: int, size: int, expected: int) -> None:
    """The last target needs one more token than the inputs."""
    yours = len(Tokens(written(tmp_path, count), size))

    assert expected == yours, (
        f"{count} tokens, windows of {size}: yours {yours}, expected {expected}"
    )


@pytest.mark.parametrize("index", [0, 1])
def test_a_window(tmp_path: Path, index: int) -> None:
    """A window holds its tokens and one more, with which the next window begins."""
    yours = Tokens(written(tmp_path, 10), 4).window(index)
    expected = values(10)[4 * index : 4 * index + 5]

    assert torch.uint16 == yours.dtype, f"your dtype is {yours.dtype}, expected the file's, uint16"
    assert expected.tolist() == yours.tolist(), f"yours {yours.tolist()}, expected {expected}"


def test_windows_look_at_one_memory(tmp_path: Path) -> None:
    """Window 3 begins 3 * size * 2 bytes after window 0."""
    tokens = Tokens(written(tmp_path, 1000), 16)
    first, fourth, again = tokens.window(0), tokens.window(3), tokens.window(3)

    apart = fourth.data_ptr() - first.data_ptr()
    assert 3 * 16 * 2 == apart, f"windows 0 and 3 are {apart} bytes apart, expected {3 * 16 * 2}"
    assert fourth.data_ptr() == again.data_ptr(), (
        "for the same window, your function returned different memory the second time"
    )


def test_the_memory_is_the_file(tmp_path: Path) -> None:
    """The system lists the window's memory as a mapping of the file."""
    if not MAPS.exists():
        pytest.skip("mappings are listed in /proc/self/maps: Linux has it")
    path = written(tmp_path, 100_000)
    tokens = Tokens(path, 16)
    address = tokens.window(7).data_ptr()
    found = ""
    for line in MAPS.read_text("utf-8").splitlines():
        low, high = (int(each, 16) for each in line.split()[0].split("-"))
        found = line if low <= address < high else found

    assert found.endswith(path.name), f"window 7 is in {found!r}, expected a mapping of {path}"


def test_writing_does_not_reach_the_file(tmp_path: Path) -> None:
    """A mistake in the training loop must not damage the corpus."""
    path = written(tmp_path, 100)
    before = path.read_bytes()
    tokens = Tokens(path, 4)
    with suppress(RuntimeError, ValueError):
        tokens.window(0).zero_()
    del tokens

    assert before == path.read_bytes(), "writing to a window changed the file"


def test_a_batch(tmp_path: Path) -> None:
    """An embedding accepts the inputs and targets."""
    tokens = Tokens(written(tmp_path, 50), 4)
    inputs, targets = tokens.batch([2, 0, 2])
    every = values(50)
    expected = torch.stack([every[8:12], every[:4], every[8:12]])
    after = torch.stack([every[9:13], every[1:5], every[9:13]])

    for what, yours, wanted in (("inputs", inputs, expected), ("targets", targets, after)):
        assert torch.int64 == yours.dtype, (
            f"{what}: yours {yours.dtype}, expected int64; an embedding accepts that or int32"
        )
        says = f"{what} of the windows 2, 0, 2: not those expected\n".__add__
        torch.testing.assert_close(yours, wanted, msg=says)
    inputs[0].zero_()
    left = tokens.window(2)[:4].tolist()
    assert every[8:12].tolist() == left, f"writing to a batch changed the tokens: {left}"


def resident(path: Path) -> int:
    """Return how many kB of its mapping of a file this process has touched."""
    found, is_here = 0, False
    for line in SMAPS.read_text("utf-8").splitlines():
        if not line.split()[0].endswith(":"):
            is_here = line.endswith(str(path))
        elif is_here and line.startswith("Rss:"):
            found += int(line.split()[1])
    return found


def test_a_batch_reads_no_more_than_its_windows(tmp_path: Path) -> None:
    """Only the tokens of the batch are converted, not the whole file."""
    if not SMAPS.exists():
        pytest.skip("pages that were looked at are counted in /proc/self/smaps: Linux has it")
    path = written(tmp_path, 4_000_000)
    tokens = Tokens(path, 16)
    tokens.batch([3, 1])
    yours, whole = resident(path), path.stat().st_size // 1024

    assert yours <= whole // 2, (
        f"for a batch of two windows {yours} of {whole} kB were read, expected at most half"
    )


def test_a_pickle_holds_no_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pickle goes to each spawned worker, which opens the file itself."""
    tokens = Tokens(written(tmp_path, 100_000), 16)
    tokens.window(5)
    data = pickle.dumps(tokens)
    # Another process imports the module afresh, and has none of its objects.
    monkeypatch.delitem(sys.modules, Tokens.__module__)
    again = pickle.loads(data)  # noqa: S301 - our own
    yours = again.window(5)

    assert len(data) < 2000, (
        f"100,000 tokens: your pickle has {len(data)} bytes, expected under 2,000"
    )
    assert tokens.window(5).tolist() == yours.tolist(), (
        f"window 5 after unpickling: yours {yours}, expected {tokens.window(5)}"
    )
    assert len(tokens) == len(again), (
        f"from the pickle: {len(again)} windows, expected {len(tokens)}"
    )
