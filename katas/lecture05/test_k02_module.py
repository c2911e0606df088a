"""Tests of k02_module: one program, with your Module and with PyTorch's."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture05 import k02_module as kata
from plugins.kit import forbids
from plugins.kit import unchanged


one = pytest.mark.step(1, "drawers")
two = pytest.mark.step(2, "walks")
three = pytest.mark.step(3, "changes")


def layers(base: type) -> SimpleNamespace:
    """Return classes that inherit from `base`, which is your Module or PyTorch's."""

    class Linear(base):
        """A Linear layer with random weights."""

        def __init__(self, m: int, n: int, *, bias: bool = True) -> None:
            super().__init__()
            self.m = m
            self.weight = nn.Parameter(torch.randn(n, m))
            self.bias = nn.Parameter(torch.randn(n)) if bias else None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """Return the affine function of x."""
            y = x @ self.weight.t()
            return y if self.bias is None else y + self.bias

    class Norm(base):
        """Has a floating-point buffer, an integer buffer, and an empty one."""

        def __init__(self, n: int) -> None:
            super().__init__()
            self.register_buffer("mean", torch.full((n,), 2.0).sqrt())
            self.register_buffer("steps", torch.tensor(3))
            self.register_buffer("empty", None)
            self.gain = nn.Parameter(torch.ones(n))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """Subtract the mean in training, but not in evaluation."""
            return self.gain * (x - self.mean if self.training else x)

    class Block(base):
        """A Linear and a Norm."""

        def __init__(self, m: int, n: int) -> None:
            super().__init__()
            self.linear = Linear(m, n)
            self.norm = Norm(n)
            self.skip = Linear(1, 1)
            self.skip = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """Call the Linear, then the Norm."""
            return self.norm(self.linear(x))

    class Model(base):
        """Two blocks; the first has two names, and a Parameter is tied."""

        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(0.5))
            self.first = Block(2, 3)
            self.again = self.first
            self.second = Block(3, 2)
            self.tied = Linear(2, 3)
            self.tied.weight = self.first.linear.weight

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """Use all parameters and modules."""
            return self.tied(self.second(self.again(x)) * self.scale)

    return SimpleNamespace(base=base, Linear=Linear, Norm=Norm, Block=Block, Model=Model)


YOURS = layers(kata.Module)
PYTORCHS = layers(nn.Module)


def both(name: str, *args: Any) -> tuple[Any, Any]:
    """Return your module and PyTorch's, with equal parameters."""
    made = []
    for kind in (YOURS, PYTORCHS):
        torch.manual_seed(0)
        made.append(getattr(kind, name)(*args))
    return made[0], made[1]


def where(module: Any) -> dict[str, list[str]]:
    """Return the names in each drawer."""
    return {key: [*module.__dict__[key]] for key in ("_parameters", "_buffers", "_modules")}


def same_drawers(mine: Any, real: Any, why: str) -> None:
    """Compare the drawers and the plain attributes."""
    assert where(real) == where(mine), f"yours {where(mine)}\nPyTorch's {where(real)}\n{why}"
    names = {name for name in vars(real) if name[0] != "_"}
    yours = {name for name in vars(mine) if name[0] != "_"}
    assert names == yours, f"plain attributes: yours {yours}, PyTorch's {names}: {why}"


@one
def test_a_plain_attribute() -> None:
    """A plain value stays an ordinary Python attribute."""
    mine, real = kata.Module(), nn.Module()
    for module in (mine, real):
        module.size = 3

    same_drawers(mine, real, "a number lies in no drawer")
    assert mine.size == 3, f"yours {mine.size}, expected 3"


@one
def test_a_parameter_lies_in_its_drawer() -> None:
    """A Parameter is found under its name; a subclass of Parameter counts too."""
    mine, real = both("Linear", 2, 3)
    for module in (mine, real):
        module.special = type("Special", (nn.Parameter,), {})(torch.ones(1))

    same_drawers(mine, real, "a Parameter lies in _parameters, and a tensor of Python's nowhere")
    assert mine.weight is mine.__dict__["_parameters"]["weight"], (
        "reading the Parameter returned another object"
    )
    x = torch.randn(4, 2)
    torch.testing.assert_close(
        mine(x), real(x), msg="forward: yours differs from PyTorch's\n".__add__
    )


