"""Tests of k02_sgd: its steps equal those of torch.optim.SGD with foreach=False, bit for bit."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from katas.lecture12 import k02_sgd as kata
from katas.lecture12.k02_sgd import SGD
from plugins.kit import forbids
from plugins.kit import unchanged


def parameter(start: int, dtype: torch.dtype = torch.float64) -> torch.nn.Parameter:
    """Return 67 irrational numbers, more than a vector register holds."""
    return torch.nn.Parameter(torch.arange(start, start + 67, dtype=dtype).sqrt())


def gradient(p: torch.Tensor, t: int) -> torch.Tensor:
    """Return a gradient with irrational values of both signs, and a zero."""
    grad = (torch.arange(p.numel(), dtype=p.dtype) * (t + 1)).sin()
    return grad.reshape(p.shape)


def alike(yours: torch.Tensor, theirs: torch.Tensor, what: str) -> None:
    """Compare two tensors bit for bit."""
    __tracebackhide__ = True
    says = (
        f"{what}: yours is not PyTorch's to the bit; see _single_tensor_sgd for the operators\n"
    ).__add__
    torch.testing.assert_close(yours, theirs, rtol=0, atol=0, equal_nan=True, msg=says)


class Pair:
    """Your optimizer and PyTorch's, with parameters of the same values."""

    def __init__(self, *groups: dict[str, Any], dtype: torch.dtype = torch.float64) -> None:
        self.mine, self.right = ([parameter(2 + n, dtype) for n in range(3)] for _ in range(2))
        first, second = groups if len(groups) == 2 else (*groups, *groups)
        self.yours, self.theirs = (
            make([{"params": ps[:2], **first}, {"params": ps[2:], **second}], lr=0.1, **more)
            for make, ps, more in (
                (SGD, self.mine, {}),
                (torch.optim.SGD, self.right, {"foreach": False}),
            )
        )

    def step(self, t: int, *, grads: bool = True) -> None:
        """Set gradients, step both, and compare parameters."""
        __tracebackhide__ = True
        for mine, right in zip(self.mine, self.right, strict=True):
            mine.grad = gradient(mine, t) if grads else None
            right.grad = gradient(right, t) if grads else None
        self.yours.step()
        self.theirs.step()
        for n, (mine, right) in enumerate(zip(self.mine, self.right, strict=True)):
            alike(mine, right, f"parameter {n} after step {t}")

    def step_without_the_first(self, t: int) -> None:
        """Step both with a parameter that has no gradient, and check what must stay unchanged."""
        __tracebackhide__ = True
        for ps in (self.mine, self.right):
            for n, p in enumerate(ps):
                p.grad = None if n == 0 else gradient(p, t)
        grads = [p.grad for p in self.mine]
        with unchanged(idle=self.mine[0], grads=grads[1:]):
            self.yours.step()
        self.theirs.step()
        same = all(p.grad is grad for p, grad in zip(self.mine, grads, strict=True))
        assert same, (
            "your code drops or replaces a .grad: keep the same tensors, and leave clearing to"
            " zero_grad"
        )
        for n, (mine, right) in enumerate(zip(self.mine, self.right, strict=True)):
            alike(mine, right, f"parameter {n} after step {t}, where parameter 0 has no gradient")


def test_one_step_of_whole_numbers() -> None:
    """Without momentum and decay, a parameter moves against its gradient, times lr."""
    p = torch.nn.Parameter(torch.tensor([1.0, 2.0, 4.0]))
    place = p.data_ptr()
    p.grad = torch.tensor([2.0, 0.0, -2.0])
    returned: object = SGD([p], lr=0.5).step()

    assert p.tolist() == [0.0, 2.0, 5.0], f"yours {p.tolist()}, expected [0.0, 2.0, 5.0]"
    assert p.data_ptr() == place, "the parameter has new memory; your step must change it in place"
    assert returned is None, f"your code returns {returned}, expected None"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_bits_of_a_plain_step(dtype: torch.dtype) -> None:
    """Product and sum are a single operator, so they round as PyTorch does."""
    pair = Pair({}, dtype=dtype)
    for t in range(3):
        pair.step(t)


def test_bits_of_weight_decay() -> None:
    """The parameter times weight_decay is added to the gradient."""
    pair = Pair({"weight_decay": 0.3})
    for t in range(3):
        pair.step(t)


def test_momentum() -> None:
    """The buffer starts as the gradient, then accumulates."""
    pair = Pair({"momentum": 0.9})
    for t in range(4):
        pair.step(t)


def test_dampening_spares_the_first_step() -> None:
    """The first gradient enters the buffer undampened, later ones times 1 - dampening."""
    pair = Pair({"momentum": 0.9, "dampening": 0.3})
    for t in range(3):
        pair.step(t)


