"""Tests of k27_formulas: torchgen's formulas and the graph itself are the oracle."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
import torchgen
from torch import rand
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture03 import k27_formulas as kata
from katas.lecture03.k27_formulas import gradients
from katas.lecture03.k27_formulas import parts
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch._ops import OpOverload


BACKENDS = ("CPU",)
AUTOGRAD = Path(torchgen.__file__).parent / "packaged" / "autograd"
# How _dispatch_dump_table names the rule that chose an entry.
MARKS = {
    "kernel": "autograd",
    "autograd kernel": "autograd",
    "math kernel": "composite",
    "backend fallback": "fallback",
}


@cache
def chosen(name: str) -> dict[str, str]:
    """Return which kernel the dispatcher's table has for each backend."""
    lines = torch._C._dispatch_dump_table(name).splitlines()  # noqa: SLF001
    entries = dict(line.split(": ", 1) for line in lines)
    return {
        backend: MARKS[re.findall(r"\[([a-z ]+)\]", entries[f"Autograd{backend}"])[-1]]
        for backend in BACKENDS
    }


def overload(name: str) -> OpOverload:
    """Return the overload with a name like ``mul.Tensor``."""
    base, _, suffix = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), suffix or "default")


@cache
def formulas() -> dict[str, dict[str, str]]:
    """Return what derivatives.yaml, shipped with torchgen, says, by operator and argument."""
    found: dict[str, dict[str, str]] = {}
    entry: dict[str, str] = {}
    for line in (AUTOGRAD / "derivatives.yaml").read_text("utf-8").splitlines():
        if match := re.match(r"- name: ([\w.]+)\(", line):
            entry = found.setdefault(match[1], {})
        elif match := re.match(r"(?:  |      )(\w[\w, ]*): (.*)", line):
            for name in match[1].split(", "):
                # Under "dispatch:" the formulas of most backends come first.
                entry.setdefault(name, match[2].strip("'\""))
    return found


@cache
def without_derivative() -> set[str]:
    """Return the operators that the code generator must leave alone."""
    tree = ast.parse((AUTOGRAD / "gen_variable_type.py").read_text("utf-8"))
    name = "DONT_REQUIRE_DERIVATIVE"
    return next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    )


def declared(op: OpOverload, argument: str, results: Any) -> str:
    """Return what derivatives.yaml says about an argument of a non-composite operator."""
    base, _, suffix = op.name().removeprefix("aten::").partition(".")
    # An in-place operator uses the formula of the out-of-place one, unless it has its own.
    names = [".".join(filter(None, (each, suffix))) for each in (base, base.removesuffix("_"))]
    entry = next((formulas()[name] for name in names if name in formulas()), None)
    results = results if isinstance(results, (tuple, list)) else [results]
    has_floats = any(isinstance(r, torch.Tensor) and r.is_floating_point() for r in results)
    if base in without_derivative() or not has_floats:
        return "none"
    if entry is None:
        return "missing"
    formula = entry.get(argument)
    if formula is None:
        no_output = "True" not in entry.get("output_differentiability", "True")
        return "none" if no_output else "refused"
    if formula.startswith("not_implemented"):
        return "missing"
    return "none" if formula == "non_differentiable" else "formula"


def count() -> torch.Tensor:
    """Return three indices."""
    return torch.tensor([0, 2, 1])


