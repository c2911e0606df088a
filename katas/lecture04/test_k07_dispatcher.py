"""Tests of k07_dispatcher: which kernels a call runs, compared with a real operator."""
# ruff: noqa: SLF001 - only torch._C knows the keys of a call

from __future__ import annotations

import threading
from itertools import count
from typing import Any

import pytest
import torch

from katas.lecture04 import k07_dispatcher as kata
from katas.lecture04.k07_dispatcher import Keys
from katas.lecture04.k07_dispatcher import Operator
from katas.lecture04.k07_dispatcher import Tensor
from katas.lecture04.k07_dispatcher import below
from katas.lecture04.k07_dispatcher import exclude
from katas.lecture04.k07_dispatcher import fallthrough
from katas.lecture04.k07_dispatcher import include
from katas.lecture04.k07_dispatcher import tls
from plugins.kit import forbids


numbers = count()


def kernel(name: str) -> Any:
    """Return a kernel that returns its name."""
    return lambda keys, *args: name


def on(*keys: str) -> Tensor:
    """Return a tensor with these keys."""
    return Tensor(frozenset(keys))


def expect(expected: object, yours: object, why: str) -> None:
    """Compare, and label both sides."""
    assert expected == yours, f"yours      {yours}\nexpected   {expected}\n{why}"


def test_the_highest_key_decides() -> None:
    """The highest key of a single tensor decides."""
    operator = Operator("f", {key: kernel(key) for key in ("CPU", "AutogradCPU")})

    expect("CPU", operator.call(on("CPU")), "a tensor with the key CPU alone")
    expect(
        "AutogradCPU", operator.call(on("CPU", "AutogradCPU")), "autograd stands higher than CPU"
    )


def test_all_tensors_are_asked() -> None:
    """Tensors in lists count too; numbers and the like have no keys."""
    kernels = {key: kernel(key) for key in ("CPU", "CUDA", "AutogradCPU", "Undefined")}
    operator = Operator("f", kernels)

    expect("CUDA", operator.call(on("CUDA"), on("CPU")), "the first tensor has CUDA")
    expect("CUDA", operator.call(on("CPU"), on("CUDA")), "the second tensor has CUDA")
    yours = operator.call(1, on("CPU"), [2, on("CPU", "AutogradCPU")])
    expect("AutogradCPU", yours, "a tensor in a list has AutogradCPU")
    expect("Undefined", operator.call(1, [], "CPU"), "no tensor at all, so no key: highest says so")


def test_a_kernel_gets_the_keys_and_the_arguments() -> None:
    """The kernel's result is the result of the call."""
    operator = Operator("f", {"CUDA": lambda *args: args})
    one, other = on("CPU"), on("CUDA")
    yours = operator.call(one, [other], 5)

    expect((frozenset({"CPU", "CUDA"}), one, [other], 5), yours, "the keys of both, the arguments")


def test_a_missing_kernel_is_named() -> None:
    """The error names the operator and the key that the call reached."""
    operator = Operator("mine::f", {"CPU": kernel("cpu")})

    with pytest.raises(NotImplementedError, match=r"mine::f(.|\n)*CUDA"):
        operator.call(on("CPU", "CUDA"))

    def fails(keys: Keys, *_: Any) -> Any:
        raise KeyError(keys)

    operator.kernels["CUDA"] = fails
    with pytest.raises(KeyError):  # the kernel exists, so its error must reach the caller
        operator.call(on("CPU", "CUDA"))


