"""Tests of k08_operators: models run with your Recorder, and their lists are compared."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch import nn

from katas.lecture15.k08_operators import Recorder
from katas.lecture15.k08_operators import as_yaml
from katas.lecture15.k08_operators import merged
from katas.lecture15.k08_operators import missing
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from katas.lecture15.k08_operators import Needs


class Net(nn.Module):
    """Adds noise in training, and has a branch for long inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run the layer, and what depends on mode and size."""
        x = torch.relu(self.layer(x))
        if self.training:
            x = x + torch.rand_like(x)
        if x.shape[0] > 4:
            x = torch.cat([x, x[:4]])
        return x


def recorded(function: Callable[..., object], *inputs: object) -> dict[str, set[str]]:
    """Run a function with your Recorder."""
    with torch.no_grad(), Recorder() as recorder:
        function(*inputs)
    return dict(recorder.needs)


def told(needs: Needs) -> str:
    """Return needs as text, in order."""
    return "\n".join(f"{name} {sorted(needs[name])}" for name in sorted(needs))


def compare(yours: Needs, expected: Needs, why: str) -> None:
    """Compare two lists."""
    assert told(expected) == told(yours), (
        f"yours\n{told(yours)}\n\nexpected\n{told(expected)}\n\n{why}"
    )


def test_one_operator() -> None:
    """An operator is recorded by its name in the schema, with the dtype of what it reads."""
    x = torch.randn(3)
    yours = recorded(lambda: x + 1)

    compare(yours, {"aten::add.Tensor": {"float32"}}, "func.name() is the name in the schema")


def test_the_result_is_pytorchs() -> None:
    """Recording does not change the result."""
    x = torch.randn(3, dtype=torch.float64)
    with unchanged(x=x), Recorder():
        yours = torch.add(x, x, alpha=3)

    assert torch.equal(x * 4, yours), f"yours {yours}, expected x + 3 x, {x * 4}"


def test_each_dtype_that_occurs() -> None:
    """All calls and arguments add their dtypes; results do not."""
    x = torch.ones(3, dtype=torch.int64)
    half, double = x.half(), x.double()
    yours = recorded(lambda: (x + 0.5, half.neg(), double.neg()))

    expected = {"aten::add.Tensor": {"int64"}, "aten::neg": {"float16", "float64"}}
    compare(yours, expected, "x + 0.5 reads int64, and returns float32")


def test_tensors_in_lists_and_keywords() -> None:
    """Tensors in lists, conditions and out= are recorded as well."""
    x, where = torch.ones(2), torch.tensor([True, False])
    whole, out = x.int(), torch.empty(2, dtype=torch.float64)
    yours = recorded(lambda: (torch.cat([x, whole]), torch.where(where, x, x)))
    also = recorded(lambda: torch.add(x, x, out=out))

    expected = {
        "aten::cat": {"float32", "int32"},
        "aten::where.self": {"bool", "float32"},
    }
    compare(yours, expected, "tensors may be anywhere among the arguments")
    compare(also, {"aten::add.out": {"float32", "float64"}}, "out= is an argument, too")


def test_an_operator_that_reads_no_tensor() -> None:
    """An operator that reads no tensor is needed all the same."""
    yours = recorded(lambda: torch.zeros(2))

    compare(yours, {"aten::zeros": set()}, "zeros has numbers as its arguments, and no tensor")


def test_nothing_is_recorded_afterwards() -> None:
    """Nothing is recorded after the `with`, and two Recorders have separate needs."""
    x = torch.ones(2)
    with Recorder() as first:
        torch.neg(x)
    with Recorder() as second:
        torch.exp(x)
    torch.sin(x)

    compare(first.needs, {"aten::neg": {"float32"}}, "the first one")
    compare(second.needs, {"aten::exp": {"float32"}}, "the second one")


def test_a_model_as_a_file() -> None:
    """The operators of a linear layer and a ReLU are listed as text for the build."""
    needs = recorded(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), torch.ones(2, 3))
    assert_expected_inline(
        as_yaml(needs),
        """\
operators:
  aten::addmm:
    is_root_operator: Yes
    is_used_for_training: No
    include_all_overloads: No
  aten::relu:
    is_root_operator: Yes
    is_used_for_training: No
    include_all_overloads: No
  aten::t:
    is_root_operator: Yes
    is_used_for_training: No
    include_all_overloads: No
