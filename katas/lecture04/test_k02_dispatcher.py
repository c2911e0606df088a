"""Tests of k02_dispatcher: torch._C's key sets and a real operator's table are the oracle."""
# ruff: noqa: SLF001 - only torch._C knows the keys and the tables

from __future__ import annotations

import threading
from itertools import combinations
from itertools import count
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture04 import k02_dispatcher as kata
from katas.lecture04.k02_dispatcher import ALIASES
from katas.lecture04.k02_dispatcher import AUTOGRAD
from katas.lecture04.k02_dispatcher import BACKENDS
from katas.lecture04.k02_dispatcher import OTHERS
from katas.lecture04.k02_dispatcher import PRIORITY
from katas.lecture04.k02_dispatcher import Dispatcher
from katas.lecture04.k02_dispatcher import KeySet
from katas.lecture04.k02_dispatcher import Operator
from katas.lecture04.k02_dispatcher import Tensor
from katas.lecture04.k02_dispatcher import ambiguous
from katas.lecture04.k02_dispatcher import exclude
from katas.lecture04.k02_dispatcher import fallthrough
from katas.lecture04.k02_dispatcher import include
from katas.lecture04.k02_dispatcher import tls
from plugins.kit import forbids


KEYS = (*BACKENDS, *AUTOGRAD, *OTHERS)
# Keys that one tensor may have together: PyTorch keeps functionality and backend in bits apart,
# so that CPU and AutogradCUDA in one set would mean AutogradCPU as well.
ON_CPU = sorted({*KEYS} - {"CUDA", "Meta", "SparseCPU", "AutogradCUDA", "AutogradMeta"})
SEEN: list[str] = []
numbers = count()


def real(*keys: str) -> torch._C.DispatchKeySet:
    """Return PyTorch's own set of these keys."""
    found = torch._C.DispatchKeySet(torch._C.DispatchKey.Undefined)
    for key in keys:
        found |= torch._C.DispatchKeySet(torch._C._parse_dispatch_key(key))
    return found


def real_table(kernels: list[str]) -> dict[str, str]:
    """Return the table of a new PyTorch operator with kernels for these keys."""
    name = f"f{next(numbers)}"
    library = torch.library.Library("lecture04_k02_dispatcher", "FRAGMENT")
    try:
        library.define(f"{name}(Tensor x) -> Tensor")
        # Meta before the alias keys: torch.library refuses it after CompositeImplicitAutograd.
        for key in sorted(kernels, key=lambda key: key in ALIASES):
            library.impl(name, lambda x: x, key)
        dump = torch._C._dispatch_dump_table(f"lecture04_k02_dispatcher::{name}")
    finally:
        library._destroy()
    # A line reads `CPU: registered at somewhere [kernel]`.
    lines = [line.partition(": ") for line in dump.splitlines()]
    return {key: rest for key, _, rest in lines}


def real_fallbacks() -> dict[str, Any]:
    """Return a fallback for each key for which PyTorch has one, of the same kind."""

    def fallback(*_: Any) -> None:
        """Stand for any fallback that does something."""

    table = real_table([])
    return {
        key: fallthrough if table[key].startswith("fallthrough") else fallback
        for key in KEYS
        if key in table
    }


def kernel(name: str) -> Any:
    """Return a kernel that answers with its name."""
    return lambda keys, *args: name


def on(*keys: str) -> Tensor:
    """Return a tensor with these keys."""
    return Tensor(KeySet.of(*keys))


def test_priorities_are_those_of_pytorch() -> None:
    """Of any two keys in one set, PyTorch takes the one that stands later."""
    assert sorted(KEYS) == sorted(PRIORITY), "PRIORITY holds each of the 20 keys once"
    for pair in combinations(KEYS, 2):
        winner = torch._C._dispatch_key_name(real(*pair).highestPriorityTypeId())
        # CUDA with AutogradCPU gives AutogradCUDA: bits of functionality and backend are apart.
        if winner in pair:
            ours = max(pair, key=PRIORITY.index)
            assert winner == ours, f"of {pair[0]} and {pair[1]}, {winner} goes first"


