"""Trace modules: which become calls, and which are traced into."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from typing import Any

from torch import fx
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def recorded_modules(root: nn.Module, tracer: fx.proxy.TracerBase) -> Iterator[None]:
    """Replace the two methods while the block runs, and always put them back."""
    call, read = nn.Module.__call__, nn.Module.__getattr__
    paths = {module: path for path, module in root.named_modules()}
    names = {id(t): name for name, t in (*root.named_parameters(), *root.named_buffers())}
    proxies: dict[str, fx.Proxy] = {}

    def recorded_call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if module not in paths:
            raise ValueError(f"this {type(module).__name__} is no submodule of the root")
        library = type(module).__module__.startswith("torch.nn")
        if library and not isinstance(module, nn.Sequential):
            return tracer.create_proxy("call_module", paths[module], args, kwargs)
        return call(module, *args, **kwargs)

    def recorded_read(module: nn.Module, attribute: str) -> Any:
        value = read(module, attribute)
        if id(value) not in names:
            return value
        name = names[id(value)]
        if name not in proxies:
            proxies[name] = tracer.create_proxy("get_attr", name, (), {})
        return proxies[name]

    nn.Module.__call__, nn.Module.__getattr__ = recorded_call, recorded_read
    try:
        yield
    finally:
        nn.Module.__call__, nn.Module.__getattr__ = call, read


def trace(root: nn.Module) -> fx.Graph:
    """Return the graph of a module's forward. Given."""
    graph = fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(graph)
    with recorded_modules(root, tracer):
        inputs = []
        for name, parameter in inspect.signature(root.forward).parameters.items():
            default = () if parameter.default is parameter.empty else (parameter.default,)
            inputs.append(tracer.create_proxy("placeholder", name, default, {}))
        result = tracer.create_arg(root.forward(*inputs))
        tracer.create_node("output", "output", (result,), {})
    return graph
