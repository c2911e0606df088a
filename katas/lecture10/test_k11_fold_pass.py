"""Tests of k11_fold_pass: which pairs are folded, and what the graph looks like then."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
import torch.fx.experimental.optimization
import torch.nn.utils.fusion
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st
from torch import fx
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture10 import k11_fold_pass as kata
from katas.lecture10.k11_fold_pass import fold_batch_norms
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def drawn_statistics(model: nn.Module) -> nn.Module:
    """Give each batch norm numbers that are neither 0 nor 1, and set eval mode."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):  # noqa: SLF001 - the base of all
            for value in (module.running_mean, module.weight, module.bias):
                if value is not None:
                    nn.init.normal_(value)
            if module.running_var is not None:
                nn.init.uniform_(module.running_var, 0.5, 2)
    return model.eval()


def tracing(model: nn.Module) -> fx.GraphModule:
    """Trace a model whose batch norms have been given numbers."""
    return fx.symbolic_trace(drawn_statistics(model))


def norms(module: nn.Module) -> int:
    """Return how many calls of batch norms a graph has."""
    found = [n for n in module.graph.nodes if n.op == "call_module"]
    called = [module.get_submodule(node.target) for node in found]
    return sum(isinstance(it, nn.modules.batchnorm._BatchNorm) for it in called)  # noqa: SLF001


def check(module: fx.GraphModule, left: int, *inputs: torch.Tensor) -> fx.GraphModule:
    """Fold, compare the results, and count the batch norms that are left."""
    modes = [each.training for each in module.modules()]
    with unchanged(module=module):
        folded = fold_batch_norms(module)
    assert modes == [each.training for each in module.modules()], (
        "do not change whether modules are in train or eval mode"
    )
    assert isinstance(folded, fx.GraphModule), (
        f"your function returns a {type(folded).__name__}, expected a GraphModule"
    )
    folded.graph.lint()
    with torch.no_grad():
        expected, found = module(*inputs), folded(*inputs)
    where = f"of the folded graph\n{graph_text(folded)}\n"
    torch.testing.assert_close(found, expected, msg=lambda text: f"result {where}{text}")
    assert left == norms(folded), (
        f"{norms(folded)} batch norms are left, expected {left}; {where}folded "
        f"from\n{graph_text(module)}"
    )
    return folded


def pair(draw: st.DrawFn) -> tuple[nn.Module, nn.Module, torch.Tensor]:
    """Draw a convolution, a batch norm for it, and an input."""
    dims, groups, transposed = draw(st.integers(0, 2)), draw(st.integers(1, 3)), draw(st.booleans())
    channels, out = groups * draw(st.integers(1, 3)), groups * draw(st.integers(1, 2))
    options = {
        "stride": draw(st.integers(1, 2)),
        "padding": draw(st.integers(0, 1)),
        "dilation": draw(st.integers(1, 2)),
        "groups": groups,
        "bias": draw(st.booleans()),
    }
    if transposed:
        most = max(options["stride"], options["dilation"]) - 1
        options["output_padding"] = draw(st.integers(0, most))
    else:
        options["padding_mode"] = draw(st.sampled_from(["zeros", "reflect", "circular"]))
    kind = (TRANSPOSED if transposed else CONVOLUTIONS)[dims]
    convolution = kind(channels, out, draw(st.integers(1, 2)), **options)
    norm = NORMS[dims](out, eps=draw(st.sampled_from([1e-5, 0.5])), affine=draw(st.booleans()))
    model = drawn_statistics(nn.Sequential(convolution, norm)).double()
    x = torch.randn(2, channels, *(5 for _ in range(dims + 1)), dtype=torch.float64)
    return model[0], model[1], x


class Pair(nn.Module):
    """Convolution, batch norm, ReLU."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn, self.relu = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the ReLU of the pair."""
        return self.relu(self.bn(self.conv(x)))


def test_a_pair_in_a_graph() -> None:
    """The batch norm's node is removed, and its users take the convolution's value."""
    module = tracing(Pair())
    folded = check(module, 0, torch.randn(2, 2, 5, 5))

    assert_expected_inline(
        f"{graph_text(module)}\n\n{graph_text(folded)}",
        """\
x = input
conv = self.conv(x)
bn = self.bn(conv)
relu = self.relu(bn)
return relu

x = input
folded_0 = self.folded_0(x)
relu = self.relu(folded_0)
return relu""",
    )


def test_the_given_module_is_left_alone() -> None:
    """Same graph, same submodules, same parameters with the same values."""
    module = tracing(Pair())
    text, code = graph_text(module), module.code
    kept = dict(module.named_modules()) | module.state_dict(keep_vars=True)
    values = {name: value.clone() for name, value in module.state_dict().items()}
    fold_batch_norms(module)
    now = dict(module.named_modules()) | module.state_dict(keep_vars=True)

    assert text == graph_text(module), "work on a copy of the graph"
    assert code == module.code, (
        "the code of the given module has changed: change and recompile a copy"
    )
    assert kept.keys() == now.keys(), "submodules were added to the given module or deleted from it"
    assert all(value is now[name] for name, value in kept.items()), (
        "a submodule, parameter or buffer of the given module was replaced"
    )
    for name, value in module.state_dict().items():
        torch.testing.assert_close(value, values[name], rtol=0, atol=0)


