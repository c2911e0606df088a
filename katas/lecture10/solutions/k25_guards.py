"""Say when torch.compile recompiles."""

from __future__ import annotations

import dis
from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Hashable


def guards(function: Callable[..., Any], *args: Any) -> Hashable:
    """Return what must be the same in a later call for its compiled graph to be reused."""
    met: dict[int, int] = {}

    def fact(value: Any) -> Hashable:
        if isinstance(value, torch.Tensor):
            # Its number among the tensors of this call: an address would mean nothing later.
            number = met.setdefault(id(value), len(met))
            layout = (value.dtype, value.device, value.shape, value.stride())
            # A conjugate view or an inference tensor is dispatched to different kernels.
            keys = str(torch._C._dispatch_keys(value))  # noqa: SLF001 - it has no public name
            return type(value), number, layout, value.requires_grad, keys
        if isinstance(value, bool | int | float | str | None):
            # 1, 1.0 and True are equal, but guards distinguish them.
            return type(value), value
        if isinstance(value, list | tuple):
            return type(value), tuple(fact(item) for item in value)
        return id(value)

    code = dis.get_instructions(function)
    # Not co_names: that holds the names of attributes too.
    names = [it.argval for it in code if it.opname == "LOAD_GLOBAL"]
    loaded = [function.__globals__[name] for name in names if name in function.__globals__]
    closure = [cell.cell_contents for cell in function.__closure__ or ()]
    return torch.is_grad_enabled(), tuple(fact(value) for value in (*args, *loaded, *closure))
