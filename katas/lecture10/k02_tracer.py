"""Record a program instead of running it.

Call f with an x that has no value, only a notebook. Add 1 to it: "add, x, 1" is written down, and
you get another such object back. When f returns, the notebook is a graph. That is how
``torch.fx.symbolic_trace`` works. Look at one before you start:

    print(torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1).graph)

Build your own, about 50 lines, in five steps; each turns a group of tests green.

1. `Proxy.__add__` and `trace`: x + 1 becomes placeholder, call_function, output.
2. All operators: loop over BINARY, COMPARISONS and UNARY with setattr. Mind 1 - x.
3. ``__torch_function__``: this is where ``torch.relu(x)`` and ``torch.cat([x, y])`` arrive.
4. Attributes: ``x.view(-1)`` is one node, ``x.shape`` another kind. Which is it before it is
   called?
5. ``if x.sum() > 0`` has no answer: raise a `TraceError` that names the file and line.

Real life differs: FX also traces modules (the next kata), and allows ``a, b = x`` by looking at
the bytecode.
Afterwards find your five steps in ``torch/fx/proxy.py``.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from dataclasses import field
from itertools import count
from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterator


# Names in Python's module operator. Given.
BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"]
BINARY += ["lshift", "rshift", "and_", "or_", "xor"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
UNARY = ["neg", "pos", "invert", "abs"]


class TraceError(ValueError):
    """Given: the program does what a graph cannot express."""


@dataclass(eq=False)
class Node:
    """One line of a graph. Given.

    ==============  ====================  ==========================
    op              target                args, kwargs
    ==============  ====================  ==========================
    placeholder     a parameter's name    (), or (its default,)
    call_function   the function          as it was called
    call_method     the method's name     the object, then the rest
    output          "output"              (what is returned,)
    ==============  ====================  ==========================

    Where the program had a `Proxy`, `args` and `kwargs` hold its node.
    """

    name: str
    op: str
    target: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


class Graph:
    """Given: a list of nodes, in the order in which they run."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def add(
        self, op: str, target: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Node:
        """Append a node, under a name that no other node has, and return it."""
        stem = target if isinstance(target, str) else target.__name__
        name = unused(stem, {"self", *(node.name for node in self.nodes)})
        self.nodes.append(Node(name, op, target, args, kwargs or {}))
        return self.nodes[-1]


def unused(stem: str, taken: Collection[str]) -> str:
    """Return an identifier based on `stem` that is not in `taken`. Given."""
    stem = re.sub(r"\W|^(?=\d)", "_", stem)
    names = (f"{stem}_{number}" if number else stem for number in count())
    return next(name for name in names if name not in taken and not keyword.iskeyword(name))


def mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return `value` with `leaf` applied to everything in it that is not a container. Given."""
    if isinstance(value, list):
        return [mapped(item, leaf) for item in value]
    if isinstance(value, tuple):
        return tuple(mapped(item, leaf) for item in value)
    if isinstance(value, dict):
        return {key: mapped(item, leaf) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(mapped(part, leaf) for part in (value.start, value.stop, value.step)))
    return leaf(value)


class Proxy:
    """Stands for the value of a node. Its own attributes are only `graph`, `node` and ``_...``."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph = graph
        self.node = node

    def __getattr__(self, name: str) -> Proxy:
        """Return a proxy for the attribute, or for the method until it is called.

        A call of the proxy records a ``call_method``. If the proxy is used as a value, as an
        argument or a result, it becomes a ``call_function`` of ``getattr`` with (x, name): one
        node, created on first use. If it is never used, there is no node.
        """
        # TODO: add no node yet: nobody knows whether it will be called.
        raise NotImplementedError("__getattr__")

    def __getitem__(self, index: Any) -> Proxy:
        """Record a call of ``operator.getitem``; other operators record their own function."""
        # TODO: add a node. The other operators need methods too: 13, 13 reflected, 6 and 4.
        raise NotImplementedError("__getitem__")

    def __bool__(self) -> bool:
        """Raise a TraceError with "bool()" and ``file:line`` of the code that asked."""
        # TODO: traceback.extract_stack knows who called.
        raise NotImplementedError("__bool__")

    def __iter__(self) -> Iterator[Proxy]:
        """Raise a TraceError in the same way, with "iter()"."""
        # TODO: likewise.
        raise NotImplementedError("__iter__")

    def __len__(self) -> int:
        """Raise a TraceError in the same way, with "len()"."""
        # TODO: likewise.
        raise NotImplementedError("__len__")

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Proxy:
        """Record the call of a torch function that was passed a proxy, possibly inside a list."""
        # TODO: where does a classmethod get the graph from?
        raise NotImplementedError("__torch_function__")


def trace(function: Callable[..., Any]) -> Graph:
    """Return the graph of `function`, with its nodes in the order in which they are recorded.

    Proxies become nodes in new containers (`mapped`): the program's own lists stay as they are. If
    a tensor among arguments or results is not a proxy, raise a TraceError that says "tensor".
    """
    # TODO: a placeholder for each parameter (inspect.signature), the call, the output.
    raise NotImplementedError("trace")