CALLS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "sin": lambda: (rand(3),),
    "mul.Tensor": lambda: (rand(3), rand(3)),
    "mul.Scalar": lambda: (rand(3), 2.0),
    "floor": lambda: (rand(3),),
    "argmax": lambda: (rand(3),),
    "eq.Tensor": lambda: (rand(3), rand(3)),
    "equal": lambda: (rand(3), rand(3)),
    "zeros_like": lambda: (rand(3),),
    "histc": lambda: (rand(3),),
    "special_airy_ai": lambda: (rand(3),),
    "multinomial": lambda: (rand(3), 1),
    "heaviside": lambda: (rand(3), rand(3)),
    "floor_divide": lambda: (rand(3), rand(3)),
    "mish_backward": lambda: (rand(3), rand(3)),
    "igamma": lambda: (rand(3), rand(3)),
    "special_zeta": lambda: (rand(3) + 2, rand(3)),
    "geqrf": lambda: (rand(3, 3),),
    "sort": lambda: (rand(3),),
    "frexp.Tensor": lambda: (rand(3),),
    "unbind.int": lambda: (rand(3, 2),),
    "lu_unpack": lambda: (rand(3, 3), torch.arange(1, 4, dtype=torch.int32)),
    "gather": lambda: (rand(3), 0, count()),
    "where.self": lambda: (rand(3) > 0.5, rand(3), rand(3)),
    "lerp.Tensor": lambda: (rand(3), rand(3), rand(3)),
    "binary_cross_entropy": lambda: (rand(3), rand(3), rand(3)),
    "nll_loss_forward": lambda: (rand(3, 4), count(), rand(4), 1, -100),
    "native_batch_norm": lambda: (rand(3, 2), *rand(4, 2).unbind(), True, 0.1, 1e-5),
    "native_layer_norm": lambda: (rand(3, 4), [4], rand(4), rand(4), 1e-5),
    "grid_sampler_2d": lambda: (rand(1, 1, 3, 3), rand(1, 2, 2, 2), 0, 0, False),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients(name: str) -> None:
    """Each argument has a formula, or lacks one for one of three reasons."""
    op, args = overload(name), CALLS[name]()
    names = [argument.name for argument in op._schema.arguments]  # noqa: SLF001
    results = op(*(arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args))
    expected = {
        argument: declared(op, argument, results)
        for argument, arg in zip(names, args, strict=False)
        if isinstance(arg, torch.Tensor) and arg.is_floating_point()
    }

    with unchanged(*args, but=("torch.get_rng_state()",)):
        yours = gradients(op, *args)

    assert yours == expected, (
        f"{name}: yours {yours}; tools/autograd/derivatives.yaml declares {expected}: "
        f"{formulas().get(name, 'no entry')}"
    )


@pytest.mark.parametrize(
    ("name", "number"), [("exp_", 1), ("mul_.Tensor", 2), ("copy_", 2), ("atanh_", 1)]
)
def test_operators_in_place_have_gradients_too(name: str, number: int) -> None:
    """Write to a copy, not to the argument."""
    args = [rand(3) / 2 for _ in range(number)]
    op = overload(name)
    # copy_ is written by hand, in torch/csrc/autograd/VariableTypeManual.cpp.
    expected = {
        argument.name: "formula" if name == "copy_" else declared(op, argument.name, args)
        for argument in op._schema.arguments[:number]  # noqa: SLF001
    }

    with unchanged(*args):
        yours = gradients(op, *args)

    assert yours == expected, f"{name}: yours is {yours}, PyTorch's formulas say {expected}"


def test_what_the_arguments_require_makes_no_difference() -> None:
    """Each argument is tried on its own, and no argument gets a gradient."""
    args = [rand(3, requires_grad=True) for _ in range(2)]
    op = overload("igamma")
    expected = {name: declared(op, name, args) for name in ("self", "other")}

    with unchanged(*args):
        yours = gradients(op, *args)
    assert yours == expected, f"yours is {yours}, PyTorch's formulas say {expected}"
    plain = rand(3)
    with unchanged(plain):
        gradients(overload("sin"), plain)


def test_other_errors_pass_through() -> None:
    """Mismatched shapes say nothing about derivatives, in forward or backward."""
    with pytest.raises(RuntimeError, match="must match the size"):
        gradients(overload("mul.Tensor"), rand(3), rand(2))
    with pytest.raises(RuntimeError, match="not implemented for 'Half'"):
        gradients(overload("geqrf"), rand(3, 3).half())


def test_an_error_in_backward_passes_through() -> None:
    """A backward that fails is different from a missing formula."""
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda x: x, broken)
    with hooks, pytest.raises(RuntimeError, match="the disk is full"):
        gradients(overload("sin"), rand(3))


def broken(_packed: torch.Tensor) -> torch.Tensor:
    """Fail to unpack."""
    raise RuntimeError("the disk is full")


