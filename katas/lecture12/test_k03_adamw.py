"""Tests of k03_adamw: torch.optim.Adam and AdamW with foreach=False are the oracle, bit for bit."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from katas.lecture12 import k03_adamw as kata
from katas.lecture12.k03_adamw import Adam
from plugins.kit import forbids
from plugins.kit import unchanged


KINDS = ("Adam", "AdamW")


def parameter(start: int, dtype: torch.dtype = torch.float64) -> torch.nn.Parameter:
    """Return 67 irrational numbers, more than a vector register holds."""
    return torch.nn.Parameter(torch.arange(start, start + 67, dtype=dtype).sqrt())


def gradient(p: torch.Tensor, t: int, scale: float = 1.0) -> torch.Tensor:
    """Return irrational values of both signs, a zero, tiny ones and huge ones."""
    places = torch.arange(p.numel(), dtype=p.dtype)
    return (places * (t + 1)).sin() * 10 ** (places % 9 - 6) * scale


def alike(yours: torch.Tensor, theirs: torch.Tensor, what: str) -> None:
    """Compare two tensors bit for bit."""
    __tracebackhide__ = True
    says = (
        f"{what}: yours is not PyTorch's to the bit; see _single_tensor_adam for the operators\n"
    ).__add__
    torch.testing.assert_close(yours, theirs, rtol=0, atol=0, equal_nan=True, msg=says)


class Pair:
    """Your optimizer and PyTorch's, with parameters of the same values."""

    def __init__(
        self, kind: str, *groups: dict[str, Any], dtype: torch.dtype = torch.float64
    ) -> None:
        self.mine, self.right = ([parameter(2 + n, dtype) for n in range(3)] for _ in range(2))
        first, second = groups if len(groups) == 2 else (*groups, *groups)
        split = [
            [{"params": ps[:2], **first}, {"params": ps[2:], **second}]
            for ps in (self.mine, self.right)
        ]
        self.yours = Adam(split[0], lr=0.1, decoupled=kind == "AdamW")
        make = torch.optim.AdamW if kind == "AdamW" else torch.optim.Adam
        self.theirs = make(split[1], lr=0.1, weight_decay=0.0, foreach=False)

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


def test_the_first_step_is_lr() -> None:
    """The size of the gradient cancels; the parameter moves in place."""
    p = torch.nn.Parameter(torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64))
    place = p.data_ptr()
    p.grad = torch.tensor([1e-3, 5.0, -300.0], dtype=torch.float64)
    returned: object = Adam([p], lr=0.5).step()

    says = "after one step: yours is not [0.5, 1.5, 4.5]\n".__add__
    right = torch.tensor([0.5, 1.5, 4.5], dtype=torch.float64)
    torch.testing.assert_close(p.detach(), right, rtol=0, atol=1e-5, msg=says)
    assert p.data_ptr() == place, "the parameter has new memory; your step must change it in place"
    assert returned is None, f"your code returns {returned}, expected None"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_bits_without_decay(dtype: torch.dtype) -> None:
    """Four steps, with gradients between 1e-6 and 100."""
    pair = Pair("Adam", {}, dtype=dtype)
    for t in range(4):
        pair.step(t)


def test_decay_of_adam() -> None:
    """Adam's decay is added to the gradient, and so enters the averages."""
    pair = Pair("Adam", {"weight_decay": 0.3})
    for t in range(4):
        pair.step(t)


def test_decay_of_adamw() -> None:
    """AdamW's decay is subtracted from the parameter, before the step."""
    pair = Pair("AdamW", {"weight_decay": 0.3})
    for t in range(4):
        pair.step(t)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_1000_times_as_large(kind: str) -> None:
    """Weight decay over ten steps: AdamW's is unchanged, Adam's shrinks to a thousandth."""
    pulls = []
    for scale in (1.0, 1000.0):
        ends = []
        for decay in (0.0, 1e-3):
            p = parameter(2)
            adam = Adam([p], lr=0.01, weight_decay=decay, eps=0.0, decoupled=kind == "AdamW")
            for _ in range(10):
                # Falls as 1 / t**2: the root of v lags behind, and the decay becomes visible.
                p.grad = torch.full_like(p, scale) / (adam.state_of(p)["step"] + 1) ** 2
                adam.step()
            ends.append(p.detach())
        pulls.append((ends[0] - ends[1]).mean().item())
    assert pulls[0] > 0, (
        f"{kind}: your decay moves the parameter by {pulls[0]}, expected more than 0"
    )
    ratio = pulls[1] / pulls[0]
    right = {"Adam": 1e-3, "AdamW": 1.0}[kind]
    assert ratio == pytest.approx(right, rel=0.1), (
        f"{kind}: with a loss 1000 times as large, your code decays {ratio:.2g} times as much as"
        " before,"
        f" expected {right}"
    )


