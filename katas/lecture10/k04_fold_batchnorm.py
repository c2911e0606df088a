"""Batch norm folding: two modules become one, and the graph says which two.

In eval mode a batch norm multiplies each channel by a constant and adds another one, and so does
nothing that the convolution before it could not do with other weights. Folding it away spares a
launch and a pass over memory, and is the first step of most inference compilers. The numbers are
the easy half: the graph must say that nobody else looks at what is folded away.

1. ``fold(convolution, norm)`` returns a new convolution that computes ``norm(convolution(x))``
   (up to rounding) for a norm in eval mode that has running statistics. The new one is a
   ``copy.deepcopy`` of the old one with other parameters: ``weight`` and ``bias`` (there always
   is one, whether or not the convolution had one) are ``nn.Parameter`` of the dtype of the old
   weight, without a graph. A batch norm computes, for each channel,
   ``(y - running_mean) / sqrt(running_var + eps) * weight + bias``; with ``affine=False`` its
   weight and bias are None. Convolutions are ``nn.Conv1d``, ``Conv2d``, ``Conv3d`` and
   ``ConvTranspose1d`` to ``3d``, with any stride, padding, padding mode and groups. An ordinary
   weight is (out, in / groups, ...). A transposed one is (in, out / groups, ...): the first dim
   runs over the groups, one after the other, and the second over the outputs of that group.

2. ``fold_batch_norms(module)`` takes a ``torch.fx.GraphModule`` with call_module nodes (as of
   ``torch.fx.symbolic_trace``) and returns a new GraphModule that computes the same with the
   batch norms folded. A node is folded if

   - its module is exactly an ``nn.BatchNorm1d``, ``2d`` or ``3d`` (not of a subclass), in eval
     mode, with running statistics (without them it uses those of the batch, in any mode);
   - its input, positional or ``input=``, is a call_module node whose module is exactly one of
     the six convolutions, and nobody else uses that node's value.

   All others are left alone, and compute what they did. A module may be called at several
   places, with or without a batch norm behind it, so each fold makes a convolution of its own.
   It becomes a submodule ``folded_0``, ``folded_1``, ... of the result, numbered in the order of
   the graph (a name that is taken is passed over), and is called where the old one was, with the
   same arguments; the batch norm's node is gone. A batch norm whose input is a folded
   convolution is folded into that in turn. Modules that no node calls any more are gone too
   (``GraphModule.delete_all_unused_submodules``).

   The given module stays as it is: its graph, parameters, submodules.

About 50 lines. Do not use ``torch.nn.utils.fusion`` (``fuse_conv_bn_eval`` and the like),
``torch.fx.experimental.optimization`` or ``torch.ao.quantization``. Out of scope: inputs without
a batch dim, hooks, parametrisations, functional calls (``F.batch_norm``), and linear layers.

In PyTorch: ``torch/nn/utils/fusion.py`` (``fuse_conv_bn_weights``; that of torch 2.13 raises for
a transposed convolution with groups) and ``torch/fx/experimental/optimization.py`` (``fuse``).
Inductor does it under its option ``freezing``: ``torch/_inductor/fx_passes/pre_grad.py``
(``fuse_conv_bn``, for modules on a CPU) and ``torch/_inductor/fx_passes/binary_folding.py``, for
the arithmetic that a batch norm is decomposed into.
"""

from __future__ import annotations

from torch import fx  # noqa: TC002 - your answer calls it
from torch import nn  # noqa: TC002 - likewise


def fold(convolution: nn.Module, norm: nn.Module) -> nn.Module:
    """Return one convolution that computes both."""
    # TODO: a scale and a shift for each output channel, put into a copy.
    raise NotImplementedError("fold")


def fold_batch_norms(module: fx.GraphModule) -> fx.GraphModule:
    """Return a module without the batch norms that can be folded."""
    # TODO: find each pair, make sure that it is one, fold, and mend the graph.
    raise NotImplementedError("fold_batch_norms")
