"""Small models as exported programs. Shared by tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Callable


class Function(nn.Module):
    """A function of tensors, as a Module, with tensors of its own."""

    def __init__(self, function: Callable[..., object], **constants: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        for name, tensor in constants.items():
            self.register_buffer(name, tensor)

    def forward(self, *inputs: torch.Tensor) -> object:
        """Call it: with the inputs, then with the constants."""
        return self.function(*inputs, *self.buffers())


def exported(
    function: Callable[..., object], *inputs: torch.Tensor, **constants: torch.Tensor
) -> torch.export.ExportedProgram:
    """Export a function, in eval mode."""
    return torch.export.export(Function(function, **constants).eval(), inputs)


def out_variant(function: torch._ops.OpOverload) -> torch._ops.OpOverload:
    """Return the overload with the same arguments that writes to ``out=``."""
    packet = function.overloadpacket
    same = [(each.name, str(each.type)) for each in function._schema.arguments]  # noqa: SLF001
    for overload in packet.overloads():
        found: torch._ops.OpOverload = getattr(packet, overload)
        theirs = [(each.name, str(each.type)) for each in found._schema.arguments]  # noqa: SLF001
        if theirs == [*same, ("out", "Tensor")]:
            return found
    raise LookupError(f"{function} has no out=")
