"""Record a program instead of running it."""

from __future__ import annotations

import inspect
import keyword
import operator
import re
import traceback
from dataclasses import dataclass
from dataclasses import field
from functools import cached_property
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
    """Stands for the value of a node while the program runs."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph = graph
        self.node = node

    def __getattr__(self, name: str) -> Proxy:
        """Return a proxy for the attribute, or for the method until it is called."""
        return _Attribute(self, name)

    def __getitem__(self, index: Any) -> Proxy:
        """Record the item."""
        return _record(self.graph, "call_function", operator.getitem, (self, index))

    def __bool__(self) -> bool:
        """Refuse: the value, and so the branch, is not known."""
        raise _refused("bool()")

    def __iter__(self) -> Iterator[Proxy]:
        """Refuse: how often a loop would run is not known."""
        raise _refused("iter()")

    def __len__(self) -> int:
        """Refuse: Python insists on an int, and a proxy is not one."""
        raise _refused("len()")

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Proxy:
        """Record the call of a torch function that was passed a proxy."""
        # A class has no graph: it must come from a proxy among the arguments, possibly in a list.
        proxies: list[Proxy] = []
        mapped((args, kwargs), lambda leaf: proxies.extend([leaf] * isinstance(leaf, Proxy)))
        return _record(proxies[0].graph, "call_function", func, args, kwargs)


class _Attribute(Proxy):
    """``x.name``: a method if it is called, and a node only once it is used as a value."""

    def __init__(self, owner: Proxy, name: str) -> None:
        self.graph = owner.graph
        self._owner = owner
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return _record(self.graph, "call_method", self._name, (self._owner, *args), kwargs)

    @cached_property
    def node(self) -> Node:
        arguments = (self._owner, self._name)
        return _record(self.graph, "call_function", getattr, arguments).node


def _define(name: str) -> None:
    function = getattr(operator, name)
    word = name.strip("_")

    def method(self: Proxy, *other: Any) -> Proxy:
        return _record(self.graph, "call_function", function, (self, *other))

    def reflected(self: Proxy, other: Any) -> Proxy:
        return _record(self.graph, "call_function", function, (other, self))

    # On the class, where Python looks for operators: it does not ask __getattr__ for them.
    setattr(Proxy, f"__{word}__", method)
    if name in BINARY:
        setattr(Proxy, f"__r{word}__", reflected)


for _name in (*BINARY, *COMPARISONS, *UNARY):
    _define(_name)


def _lowered(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        raise TraceError("a tensor that is no parameter or buffer of the root has no name")
    return leaf.node if isinstance(leaf, Proxy) else leaf


def _record(
    graph: Graph, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
) -> Proxy:
    # Before the node is added: a pending attribute becomes a node here, and must come first.
    args, kwargs = mapped((args, kwargs), _lowered)
    return Proxy(graph, graph.add(op, target, args, kwargs))


def _refused(what: str) -> TraceError:
    # The last three frames are the code that asked, the magic method, and this function.
    frame = traceback.extract_stack(limit=3)[0]
    place = f"{frame.filename}:{frame.lineno}"
    return TraceError(f"{what} of a proxy at {place}: its value is not known while tracing")


def trace(function: Callable[..., Any]) -> Graph:
    """Return the graph of `function`, with its nodes in the order in which they are recorded."""
    graph = Graph()
    inputs = []
    for name, parameter in inspect.signature(function).parameters.items():
        default = () if parameter.default is parameter.empty else (parameter.default,)
        inputs.append(_record(graph, "placeholder", name, default))
    _record(graph, "output", "output", (function(*inputs),))
    return graph