@one
def test_modules_lie_in_theirs() -> None:
    """A module that was replaced with None keeps its entry in the drawer."""
    same_drawers(*both("Block", 2, 3), "None keeps the place of a module")
    mine, _ = both("Block", 2, 3)
    assert mine.skip is None, f"skip: yours is {mine.skip}, expected None"


@one
@pytest.mark.parametrize(
    ("second", "first"),
    [
        ("parameter", "plain"),
        ("parameter", "buffer"),
        ("parameter", "empty"),
        ("parameter", "module"),
        ("parameter", "parameter"),
        ("module", "plain"),
        ("module", "buffer"),
        ("module", "empty"),
        ("module", "module"),
    ],
)
def test_a_name_is_in_one_place(second: str, first: str) -> None:
    """A later value takes the name over, from any drawer; one of the same kind keeps its place."""

    def program(kind: SimpleNamespace) -> Any:
        module = kind.base()
        values = {"module": kind.Norm(1), "parameter": nn.Parameter(torch.ones(1)), "plain": 1}
        if first in {"buffer", "empty"}:
            module.register_buffer("x", torch.ones(1) if first == "buffer" else None)
        else:
            module.x = values[first]
        module.other = nn.Parameter(torch.ones(1))
        module.last = kind.Norm(1)
        module.x = kind.Norm(1) if second == "module" else nn.Parameter(torch.zeros(1))
        return module

    mine, real = program(YOURS), program(PYTORCHS)

    same_drawers(mine, real, f"x was a {first} and is a {second} now")
    names = {"module": "Norm", "parameter": "Parameter"}
    found = type(mine.x).__name__
    assert names[second] == found, (
        f"m.x is the old {found}: Python looks in __dict__ before it calls __getattr__"
    )


@one
def test_what_does_not_fit_is_refused() -> None:
    """A tensor is not a Parameter, a number is neither buffer nor module; the old value stays."""
    for name, attribute, value in (
        ("Linear", "weight", torch.ones(3, 2)),
        ("Norm", "mean", 3.0),
        ("Block", "norm", torch.ones(2)),
        ("Block", "norm", len),
    ):
        mine, real = both(name, 3) if name == "Norm" else both(name, 2, 3)
        before = getattr(mine, attribute)
        with pytest.raises(TypeError):
            setattr(real, attribute, value)
        with pytest.raises(TypeError, match=f"to '{attribute}'"):
            setattr(mine, attribute, value)
        assert before is getattr(mine, attribute), (
            f"{attribute}: the refused assignment replaced the value, expected the old one"
        )


@one
def test_a_tensor_for_a_buffer_stays_a_buffer() -> None:
    """None in place of a buffer stays there too; a plain tensor stays a plain attribute."""

    def program(kind: SimpleNamespace) -> Any:
        module = kind.Norm(2)
        module.mean = torch.zeros(2)
        module.steps = None
        module.empty = torch.ones(1)
        module.gain = None
        module.plain = torch.ones(2)
        return module

    mine, real = program(YOURS), program(PYTORCHS)

    same_drawers(mine, real, "the name decides: what is a buffer stays one")
    assert mine.mean.sum() == 0, "mean: yours is the old buffer"
    assert mine.gain is None, "gain: yours is the old Parameter"


def early(base: type, value: Any) -> Any:
    """Return a module that assigns before super().__init__(), or the error that this raises."""

    class Early(base):
        def __init__(self) -> None:
            self.x = value
            super().__init__()

    try:
        return Early()
    except AttributeError as error:
        return error


