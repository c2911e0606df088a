"""Tests of k06_table: the table of a real operator is the oracle."""
# ruff: noqa: SLF001 - only torch._C has the tables

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture04 import k06_table as kata
from katas.lecture04.k06_table import ALIASES
from katas.lecture04.k06_table import AUTOGRAD
from katas.lecture04.k06_table import BACKENDS
from plugins.kit import forbids


KEYS = (*BACKENDS, *AUTOGRAD, "Undefined", "Negative", "ADInplaceOrView", "Python", "AutocastCPU")
EXPLICIT, IMPLICIT = "CompositeExplicitAutograd", "CompositeImplicitAutograd"
numbers = count()


def real_table(registered: set[str]) -> dict[str, str]:
    """Return the table of a new PyTorch operator with kernels for these keys."""
    name = f"f{next(numbers)}"
    library = torch.library.Library("lecture04_k06_table", "FRAGMENT")
    try:
        library.define(f"{name}(Tensor x) -> Tensor")
        # Meta before the alias keys: torch.library refuses it after CompositeImplicitAutograd.
        for key in sorted(registered, key=lambda key: (key in ALIASES, key)):
            library.impl(name, lambda x: x, key)
        dump = torch._C._dispatch_dump_table(f"lecture04_k06_table::{name}")
    finally:
        library._destroy()
    # A line reads `CPU: registered at somewhere [kernel]`.
    lines = [line.partition(": ") for line in dump.splitlines()]
    return {key: rest.rpartition("[")[2].rstrip("]") for key, _, rest in lines}


FALLBACKS = {
    key: f"the fallback for {key}"
    for key, rule in real_table(set()).items()
    if rule == "backend fallback" and key in KEYS
}


def kernels(registered: set[str]) -> dict[str, Any]:
    """Return a stand-in for a kernel for each of these keys."""
    return {key: f"the kernel for {key}" for key in sorted(registered)}


def compare(registered: set[str], *keys: str, why: str = "") -> None:
    """Compare your rows for these keys with those of a PyTorch operator."""
    table = real_table(registered)
    for key in keys:
        mine, theirs = kernels(registered), table.get(key, "missing")
        kernel, rule = kata.lookup(mine, dict(FALLBACKS), key)
        assert mine == kernels(registered), f"{key}: your lookup changed the kernels to {mine}"
        expected = {
            "kernel": mine.get(key),
            "default backend kernel": mine.get(EXPLICIT),
            "math kernel": mine.get(IMPLICIT),
            "autograd kernel": mine.get("Autograd"),
            "ambiguous autogradother": kata.ambiguous,
            "backend fallback": FALLBACKS.get(key),
            "missing": None,
        }
        case = f"{key}, with kernels for {sorted(registered) or 'nothing'}"
        assert rule == theirs, f"{case}\nyours      {rule}\nPyTorch's  {theirs}\n{why}"
        assert kernel == expected[theirs], (
            f"{case}: {rule}\nyours      {kernel}\nexpected   {expected[theirs]}"
        )


def test_a_kernel_serves_its_own_key() -> None:
    """A kernel serves no other key: without a kernel, a key has a fallback or nothing."""
    compare({"CPU"}, "CPU", "CUDA", why="CUDA has neither a kernel nor a fallback")
    compare({"AutogradCPU"}, "AutogradCPU", "Undefined")


def test_a_fallback_serves_every_operator() -> None:
    """A fallback runs if the operator has no kernel of its own."""
    why = "PyTorch has registered a fallback for Negative"
    compare({"CPU"}, "Negative", "ADInplaceOrView", "AutocastCPU", why=why)
    compare({"Negative"}, "Negative", why="a kernel of its own goes first")
    # PyTorch has none for a backend, but a custom backend may have one.
    yours = kata.lookup({"CPU": "a kernel"}, {"CUDA": "a fallback"}, "CUDA")
    expected = "a fallback", "backend fallback"
    assert yours == expected, f"CUDA, with a fallback: yours {yours}, expected {expected}"


def test_a_composite_explicit_kernel_serves_backends() -> None:
    """Such a kernel serves no autograd key, and a backend's own kernel goes first."""
    compare({EXPLICIT}, *BACKENDS, "Undefined", *AUTOGRAD)
    compare({EXPLICIT, "CUDA"}, "CPU", "CUDA", why="CUDA has a kernel of its own")


