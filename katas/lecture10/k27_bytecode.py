"""Get a graph from Python code that nobody runs.

TorchDynamo does not call your function. It reads the bytecode and does what the interpreter would
do, on a stack of its own, where a tensor is a *variable tracker*: a node of a graph, with a fake
tensor that knows shape and dtype but has no data.

    x + 1     local x        stack: [tracker of x]
              const 1        stack: [tracker of x, 1]
              operator add   record -> [tracker of add: node add, fake (3,) float32]

The machine with the stack is given (``bytecode.py``): it computes Python's own values directly, and
a branch on a tensor is a graph break. Whatever touches a tensor goes to your `Tracer`, about 25
lines.

1. ``argument``: guard it; a tensor becomes a placeholder.
2. ``record``: run the call on fakes. Did a tensor come out? Then add a node.
3. ``wrap``: a result that is a list of tensors.

Begin by printing ``instructions(f)`` for a loop; `Instruction` says what each one does.
Afterwards find ``get_fake_value`` in ``torch/_dynamo/utils.py``, and the stack in
``symbolic_convert.py``.
"""

from __future__ import annotations

import inspect
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
        """Return what represents an argument, and keep its guard under ``"input NAME"``.

        A tensor becomes a placeholder of its name and a fake (``mode.from_tensor``), and its guard
        is (dtype, shape as a tuple, device). Anything else stays as it is, and `fact` returns its
        guard.
        """
        # TODO: handle two cases.
        raise NotImplementedError("argument")

    def record(self, op: str, target: Any, args: Any, kwargs: Any, line: int) -> Any:
        """Make a call that touches a tensor, on fakes and under ``mode``; return its result.

        `op` is "call_function" or "call_method" (of ``args[0]``). `args` and `kwargs` may contain
        trackers, including inside lists. If the result contains no tensor (a shape, a number),
        return it as it is, and add no node. Otherwise add a node, and return the result wrapped
        with `wrap`. A RuntimeError on fakes, such as that of ``.item()``, is a graph break: raise
        GraphBreak with its text and the line.
        """
        # TODO: fields gives fakes for the run, and nodes for the graph.
        raise NotImplementedError("record")

    def wrap(self, node: fx.Node, result: Any) -> Any:
        """Return a tensor's tracker; for a list, a tuple with an ``operator.getitem`` per item."""
        # TODO: create all nodes now, whether or not they are used later.
        raise NotImplementedError("wrap")


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