def test_nesterov() -> None:
    """The gradient plus a fraction of the buffer, at the first step too."""
    pair = Pair({"momentum": 0.9, "nesterov": True, "weight_decay": 0.1})
    for t in range(3):
        pair.step(t)


def test_each_group_has_its_settings() -> None:
    """The second group has its own lr, no momentum, and weight decay."""
    pair = Pair({"momentum": 0.7}, {"lr": 0.3, "momentum": 0, "weight_decay": 0.2})
    for t in range(3):
        pair.step(t)


def test_nothing_else_moves() -> None:
    """Gradients stay, and so does a parameter without one, even if its group has decay."""
    pair = Pair({"momentum": 0.9, "nesterov": True, "weight_decay": 0.1})
    for t in range(2):
        pair.step_without_the_first(t)
    idle = pair.yours.state.get(pair.mine[0], {})
    assert not idle, f"your code keeps {sorted(idle)} for a parameter that has had no gradient yet"


def test_parameters_without_a_gradient_rest() -> None:
    """One step finds every .grad None: the buffers stay as they are."""
    pair = Pair({"momentum": 0.9, "weight_decay": 0.1})
    for t, grads in enumerate((True, False, True)):
        pair.step(t, grads=grads)


def test_no_momentum_no_state() -> None:
    """A buffer is as large as its parameter, so a group without momentum keeps none."""
    pair = Pair({})
    pair.step(0)
    yours = sum(len(state) for state in pair.yours.state.values())
    assert yours == 0, (
        f"your code keeps {yours} tensors, PyTorch keeps none: each costs as much memory as its"
        " parameter"
    )


def test_what_is_zero_is_left_out() -> None:
    """0 times infinity is NaN, so without weight decay do not add the parameter at all."""
    p = torch.nn.Parameter(torch.tensor([math.inf, 1.0]))
    p.grad = torch.ones(2)
    SGD([p], lr=0.5).step()
    assert p.tolist() == [math.inf, 0.5], f"yours {p.tolist()}, PyTorch's [inf, 0.5]"


def test_the_buffer_is_a_tensor_of_its_own() -> None:
    """The next backward writes into .grad and must not change the buffer."""
    p = parameter(2)
    optimizer = SGD([p], lr=0.1, momentum=0.9)
    p.grad = gradient(p, 0)
    optimizer.step()
    before = optimizer.state[p]["momentum_buffer"].clone()
    p.grad.zero_()
    alike(optimizer.state[p]["momentum_buffer"], before, "the buffer after p.grad.zero_()")


@pytest.mark.parametrize("to", ["PyTorch's", "yours"])
def test_a_state_dict_goes_on_elsewhere(to: str) -> None:
    """One optimizer steps, then the other continues from its state_dict."""
    pair = Pair({"momentum": 0.9, "dampening": 0.2})
    pair.step(0)
    pair.step(1)
    old, new = (pair.theirs, pair.yours) if to == "yours" else (pair.yours, pair.theirs)
    # A state_dict holds the tensors themselves: without a copy both optimizers share a buffer.
    new.load_state_dict(deepcopy(old.state_dict()))
    pair.step(2)
    pair.step(3)


def test_momentum_that_comes_later() -> None:
    """A scheduler may set momentum mid-run: the buffer starts with the next gradient."""
    pair = Pair({"dampening": 0.5})
    for t, momentum in enumerate((0, 0.9, 0.5, 0)):
        for group in (*pair.yours.param_groups, *pair.theirs.param_groups):
            group["momentum"] = momentum
        pair.step(t)


def test_it_is_written_here() -> None:
    """Without torch.optim.SGD and its functional form."""
    p = parameter(2)
    p.grad = gradient(p, 0)
    with forbids(kata, "torch.optim.SGD", "torch.optim.sgd") as fresh:
        fresh.SGD([p], lr=0.1, momentum=0.9).step()


@settings(max_examples=15)
@given(
    st.floats(1e-4, 3.0),
    st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from([0.0, 1e-4, 0.3]),
    st.sampled_from(["plain", "nesterov"]),
)
def test_any_settings(
    lr: float, momentum: float, dampening: float, decay: float, kind: str
) -> None:
    """Four steps with random settings."""
    # PyTorch refuses Nesterov without momentum, or with dampening.
    nesterov = kind == "nesterov" and momentum > 0
    options = {"lr": lr, "momentum": momentum, "weight_decay": decay, "nesterov": nesterov}
    pair = Pair(options | {"dampening": 0.0 if nesterov else dampening})
    for t in range(4):
        pair.step(t)
