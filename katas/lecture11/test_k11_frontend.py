"""Tests of k11_frontend: compared with the same network in Python, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import nn

from plugins.kit import unchanged


if TYPE_CHECKING:
    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

SIZES = 4, 8, 3


class Net(nn.Module):  # type: ignore[misc, unused-ignore]
    """The network that you write in C++, in Python."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, hidden)
        self.second = nn.Linear(hidden, outputs)
        self.gain = nn.Parameter(torch.ones(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (rows, outputs)."""
        found: torch.Tensor = self.gain * self.second(torch.tanh(self.first(x)))
        return found


def both(extension: Extension, seed: int = 0) -> tuple[Any, Net]:
    """Return your network and PyTorch's, in float64, created after the same seed."""
    made = []
    for build in (extension.cls("Net"), Net):
        torch.manual_seed(seed)
        made.append(build(*SIZES))
    yours, theirs = made
    yours.double()
    theirs.double()
    return yours, theirs


def data(rows: int = 7) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs and targets that no two rows share."""
    x = torch.arange(1.0, rows * SIZES[0] + 1, dtype=torch.float64).sin().view(rows, 4)
    y = torch.arange(1.0, rows * SIZES[2] + 1, dtype=torch.float64).cos().view(rows, 3)
    return x, y


def train(net: Net, steps: int, lr: float, momentum: float) -> list[float]:
    """Train PyTorch's network."""
    x, y = data()
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=momentum)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (net(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def close(yours: torch.Tensor, theirs: torch.Tensor, what: str, why: str) -> None:
    """Compare in float64."""
    says = f"{what}: yours against PyTorch's in Python; {why}\n".__add__
    torch.testing.assert_close(yours, theirs, rtol=1e-10, atol=1e-12, msg=says)


def compare_parameters(yours: Any, theirs: Net, why: str) -> None:
    """Compare the parameters one by one."""
    named = dict(zip(yours.names(), yours.parameters(), strict=True))
    for name, parameter in theirs.named_parameters():
        assert name in named, f"yours has no parameter {name}, only {list(named)}"
        close(named[name].detach(), parameter.detach(), name, why)


def test_the_parameters_have_names(extension: Extension) -> None:
    """Registered parameters have the names of their members."""
    yours, theirs = both(extension)
    right = sorted(name for name, _ in theirs.named_parameters())
    found = sorted(yours.names())
    assert found == right, (
        f"your parameters {found}, PyTorch's {right}: register each member; one that is only"
        " assigned has no name, and no optimizer sees it"
    )


def test_the_same_seed_makes_the_same_parameters(extension: Extension) -> None:
    """Python and C++ share generator and initialisation, so the order of layers matters."""
    for seed in (0, 1):
        yours, theirs = both(extension, seed)
        compare_parameters(yours, theirs, f"after torch.manual_seed({seed}); which layer is first?")


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_forward(extension: Extension, rows: int) -> None:
    """The formula of the brief holds, with a gain other than 1."""
    yours, theirs = both(extension)
    x, _ = data(rows)
    gain = torch.tensor([0.5, -2.0, 3.0], dtype=torch.float64)
    with torch.no_grad():
        dict(zip(yours.names(), yours.parameters(), strict=True))["gain"].copy_(gain)
        theirs.gain.copy_(gain)
    with unchanged(x=x):
        found = yours.forward(x)
    close(found, theirs(x), f"forward of {rows} rows", "gain * second(tanh(first(x)))")


def test_python_differentiates_what_c_plus_plus_computed(extension: Extension) -> None:
    """Gradients are the same, whichever language called the operators."""
    yours, theirs = both(extension)
    x, y = data()
    for net in (yours, theirs):
        (net.forward(x) * y).sum().backward()
    named = dict(zip(yours.names(), yours.parameters(), strict=True))
    for name, parameter in theirs.named_parameters():
        gradient = named[name].grad
        assert gradient is not None, f"your {name} has no gradient, PyTorch's has one"
        assert parameter.grad is not None, f"{name}: PyTorch's has a gradient"
        close(gradient, parameter.grad, f"gradient of {name}", "does it require grad?")


def test_no_steps(extension: Extension) -> None:
    """With 0 steps there is no loss, and no parameter changes."""
    yours, theirs = both(extension)
    losses = yours.train(*data(), 0, 0.1, 0.9)
    assert losses == [], f"0 steps: yours is {losses}, expected []"
    compare_parameters(yours, theirs, "0 steps")


def test_one_step(extension: Extension) -> None:
    """The loss is from before the step, the parameters from after it."""
    yours, theirs = both(extension)
    x, y = data()
    with unchanged(x=x, y=y):
        losses = yours.train(x, y, 1, 0.3, 0.0)
    right = train(theirs, 1, 0.3, 0.0)
    why = "the mean of the squared errors, before the step"
    close(torch.tensor(losses), torch.tensor(right), "loss", why)
    compare_parameters(yours, theirs, "1 step, lr 0.3")


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_many_steps(extension: Extension, momentum: float) -> None:
    """Gradients are reset in each step, and momentum is kept from step to step."""
    yours, theirs = both(extension)
    losses = yours.train(*data(), 5, 0.1, momentum)
    right = train(theirs, 5, 0.1, momentum)
    why = f"5 steps, momentum {momentum}: what does a step take over from the one before?"
    close(torch.tensor(losses), torch.tensor(right), "losses", why)
    compare_parameters(yours, theirs, why)


def test_a_second_call_begins_anew(extension: Extension) -> None:
    """Earlier gradients and momentum are not used again, but the parameters are."""
    yours, theirs = both(extension)
    x, y = data()
    why = "with gradients from before the call; is the first step's gradient its own?"
    for steps in (3, 2):
        for net in (yours, theirs):
            (net.forward(x) * y).sum().backward()
        losses = yours.train(*data(), steps, 0.1, 0.9)
        right = train(theirs, steps, 0.1, 0.9)
        close(
            torch.tensor(losses), torch.tensor(right), "losses", f"a call of {steps} steps, {why}"
        )
    compare_parameters(yours, theirs, f"3 steps and 2, {why}")


def test_python_holds_the_parameters_themselves(extension: Extension) -> None:
    """Training changes the tensors that Python got before: the memory is the same."""
    yours, _ = both(extension)
    before = yours.parameters()
    copies = [parameter.detach().clone() for parameter in before]
    yours.train(*data(), 2, 0.1, 0.0)
    for name, held, old, now in zip(yours.names(), before, copies, yours.parameters(), strict=True):
        assert held.data_ptr() == now.data_ptr(), (
            f"{name}: training replaced the tensor, expected the one Python already holds"
        )
        assert not held.equal(old), f"{name} did not change in two steps; is it registered?"


def test_two_networks_do_not_meet(extension: Extension) -> None:
    """Training one network leaves the other unchanged."""
    (one, _), (other, theirs) = both(extension), both(extension)
    one.train(*data(), 2, 0.1, 0.9)
    compare_parameters(other, theirs, "another network was trained")


def test_single_precision(extension: Extension) -> None:
    """Without double(), parameters, outputs and losses are float32."""
    torch.manual_seed(0)
    yours = extension.cls("Net")(*SIZES)
    _, theirs = both(extension)
    x, y = (each.float() for each in data())
    kinds = [parameter.dtype for parameter in yours.parameters()]
    kinds.append(yours.forward(x).dtype)
    assert {*kinds} == {torch.float32}, (
        f"your parameters and output are {kinds}, expected the default, float32"
    )
    losses, right = yours.train(x, y, 3, 0.1, 0.9), train(theirs, 3, 0.1, 0.9)
    says = "losses: yours in float32 against PyTorch's in float64\n".__add__
    torch.testing.assert_close(
        torch.tensor(losses), torch.tensor(right), rtol=1e-5, atol=0, msg=says
    )
