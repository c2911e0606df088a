"""Get a graph from Python code that nobody runs."""

from __future__ import annotations

import inspect
import operator
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.node import map_aggregate

from katas.lecture10.bytecode import Captured
from katas.lecture10.bytecode import Frame
from katas.lecture10.bytecode import GraphBreak
from katas.lecture10.bytecode import TensorVariable
from katas.lecture10.bytecode import fact


if TYPE_CHECKING:
    from collections.abc import Callable


class Tracer:
    """What all functions of a trace share: the graph, the guards, and how a call is recorded."""

    def __init__(self) -> None:
        self.graph = fx.Graph()
        self.guards: dict[str, Any] = {}
        self.mode = FakeTensorMode()

    def argument(self, name: str, value: Any) -> Any:
        """Guard an argument; a tensor becomes a placeholder."""
        if not isinstance(value, torch.Tensor):
            self.guards[f"input {name}"] = fact(value)
            return value
        self.guards[f"input {name}"] = (value.dtype, tuple(value.shape), value.device)
        return TensorVariable(self.graph.placeholder(name), self.mode.from_tensor(value))

    def record(self, op: str, target: Any, args: Any, kwargs: Any, line: int) -> Any:
        """Run a call on fake tensors; if it returns a tensor, record a node."""
        fakes, names = fields(args, "fake"), fields(kwargs, "fake")
        try:
            with self.mode:
                if op == "call_method":
                    result = getattr(fakes[0], target)(*fakes[1:], **names)
                else:
                    result = target(*fakes, **names)
        except RuntimeError as error:
            raise GraphBreak(str(error), line) from error
        if not holds_tensor(result):
            return result
        args, kwargs = fields(args, "node"), fields(kwargs, "node")
        return self.wrap(self.graph.create_node(op, target, args, kwargs), result)

    def wrap(self, node: fx.Node, result: Any) -> Any:
        """Return the tracker of a result, or a tuple of trackers, each with a node."""
        if isinstance(result, torch.Tensor):
            return TensorVariable(node, result)
        items = enumerate(result)
        getitem = self.graph.call_function
        return tuple(self.wrap(getitem(operator.getitem, (node, i)), item) for i, item in items)


def fields(value: Any, field: str) -> Any:
    """Return `value` with each tracker replaced by its "node" or its "fake". Given."""
    return map_aggregate(
        value, lambda it: getattr(it, field) if isinstance(it, TensorVariable) else it
    )


def holds_tensor(value: Any) -> bool:
    """Return whether a value is a tensor, or a list or tuple with one in it. Given."""
    if isinstance(value, list | tuple):
        return any(holds_tensor(item) for item in value)
    return isinstance(value, torch.Tensor)


def capture(function: Callable[..., Any], *args: Any) -> Captured:
    """Return the graph of ``function(*args)``, and the guards under which it holds. Given."""
    tracer = Tracer()
    bound = inspect.signature(function).bind(*args)
    bound.apply_defaults()
    variables = {name: tracer.argument(name, value) for name, value in bound.arguments.items()}
    result = Frame(tracer, function, variables).run()
    tracer.graph.output(fields(result, "node"))
    return Captured(fx.GraphModule({}, tracer.graph), tracer.guards)
