"""Tests of k08_leaks: snapshots that PyTorch's own reader accepts, and tensors that are freed."""

from __future__ import annotations

import copy
import importlib.util
from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture27 import k08_leaks as kata
from katas.lecture27.k08_leaks import Living
from katas.lecture27.k08_leaks import growth
from plugins.kit import forbids
from plugins.kit import freed


SEGMENT = 2 << 20
ACTIVE, PENDING, FREE = "active_allocated", "active_pending_free", "inactive"
TORCH = {"filename": "/lib/site-packages/torch/nn/functional.py", "line": 7, "name": "relu"}
WHERE = "see _snapshot in torch/cuda/memory.py"
Block = tuple[str, int, int]


def frame(line: int) -> dict[str, Any]:
    """Return a frame of the training script."""
    return {"filename": "/home/me/train.py", "line": line, "name": "step"}


def snapshot(*segments: list[Block]) -> dict[str, Any]:
    """Return a snapshot with blocks (state, requested bytes, line), as the allocator lays them out.

    It rounds each request up to 512 bytes, and the rest of a segment is an inactive block.
    """
    found = []
    for number, blocks in enumerate(segments):
        address = start = 0x7F0000000000 + number * SEGMENT
        rows: list[dict[str, Any]] = []
        for state, requested, line in blocks:
            size = -(-requested // 512) * 512
            row = {"address": address, "size": size, "requested_size": requested, "state": state}
            rows.append(row | {"frames": [TORCH, frame(line), frame(99)]})
            address += size
        rest = {"size": start + SEGMENT - address, "requested_size": 0, "state": FREE}
        rows.append(rest | {"address": address, "frames": []})
        used = sum(row["size"] for row in rows if row["state"] == ACTIVE)
        segment = {"address": start, "total_size": SEGMENT, "stream": 0, "segment_type": "small"}
        found.append(segment | {"allocated_size": used, "active_size": used, "blocks": rows})
    return {"segments": found, "device_traces": []}


def key(line: int) -> str:
    """Return `owner`'s name for a line of the script."""
    return f"train.py:{line}:step"


def test_one_line_grows() -> None:
    """Line 12 has a second block, and line 20 has the same blocks as before."""
    before = snapshot([(ACTIVE, 1000, 12), (ACTIVE, 700, 20)])
    after = snapshot([(ACTIVE, 1000, 12), (ACTIVE, 700, 20), (ACTIVE, 1000, 12)])
    with forbids(kata, "torch.cuda._memory_viz") as fresh:
        yours = fresh.growth(before, after)
    assert yours == {key(12): 1000}, f"yours {yours}, expected 1000 more bytes in line 12"


def test_states() -> None:
    """Blocks that wait for another stream, or are free for reuse, belong to no tensor."""
    after = snapshot([(PENDING, 3000, 5), (FREE, 4000, 6), (ACTIVE, 100, 7)])
    yours = growth(snapshot([(PENDING, 90, 7), (FREE, 50, 7)]), after)
    assert yours == {key(7): 100}, (
        f"yours {yours}, expected only line 7, with the requested bytes: {WHERE}"
    )


def test_the_largest_first() -> None:
    """Growth is summed over all segments, largest first; shrinking lines are left out."""
    before = snapshot([(ACTIVE, 900, 3)], [(ACTIVE, 50, 4)])
    after = snapshot([(ACTIVE, 10, 1), (ACTIVE, 400, 3)], [(ACTIVE, 61, 4), (ACTIVE, 800, 2)])
    kept = copy.deepcopy((before, after))
    yours = list(growth(before, after).items())
    expected = [(key(2), 800), (key(4), 11), (key(1), 10)]
    assert yours == expected, f"yours {yours}, expected {expected}"
    assert kept == (before, after), "your code changes the snapshots"


@pytest.mark.skipif(
    importlib.util.find_spec("torch.cuda._memory_viz") is None,
    reason="needs torch.cuda._memory_viz, which is private: torch 2.13 has it",
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from((ACTIVE, PENDING, FREE)), st.integers(1, 9999), st.integers(1, 4)
        ),
        max_size=9,
    )
)
def test_flame_graph(blocks: list[Block]) -> None:
    """Each line has the same bytes as in PyTorch's flame graph of the snapshot."""
    from torch.cuda import _memory_viz  # noqa: PLC0415 - a reader that needs no GPU

    record = snapshot(blocks[:4], blocks[4:])
    _memory_viz.segsum(record)
    rows = _memory_viz.memory(record, format_flamegraph=lambda text: text).splitlines()
    theirs: Counter[str] = Counter()
    for row in rows:
        stack, _, size = row.rpartition(" ")
        parts = stack.split(";")
        if parts[1] == ACTIVE and parts[-1] != "<gaps>":
            theirs[parts[-2]] += int(size)
    yours = growth(snapshot(), record)
    assert yours == theirs, (
        f"(state, requested, line): {blocks}\nyours {yours}\nPyTorch's {dict(theirs)}"
    )


