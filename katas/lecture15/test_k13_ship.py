"""Tests of k13_ship: ExecuTorch lowers a network for CPU kernels and for XNNPACK, and runs both."""

from __future__ import annotations

import copy
import importlib
import struct
from functools import cache
from math import inf
from math import nan
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture15.k13_ship import answer
from katas.lecture15.k13_ship import conflicts
from katas.lecture15.k13_ship import inspected
from katas.lecture15.k13_ship import lowering
from katas.lecture15.k13_ship import placed
from katas.lecture15.k13_ship import runtime
from katas.lecture15.k13_ship import ship
from plugins.kit import unchanged


pytestmark = [pytest.mark.backend("executorch"), pytest.mark.time_limit(240)]

KINDS = ("portable", "xnnpack")


class Net(nn.Module):
    """A convolution, a max pooling and a linear layer, with dropout and a concatenation."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.5)
        )
        self.head = nn.Linear(2 * 16 * 49, 5)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the scores, and what they are computed from."""
        hidden = self.body(x).flatten(1)
        numbers: torch.Tensor = self.head(torch.cat([hidden, hidden.neg()], 1))
        return numbers.sigmoid(), numbers


@cache
def network() -> Net:
    """Return a network in training mode."""
    net = Net()
    with torch.no_grad():
        net(torch.randn(4, 3, 16, 16) + 1)
    return net


def photo(count: int = 2) -> torch.Tensor:
    """Return some photos."""
    return torch.randn(count, 3, 16, 16)


def expected_of(x: torch.Tensor) -> torch.Tensor:
    """Return the scores of the network itself."""
    with torch.no_grad():
        scores: torch.Tensor = copy.deepcopy(network()).eval()(x)[0]
        return scores


@cache
def shipped(kind: str) -> Any:
    """Return what your `ship` returns."""
    name = "executorch.backends.xnnpack.partition.xnnpack_partitioner"
    delegates = [importlib.import_module(name).XnnpackPartitioner()] if kind == "xnnpack" else []
    with unchanged(network(), but=("torch.get_rng_state()", "the thread's warnings")):
        return ship(network(), photo(), delegates)


def check(yours: torch.Tensor, x: torch.Tensor, symptom: str) -> None:
    """Compare scores."""
    off = float((yours - expected_of(x)).abs().max())

    assert off < 1e-5, f"{symptom}: yours is off by {off:.3f}"


@pytest.mark.parametrize("kind", KINDS)
def test_it_answers_as_the_network(kind: str) -> None:
    """The program answers in eval mode, though it was shipped in training mode."""
    x = photo()
    data = shipped(kind).buffer
    with unchanged(x=x):
        yours = answer(data, x)

    check(yours, x, kind)


def test_a_delegate_has_its_part() -> None:
    """With XNNPACK few kernels are left to call; without it, each operator is a kernel."""
    plans = {kind: shipped(kind).executorch_program.execution_plan[0] for kind in KINDS}
    calls = {kind: len(plan.chains[0].instructions) for kind, plan in plans.items()}

    assert not plans["portable"].delegates, "the portable program has a delegate, expected none"
    assert plans["xnnpack"].delegates, f"no delegate; did you pass `delegates` on? Calls: {calls}"
    assert calls["xnnpack"] < calls["portable"], (
        f"instructions {calls}, expected fewer with XNNPACK"
    )


def test_the_inspector_says_who_ran() -> None:
    """Each kernel has two rows, one inside the other; a delegate's row contains rows of its own."""
    x = photo()
    events = {kind: inspected(shipped(kind).buffer, x) for kind in KINDS}
    names = {kind: [event.name for event in found] for kind, found in events.items()}
    plan = shipped("portable").executorch_program.execution_plan[0]
    kernels = {f"native_call_{each.name.rpartition('::')[2]}.out" for each in plan.operators}
    calls = len(plan.chains[0].instructions)

    assert kernels <= {*names["portable"]}, f"{kernels - {*names['portable']}} did not run"
    assert calls == names["portable"].count("OPERATOR_CALL"), f"{calls} calls: {names['portable']}"
    assert "DELEGATE_CALL" in names["xnnpack"], f"no delegate ran: {names['xnnpack']}"
    assert any(event.is_delegated_op for event in events["xnnpack"]), names["xnnpack"]


