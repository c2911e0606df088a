"""Find the operator that makes the first NaN, forward or backward.

The loss is fine, and after a step the weights are NaN. Paste this:

    x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
    torch.where(x > 0, x.sqrt(), 0.0).sum().backward()

    forward     0.0   1.0   2.0
    x.grad      nan   0.5   0.25

`where` sends a gradient of 0 to the root that it does not use, and the root divides it by 0. A NaN
spreads to most of what reads it, so the first one counts: an operator that makes one from inputs
without one. Hunt it in two ways, about 20 lines:

1. `Hunt`, a dispatch mode, sees each operator that runs, in the backward too.
2. `first_node` sees the nodes of the graph, by a hook on each, and returns the name of one.

Begin with ``x.div_(0)``: where is its input, when it has run?
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
    """Whether a NaN is in a tensor, or is a number, in nested lists, tuples and dicts. Given."""
    leaves = [x for x in tree_leaves(values) if isinstance(x, torch.Tensor | float)]
    return any(bool(torch.as_tensor(x).isnan().any()) for x in leaves)


class Hunt(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """While open: `first` is the first operator that makes a NaN, such as "aten.div.Tensor".

    Inputs are all arguments, `out` too; what counts is what the operator returns. One that has
    "empty" in its name does not write to what it returns, and makes none, whatever is there.
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
        """Run an operator, and look."""
        # TODO: look, call, look.
        raise NotImplementedError("Hunt.__torch_dispatch__")


def first_node(loss: torch.Tensor) -> str | None:
    """Call loss.backward(), and return the first node that makes a NaN: "SqrtBackward0", or None.

    As PyTorch does, a hook gets (gradients of the inputs, gradients of the outputs); in a backward
    the outputs' are what goes in. A leaf has no node: None. Afterwards the graph has none of
    your hooks, even if the backward raises.
    """
    # TODO: node.next_functions, node.register_hook, node.name().
    raise NotImplementedError("first_node")