COMPOSITES: dict[str, Callable[[], tuple[Any, ...]]] = {
    "relu6": lambda: (rand(3),),
    "outer": lambda: (rand(2), rand(3)),
    "flatten.using_ints": lambda: (rand(2, 3),),
    "reshape": lambda: (rand(3, 2).t(), (6,)),
    "conv2d": lambda: (rand(1, 1, 4, 4), rand(1, 1, 2, 2)),
    "layer_norm": lambda: (rand(3, 4), (4,), rand(4), rand(4)),
    "linear": lambda: (rand(5, 2, 3), rand(4, 3), rand(4)),
    "matmul": lambda: (rand(2, 3, 4), rand(4, 5)),
    "tensordot": lambda: (rand(2, 3), rand(3, 4), (1,), (0,)),
    "trapezoid.x": lambda: (rand(3), rand(3)),
}


def test_an_operator_with_a_kernel_of_its_own_is_its_only_part() -> None:
    """Operators that a kernel calls are hidden from autograd."""
    one, other = rand(3), rand(3)
    with unchanged(one, other):
        product, largest = parts(overload("mul.Tensor"), one, other), parts(overload("argmax"), one)

    assert product == ["aten::mul.Tensor"], (
        f"yours {product}: return func.name(), which includes the overload name"
    )
    assert largest == ["aten::argmax"], (
        f"yours {largest}: return func.name(), which adds nothing for a default overload"
    )


def node_name(operator: str) -> str:
    """Return the class name of an operator's node, as the code generator spells it."""
    base = operator.removeprefix("aten::").partition(".")[0]
    same = [name for name in formulas() if name.partition(".")[0] == base]
    words = "".join(word.title() for word in f"{base}_backward".split("_"))
    return f"{words.replace('ForwardBackward', 'Backward')}{same.index(operator[6:])}"


def history(result: torch.Tensor) -> list[str]:
    """Return the names of a graph's nodes in forward order, without leaves."""
    found, stack = set(), [result.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and node.name() != "torch::autograd::AccumulateGrad":
            found.add(node)
            stack.extend(next_node for next_node, _ in node.next_functions)
    return [node.name() for node in sorted(found, key=lambda node: node._sequence_nr())]  # noqa: SLF001


@pytest.mark.parametrize("name", COMPOSITES)
def test_each_part_leaves_a_node(name: str) -> None:
    """A composite operator has no node; the graph holds the nodes of its parts, in order."""
    op, args = overload(name), COMPOSITES[name]()
    found = parts(op, *args)
    leaves = [arg.requires_grad_() if isinstance(arg, torch.Tensor) else arg for arg in args]
    nodes = history(op(*leaves))

    assert {"autograd"} == {chosen(part)["CPU"] for part in found}, (
        f"{name}: you return {found}, but composites must be decomposed"
    )
    assert nodes == [node_name(part) for part in found], (
        f"{name}: yours {found}, the graph has {nodes}"
    )


class Names(TorchDispatchMode):
    """Records the names of the operators it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Record the name and run the operator."""
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


@pytest.mark.given
def test_inference_mode_leaves_composites_whole() -> None:
    """Composites are decomposed on the way through autograd, which inference mode skips."""
    x = rand(3)
    with Names() as below:
        torch.nn.functional.relu6(x)
    with torch.inference_mode(), Names() as inference:
        torch.nn.functional.relu6(x)

    assert (["aten::hardtanh"], ["aten::relu6"]) == (below.names, inference.names)


def test_parts_without_a_gradient_are_parts() -> None:
    """A part that is not differentiable runs, but leaves no node."""
    x = rand(3)
    found = parts(overload("isclose"), x, x)

    assert torch.ops.aten.isclose(x.requires_grad_(), x).grad_fn is None, "a bool has no gradient"
    assert {"autograd"} == {chosen(part)["CPU"] for part in found}, (
        f"composites must be decomposed, yours {found}"
    )
    assert {"aten::eq.Tensor", "aten::le.Tensor"} <= set(found), (
        f"yours {found}: expected aten::eq.Tensor and aten::le.Tensor too, which ran"
    )


def test_no_list_is_asked() -> None:
    """Use neither derivatives.yaml nor the code generator: autograd knows."""
    with forbids(kata, "torchgen", "pathlib", "builtins.open") as fresh:
        yours = fresh.gradients(overload("igamma"), rand(3), rand(3))
        fresh.parts(overload("mul.Tensor"), rand(3), rand(3))

    assert {"self", "other"} == set(yours), f"yours has {yours}, expected self and other"
