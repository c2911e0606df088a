"""Explore: find out which operators have a derivative formula, and for which arguments.

Only some of PyTorch's 3000 operators have a formula. Others are composite: made of other
operators, and differentiated through these. Some results have no gradient by declaration, some
formulas nobody has written. The answer is in the dispatcher, which chooses a kernel for each
call, and in what the call then does. Write four functions that find it out from the installed
PyTorch.

1. ``kernel(name, backend)``: what runs first if the operator `name` ("aten::mul.Tensor") is called
   with a tensor that is on `backend` ("CPU", "CUDA", "Meta", ...). That call goes to the dispatch
   key AutogradCPU (Autograd and the backend), for which the dispatcher has chosen, in this order:

   - a kernel that is registered for that very key: "autograd";
   - the kernel under the alias CompositeImplicitAutograd: "composite". But not if the operator has
     a kernel under the backend's own key (CPU) or under the alias CompositeExplicitAutograd:
     these compute without telling autograd what they do;
   - the kernel under the alias Autograd: "autograd". A formula, or word that there is none;
   - the backend's fallback: "fallback".

   ``torch._C._dispatch_has_kernel_for_dispatch_key(name, key)`` says whether a kernel is registered
   for that very key. The key may be an alias; what an alias brings to "CPU" does not count there.
   ``print(torch._C._dispatch_dump_table(name))`` shows what was chosen.
2. ``disputed(first, second)``: the set of all operators in "aten::" for which two backends get
   different answers from ``kernel``, named as ``torch._C._dispatch_get_all_op_names()`` lists them.
3. ``gradients(op, *args)``: `op` is an overload, such as ``torch.ops.aten.mul.Tensor``. For each of
   `args` that is a floating-point tensor, by its name in ``op._schema.arguments``: call op with
   copies of `args` of which only that one requires grad, and return

   - "refused" if the call raises RuntimeError ("not differentiable with respect to ...");
   - "none" if no result requires grad, or if no result is a tensor;
   - "missing" if backward raises RuntimeError ("... not implemented");
   - "formula" if backward runs. A formula that gives zeros is one too.

   A RuntimeError that says something else passes through, like any other exception. Results are a
   tensor, something else, or a tuple or list of these. An operator may write to its arguments:
   yours may not change, nor their grad, and autograd forbids writing to a leaf that requires grad.
   Whether `args` require grad makes no difference.
4. ``parts(op, *args)``: the names ("aten::mul.Tensor", ``func.name()``) of the operators whose own
   kernels the call ``op(*args)`` runs, in order: op itself, or if it is composite those that it
   calls, in place of any composite one again those that this calls. A
   ``torch.utils._python_dispatch.TorchDispatchMode`` is below autograd, where composite operators
   have fallen apart. The arguments require no grad.

Keyword arguments, lists of tensors, complex tensors: out of scope. About 45 lines. No list of
operators from anywhere: ask the dispatcher and autograd.

In PyTorch: ``tools/autograd/derivatives.yaml`` (its head explains non_differentiable),
``tools/autograd/gen_variable_type.py`` (``emit_check_no_requires_grad``) and
``aten/src/ATen/core/dispatch/OperatorEntry.cpp`` (``computeDispatchTableEntryWithDebug``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch  # noqa: F401 - your answer asks its dispatcher


if TYPE_CHECKING:
    from torch._ops import OpOverload


def kernel(name: str, backend: str = "CPU") -> str:
    """Return what autograd runs for an operator: "composite", "autograd" or "fallback"."""
    # TODO: four questions to the dispatcher.
    raise NotImplementedError("kernel")


def disputed(first: str, second: str) -> set[str]:
    """Return the names of all aten operators that two backends differentiate differently."""
    # TODO
    raise NotImplementedError("disputed")


def gradients(op: OpOverload, *args: Any) -> dict[str, str]:
    """Return for each floating-point tensor "formula", "missing", "refused" or "none"."""
    # TODO: one call for each argument.
    raise NotImplementedError("gradients")


def parts(op: OpOverload, *args: Any) -> list[str]:
    """Return the names of the operators with kernels of their own that a call runs."""
    # TODO: a mode that notes what comes by.
    raise NotImplementedError("parts")
