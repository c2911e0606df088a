"""Faults of ranks, one function each; tests/ranks/test_world_faults.py runs them."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from pathlib import Path
from subprocess import Popen

import torch
from torch import distributed as dist


def note() -> None:
    """Write the numbers of this process, and of one that it has started, to a file for the test.

    Then wait until all ranks have: an immediate fault would end others before they begin.
    """
    child = Popen(["sleep", "1000"])
    processes = Path("processes")
    with processes.open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {child.pid}\n")
    while processes.read_text(encoding="utf-8").count("\n") % dist.get_world_size():
        time.sleep(0.01)


def run_out_of_time(fault: str) -> None:
    """Let the time be over soon after all ranks are here: then each does what it does next."""
    here = Path(f"here.{fault}")
    with here.open("a", encoding="utf-8") as file:
        file.write("1")
    if len(here.read_text(encoding="utf-8")) == dist.get_world_size():
        Popen(["sh", "-c", f"sleep 2; touch over.{fault}"])


def assertion() -> None:
    """Rank 2 prints something and then finds a wrong number."""
    note()
    print("hello from", dist.get_rank())  # noqa: T201 - the test looks for it
    total = torch.ones(3)
    dist.all_reduce(total)
    if dist.get_rank() == 2:
        assert [4.0, 4.0, 5.0] == total.tolist()
    dist.barrier()


def raises() -> None:
    """Rank 1 raises."""
    note()
    if dist.get_rank() == 1:
        raise KeyError("x")
    dist.barrier()


def segfault() -> None:
    """Rank 1 reads from address 0."""
    note()
    if dist.get_rank() == 1:
        ctypes.string_at(0)
    dist.all_reduce(torch.ones(2))


def leaves() -> None:
    """Rank 1 ends its process with status 0."""
    note()
    if dist.get_rank() == 1:
        os._exit(0)
    dist.all_reduce(torch.ones(2))


def exits() -> None:
    """Rank 1 calls sys.exit()."""
    note()
    if dist.get_rank() == 1:
        sys.exit(0)
    dist.all_reduce(torch.ones(2))


def returns() -> None:
    """Rank 1 does not take part."""
    note()
    run_out_of_time("returns")
    if dist.get_rank() != 1:
        dist.all_reduce(torch.ones(2))


def loops() -> None:
    """Rank 3 never reaches the second collective."""
    note()
    dist.all_reduce(torch.ones(2))
    run_out_of_time("loops")
    while dist.get_rank() == 3:
        pass
    dist.all_reduce(torch.ones(2))


def waits() -> None:
    """Rank 0 waits for a message that is never sent."""
    note()
    run_out_of_time("waits")
    if dist.get_rank() == 0:
        work = dist.irecv(torch.ones(2), 1)
        assert work is not None
        work.wait()


def mismatch() -> None:
    """Rank 1 calls a different collective from the others."""
    note()
    run_out_of_time("mismatch")
    if dist.get_rank() == 1:
        dist.broadcast(torch.ones(2), 1)
    else:
        dist.all_reduce(torch.ones(2))


def sizes() -> None:
    """The ranks reduce tensors of different sizes."""
    note()
    dist.all_reduce(torch.ones(2 + 1000 * dist.get_rank()))


def memory() -> None:
    """Rank 1 allocates memory without end."""
    note()
    taken = []
    while dist.get_rank() == 1:
        taken.append(bytearray(1 << 24))
    dist.barrier()


def generator() -> object:
    """No rank can send its result."""
    note()
    return (number for number in range(3))