@one
def test_before_init() -> None:
    """There are no drawers yet: only a plain attribute needs none."""
    for whose, kind in (("PyTorch's", PYTORCHS), ("yours", YOURS)):
        for value in (nn.Parameter(torch.ones(1)), kind.Norm(1)):
            found = early(kind.base, value)
            assert "__init__" in f"{found}", (
                f"a {type(value).__name__} is assigned before super().__init__(): {whose} gives"
                f" {found!r}, expected an error that names __init__, or no walk would find it;"
                " self.drawers() raises one"
            )
        for value in (3, torch.ones(2)):
            found = early(kind.base, value)
            assert getattr(found, "x", None) is value, (
                f"self.x = {value} before super().__init__(): {whose} gives {found!r}; a plain"
                " attribute needs no drawer"
            )


@one
def test_what_is_not_there_is_an_attribute_error() -> None:
    """Both hasattr and copy rely on an AttributeError, copy even before __init__."""
    mine, _ = both("Linear", 2, 3)
    assert not hasattr(mine, "wieght"), (
        "hasattr finds a `wieght` in your module, expected no such attribute"
    )
    with pytest.raises(AttributeError, match="no attribute 'wieght'"):
        _ = mine.wieght
    twin = copy.deepcopy(mine)
    torch.testing.assert_close(twin.weight, mine.weight, msg="deepcopy differs\n".__add__)
    assert twin.weight is not mine.weight, "deepcopy: your module shares the weight with its copy"


@two
def test_named_modules_of_a_block() -> None:
    """The module itself comes first, under an empty name; an empty entry is not a module."""
    mine, real = both("Block", 2, 3)
    yours = [name for name, _ in mine.named_modules()]
    expected = [name for name, _ in real.named_modules()]

    assert expected == yours, f"yours {yours}\nPyTorch's {expected}"
    assert mine is next(iter(mine.named_modules()))[1], "expected the module itself first"


@two
def test_named_modules_of_a_tree() -> None:
    """The order is depth first; a module with two names is listed under the first."""
    mine, real = both("Model")
    expected = [name for name, _ in real.named_modules()]
    for walk in ("first", "second"):
        yours = [name for name, _ in mine.named_modules()]
        assert expected == yours, f"{walk} walk: yours {yours}\nPyTorch's {expected}"
    prefixed = [name for name, _ in mine.named_modules("top")]
    expected = [name for name, _ in real.named_modules(prefix="top")]
    assert expected == prefixed, f"below top: yours {prefixed}\nPyTorch's {expected}"
    mine.late, real.late = YOURS.Norm(2), PYTORCHS.Norm(2)
    yours = [name for name, _ in mine.named_modules()]
    expected = [name for name, _ in real.named_modules()]
    assert expected == yours, f"after adding a module: yours {yours}\nPyTorch's {expected}"


@two
def test_named_parameters() -> None:
    """Each Parameter comes once, in PyTorch's order; a shared one under its first path."""
    mine, real = both("Model")
    yours = [(name, x.tolist()) for name, x in mine.named_parameters()]
    expected = [(name, x.tolist()) for name, x in real.named_parameters()]

    assert [name for name, _ in expected] == [name for name, _ in yours], (
        f"yours {[name for name, _ in yours]}\nPyTorch's {[name for name, _ in expected]}"
    )
    assert expected == yours, "the names are right, but the values differ from PyTorch's"


@two
def test_a_loop_of_modules_ends() -> None:
    """A child may refer to its parent."""
    mine, real = both("Block", 2, 3)
    mine.norm.parent, real.norm.parent = mine, real
    yours = [name for name, _ in mine.named_modules()]
    expected = [name for name, _ in real.named_modules()]

    assert expected == yours, f"yours {yours}\nPyTorch's {expected}"


@two
def test_equal_parameters_are_two() -> None:
    """Two equal Parameters are listed separately: identity matters, not value."""
    module = kata.Module()
    module.a, module.b = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
    module.c, module.d = module.a, None
    yours = [name for name, _ in module.named_parameters()]

    assert ["a", "b"] == yours, f"a and b are equal, c is a: yours {yours}, expected ['a', 'b']"


