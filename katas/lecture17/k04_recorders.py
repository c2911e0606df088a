"""Debug: five recorders of activations that lie.

A forward hook shows a layer's output: ``layer.register_forward_hook(hook)``, where the hook gets
the module, its inputs and its output. These five have been in use for a year. Their tickets:

    before_relu   "No unit is negative before its ReLU, in any of our models."
    history       "After two thousand recorded batches the machine is out of memory."
    every_call    "The layer runs twice in each forward, and one record comes back."
    by_name       "All layers seem to return what the last one returns."
    norms         "While I watch the layer, the model does not learn. And after a batch of a wrong
                   shape had raised, the old list went on growing."

Find and fix the bugs, a line or two each; `norms` has two. Return what the docstrings say.

Begin with the first: run it on ``nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))``. Which
tensor did the hook keep, and who wrote to it later?
Afterwards read ``Module._call_impl`` in ``torch/nn/modules/module.py``, in site-packages: what
happens to the value that a forward hook returns?
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Mapping

    from torch import nn


# TODO: find and fix the bugs. Nothing raises NotImplementedError here: the code is written, and
# wrong.


def before_relu(model: nn.Module, layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return what `layer` returned, with its values at that moment."""
    kept: list[torch.Tensor] = []
    handle = layer.register_forward_hook(lambda _m, _inputs, out: kept.append(out.detach()))
    model(x)
    handle.remove()
    return kept[0]


def history(
    model: nn.Module, layer: nn.Module, batches: Iterable[torch.Tensor]
) -> list[torch.Tensor]:
    """Return the mean of the layer's output over each batch; free everything else."""
    kept: list[torch.Tensor] = []
    handle = layer.register_forward_hook(lambda _m, _inputs, out: kept.append(out.mean(0)))
    for batch in batches:
        model(batch)
    handle.remove()
    return kept


def every_call(model: nn.Module, layer: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """Return a copy of each output of the layer, in the order of its calls."""
    kept: dict[nn.Module, list[torch.Tensor]] = {}

    def hook(module: nn.Module, _inputs: object, out: torch.Tensor) -> None:
        kept[module] = [out.detach().clone()]

    handle = layer.register_forward_hook(hook)
    model(x)
    handle.remove()
    return kept.get(layer, [])


def by_name(
    model: nn.Module, layers: Mapping[str, nn.Module], x: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Return a copy of the output of each layer, by the layer's name; each layer runs once."""
    kept: dict[str, torch.Tensor] = {}
    handles = []
    for name, layer in layers.items():

        def hook(_module: nn.Module, _inputs: object, out: torch.Tensor) -> None:
            kept[name] = out.detach().clone()  # noqa: B023

        handles.append(layer.register_forward_hook(hook))
    model(x)
    for handle in handles:
        handle.remove()
    return kept


@contextmanager
def norms(layer: nn.Module) -> Iterator[list[float]]:
    """Yield a list that gets the norm of the layer's output at each call, inside the ``with``."""
    kept: list[float] = []

    def hook(_module: nn.Module, _inputs: object, out: torch.Tensor) -> torch.Tensor:
        out = out.detach()
        kept.append(out.norm().item())
        return out

    handle = layer.register_forward_hook(hook)
    yield kept
    handle.remove()
