"""Hooks of a Module, and the handle that owns nothing.

A hook is called with each forward, until its handle removes it. Handles are kept, in lists, for
long. Do they keep the model?

    model
      hooks  {7: print_shape}  <- - - -  handle: key 7, and a weak reference to the dict

A plain reference would keep the dict, and with it each hook and all that its closure holds. Write
`Handle` and the three methods of `Hooked`, about 20 lines. Each test runs one program with your
class and with ``torch.nn.Module``.

Begin on paper: two hooks, the first is removed, a third is registered. Which keys are there, if a
key is the number of hooks so far?
Afterwards read ``RemovableHandle`` in ``torch/utils/hooks.py``, in site-packages. Real life
differs: hooks may ask for keyword arguments, for backward, or to be called even if forward raises.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Callable


class Handle:
    """Removes one hook from a dict of hooks, which it does not keep alive."""

    numbers = itertools.count()

    def __init__(self, hooks: OrderedDict[int, Callable]) -> None:
        """Take a key that no other handle has: ``self.key``."""
        # TODO: a weak reference; an OrderedDict has them, a dict does not.
        raise NotImplementedError("Handle")

    def remove(self) -> None:
        """Remove the hook; if it is gone, or the dict is, do nothing."""
        # TODO: ask the weak reference.
        raise NotImplementedError("Handle.remove")


class Hooked:
    """A Module without parameters: `forward` belongs to the class below, hooks to this one."""

    def __init__(self) -> None:
        self.before: OrderedDict[int, Callable] = OrderedDict()
        self.after: OrderedDict[int, Callable] = OrderedDict()

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False) -> Handle:
        """Have ``hook(module, args)`` called before `forward`; the first of all with `prepend`."""
        # TODO: OrderedDict.move_to_end can also move to the front.
        raise NotImplementedError("Hooked.register_forward_pre_hook")

    def register_forward_hook(self, hook: Callable) -> Handle:
        """Have ``hook(module, args, output)`` called after `forward`."""
        # TODO: without prepend.
        raise NotImplementedError("Hooked.register_forward_hook")

    def __call__(self, *args: Any) -> Any:
        """Call the hooks before, `forward`, and the hooks after, in order; return the output.

        What a hook before returns are the new arguments: a tuple, or a single one. What a hook
        after returns is the new output. None changes nothing. The hooks of each kind are listed
        when their turn comes. So a hook that registers or removes one of its own kind changes the
        next call, and a hook before that does so to one after changes this call.
        """
        # TODO: what would a loop over the dict itself say, if a hook removes itself?
        raise NotImplementedError("Hooked.__call__")
