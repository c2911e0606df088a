"""Tests of k13_registrations: our operators, ATen's and, if it is installed, torchvision's."""

from __future__ import annotations

import warnings
from itertools import count
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline

from katas.lecture20 import k13_registrations as kata
from katas.lecture20.k13_registrations import KEYS
from katas.lecture20.k13_registrations import row


has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001 - asks the dispatcher
NUMBERS = count()


def double(x: torch.Tensor) -> torch.Tensor:
    """Return twice x."""
    return x * 2


def custom() -> tuple[Any, str]:
    """Return a new operator for the CPU, in Python, and its name."""
    name = f"lecture20_k13::double{next(NUMBERS)}"
    operator = torch.library.custom_op(
        name, double, mutates_args=(), device_types="cpu", schema="(Tensor x) -> Tensor"
    )
    return operator, name


def text(found: dict[str, str]) -> str:
    """Return a line for each key."""
    return "".join(f"{key:<17}{who}\n" for key, who in found.items())


def test_an_operator_in_python() -> None:
    """One decorator fills three of six keys, all of them in Python."""
    _, name = custom()
    yours = row(name)
    assert [*yours] == [*KEYS], f"keys in the order of KEYS: yours {[*yours]}, expected {[*KEYS]}"
    # A line of the dump for Autograd[alias] is one for Autograd.
    assert_expected_inline(
        text(yours),
        """\
CPU              Python
CUDA             nobody
Meta             Python
Autograd         Python
AutocastCPU      nobody
FuncTorchBatched nobody
""",
    )


def test_what_is_registered_later() -> None:
    """Autocast and a batching rule are two more entries; the dump is read on every call."""
    operator, name = custom()
    before = row(name)
    operator.register_autocast("cpu", torch.float32)
    operator.register_vmap(lambda info, in_dims, x: (operator(x), in_dims[0]))
    after = row(name)
    changed = {key: (before[key], after[key]) for key in KEYS if before[key] != after[key]}
    expected = dict.fromkeys(("AutocastCPU", "FuncTorchBatched"), ("nobody", "Python"))
    assert changed == expected, f"what changed: yours {changed}, expected {expected}"


def test_a_key_is_a_whole_name() -> None:
    """AutogradCPU is a key of its own, and is not one of KEYS."""
    name = f"triple{next(NUMBERS)}"
    with torch.library._scoped_library("lecture20_k13", "FRAGMENT") as library:  # noqa: SLF001
        library.define(f"{name}(Tensor x) -> Tensor")
        library.impl(name, double, "AutogradCPU")
        yours = row(f"lecture20_k13::{name}")
    filled = {key: who for key, who in yours.items() if who != "nobody"}
    assert not filled, (
        f"only AutogradCPU is registered: yours {filled}, expected nobody under each of KEYS:"
        " AutogradCPU is not Autograd, and not CPU"
    )


def test_the_file_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """A C++ or CUDA file may be in any folder: the end of its name decides."""
    name, places = "aten::grid_sampler_2d", {}
    lines = torch._C._dispatch_dump(name).splitlines()  # noqa: SLF001
    for key, file in (
        ("CPU", "/home/my torch.py/a b/Register.cpp"),
        ("AutocastCPU", "/src/roi.cu"),
    ):
        (at,) = (i for i, line in enumerate(lines) if line.startswith(f"{key}: registered at "))
        lines[at] = f"{key}: registered at {file}:123 :: (Tensor x) -> Tensor [ boxed unboxed ]"
        places[key] = file
    dump = "\n".join(lines)
    monkeypatch.setattr(torch._C, "_dispatch_dump", lambda _name: dump)  # noqa: SLF001
    monkeypatch.setattr(kata, "_dispatch_dump", lambda _name: dump, raising=False)
    yours = row(name)
    for key, file in places.items():
        assert yours[key] == "C++", (
            f"{key}, registered at {file}:123: yours {yours[key]!r}, expected 'C++': only a file"
            " whose name ends in .py is Python, and a path may contain spaces"
        )


@pytest.mark.parametrize("name", ["grid_sampler_2d", "sort", "relu"])
def test_operators_of_aten(name: str) -> None:
    """The dispatcher is asked key by key; an alias of keys, such as Autograd, is one of them."""
    yours = row(f"aten::{name}")
    assert [*yours] == [*KEYS], f"yours has the keys {[*yours]}, expected {[*KEYS]}"
    filled = [key for key in KEYS if yours[key] != "nobody"]
    expected = [key for key in KEYS if has_kernel(f"aten::{name}", key)]
    assert filled == expected, f"{name}: yours has kernels under {filled}, expected {expected}"
    cpp = [yours[key] for key in ("CPU", "Autograd") if key in expected]
    assert {*cpp} == {"C++"}, f"{name}: yours {yours}, expected C++ for CPU and Autograd"


def test_a_kernel_of_aten_in_python() -> None:
    """The C++ operator grid_sampler_2d has its Meta kernel from torch/_meta_registrations.py."""
    yours = row("aten::grid_sampler_2d")
    assert yours["Meta"] == "Python", f"Meta: yours {yours['Meta']!r}, expected 'Python'"


def test_a_kernel_that_was_replaced() -> None:
    """While a Python kernel is in its place, the one in C++ is inactive; afterwards it is back."""
    with torch.library._scoped_library("aten", "IMPL") as library:  # noqa: SLF001
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel is replaced
            library.impl("grid_sampler_2d", torch.add, "AutocastCPU", allow_override=True)
        during = row("aten::grid_sampler_2d")["AutocastCPU"]
    after = row("aten::grid_sampler_2d")["AutocastCPU"]
    assert (during, after) == ("Python", "C++"), (
        f"AutocastCPU while it is replaced, and afterwards: yours {(during, after)}, expected"
        " ('Python', 'C++'): lines marked (inactive) do not count"
    )


@pytest.mark.backend("torchvision")
def test_torchvision_is_asked() -> None:
    """C++ for the CPU, Python for the gradient and autocast, and nobody for vmap."""
    import torchvision  # noqa: F401, PLC0415 - may be missing

    yours = {name: row(f"torchvision::{name}") for name in ("nms", "roi_align", "deform_conv2d")}
    for name, found in yours.items():
        filled = {key for key in KEYS if found[key] != "nobody"}
        expected = {key for key in KEYS if has_kernel(f"torchvision::{name}", key)}
        assert filled == expected, f"torchvision::{name}: yours {filled}, expected {expected}"
        assert found["CPU"] == "C++", f"torchvision::{name}: yours {found['CPU']}, expected C++"
        batched = found["FuncTorchBatched"]
        assert batched == "nobody", f"torchvision::{name}: yours {batched}, expected nobody"
