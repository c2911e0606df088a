"""Write Module from scratch.

Delete ``super().__init__()`` from a model and you get "cannot assign module before
Module.__init__() call". An assignment can fail, so something intercepts it: ``__setattr__``, which
puts parameters and modules into dicts, its drawers. The rest is walking through them:

    model.block.linear.weight
    model   _modules {block}
              block   _modules {linear, norm}
                        linear   _parameters {weight, bias}

The tests derive layers from your `Module`, then from PyTorch's, and compare the results.

1. Drawers: `__setattr__` and `__getattr__`.
2. Walks: `named_modules` and `named_parameters`; list each object once.
3. Changes: `apply`, `train` and `to`.

About 40 lines, an hour. Begin on paper: ``m.x = 1``, then ``m.x = Parameter(...)``. Where does
Python look first when you read ``m.x``?
Afterwards open ``torch/nn/modules/module.py`` in site-packages: ``__setattr__``, ``_apply``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.nn import Parameter


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


class Module:
    """Keeps parameters, buffers and modules, each under its name in a drawer."""

    def __init__(self) -> None:
        # Not set by assignment, which would need the drawers.
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _modules={})

    def drawers(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Return the three drawers: the dicts of parameters, buffers and modules. Given."""
        drawers = self.__dict__
        if "_modules" not in drawers:
            raise AttributeError("call super().__init__() before you assign")
        return drawers["_parameters"], drawers["_buffers"], drawers["_modules"]

    def register_buffer(self, name: str, tensor: torch.Tensor | None) -> None:
        """Put a tensor into the drawer of buffers. Given."""
        self.drawers()[1][name] = tensor

    def __call__(self, *args: Any) -> Any:
        """Call ``forward``. Given."""
        return self.forward(*args)

    def __setattr__(self, name: str, value: Any) -> None:
        """Put `value` where it belongs, so that its name is in one place only.

        Put a Parameter or a Module into its drawer, and remove the name from other drawers and
        ``__dict__``. A value that replaces another of its kind takes over its position. Any other
        value for a name in a drawer goes there too if it is None or of the drawer's kind
        (Parameter, torch.Tensor, Module); else raise ``refused(name, value)``. Everything else is a
        plain attribute, which may be set before ``__init__``; for drawer values `drawers` then
        raises. (PyTorch also refuses a Module for a Parameter's name; this is not required here.)
        """
        # TODO: object.__setattr__(self, name, value) is for plain attributes.
        raise NotImplementedError("Module.__setattr__")

    def __getattr__(self, name: str) -> Any:
        """Return a value from a drawer; Python calls this only if normal lookup fails.

        If no drawer has it, raise ``unknown(self, name)``.
        """
        # TODO: look into each drawer.
        raise NotImplementedError("Module.__getattr__")

    def named_modules(
        self, prefix: str = "", seen: set[Module] | None = None
    ) -> Iterator[tuple[str, Module]]:
        """Yield ``(prefix, self)``, then all modules below, depth first: "block", "block.linear".

        The whole walk shares `seen`: a module in it is not listed again.
        """
        # TODO: an empty prefix has no dot after it; an entry may be None.
        raise NotImplementedError("Module.named_modules")

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Yield each Parameter once, with its path: "block.linear.weight"."""
        # TODO: walk through the modules.
        raise NotImplementedError("Module.named_parameters")

    def apply(self, function: Callable[[Module], object]) -> Module:
        """Call `function` with each module below, then with self; return self.

        How often `function` gets a module with two names does not matter here.
        """
        # TODO: the children first.
        raise NotImplementedError("Module.apply")

    def train(self, mode: bool = True) -> Module:  # noqa: FBT001, FBT002 - as PyTorch's
        """Set ``training`` of each module in the tree, and return self."""
        # TODO: one loop.
        raise NotImplementedError("Module.train")

    def to(self, dtype: torch.dtype) -> Module:
        """Convert the floating-point tensors in the tree, and return self.

        A Parameter stays the same object, because an optimizer may hold it: change its ``.data``,
        and its ``.grad`` if it has one. Replace a buffer by a new tensor.
        """
        # TODO: integers keep their dtype.
        raise NotImplementedError("Module.to")


def refused(name: str, value: object) -> TypeError:
    """Return the error for a value that does not fit into the drawer. Given."""
    return TypeError(f"cannot assign '{type(value).__name__}' to {name!r}")


def unknown(module: Module, name: str) -> AttributeError:
    """Return the error for an unknown name. Given."""
    return AttributeError(f"{type(module).__name__!r} object has no attribute {name!r}")