def test_a_key_set_is_one_integer() -> None:
    """One bit for a key, at its place in PRIORITY; yours, without anything of torch."""
    with forbids(kata) as fresh:
        assert fresh.KeySet.of(*PRIORITY).highest == PRIORITY[-1]
    assert 0 == KeySet.of().bits
    for place, key in enumerate(PRIORITY):
        assert 1 << place == KeySet.of(key).bits
    assert KeySet(1 << 19 | 1) == KeySet.of(PRIORITY[19], PRIORITY[0])
    assert KeySet.of("CPU") == KeySet.of("CPU", "CPU"), "a set has a key once or not at all"
    assert 1 == len({KeySet.of("CPU"), KeySet.of("CPU")}), "equal sets are one key of a dict"


SETS = st.sets(st.sampled_from(KEYS))


@given(left=SETS, right=SETS)
def test_key_sets_are_sets(left: set[str], right: set[str]) -> None:
    """Membership, union and difference are those of Python's sets."""
    one, other = KeySet.of(*left), KeySet.of(*right)

    assert left == {key for key in KEYS if key in one}
    assert KeySet.of(*left | right) == one | other
    assert KeySet.of(*left - right) == one - other


@given(keys=st.sets(st.sampled_from(ON_CPU)))
def test_the_highest_key_is_that_of_pytorch(keys: set[str]) -> None:
    """And no key at all is Undefined."""
    wanted = torch._C._dispatch_key_name(real(*keys).highestPriorityTypeId())

    assert wanted == KeySet.of(*keys).highest


@given(keys=SETS, key=st.sampled_from(KEYS))
def test_below_a_key_stand_the_lower_ones(keys: set[str], key: str) -> None:
    """Of this set, without the key itself."""
    below = KeySet.of(*keys).below(key)

    assert KeySet.of(*keys & {*PRIORITY[: PRIORITY.index(key)]}) == below


def test_a_registered_kernel_is_found() -> None:
    """By its own key; any other key has none."""
    mine = kernel("mine")
    operator = Operator("f", kernels={"CPU": mine})

    assert (mine, "kernel") == operator.lookup("CPU")
    assert (None, "missing") == operator.lookup("CUDA")


def test_a_composite_explicit_kernel_serves_every_backend() -> None:
    """But no autograd key: its derivative is written apart. A backend's own kernel goes first."""
    explicit, cuda = kernel("explicit"), kernel("cuda")
    operator = Operator("f", kernels={"CompositeExplicitAutograd": explicit, "CUDA": cuda})

    assert (explicit, "default backend kernel") == operator.lookup("CPU")
    assert (explicit, "default backend kernel") == operator.lookup("Undefined")
    assert (cuda, "kernel") == operator.lookup("CUDA")
    assert (None, "missing") == operator.lookup("AutogradCPU")


def test_a_composite_implicit_kernel_serves_autograd_too() -> None:
    """It calls operators that have derivatives: its own comes for free."""
    implicit = kernel("implicit")
    operator = Operator("f", kernels={"CompositeImplicitAutograd": implicit})

    for key in ("CPU", "Undefined", "AutogradCPU", "AutogradOther"):
        assert (implicit, "math kernel") == operator.lookup(key), key
    assert (None, "missing") == operator.lookup("AutocastCPU")


def test_a_backend_kernel_turns_the_implicit_one_off_for_its_autograd() -> None:
    """Otherwise autograd would differentiate a decomposition that does not run."""
    implicit, autograd = kernel("implicit"), kernel("autograd")
    kernels = {"CompositeImplicitAutograd": implicit, "CPU": kernel("cpu")}
    operator = Operator("f", kernels=kernels)

    assert (None, "missing") == operator.lookup("AutogradCPU")
    assert (implicit, "math kernel") == operator.lookup("AutogradCUDA")
    operator.kernels["Autograd"] = autograd
    assert (autograd, "autograd kernel") == operator.lookup("AutogradCPU")
    assert (implicit, "math kernel") == operator.lookup("AutogradCUDA")


