"""Find out what ``no_grad``, ``inference_mode`` and ``autocast`` do to the dispatcher.

Each thread has two sets of dispatch keys. In a call, the included keys are added to those of the
tensors, and the excluded keys are removed. Look at one:

    print(torch._C._dispatch_tls_local_exclude_set())

So ``no_grad`` excludes autograd's keys, doesn't it? And does ``autocast`` add a key, or stop hiding
one? Write `effect`, about 7 lines, and print it for all three.

Begin with ``dir(torch._C)``: if there is an exclude set, there is an include set.
Afterwards open ``torch/include/c10/core/impl/LocalDispatchKeySet.h`` in site-packages.
"""
# ruff: noqa: SLF001 - only torch._C has these sets

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Final

import torch


if TYPE_CHECKING:
    from contextlib import AbstractContextManager


# The keys that this kata looks at. AutogradFunctionality means AutogradCPU and the like.
KEYS: Final = (
    *("BackendSelect", "Python", "ADInplaceOrView", "AutogradOther", "AutogradFunctionality"),
    *("AutocastCPU", "AutocastCUDA", "PythonTLSSnapshot"),
)


def texts(what: str, keys: torch._C.DispatchKeySet) -> set[str]:
    """Return a string such as "excluded Python" for each of KEYS that `keys` contains. Given."""
    return {f"{what} {key}" for key in KEYS if keys.has(torch._C._parse_dispatch_key(key))}


def effect(mode: AbstractContextManager[object]) -> set[str]:
    """Enter a mode, and return how it changes this thread's two sets.

    "+excluded Python" means that the mode adds the key to the excluded set, "-excluded Python" that
    it removes it; "+included Python" and "-included Python" are for the other set. Leave the mode
    at the end.
    """
    # TODO: read both sets before and inside.
    raise NotImplementedError("effect")