def test_what_is_zero_is_left_out() -> None:
    """0 times infinity is NaN, so without weight decay do not add the parameter at all."""
    p = torch.nn.Parameter(torch.tensor([torch.inf, 1.0]))
    p.grad = torch.ones(2)
    Adam([p], lr=0.5).step()
    assert p.isinf().tolist() == [True, False], f"yours {p.tolist()}, PyTorch's [inf, 0.5]"


def test_each_group_has_its_settings() -> None:
    """The second group has its own betas, lr and eps, and weight decay."""
    other = {"lr": 0.3, "betas": (0.5, 0.7), "eps": 0.1, "weight_decay": 0.2}
    pair = Pair("AdamW", {}, other)
    for t in range(3):
        pair.step(t)


def test_each_group_has_its_decay() -> None:
    """One group may be decoupled and another not."""
    mine, right = [parameter(2), parameter(3)], [parameter(2), parameter(3)]
    groups = [{"params": [p], "decoupled": n == 1} for n, p in enumerate(mine)]
    yours = Adam(groups, lr=0.1, weight_decay=0.3)
    made = [
        make([p], lr=0.1, weight_decay=0.3, foreach=False)
        for make, p in zip((torch.optim.Adam, torch.optim.AdamW), right, strict=True)
    ]
    for t in range(3):
        for p in (*mine, *right):
            p.grad = gradient(p, t)
        for each in (yours, *made):
            each.step()
        for a, b, kind in zip(mine, right, KINDS, strict=True):
            alike(a, b, f"the group of {kind} after step {t}")


def test_nothing_else_moves() -> None:
    """Gradients stay, and so does a parameter without one, even if its group has decay."""
    for kind in KINDS:
        pair = Pair(kind, {"weight_decay": 0.1})
        for t in range(2):
            pair.step_without_the_first(t)
        idle = pair.yours.state.get(pair.mine[0], {})
        assert not idle, (
            f"your code keeps {sorted(idle)} for a parameter that has had no gradient yet"
        )


def test_parameters_without_a_gradient_rest() -> None:
    """One step finds every .grad None: neither the averages nor the count change."""
    pair = Pair("AdamW", {"weight_decay": 0.1})
    for t, grads in enumerate((True, False, True)):
        pair.step(t, grads=grads)


def test_each_parameter_counts_its_own_steps() -> None:
    """A parameter that gets its first gradient late is corrected as at a first step."""
    pair = Pair("Adam", {})
    pair.step(0)
    late = [parameter(9), parameter(9)]
    for optimizer, p in zip((pair.yours, pair.theirs), late, strict=True):
        p.grad = gradient(p, 3)
        optimizer.add_param_group({"params": [p]})
    pair.step(1)
    alike(late[0], late[1], "a parameter that came one step later")


def test_the_state_changes_in_place() -> None:
    """A state_dict holds these very tensors."""
    p = parameter(2)
    adam = Adam([p], lr=0.1)
    before = adam.state_of(p)
    held = dict(before)
    for t in (0, 1):
        p.grad = gradient(p, t)
        adam.step()
    swapped = [key for key, value in adam.state[p].items() if value is not held[key]]
    assert not swapped, (
        f"your code stores new tensors under {swapped}; write in place, as PyTorch does"
    )
    assert held["step"].item() == 2, f"step: yours {held['step'].item()}, expected 2"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("to", ["PyTorch's", "yours"])
def test_a_state_dict_goes_on_elsewhere(kind: str, to: str) -> None:
    """One optimizer steps, then the other continues with its state."""
    pair = Pair(kind, {"weight_decay": 0.01})
    pair.step(0)
    pair.step(1)
    old, new = (pair.theirs, pair.yours) if to == "yours" else (pair.yours, pair.theirs)
    # The two name the settings of a group differently, so each keeps its own.
    state = deepcopy(old.state_dict()["state"])
    new.load_state_dict(new.state_dict() | {"state": state})
    pair.step(2)
    pair.step(3)


def test_it_is_written_here() -> None:
    """Without torch.optim.Adam, AdamW and their functional forms."""
    p = parameter(2)
    p.grad = gradient(p, 0)
    library = ("torch.optim.Adam", "torch.optim.AdamW", "torch.optim.adam", "torch.optim.adamw")
    with forbids(kata, *library) as fresh:
        fresh.Adam([p], lr=0.1).step()


@settings(max_examples=15)
@given(
    st.sampled_from(KINDS),
    st.floats(1e-4, 3.0),
    st.sampled_from([(0.9, 0.999), (0.0, 0.9), (0.5, 0.0)]),
    st.sampled_from([1e-8, 1e-3]),
    st.sampled_from([0.0, 1e-4, 0.3]),
)
def test_any_settings(
    kind: str, lr: float, betas: tuple[float, float], eps: float, decay: float
) -> None:
    """Three steps with random settings."""
    pair = Pair(kind, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": decay})
    for t in range(3):
        pair.step(t)
