"""Tests of k01_contents: small modules, and what PyTorch does with each attribute."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from katas.lecture05.k01_contents import contents
from plugins.kit import unchanged


def compare(module: nn.Module, expected: dict[str, str], why: str) -> None:
    """Compare the kinds that you found with the expected ones."""
    with unchanged(module=module):
        yours = contents(module)
    lines = [
        f"{name}: yours {yours.get(name, 'left out')}, expected {expected.get(name, 'left out')}"
        for name in sorted({*yours, *expected})
        if yours.get(name) != expected.get(name)
    ]

    assert not lines, "\n".join([*lines, why])


class Everything(nn.Module):
    """Has one attribute of each kind."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.frozen = nn.Parameter(torch.ones(2), requires_grad=False)
        self.mean = nn.Buffer(torch.zeros(2))
        self.cache = nn.Buffer(torch.zeros(2), persistent=False)
        self.running_mean = nn.Buffer(torch.zeros(2), persistent=False)
        self.register_buffer("steps", torch.tensor(0.0))
        self.table = torch.ones(2)
        self.layer = nn.BatchNorm1d(2)
        self.layers = [nn.Linear(2, 2)]
        self.blocks = nn.ModuleList([nn.Linear(2, 2)])
        self.scales = {"a": nn.Parameter(torch.ones(2))}
        self.size = 2


KINDS = {
    "weight": "parameter",
    "frozen": "parameter",
    "mean": "buffer",
    "cache": "unsaved buffer",
    "running_mean": "unsaved buffer",
    "steps": "buffer",
    "table": "plain",
    "layer": "module",
    "layers": "plain",
    "blocks": "module",
    "scales": "plain",
    "size": "plain",
}


def test_a_linear_layer() -> None:
    """A Linear has two parameters, and two numbers that are plain attributes."""
    plain = {"in_features": "plain", "out_features": "plain"}
    drawers = {"weight": "parameter", "bias": "parameter"}

    compare(nn.Linear(2, 3), plain | drawers, "vars(module) has no parameter: ask the module")


def test_an_empty_place_is_left_out() -> None:
    """Without a bias the drawer holds None; a plain None is in no drawer."""
    layer = nn.Linear(2, 3, bias=False)
    expected = {"in_features": "plain", "out_features": "plain", "weight": "parameter"}

    compare(layer, expected, "named_parameters leaves out what is None")
    module = nn.Module()
    module.register_buffer("mean", None)
    module.register_module("layer", None)
    module.note = None

    compare(module, {"note": "plain"}, "None in vars(module) is plain, None in a drawer is empty")


def test_what_lies_deeper_is_another_modules() -> None:
    """A Sequential itself has two modules and no parameter."""
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))

    compare(model, {"0": "module", "1": "module"}, "ask without recursion: recurse=False")


def test_a_module_with_one_of_each() -> None:
    """A list is plain, a tensor alone is not a buffer, and a child has its own names."""
    compare(Everything(), KINDS, "what lies in no drawer is plain, whatever it holds")


def test_a_name_may_change_its_drawer() -> None:
    """The kind is that of the current value."""
    module = Everything()
    module.table = nn.Parameter(torch.ones(2))
    module.mean = nn.Parameter(torch.ones(2))
    module.layer = None
    del module.size
    expected = KINDS | {"table": "parameter", "mean": "parameter"}
    gone = {"layer", "size"}
    expected = {name: kind for name, kind in expected.items() if name not in gone}

    compare(module, expected, "look at the module at each call")


@pytest.mark.parametrize("name", ["weight", "frozen", "mean", "cache", "steps", "table"])
def test_kinds_say_what_pytorch_does(name: str) -> None:
    """Your kinds say what is trained, moved and saved; PyTorch must agree."""
    module = Everything()
    kind = contents(module).get(name)
    moved = getattr(copy.deepcopy(module).double(), name).dtype == torch.float64
    does = {
        "is among parameters()": any(getattr(module, name) is x for x in module.parameters()),
        "is moved by double()": moved,
        "is saved": name in module.state_dict(),
    }
    means = {
        "parameter": (True, True, True),
        "buffer": (False, True, True),
        "unsaved buffer": (False, True, False),
        "plain": (False, False, False),
    }

    assert means.get(kind) == tuple(does.values()), (
        f"{name}: yours is {kind!r}, which means {means.get(kind)} for {[*does]};"
        f" PyTorch's {[*does.values()]}"
    )


def test_names_with_an_underscore_at_the_end_are_yours() -> None:
    """Only names that begin with an underscore belong to the Module itself."""
    module = nn.Module()
    module.size_ = 3
    module._private = 4  # noqa: SLF001 - a name of the learner's
    module.train_ing = 5
    module.training_steps = 6
    names = ("size_", "train_ing", "training_steps")

    compare(module, dict.fromkeys(names, "plain"), "begin with _, or be training: not contain")
