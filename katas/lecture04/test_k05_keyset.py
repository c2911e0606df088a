"""Tests of k05_keyset: PyTorch's own set of dispatch keys is the oracle."""
# ruff: noqa: SLF001 - only torch._C has the sets

from __future__ import annotations

import torch
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture04 import k05_keyset as kata
from katas.lecture04.k05_keyset import BITS
from katas.lecture04.k05_keyset import PARTS
from katas.lecture04.k05_keyset import KeySet
from plugins.kit import forbids


SETS = st.sets(st.sampled_from(sorted(PARTS)))


def real(*keys: str) -> torch._C.DispatchKeySet:
    """Return PyTorch's own set of these keys."""
    found = torch._C.DispatchKeySet(torch._C.DispatchKey.Undefined)
    for key in keys:
        found |= torch._C.DispatchKeySet(torch._C._parse_dispatch_key(key))
    return found


def in_real(keys: torch._C.DispatchKeySet) -> set[str]:
    """Return the keys that PyTorch finds in a set."""
    return {key for key in PARTS if keys.has(torch._C._parse_dispatch_key(key))}


def compare(yours: KeySet, theirs: torch._C.DispatchKeySet, what: str) -> None:
    """Compare the keys in two sets."""
    assert isinstance(yours, KeySet), f"{what}: yours is a {type(yours).__name__}"
    # A backend without a functionality is not a key until a functionality is added.
    for more in ((), ("CPU",), ("Meta",)):
        united, expected = yours | KeySet.of(*more), in_real(theirs | real(*more))
        found = {key for key in PARTS if key in united}
        assert found == expected, (
            f"{what}{''.join(f', with {key} added' for key in more)}\nyours      {sorted(found)},"
            f" bits {united.bits:016b}\nPyTorch's  {sorted(expected)}"
        )


def test_a_key_is_a_bit_or_two() -> None:
    """A key has one bit for its functionality, and one for its backend if it has one."""
    for keys in (("CPU",), ("AutogradCUDA",), ("Python",), ("CPU", "Python"), ("CPU", "CPU"), ()):
        yours = KeySet.of(*keys).bits
        expected = 0
        for part in {part for key in keys for part in PARTS[key]}:
            expected += BITS[part]
        assert yours == expected, (
            f"KeySet.of{keys}: yours {yours:016b}, expected {expected:016b}: PARTS has the parts"
            " of a key, BITS the bit of a part"
        )


def test_two_keys_make_four() -> None:
    """The set does not remember which functionality came with which backend."""
    yours = KeySet.of("CPU", "AutogradCUDA")

    for key in ("CPU", "CUDA", "AutogradCPU", "AutogradCUDA"):
        assert key in yours, f"{key} is not in yours, but its bits are: {yours.bits:016b}"
    for key in ("Meta", "SparseCPU", "Python"):
        assert key not in yours, f"{key} is in yours, without all its bits: {yours.bits:016b}"


@given(keys=SETS)
@example(keys={"SparseMeta", "CPU", "AutocastCPU"})
def test_a_set_has_the_keys_that_pytorch_finds(keys: set[str]) -> None:
    """A set contains the keys that were put in, and their combinations."""
    compare(KeySet.of(*keys), real(*keys), f"KeySet.of of {sorted(keys)}")


def test_a_tensor_has_the_keys_that_pytorch_finds() -> None:
    """The key sets of real tensors are the oracle."""
    x = torch.ones(2)
    tensors = {
        "torch.ones(2)": x,
        "torch.ones(2, device='meta')": x.to("meta"),
        "a lazily negated one": torch._neg_view(x),
        "a sparse one": x.to_sparse(),
    }
    for name, tensor in tensors.items():
        theirs = torch._C._dispatch_keys(tensor)
        compare(KeySet.of(*in_real(theirs)), theirs, name)


def test_minus_takes_no_backend_away() -> None:
    """The keys that autograd passes on must still find the CUDA kernel."""
    one, other = ("CPU", "CUDA", "AutogradCPU"), ("AutogradCPU",)
    left = KeySet.of(*one) - KeySet.of(*other)

    compare(left, real(*one) - real(*other), f"{one} minus {other}")
    assert "CUDA" in left, "your code removed CUDA, but all functionalities share its bit"


@given(left=SETS, right=SETS)
@example(left={"Python", "CUDA"}, right={"CUDA"})
def test_minus_is_that_of_pytorch(left: set[str], right: set[str]) -> None:
    """Minus gives PyTorch's result for any two sets."""
    yours = KeySet.of(*left) - KeySet.of(*right)

    compare(yours, real(*left) - real(*right), f"{sorted(left)} minus {sorted(right)}")


def highest(keys: torch._C.DispatchKeySet) -> str:
    """Return the name of PyTorch's highest key."""
    return str(torch._C._dispatch_key_name(keys.highestPriorityTypeId()))


@given(keys=SETS)
@example(keys=set())
@example(keys={"CUDA", "AutogradCPU"})
@example(keys={"Meta", "AutocastCPU"})
def test_the_highest_key_is_that_of_pytorch(keys: set[str]) -> None:
    """A call runs the kernel of the highest key."""
    yours, theirs = KeySet.of(*keys).highest, highest(real(*keys))

    assert yours == theirs, f"the highest of {sorted(keys)}: yours {yours}, PyTorch's {theirs}"


@given(left=SETS, right=SETS)
@example(left={"CPU", "CUDA"}, right={"CPU"})
def test_backends_alone_are_undefined(left: set[str], right: set[str]) -> None:
    """Without a functionality there is no kernel to call."""
    yours = (KeySet.of(*left) - KeySet.of(*right)).highest
    theirs = highest(real(*left) - real(*right))

    assert yours == theirs, (
        f"the highest of {sorted(left)} minus {sorted(right)}: yours {yours}, PyTorch's {theirs}"
    )


@given(keys=SETS, key=st.sampled_from(sorted(PARTS)))
@example(keys={"CPU", "AutogradCUDA", "AutocastCPU"}, key="AutogradCPU")
@example(keys={"Python", "AutogradCUDA"}, key="AutogradCPU")
def test_below_a_key_is_what_its_kernel_passes_on(keys: set[str], key: str) -> None:
    """The functionalities below that of the key stay, and so do all backends."""
    after = torch._C._dispatch_keyset_full_after(torch._C._parse_dispatch_key(key))

    compare(KeySet.of(*keys).below(key), real(*keys) & after, f"{sorted(keys)} below {key}")


@given(keys=SETS, away=SETS, key=st.sampled_from(sorted(PARTS)))
def test_a_set_does_not_change(keys: set[str], away: set[str], key: str) -> None:
    """A call passes its set on to several kernels, so each operation returns a new set."""
    one, other = KeySet.of(*keys), KeySet.of(*away)
    before = one.bits, other.bits
    _ = one | other, one - other, one.below(key), one.highest, key in one

    assert (one.bits, other.bits) == before, f"{sorted(keys)} or {sorted(away)} was changed"
    assert one == KeySet.of(*keys), f"two sets of {sorted(keys)} are not equal"


def test_the_bits_are_your_own() -> None:
    """The bits are computed with integers, without torch."""
    with forbids(kata) as fresh:
        keys = fresh.KeySet.of("CPU", "AutogradCUDA", "Python")
        left = keys - fresh.KeySet.of("Python")
        found = keys.highest, left.below("AutogradMeta").highest, "AutogradCPU" in keys

    assert found == ("AutogradCUDA", "CUDA", True), f"without torch the result is {found}"
