"""Tests of k09_split: real DataLoaders with forked workers, one for each rank."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from torch.utils.data import DataLoader

from katas.lecture06 import k09_split as kata
from katas.lecture06.k09_split import Lines


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


WHERE = "see WorkerInfo in torch/utils/data/_utils/worker.py"


def written(folder: Path, files: int) -> list[Path]:
    """Write files of three lines each; line 1 of file 2 is "2.1"."""
    paths = [folder / f"part{number:02}.txt" for number in range(files)]
    for number, path in enumerate(paths):
        path.write_text("".join(f"{number}.{line}\n" for line in range(3)), "utf-8")
    return paths


def loader(dataset: Lines, workers: int) -> DataLoader[str]:
    """Return a loader of single lines."""
    context = "fork" if workers else None
    return DataLoader(
        dataset, batch_size=None, num_workers=workers, multiprocessing_context=context
    )


def names(lines: list[str]) -> list[str]:
    """Return the lines without their newlines."""
    return [line.strip() for line in lines]


def expected(numbers: range) -> list[str]:
    """Return the lines of these files."""
    return [f"{number}.{line}" for number in numbers for line in range(3)]


def test_alone() -> None:
    """Without files there are no lines."""
    yours = list(Lines([]))
    assert [] == yours, f"no files: yours {yours}, expected []"


def test_one_process_reads_all(tmp_path: Path) -> None:
    """All lines come in the order of the list, as `lines` yields them, in each epoch."""
    paths = written(tmp_path, 3)[::-1]
    paths[1].write_text("  spaces \n\nand no end", "utf-8")
    dataset = Lines(paths)
    theirs = "".join(path.read_text("utf-8") for path in paths).splitlines(keepends=True)
    # The file in the middle does not end with a newline.
    theirs[5:6] = ["and no end", "0.0\n"]
    for epoch in range(2):
        yours = list(loader(dataset, 0))
        assert theirs == yours, f"epoch {epoch}: yours {yours}, expected {theirs}"


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_without_workers(tmp_path: Path, ranks: int) -> None:
    """Rank 1 of 2 has the files 1, 3, 5; seven files cannot be split evenly."""
    paths = written(tmp_path, 7)
    for rank in range(ranks):
        dataset, theirs = Lines(paths, rank=rank, ranks=ranks), expected(range(rank, 7, ranks))
        for epoch in range(2):
            yours = names(list(loader(dataset, 0)))
            assert yours == theirs, (
                f"rank {rank} of {ranks}, epoch {epoch}: yours {yours}, expected {theirs}"
            )
        assert paths == dataset.paths, (
            f"rank {rank} of {ranks}: afterwards the dataset's paths are {dataset.paths}; the next"
            " epoch needs all of them"
        )


@pytest.mark.parametrize(("ranks", "workers"), [(1, 2), (2, 1), (2, 2), (3, 2)])
def test_no_line_twice_and_none_lost(tmp_path: Path, ranks: int, workers: int) -> None:
    """Every line is read once, even if some workers get no file."""
    paths = written(tmp_path, 5)
    seen: Counter[str] = Counter()
    for rank in range(ranks):
        seen.update(names(list(loader(Lines(paths, rank=rank, ranks=ranks), workers))))
    twice = sorted(line for line, count in seen.items() if count > 1)
    lost = sorted(set(expected(range(5))) - set(seen))

    assert not twice, f"{ranks} ranks with {workers} workers: {twice} were read more than once"
    assert not lost, f"{ranks} ranks with {workers} workers: {lost} were never read; {WHERE}"


def test_cards_are_dealt_to_one_worker_after_the_other(tmp_path: Path) -> None:
    """Two ranks, two workers each: on rank 1, worker 0 has files 2 and 6, worker 1 has 3 and 7."""
    paths = written(tmp_path, 8)
    yours = names(list(loader(Lines(paths, rank=1, ranks=2), 2)))
    # A loader takes a line from each worker in turn.
    zero, one = expected(range(2, 8, 4)), expected(range(3, 8, 4))

    assert (zero, one) == (yours[::2], yours[1::2]), (
        f"rank 1: worker 0 gave {yours[::2]}, expected {zero}; worker 1 {yours[1::2]}"
    )


def test_a_file_is_opened_by_one_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that drops the lines of other workers has still read all files."""
    log = tmp_path / "log"
    real = kata.lines

    def noted(path: Path) -> Iterator[str]:
        with log.open("a") as file:
            file.write(f"{path.name} {os.getpid()}\n")
        return real(path)

    dataset = Lines(written(tmp_path, 6))
    # The trainer may have opened files too, as the only process of its rank.
    next(iter(dataset))
    monkeypatch.setattr(kata, "lines", noted)
    list(loader(dataset, 2))
    opened = Counter(line.split()[0] for line in log.read_text().splitlines())

    assert 6 == len(opened) == opened.total(), (
        f"six files, each to be opened once: your workers opened {dict(opened)}"
    )


def test_a_file_is_opened_when_its_turn_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be more files than a process can open, and more lines than fit into memory."""
    begun: list[str] = []
    real = kata.lines

    def noted(path: Path) -> Iterator[str]:
        begun.append(path.name)
        yield from real(path)

    monkeypatch.setattr(kata, "lines", noted)
    dataset = iter(Lines(written(tmp_path, 4)))
    for count in (1, 1, 1, 2):
        line = next(dataset).strip()
        assert count == len(begun), (
            f"when line {line} was yielded, {begun} had been opened, expected {count} of 4 files"
        )
