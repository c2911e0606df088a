"""Tests of k13_contributor: torchgen, which generates PyTorch's code, is the oracle."""

from __future__ import annotations

import copy
import re
from functools import cache
from typing import Any

import pytest
from torchgen.model import Location
from torchgen.model import NativeFunction

from katas.lecture28 import k13_contributor as kata
from katas.lecture28.k13_contributor import entries
from plugins.kit import forbids


BOOLS = {"True": True, "true": True, "False": False, "false": False}


def torchgens(entry: dict[str, Any]) -> str:
    """Return the kind that torchgen finds."""
    fields = {
        key: BOOLS.get(value, value) if isinstance(value, str) else dict(value)
        for key, value in entry.items()
        if key not in ("tags", "cpp_no_default_args")
    }
    tags = re.findall(r"\w+", entry.get("tags", ""))
    place = Location("native_functions.yaml", 0)
    found, _ = NativeFunction.from_yaml({**fields, "tags": tags}, place, {*tags})
    if found.structured or found.structured_delegate is not None:
        return "structured"
    if found.has_composite_implicit_autograd_kernel:
        return "implicit"
    explicit = found.has_composite_explicit_autograd_kernel
    if explicit or found.has_composite_explicit_autograd_non_functional_kernel:
        return "explicit"
    return "backend"


def asked(entry: dict[str, Any]) -> str:
    """Return your kind for an entry; check that the entry does not change."""
    __tracebackhide__ = True
    before = copy.deepcopy(entry)
    yours = kata.kind(entry)
    assert entry == before, f"your code changes the entry: {entry}, expected {before}"
    return yours


@cache
def kinds() -> dict[str, str]:
    """Return torchgen's kind of each operator."""
    return {name: torchgens(entry) for name, entry in entries().items()}


def compare(kind: str, *fields: str, why: str) -> None:
    """Compare your kind for the first three operators of a kind with these fields or keys."""
    __tracebackhide__ = True
    there = [
        (name, entry)
        for name, entry in entries().items()
        if kinds()[name] == kind
        and all(each in {*entry, *entry.get("dispatch", {})} for each in fields)
    ]
    assert there, (
        f"no operator of this torch is {kind} and has {fields}: please report it to the course"
    )
    for name, entry in there[:3]:
        yours = asked(entry)
        lines = "\n".join(f"  {key}: {value}" for key, value in entry.items() if key != "tags")
        assert yours == kind, f"{name}\n{lines}\nyours {yours!r}, torchgen's {kind!r}\n{why}"


def test_a_structured_operator() -> None:
    """A structured operator has the field structured."""
    compare("structured", "structured", why="it has the field structured")


def test_an_operator_that_delegates() -> None:
    """A delegating operator uses the meta function and kernel of its out= variant."""
    compare(
        "structured", "structured_delegate", why="another entry has its meta function and kernel"
    )
    compare(
        "structured",
        "structured_delegate",
        "dispatch",
        why="the kernels of its dispatch are for a few backends, all others ask the delegate",
    )


def test_an_implicit_operator() -> None:
    """An operator is implicit by its dispatch, or because it has no dispatch."""
    compare("implicit", "CompositeImplicitAutograd", why="autograd sees what it is made of")
    plain = next(
        name
        for name, entry in entries().items()
        if not {"dispatch", "structured", "structured_delegate"} & {*entry}
    )
    yours = asked(entries()[plain])
    assert yours == "implicit", (
        f"{plain}: {entries()[plain]}\nyours {yours!r}, torchgen's 'implicit': without a"
        " dispatch, CompositeImplicitAutograd is implied"
    )


def test_an_explicit_operator() -> None:
    """An explicit operator has one kernel for all backends, and its own formula."""
    compare(
        "explicit", "CompositeExplicitAutograd", why="one kernel, and autograd does not see inside"
    )
    compare(
        "explicit",
        "CompositeExplicitAutogradNonFunctional",
        why="this key is CompositeExplicitAutograd for an operator that is made of views or writes",
    )


def test_an_operator_with_kernels_for_backends() -> None:
    """An operator may have a kernel for the CPU, and for each other backend that supports it."""
    compare("backend", "CPU", "CUDA", why="no key of its dispatch begins with Composite")
    yours = asked({"func": "f(Tensor self) -> Tensor", "dispatch": {"SparseCPU": "f_sparse"}})
    assert yours == "backend", f"only a sparse kernel: yours {yours!r}, torchgen's 'backend'"
    empty = {"func": "f(Tensor self) -> Tensor", "dispatch": {}}
    yours, expected = asked(empty), torchgens(empty)
    assert yours == expected, (
        f"{empty}: yours {yours!r}, torchgen's {expected!r}: an empty table is still a table, and"
        " has"
        " no composite kernel"
    )


def test_every_operator() -> None:
    """Thousands of entries get torchgen's kind, and the census counts them."""
    yours = {name: asked(entry) for name, entry in entries().items()}
    wrong = [name for name, kind in kinds().items() if yours[name] != kind]
    assert not wrong, (
        f"{len(wrong)} of {len(yours)} differ; the first is {wrong[0]} {entries()[wrong[0]]}\n"
        f"yours {yours[wrong[0]]!r}, torchgen's {kinds()[wrong[0]]!r}"
    )


@pytest.mark.given
def test_the_entries_are_those_of_torchgen() -> None:
    """The given `entries` reads the file as torchgen does: every schema can be parsed."""
    assert len(kinds()) > 2000, f"{len(kinds())} entries, expected thousands"


def test_without_torchgen() -> None:
    """Read the entry yourself, without torchgen."""
    with forbids(kata, "torchgen") as fresh:
        first = [fresh.kind(entry) for entry in entries().values()]
        again = [fresh.kind(entry) for entry in entries().values()]
    assert first == again, "your code returns different kinds when called again"
