"""Find the operator that makes the first NaN, forward or backward.

The loss is fine, but after a step the weights are NaN. Paste this:

    x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
    torch.where(x > 0, x.sqrt(), 0.0).sum().backward()

    forward     0.0   1.0   2.0
    x.grad      nan   0.5   0.25

`where` sends a gradient of 0 to the square root it ignored, whose backward divides it by 0. A NaN
spreads to almost everything that reads it, so find the first: an operator that produces one
from inputs without one. Hunt it in two ways, about 20 lines:

1. `Hunt`, a dispatch mode, sees each operator that runs, in backward too.
2. `first_node` watches the nodes of the graph with a hook on each, and returns the name of one.

Begin with ``x.div_(0)``: where is its input after it has run?
Afterwards compare with ``torch.autograd.detect_anomaly``, in ``torch/autograd/anomaly_mode.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence


def has_nan(values: object) -> bool:
    """Return whether a tree of values contains a NaN, in a tensor or as a number. Given."""
    leaves = [x for x in tree_leaves(values) if isinstance(x, torch.Tensor | float)]
    return any(bool(torch.as_tensor(x).isnan().any()) for x in leaves)


class Hunt(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Stores in `first` the name of the first operator that makes a NaN ("aten.div.Tensor").

    All of an operator's arguments are inputs, including `out`; its return value is the output. An
    operator with "empty" in its name does not write to its result, so never blame it.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.first: str | None = None

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an operator, and check for NaN before and after."""
        # TODO: check, call, check.
        raise NotImplementedError("Hunt.__torch_dispatch__")


def first_node(loss: torch.Tensor) -> str | None:
    """Call loss.backward(), and return the first node that makes a NaN ("SqrtBackward0") or None.

    PyTorch calls a node's hook with (gradients of the inputs, gradients of the outputs); a backward
    node reads the latter. Return None if `loss` is a leaf: it has no node. Remove all hooks
    afterwards, even if the backward raises.
    """
    # TODO: node.next_functions, node.register_hook, node.name().
    raise NotImplementedError("first_node")
