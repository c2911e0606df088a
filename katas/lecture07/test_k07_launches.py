"""Tests of k07_launches: torch.optim.Adam is the oracle, and operators are counted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture07.k07_launches import BETA1
from katas.lecture07.k07_launches import BETA2
from katas.lecture07.k07_launches import EPS
from katas.lecture07.k07_launches import RATE
from katas.lecture07.k07_launches import plain_step
from katas.lecture07.k07_launches import step
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable


class Launches(TorchDispatchMode):
    """Lists operators, and the storages that their results have but their inputs do not."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.fresh: set[int] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> torch.Tensor:
        """Run the operator."""
        result = func(*args, **(kwargs or {}))
        self.names.append(str(func))
        old = {x.data_ptr() for x in args if isinstance(x, torch.Tensor)}
        if result.data_ptr() not in old:
            self.fresh.add(len(self.names))
        return result


def tensors(dtype: torch.dtype = torch.float64) -> dict[str, torch.Tensor]:
    """Return a parameter, a gradient that contains zeros, and the state before the first step."""
    p = torch.arange(1, 9, dtype=dtype).sqrt()
    grad = (torch.arange(8, dtype=dtype) - 3).sin() * torch.tensor(
        [1e-9, 1, 0, 1e3] * 2, dtype=dtype
    )
    return {"p": p, "grad": grad, "m": torch.zeros_like(p), "v": torch.zeros_like(p)}


def count(how: Callable[..., None]) -> Launches:
    """Count one step."""
    every = tensors()
    with Launches() as launches:
        how(*every.values(), 3)
    return launches


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_three_steps_of_adam(dtype: torch.dtype) -> None:
    """Parameter and state equal torch.optim.Adam's, for tiny and zero gradients too."""
    yours = tensors(dtype)
    p = torch.nn.Parameter(yours["p"].clone())
    adam = torch.optim.Adam([p], RATE, betas=(BETA1, BETA2), eps=EPS, foreach=False)
    close = 1e-12 if dtype == torch.float64 else 1e-5
    for t in (1, 2, 3):
        p.grad = yours["grad"] * t
        adam.step()
        with unchanged(grad=p.grad):
            step(yours["p"], p.grad, yours["m"], yours["v"], t)
        theirs = {"p": p.detach(), "m": adam.state[p]["exp_avg"], "v": adam.state[p]["exp_avg_sq"]}
        for name, right in theirs.items():
            says = f"step {t}, {name}: yours is not that of torch.optim.Adam\n".__add__
            torch.testing.assert_close(yours[name], right, rtol=close, atol=close * 1e-8, msg=says)


def test_it_is_done_in_place() -> None:
    """Anyone who holds the tensors sees the step, and nothing is returned."""
    every = tensors()
    places = {name: x.data_ptr() for name, x in every.items()}
    returned: object = step(*every.values(), 1)

    assert returned is None, f"your function returned {returned}, expected None"
    assert places == {name: x.data_ptr() for name, x in every.items()}, (
        "your function replaced a storage: write into the old one"
    )


def test_six_launches() -> None:
    """Every operator counts, and so do copies."""
    yours, plain = count(step).names, count(plain_step).names
    assert len(yours) <= 6, (
        f"your step makes {len(yours)} launches, expected at most 6: {', '.join(yours)};"
        f" plain_step makes {len(plain)}"
    )


def test_no_launch_is_hidden() -> None:
    """Three tensors change, so there are at least three launches, and none outside the mode."""
    seen, plain = count(step).names, count(plain_step).names
    ready = tensors().values()
    with watched_operators() as every:
        step(*ready, 3)

    assert len(seen) >= 3, f"your function launched only {seen}: what changed p, m and v?"
    names, arithmetic = ([f"aten::{name.split('.')[1]}" for name in each] for each in (seen, plain))
    hidden = (Counter(every) - Counter(names)) & Counter(arithmetic)
    assert not hidden, (
        f"your function launched {dict(hidden)} in another thread, or where the mode cannot see it"
    )


def test_one_new_tensor() -> None:
    """Only the square root needs a new tensor."""
    yours, plain = len(count(step).fresh), len(count(plain_step).fresh)
    assert yours <= 1, (
        f"your step makes {yours} new tensors, expected at most 1; plain_step makes {plain}"
    )
