"""Write Module from scratch."""

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
        kinds = (Parameter, torch.Tensor, Module)
        home = {Parameter: 0, Module: 2}
        number = next((n for kind, n in home.items() if isinstance(value, kind)), None)
        # Before __init__ there are no drawers: a plain value needs none.
        drawers = self.drawers() if number is not None or "_modules" in self.__dict__ else ()
        if number is not None:
            for place in (self.__dict__, *drawers):
                if place is not drawers[number]:
                    place.pop(name, None)
            drawers[number][name] = value
            return
        for drawer, kind in zip(drawers, kinds, strict=False):
            if name in drawer:
                if value is not None and not isinstance(value, kind):
                    raise refused(name, value)
                drawer[name] = value
                return
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """Return a value from a drawer; Python calls this only if normal lookup fails.

        If no drawer has it, raise ``unknown(self, name)``.
        """
        for drawer in self.drawers():
            if name in drawer:
                return drawer[name]
        raise unknown(self, name)

    def named_modules(
        self, prefix: str = "", seen: set[Module] | None = None
    ) -> Iterator[tuple[str, Module]]:
        """Yield ``(prefix, self)``, then all modules below, depth first: "block", "block.linear".

        The whole walk shares `seen`: a module in it is not listed again.
        """
        seen = set() if seen is None else seen
        if self not in seen:
            seen.add(self)
            yield prefix, self
            for name, child in self.drawers()[2].items():
                if child is not None:
                    yield from child.named_modules(f"{prefix}.{name}" if prefix else name, seen)

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Yield each Parameter once, with its path: "block.linear.weight"."""
        seen = set()
        for path, module in self.named_modules():
            for name, parameter in module.drawers()[0].items():
                if parameter is not None and parameter not in seen:
                    seen.add(parameter)
                    yield f"{path}.{name}" if path else name, parameter

    def apply(self, function: Callable[[Module], object]) -> Module:
        """Call `function` with each module below, then with self; return self.

        How often `function` gets a module with two names does not matter here.
        """
        for child in self.drawers()[2].values():
            if child is not None:
                child.apply(function)
        function(self)
        return self

    def train(self, mode: bool = True) -> Module:  # noqa: FBT001, FBT002 - as PyTorch's
        """Set ``training`` of each module in the tree, and return self."""
        for _, module in self.named_modules():
            module.training = mode
        return self

    def to(self, dtype: torch.dtype) -> Module:
        """Convert the floating-point tensors in the tree, and return self.

        A Parameter stays the same object, because an optimizer may hold it: change its ``.data``,
        and its ``.grad`` if it has one. Replace a buffer by a new tensor.
        """
        for _, parameter in self.named_parameters():
            if parameter.is_floating_point():
                parameter.data = parameter.data.to(dtype)
                if parameter.grad is not None:
                    parameter.grad.data = parameter.grad.data.to(dtype)
        for _, module in self.named_modules():
            buffers = module.drawers()[1]
            for name, buffer in buffers.items():
                if buffer is not None and buffer.is_floating_point():
                    buffers[name] = buffer.to(dtype)
        return self


def refused(name: str, value: object) -> TypeError:
    """Return the error for a value that does not fit into the drawer. Given."""
    return TypeError(f"cannot assign '{type(value).__name__}' to {name!r}")


def unknown(module: Module, name: str) -> AttributeError:
    """Return the error for an unknown name. Given."""
    return AttributeError(f"{type(module).__name__!r} object has no attribute {name!r}")
