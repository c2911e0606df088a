"""Tests of k23_post_mortem: dumps that are written by hand, and those of three real ranks."""

from __future__ import annotations

import json
import os
import socket
from copy import deepcopy
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist

from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import same
from katas.lecture13.k23_post_mortem import diagnose
from plugins.kit import loopback


if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.backend("gloo")


def entry(number: int, name: str = "all_reduce", *sizes: int, retired: bool = True) -> Any:
    """Return an entry of a dump, with only the fields that matter."""
    return {
        "is_p2p": False,
        "collective_seq_id": number,
        "profiling_name": f"gloo:{name}",
        "input_sizes": [list(sizes or (4,))],
        "retired": retired,
    }


def dump(*entries: Any) -> Any:
    """Return a dump."""
    return {"version": "2.10", "entries": list(entries)}


def check_diagnosis(dumps: list[Any], expected: Any) -> None:
    """Compare what is found in dumps, which must not change."""
    kept = deepcopy(dumps)
    found = diagnose(dumps)
    calls = [
        [
            f"{each['collective_seq_id']} {each['profiling_name']} {each['input_sizes']}"
            f"{' retired' * each['retired']}{' (p2p)' * each['is_p2p']}"
            for each in one["entries"]
        ]
        for one in kept
    ]
    same(found, expected, f"the calls of each rank: {calls}")
    assert kept == dumps, "your code changes the dumps that it was given"


def test_a_rank_that_did_not_call_is_found() -> None:
    """The others wait in number 2, and number 3 comes after it."""
    waiting = dump(entry(1), entry(2, retired=False), entry(3, retired=False))
    expected = (2, {"gloo:all_reduce [[4]]": [0, 2], "no call": [1]})

    check_diagnosis([waiting, dump(entry(1)), waiting], expected)


def test_calls_that_differ_are_found() -> None:
    """Calls may differ in name or size, even if both ranks think that they are done."""
    first = dump(entry(1), entry(2, "broadcast"), entry(3))
    second = dump(entry(1), entry(2), entry(3))
    names = {"gloo:broadcast [[4]] retired": [0], "gloo:all_reduce [[4]] retired": [1]}
    check_diagnosis([first, second], (2, names))

    third = dump(entry(1, "all_reduce", 2, 2))
    sizes = {"gloo:all_reduce [[2, 2]] retired": [0], "gloo:all_reduce [[4]] retired": [1]}
    check_diagnosis([third, dump(entry(1))], (1, sizes))


def test_a_call_that_some_have_finished_is_found() -> None:
    """A call that all ranks have made but nobody has finished is found, too."""
    done, open_ = dump(entry(1), entry(2)), dump(entry(1), entry(2, retired=False))
    told = {"gloo:all_reduce [[4]] retired": [0, 2], "gloo:all_reduce [[4]]": [1]}

    check_diagnosis([done, open_, done], (2, told))
    check_diagnosis([open_, open_], (2, {"gloo:all_reduce [[4]]": [0, 1]}))


def test_ranks_that_have_finished_alike_are_well() -> None:
    """Such ranks may have called something, or nothing at all."""
    check_diagnosis([dump(entry(1), entry(2))] * 3, None)
    check_diagnosis([dump(), dump()], None)
    told = {"gloo:all_reduce [[4]] retired": [0], "no call": [1]}
    check_diagnosis([dump(entry(1)), dump()], (1, told))


def test_what_two_ranks_send_each_other_has_other_numbers() -> None:
    """A send is not a collective; its number is that of the last collective."""
    sent = {**entry(1, "send", 9, retired=False), "is_p2p": True}

    check_diagnosis([dump(entry(1), sent), dump(entry(1))], None)


def test_what_a_buffer_has_lost_is_not_missed() -> None:
    """Only the last calls are kept: rank 0 still has number 2, which rank 1 has lost."""
    short = dump(entry(4), entry(5), entry(6, retired=False))
    long = dump(entry(2), entry(3), entry(4), entry(5))

    check_diagnosis([long, short], (6, {"no call": [0], "gloo:all_reduce [[4]]": [1]}))
    check_diagnosis([short, long], (6, {"gloo:all_reduce [[4]]": [0], "no call": [1]}))


def recorded(path: Path) -> Any:
    """Return the dump of this rank: rank 1 has not called what the others wait for."""
    os.environ["TORCH_FR_BUFFER_SIZE"] = "8"
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback(socket.if_nameindex()))
    store = dist.FileStore(str(path), size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    for _ in range(10):
        dist.all_reduce(torch.ones(2))
    dist.broadcast(torch.ones(2, 3), 0)
    # What they wait for must not be forgotten before the dump.
    work = dist.all_reduce(torch.ones(5), async_op=True) if rank != 1 else None
    while True:
        # What was waited for is retired by another thread, a moment later.
        found = json.loads(torch._C._distributed_c10d._dump_fr_trace_json())  # noqa: SLF001
        if all(each["retired"] for each in found["entries"] if each["collective_seq_id"] < 12):
            return found, work is None


def test_a_real_dump_is_read(world: Any, tmp_path: Path) -> None:
    """The flight recorder of three ranks, one of which does not reach the twelfth collective."""
    dumps = [text for text, _ in world(recorded, 3, tmp_path / "store", backend=None, timeout=SOON)]

    check_diagnosis(dumps, (12, {"gloo:all_reduce [[5]]": [0, 2], "no call": [1]}))
