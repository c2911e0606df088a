"""What modes do to the dispatch keys of a thread."""
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

    def now() -> set[str]:
        excluded = texts("excluded", torch._C._dispatch_tls_local_exclude_set())
        return excluded | texts("included", torch._C._dispatch_tls_local_include_set())

    before = now()
    with mode:
        within = now()
    return {f"+{each}" for each in within - before} | {f"-{each}" for each in before - within}