@three
def test_apply() -> None:
    """Children come before parents; what the function returns does not matter."""
    mine, real = both("Block", 2, 3)
    orders: list[list[str]] = [[], []]
    for module, order in zip((mine, real), orders, strict=True):
        found = module.apply(lambda each, order=order: order.append(type(each).__name__) or 3)
        assert module is found, f"apply returns {found}, expected the module itself"

    assert orders[1] == orders[0], f"yours {orders[0]}\nPyTorch's {orders[1]}"


@three
def test_train() -> None:
    """Both train() and train(False) change the whole tree, and nothing else."""
    mine, real = both("Model")
    x = torch.randn(3, 2)
    for mode in (False, True):
        with unchanged(dict(mine.named_parameters())):
            assert mine.train(mode) is mine, "train does not return the module itself"
        real.train(mode)
        modes = {name: module.training for name, module in mine.named_modules()}
        assert {mode} == {*modes.values()}, f"train({mode}): in your tree `training` is {modes}"
        torch.testing.assert_close(mine(x), real(x), msg=f"train({mode}): forward\n".__add__)
    assert mine.train(False).train().training, "train() did not set `training` to True"  # noqa: FBT003


@three
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_to_converts_what_is_floating(dtype: torch.dtype) -> None:
    """Parameters and buffers are converted, frozen ones too, but not the step count."""
    mine, real = both("Model")
    for module in (mine, real):
        module.scale.requires_grad = False
        module.register_buffer("mask", torch.tensor([True, False]))
        module.to(torch.float16)
    assert mine.to(dtype) is mine, "to does not return the module itself"
    real.to(dtype)
    for (name, yours), (_, theirs) in zip(mine.named_modules(), real.named_modules(), strict=True):
        for drawer in ("_parameters", "_buffers"):
            kinds = [
                {key: x if x is None else x.dtype for key, x in vars(module)[drawer].items()}
                for module in (yours, theirs)
            ]
            assert kinds[1] == kinds[0], f"{name}: yours {kinds[0]}\nPyTorch's {kinds[1]}"
    x = torch.randn(3, 2, dtype=dtype)
    torch.testing.assert_close(
        mine(x), real(x), msg="forward: yours differs from PyTorch's\n".__add__
    )


@three
def test_to_keeps_the_parameters() -> None:
    """An existing optimizer continues to train them; gradients are converted too."""
    mine, _ = both("Model")
    before = dict(mine.named_parameters())
    mine(torch.ones(1, 2)).sum().backward()
    mine.scale.grad = None
    grads = {name: x.grad for name, x in before.items()}
    mine.to(torch.float64)
    for name, x in mine.named_parameters():
        assert x is before[name], f"{name} is a new Parameter, but the optimizer holds the old one"
        assert x.requires_grad, f"{name} no longer requires a gradient"
        assert x.is_leaf, f"{name} is no longer a leaf"
        assert (x.grad is None) == (grads[name] is None), (
            f"{name}.grad: yours is {x.grad}, expected None if and only if it was None before"
        )
        assert x.grad is None or x.grad.dtype == torch.float64, (
            f"{name}.grad has dtype {x.grad.dtype}, expected torch.float64"
        )
    mine(torch.ones(1, 2, dtype=torch.float64)).sum().backward()


@three
def test_to_leaves_integers() -> None:
    """Integers stay, even in a Parameter without gradient; the old buffer is unchanged."""
    module = kata.Module()
    module.table = nn.Parameter(torch.arange(3), requires_grad=False)
    old = torch.tensor([2.0]).sqrt()
    module.register_buffer("mean", old)
    with unchanged(table=module.table, old=old):
        module.to(torch.float64)
    assert module.mean.dtype == torch.float64, (
        f"mean: yours is {module.mean.dtype}, expected torch.float64"
    )


@three
def test_it_is_your_own() -> None:
    """The kata rebuilds torch.nn.Module, so it must not use it."""
    with forbids(kata, "torch.nn.Module", "torch.nn.modules") as fresh:
        model = layers(fresh.Module).Model()
        count = len([*model.named_parameters()])

    expected = len([*PYTORCHS.Model().named_parameters()])
    assert expected == count, f"your module lists {count} parameters, PyTorch's {expected}"
