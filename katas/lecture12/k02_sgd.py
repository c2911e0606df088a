"""Write SGD, bit for bit.

Your run and a colleague's agree for 40 steps, then diverge. The formulas are equal; the bits are
not. ``p.add_(g, alpha=-lr)`` may round the product and the sum together; ``p -= lr * g`` rounds
twice. See for yourself:

    a = torch.arange(64) / 7
    print((a.add(a, alpha=-0.9) != a - 0.9 * a).sum())

One step of a parameter, with the settings of its group in ``self.param_groups``:

    g = grad + weight_decay p              without weight_decay: grad itself
    b = momentum b + (1 - dampening) g     first step: b = g, undampened
    d = g + momentum b  if nesterov,  else b;  without momentum: g
    p = p - lr d

1. Write `step` for ``momentum=0``.
2. Add momentum. ``self.state[p]`` is a dict; b lives there as "momentum_buffer".

Begin with the four lines for one parameter, using one `add` with alpha per sum.
Afterwards read ``_single_tensor_sgd`` in ``torch/optim/sgd.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Iterable


class SGD(torch.optim.Optimizer):  # type: ignore[misc, unused-ignore]
    """Stochastic gradient descent; each group has its own settings."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        *,
        nesterov: bool = False,
    ) -> None:
        """Store the defaults. (PyTorch rejects Nesterov with dampening or no momentum.) Given."""
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening}
        super().__init__(params, defaults | {"weight_decay": weight_decay, "nesterov": nesterov})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override, unused-ignore]
        """Move each parameter in place; skip a parameter whose ``.grad`` is None.

        A group without momentum keeps no state. Do not change the gradients; the buffer shares no
        memory with them.
        """
        # TODO: loop over the groups, and inside over group["params"].
        raise NotImplementedError("SGD.step")
