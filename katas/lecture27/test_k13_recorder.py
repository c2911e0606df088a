"""Tests of k13_recorder: rings in files, failing operators, and killed processes."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture27.k13_recorder import SLOT
from katas.lecture27.k13_recorder import Recorder
from katas.lecture27.k13_recorder import Ring
from katas.lecture27.k13_recorder import blame
from katas.lecture27.k13_recorder import pack
from katas.lecture27.k13_recorder import read
from plugins.kit import freed
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


one = pytest.mark.step(1, "a ring of slots")
two = pytest.mark.step(2, "running, then done")
three = pytest.mark.step(3, "what fails says so")
four = pytest.mark.step(4, "the file of a dead process")
# Seconds until the test kills a child that should have died.
PATIENCE = 20
# Python 3.12 and later warn: torch has threads, but none computes while a test forks.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a ring's file."""
    return tmp_path / "flight"


def entry(number: int, state: str = "done", op: str = "aten.exp.default") -> dict[str, Any]:
    """Return an entry by hand."""
    return {"id": number, "op": op, "shapes": [[2, 3]], "state": state}


def states(path: Path) -> list[tuple[int, str]]:
    """Return numbers and states of the entries that you read."""
    return [(each["id"], each["state"]) for each in read(path)]


class Inside(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Calls a function while an operator runs, after it was recorded and before it ends."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.call = call

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function, then run the operator."""
        self.call()
        return func(*args, **(kwargs or {}))


@one
def test_what_is_put_is_read(path: Path) -> None:
    """Two of four slots are used; the others hold no entries."""
    ring = Ring(path, 4)
    ring.put(entry(0))
    ring.put(entry(1, "running"))
    yours = read(path)
    expected = [entry(0), entry(1, "running")]
    assert yours == expected, f"yours {yours}, expected {expected}"


@one
def test_an_entry_changes(path: Path) -> None:
    """A number has one slot: a later put with the same number overwrites its entry."""
    ring = Ring(path, 2)
    for state in ("running", "done"):
        ring.put(entry(4, state))
    yours = read(path)
    assert yours == [entry(4)], f"yours {yours}, expected {[entry(4)]}"


@one
@given(st.integers(1, 5), st.integers(0, 17))
@example(12, 30)
def test_the_newest_in_their_order(
    tmp_path_factory: pytest.TempPathFactory, size: int, count: int
) -> None:
    """The ring keeps as many entries as it has slots, and its file does not grow."""
    file = tmp_path_factory.mktemp("ring") / "flight"
    ring = Ring(file, size)
    for number in range(count):
        ring.put(entry(number))
    yours = [each["id"] for each in read(file)]
    expected = [*range(count)][-size:]
    assert yours == expected, f"{count} in {size} slots: yours {yours}, expected {expected}"
    assert file.stat().st_size == size * SLOT, (
        f"the file has {file.stat().st_size} bytes, expected {size * SLOT}"
    )


@one
def test_a_torn_slot(path: Path) -> None:
    """If the process died in mid-write, the slot is ignored."""
    ring = Ring(path, 3)
    for number in range(3):
        ring.put(entry(number))
    ring.memory[SLOT + 20 : SLOT + 30] = b"x" * 10
    yours = states(path)
    assert yours == [(0, "done"), (2, "done")], (
        f"yours {yours}, expected only 0 and 2: see `unpack`"
    )


@one
def test_a_slot_that_is_full(path: Path) -> None:
    """An entry may fill its slot to the last byte."""
    ring = Ring(path, 2)
    room = SLOT - len(pack(entry(0)).rstrip()) - len(', "error": ""')
    full = entry(0, "failed") | {"error": "x" * (room - 2)}
    ring.put(full)
    ring.put(entry(1))
    yours = read(path)
    assert yours == [full, entry(1)], (
        f"your code reads the entries {states(path)}, expected 0 and 1"
    )


@two
def test_operators_in_their_order(path: Path) -> None:
    """Each operator has an entry, with the shapes of its arguments."""
    x = torch.ones(2, 3)
    with Recorder(Ring(path, 9)):
        torch.mm(x, torch.full((3, 4), 2.0))
        torch.exp(x, out=x)
        x.t_()
    yours = [(each["id"], each["op"], each["shapes"], each["state"]) for each in read(path)]
    expected = [
        (0, "aten.full.default", [], "done"),
        (1, "aten.mm.default", [[2, 3], [3, 4]], "done"),
        (2, "aten.exp.out", [[2, 3], [2, 3]], "done"),
        (3, "aten.t_.default", [[2, 3]], "done"),
    ]
    assert yours == expected, (
        f"yours\n{yours}\nexpected\n{expected}\nwith the shapes before the operator ran"
    )


@two
def test_running_while_it_runs(path: Path) -> None:
    """The entry is written before the operator runs, so the one that kills is in the file."""
    seen: list[list[tuple[int, str]]] = []
    x = torch.ones(2)
    with Inside(lambda: seen.append(states(path))), Recorder(Ring(path, 4)):
        x.exp().neg()
    expected = [[(0, "running")], [(0, "done"), (1, "running")]]
    assert seen == expected, f"during each operator the ring has {seen}, expected {expected}"


@two
def test_results_are_the_operators_own(path: Path) -> None:
    """Recording changes no result, forward or backward; keywords are passed on."""
    found = []
    for recorder in (None, Recorder(Ring(path, 4))):
        x = torch.tensor([2.0, 3.0, 5.0], dtype=torch.float64).sqrt().requires_grad_()
        if recorder is None:
            torch.sum(x.exp(), 0, dtype=torch.float32).backward()
        else:
            with recorder:
                torch.sum(x.exp(), 0, dtype=torch.float32).backward()
        found.append(x.grad)
    torch.testing.assert_close(found[1], found[0], msg=lambda text: f"yours, recorded: {text}")
    assert read(path), "your code has recorded nothing during a backward pass"


@two
def test_the_ring_goes_round(path: Path) -> None:
    """A recorder keeps counting, even under a second `with`."""
    recorder = Recorder(Ring(path, 3))
    x = torch.ones(2)
    for _ in range(2):
        with unchanged(x=x), recorder:
            x.exp().neg()
    yours = states(path)
    assert yours == [(1, "done"), (2, "done"), (3, "done")], f"yours {yours}, expected 1, 2, 3"


@two
@pytest.mark.parametrize(("size", "kept"), [(3, [1, 2, 3]), (4, [0, 1, 2, 3])])
def test_a_slot_that_has_been_taken(path: Path, size: int, kept: list[int]) -> None:
    """Operator 0 runs three others before it ends; newer entries must stay."""
    recorder = Recorder(Ring(path, size))
    x, left = torch.ones(2), [3]

    def others() -> None:
        while left[0]:
            left[0] -= 1
            with recorder:
                x.neg()

    with Inside(others), recorder:
        x.exp()
    yours = [(each["id"], each["op"], each["state"]) for each in read(path)]
    names = ["aten.exp.default", *["aten.neg.default"] * 3]
    expected = [(number, names[number], "done") for number in kept]
    assert yours == expected, (
        f"with {size} slots your ring has {yours}, expected {expected}: whose slot is it after exp?"
    )


@two
def test_the_recorder_holds_no_tensor(path: Path) -> None:
    """The recorder stores shapes, and the tensors can be freed."""
    recorder, place = Recorder(Ring(path, 4)), torch.tensor([7])

    def make() -> list[torch.Tensor]:
        with recorder:
            x = torch.ones(3)
            with suppress(Exception):
                torch.index_select(x, 0, place)
            return [x, x.exp()]

    freed(make, "the recorder keeps shapes, no tensors, and no exception that has their frames")
    assert len(read(path)) == 3, "three operators have run, expected an entry for each"


@three
def test_an_operator_fails(path: Path) -> None:
    """The failed operator's entry has the error; the next operator is recorded as usual."""
    x, place = torch.ones(3), torch.tensor([7])
    with Recorder(Ring(path, 4)):
        with pytest.raises(IndexError) as caught:
            torch.index_select(x, 0, place)
        x.exp()
    yours = [(each["op"], each["state"], each.get("error")) for each in read(path)]
    expected = [
        ("aten.index_select.default", "failed", f"IndexError: {caught.value}"),
        ("aten.exp.default", "done", None),
    ]
    assert yours == expected, f"yours\n{yours}\nexpected\n{expected}"


@three
@pytest.mark.parametrize("error", [KeyboardInterrupt("ctrl-c"), ValueError("two words")])
def test_what_is_raised_goes_on(path: Path, error: BaseException) -> None:
    """The same exception object with its cause propagates, even if it is not an `Exception`."""
    cause = OSError("the disk is full")

    def fail() -> None:
        raise error from cause

    with pytest.raises(type(error)) as caught, Inside(fail), Recorder(Ring(path, 4)):
        torch.ones(2)
    assert caught.value is error, (
        f"your code raises {caught.value!r}, expected the operator's exception"
    )
    assert error.__cause__ is cause, f"the cause is now {error.__cause__!r}, expected {cause!r}"
    yours = [(each["state"], each.get("error")) for each in read(path)]
    expected = [("failed", f"{type(error).__name__}: {error}")]
    assert yours == expected, f"yours {yours}, expected {expected}"


@three
@pytest.mark.parametrize("letter", ["x", "\N{GRINNING FACE}", "\\", "\0"])
def test_a_long_error(path: Path, letter: str) -> None:
    """`pack` shortens a text that does not fit into a slot; the entry can still be read."""

    def fail() -> None:
        raise ValueError(letter * 5000)

    with (
        pytest.raises(ValueError, match=r"."),
        Inside(fail),
        Recorder(Ring(path, 4)),
    ):
        torch.ones(2)
    yours = states(path)
    assert yours == [(0, "failed")], f"yours {yours}, expected entry 0, which has failed"


@four
def test_killed_in_an_operator(path: Path) -> None:
    """A child gets SIGKILL in its fifth operator; its file is read here."""

    def child() -> None:
        calls: list[int] = []

        def fifth() -> None:
            calls.append(0)
            if len(calls) == 5:
                os.kill(os.getpid(), signal.SIGKILL)

        x = torch.ones(2, 2)
        with Inside(fifth), Recorder(Ring(path, 3)):
            x.neg().exp().neg().exp().sum().neg()

    process = mp.get_context("fork").Process(target=child)
    process.start()
    process.join(PATIENCE)
    process.kill()
    process.join()
    yours = blame(path)
    assert yours is not None, "your code blames no operator, but the file has a running entry"
    told = (yours["id"], yours["op"], yours["shapes"], yours["state"])
    expected = (4, "aten.sum.default", [[2, 2]], "running")
    assert told == expected, f"your code blames {told}, expected {expected}"
    assert states(path)[:2] == [(2, "done"), (3, "done")], (
        f"the entries before that are {states(path)}, expected 2 and 3 done"
    )


@four
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], None),
        (["done", "done"], None),
        (["done", "failed"], 1),
        (["failed", "done"], None),
        (["running", "running", "done"], 1),
        (["running", "done", "failed"], 0),
        (["failed", "failed"], 1),
    ],
    ids=["empty", "healthy", "failed", "handled", "nested", "caught-inside", "both"],
)
def test_who_is_to_blame(path: Path, rows: list[str], expected: int | None) -> None:
    """Blame the innermost running operator, or else a failure that is the last entry."""
    ring = Ring(path, 4)
    for number, state in enumerate(rows):
        ring.put(entry(number, state))
    found = blame(path)
    yours = None if found is None else found["id"]
    assert yours == expected, f"for {rows} your code blames {yours}, expected {expected}"