def test_a_kernel_redispatches_below_itself() -> None:
    """Autograd records, then the backend computes; tensors and thread are not consulted again."""
    seen: list[Keys] = []

    def autograd(keys: Keys, x: Tensor) -> str:
        seen.append(keys)
        expect(frozenset(), tls.excluded, "a kernel may call others: nothing is excluded for them")
        return "recorded " + operator.redispatch(below(keys, "AutogradCPU"), x)

    operator = Operator("f", {"CPU": kernel("cpu"), "AutogradCPU": autograd})

    yours = operator.call(on("CPU", "AutogradCPU"))
    expect("recorded cpu", yours, "AutogradCPU, then CPU")
    expect([frozenset({"CPU", "AutogradCPU"})], seen, "the keys that the autograd kernel gets")
    with exclude("CPU"):
        yours = operator.redispatch(frozenset({"CPU"}))
    expect("cpu", yours, "redispatch takes the keys that it is given, whatever the thread excludes")


def test_keys_that_fall_through_are_passed_over() -> None:
    """The kernel that runs does not see these keys either."""
    kernels = {"CPU": lambda keys, *_: keys, "Python": fallthrough, "ADInplaceOrView": fallthrough}
    operator = Operator("f", kernels)
    tensor = on("CPU", "ADInplaceOrView", "Python")

    expect(frozenset({"CPU"}), operator.call(tensor), "Python and ADInplaceOrView fall through")
    operator.kernels["AutogradCPU"] = lambda keys, *_: keys
    yours = operator.call(on("CPU", "ADInplaceOrView", "AutogradCPU"))
    why = "ADInplaceOrView stands below AutogradCPU, and falls through all the same"
    expect(frozenset({"CPU", "AutogradCPU"}), yours, why)
    yours = operator.redispatch(tensor.keys, tensor)
    expect(frozenset({"CPU"}), yours, "redispatch, with keys that fall through")
    operator.kernels["ADInplaceOrView"] = kernel("views")
    expect("views", operator.call(tensor), "now ADInplaceOrView has a kernel")


def test_what_falls_through_may_leave_nothing() -> None:
    """If no key is left, the key is Undefined."""
    operator = Operator("f", {"Python": fallthrough})
    with pytest.raises(NotImplementedError, match=r"f(.|\n)*Undefined"):
        operator.call(on("Python"))
    operator.kernels["Undefined"] = kernel("none")

    expect("none", operator.call(on("Python")), "a kernel for Undefined serves a call without keys")


def test_a_thread_takes_keys_away() -> None:
    """A block can exclude keys, as inference_mode does, and restores them."""
    operator = Operator("f", {key: kernel(key) for key in ("CPU", "AutogradCPU")})
    tensor = on("CPU", "AutogradCPU")

    with exclude("AutogradCPU", "Python"):
        expect("CPU", operator.call(tensor), "AutogradCPU is excluded")
    expect("AutogradCPU", operator.call(tensor), "the block is over")


def test_a_thread_adds_keys() -> None:
    """A mode is a key that no tensor has."""
    operator = Operator("f", {key: kernel(key) for key in ("CPU", "Python")})

    with include("Python"):
        expect("Python", operator.call(on("CPU")), "Python is included")
        expect("Python", operator.call(), "Python is included, and no tensor is needed")
        with exclude("Python"):
            expect("CPU", operator.call(on("CPU")), "exclusion wins over inclusion")
    with exclude("Python"), include("Python"):
        expect("CPU", operator.call(on("CPU")), "exclusion wins, whichever block came first")
    expect("CPU", operator.call(on("CPU")), "the block is over")


@pytest.mark.parametrize(("change", "name"), [(include, "included"), (exclude, "excluded")])
def test_blocks_nest(change: Any, name: str) -> None:
    """A block restores what was there before, even if that was the same key."""
    other = "excluded" if name == "included" else "included"
    with (exclude if change is include else include)("Python"), change("Python"):
        yours = getattr(tls, other)
        expect(frozenset({"Python"}), yours, f"this is {other}, which the inner block leaves alone")
    with change("Python", "CPU"):
        with change("Python", "Negative"):
            yours = getattr(tls, name)
            expect(frozenset({"Python", "CPU", "Negative"}), yours, "within both blocks")
        yours = getattr(tls, name)
        expect(frozenset({"Python", "CPU"}), yours, "Python was there before the inner block")
        expect(frozenset(), getattr(tls, other), f"this is {other}, which the block leaves alone")
    expect(frozenset(), getattr(tls, name), "both blocks are over")


