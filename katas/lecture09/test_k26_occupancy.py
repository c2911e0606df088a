"""Tests of k26_occupancy: the limits are worked out from what a multiprocessor has."""

from __future__ import annotations

import pytest

from katas.lecture09 import k26_occupancy as kata
from katas.lecture09.k26_occupancy import KERNELS
from plugins.kit import forbids


THREADS, BLOCKS, REGISTERS, SHARED = 2048, 32, 65_536, 228
RULES = {
    "one_warp": "threads and registers are left over: count the blocks",
    "half_full": "multiply registers by threads before you divide",
    "registers": "a block that fits in part does not fit",
    "shared": "a block takes 1 KiB more than it asks for",
    "large": "the second block has no place for all of its registers",
    "one_more": "registers come in units of 8: one more may cost seven",
}


def measure(threads: int, registers: int, shared: int) -> int:
    """Return how many blocks fit, by what runs out first."""
    units = -(-registers // 8) * 8
    return min(THREADS // threads, BLOCKS, REGISTERS // (units * threads), SHARED // (shared + 1))


def predicted() -> dict[str, int]:
    """Return your numbers, computed where torch cannot be imported."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        found, again = dict(fresh.blocks()), fresh.blocks()
        assert found == again, "your function returns different numbers when it is called again"
        return found


@pytest.mark.given
def test_the_table_of_the_brief() -> None:
    """Threads run out in the brief's first line, registers in the second."""
    assert [8, 4] == [measure(256, 32, 0), measure(256, 64, 0)]


def test_every_kernel_is_there() -> None:
    """Each kernel has one number, worked out on paper."""
    yours = set(predicted())
    assert yours == set(KERNELS), (
        f"yours has numbers for {sorted(yours)}, expected {sorted(KERNELS)}"
    )


@pytest.mark.parametrize("name", KERNELS)
def test_blocks(name: str) -> None:
    """The limit is what runs out first: threads, blocks, registers or shared memory."""
    yours = predicted()[name]
    assert type(yours) is int, f"{name}: yours is a {type(yours).__name__}, expected whole blocks"
    right = measure(*KERNELS[name])
    threads, registers, shared = KERNELS[name]
    assert yours == right, (
        f"{name}: your answer is {yours} blocks, too {'many' if yours > right else 'few'} for"
        f" {threads} threads of {registers} registers and {shared} KiB each; {RULES[name]}"
    )
