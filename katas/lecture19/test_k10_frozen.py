"""Tests of k10_frozen: what is frozen is compared bit for bit, and the rest has to learn."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture19.conftest import close
from katas.lecture19.conftest import numbers
from katas.lecture19.k10_frozen import Frozen
from katas.lecture19.k10_frozen import freeze
from katas.lecture19.k10_frozen import prompted
from katas.lecture19.k10_frozen import update
from katas.lecture19.k10_frozen import words
from plugins.kit import unchanged


def filled(model: Any, seed: int = 0) -> Any:
    """Fill the parameters with known numbers, in float64."""
    model.double()
    with torch.no_grad():
        for k, p in enumerate(model.parameters()):
            p.copy_(numbers(*p.shape, seed=10 * seed + k))
    return model


def tower() -> Any:
    """Return a tower with BatchNorm and dropout, whose running mean is not 0."""
    layers = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 2)
    model = filled(nn.Sequential(*layers))
    with torch.no_grad():
        model[1].running_mean.copy_(numbers(4, seed=8))
        model[1].running_var.copy_(numbers(4, seed=9).square() + 0.5)
    return model


def test_features_do_not_depend_on_the_mode() -> None:
    """Features depend neither on the mode of the model around the tower nor on other rows."""
    x = numbers(6, 3)
    expected = tower().eval()(x).detach()
    model = nn.Sequential(Frozen(tower()), nn.Identity())
    for mode in (True, False, True):
        model.train(mode)
        close(model(x), expected, f"features of the frozen tower, after model.train({mode})")
        close(model(x[:2]), expected[:2], f"two of its rows, after model.train({mode})")


def test_the_tower_stays_as_it_is() -> None:
    """Its running mean and its count of batches stay too; train mode does not reach it."""
    model = nn.Sequential(Frozen(tower()), nn.Linear(2, 2).double())
    model.train()
    before = {name: each.clone() for name, each in model[0].state_dict().items()}
    model(numbers(6, 3)).sum().backward()
    for name, each in model[0].state_dict().items():
        close(each, before[name], f"{name} of the frozen tower, before and after a forward")


def test_what_is_around_it_trains() -> None:
    """`train` and `eval` still reach the other layers, and return the module."""
    frozen = Frozen(tower())
    model = nn.Sequential(frozen, nn.Dropout(0.5))
    model.train()
    assert model[1].training, "the dropout after the tower is not in training mode"
    model.eval()
    assert not model[1].training, "the dropout after the tower is not in eval mode"
    assert frozen.train() is frozen, "train() of a module should return the module"
    x = numbers(5, 3)
    close(frozen(x), tower().eval()(x), "the features, after frozen.train()")


def test_a_gradient_passes_through_the_tower() -> None:
    """The gradient reaches x, which an earlier layer may have computed."""
    x, same = numbers(5, 3).requires_grad_(), numbers(5, 3).requires_grad_()
    features = Frozen(tower()).train()(x)
    assert features.requires_grad, "the features have no graph: no gradient can pass to x"
    features.square().sum().backward()
    tower().eval()(same).square().sum().backward()
    assert x.grad is not None, "x got no gradient"
    assert same.grad is not None, "the test's own gradient is missing"
    close(x.grad, same.grad, "the gradient of x, through the frozen tower")


def layers() -> Any:
    """Return two layers, of which the first will be frozen."""
    return filled(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), seed=3)


def nested() -> Any:
    """Return the same, the first layer inside another module."""
    first = nn.Sequential(nn.Linear(3, 4))
    return filled(nn.Sequential(first, nn.Tanh(), nn.Linear(4, 1)), seed=3)


def optimizer_of(name: str, parameters: Any) -> torch.optim.Optimizer:
    """Return an optimizer that remembers earlier steps, and decays."""
    if name == "AdamW":
        return torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.5)
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=0.5)


@pytest.mark.parametrize("name", ["AdamW", "SGD"])
def test_frozen_layers_do_not_move(name: str) -> None:
    """After two steps of both layers, three of only the second; no weight of the first moves."""
    model, x = layers(), numbers(6, 3)
    optimizer = optimizer_of(name, model.parameters())
    for _ in range(2):
        update(optimizer, model(x).square().mean())
    freeze(model[0])
    before = [p.detach().clone() for p in model[0].parameters()]
    for number in (1, 2, 3):
        update(optimizer, model(x).square().mean())
        for p, kept in zip(model[0].parameters(), before, strict=True):
            why = f"{name}: a weight of the frozen layer, {number} updates after freeze"
            close(p.detach(), kept, why)


@pytest.mark.parametrize("name", ["AdamW", "SGD"])
def test_the_others_learn(name: str) -> None:
    """The second layer learns as if the optimizer did not hold the first one's parameters."""
    model, theirs, x = layers(), layers(), numbers(6, 3)
    optimizer = optimizer_of(name, model.parameters())
    expected = optimizer_of(name, theirs.parameters())
    for number in range(5):
        if number == 2:
            freeze(model[0])
            theirs[0].requires_grad_(requires_grad=False)
        update(optimizer, model(x).square().mean())
        theirs.zero_grad(set_to_none=True)
        theirs(x).square().mean().backward()
        expected.step()
    for p, right in zip(model.parameters(), theirs.parameters(), strict=True):
        close(p.detach(), right.detach(), f"{name}: a weight after 5 updates, 3 of them frozen")