@pytest.mark.parametrize(("change", "name"), [(include, "included"), (exclude, "excluded")])
def test_an_exception_restores_the_thread(change: Any, name: str) -> None:
    """Otherwise one failed call would change all later ones."""
    with change("Python"):
        with pytest.raises(KeyError), change("CPU"):
            raise KeyError
        expect(frozenset({"Python"}), getattr(tls, name), "the inner block has raised")
    expect(frozenset(), getattr(tls, name), "both blocks are over")


def test_other_threads_are_left_alone() -> None:
    """A block's keys apply only to its own thread."""
    seen = []
    operator = Operator("f", {key: kernel(key) for key in ("CPU", "Python")})
    with include("Python"), exclude("CPU"):
        expect("Python", operator.call(on("CPU")), "this thread includes Python")
        thread = threading.Thread(target=lambda: seen.append(operator.call(on("CPU"))))
        thread.start()
        thread.join()

    expect(["CPU"], seen, "what a thread sees that another thread's block has nothing to do with")


def test_a_call_remembers_nothing() -> None:
    """A second call, with other kernels in between, does not depend on the first."""
    operator = Operator("f", {"CPU": kernel("first")})
    arguments = [on("CPU"), 3]

    expect(("first", "first"), (operator.call(arguments), operator.call(arguments)), "two calls")
    operator.kernels["CPU"] = kernel("second")
    expect("second", operator.call(arguments), "the kernels of this moment count")
    expect(2, len(arguments), "the arguments are the caller's: so many are left in the list")
    assert tls.included == tls.excluded == frozenset(), "a call has changed its thread's keys"


def test_the_dispatcher_is_your_own() -> None:
    """The dispatcher is built from sets and dicts, without torch."""
    with forbids(kata) as fresh:
        operator = fresh.Operator("f", {"CPU": kernel("cpu")})
        tensor = fresh.Tensor(frozenset({"CPU", "Python"}))
        with fresh.exclude("Python"):
            yours = operator.call(tensor)

    expect("cpu", yours, "without torch")


def real(*keys: str) -> torch._C.DispatchKeySet:
    """Return PyTorch's own set of these keys."""
    found = torch._C.DispatchKeySet(torch._C.DispatchKey.Undefined)
    for key in keys:
        found |= torch._C.DispatchKeySet(torch._C._parse_dispatch_key(key))
    return found


def test_a_call_takes_the_way_it_takes_in_pytorch() -> None:
    """The same kernels on a PyTorch operator run in the same order."""
    ways: dict[str, list[list[str]]] = {"ours": [], "theirs": []}
    keys = ("Python", "AutogradCPU", "Negative", "CPU")
    library = torch.library.Library("lecture04_k07_dispatcher", "FRAGMENT")
    name = f"f{next(numbers)}"
    library.define(f"{name}(Tensor x) -> Tensor")
    operator = Operator("f", {"ADInplaceOrView": fallthrough, "BackendSelect": fallthrough})

    def ours(key: str) -> Any:
        def run(left: Keys, x: Tensor) -> Tensor:
            ways["ours"][-1].append(key)
            return x if key == "CPU" else operator.redispatch(below(left, key), x)

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
    overload = getattr(torch.ops.lecture04_k07_dispatcher, name).default
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

    assert ways["theirs"] == ways["ours"], (
        f"the keys whose kernels ran\nyours      {ways['ours']}\nPyTorch's  {ways['theirs']}"
    )
    assert ["AutogradCPU", "Negative", "CPU"] in ways["ours"], (
        "no call ran the kernels of a lazily negated tensor: AutogradCPU, Negative, CPU"
    )
