"""Which kernel runs? Compute a row of an operator's dispatch table, by six rules.

Register a kernel for CPU, and the gradient of your operator may disappear. Look at a PyTorch
operator; each line ends with the rule that filled it:

    print(torch._C._dispatch_dump_table("aten::silu"))

`lookup` goes down this list until a rule has a kernel; an alias key stands for many (ALIASES):

    a kernel for ...              serves ...                    says
    the key itself                that key                      kernel
    CompositeExplicitAutograd     backends                      default backend kernel
    CompositeImplicitAutograd     backends and autograd keys    math kernel
    Autograd                      autograd keys                 autograd kernel
    the key, as fallback          that key, of all operators    backend fallback
    none of these                                               missing

1. Write these rules, in order: about 12 lines.
2. For autograd keys skip the third rule if the backend has a kernel of its own, or if there is one
   for CompositeExplicitAutograd: autograd would differentiate code that does not run.

Real life differs: CompositeExplicitAutogradNonFunctional comes before the second rule, and fills
most rows of silu.

Begin with the first four rules for CPU and AutogradCPU; the tests lead you to the exception.
Afterwards read ``computeDispatchTableEntryWithDebug`` in
``aten/src/ATen/core/dispatch/OperatorEntry.cpp``.
"""

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


def lookup(kernels: dict[str, Any], fallbacks: dict[str, Any], key: str) -> tuple[Any, str]:
    """Return the kernel that the table has for a key, and the rule that chose it.

    `kernels` holds an operator's kernels by key or alias key, `fallbacks` those for all operators.
    Without a kernel return ``(None, "missing")``.

    AutogradOther serves many backends: if one of them has a kernel of its own and the operator has
    one for CompositeImplicitAutograd, return ``(ambiguous, "ambiguous autogradother")``.
    """
    # TODO: go down the list; each rule returns, or the next one is tried.
    raise NotImplementedError("lookup")
