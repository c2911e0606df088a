"""By asking for each name in turn, and by what the module would save."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from torch import nn


def contents(module: nn.Module) -> dict[str, str]:
    """Return what hangs on `module` itself, by name."""
    parameters = {name for name, _ in module.named_parameters() if "." not in name}
    buffers = {name for name, _ in module.named_buffers() if "." not in name}
    children = {name for name, _ in module.named_children()}
    plain = {name for name in vars(module) if not name.startswith("_")} - {"training"}
    kinds = {}
    for name in parameters | buffers | children | plain:
        if name in parameters:
            kinds[name] = "parameter"
        elif name in buffers:
            kinds[name] = "buffer" if name in module.state_dict() else "unsaved buffer"
        else:
            kinds[name] = "module" if name in children else "plain"
    return kinds
