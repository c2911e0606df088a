"""Tests of k07_not_learning: gradients, small batches with known results, and shared memory."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.distributions import Categorical

from katas.lecture26.k07_not_learning import critic
from katas.lecture26.k07_not_learning import record
from katas.lecture26.k07_not_learning import reinforce
from katas.lecture26.k07_not_learning import target_of
from katas.lecture26.k07_not_learning import td_target
from plugins.kit import unchanged


# The state that a draw changes.
DRAWS = ("torch.get_rng_state()",)


def network(outputs: int, *, norm: bool = False) -> Any:
    """Return a small float64 network with three inputs."""
    torch.manual_seed(3)
    middle = nn.BatchNorm1d(5) if norm else nn.Tanh()
    return nn.Sequential(nn.Linear(3, 5), middle, nn.Linear(5, outputs)).double()


def states(count: int) -> torch.Tensor:
    """Return irrational states."""
    dice = torch.Generator().manual_seed(count)
    return torch.randn(count, 3, generator=dice, dtype=torch.float64)


def close(yours: torch.Tensor, expected: Any, why: str) -> None:
    """Compare float64 to twelve digits."""
    __tracebackhide__ = True
    right = torch.as_tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(
        yours.detach(),
        right,
        rtol=1e-12,
        atol=1e-12,
        check_dtype=False,
        msg=lambda text: (
            f"{why}\nyours {yours.flatten()[:6].tolist()}\nexpected "
            f"{right.flatten()[:6].tolist()} (the first 6 at most)\n{text.splitlines()[0]}"
        ),
    )


def gradient(loss: torch.Tensor, model: nn.Module) -> torch.Tensor:
    """Return the gradient of all parameters as one vector."""
    found = torch.autograd.grad(loss, [*model.parameters()], retain_graph=True)
    return torch.cat([grad.flatten() for grad in found])


def drawn(action: torch.Tensor, what: str) -> None:
    """Check that the actions differ."""
    __tracebackhide__ = True
    found = {*action.tolist()}
    assert len(found) > 1, (
        f"{what}: all {len(action)} actions are {found.pop()}; draw them, do not take the likeliest"
    )


def test_a_ratio_has_a_gradient() -> None:
    """In PPO's first update the ratios are 1, with the gradient of the new log-probabilities."""
    policy, seen = network(4), states(6)
    with unchanged(policy, seen, but=DRAWS):
        action, old = record(policy, seen)
    new = Categorical(logits=policy(seen)).log_prob(action)

    close(old, new.detach(), "what is recorded: the log-probabilities of the actions")
    yours = gradient((new - old).exp().sum(), policy)
    right = gradient(new.sum(), policy)
    close(yours, right, "the gradient of the ratios new / recorded, in the first update")


def test_a_record_has_no_graph() -> None:
    """A record outlives the update, and must not keep the graph of its rollout."""
    policy, seen = network(4), states(6)
    action, old = record(policy, seen)
    assert action.shape == old.shape == (6,), f"yours {action.shape} and {old.shape}, expected [6]"
    assert not old.requires_grad, "the recorded log-probabilities require grad"


def test_actions_are_drawn() -> None:
    """If four actions are equally likely, 64 states do not all get the same action."""
    policy = network(4)
    with torch.no_grad():
        for p in policy.parameters():
            p.zero_()
    action, old = record(policy, states(64))
    drawn(action, "record, of a uniform policy")
    assert not old.requires_grad, "the recorded log-probabilities require grad"


def test_four_kinds_of_steps() -> None:
    """One step goes on, one ended, one was cut off by the time limit, and one is both."""
    flags = {"terminated": [0, 1, 0, 1], "truncated": [0, 0, 1, 1], "done": [0, 1, 1, 1]}
    step = {name: torch.tensor(values).bool() for name, values in flags.items()}
    step["reward"] = torch.tensor([1.0, 2.0, 3.0, 4.0])
    value = torch.full((4,), 10.0, requires_grad=True)
    with unchanged(value, **step):
        yours = td_target(step, value, 0.5)

    close(yours, [6.0, 2.0, 8.0, 4.0], "goes on, terminated, truncated, both; V' 10, gamma 0.5")
    assert not yours.requires_grad, "the target requires grad, so a critic would move it"
    assert yours.dtype is torch.float32, f"yours {yours.dtype}, expected the rewards' float32"


