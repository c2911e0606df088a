"""Write a Module's hooks, and a handle that owns nothing.

A hook runs with each forward until its handle removes it. People keep handles in lists for a long
time. Do handles keep the model alive?

    model
      hooks  {7: print_shape}  <- - - -  handle: key 7, and a weak reference to the dict

A plain reference would keep the dict alive, and with it each hook and everything in its closure.
Write `Handle` and the three methods of `Hooked`, about 20 lines. Each test runs one program with
your class and with ``torch.nn.Module``.

Begin on paper: register two hooks, remove the first, register a third. Which keys are there, if a
key is the current number of hooks?
Afterwards read ``RemovableHandle`` in ``torch/utils/hooks.py``, in site-packages. Real life
differs: hooks may receive keyword arguments, run in backward, or be called even if forward raises.
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
        """Remove the hook; do nothing if the hook or the dict is gone."""
        # TODO: call the weak reference.
        raise NotImplementedError("Handle.remove")


class Hooked:
    """A Module without parameters: a subclass defines `forward`; this class has the hooks."""

    def __init__(self) -> None:
        self.before: OrderedDict[int, Callable] = OrderedDict()
        self.after: OrderedDict[int, Callable] = OrderedDict()

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False) -> Handle:
        """Call ``hook(module, args)`` before `forward`; with `prepend`, before all other hooks."""
        # TODO: OrderedDict.move_to_end can also move to the front.
        raise NotImplementedError("Hooked.register_forward_pre_hook")

    def register_forward_hook(self, hook: Callable) -> Handle:
        """Call ``hook(module, args, output)`` after `forward`."""
        # TODO: the same, without prepend.
        raise NotImplementedError("Hooked.register_forward_hook")

    def __call__(self, *args: Any) -> Any:
        """Call the pre-hooks, `forward`, and the hooks after it, in order; return the output.

        A pre-hook may return new arguments: a tuple, or a single one. A hook after `forward` may
        return a new output. None changes nothing. List the hooks of each kind when their turn
        comes. So a hook that registers or removes one of its own kind affects the next call, but a
        pre-hook that changes the hooks after `forward` affects this call.
        """
        # TODO: what would a loop over the dict itself raise if a hook removes itself?
        raise NotImplementedError("Hooked.__call__")
