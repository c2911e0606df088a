"""FSDP from nothing: parameters that come and go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import distributed as dist
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Slot:
    """One parameter: its place in the model, this rank's rows, and all rows. Given."""

    module: nn.Module
    name: str
    part: nn.Parameter
    whole: nn.Parameter


class Unit:
    """The parameters of a layer, in shards."""

    def __init__(self, layer: nn.Module) -> None:
        """Make a `Slot` for each parameter of `layer` and of the modules in it, and free them."""
        self.slots: list[Slot] = []
        self.works: list[Any] = []
        self.reduced = 0
        for module in layer.modules():
            for name, whole in list(module.named_parameters(recurse=False)):
                rows = whole.detach().chunk(dist.get_world_size())[dist.get_rank()]
                slot = Slot(module, name, nn.Parameter(rows.clone()), whole)
                whole.register_post_accumulate_grad_hook(lambda _, slot=slot: self.reduce(slot))
                self.slots.append(slot)
        self.free()

    def gather(self) -> None:
        """Start filling each `whole` from the ranks' parts, unless that has already started."""
        for slot in self.slots if not self.works else ():
            slot.whole.untyped_storage().resize_(slot.whole.nbytes)
            into = list(slot.whole.data.chunk(dist.get_world_size()))
            self.works.append(dist.all_gather(into, slot.part.data, async_op=True))

    def use(self) -> None:
        """Gather, wait, and put each `whole` into its module with ``setattr``."""
        self.gather()
        for slot, work in zip(self.slots, self.works, strict=True):
            work.wait()
            setattr(slot.module, slot.name, slot.whole)

    def free(self) -> None:
        """Put each `part` into its module, and free the memory of `whole`."""
        for work in self.works:
            work.wait()
        self.works = []
        for slot in self.slots:
            setattr(slot.module, slot.name, slot.part)
            slot.whole.untyped_storage().resize_(0)

    def reduce(self, slot: Slot) -> None:
        """Add the mean of ``whole.grad`` over the ranks to ``part.grad``; drop ``whole.grad``."""
        grad, mine = slot.whole.grad, torch.empty_like(slot.part)
        assert grad is not None
        dist.reduce_scatter(mine, list(grad.chunk(dist.get_world_size())))
        mine /= dist.get_world_size()
        slot.part.grad = mine if slot.part.grad is None else slot.part.grad + mine
        slot.whole.grad = None
        self.reduced += 1
        if self.reduced % len(self.slots) == 0:
            self.free()


def fully_shard(layers: Sequence[nn.Module]) -> list[Unit]:
    """Return a `Unit` for each of `layers`, which run in this order; hooks do the rest."""
    units = [Unit(layer) for layer in layers]

    def ready(unit: Unit, others: list[Unit]) -> None:
        unit.use()
        for other in others:
            other.gather()

    for i, (layer, unit) in enumerate(zip(layers, units, strict=True)):
        layer.register_forward_pre_hook(lambda *_, i=i: ready(units[i], units[i + 1 : i + 2]))
        layer.register_forward_hook(lambda *_, unit=unit: unit.free())
        layer.register_full_backward_pre_hook(lambda *_, i=i: ready(units[i], units[:i][-1:]))
    return units