def test_autograd_other_is_ambiguous() -> None:
    """Its backends share it: the kernel of one does not speak for the rest."""
    kernels = {"CompositeImplicitAutograd": kernel("implicit"), "SparseCPU": kernel("sparse")}
    operator = Operator("f", kernels=kernels)

    assert (ambiguous, "ambiguous autogradother") == operator.lookup("AutogradOther")


def test_a_fallback_serves_what_no_kernel_does() -> None:
    """It gets the operator: one fallback serves all of them."""
    dispatcher = Dispatcher({"Negative": lambda *args: args, "CPU": fallthrough})
    operator = Operator("f", dispatcher)
    found, origin = operator.lookup("Negative")

    assert "backend fallback" == origin
    keys, tensor = KeySet.of("Negative"), on("Negative")
    assert (operator, keys, tensor, 3) == found(keys, tensor, 3)
    assert (fallthrough, "backend fallback") == operator.lookup("CPU")


REGISTRATIONS = st.sets(st.sampled_from([*BACKENDS, *AUTOGRAD, *ALIASES, "Negative", "Python"]))


@given(registered=REGISTRATIONS)
def test_the_table_is_that_of_pytorch(registered: set[str]) -> None:
    """Whatever is registered, each key gets the kernel that PyTorch computes for it."""
    operator = Operator("f", Dispatcher(real_fallbacks()))
    operator.kernels.update({key: kernel(key) for key in registered})
    table = real_table(sorted(registered))
    for key in (*KEYS, "Undefined"):
        found, origin = operator.lookup(key)
        where = table.get(key, "[missing]")
        assert where.endswith(f"[{origin}]"), f"{key}, with kernels for {sorted(registered)}"
        assert (found is fallthrough) == where.startswith("fallthrough"), key
        if origin == "kernel":
            assert found is operator.kernels[key]


def test_the_highest_key_of_all_tensors_decides() -> None:
    """Tensors in lists count; numbers and their kind have no keys."""
    kernels = {key: kernel(key) for key in ("CPU", "CUDA", "AutogradCPU", "Undefined")}
    operator = Operator("f", kernels=kernels)

    assert "CPU" == operator.call(on("CPU"), 1.5)
    assert "CUDA" == operator.call(on("CUDA"), on("CPU"))
    assert "AutogradCPU" == operator.call(1, on("CPU"), [2, on("CPU", "AutogradCPU")])
    assert "Undefined" == operator.call(1, [], "CPU")


def test_a_kernel_gets_the_keys_and_the_arguments() -> None:
    """And its result is that of the call."""
    operator = Operator("f", kernels={"CUDA": lambda *args: args})
    one, other = on("CPU"), on("CUDA")

    assert (KeySet.of("CPU", "CUDA"), one, [other], 5) == operator.call(one, [other], 5)


def test_a_missing_kernel_is_named() -> None:
    """With the operator and the key that the call came to."""
    operator = Operator("mine::f", kernels={"CPU": kernel("cpu")})

    with pytest.raises(NotImplementedError, match=r"mine::f(.|\n)*CUDA"):
        operator.call(on("CPU", "CUDA"))


def test_a_kernel_redispatches_below_itself() -> None:
    """Autograd records, then the backend computes; nothing is dispatched on the tensors again."""
    seen = []

    def autograd(keys: KeySet, x: Tensor) -> str:
        seen.append(keys)
        return "recorded " + operator.redispatch(keys.below("AutogradCPU"), x)

    operator = Operator("f", kernels={"CPU": kernel("cpu"), "AutogradCPU": autograd})

    with include("CPU"), exclude("Python"):
        assert "recorded cpu" == operator.call(on("CPU", "AutogradCPU", "Python"))
        assert [KeySet.of("CPU", "AutogradCPU")] == seen
    with exclude("CPU"):
        assert "cpu" == operator.redispatch(KeySet.of("CPU")), "redispatch asks no thread"


