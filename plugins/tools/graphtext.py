"""Formats an FX graph as text that is the same with every supported torch.

PyTorch changes the output of ``print(graph)`` between releases: names of nodes, annotations, the
spelling of functions. A snapshot in a test needs text that changes only with the graph.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING
from typing import Any

from plugins.tools import private


if TYPE_CHECKING:
    from collections.abc import Iterator


def graph_text(graph: Any) -> str:
    """Return one line for each node of a ``torch.fx.Graph``, or of a ``GraphModule``'s graph.

    ==============  ============================================
    op              line
    ==============  ============================================
    placeholder     ``x = input``, ``x = input(2.0)`` with a default
    get_attr        ``weight = self.fc.weight``
    call_function   ``add = operator.add(x, 1)``, ``mm = aten.mm.default(x, w)``
    call_method     ``view = x.view(-1, 4)``
    call_module     ``fc = self.fc(x)``
    output          ``return (add, None)``
    ==============  ============================================

    A name comes from the line's own function, input or attribute, not from ``node.name``; it gets
    a number if it is in use already. Graphs inside the graph (the branches of a ``cond``) follow
    it, indented, under their names. Tensor arguments are shown as dtype and shape.

    Source of the fields: ``torch/fx/node.py``, ``Node``.
    """
    owner = None if hasattr(graph, "nodes") else graph
    nodes = graph.nodes if owner is None else owner.graph.nodes
    return "\n".join(_lines(nodes, owner, {}))


def _lines(nodes: Any, owner: Any, names: dict[Any, str]) -> Iterator[str]:
    inner = {}
    for node in nodes:
        if node.op == "output":
            yield f"return {_literal(node.args[0], names)}"
            continue
        name = names[node] = _unused(_stem(node), set(names.values()))
        yield f"{name} = {_right_side(node, names)}"
        if node.op == "get_attr" and owner is not None:
            value = _attribute(owner, node.target)
            if hasattr(value, "graph"):
                inner[node.target] = value
    for target, module in inner.items():
        yield f"{target}:"
        yield from (f"    {line}" for line in _lines(module.graph.nodes, module, {}))


def _right_side(node: Any, names: dict[Any, str]) -> str:
    if node.op == "placeholder":
        return f"input({_literal(node.args[0], names)})" if node.args else "input"
    if node.op == "get_attr":
        return f"self.{node.target}"
    arguments = [_literal(argument, names) for argument in node.args]
    arguments += [f"{key}={_literal(value, names)}" for key, value in sorted(node.kwargs.items())]
    if node.op == "call_method":
        return f"{arguments[0]}.{node.target}({', '.join(arguments[1:])})"
    called = f"self.{node.target}" if node.op == "call_module" else function_name(node.target)
    return f"{called}({', '.join(arguments)})"


def function_name(function: Any) -> str:
    """Return ``aten.mm.default`` for an overload, ``operator.add``, or the name alone."""
    if private.is_overload(function):
        # An OpOverload: "aten::mm" and "default", or no overload name for an operator like cond.
        name = private.operator_name(function).replace("::", ".")
        return f"{name}.{private.overload_name(function)}"
    name = getattr(function, "__name__", type(function).__name__)
    module = getattr(function, "__module__", None)
    return f"operator.{name}" if module == "_operator" else str(name)


def _stem(node: Any) -> str:
    if node.op == "call_function":
        name = function_name(node.target)
        # "default" or "Tensor" says nothing: aten.add.Tensor is an add.
        return name.split(".")[1] if "." in name else name
    return str(node.target).lstrip("*").replace(".", "_")


def _unused(stem: str, taken: set[str]) -> str:
    numbered = (f"{stem}_{number}" for number in count(1))
    return stem if stem not in taken else next(name for name in numbered if name not in taken)


def _attribute(owner: Any, target: str) -> Any:
    for name in target.split("."):
        owner = getattr(owner, name, None)
    return owner


def _literal(value: Any, names: dict[Any, str]) -> str:  # noqa: PLR0911 - one for each type
    if type(value).__name__ == "Node" and value in names:
        return names[value]
    if isinstance(value, list | tuple):
        inside = ", ".join(_literal(item, names) for item in value)
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, dict):
        items = (f"{key!r}: {_literal(item, names)}" for key, item in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
        return f"slice({', '.join(_literal(part, names) for part in parts)})"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if callable(value) and hasattr(value, "__name__"):
        return function_name(value)
    return repr(value)