def test_a_delegate_is_faster() -> None:
    """With XNNPACK the shortest of many interleaved runs takes less than half as long."""
    x = photo()
    programs = {kind: runtime().load_program(shipped(kind).buffer) for kind in KINDS}
    methods = {kind: program.load_method("forward") for kind, program in programs.items()}
    best = dict.fromkeys(KINDS, inf)
    for _ in range(50):
        for kind, method in methods.items():
            start = perf_counter()
            method.execute([x])
            best[kind] = min(best[kind], perf_counter() - start)
    ratio = best["portable"] / best["xnnpack"]

    assert ratio > 2, f"portable takes {ratio:.1f} times as long as with XNNPACK, expected > 2"


@pytest.mark.parametrize("kind", KINDS)
def test_a_photo_in_channels_last(kind: str) -> None:
    """A channels-last photo gives the same answer; ExecuTorch itself would misread it."""
    x = photo()
    yours = answer(shipped(kind).buffer, x.to(memory_format=torch.channels_last))

    check(yours, x, f"{kind}, channels-last: its bytes were read in another order")


def test_other_strides() -> None:
    """A slice and a transposed photo give the same answer."""
    x = photo()
    data = shipped("portable").buffer

    check(answer(data, x.mT.contiguous().mT), x, "a photo that was stored column by column")
    check(answer(data, torch.stack([x, -x], 1).flatten(0, 1)[::2]), x, "every second photo")


@pytest.mark.parametrize("kind", KINDS)
def test_a_photo_with_a_nan(kind: str) -> None:
    """A NaN is refused: on x86 both max poolings, XNNPACK's too, would drop it."""
    data, x = shipped(kind).buffer, photo()
    x[1, 2, 3, 4] = nan
    with pytest.raises(ValueError, match=r"."):
        answer(data, x)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_that_was_not_exported(kind: str) -> None:
    """ExecuTorch refuses another batch size, and its error must reach the caller."""
    data = shipped(kind).buffer
    for count in (1, 3):
        with pytest.raises(RuntimeError, match=r"set_inputs"):
            answer(data, photo(count))


@pytest.mark.given
def test_a_file_that_has_changed() -> None:
    """If one bit of a weight has changed, ExecuTorch loads the file and answers differently."""
    net, x = nn.Linear(8, 2).eval(), torch.ones(1, 8)
    data = bytearray(lowering()(torch.export.export(net, (x,))).to_executorch().buffer)
    # The header that k03 reads: where the weights begin.
    (weights,) = struct.unpack_from("<Q", data, 24)
    before = runtime().load_program(bytes(data)).load_method("forward").execute([x])[0].clone()
    data[weights + 3] ^= 0x40
    after = runtime().load_program(bytes(data)).load_method("forward").execute([x])[0]

    assert torch.allclose(net(x), before)
    assert not torch.allclose(before, after)


def test_an_earlier_answer_stays() -> None:
    """The next answer does not overwrite an earlier one."""
    data, first, second = shipped("portable").buffer, photo(), photo()
    one = answer(data, first)
    answer(data, second)

    check(one, first, "the first answer, after the second photo")


def by_hand(
    offsets: dict[int, int],
    steps: list[list[int]],
    inputs: list[int],
    outputs: list[int],
    lists: dict[int, list[int]] | None = None,
) -> Any:
    """Return a plan of values with 16 bytes each."""
    values: list[Any] = [SimpleNamespace(val=SimpleNamespace()) for _ in range(9)]
    for number, offset in offsets.items():
        where = SimpleNamespace(memory_offset_low=offset)
        values[number].val = SimpleNamespace(sizes=[2, 2], scalar_type=6, allocation_info=where)
    for number, items in (lists or {}).items():
        values[number].val = SimpleNamespace(items=items)
    made = [SimpleNamespace(instr_args=SimpleNamespace(args=args)) for args in steps]
    # A second chain, which reads everything, must not count.
    everything = SimpleNamespace(instr_args=SimpleNamespace(args=[*range(9)]))
    chains = [SimpleNamespace(instructions=part) for part in (made, [everything, *made])]
    return SimpleNamespace(values=values, chains=chains, inputs=inputs, outputs=outputs)


def check_conflicts(plan: Any, expected: list[tuple[int, int]], why: str) -> None:
    """Compare conflicts."""
    yours = conflicts(plan)
    steps = [each.instr_args.args for each in plan.chains[0].instructions]

    assert expected == yours, (
        f"inputs {plan.inputs}, instructions {steps}, outputs {plan.outputs}\n{placed(plan)}\n"
        f"yours {yours}, expected {expected}: {why}"
    )


