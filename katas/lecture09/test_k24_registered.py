"""Tests of k24_registered: your keys are compared with the dispatcher's answers, key by key."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
import torch

from katas.lecture09.k24_registered import kernels


has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001 - asks the dispatcher
KEYS = [
    *("CPU", "CUDA", "Meta", "Autograd", "ADInplaceOrView", "BackendSelect", "Functionalize"),
    *("CompositeExplicitAutograd", "CompositeImplicitAutograd", "FuncTorchBatched"),
]
NUMBERS = count()


def custom(**options: Any) -> tuple[str, Any]:
    """Return a new operator of custom_op, and its name."""
    name = f"lecture09_k24::op{next(NUMBERS)}"

    def scale(x: torch.Tensor) -> None:
        x.mul_(2)

    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    function = scale if options["mutates_args"] else double
    function.__annotations__ = {
        "x": torch.Tensor,
        "return": None if function is scale else torch.Tensor,
    }
    return name, torch.library.custom_op(name, function, **options)


def check(name: str, why: str) -> None:
    """Compare the keys that you find with what the dispatcher says about each."""
    expected = {key for key in KEYS if has_kernel(name, key)}
    yours = kernels(name)
    assert expected == yours & {*KEYS}, (
        f"{name}: yours is {sorted(yours)}, the dispatcher has kernels for {sorted(expected)}."
        f" {why}\n{torch._C._dispatch_dump(name)}"  # noqa: SLF001
    )
    others = {key for key in yours if key == "debug" or not key.isidentifier()}
    assert not others, (
        f"{sorted(others)} are not keys: [alias] and (inactive) are remarks, and a line above the"
        " first key says where the operator itself was defined"
    )


def test_an_operator_for_the_cpu() -> None:
    """custom_op registers the kernel, a fake kernel for Meta, and one for autograd."""
    name, _ = custom(mutates_args=(), device_types="cpu")
    check(name, "One decorator registers three kernels.")


def test_an_operator_for_every_device() -> None:
    """Without device_types the kernel is for all backends, registered under one alias key."""
    name, _ = custom(mutates_args=())
    check(name, "The kernel is registered for all backends at once.")


def test_an_operator_that_writes() -> None:
    """If the schema marks an argument as written, one more kernel bumps its version."""
    name, _ = custom(mutates_args={"x"}, device_types="cpu")
    check(name, "A write is noticed below autograd: who does that?")


def test_a_batching_rule_comes_later() -> None:
    """Each register_... method adds an entry."""
    name, operator = custom(mutates_args=(), device_types="cpu")
    before = kernels(name)
    operator.register_vmap(lambda info, in_dims, x: (operator(x), in_dims[0]))
    check(name, "register_vmap came after the decorator.")
    assert before != kernels(name), "your answer has not changed: read the dump anew on every call"


def test_an_operator_by_hand() -> None:
    """Library.define and Library.impl register what you ask for, and nothing else."""
    library = torch.library.Library("lecture09_k24", "FRAGMENT")
    name = f"by_hand{next(NUMBERS)}"
    library.define(f"{name}(Tensor x) -> Tensor")
    check(f"lecture09_k24::{name}", "It is defined, and has no kernel yet.")
    library.impl(name, torch.clone, "CPU")
    check(f"lecture09_k24::{name}", "One kernel was registered, by hand.")


@pytest.mark.parametrize("name", ["relu", "square", "zeros", "add_.Tensor"])
def test_operators_of_aten(name: str) -> None:
    """Operators in C++ have the same kind of registrations."""
    check(f"aten::{name}", "An alias stands for the keys that it covers.")
