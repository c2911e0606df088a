"""What can go wrong in ranks, one function each; tests/test_world_faults.py runs them."""

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
    """Leave the numbers of this process, and of one that it has started, for the test.

    A rank whose fault comes at once would end others that have not begun: it waits for them.
    """
    child = Popen(["sleep", "1000"])
    processes = Path("processes")
    with processes.open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {child.pid}\n")
    while processes.read_text(encoding="utf-8").count("\n") % dist.get_world_size():
        time.sleep(0.01)


def assertion() -> None:
    """Rank 2 finds a wrong number, and says something before."""
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
    """Rank 1 reads where nothing is."""
    note()
    if dist.get_rank() == 1:
        ctypes.string_at(0)
    dist.all_reduce(torch.ones(2))


def leaves() -> None:
    """Rank 1 ends its process, as if all were well."""
    note()
    if dist.get_rank() == 1:
        os._exit(0)
    dist.all_reduce(torch.ones(2))


def exits() -> None:
    """Rank 1 asks Python to end."""
    note()
    if dist.get_rank() == 1:
        sys.exit(0)
    dist.all_reduce(torch.ones(2))


def returns() -> None:
    """Rank 1 does not take part."""
    note()
    if dist.get_rank() != 1:
        dist.all_reduce(torch.ones(2))


def loops() -> None:
    """Rank 3 never comes to the second collective."""
    note()
    dist.all_reduce(torch.ones(2))
    while dist.get_rank() == 3:
        pass
    dist.all_reduce(torch.ones(2))


def waits() -> None:
    """Rank 0 receives what nobody sends."""
    note()
    if dist.get_rank() == 0:
        work = dist.irecv(torch.ones(2), 1)
        assert work is not None
        work.wait()


def mismatch() -> None:
    """Rank 1 makes another collective than the others."""
    note()
    if dist.get_rank() == 1:
        dist.broadcast(torch.ones(2), 1)
    else:
        dist.all_reduce(torch.ones(2))


def sizes() -> None:
    """The ranks reduce tensors of different sizes."""
    note()
    dist.all_reduce(torch.ones(2 + 1000 * dist.get_rank()))


def memory() -> None:
    """Rank 1 takes all there is."""
    note()
    taken = []
    while dist.get_rank() == 1:
        taken.append(bytearray(1 << 24))
    dist.barrier()


def generator() -> object:
    """No rank can send its result."""
    note()
    return (number for number in range(3))
