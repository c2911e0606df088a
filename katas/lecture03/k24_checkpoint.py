"""Checkpointing: drop activations in forward, recompute them in backward.

What forward saves for backward is often most of the memory of training. Most of it can be
recomputed from the input of a block. All it takes is a pair of hooks:

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = function(x)          # the result of pack(tensor) is kept instead of the tensor
    y.sum().backward()           # unpack(kept) returns the tensor when backward needs it

So let pack return a number. Write `checkpoint`, about 17 lines:

1. Number the tensors that forward saves, in order, and keep none of them.
2. The first time that backward asks for one, run the function again, with hooks that collect them.
3. Random numbers must be those of the first run; ``torch.random.fork_rng(devices=[])`` always
   restores the state.

- Drop each collected tensor once it is used: a retained graph computes it again.

Begin with step 1 and a pack that prints: how many tensors does ``x.sin().exp()`` save?
Afterwards open ``torch/utils/checkpoint.py`` in site-packages (``_checkpoint_hook``). Real life
differs: it stops early, compares shapes, and keeps more random states. ``use_reentrant=True`` is
its first version: a backward within a backward, which refuses ``torch.autograd.grad``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


def checkpoint(function: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
    """Return ``function(*inputs)``, with a graph that keeps no tensor made inside the function.

    The function runs once now, and once more when backward needs what it saved: on the CPU, with
    grad mode on, with the same inputs, tensors or not, and with the random state of the first run.
    Afterwards restore the random state from before that backward, even if the function raises. Keep
    only detached tensors.
    """
    # TODO: pack returns a number; unpack looks it up among the tensors that a second run collects.
    raise NotImplementedError("checkpoint")
