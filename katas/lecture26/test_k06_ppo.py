"""Tests of k06_ppo: four steps on paper, finite differences, and TorchRL where it is installed."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from katas.lecture26.k06_ppo import Clipped
from katas.lecture26.k06_ppo import loss
from katas.lecture26.k06_ppo import slope
from plugins.kit import unchanged


TIGHT = 1e-12

# Ratios on both sides of both bounds for clip 0.2, and far from the bounds.
RATIOS = (0.3, 0.5, 0.77, 0.83, 0.97, 1.04, 1.17, 1.23, 1.5, 2.6)


def row(*numbers: float) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(numbers, dtype=torch.float64)


def steps() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return log_prob and old for each ratio, [2, 10], and advantages of both signs."""
    dice = torch.Generator().manual_seed(6)
    old, size = torch.randn(2, 2, 10, generator=dice, dtype=torch.float64).unbind()
    sign = torch.tensor([[1.0], [-1.0]]).double()
    return old + row(*RATIOS).log(), old, sign * (size.abs() + 0.1)


def by_cases(log_prob: torch.Tensor, old: torch.Tensor, advantage: torch.Tensor) -> Any:
    """Return gains and slopes for clip 0.2, step by step."""
    cells = zip(*(x.flatten().tolist() for x in (log_prob, old, advantage)), strict=True)
    gains, slopes = list[float](), list[float]()
    for new, before, a in cells:
        ratio = row(new - before).exp().item()
        pulls = ratio < 1.2 if a > 0 else ratio > 0.8
        gains.append(ratio * a if pulls else (1.2 if a > 0 else 0.8) * a)
        slopes.append(-ratio * a / log_prob.numel() if pulls else 0.0)
    return row(*gains).view_as(log_prob), row(*slopes).view_as(log_prob)


def close(yours: torch.Tensor, expected: Any, why: str, tolerance: float = TIGHT) -> None:
    """Compare tensors, in float64 to twelve digits."""
    __tracebackhide__ = True
    right = torch.as_tensor(expected, dtype=torch.float64)
    if tolerance == TIGHT:
        assert yours.dtype is torch.float64, f"{why}: yours is {yours.dtype}, expected float64"
    torch.testing.assert_close(
        yours.detach().double(),
        right,
        rtol=tolerance,
        atol=tolerance,
        msg=lambda text: (
            f"{why}\nyours {yours.tolist()}\nexpected {right.tolist()}\n{text.splitlines()[0]}"
        ),
    )


@pytest.mark.parametrize(
    ("ratio", "a", "gain"),
    [(1.5, 1.0, 1.2), (0.5, 1.0, 0.5), (1.5, -1.0, -1.5), (0.5, -1.0, -0.8), (1.1, 2.0, 2.2)],
)
def test_one_step(ratio: float, a: float, gain: float) -> None:
    """Steps on both flat parts, on both parts that pull back, and between the bounds."""
    old = row(-1.3)
    yours = loss(old + row(ratio).log(), old, row(a), 0.2)
    close(yours, -gain, f"the loss of one step of ratio {ratio} and advantage {a}, clip 0.2")


def test_the_mean_of_all() -> None:
    """A scalar, for steps of any shape; the inputs do not change."""
    log_prob, old, advantage = steps()
    with torch.enable_grad(), unchanged(log_prob=log_prob, old=old, advantage=advantage):
        yours = loss(log_prob, old, advantage, 0.2)

    close(yours, -by_cases(log_prob, old, advantage)[0].mean(), "the loss of 20 steps")


def test_another_clip() -> None:
    """A ratio of 1.5 is inside clip 0.6, and outside clip 0.1."""
    old, a = row(-1.3, -0.2), row(1.0, -1.0)
    log_prob = old + row(1.5, 0.5).log()
    close(loss(log_prob, old, a, 0.6), -0.5, "gains of 1.5 and -0.5, clip 0.6")
    close(loss(log_prob, old, a, 0.1), -0.1, "gains of 1.1 and -0.9, clip 0.1")


def test_old_and_advantage_are_numbers() -> None:
    """In the first update old equals log_prob; their gradients would cancel."""
    log_prob, advantage = row(-0.5, -1.5).requires_grad_(), row(2.0, -3.0).requires_grad_()
    old = log_prob * 1
    with unchanged(log_prob, old, advantage):
        yours = loss(log_prob, old, advantage, 0.2)
    found = torch.autograd.grad(yours, (log_prob, advantage), allow_unused=True)

    assert found[0] is not None, "no gradient reaches log_prob"
    close(found[0], [-1.0, 1.5], "the gradient of log_prob: -A / 2 (0 says that old has one too)")
    assert found[1] is None, f"the advantage gets a gradient of {found[1]}: detach it"


