"""Explore: operators with a derivative formula, composites, and operators without either.

PyTorch has about 1600 operator names. Some have no derivative, which shows at three different
moments:

    x = torch.rand(3, requires_grad=True)
    torch.special.airy_ai(x).requires_grad                     # False, without an error
    torch.heaviside(x, x)                                      # fine, until backward
    F.nll_loss(torch.rand(2, 3), torch.tensor([0, 1]), x)      # x is the weight: RuntimeError now

Others consist of parts, and need no formula: ``relu6`` leaves the node of ``hardtanh``. Find out
which applies to any operator of the installed PyTorch, in about 25 lines:

1. `gradient`: call it, look at the result, run backward; which of the three happens?
2. `parts`: a ``TorchDispatchMode`` is below autograd, where composite operators have been
   decomposed (except under ``inference_mode``, which skips autograd: there they arrive whole).

- Ask autograd; do not use a list of operators.

Begin with the three lines (``F`` is ``torch.nn.functional``), and read their errors.
Afterwards open ``torchgen/packaged/autograd/derivatives.yaml`` in site-packages
(``tools/autograd/derivatives.yaml``): its header comment explains non_differentiable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


if TYPE_CHECKING:
    from torch._ops import OpOverload


# ---- given -----------------------------------------------------------------------------------


def asking(args: tuple[Any, ...], position: int) -> list[Any]:
    """Return copies of `args`; only the one at `position` requires grad.

    That copy is not a leaf, so the operator may write to it.
    """
    inputs = [arg.detach().clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
    inputs[position] = inputs[position].requires_grad_().clone()
    return inputs


def recorded(results: object) -> list[torch.Tensor]:
    """Return the tensors in `results` (one, or a tuple or list) that require grad."""
    every = results if isinstance(results, tuple | list) else [results]
    return [each for each in every if isinstance(each, torch.Tensor) and each.requires_grad]


def gradients(op: OpOverload, *args: Any) -> dict[str, str]:
    """Return the result of `gradient` for each floating-point tensor, by argument name."""
    return {
        argument.name: gradient(op, asking(args, position))
        for position, argument in enumerate(op._schema.arguments[: len(args)])  # noqa: SLF001
        if isinstance(args[position], torch.Tensor) and args[position].is_floating_point()
    }


# ---- the exercise ----------------------------------------------------------------------------


def gradient(op: OpOverload, inputs: list[Any]) -> str:
    """Return what happens to the gradient of the only one of `inputs` that requires grad.

    - "refused" if the call raises RuntimeError, "not differentiable with respect to ...";
    - "none" if no result requires grad;
    - "missing" if backward raises RuntimeError, "... not implemented";
    - "formula" if backward runs from all results that require grad, even if it gives zeros.

    Let other errors pass through.
    """
    # TODO: two things may raise, each with its own message.
    raise NotImplementedError("gradient")


def parts(op: OpOverload, *args: Any) -> list[str]:
    """Return the operators whose own kernels the call ``op(*args)`` runs, in order.

    Name each by ``func.name()``, such as "aten::mul.Tensor": op itself, or its parts. The arguments
    require no grad; do not change them.
    """
    # TODO: a mode that records the operators it sees.
    raise NotImplementedError("parts")