kernel_metadata:
  aten::addmm: [float32]
  aten::relu: [float32]
  aten::t: [float32]
""",
    )


def test_two_runs_are_merged() -> None:
    """The merged list has the operators of both runs, and all dtypes of a shared one."""
    one = {"aten::neg": {"float32"}, "aten::mm": {"float32"}}
    two = {"aten::neg": {"float16"}, "aten::rand": set[str]()}
    yours = merged(one, two)

    expected = {"aten::neg": {"float16", "float32"}, "aten::mm": {"float32"}, "aten::rand": set()}
    compare(yours, expected, "neg is needed for both dtypes")
    compare(merged(two, one), expected, "in the other order")


def test_merging_changes_no_list() -> None:
    """Merging changes no list, even if the result is changed later."""
    one, two = {"aten::neg": {"float32"}}, {"aten::neg": {"float16"}}
    yours = merged(one, two)
    alone = merged(one)
    yours["aten::neg"].add("int8")
    alone["aten::neg"].add("int8")

    compare(one, {"aten::neg": {"float32"}}, "the first list has changed")
    compare(two, {"aten::neg": {"float16"}}, "the second list has changed")
    assert {} == merged(), f"merged() of no lists: yours {merged()}, expected {{}}"


def check_missing(needs: Needs, listed: Needs, expected: list[str]) -> None:
    """Compare what is missing."""
    yours = missing(needs, listed)

    assert expected == yours, (
        f"needed\n{told(needs)}\n\nlisted\n{told(listed)}\n\nyours {yours}, expected {expected}"
    )


def test_what_is_missing() -> None:
    """An operator or one of its dtypes may be missing; extra entries do not matter."""
    listed = {"aten::neg": {"float32", "int8"}, "aten::exp": {"float32"}, "aten::rand": set[str]()}

    check_missing({"aten::neg": {"float32"}, "aten::rand": set()}, listed, [])
    check_missing(
        {"aten::neg": {"int64", "float16", "int8"}},
        listed,
        ["aten::neg float16", "aten::neg int64"],
    )
    check_missing({"aten::sin": {"float32", "int8"}}, listed, ["aten::sin"])
    check_missing({"aten::rand": {"float32"}}, listed, ["aten::rand float32"])
    check_missing(
        {"aten::zeros": set(), "aten::exp": {"int8"}}, listed, ["aten::exp int8", "aten::zeros"]
    )


def test_another_overload_is_missing() -> None:
    """A kernel for add.Tensor does not serve add.Scalar, nor add."""
    check_missing(
        {"aten::add.Scalar": {"float32"}, "aten::add": {"float32"}},
        {"aten::add.Tensor": {"float32"}},
        ["aten::add", "aten::add.Scalar"],
    )


def test_a_witness_saw_one_run() -> None:
    """One run misses training mode, longer inputs and other dtypes; merged runs do not."""
    net = Net().eval()
    seen = recorded(net, torch.ones(2, 3))
    longer = recorded(net, torch.ones(6, 3))
    training = recorded(Net(), torch.ones(2, 3))
    double = recorded(Net().double().eval(), torch.ones(2, 3).double())
    build = merged(seen, longer, training, double)

    for name, run, lacks in (
        ("a longer input", longer, "aten::cat"),
        ("training mode", training, "aten::rand_like"),
        ("float64", double, "aten::relu float64"),
    ):
        assert lacks in missing(run, seen), (
            f"{name}: `missing` returns {missing(run, seen)}, expected {lacks} among them"
        )
        assert not missing(run, build), f"{name}: the merged list lacks {missing(run, build)}"


@pytest.mark.backend("executorch")
def test_torchgen_reads_your_list() -> None:
    """PyTorch's own selection, which ExecuTorch's build uses, reads your file the same way."""
    selector: Any = importlib.import_module("torchgen.selective_build.selector")
    build = selector.SelectiveBuilder.from_yaml_str(
        as_yaml(recorded(Net().eval(), torch.ones(2, 3)))
    )

    assert build.is_operator_selected("aten::relu"), "torchgen does not select relu"
    assert not build.is_operator_selected("aten::rand_like"), "torchgen selects rand_like"
    assert build.is_kernel_dtype_selected("aten::relu", "float32"), (
        "torchgen does not select relu for float32"
    )
    assert not build.is_kernel_dtype_selected("aten::relu", "float64"), (
        "torchgen selects relu for float64"
    )