@pytest.mark.parametrize(
    ("ratio", "a", "right"),
    [(1.5, 1.0, 0.0), (0.5, 1.0, -0.5), (1.5, -1.0, 1.5), (0.5, -1.0, 0.0), (1.1, 2.0, -2.2)],
)
def test_slope_of_one_step(ratio: float, a: float, right: float) -> None:
    """Flat where the ratio has gone as far as A asks, and only there."""
    old = row(-1.3)
    yours = slope(old + row(ratio).log(), old, row(a), 0.2)
    close(yours, [right], f"the slope of one step of ratio {ratio} and advantage {a}, clip 0.2")


def test_slopes_of_all() -> None:
    """Each step gets its own slope; inference mode has switched autograd off."""
    given = steps()
    try:
        with torch.inference_mode(), unchanged(*given):
            yours = slope(*given, 0.2).clone()
    except RuntimeError as error:
        raise AssertionError(
            f"slope is called with autograd off and raises an error: write the formula. {error}"
        ) from error

    close(yours, by_cases(*given)[1], "the slopes of 20 steps: of a mean")


def test_improbable_actions() -> None:
    """Probabilities of e ** -1000 are 0 in float64; their ratio is an ordinary number."""
    given, right = (row(-1000.25), row(-1000.125), row(2.0), 0.2), -2 * row(-0.125).exp()
    why = "of logarithms near -1000: do not divide probabilities, 0 / 0 is NaN"
    close(loss(*given), right[0], f"the loss {why}")
    close(slope(*given), right, f"the slope {why}")


def test_slope_is_the_loss_s() -> None:
    """Finite differences of your loss agree with your slope in the backward of `Clipped`."""
    log_prob, old, advantage = steps()
    right = torch.autograd.gradcheck(
        lambda x: Clipped.apply(x, old, advantage, 0.2), (log_prob.requires_grad_(),)
    )
    assert right, "your slope is not the derivative of your loss"


def test_autograd_agrees() -> None:
    """Autograd's gradient of your loss is your slope, for advantages of 0 and another clip too."""
    log_prob, old, advantage = steps()
    advantage[:, ::3] = 0
    log_prob.requires_grad_()
    (right,) = torch.autograd.grad(loss(log_prob, old, advantage, 0.4), log_prob)

    close(slope(log_prob.detach(), old, advantage, 0.4), right, "autograd's gradient of your loss")


def test_dtype() -> None:
    """The results of float32 inputs are float32."""
    given = [x.float() for x in steps()]
    yours = (loss(*given, 0.2).dtype, slope(*given, 0.2).dtype)
    assert yours == (torch.float32,) * 2, f"loss and slope of float32 steps: yours {yours}"


@pytest.mark.backend("torchrl")
def test_torchrl_agrees() -> None:
    """TorchRL's ClipPPOLoss agrees, for a policy that has moved far."""
    from tensordict import TensorDict  # noqa: PLC0415 - optional
    from tensordict.nn import TensorDictModule  # noqa: PLC0415
    from torchrl.modules import ProbabilisticActor  # noqa: PLC0415
    from torchrl.objectives import ClipPPOLoss  # noqa: PLC0415

    torch.manual_seed(0)
    net, old = torch.nn.Linear(2, 3), torch.log_softmax(torch.randn(40, 3), -1)
    seen, action = torch.randn(40, 2), torch.randint(0, 3, (40,))
    actor = ProbabilisticActor(
        TensorDictModule(net, ["observation"], ["logits"]),
        in_keys=["logits"],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )
    before, advantage = old.gather(1, action[:, None])[:, 0], torch.randn(40)
    data: dict[str, Any] = {"observation": seen, "action": action, "action_log_prob": before}
    data["advantage"] = advantage[:, None]
    theirs = ClipPPOLoss(actor, None, clip_epsilon=0.2, entropy_bonus=False)
    right = theirs(TensorDict(data, batch_size=[40]))["loss_objective"]
    log_prob = torch.log_softmax(net(seen), -1).gather(1, action[:, None])[:, 0]

    close(loss(log_prob, before, advantage, 0.2), right.detach(), "TorchRL's loss_objective", 1e-6)
