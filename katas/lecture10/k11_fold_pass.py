"""Find what may be folded, and repair the graph.

``fuse_conv_bn_eval`` of ``torch.nn.utils`` folds one batch norm into one convolution. Which pairs
of a whole model may it fold? The arithmetic does not decide; the graph does.

    conv = self.conv(x)            conv = self.folded_0(x)
    bn = self.bn(conv)             relu = torch.relu(conv)
    relu = torch.relu(bn)

    conv = self.conv(x)            left as it is: somebody
    bn = self.bn(conv)             else sees what the
    return bn + conv               convolution returns

Write `fold_batch_norms`, about 20 lines.

- One module may be called in several places: each fold makes a convolution of its own.
- The given module stays as it is.

Begin with a residual block on paper: which of its batch norms can go?
Afterwards read ``fuse`` in ``torch/fx/experimental/optimization.py``. Real life differs: the graphs
of torch.export hold no modules; Inductor folds the arithmetic (``fx_passes/binary_folding.py``).
"""

from __future__ import annotations

from torch import fx
from torch import nn
from torch.nn.utils import fuse_conv_bn_eval


CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def fold_batch_norms(module: fx.GraphModule) -> fx.GraphModule:
    """Return a new GraphModule that computes the same without the batch norms that can be folded.

    A batch norm is folded if its module is exactly one of `NORMS`, in eval mode, with running
    statistics; and if its input is a call_module of exactly one of `CONVOLUTIONS`, in eval mode,
    whose value nobody else uses. Leave all others.

    Let the convolution's node call a new submodule ``folded_0``, ``folded_1``, ..., numbered in the
    order of the graph (skip a name that is taken), and remove the batch norm's node. So a second
    batch norm after it is folded in turn. Remove submodules that are no longer used
    (``GraphModule.delete_all_unused_submodules``).
    """
    # TODO: find each pair, make sure that it is one, fold, and repair the graph.
    raise NotImplementedError("fold_batch_norms")