def test_what_nobody_calls_is_gone() -> None:
    """The old pair is removed, since it would keep its memory."""
    folded = fold_batch_norms(tracing(Pair()))
    names = sorted(name for name, _ in folded.named_children())

    assert ["folded_0", "relu"] == names, (
        f"the children of the result are {names}, expected folded_0 and relu"
    )
    assert {"folded_0.weight", "folded_0.bias"} == folded.state_dict().keys(), (
        f"the state_dict holds {sorted(folded.state_dict())}, expected only weight and bias of "
        f"folded_0: remove the old pair"
    )


class Running(TorchDispatchMode):
    """Lists the operators that run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Record the name and run the operator."""
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_fewer_operators_run() -> None:
    """One operator fewer for each pair; all others run as before, in the same order."""
    module = tracing(nn.Sequential(Pair(), nn.Conv2d(3, 2, 1), nn.BatchNorm2d(2), nn.Flatten()))
    x = torch.randn(1, 2, 5, 5)
    with torch.no_grad():
        with Running() as before:
            module(x)
        folded = fold_batch_norms(module)
        with Running() as after:
            folded(x)

    # On a CPU a batch norm makes an empty tensor, to save things for backward.
    expected = [name for name in before.names if "batch_norm" not in name and "empty" not in name]
    assert expected == after.names, (
        f"operators before: {before.names}, after: {after.names}; expected only the batch norms to "
        f"be removed"
    )


def test_a_weight_that_is_read_elsewhere_stays() -> None:
    """Nothing calls the old convolution, but a get_attr still reads it."""

    class Model(Pair):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.bn(self.conv(x)) + self.conv.weight.sum()

    module = tracing(Model())
    try:
        check(module, 0, torch.randn(2, 2, 5, 5))
    except (AttributeError, RuntimeError) as error:
        raise AssertionError(f"the graph reads conv.weight, which is gone: {error}") from error


def test_names_are_counted_by_what_is_folded() -> None:
    """A batch norm that stays uses up no number."""
    steps = (nn.BatchNorm2d(2), nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), nn.Conv2d(3, 2, 1))
    folded = check(tracing(nn.Sequential(*steps, nn.BatchNorm2d(2))), 1, torch.randn(2, 2, 4, 4))
    names = [name for name, _ in folded.named_children() if name.startswith("folded")]

    assert ["folded_0", "folded_1"] == names, (
        f"two folds are called {names}, expected folded_0 and folded_1"
    )


@pytest.mark.parametrize("kind", ["train", "no statistics"])
def test_statistics_of_the_batch_cannot_be_folded(kind: str) -> None:
    """In train mode, or without running statistics, the scale depends on the input."""
    other = nn.BatchNorm2d(3, track_running_stats=kind == "train")
    module = tracing(nn.Sequential(Pair(), nn.Conv2d(3, 3, 1), other))
    module.get_submodule("1").train()
    other.train(kind == "train")

    check(module, 1, torch.randn(2, 2, 5, 5))


def test_a_value_with_a_second_user_is_needed_as_it_is() -> None:
    """The second user may be a sum, a second batch norm, or the output."""

    class Model(nn.Module):
        def __init__(self, kind: str) -> None:
            super().__init__()
            self.conv, self.bn, self.other = (
                nn.Conv2d(2, 2, 1),
                nn.BatchNorm2d(2),
                nn.BatchNorm2d(2),
            )
            self.kind = kind

        def forward(self, x: torch.Tensor) -> Any:
            y = self.conv(x)
            z = self.bn(y)
            if self.kind == "sum":
                return z + y
            return z * self.other(y) if self.kind == "norm" else (z, y)

    x = torch.randn(2, 2, 4, 4)
    check(tracing(Model("sum")), 1, x)
    check(tracing(Model("output")), 1, x)
    check(tracing(Model("norm")), 2, x)


