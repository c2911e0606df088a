"""Activation checkpointing: forget in forward, compute again in backward.

Training memory is mostly what forward saves for backward. A checkpointed part of a model saves
its inputs alone: forward runs it without a graph, and backward runs it a second time, with one,
and goes on through that. Dropout must drop the same elements the second time, or the gradient
belongs to another function than the value.

Write ``checkpoint(function, *inputs)``, which returns what ``function(*inputs)`` returns, one
tensor, with the gradients that it would have, by a ``torch.autograd.Function``:

- forward calls `function` once, without a graph, and saves nothing but the inputs that are
  tensors, by ``ctx.save_for_backward`` (so that a write to them in between is noticed: PyTorch's
  error for that passes through). Inputs that are no tensors (numbers, strings) are allowed,
  wherever they stand, and handed on; they have no gradient.
- backward calls `function` once more, on detached inputs, under grad mode, with the CPU's random
  state set to what it was when forward began; then it puts the random state back to what it was
  when backward began, so that nobody notices, also if `function` raises. (In PyTorch:
  ``torch.get_rng_state``, ``set_rng_state`` or ``torch.random.fork_rng``.)
- The gradients of the inputs come out of the new graph; for an input that requires no grad,
  None. Tensors that `function` uses without being handed them (a module's parameters) get
  their ``.grad`` accumulated, as by a plain backward: run ``torch.autograd.backward`` on the
  new graph, not ``torch.autograd.grad``.
- Checkpoints may be nested, and a retained graph may run twice. If grad mode is off, or no
  input requires grad, the result requires none (that is PyTorch's way with any Function).

Out of scope: gradients of gradients, other devices' random state, autocast, nested inputs,
several outputs. About 30 lines. Do not call ``torch.utils.checkpoint``.

Real life differs: PyTorch calls this way reentrant and advises against it. Parameters get their
``.grad`` whoever asks, so its own refuses ``torch.autograd.grad``. It recommends
``use_reentrant=False``, which packs what is saved by hooks (kata k23) and runs `function` again
when one is unpacked.

In PyTorch: ``torch/utils/checkpoint.py`` (``CheckpointFunction``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch  # noqa: TC002 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Callable


def checkpoint(function: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
    """Return ``function(*inputs)``, which saves its inputs alone and runs again in backward."""
    # TODO: write a Function whose forward and backward do this, and apply it.
    raise NotImplementedError("checkpoint")
