"""Fold a batch norm into the convolution before it.

In eval mode a batch norm multiplies each channel by one constant and adds another. The convolution
before it could do that with other weights, so an inference graph needs no batch norm, which saves
one kernel launch and one pass over memory.

    norm(y) = (y - running_mean) / sqrt(running_var + eps) * weight + bias
            =  y * scale + shift                                              for each channel

Write `fold`, about 15 lines. A transposed convolution is the hard part: there the *second* dim of
the weight runs over the outputs, and only over those of one group.

    Conv2d             (out, in / groups, ...)
    ConvTranspose2d    (in, out / groups, ...)     rows 0 to in / groups - 1 are group 0

Begin on paper: substitute y = w * x + b in the first line.
Afterwards read ``fuse_conv_bn_weights`` in ``torch/nn/utils/fusion.py``, which in torch 2.13 raises
for a transposed convolution with groups.
"""

from __future__ import annotations

import torch
from torch import nn


TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def fold(convolution: nn.Module, norm: nn.Module) -> nn.Module:
    """Return a new convolution that computes ``norm(convolution(x))``, up to rounding.

    `norm` is in eval mode and has running statistics; with ``affine=False`` its weight and bias are
    None. `convolution` is one of ``Conv1d`` to ``Conv3d`` or `TRANSPOSED`, with or without a bias,
    with any number of groups. The result is a ``copy.deepcopy`` of it with two new
    ``nn.Parameter``, `weight` and `bias`, in the dtype of the old weight and without a graph. Both
    modules stay as they are.
    """
    # TODO: compute a scale and a shift for each output channel, and put them into a copy.
    raise NotImplementedError("fold")
