"""Tests of k04_foreach: launches are counted, and results equal the loop's bit for bit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture12.k04_foreach import BETA1
from katas.lecture12.k04_foreach import BETA2
from katas.lecture12.k04_foreach import EPS
from katas.lecture12.k04_foreach import RATE
from katas.lecture12.k04_foreach import foreach_step
from katas.lecture12.k04_foreach import kinds
from katas.lecture12.k04_foreach import launches
from katas.lecture12.k04_foreach import loop_step
from plugins.kit import unchanged
from plugins.kit import watched_operators


DOUBLE, FLOAT = torch.float64, torch.float32


Tensors = list[torch.Tensor]


class Lists(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Records the dtypes in each list of tensors passed to an operator."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.dtypes: list[tuple[str, set[torch.dtype]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run it."""
        found = [xs for xs in args if isinstance(xs, list | tuple)]
        self.dtypes += [(str(func), {x.dtype for x in xs}) for xs in found]
        return func(*args, **(kwargs or {}))


class Idle(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Skips every operator that writes into its arguments."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Skip it or run it."""
        if func._schema.is_mutable:  # noqa: SLF001
            return args[0] if func._schema.returns else None  # noqa: SLF001
        return func(*args, **(kwargs or {}))


def lists(*dtypes: torch.dtype) -> tuple[Tensors, Tensors, Tensors, Tensors]:
    """Return parameters of these dtypes and different sizes, gradients, and initial state."""
    ps: list[torch.Tensor] = [
        torch.nn.Parameter(torch.arange(2, 20 + n, dtype=dtype).sqrt())
        for n, dtype in enumerate(dtypes)
    ]
    grads = [torch.arange(p.numel(), dtype=p.dtype).sin() * (n + 1) for n, p in enumerate(ps)]
    return ps, grads, [torch.zeros_like(p) for p in grads], [torch.zeros_like(p) for p in grads]


def compare(*dtypes: torch.dtype, steps: int = 3) -> None:
    """Step yours and the loop, and compare bit for bit."""
    __tracebackhide__ = True
    yours, right = lists(*dtypes), lists(*dtypes)
    for t in range(1, steps + 1):
        with unchanged(grads=yours[1]):
            foreach_step(*yours, t=t)
        loop_step(*right, t=t)
        for name, mine, theirs in zip(("ps", "grads", "ms", "vs"), yours, right, strict=True):
            for n, (a, b) in enumerate(zip(mine, theirs, strict=True)):
                says = f"step {t}, {name}[{n}] of {dtypes}: yours is not the loop's\n".__add__
                torch.testing.assert_close(a, b, rtol=0, atol=0, msg=says)


@pytest.mark.given
@pytest.mark.parametrize("how", ["default", "foreach", "fused"])
def test_how_many_pytorch_launches(how: str) -> None:
    """On a CPU the default is the loop; foreach launches fewer, fused almost none."""
    counts = {}
    for name in ("default", "loop", "foreach", "fused"):
        more: dict[str, Any] = {"default": {}, "loop": {"foreach": False}}.get(name, {name: True})
        ps = lists(*[DOUBLE] * 20)[0]
        for p in ps:
            p.grad = torch.ones_like(p)
        step = torch.optim.Adam(ps, **more).step
        step()
        counts[name] = len(launches(step))
    right = {
        "default": counts["default"] == counts["loop"] >= 140,
        "foreach": counts["foreach"] < counts["loop"] / 2,
        "fused": counts["fused"] < 10,
    }
    assert right[how], f"PyTorch's launches: {counts}"


@pytest.mark.given
def test_the_loop_is_that_of_pytorch() -> None:
    """The given loop equals torch.optim.Adam bit for bit."""
    mine, theirs = lists(DOUBLE, FLOAT), lists(DOUBLE, FLOAT)[0]
    adam = torch.optim.Adam(theirs, RATE, betas=(BETA1, BETA2), eps=EPS, foreach=False)
    for t in (1, 2, 3):
        loop_step(*mine, t=t)
        for p, grad in zip(theirs, mine[1], strict=True):
            p.grad = grad.clone()
        adam.step()
    for a, b in zip(mine[0], theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_one_kind() -> None:
    """Three tensors of one kind, whatever their sizes."""
    yours = kinds(lists(DOUBLE, DOUBLE, DOUBLE)[0])
    assert yours == [[0, 1, 2]], f"yours {yours}, expected [[0, 1, 2]]"


def test_two_dtypes() -> None:
    """Each index is in the list of its dtype."""
    yours = kinds(lists(FLOAT, DOUBLE, DOUBLE, FLOAT)[0])
    assert yours == [[0, 3], [1, 2]], f"yours {yours}, expected [[0, 3], [1, 2]]"
    yours = kinds(lists(DOUBLE, FLOAT)[0])
    assert yours == [[0], [1]], f"float64 appears first: yours {yours}, expected [[0], [1]]"


def test_two_devices() -> None:
    """Two GPUs are different devices though both are cuda; here they are fake tensors."""
    with FakeTensorMode():
        ps = [torch.empty(2, device=device) for device in ("cuda:0", "cuda:1", "cpu", "cuda:0")]
    yours = kinds(ps)
    assert yours == [[0, 3], [1], [2]], f"yours {yours}, expected [[0, 3], [1], [2]]"


def test_no_tensor_no_kind() -> None:
    """No tensors give no lists: foreach operators reject an empty one."""
    yours = kinds([])
    assert yours == [], f"yours {yours}, expected []"


def test_one_parameter() -> None:
    """Three steps of a single parameter, bit for bit."""
    compare(DOUBLE)


def test_five_parameters() -> None:
    """Each parameter has its own gradient and its own state."""
    compare(*[DOUBLE] * 5)


@settings(max_examples=20)
@given(st.lists(st.sampled_from([DOUBLE, FLOAT]), max_size=6))
def test_any_parameters(dtypes: list[torch.dtype]) -> None:
    """Any mixture of two dtypes, or no parameters at all."""
    compare(*dtypes, steps=2)


def test_it_is_done_in_place() -> None:
    """The model holds these parameters, a checkpoint holds this state; nothing is returned."""
    every = lists(DOUBLE, FLOAT, DOUBLE)
    places = [[x.data_ptr() for x in xs] for xs in every]
    held = [list(xs) for xs in every]
    returned: object = foreach_step(*every, t=1)
    assert returned is None, f"your code returns {returned}, expected None"
    assert places == [[x.data_ptr() for x in xs] for xs in every], (
        "your code replaced the memory of a tensor"
    )
    same = all(
        a is b for xs, ys in zip(held, every, strict=True) for a, b in zip(xs, ys, strict=True)
    )
    assert same, "your code put different tensors into its argument lists"


@pytest.mark.parametrize("count", [1, 20, 200])
def test_seven_launches(count: int) -> None:
    """Any number of parameters of one kind."""
    every, again = lists(*[DOUBLE] * count), lists(*[DOUBLE] * count)
    yours = launches(lambda: foreach_step(*every, t=3))
    loop = launches(lambda: loop_step(*again, t=3))
    assert len(yours) <= 7, (
        f"{count} parameters: your code makes {len(yours)} launches, the loop {len(loop)}, expected"
        f" at most 7\nyours: {dict(Counter(yours))}"
    )


def test_fourteen_launches_for_two_kinds() -> None:
    """Two dtypes mean two lists for each operator, in whatever order they are mixed."""
    every = lists(*[DOUBLE, FLOAT] * 10)
    yours = launches(lambda: foreach_step(*every, t=3))
    assert len(yours) <= 14, (
        f"your code makes {len(yours)} launches, expected at most 14: {dict(Counter(yours))}"
    )


def test_no_launch_is_hidden() -> None:
    """The profiler sees operators that bypass the mode or run in another thread."""
    every = lists(*[DOUBLE] * 3)
    seen = {name.split(".")[1] for name in launches(lambda: foreach_step(*every, t=3))}
    with watched_operators() as names:
        foreach_step(*every, t=4)
    ran = {name.removeprefix("aten::") for name in names if "_foreach_" in name}
    assert ran, "no foreach operator has run: replace the loop with foreach operators"
    assert ran <= seen, f"your code runs {sorted(ran - seen)} where `launches` does not see it"

    every = lists(*[DOUBLE] * 3)
    before = [x.tolist() for xs in every for x in xs]
    with Idle():  # type: ignore[no-untyped-call, unused-ignore]
        foreach_step(*every, t=1)
    after = [x.tolist() for xs in every for x in xs]
    assert before == after, (
        "your code writes where `launches` does not see it: past the mode, or in a thread"
    )


def test_each_list_is_of_one_kind() -> None:
    """On a GPU, a mixed list is split and each tensor launched separately."""
    every = lists(DOUBLE, FLOAT, DOUBLE, FLOAT)
    with Lists() as lists_seen:
        foreach_step(*every, t=1)
    mixed = sorted({name for name, dtypes in lists_seen.dtypes if len(dtypes) > 1})
    assert not mixed, f"your code passes lists of two dtypes to {mixed}: use one list per kind"