def test_keys_that_fall_through_are_passed_over() -> None:
    """The kernel that runs does not see them either."""
    dispatcher = Dispatcher({"ADInplaceOrView": fallthrough, "AutocastCPU": fallthrough})
    operator = Operator("f", dispatcher, {"CPU": lambda keys, *_: keys, "Python": fallthrough})
    keys = ("CPU", "ADInplaceOrView", "Python", "BackendSelect")
    operator.kernels["BackendSelect"] = fallthrough

    assert KeySet.of("CPU") == operator.call(on(*keys))
    operator.kernels["ADInplaceOrView"] = kernel("views")
    assert "views" == operator.call(on(*keys)), "a kernel of its own goes before the fallback"
    assert "views" == operator.call(on(*keys, "AutocastCPU"))


def test_a_thread_takes_keys_away() -> None:
    """As ``no_grad`` would, if it were built so; and gives them back."""
    operator = Operator("f", kernels={key: kernel(key) for key in ("CPU", "AutogradCPU")})
    tensor = on("CPU", "AutogradCPU")

    with exclude("AutogradCPU", "Python"):
        assert "CPU" == operator.call(tensor)
        with exclude("Negative"):
            assert KeySet.of("AutogradCPU", "Python", "Negative") == tls.excluded
    assert "AutogradCPU" == operator.call(tensor)
    assert KeySet() == tls.excluded


def test_a_thread_adds_keys() -> None:
    """A mode is a key that no tensor has."""
    operator = Operator("f", kernels={key: kernel(key) for key in ("CPU", "Python", "Negative")})

    with include("Python"):
        assert "Python" == operator.call(on("CPU"))
        assert "Python" == operator.call()
        with include("Negative"):
            assert KeySet.of("Python", "Negative") == tls.included
        with exclude("Python"):
            assert "CPU" == operator.call(on("CPU")), "exclusion wins over inclusion"
    assert "CPU" == operator.call(on("CPU"))
    assert KeySet() == tls.included


@pytest.mark.parametrize(("change", "name"), [(include, "included"), (exclude, "excluded")])
def test_blocks_nest(change: Any, name: str) -> None:
    """A block puts back what was there before, also if that was the same key."""
    other = "excluded" if name == "included" else "included"
    untouched = getattr(tls, other)
    with change("Python", "CPU"):
        outside = getattr(tls, name)
        with change("Python", "Negative"):
            assert getattr(tls, name) == KeySet.of("Python", "CPU", "Negative")
            with change():
                assert getattr(tls, name) == KeySet.of("Python", "CPU", "Negative")
        after = getattr(tls, name)
        assert after == outside, (
            f"Python was {name} before the inner block and must be after it: yours has "
            f"{[key for key in KEYS if key in after]}"
        )
    assert getattr(tls, name) == KeySet()
    assert getattr(tls, other) == untouched


@given(keys=SETS, away=SETS, key=st.sampled_from(KEYS))
def test_key_sets_do_not_change(keys: set[str], away: set[str], key: str) -> None:
    """Each operation returns another set: a call hands its set on to several kernels."""
    one, other = KeySet.of(*keys), KeySet.of(*away)
    before = one.bits, other.bits
    _ = one | other, one - other, one.below(key), one.highest, key in one

    assert (one.bits, other.bits) == before