def test_a_gradient_may_be_there_before_freeze() -> None:
    """A gradient from before `freeze` moves nothing after it; the weights are in a submodule."""
    model, x = nested(), numbers(6, 3)
    optimizer = optimizer_of("SGD", model.parameters())
    model(x).square().mean().backward()
    freeze(model[0])
    before = [p.detach().clone() for p in model[0].parameters()]
    assert not any(p.requires_grad for p in model[0].parameters()), "freeze left a weight thawed"
    for number in (1, 2):
        update(optimizer, model(x).square().mean())
        for p, kept in zip(model[0].parameters(), before, strict=True):
            why = "loss.backward(), freeze(layer), update(...): a .grad was there before freeze"
            close(p.detach(), kept, f"{why}; a frozen weight after {number} updates")


def test_gradients_add_up_before_a_step() -> None:
    """`update` uses the gradients of an earlier backward, and clears them afterwards."""
    model, theirs, x, z = layers(), layers(), numbers(6, 3), numbers(4, 3)
    optimizer = optimizer_of("SGD", model.parameters())
    expected = optimizer_of("SGD", theirs.parameters())
    for number in range(3):
        if number == 2:
            freeze(model[0])
            theirs[0].requires_grad_(requires_grad=False)
        model(x).square().mean().backward()
        update(optimizer, model(z).square().mean())
        left = [name for name, p in model.named_parameters() if p.grad is not None and p.grad.any()]
        assert not left, f"after `update` these still have a nonzero .grad: {left}"
        theirs.zero_grad(set_to_none=True)
        (theirs(x).square().mean() + theirs(z).square().mean()).backward()
        expected.step()
    for p, right in zip(model.parameters(), theirs.parameters(), strict=True):
        why = "loss1.backward(), update(optimizer, loss2): a weight after a step by both gradients"
        close(p.detach(), right.detach(), why)


def encoder() -> Any:
    """Return a frozen encoder in eval mode."""
    model = filled(nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2)), seed=4)
    return model.requires_grad_(requires_grad=False).eval()


