"""Write a graph as Python."""

from __future__ import annotations

import keyword
import operator
import re
from itertools import count
from typing import TYPE_CHECKING
from typing import Any

from torch import fx


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection


def unused(stem: str, taken: Collection[str]) -> str:
    """Return an identifier based on `stem` that is not in `taken`. Given."""
    stem = re.sub(r"\W|^(?=\d)", "_", stem)
    names = (f"{stem}_{number}" if number else stem for number in count())
    return next(name for name in names if name not in taken and not keyword.iskeyword(name))


class Writer:
    """Writes arguments of nodes as Python, and collects the globals that the code needs."""

    def __init__(self, graph: fx.Graph) -> None:
        """Remember the nodes' names: a local variable hides a global of the same name. Given."""
        self.taken = {node.name for node in graph.nodes}
        self.constants: dict[str, Any] = {}

    def constant(self, value: Any) -> str:
        """Keep `value` under a name of its own in `constants`, and return the name. Given."""
        stem = getattr(value, "__name__", "constant")
        name = unused(stem, {"self", *self.taken, *self.constants})
        self.constants[name] = value
        return name

    def text(self, value: Any) -> str:
        """Return Python for `value`: a node, a literal, or a container of them."""
        if isinstance(value, fx.Node):
            return value.name
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, tuple):
            return f"({''.join(f'{self.text(item)}, ' for item in value)})"
        if isinstance(value, dict):
            return f"{{{''.join(f'{self.text(k)}: {self.text(v)}, ' for k, v in value.items())}}}"
        if isinstance(value, slice):
            return self.constant(slice) + self.text((value.start, value.stop, value.step))
        # The repr of these is Python; that of inf, of a dtype or of an enum is not.
        return repr(value) if type(value) in {int, bool, str, type(None)} else self.constant(value)

    def attribute(self, path: str) -> str:
        """Return Python for ``self.<path>``, which is looked up when the code runs. Given."""
        # Modules in a Sequential have names such as "0": self.blocks.0 is not valid Python.
        return f"{self.constant(operator.attrgetter)}({path!r})(self)"

    def call(self, node: fx.Node) -> str:
        """Return Python for a call_function, call_method or call_module. Given."""
        args = [self.text(argument) for argument in node.args]
        if node.op == "call_method":
            function = f"{args.pop(0)}.{node.target}"
        else:
            module = node.op == "call_module"
            function = (self.attribute if module else self.constant)(node.target)
        args += [f"{key}={self.text(argument)}" for key, argument in node.kwargs.items()]
        return f"{function}({', '.join(args)})"


def python_code(graph: fx.Graph) -> tuple[str, dict[str, Any]]:
    """Return the source of ``forward(self, ...)``, and the globals that it needs."""
    writer, parameters, lines = Writer(graph), ["self"], []
    for node in graph.nodes:
        if node.op == "placeholder":
            parameters.append("=".join([node.name, *map(writer.text, node.args)]))
        elif node.op == "output":
            lines.append(f"return {writer.text(node.args[0])}")
        else:
            read = node.op == "get_attr"
            lines.append(
                f"{node.name} = {writer.attribute(node.target) if read else writer.call(node)}"
            )
    return "\n    ".join([f"def forward({', '.join(parameters)}):", *lines]), writer.constants


def compiled(graph: fx.Graph) -> Callable[..., Any]:
    """Return the function ``forward(self, ...)`` that the graph's code defines. Given."""
    source, constants = python_code(graph)
    namespace = dict(constants)
    exec(source, namespace)  # noqa: S102 - this is what the code is made for
    return namespace["forward"]