def test_what_pays_has_a_gradient() -> None:
    """REINFORCE's gradient is the reward times that of the log-probability of its action."""
    policy, seen = network(4), states(8)
    taken = list[torch.Tensor]()

    def pays(action: torch.Tensor) -> torch.Tensor:
        taken.append(action)
        return (action + 1).double().sqrt()

    torch.manual_seed(5)
    for extra in ((0.03,), ()):
        taken.clear()
        with unchanged(policy, seen, but=DRAWS):
            yours = gradient(reinforce(policy, seen, pays, *extra), policy)
        assert len(taken) == 1, f"you call `pays` {len(taken)} times, expected once"
        log = torch.log_softmax(policy(seen), -1)
        gain = log.gather(1, taken[0][:, None])[:, 0] * (taken[0] + 1).double().sqrt()
        entropy = -(log.exp() * log).sum(1)
        right = gradient(-(gain + (extra or (0.01,))[0] * entropy).mean(), policy)
        close(
            yours, right, f"the gradient, for actions that were paid; bonus {extra or 'as given'}"
        )


def test_a_bandit_learns() -> None:
    """One of four actions pays 1, the others nothing."""
    torch.manual_seed(0)
    policy = nn.Linear(1, 4, bias=False)
    seen = torch.ones(64, 1)
    taken = list[torch.Tensor]()

    def pays(action: torch.Tensor) -> torch.Tensor:
        taken.append(action)
        return (action == 2).float()

    for _ in range(60):
        loss = reinforce(policy, seen, pays)
        drawn(taken[0], "reinforce, of a policy that knows nothing")
        (grad,) = torch.autograd.grad(loss, [policy.weight])
        with torch.no_grad():
            policy.weight.sub_(2 * grad)
    yours = torch.softmax(policy(seen[0]), -1).tolist()
    assert yours[2] > 0.9, f"after 60 steps your policy is {yours}; only action 2 pays"


def test_a_value_has_its_own_target() -> None:
    """Values [N, 1] and targets [N] give N errors, not N times N."""
    for count in (1, 4):
        model, seen, target = network(1), states(count), states(count)[:, 0].exp()
        with unchanged(model, seen, target):
            yours = critic(model, seen, target)
        errors = [(model(s).item() - t.item()) ** 2 for s, t in zip(seen, target, strict=True)]
        close(yours, sum(errors) / count, f"the mean squared error of {count} values")
        right = gradient((model(seen)[:, 0] - target).square().mean(), model)
        close(gradient(yours, model), right, f"the gradient of {count} values")


def test_a_target_stays() -> None:
    """While the network is trained in place, its target's predictions stay the same."""
    online, seen = network(2, norm=True), states(7)
    before = copy.deepcopy(online).eval()
    target = target_of(online)
    online(seen)  # a step of training: running statistics, then weights
    with torch.no_grad():
        for p in online.parameters():
            p.add_(0.5)
    close(target(seen), before(seen), "the target's values, after the network has moved")
    target(seen)
    close(target(seen), before(seen), "the target's values, after it has seen a batch itself")


def test_a_target_is_not_trained() -> None:
    """No parameter of the target gets a gradient."""
    online, seen = network(2), states(7)
    target = target_of(online)
    alive = [p.requires_grad for p in online.parameters()]
    assert all(alive), (
        "you froze the network itself: requires_grad of its parameters is "
        f"{alive}; a shallow copy shares its parameters"
    )
    (online(seen) - target(seen)).square().sum().backward()
    ones = [p.requires_grad or p.grad is not None for p in target.parameters()]
    assert not any(ones), (
        f"parameters of the target that require grad or have a gradient: {sum(ones)} of {len(ones)}"
    )


def test_the_network_goes_on() -> None:
    """The network is still trained, and in its own mode, with all its layers."""
    online = network(2, norm=True)
    with unchanged(online):
        target_of(online)
    modes = [module.training for module in online.modules()]
    assert all(modes), (
        f"the `training` flags of the network and its layers are {modes}, expected all True"
    )
    alive = [p.requires_grad for p in online.parameters()]
    assert all(alive), f"requires_grad of the network's parameters: {alive}, expected all True"
