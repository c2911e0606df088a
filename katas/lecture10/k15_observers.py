"""Insert a node at the right place, once.

To quantise a model you need the range of every value that a layer reads. So a pass inserts
observers: modules that pass their input on and remember its range.

    norm = self.norm(x)                norm = self.norm(x)
    q = self.q(norm)                   observer_0 = self.observer_0(norm)
    k = self.k(norm)                   q = self.q(observer_0)
    return q * k + norm                k = self.k(observer_0)
                                       return q * k + norm

One observer for each *value*, not for each layer; and ``+ norm`` reads the value as before.

Write ``Observer.forward`` and `prepare`, about 15 lines.

Begin by redirecting one layer: ``Node.replace_input_with``. Why not ``replace_all_uses_with``?
Afterwards read ``prepare`` in ``torch/ao/quantization/fx/prepare.py``. Real life differs: for
graphs of torch.export torchao has taken its place (``prepare_pt2e``).
"""

from __future__ import annotations

import torch
from torch import fx
from torch import nn


LAYERS = (nn.Linear, nn.Conv2d)


class Observer(nn.Module):
    """Passes values on, and remembers the smallest and the largest."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("low", torch.zeros(()))
        self.register_buffer("high", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x itself. `low` and `high` span all values so far, and 0; they carry no graph."""
        # TODO: widen the range to hold what is in x.
        raise NotImplementedError("Observer.forward")


def called(module: fx.GraphModule, node: fx.Node) -> nn.Module | None:
    """Return the module that a node calls, if it calls one. Given."""
    return module.get_submodule(node.target) if node.op == "call_module" else None


def prepare(module: fx.GraphModule) -> fx.GraphModule:
    """Return a new GraphModule with observers; the given one keeps its graph and its submodules.

    A layer is a node that calls exactly one of `LAYERS`, with one argument, by position. Each value
    that layers read gets one `Observer`, called right before the first of these layers; all layers
    read the value through it. Name the observers ``observer_0``, ``observer_1``, ... in the order
    of the graph. The two modules may share submodules and parameters.
    """
    # TODO: one observer for each value that a layer reads.
    raise NotImplementedError("prepare")
