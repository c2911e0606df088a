"""Tests of k04_modes: the installed PyTorch's sets inside a mode are the oracle."""
# ruff: noqa: SLF001 - only torch._C has these sets

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture04 import k04_modes as kata
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Iterator


def keys() -> dict[str, set[str]]:
    """Return the keys of this thread's two sets, by the name of the set."""
    sets = {
        "excluded": torch._C._dispatch_tls_local_exclude_set(),
        "included": torch._C._dispatch_tls_local_include_set(),
    }
    parse = torch._C._parse_dispatch_key
    return {
        what: {key for key in kata.KEYS if every.has(parse(key))} for what, every in sets.items()
    }


def compare(yours: Any, theirs: Any, why: str) -> set[str]:
    """Compare your effect of one mode with the sets inside another mode of its kind."""
    before = keys()
    with theirs:
        within = keys()
    expected = {
        f"{sign}{what} {key}"
        for what, key in ((what, key) for what in before for key in kata.KEYS)
        for sign, wins, loses in (("+", within, before), ("-", before, within))
        if key in wins[what] and key not in loses[what]
    }
    with unchanged():
        found = kata.effect(yours)
    assert keys() == before, f"the sets must be restored: now {keys()}, before {before}"
    assert found == expected, f"yours      {sorted(found)}\nPyTorch's  {sorted(expected)}\n{why}"
    return found


def test_no_grad() -> None:
    """The mode sets a flag that autograd's kernels read: they run, but record nothing."""
    why = "no_grad leaves the dispatcher alone: autograd's kernel runs, and asks is_grad_enabled()"
    compare(torch.no_grad(), torch.no_grad(), why)


def test_inference_mode() -> None:
    """In inference mode autograd's kernels do not run at all, and views are not tracked."""
    why = "a key may join the one set and leave the other"
    found = compare(torch.inference_mode(), torch.inference_mode(), why)

    assert "+excluded AutogradFunctionality" in found, (
        f"yours {sorted(found)}: +excluded AutogradFunctionality is missing"
    )


def test_autocast() -> None:
    """Every CPU tensor has AutocastCPU; a thread excludes it until autocast is on."""
    why = "look at the excluded set before: its autocast keys are there from the start"
    for dtype in (torch.bfloat16, torch.float16):
        compare(torch.autocast("cpu", dtype=dtype), torch.autocast("cpu", dtype=dtype), why)


def test_a_python_mode() -> None:
    """No tensor has the key Python for a mode: the thread adds the key to each call."""
    why = "a TorchDispatchMode is a key that the thread includes"
    compare(TorchDispatchMode(), TorchDispatchMode(), why)


def test_a_mode_within_a_mode() -> None:
    """Return only what the inner mode changes."""
    with torch.inference_mode(), torch.autocast("cpu"):
        why = "within inference_mode and autocast; compare with the sets at that moment"
        compare(torch.inference_mode(mode=False), torch.inference_mode(mode=False), why)
        compare(torch.autocast("cpu", enabled=False), torch.autocast("cpu", enabled=False), why)
        compare(torch.inference_mode(), torch.inference_mode(), why)
    away = torch._C.DispatchKeySet(torch._C._parse_dispatch_key("BackendSelect"))
    yours, theirs = (torch._C._ExcludeDispatchKeyGuard(away) for _ in range(2))
    compare(yours, theirs, "a key that is excluded may be included all the while: two sets")


def test_a_mode_is_left() -> None:
    """The mode is entered once and left again."""
    seen: list[str] = []

    @contextmanager
    def mode() -> Iterator[None]:
        seen.append("entered")
        with torch.inference_mode():
            yield
        seen.append("left")

    compare(mode(), torch.inference_mode(), "a mode made of another")

    assert seen == ["entered", "left"], f"the mode was {seen}, expected entered, then left"

    @contextmanager
    def another() -> Iterator[None]:
        with torch.autocast("cpu"):
            yield

    compare(another(), torch.autocast("cpu"), "a mode of the same class, made of another")
