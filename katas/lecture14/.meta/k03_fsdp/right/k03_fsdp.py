"""FSDP from nothing, with pieces that are copied and a hook on each output."""

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
    """One parameter: where it is in the model, this rank's rows of it, and all rows. Given."""

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
        """Begin to collect the parts, behind the back of autograd."""
        if self.works:
            return
        for slot in self.slots:
            slot.whole.untyped_storage().resize_(slot.whole.numel() * slot.whole.element_size())
            whole, part = slot.whole.data, slot.part.detach()
            self.works.append(dist.all_gather_into_tensor(whole, part, async_op=True))

    def use(self) -> None:
        """Wait for all, and then let the modules have what has come."""
        self.gather()
        for work in self.works:
            work.wait()
        for slot in self.slots:
            setattr(slot.module, slot.name, slot.whole)

    def free(self) -> None:
        """Free the memory, and put the parts back."""
        while self.works:
            self.works.pop().wait()
        for slot in self.slots:
            slot.whole.untyped_storage().resize_(0)
            setattr(slot.module, slot.name, slot.part)

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
    """Return units, each with its hooks; backward is announced by the gradient of the output."""
    units = [Unit(layer) for layer in layers]
    rights: list[Unit | None] = [*units[1:], None]
    lefts: list[Unit | None] = [None, *units[:-1]]
    for layer, unit, left, right in zip(layers, units, lefts, rights, strict=True):

        def before(*_: Any, unit: Unit = unit, right: Unit | None = right) -> None:
            unit.use()
            if right:
                right.gather()

        def back(_: torch.Tensor, unit: Unit = unit, left: Unit | None = left) -> None:
            unit.use()
            if left:
                left.gather()

        def after(
            _: Any, __: Any, output: torch.Tensor, unit: Unit = unit, back: Any = back
        ) -> Any:
            unit.free()
            if not output.requires_grad:
                return output
            output = output.view_as(output)
            output.register_hook(back)
            return output

        layer.register_forward_pre_hook(before)
        layer.register_forward_hook(after)
    return units
