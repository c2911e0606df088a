"""Checkpointing: forget activations in forward, compute them again in backward.

What forward saves for backward is often most of the memory of training. Most of it can be computed
again from the input of a block. A pair of hooks is all it takes:

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = function(x)          # what pack(tensor) returns is kept, in the tensor's place
    y.sum().backward()           # unpack(kept) returns the tensor, when backward needs it

So let pack keep a number. Write `checkpoint`, about 17 lines:

1. Number the tensors that forward saves, in their order, and keep none.
2. The first time that backward asks: run the function again, with hooks that collect.
3. Random numbers have to be those of the first run; ``torch.random.fork_rng(devices=[])`` puts the
   state back in any case.

- What is collected goes when it has been used: a retained graph computes it again.

Begin with step 1 and a pack that prints: how many tensors does ``x.sin().exp()`` save?
Afterwards open ``torch/utils/checkpoint.py`` in site-packages (``_checkpoint_hook``). Real life
differs: it stops early, compares shapes, and keeps more random states. ``use_reentrant=True`` there
is how it began: a backward within a backward, which refuses ``torch.autograd.grad``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch  # noqa: TC002 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Callable


def checkpoint(function: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
    """Return ``function(*inputs)``, with a graph that keeps no tensor made within it.

    The function runs one time now, and one more when a backward needs what it saved: on
    the CPU, with grad mode on, with the inputs as they came, tensors or not, and with the random
    state of the first run. Afterwards the random state is what it was before that backward, even
    if the function raises. Keep detached tensors only.
    """
    # TODO: pack keeps a number; unpack looks it up, in what a second run has collected.
    raise NotImplementedError("checkpoint")
