"""The table of an operator: which kernel serves a key, and why."""

from __future__ import annotations

from typing import Any
from typing import Final


BACKENDS: Final = ("CPU", "CUDA", "Meta", "SparseCPU")
# The autograd keys, each with its backends.
AUTOGRAD: Final = {
    "AutogradCPU": {"CPU"},
    "AutogradCUDA": {"CUDA"},
    "AutogradMeta": {"Meta"},
    "AutogradOther": {"SparseCPU"},
}
# The keys that a kernel for an alias key serves. Undefined is the key of a call without tensors.
ALIASES: Final = {
    "CompositeExplicitAutograd": {"Undefined", *BACKENDS},
    "CompositeImplicitAutograd": {"Undefined", *BACKENDS, *AUTOGRAD},
    "Autograd": {*AUTOGRAD},
}


def ambiguous(*_: Any) -> Any:
    """Refuse: a kernel for AutogradOther would be ambiguous. Given."""
    raise RuntimeError("ambiguous: register a kernel for AutogradOther")


def lookup(kernels: dict[str, Any], fallbacks: dict[str, Any], key: str) -> tuple[Any, str]:  # noqa: PLR0911 - rules
    """Return the kernel that the table has for a key, and the rule that chose it.

    `kernels` holds an operator's kernels by key or alias key, `fallbacks` those for all operators.
    Without a kernel return ``(None, "missing")``.

    AutogradOther serves many backends: if one of them has a kernel of its own and the operator has
    one for CompositeImplicitAutograd, return ``(ambiguous, "ambiguous autogradother")``.
    """
    if key in kernels:
        return kernels[key], "kernel"
    explicit, implicit, autograd = (alias in kernels and key in ALIASES[alias] for alias in ALIASES)
    if explicit:
        return kernels["CompositeExplicitAutograd"], "default backend kernel"
    has_backend = not AUTOGRAD.get(key, set()).isdisjoint(kernels)
    if implicit and has_backend and key == "AutogradOther":
        return ambiguous, "ambiguous autogradother"
    # Otherwise autograd would differentiate the decomposition, although another kernel runs.
    if implicit and not has_backend and "CompositeExplicitAutograd" not in kernels:
        return kernels["CompositeImplicitAutograd"], "math kernel"
    if autograd:
        return kernels["Autograd"], "autograd kernel"
    if key in fallbacks:
        return fallbacks[key], "backend fallback"
    return None, "missing"
