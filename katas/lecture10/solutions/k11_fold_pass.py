"""Find what may be folded, and repair the graph."""

from __future__ import annotations

import copy
from itertools import count

from torch import fx
from torch import nn
from torch.nn.utils import fuse_conv_bn_eval


CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def fold_batch_norms(module: fx.GraphModule) -> fx.GraphModule:
    """Return a module without the batch norms that can be folded."""
    module = copy.deepcopy(module)
    for node in module.graph.nodes:
        norm = _called(module, node)
        if type(norm) not in NORMS or norm.training or norm.running_mean is None:
            continue
        (before,) = node.all_input_nodes
        convolution = _called(module, before)
        # A second user would get the batch norm's result.
        if type(convolution) not in CONVOLUTIONS or convolution.training or len(before.users) > 1:
            continue
        names = (f"folded_{number}" for number in count())
        name = next(name for name in names if not hasattr(module, name))
        module.add_submodule(name, fuse_conv_bn_eval(convolution, norm))
        # Only this node changes its module: others may call the old one.
        before.target = name
        node.replace_all_uses_with(before)
        module.graph.erase_node(node)
    module.delete_all_unused_submodules()
    module.recompile()
    return module


def _called(module: fx.GraphModule, node: fx.Node) -> nn.Module | None:
    return module.get_submodule(node.target) if node.op == "call_module" else None
