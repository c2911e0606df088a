"""Tests of k06_gate: a closed gate, an open one, and what learns behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from expecttest import assert_expected_inline
from torch import nn

from katas.lecture19.conftest import close
from katas.lecture19.conftest import numbers
from katas.lecture19.k06_gate import Gated
from katas.lecture19.k06_gate import diary
from katas.lecture19.k06_gate import on_paper
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


TEXT, IMAGE, TARGET = numbers(2, 5, 4), numbers(2, 5, 3, seed=1), numbers(2, 5, 4, seed=2)


class Branch(nn.Module):
    """Two layers over text and image."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.first, self.last = nn.Linear(7, 6, bias=False), nn.Linear(6, 4, bias=False)

    def forward(self, x: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
        """Return one number for each number of the text."""
        self.calls += 1
        y: torch.Tensor = self.last(self.first(torch.cat([x, image], -1)).tanh())
        return y


class Float(nn.Module):
    """Returns the text in float32, whatever its dtype."""

    def forward(self, x: torch.Tensor, _image: torch.Tensor) -> torch.Tensor:
        """Convert the text."""
        return x.float()


def gated(gate: float | None = None, *, last: bool = True) -> Gated:
    """Return a gated branch with this gate, and a last layer of numbers or of 0."""
    torch.manual_seed(0)
    model = Gated(Branch()).double()
    with torch.no_grad():
        if gate is not None:
            model.gate.fill_(gate)
        if not last:
            model.branch.last.weight.zero_()
    return model


def loss_of(model: Gated) -> Callable[[], torch.Tensor]:
    """Return the loss that the tests train with."""
    return lambda: nn.functional.mse_loss(model(TEXT, IMAGE), TARGET)


def test_the_gate_begins_closed() -> None:
    """The old output, although the branch ran."""
    model = gated()
    with torch.no_grad(), unchanged(model, text=TEXT, image=IMAGE):
        yours = model(TEXT, IMAGE)

    close(yours, TEXT, "the gate is 0: x", tolerance=0.0)
    assert model.branch.calls == 1, f"the branch ran {model.branch.calls} times, expected once"


def test_the_gate_is_a_parameter() -> None:
    """The gate is one number of shape [], which an optimizer finds."""
    names = [name for name, _ in gated().named_parameters()]
    expected = ["gate", "branch.first.weight", "branch.last.weight"]

    assert names == expected, f"parameters: yours {names}, expected {expected}"
    assert gated().gate.shape == (), f"the gate's shape: yours {[*gated().gate.shape]}, expected []"


@pytest.mark.parametrize("gate", [0.7, -1.5])
def test_an_open_gate(gate: float) -> None:
    """All of x, plus a share of the branch; a negative gate subtracts."""
    model = gated(gate)
    with torch.no_grad(), unchanged(model, text=TEXT, image=IMAGE):
        yours = model(TEXT, IMAGE)
        expected = TEXT + torch.tensor(gate, dtype=torch.double).tanh() * model.branch(TEXT, IMAGE)

    close(yours, expected, f"the gate is {gate}: x + tanh({gate}) * branch")


def test_without_an_image() -> None:
    """Text passes unchanged, and the branch does not run."""
    model = gated(0.7)
    yours = model(TEXT, None)

    close(yours, TEXT, "no image: x")
    assert not model.branch.calls, "there is no image, but the branch ran"


def test_an_image_of_zeros() -> None:
    """A black image is an image."""
    model, black = gated(0.7), torch.zeros_like(IMAGE)
    with torch.no_grad():
        yours = model(TEXT, black)
        assert model.branch.calls == 1, (
            f"the image is of zeros: the branch ran {model.branch.calls} times, expected once"
        )
        expected = TEXT + model.gate.tanh() * model.branch(TEXT, black)

    close(yours, expected, "an image of zeros: x + tanh(0.7) * branch")


def test_the_dtype_of_the_stream() -> None:
    """A gate in float32 with a model in bfloat16, and a branch that returns float32."""
    for branch, what in ((Branch().bfloat16(), "bfloat16"), (Float(), "float32")):
        yours = Gated(branch)(TEXT.bfloat16(), IMAGE.bfloat16())

        assert yours.dtype == torch.bfloat16, (
            f"x is bfloat16, the branch returns {what}: yours is {yours.dtype}, expected the dtype"
            " of x"
        )


@pytest.mark.parametrize("gate", [0.0, 0.7])
def test_derivatives_on_paper(gate: float) -> None:
    """At 0 the gate has a gradient, and the branch behind it has gradient 0."""
    found, opened = (
        numbers(2, 5, 4, seed=3).requires_grad_(),
        torch.tensor(gate, dtype=torch.double),
    )
    opened.requires_grad_()
    expected = torch.autograd.grad(TEXT + opened.tanh() * found, (opened, found), TARGET)
    with torch.no_grad(), unchanged(grad=TARGET, found=found, gate=opened):
        yours = on_paper(TARGET, found, opened)

    close(yours[0].detach(), expected[0], f"with respect to the gate, at {gate}")
    close(yours[1].detach(), expected[1], f"with respect to the branch's output, at {gate}")


def test_a_closed_gate() -> None:
    """The gate learns first, then everything does."""
    model = gated()
    assert_expected_inline(
        diary(model, loss_of(model), 3, 0.1) + "\n",
        """\
step 0  gate
step 1  gate branch.first.weight branch.last.weight
step 2  gate branch.first.weight branch.last.weight
""",
    )


def test_a_last_layer_of_0() -> None:
    """With an open gate, the last layer learns first."""
    model = gated(1.0, last=False)
    assert_expected_inline(
        diary(model, loss_of(model), 3, 0.1) + "\n",
        """\
step 0  branch.last.weight
step 1  gate branch.first.weight branch.last.weight
step 2  gate branch.first.weight branch.last.weight
""",
    )


def test_both_at_0() -> None:
    """Each waits for the other, forever."""
    model = gated(last=False)
    before = loss_of(model)().item()
    assert_expected_inline(
        diary(model, loss_of(model), 3, 0.1) + "\n",
        """\
step 0  -
step 1  -
step 2  -
""",
    )
    assert loss_of(model)().item() == before, "nothing had a gradient, yet the loss has changed"


@pytest.mark.parametrize("grad", [[0.0, 1.0, -1.0], [0.0, -1e-9, 0.0]])
def test_one_element_is_enough(grad: list[float]) -> None:
    """The sum of a gradient may be 0, its first element too, and all of them small."""
    layer, factors = nn.Linear(3, 1, bias=False).double(), torch.tensor(grad, dtype=torch.double)

    def loss() -> torch.Tensor:
        return (layer.weight * factors).sum()

    yours, expected = diary(layer, loss, 1, 0.1), "step 0  weight"
    assert yours == expected, (
        f"the gradient of weight is {grad}, which has a nonzero element: yours {yours!r}, "
        f"expected {expected!r}"
    )


def test_frozen_layers() -> None:
    """Frozen layers have no gradient, and do not change."""
    model = gated(0.7)
    model.branch.first.requires_grad_(requires_grad=False)
    with unchanged(first=model.branch.first.weight):
        yours = diary(model, loss_of(model), 1, 0.1)

    expected = "step 0  gate branch.last.weight"
    assert yours == expected, f"the first layer is frozen: yours {yours!r}, expected {expected!r}"


def test_each_step_has_its_own_gradient() -> None:
    """Four steps that leave the parameters where plain gradient descent does."""
    model, same = gated(0.7), gated(0.7)
    loss_of(model)().backward()
    diary(model, loss_of(model), 4, 0.1)
    for _ in range(4):
        parameters = [*same.parameters()]
        grads = torch.autograd.grad(loss_of(same)(), parameters)
        with torch.no_grad():
            for p, grad in zip(parameters, grads, strict=True):
                p.sub_(0.1 * grad)

    for (name, yours), expected in zip(model.named_parameters(), same.parameters(), strict=True):
        close(yours.detach(), expected.detach(), f"{name} after 4 steps from a .grad of before")