def test_a_prompt_learns() -> None:
    """The prompt's gradient comes through the frozen encoder, from every sample."""
    model, x, prompt = encoder(), numbers(3, 4, 2), numbers(2, 2).requires_grad_()
    with unchanged(model, x=x, prompt=prompt):
        yours = prompted(model, prompt, x)
    copies = torch.cat([torch.stack([prompt.detach()] * 3), x], 1).requires_grad_()
    expected = model(copies)
    expected.square().sum().backward()

    close(yours.detach(), expected.detach(), "[samples, prompt and words, dims]")
    assert yours.requires_grad, "yours has no graph: no gradient can flow back to the prompt"
    yours.square().sum().backward()
    assert copies.grad is not None, "the test's own gradient is missing"
    assert prompt.grad is not None, "the prompt got no gradient"
    close(prompt.grad, copies.grad[:, :2].sum(0), "the prompt's gradient, over three samples")


def test_the_encoder_stays_frozen() -> None:
    """None of its weights has a gradient afterwards, or requires one."""
    model, prompt = encoder(), numbers(2, 2).requires_grad_()
    loss = prompted(model, prompt, numbers(3, 4, 2)).sum()
    assert loss.requires_grad, "the loss has no graph"
    loss.backward()
    assert not any(p.requires_grad for p in model.parameters()), (
        "an encoder weight is no longer frozen"
    )
    assert all(p.grad is None for p in model.parameters()), "a weight of the encoder has a .grad"


def table(**options: Any) -> Any:
    """Return a frozen table of seven words, some of them longer than its max_norm."""
    made = filled(nn.Embedding(7, 3, max_norm=1.25, **options), seed=5)
    return made.requires_grad_(requires_grad=False)


def shortened(rows: torch.Tensor, p: float = 2.0) -> torch.Tensor:
    """Return rows of at most length 1.25."""
    return rows * (1.25 / rows.norm(p=p, dim=-1, keepdim=True)).clamp(max=1)


def test_a_table_keeps_its_values() -> None:
    """A look-up does not write. The result is at most as long as max_norm allows."""
    made, tokens = table(), torch.tensor([[0, 3, 3], [6, 1, 2]])
    assert len({*(made.weight.norm(dim=1) > 1.25).tolist()}) == 2, (
        "the test's table should have both short and long words"
    )
    before = made.weight.detach().clone()
    with unchanged(made, tokens=tokens):
        yours = words(made, tokens)

    # PyTorch adds 1e-7 to the norm by which it divides.
    close(yours, shortened(before)[tokens], "rows, each at most 1.25 long", 1e-6)


def test_a_table_has_its_own_norm() -> None:
    """With norm_type 1 a row's length is the sum of its absolute values."""
    made, tokens = table(norm_type=1.0), torch.tensor([0, 1, 2, 3, 4, 5, 6])
    before = made.weight.detach().clone()
    expected = shortened(before, 1.0)
    close(words(made, tokens), expected, "rows of a table with norm_type=1, each 1.25 long", 1e-6)
    close(made.weight.detach(), before, "its weights, after a look-up")


def test_a_table_has_its_own_padding() -> None:
    """The table gives its padding_idx no gradient: that word only pads rows."""
    made = table(padding_idx=0).requires_grad_()
    before = made.weight.detach().clone()
    words(made, torch.tensor([[0, 1], [0, 3]])).sum().backward()
    assert made.weight.grad is not None, "a thawed table got no gradient"
    close(made.weight.detach(), before, "the weights of a thawed table, after a look-up")
    close(made.weight.grad[0], torch.zeros(3), "the gradient of word 0, the table's padding_idx")
    assert made.weight.grad[1].any(), "word 1 was looked up, but has no gradient"


def test_a_thawed_table_learns() -> None:
    """A thawed table gets a gradient, and a look-up still does not write to it."""
    made, tokens = table().requires_grad_(), torch.tensor([3, 3, 1])
    before = made.weight.detach().clone()
    words(made, tokens).sum().backward()

    close(made.weight.detach(), before, "the weights of a thawed table, after a look-up")
    assert made.weight.grad is not None, "a thawed table got no gradient"
    used = made.weight.grad.abs().sum(1) > 0
    assert used.tolist() == [False, True, False, True, False, False, False], (
        "words 1 and 3 were looked up, but the words with a gradient are"
        f" {used.nonzero().flatten().tolist()}"
    )