def test_an_operator_remembers_nothing() -> None:
    """Asked twice, and with other kernels in between, it answers as if for the first time."""
    dispatcher = Dispatcher({"Negative": fallthrough})
    first, second = kernel("first"), kernel("second")
    operator = Operator("f", dispatcher, {"CPU": first})
    arguments = [on("CPU", "Negative"), 3]

    assert operator.call(arguments) == operator.call(arguments) == "first"
    assert operator.lookup("CUDA") == operator.lookup("CUDA") == (None, "missing")
    operator.kernels["CPU"] = second
    assert operator.call(arguments) == "second", "the kernels of this moment count"
    del operator.kernels["CPU"]
    with pytest.raises(NotImplementedError, match=r"f(.|\n)*CPU"):
        operator.call(arguments)
    assert len(arguments) == 2, "the arguments are the caller's"
    assert operator.kernels == {}
    assert dispatcher.fallbacks == {"Negative": fallthrough}


@pytest.mark.parametrize(("change", "name"), [(include, "included"), (exclude, "excluded")])
def test_an_exception_restores_the_thread(change: Any, name: str) -> None:
    """Otherwise one failed call would change all that come after."""
    with change("Python"), pytest.raises(KeyError), change("CPU"):
        raise KeyError
    with pytest.raises(KeyError), change("CPU"):
        raise KeyError
    assert KeySet() == getattr(tls, name)


def test_other_threads_are_left_alone() -> None:
    """What a block includes and excludes holds for its own thread."""
    seen = []
    operator = Operator("f", kernels={key: kernel(key) for key in ("CPU", "Python")})

    with include("Python"), exclude("CPU"):
        assert "Python" == operator.call(on("CPU"))
        thread = threading.Thread(target=lambda: seen.append(operator.call(on("CPU"))))
        thread.start()
        thread.join()

    assert ["CPU"] == seen


def test_a_call_takes_the_way_it_takes_in_pytorch() -> None:
    """The same kernels on a PyTorch operator are hit in the same order."""
    ways: dict[str, list[list[str]]] = {"ours": [], "theirs": []}
    keys = ("Python", "AutogradCPU", "Negative", "CPU")
    library = torch.library.Library("lecture04_k02_dispatcher", "FRAGMENT")
    name = f"f{next(numbers)}"
    library.define(f"{name}(Tensor x) -> Tensor")
    operator = Operator("f", Dispatcher(real_fallbacks()))

    def ours(key: str) -> Any:
        def run(left: KeySet, x: Tensor) -> Tensor:
            ways["ours"][-1].append(key)
            return x if key == "CPU" else operator.redispatch(left.below(key), x)

        return run

    def theirs(key: str) -> Any:
        after = torch._C._dispatch_keyset_full_after(torch._C._parse_dispatch_key(key))

        def run(left: Any, x: torch.Tensor) -> torch.Tensor:
            ways["theirs"][-1].append(key)
            return x.clone() if key == "CPU" else overload.redispatch(left & after, x)

        return run

    for key in keys:
        operator.kernels[key] = ours(key)
        library.impl(name, theirs(key), key, with_keyset=True)
    overload = getattr(torch.ops.lecture04_k02_dispatcher, name).default
    negative = torch._neg_view(torch.ones(2))
    tensors = [
        (torch.ones(2), ("CPU", "AutogradCPU", "ADInplaceOrView", "AutocastCPU")),
        (negative, ("CPU", "AutogradCPU", "ADInplaceOrView", "AutocastCPU", "Negative")),
    ]
    try:
        for tensor, its_keys in tensors:
            for away in ((), ("AutogradCPU",), ("Negative", "AutogradCPU")):
                for way in ways.values():
                    way.append([])
                with exclude("AutocastCPU", *away), include("ADInplaceOrView", "BackendSelect"):
                    operator.call(on(*its_keys))
                with torch._C._ExcludeDispatchKeyGuard(real(*away)):
                    overload(tensor)
    finally:
        library._destroy()

    assert ways["theirs"] == ways["ours"]
    assert ["AutogradCPU", "Negative", "CPU"] in ways["ours"]