def test_a_module_may_be_called_at_several_places() -> None:
    """With and without a batch norm, and with two: each call has weights of its own."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(2, 2, 1)
            self.alias = self.conv
            self.bn, self.other = nn.BatchNorm2d(2), nn.BatchNorm2d(2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.bn(self.conv(x))
            return y + self.other(self.conv(y)) + self.alias(x)

    folded = check(tracing(Model()), 0, torch.randn(2, 2, 4, 4))
    called = [str(node.target) for node in folded.graph.nodes if node.op == "call_module"]

    assert ["folded_0", "folded_1"] == called[:2], (
        f"expected folds numbered in the order of the graph, found calls of {called}"
    )
    assert called[2] in {"conv", "alias"}, "the call without a batch norm must keep its weights"


def test_a_pair_may_be_called_twice() -> None:
    """Each fold makes a convolution of its own, even if another has the same numbers."""
    pair = Pair()
    folded = check(
        tracing(nn.Sequential(pair, nn.Conv2d(3, 2, 1), pair)), 0, torch.randn(2, 2, 7, 7)
    )
    called = [str(node.target) for node in folded.graph.nodes if node.op == "call_module"]

    assert ["folded_0", "0_relu", "1", "folded_1", "0_relu"] == [
        name.replace(".", "_") for name in called
    ], (
        f"the graph calls {called}, expected folded_0 for the pair's first call and folded_1 for "
        f"its second"
    )
    first, second = folded.get_submodule("folded_0"), folded.get_submodule("folded_1")
    assert first is not second, "folded_0 and folded_1 are the same module: each fold makes its own"


def test_a_norm_behind_something_else_stays() -> None:
    """After the input, a ReLU, an identity or a linear layer; and nothing is folded backwards."""
    between = nn.Sequential(nn.Conv2d(2, 3, 1), nn.ReLU(), nn.BatchNorm2d(3), nn.Conv2d(3, 3, 1))
    check(tracing(between), 1, torch.randn(2, 2, 4, 4))
    same = nn.Sequential(nn.Conv2d(2, 3, 1), nn.Identity(), nn.BatchNorm2d(3))
    check(tracing(same), 1, torch.randn(2, 2, 4, 4))
    check(tracing(nn.Sequential(nn.BatchNorm2d(2))), 1, torch.randn(2, 2, 4, 4))
    linear = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    check(tracing(linear), 1, torch.randn(4, 2))


def test_subclasses_are_left_alone() -> None:
    """Nobody knows what they compute: these scale and shift once more."""

    class Halved(nn.Conv2d):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).sin()

    class Shifted(nn.BatchNorm2d):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).cos()

    class Leaf(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return not isinstance(m, nn.Sequential)

    for model in (
        nn.Sequential(Halved(2, 3, 1), nn.BatchNorm2d(3)),
        nn.Sequential(nn.Conv2d(2, 3, 1), Shifted(3)),
        nn.Sequential(nn.Conv2d(2, 3, 1), nn.SyncBatchNorm(3)),
    ):
        drawn_statistics(model)
        module = fx.GraphModule(model, Leaf().trace(model))
        check(module, 1, torch.randn(2, 2, 4, 4))


def test_two_norms_in_a_row() -> None:
    """The first fold results in a convolution, so the second batch norm goes too."""
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.BatchNorm2d(3, affine=False))

    folded = check(tracing(model), 0, torch.randn(2, 2, 5, 5))
    assert 1 == len(list(folded.children())), (
        "more than one submodule is left, but nothing calls the first fold any more"
    )


def test_taken_names_are_passed_over() -> None:
    """A module that was folded before may get new batch norms."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.folded_0 = nn.Conv2d(3, 3, 1)
            self.register_buffer("folded_1", torch.ones(3, 1, 1))
            self.pair, self.bn = Pair(), nn.BatchNorm2d(3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.bn(self.folded_0(self.folded_0(self.pair(x)))) + self.folded_1

    check(tracing(Model()), 0, torch.randn(2, 2, 5, 5))


STEPS = ("conv", "norm", "norm", "train", "batch", "relu", "keep")


class Program(nn.Module):
    """Runs random steps; "keep" makes a value an output of the model."""

    def __init__(self, steps: list[str]) -> None:
        super().__init__()
        self.steps = steps
        for number, step in enumerate(steps):
            module = {
                "conv": nn.Conv2d(2, 2, 1),
                "batch": nn.BatchNorm2d(2, track_running_stats=False),
                "relu": nn.LeakyReLU(),
            }.get(step, nn.BatchNorm2d(2))
            self.add_module(f"step_{number}", module)

    def forward(self, x: torch.Tensor) -> Any:
        """Return the kept values and the last one."""
        kept = []
        for number, step in enumerate(self.steps):
            if step == "keep":
                kept.append(x)
            else:
                x = self.get_submodule(f"step_{number}")(x)
        return (*kept, x)


@given(steps=st.lists(st.sampled_from(STEPS), max_size=8), seed=st.integers(0, 100))
def test_any_program(steps: list[str], seed: int) -> None:
    """Batch norms that cannot go stay, the others go, and the results are the same."""
    torch.manual_seed(seed)
    model = drawn_statistics(Program(steps)).double()
    left, ready = 0, False  # ready: the value comes from a convolution, and nobody else uses it
    for number, step in enumerate(steps):
        if step == "train":
            model.get_submodule(f"step_{number}").train()
        if step in {"norm", "train", "batch"}:
            ready = ready and step == "norm"
            left += not ready
        else:
            ready = step == "conv"

    check(fx.symbolic_trace(model), left, torch.randn(3, 2, 2, 2, dtype=torch.float64))


def test_models(zoo: Callable[[str], Any]) -> None:
    """Every batch norm of a trained ResNet goes, and its results stay."""
    model, inputs = zoo("resnet")
    module = fx.symbolic_trace(model)
    check(module, 0, *inputs)

    names = ("torch.fx.experimental.optimization", "torch.ao.quantization", "torch._inductor")
    with forbids(kata, *names) as fresh:
        fresh.fold_batch_norms(module)


READY_MADE = ()
