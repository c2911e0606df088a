"""Tests of k15_influence: a loop of gradients, a training step, wrong labels, and Captum."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from katas.lecture17.conftest import captum
from katas.lecture17.conftest import close
from katas.lecture17.conftest import descend
from katas.lecture17.conftest import numbers
from katas.lecture17.conftest import quietly
from katas.lecture17.k15_influence import gradients
from katas.lecture17.k15_influence import influence
from plugins.kit import unchanged


Rows = tuple[torch.Tensor, torch.Tensor]
TRAIN: Rows = (numbers(6, 3), torch.tensor([0, 1, 1, 0, 1, 0]))
TEST: Rows = (numbers(4, 3, seed=1), torch.tensor([1, 1, 0, 0]))


def network(seed: int = 0) -> Any:
    """Return a small network in float64."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()


def weights_of(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return copies of the parameters."""
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def one_by_one(model: nn.Module, rows: Rows) -> torch.Tensor:
    """Return the gradients, a backward for each row."""
    found = []
    for x, y in zip(*rows, strict=True):
        loss = cross_entropy(model(x[None]), y[None])
        grads = torch.autograd.grad(loss, [*model.parameters()])
        found.append(torch.cat([grad.flatten() for grad in grads]))
    return torch.stack(found)


def test_gradients_of_a_line() -> None:
    """The squared error of y = w x has the gradient 2 (w x - y) x."""
    model = nn.Linear(1, 1, bias=False).double()
    weights = {"weight": torch.tensor([[2.0]]).double()}
    x, y = torch.tensor([[1.0], [3.0]]).double(), torch.tensor([[5.0], [6.0]]).double()
    yours = gradients(model, weights, nn.functional.mse_loss, (x, y))

    close(yours, [[-6.0], [0.0]], "w = 2, rows (1, 5) and (3, 6): 2 * (2 - 5) * 1, and 0")


def test_gradients_of_rows() -> None:
    """Gradients equal those of a loop of backwards, in the order of the given weights."""
    model = network()
    yours = gradients(model, weights_of(model), cross_entropy, TRAIN)
    expected = one_by_one(model, TRAIN)
    close(yours, expected, "gradients of six rows, in the order of `weights`")

    turned = dict(reversed(weights_of(model).items()))
    parts = expected.split([12, 4, 8, 2], 1)
    again = gradients(model, turned, cross_entropy, TRAIN)
    close(again, torch.cat(parts[::-1], 1), "with the weights in reverse order")


def test_the_weights_that_are_given() -> None:
    """The model's own weights are neither used nor changed, and no .grad is filled."""
    model, other = network(), network(5)
    with unchanged(model, x=TRAIN[0]):
        yours = gradients(model, weights_of(other), cross_entropy, TRAIN)

    close(yours, one_by_one(other, TRAIN), "gradients with the weights of another network")
    assert not yours.requires_grad, "your result has a graph"


def test_parameters_as_weights() -> None:
    """The model's own parameters require gradients; the result has no graph."""
    model = network()
    weights = dict(model.named_parameters())
    with unchanged(model):
        yours = gradients(model, weights, cross_entropy, TRAIN)
        total = influence(model, [(weights, 0.5)], cross_entropy, TRAIN, TEST)

    assert not yours.requires_grad, (
        "the result of `gradients` has a graph, because the weights require gradients"
    )
    assert not total.requires_grad, (
        "the result of `influence` has a graph, because the weights require gradients"
    )
    close(yours, one_by_one(model, TRAIN), "gradients by the model's own parameters")


def test_one_run_for_all_rows() -> None:
    """The model is called once, in vmap, not once for each row."""
    model, calls = network(), []
    model[0].register_forward_hook(lambda *_: calls.append(1))
    gradients(model, weights_of(model), cross_entropy, TRAIN)

    assert len(calls) == 1, f"the model ran {len(calls)} times for 6 rows, expected once"


def test_influence_is_a_sum_of_products() -> None:
    """Products are summed over two checkpoints with different rates."""
    first, second = network(1), network(2)
    checkpoints = [(weights_of(first), 0.5), (weights_of(second), 0.125)]
    yours = influence(network(), checkpoints, cross_entropy, TRAIN, TEST)
    expected = 0.5 * one_by_one(first, TEST) @ one_by_one(first, TRAIN).t()
    expected += 0.125 * one_by_one(second, TEST) @ one_by_one(second, TRAIN).t()

    close(yours, expected, "test rows by training rows, each checkpoint times its own lr")


def test_influence_is_what_a_step_does() -> None:
    """A tiny step on a training row lowers the loss of each test row by its influence."""
    model, rate = network(3), 1e-6
    yours = influence(model, [(weights_of(model), rate)], cross_entropy, TRAIN, TEST)
    for row in range(6):
        stepped = network(3)
        loss = cross_entropy(stepped(TRAIN[0][row : row + 1]), TRAIN[1][row : row + 1])
        for p, grad in zip(
            stepped.parameters(), torch.autograd.grad(loss, [*stepped.parameters()]), strict=True
        ):
            p.data -= rate * grad
        before, after = (
            cross_entropy(each(TEST[0]), TEST[1], reduction="none").detach()
            for each in (model, stepped)
        )
        close(yours[:, row], before - after, f"a step on training row {row}", 1e-9)


@cache
def mislabelled() -> tuple[Any, Rows, set[int]]:
    """Train on 40 rows of which 4 have the wrong label; return checkpoints, rows, and which."""
    x = numbers(40, 3, seed=4)
    y = (x.sum(1) > 0).long()
    wrong = {3, 11, 20, 34}
    y[[*wrong]] = 1 - y[[*wrong]]
    model, checkpoints = network(6), []
    for step in range(60):
        descend(cross_entropy(model(x), y), model, 0.5)
        if step % 20 == 19:
            checkpoints.append((weights_of(model), 0.5))
    return checkpoints, (x, y), wrong


def test_wrong_labels_influence_themselves() -> None:
    """The rows with the largest influence on themselves: most of the four with a wrong label."""
    checkpoints, rows, wrong = mislabelled()
    yours = influence(network(), checkpoints, cross_entropy, rows, rows).diagonal()
    top = {*yours.topk(6).indices.tolist()}

    assert len(top & wrong) >= 3, (
        f"the six rows with the largest influence on themselves are {sorted(top)};"
        f" the rows with wrong labels are {sorted(wrong)}"
    )


@pytest.mark.backend("captum")
def test_captum_agrees() -> None:
    """Captum's TracInCP, with its checkpoints in memory."""
    model, first, second = network(), weights_of(network(1)), weights_of(network(2))

    def load(net: nn.Module, weights: dict[str, torch.Tensor]) -> float:
        net.load_state_dict(weights)
        return 0.25

    data = torch.utils.data.TensorDataset(*TRAIN)
    method = quietly(
        captum,
        "influence.TracInCP",
        model,
        data,
        [first, second],
        load,
        None,
        nn.CrossEntropyLoss(reduction="none"),
        6,
    )
    expected = quietly(method.influence, TEST)
    yours = influence(model, [(first, 0.25), (second, 0.25)], cross_entropy, TRAIN, TEST)
    close(yours, expected.detach(), "Captum's TracInCP", 1e-6)
