"""Write a graph as Python.

A graph module has a ``forward`` that you can print, step through and profile. Nobody wrote it:
``torch.fx`` generates it from the graph and runs ``exec``.

    x = input                     def forward(self, x):
    relu = torch.relu(x)              relu_1 = relu(x)
    add = operator.add(relu, 1)       add_1 = add(relu_1, 1)
    return add                        return add_1

``relu`` and ``add`` on the right are globals, which your code brings along in a dictionary. What if
a node has the name of a function, or two functions have one name (``torch.relu``, ``F.relu``)?

Write ``Writer.text`` and `python_code`, about 25 lines: one statement for each node, in the order
of the graph.

- Use ``repr`` only for int, bool, str and None: for ``inf`` or ``torch.float32`` it returns no
  Python literal. Make globals of everything else.

Begin on paper: what do ``x[1:]`` and ``self.blocks[0].weight`` become?
Afterwards print ``torch.fx.symbolic_trace(f).code``; ``CodeGen`` in ``torch/fx/graph.py`` wrote it.
"""

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
        """Return Python for `value`: a node, a literal, or a list, tuple, dict or slice of them."""
        # TODO: one case for each; everything else becomes a constant.
        raise NotImplementedError("text")

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
    """Return the source of ``forward(self, ...)``, and the globals that it needs.

    Placeholders are its parameters, under their nodes' names, with defaults. Every other node is
    one statement, ``name = ...`` with the node's name; the output is ``return ...``. A statement
    uses no locals except the nodes among its arguments, and ``self``.
    """
    # TODO: parameters and statements, from the graph's nodes in order.
    raise NotImplementedError("python_code")


def compiled(graph: fx.Graph) -> Callable[..., Any]:
    """Return the function ``forward(self, ...)`` that the graph's code defines. Given."""
    source, constants = python_code(graph)
    namespace = dict(constants)
    exec(source, namespace)  # noqa: S102 - this is what the code is made for
    return namespace["forward"]
