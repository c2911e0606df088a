"""Look into the drawers of a Module."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from torch import nn


def contents(module: nn.Module) -> dict[str, str]:
    """Return the kind of each attribute of `module` itself, by name, in any order.

    "parameter", "buffer", "unsaved buffer" (not in the state dict), "module", or "plain": the names
    in ``vars(module)``, except ``training`` and those that begin with an underscore. Leave out an
    empty entry, such as the ``bias`` of ``Linear(2, 3, bias=False)``. An object with two names may
    be listed once, under the first.
    """
    saved = module.state_dict()
    found = {name: "plain" for name in vars(module) if name[0] != "_" and name != "training"}
    found |= {name: "parameter" for name, _ in module.named_parameters(recurse=False)}
    for name, _ in module.named_buffers(recurse=False):
        found[name] = "buffer" if name in saved else "unsaved buffer"
    return found | {name: "module" for name, _ in module.named_children()}