def test_lifetimes_of_instructions() -> None:
    """An instruction reads while it writes; after its last reader a value may be overwritten."""
    steps = [[0, 1, 1], [1, 2, 2], [2, 3, 3]]
    good = by_hand({0: 0, 1: 16, 2: 0, 3: 16}, steps, [0], [3])
    bad = by_hand({0: 0, 1: 0, 2: 8, 3: 48}, steps, [0], [3])

    late = by_hand({3: 0, 4: 16, 2: 0}, [[3, 4], [4, 2]], [3], [2])

    check_conflicts(good, [], "0 is dead when 2 is written")
    check_conflicts(late, [], "3 is dead when 2 is written: numbers say nothing about time")
    for long, short in ((1, 2), (2, 1)):
        inner = by_hand({1: 16, 2: 16, 8: 64}, [[0, long], [0, short], [long, 3]], [0], [3])

        check_conflicts(inner, [(1, 2)], f"{long} is alive before and after {short}; 8 is unused")
    check_conflicts(bad, [(0, 1), (1, 2)], "2 begins in the middle of 1")


def test_inputs_and_outputs() -> None:
    """The caller writes inputs before the first instruction, and reads outputs after the last."""
    steps = [[1, 2, 2], [2, 3, 3], [0, 3, 4]]
    early = by_hand({0: 0, 2: 0, 3: 16, 4: 32}, steps, [0], [4])
    late = by_hand({0: 0, 1: 16, 2: 32, 3: 16}, [[0, 1], [0, 2], [2, 3]], [0], [1, 3])

    check_conflicts(early, [(0, 2)], "0 is an input, read by the third instruction")
    check_conflicts(late, [(1, 3)], "1 is an output: nobody may write there")


def test_a_list_among_the_arguments() -> None:
    """Values in a list among the arguments are read, too."""
    steps = [[0, 1], [0, 2], [1, 3], [5, 6, 4]]
    plan = by_hand({0: 0, 1: 16, 2: 32, 3: 32, 4: 48}, steps, [0], [4], {5: [2, 3]})

    check_conflicts(plan, [(2, 3)], "5 is a list of 2 and 3")


@pytest.mark.parametrize("kind", KINDS)
def test_their_plan_has_no_conflict(kind: str) -> None:
    """ExecuTorch's offsets and your lifetimes give no conflict."""
    plan = shipped(kind).executorch_program.execution_plan[0]
    yours = conflicts(plan)

    assert [] == yours, f"your function finds {yours}, expected no conflict, in {placed(plan)}"


def test_a_plan_that_is_wrong() -> None:
    """With all values at offset 0, exactly those that are alive at once conflict."""
    plan = copy.deepcopy(shipped("portable").executorch_program.execution_plan[0])
    for number in placed(plan):
        plan.values[number].val.allocation_info.memory_offset_low = 0
    steps = [
        {n for each in one.instr_args.args for n in getattr(plan.values[each].val, "items", [each])}
        for one in plan.chains[0].instructions
    ]
    steps = [{*plan.inputs}, *steps, {*plan.outputs}]
    alive = {
        n: [at for at, step in enumerate(steps) if n in step]
        for n, span in placed(plan).items()
        if span
    }
    expected = [
        (a, b)
        for a in alive
        for b in alive
        if a < b and alive[a][0] <= alive[b][-1] and alive[b][0] <= alive[a][-1]
    ]
    yours = conflicts(plan)

    assert expected == yours, f"yours {yours}, expected {expected}; alive: {alive}"


def test_one_byte_is_enough() -> None:
    """One shared byte is a conflict; a value that begins where another ends is not."""
    plan = copy.deepcopy(shipped("portable").executorch_program.execution_plan[0])
    spans = placed(plan)
    far = max(span.stop for span in spans.values())
    one, other = next(
        numbers
        for each in plan.chains[0].instructions
        if len(numbers := sorted({*each.instr_args.args} & {*spans})) == 2
    )
    plan.values[one].val.allocation_info.memory_offset_low = far
    plan.values[other].val.allocation_info.memory_offset_low = far + len(spans[one]) - 1
    touching = conflicts(plan)
    plan.values[other].val.allocation_info.memory_offset_low += 1
    apart = conflicts(plan)

    assert [(one, other)] == touching, f"yours {touching}, expected {[(one, other)]}"
    assert [] == apart, f"one ends where the other begins: yours {apart}, expected no conflict"