def alive(mode: Living, expected: dict[str, int], why: str) -> None:
    """Compare the bytes that are alive."""
    __tracebackhide__ = True
    yours = dict(mode.living())
    assert yours == expected, f"yours {yours}, expected {expected}: {why}"


def test_alive_and_dead() -> None:
    """A tensor counts while it is alive, until its last reference is removed."""
    mode = Living()
    with mode:
        x = torch.ones(5, dtype=torch.float64)
        y = x.exp()
    alive(mode, {"aten.ones.default": 40, "aten.exp.default": 40}, "both are alive")
    del x
    alive(mode, {"aten.exp.default": 40}, "nothing holds x: do you?")
    assert y.shape == (5,)


def test_what_is_returned() -> None:
    """The mode returns the operator's own results, and passes keywords on."""
    x = torch.tensor([2.0, 3.0, 5.0]).sqrt()
    with Living():
        yours = [torch.sum(x, 0, dtype=torch.float64), *torch.max(x, 0)]
    expected = [torch.sum(x, 0, dtype=torch.float64), *torch.max(x, 0)]
    torch.testing.assert_close(yours, expected, msg=lambda text: f"under your mode: {text}")


def test_a_view_keeps_the_storage() -> None:
    """A view of one element keeps alive all bytes of x, which `ones` made."""
    with Living() as mode:
        x = torch.ones(100)
        y = x[0]
        del x
    alive(mode, {"aten.ones.default": 400}, "y is a view, and its storage is that of x")
    del y
    alive(mode, {}, "the storage has died with its last view")


def test_results_in_a_list() -> None:
    """Some operators return several tensors."""
    x = [torch.ones(3), torch.ones(4)]
    with Living() as mode:
        y = torch._foreach_add(x, 1)  # noqa: SLF001 - an operator that returns a list
        top = torch.max(x[0], 0)
    names = {"aten._foreach_add.Scalar": 28, "aten.max.dim": 4 + 8}
    alive(mode, names, "count each tensor of a list or a tuple")
    assert (len(y), len(top)) == (2, 2)


def test_what_was_there_before() -> None:
    """Views of older tensors, writes to them, and `out=` make no storage."""
    x, out = torch.ones(6), torch.ones(6)
    with Living() as mode:
        y = x[1:]
        x.add_(1)
        torch._foreach_add_([x], 1)
        torch.mul(x, 2, out=out)
    alive(mode, {}, "these storages are older than the mode")
    assert y.shape == (5,)


def test_memory_that_is_used_again() -> None:
    """A freed storage and a new one may share an address but are different."""
    with Living() as mode:
        for _ in range(1000):
            x = torch.ones(1000)
            place = x.data_ptr()
            del x
            last = torch.full((1000,), 2.0)
            if last.data_ptr() == place:
                break
    alive(mode, {"aten.full.default": 4000}, "an address names no storage: it is given out again")
    assert last.shape == (1000,)


def test_the_mode_holds_nothing() -> None:
    """Under the mode, tensors and autograd graphs are freed without the garbage collector."""
    w = torch.ones(3, requires_grad=True)
    mode = Living()

    def make() -> list[torch.Tensor]:
        with mode:
            y = (w * 2).exp()
            return [y, y.sum()]

    freed(make, "the mode has only weak references")
    alive(mode, {}, "what autograd had saved has died with the graph")


def test_the_leak_of_a_training_loop() -> None:
    """`losses.append(loss)` keeps every graph, `loss.item()` keeps none."""
    w = torch.ones(1000, requires_grad=True)

    def bytes_after(steps: int, *, leak: bool) -> int:
        losses: list[Any] = []
        with Living() as mode:
            for _ in range(steps):
                loss = w.exp().sum()
                losses.append(loss if leak else loss.item())
            del loss
        return int(mode.living()["aten.exp.default"])

    leaks = [bytes_after(steps, leak=True) for steps in (2, 5)]
    assert leaks == [8000, 20000], f"yours {leaks}, expected 4000 bytes from exp for each loss kept"
    fine = bytes_after(5, leak=False)
    assert fine == 0, f"yours {fine} bytes, expected 0: a number keeps no graph"


def test_bytes_when_it_was_made() -> None:
    """The whole storage counts, gaps included; resizing it later does not make a new storage."""
    with Living() as mode:
        x = torch.empty_strided((3,), (2,))
        y = torch.ones(2)
        y.resize_(100)
    expected = {"aten.empty_strided.default": 20, "aten.ones.default": 8}
    alive(mode, expected, "x has 5 elements in its storage, and y had 2 when `ones` made it")
    assert (len(x), len(y)) == (3, 100)


def test_two_modes() -> None:
    """Nested modes count separately, and a mode can be entered again."""
    outer, inner = Living(), Living()
    with outer:
        x = torch.ones(2)
        with inner:
            y = x + 1
    with inner:
        z = x * 2
    alive(outer, {"aten.ones.default": 8, "aten.add.Tensor": 8}, "what ran under the outer mode")
    alive(inner, {"aten.add.Tensor": 8, "aten.mul.Tensor": 8}, "what ran under the inner mode")
    assert kata.storages_in([y, z]), "both tensors are alive"
