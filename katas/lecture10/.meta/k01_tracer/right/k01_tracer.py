"""Symbolic tracing: run a program on values that write down what happens to them."""

from __future__ import annotations

import inspect
import keyword
import operator
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import nn


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
    """Given: the program does what a graph cannot say."""


@dataclass(eq=False)
class Node:
    """Given: one line of a graph. Nodes among its arguments are the values that it uses."""

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
    """Return an identifier made of `stem` that is not among `taken`. Given."""
    stem = re.sub(r"\W|^(?=\d)", "_", stem)
    names = (f"{stem}_{number}" if number else stem for number in count())
    return next(name for name in names if name not in taken and not keyword.iskeyword(name))


def compiled(graph: Graph) -> Callable[..., Any]:
    """Return the function ``forward(self, ...)`` that the graph's code defines. Given."""
    source, constants = python_code(graph)
    namespace = dict(constants)
    exec(source, namespace)  # noqa: S102 - this is what the code is made for
    return namespace["forward"]


class Proxy:
    """Stands for the value of a node while the program runs."""

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph = graph
        self.node = node

    def __getattr__(self, name: str) -> Proxy:
        """Return what stands for the attribute, or for the method until it is called."""
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
        """Refuse: Python insists on an int, and a proxy is none."""
        raise _refused("len()")

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Proxy:
        """Record the call of a function of torch that was handed a proxy."""
        # A class has no graph: it must come from a proxy among the arguments, maybe in a list.
        proxies: list[Proxy] = []
        _mapped((args, kwargs), lambda leaf: proxies.extend([leaf] * isinstance(leaf, Proxy)))
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


def _mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return `value` with `leaf` applied to whatever in it is no container."""
    if isinstance(value, list):
        return [_mapped(item, leaf) for item in value]
    if isinstance(value, tuple):
        return tuple(_mapped(item, leaf) for item in value)
    if isinstance(value, dict):
        return {key: _mapped(item, leaf) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(_mapped(part, leaf) for part in (value.start, value.stop, value.step)))
    return leaf(value)


def _lowered(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        raise TraceError("a tensor that is no parameter or buffer of the root has no name")
    return leaf.node if isinstance(leaf, Proxy) else leaf


def _record(
    graph: Graph, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
) -> Proxy:
    # Before the node is added: a pending attribute becomes a node here, and must come first.
    args, kwargs = _mapped((args, kwargs), _lowered)
    return Proxy(graph, graph.add(op, target, args, kwargs))


def _refused(what: str) -> TraceError:
    # Above this function and the magic method stands the code that asked.
    frame = sys._getframe(2)  # noqa: SLF001 - inspect.currentframe is the same
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return TraceError(f"{what} of a proxy at {place}: its value is not known while tracing")


@contextmanager
def _recorded_modules(root: nn.Module, graph: Graph) -> Iterator[None]:
    call, read = nn.Module.__call__, nn.Module.__getattr__
    paths = {module: path for path, module in root.named_modules()}
    tensors = [*root.named_parameters(), *root.named_buffers()]
    names = {id(tensor): name for name, tensor in tensors}
    proxies: dict[str, Proxy] = {}

    def recorded_call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if module not in paths:
            raise TraceError(f"this {type(module).__name__} is no submodule of the root")
        library = type(module).__module__.startswith("torch.nn")
        if library and not isinstance(module, nn.Sequential):
            return _record(graph, "call_module", paths[module], args, kwargs)
        return call(module, *args, **kwargs)

    def recorded_read(module: nn.Module, attribute: str) -> Any:
        value = read(module, attribute)
        if id(value) not in names:
            return value
        name = names[id(value)]
        if name not in proxies:
            proxies[name] = _record(graph, "get_attr", name, ())
        return proxies[name]

    nn.Module.__call__, nn.Module.__getattr__ = recorded_call, recorded_read
    try:
        yield
    finally:
        nn.Module.__call__, nn.Module.__getattr__ = call, read


def trace(root: nn.Module | Callable[..., Any]) -> Graph:
    """Return the graph of what `root` does, whatever its inputs are."""
    graph = Graph()
    is_module = isinstance(root, nn.Module)
    module, function = (root, root.forward) if is_module else (nn.Module(), root)
    with _recorded_modules(module, graph):
        inputs = []
        for name, parameter in inspect.signature(function).parameters.items():
            default = () if parameter.default is parameter.empty else (parameter.default,)
            inputs.append(_record(graph, "placeholder", name, default))
        _record(graph, "output", "output", (function(*inputs),))
    return graph


class _Writer:
    """Writes values of a graph as Python, and collects the globals that this takes."""

    def __init__(self, graph: Graph) -> None:
        # A local variable hides a global of the same name: globals keep off the nodes' names.
        self._taken = {node.name for node in graph.nodes}
        self.constants: dict[str, Any] = {}

    def constant(self, value: Any) -> str:
        stem = getattr(value, "__name__", "constant")
        name = unused(stem, {*self._taken, *self.constants})
        self.constants[name] = value
        return name

    def text(self, value: Any) -> str:
        if isinstance(value, Node):
            return value.name
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, tuple):
            return f"({''.join(f'{self.text(item)}, ' for item in value)})"
        if isinstance(value, dict):
            items = [f"{self.text(key)}: {self.text(item)}" for key, item in value.items()]
            return f"{{{', '.join(items)}}}"
        if isinstance(value, slice):
            return self.constant(slice) + self.text((value.start, value.stop, value.step))
        # The repr of these is Python; that of inf, of a dtype or of an enum is not.
        plain = type(value) in {int, bool, str, type(None)}
        return repr(value) if plain else self.constant(value)

    def attribute(self, path: str) -> str:
        # Modules in a Sequential have names such as "0": self.blocks.0 is no Python.
        return f"{self.constant(operator.attrgetter)}({path!r})(self)"

    def call(self, node: Node) -> str:
        args = [self.text(argument) for argument in node.args]
        if node.op == "call_function":
            function = self.constant(node.target)
        elif node.op == "call_module":
            function = self.attribute(node.target)
        else:
            function = f"{args.pop(0)}.{node.target}"
        args += [f"{key}={self.text(argument)}" for key, argument in node.kwargs.items()]
        return f"{function}({', '.join(args)})"


def python_code(graph: Graph) -> tuple[str, dict[str, Any]]:
    """Return the source of ``forward(self, ...)``, and the globals that it needs."""
    writer = _Writer(graph)
    parameters, lines = ["self"], []
    for node in graph.nodes:
        if node.op == "placeholder":
            parameters.append("=".join([node.name, *map(writer.text, node.args)]))
        elif node.op == "output":
            lines.append(f"return {writer.text(node.args[0])}")
        elif node.op == "get_attr":
            lines.append(f"{node.name} = {writer.attribute(node.target)}")
        else:
            lines.append(f"{node.name} = {writer.call(node)}")
    return "\n    ".join([f"def forward({', '.join(parameters)}):", *lines]), writer.constants
