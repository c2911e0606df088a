"""Trace modules: which become calls, and which are traced into.

A proxy goes into ``self.fc(x)`` and ``self.w * 2``. Left alone, a tracer records what
``nn.Linear`` computes inside, and multiplies ``w`` right away: nobody told it that a parameter is
part of the program. So FX replaces two methods of ``nn.Module`` while the program runs:

    nn.Module.__call__       a leaf becomes call_module, all others are run
    nn.Module.__getattr__    a parameter or buffer that is read becomes get_attr

    self.fc(x) * self.w      fc = self.fc(x); w = self.w; mul = fc * w

Write `recorded_modules`, about 20 lines, on the proxies of FX. `trace` is given.

Begin with just ``__call__``: print the path of each module that is called.
Afterwards read ``Tracer.trace`` and ``is_leaf_module`` in ``torch/fx/_symbolic_trace.py``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch import fx
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def recorded_modules(root: nn.Module, tracer: fx.proxy.TracerBase) -> Iterator[None]:
    """Replace the two methods while the block runs, and always put them back.

    - A call of a leaf: return ``tracer.create_proxy("call_module", path, args, kwargs)``. A leaf is
      a module whose class is defined in PyTorch (its ``__module__`` starts with "torch.nn") and is
      not ``nn.Sequential``. All other modules are run as usual.
    - Reading a parameter or buffer of `root`, or of a module in it: return the proxy of a
      ``get_attr``, ``create_proxy("get_attr", path, (), {})``. Create one node for each tensor,
      when it is first read. Of several names for one tensor, take the first in
      ``named_parameters()``.
    - A call of a module that is not in `root`: raise a ValueError with "submodule" and the name of
      its class.
    """
    # TODO: collect the paths of modules and tensors first, before anything is replaced.
    raise NotImplementedError("recorded_modules")
    yield


def trace(root: nn.Module) -> fx.Graph:
    """Return the graph of a module's forward. Given."""
    graph = fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(graph)
    with recorded_modules(root, tracer):
        inputs = []
        for name, parameter in inspect.signature(root.forward).parameters.items():
            default = () if parameter.default is parameter.empty else (parameter.default,)
            inputs.append(tracer.create_proxy("placeholder", name, default, {}))
        result = tracer.create_arg(root.forward(*inputs))
        tracer.create_node("output", "output", (result,), {})
    return graph
