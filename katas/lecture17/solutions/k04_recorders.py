"""Debug: five recorders of activations that lie."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Mapping

    from torch import nn


def before_relu(model: nn.Module, layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return what `layer` returned, with its values at that moment."""
    kept: list[torch.Tensor] = []
    handle = layer.register_forward_hook(lambda _m, _inputs, out: kept.append(out.detach().clone()))
    model(x)
    handle.remove()
    return kept[0]


def history(
    model: nn.Module, layer: nn.Module, batches: Iterable[torch.Tensor]
) -> list[torch.Tensor]:
    """Return the mean of the layer's output over each batch; free everything else."""
    kept: list[torch.Tensor] = []
    handle = layer.register_forward_hook(lambda _m, _inputs, out: kept.append(out.detach().mean(0)))
    for batch in batches:
        model(batch)
    handle.remove()
    return kept


def every_call(model: nn.Module, layer: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """Return a copy of each output of the layer, in the order of its calls."""
    kept: dict[nn.Module, list[torch.Tensor]] = {}

    def hook(module: nn.Module, _inputs: object, out: torch.Tensor) -> None:
        kept.setdefault(module, []).append(out.detach().clone())

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

        def hook(_module: object, _inputs: object, out: torch.Tensor, name: str = name) -> None:
            kept[name] = out.detach().clone()

        handles.append(layer.register_forward_hook(hook))
    model(x)
    for handle in handles:
        handle.remove()
    return kept


@contextmanager
def norms(layer: nn.Module) -> Iterator[list[float]]:
    """Yield a list that gets the norm of the layer's output at each call, inside the ``with``."""
    kept: list[float] = []

    def hook(_module: nn.Module, _inputs: object, out: torch.Tensor) -> None:
        kept.append(out.detach().norm().item())

    handle = layer.register_forward_hook(hook)
    try:
        yield kept
    finally:
        handle.remove()
