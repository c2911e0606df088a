"""Write a Module's hooks, and a handle that owns nothing."""

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
        """Remove the hook; do nothing if the hook or the dict is gone."""
        hooks = self.hooks()
        if hooks is not None:
            hooks.pop(self.key, None)


class Hooked:
    """A Module without parameters: a subclass defines `forward`; this class has the hooks."""

    def __init__(self) -> None:
        self.before: OrderedDict[int, Callable] = OrderedDict()
        self.after: OrderedDict[int, Callable] = OrderedDict()

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False) -> Handle:
        """Call ``hook(module, args)`` before `forward`; with `prepend`, before all other hooks."""
        handle = Handle(self.before)
        self.before[handle.key] = hook
        if prepend:
            self.before.move_to_end(handle.key, last=False)
        return handle

    def register_forward_hook(self, hook: Callable) -> Handle:
        """Call ``hook(module, args, output)`` after `forward`."""
        handle = Handle(self.after)
        self.after[handle.key] = hook
        return handle

    def __call__(self, *args: Any) -> Any:
        """Call the pre-hooks, `forward`, and the hooks after it, in order; return the output.

        A pre-hook may return new arguments: a tuple, or a single one. A hook after `forward` may
        return a new output. None changes nothing. List the hooks of each kind when their turn
        comes. So a hook that registers or removes one of its own kind affects the next call, but a
        pre-hook that changes the hooks after `forward` affects this call.
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