def test_a_composite_implicit_kernel_serves_autograd_too() -> None:
    """Such a kernel calls operators that have derivatives, so it has a derivative too."""
    compare({IMPLICIT}, *BACKENDS, "Undefined", *AUTOGRAD, "AutocastCPU")


def test_an_autograd_kernel_serves_autograd_keys() -> None:
    """A kernel for Autograd serves all autograd keys, and no backend."""
    compare({"Autograd", "CPU"}, *AUTOGRAD, "CPU", "CUDA")
    compare({"Autograd", "AutogradCPU"}, "AutogradCPU", "AutogradCUDA")


def test_a_backend_kernel_turns_the_implicit_one_off() -> None:
    """Under the autograd key the implicit kernel would differentiate code that does not run."""
    why = "CPU has a kernel, so AutogradCPU must not have the decomposition; CUDA has none"
    compare({IMPLICIT, "CPU"}, "CPU", "AutogradCPU", "CUDA", "AutogradCUDA", why=why)
    compare({IMPLICIT, "CPU", "Autograd"}, "AutogradCPU", "AutogradCUDA", why=why)


def test_an_explicit_kernel_turns_the_implicit_one_off() -> None:
    """No autograd key gets the implicit kernel: each backend runs the explicit one."""
    compare({IMPLICIT, EXPLICIT}, "CPU", "Undefined", *AUTOGRAD)
    compare({IMPLICIT, EXPLICIT, "Autograd"}, "CPU", *AUTOGRAD)


def test_autograd_other_is_ambiguous() -> None:
    """Several backends share AutogradOther, and the kernel of one says nothing about the others."""
    compare({IMPLICIT, "SparseCPU"}, "AutogradOther", "AutogradCPU", "SparseCPU")
    compare({IMPLICIT, "SparseCPU", "AutogradOther"}, "AutogradOther")


REGISTRATIONS = st.sets(st.sampled_from([*BACKENDS, *AUTOGRAD, *ALIASES, "Negative", "Python"]))


@given(registered=REGISTRATIONS)
@example(registered=set())
@example(registered={IMPLICIT, EXPLICIT, "SparseCPU"})
@example(registered={IMPLICIT, "SparseCPU", "Autograd"})
def test_the_table_is_that_of_pytorch(registered: set[str]) -> None:
    """Whatever is registered, each key gets the kernel that PyTorch computes for it."""
    compare(registered, *KEYS)


def test_a_lookup_remembers_nothing() -> None:
    """A second lookup, with other kernels, does not depend on the first and changes nothing."""
    mine, fallbacks = {"CPU": "first"}, {"Negative": "fallback"}
    first = kata.lookup(mine, fallbacks, "CPU"), kata.lookup(mine, fallbacks, "Negative")
    fallbacks["Negative"] = "other"
    other = kata.lookup(mine, fallbacks, "Negative")
    mine["CPU"] = "second"
    then = kata.lookup(mine, fallbacks, "CPU"), kata.lookup(mine, fallbacks, "Negative")

    expected = (("first", "kernel"), ("fallback", "backend fallback"))
    assert first == expected, f"yours {first}, expected {expected}"
    expected = ("other", "backend fallback")
    assert other == expected, f"with another fallback: yours {other}, expected {expected}"
    expected = (("second", "kernel"), ("other", "backend fallback"))
    assert then == expected, f"with other kernels: yours {then}, expected {expected}"
    found = mine, fallbacks
    assert found == ({"CPU": "second"}, {"Negative": "other"}), (
        f"your lookup changed its arguments to {found}"
    )


def test_the_rules_are_your_own() -> None:
    """The results are computed from the dicts, without torch."""
    with forbids(kata) as fresh:
        found = fresh.lookup({IMPLICIT: 1, "CPU": 2, "Autograd": 3}, {}, "AutogradCPU")

    assert found == (3, "autograd kernel"), f"without torch the result is {found}"


@pytest.mark.given
def test_the_ambiguous_kernel_refuses() -> None:
    """The ambiguous kernel is in the table, and its message says what to do."""
    with pytest.raises(RuntimeError, match="register a kernel for AutogradOther"):
        kata.ambiguous()
