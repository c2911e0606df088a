"""Hooks of a Module, and the handle that owns nothing."""

from __future__ import annotations

import itertools
import weakref
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
        self.key = next(Handle.numbers)
        self.hooks = weakref.ref(hooks)

    def remove(self) -> None:
        """Remove the hook; if it is gone, or the dict is, do nothing."""
        hooks = self.hooks()
        if hooks is not None:
            hooks.pop(self.key, None)


class Hooked:
    """A Module without parameters: `forward` belongs to the class below, hooks to this one."""

    def __init__(self) -> None:
        self.before: OrderedDict[int, Callable] = OrderedDict()
        self.after: OrderedDict[int, Callable] = OrderedDict()

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False) -> Handle:
        """Have ``hook(module, args)`` called before `forward`; the first of all with `prepend`."""
        handle = Handle(self.before)
        self.before[handle.key] = hook
        if prepend:
            self.before.move_to_end(handle.key, last=False)
        return handle

    def register_forward_hook(self, hook: Callable) -> Handle:
        """Have ``hook(module, args, output)`` called after `forward`."""
        handle = Handle(self.after)
        self.after[handle.key] = hook
        return handle

    def __call__(self, *args: Any) -> Any:
        """Call the hooks before, `forward`, and the hooks after, in order; return the output.

        What a hook before returns are the new arguments: a tuple, or a single one. What a hook
        after returns is the new output. None changes nothing. The hooks of each kind are listed
        when their turn comes. So a hook that registers or removes one of its own kind changes the
        next call, and a hook before that does so to one after changes this call.
        """
        for hook in [*self.before.values()]:
            found = hook(self, args)
            if found is not None:
                args = found if isinstance(found, tuple) else (found,)
        output = self.forward(*args)
        for hook in [*self.after.values()]:
            found = hook(self, args, output)
            if found is not None:
                output = found
        return output
