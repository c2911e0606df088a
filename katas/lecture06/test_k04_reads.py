"""Tests of k04_reads: a file counts its reads, and a real DataLoader asks for batches."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import BatchSampler
from torch.utils.data import DataLoader
from torch.utils.data import RandomSampler

from katas.lecture06.k04_reads import Records


class Counted:
    """A file of samples that records what is read: first sample, number of samples."""

    def __init__(self, count: int, size: int) -> None:
        self.data = b"".join(bytes([65 + i]) * size for i in range(count))
        self.size = size
        self.reads: list[tuple[int, int]] = []

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes, and record the read."""
        assert 0 <= offset <= offset + length <= len(self.data), "your code reads outside the file"
        assert 0 == offset % self.size == length % self.size, "your code reads part of a sample"
        self.reads.append((offset // self.size, length // self.size))
        return self.data[offset : offset + length]


def flat(batches: list[list[bytes]]) -> list[bytes]:
    """Return the samples of all batches."""
    return [sample for batch in batches for sample in batch]


def check(indices: list[int], reads: list[tuple[int, int]], size: int = 3) -> None:
    """Compare samples and reads with those expected."""
    file = Counted(20, size)
    asked = list(indices)
    records = Records(file, 20, size)
    yours = records.__getitems__(asked)
    expected = [bytes([65 + i]) * size for i in indices]

    assert yours == expected, f"indices {indices}: yours {yours}, expected {expected}"
    assert all(type(each) is bytes for each in yours), (
        f"expected each sample as bytes, as __getitem__ returns it; yours {yours}"
    )
    assert asked == indices, f"your function changed the caller's list of indices to {asked}"
    assert sorted(reads) == sorted(file.reads), (
        f"indices {indices}: your code read {file.reads}, expected {reads}, as (first, how many);"
        " each read is a round trip, and nobody asked for the bytes between the runs"
    )
    file.reads.clear()
    records.__getitems__(asked)
    assert sorted(reads) == sorted(file.reads), (
        f"indices {indices}, requested again: your code read {file.reads}, expected {reads};"
        " do not keep what was read, which after an epoch is the whole file"
    )


def test_one_sample() -> None:
    """One sample takes one read, and no samples take none."""
    check([5], [(5, 1)])
    check([], [])


def test_neighbours_share_a_read() -> None:
    """Each run of neighbours takes one read."""
    check([3, 4, 5], [(3, 3)])
    check([1, 2, 10, 11, 12], [(1, 2), (10, 3)])


def test_samples_come_in_the_order_of_the_indices() -> None:
    """Samples are returned in the order of the indices: labels may come from somewhere else."""
    check([5, 3, 4], [(3, 3)])
    check([9, 0, 8, 1], [(0, 2), (8, 2)])


def test_an_index_may_come_twice() -> None:
    """A sampler with replacement repeats an index: read it once, return it twice."""
    check([4, 4], [(4, 1)])
    check([7, 3, 4, 4, 5], [(3, 3), (7, 1)])


@given(st.lists(st.integers(0, 19), max_size=12), st.integers(1, 4))
def test_any_indices(indices: list[int], size: int) -> None:
    """There are as many reads as runs."""
    rows = set(indices)
    starts = sorted(row for row in rows if row - 1 not in rows)
    ends = sorted(row for row in rows if row + 1 not in rows)
    runs = [(start, end - start + 1) for start, end in zip(starts, ends, strict=True)]
    check(indices, runs, size)


def test_the_real_loader_asks_for_batches() -> None:
    """Four batches in order take four reads; shuffled, they take fewer than one per sample."""
    file = Counted(64, 2)
    records = Records(file, 64, 2)
    batches = list(DataLoader(records, batch_size=16, collate_fn=list))
    naive = 64

    assert [bytes([65 + i]) * 2 for i in range(64)] == flat(batches), "the samples are wrong"
    assert 4 == len(file.reads), f"your code made {len(file.reads)} reads, expected 4"
    file.reads.clear()
    generator = torch.Generator().manual_seed(0)
    sampler = BatchSampler(RandomSampler(records, generator=generator), 16, drop_last=False)
    shuffled = list(DataLoader(records, batch_sampler=sampler, collate_fn=list))

    assert sorted(flat(batches)) == sorted(flat(shuffled)), "shuffled: some samples are missing"
    assert len(file.reads) < naive, (
        f"shuffled: your code made {len(file.reads)} reads, expected fewer than {naive}"
    )
