"""Symbolic tracing: run a program on values that write down what happens to them.

``torch.fx.symbolic_trace`` does not parse your code. It runs it once, on proxies: objects that do
not have a value, but a node in a graph, and that answer every operation with a new node and a
proxy of it. What Python itself decides on the way, the turns of ``for layer in self.layers`` or
``if self.training``, is decided once and for all; the graph holds what was done, not why.

Write ``Proxy``, ``trace(root)`` and ``python_code(graph)``. `root` is a function or a module;
of a module, `forward` is traced. The graph is made of the six kinds of nodes of FX:

==============  =================================================  ==========================
op              target                                             args, kwargs
==============  =================================================  ==========================
placeholder     the name of a parameter of the function            (), or (its default,)
get_attr        the path of a parameter or buffer from the root    ()
call_function   the function itself                                as it was called
call_method     the name of the method                             the object, then the rest
call_module     the path of the module from the root               as it was called
output          "output"                                           (what is returned,)
==============  =================================================  ==========================

Among `args` and `kwargs`, a proxy is stored as its node, also inside lists, tuples, dicts and
slices, however deep, in new ones: the program's own stay the program's. All else stays as it is.
Nodes stand in the order in which things happened.

*Operators.* ``x + y`` is a call of ``operator.add``, and so on for the names in the lists below
and for ``x[index]`` (``operator.getitem``). For those in BINARY there is the reflected method,
too: ``1 - x`` is ``operator.sub(1, x)``. ``x += y`` needs nothing: Python falls back to ``+``.

*Attributes.* ``x.view(-1)`` is one node, a call_method. ``x.shape`` is a call of ``getattr`` with
(x, "shape"), and it becomes a node when it is first used as a value (an argument, or returned),
once: never used, or called as a method, it is none. Therefore keep the names of your own
attributes to ``graph``, ``node`` and such as begin with an underscore.

*Functions of torch.* All that a proxy is handed to, ``torch.cat([x, y])`` or
``F.relu(x)``, arrive at ``__torch_function__``, in `args` and `kwargs`: a call_function.

*Modules.* While `root` runs, replace ``nn.Module.__call__`` and ``nn.Module.__getattr__``, and
put them back in any case, also after an error.

- A call of a leaf is a call_module. A leaf is a module whose class is defined in PyTorch (its
  ``__module__`` starts with "torch.nn") and is no ``nn.Sequential``. All other modules are run
  as usual, and what they do is recorded. `root` is run even if it is of a leaf's class.
- Reading a parameter or a buffer of `root` or of a module in it gives a proxy of a get_attr node,
  the same each time: one node for a tensor, at its first read. (Parameters and buffers are read
  through ``nn.Module.__getattr__``. Were they not proxies, ``self.w * 2`` would be computed while
  tracing.) Of several names for one tensor, the first of ``named_parameters()`` counts.

*What a graph cannot say* is a TraceError:

- ``bool(x)``, ``iter(x)`` and ``len(x)``, whatever asks for them (``if``, ``and``, ``for``, ``*x``,
  ``a, b = x``). The message holds "bool()", "iter()" or "len()", and ``file:line`` of the code
  that asked: the frame that called the method, its file as in ``__code__.co_filename``.
- A tensor among arguments or results that is not a proxy: message with "tensor".
- A call of a module that is not in `root`: message with "submodule" and the name of its class.

*Code.* ``python_code(graph)`` returns the source of a function ``forward(self, ...)`` and a
dictionary with the globals that it needs; ``compiled``, which is given, makes a function of them.
`self` is the module, or anything else if the graph has no modules; paths are looked up in it when
`forward` runs. Placeholders are the parameters, under their names, with defaults. Then comes one
statement for each node, in order, ``name = ...`` with the node's name, which uses no other local
names than those of the nodes among its arguments (and `self`); the output is ``return ...``.
Beware of: a node whose name is that of a function, two functions of one name (``torch.relu`` and
``F.relu``), paths such as "blocks.0", and constants whose repr cannot be run there: ``inf``,
``torch.float32``, a device, and a slice if a parameter is called ``slice``.

About 130 lines. Use nothing of ``torch.fx``, imports included, and compute nothing while tracing.
Out of scope: parameters ``*args``, ``**kwargs``, keyword-only ones or one called `self` in a
function, writing to items or attributes, functions that are not torch's (``math.sqrt``),
methods called by their class (``torch.Tensor.norm(x)``), modules as arguments, keyword arguments
called like a keyword of Python (``from``), and what FX does further: it keeps a constant tensor as
an attribute of the root, allows ``a, b = x`` by looking at the bytecode, and frees values after
their last use.

In PyTorch: ``torch/fx/proxy.py`` (``Proxy``, ``Attribute``), ``torch/fx/_symbolic_trace.py``
(``Tracer.trace``), ``torch/fx/graph.py`` (``CodeGen``).
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from dataclasses import field
from itertools import count
from typing import TYPE_CHECKING
from typing import Any

from torch import nn  # noqa: TC002 - your answer calls it


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
        # TODO: no node yet, since it is not known whether it will be called.
        raise NotImplementedError("__getattr__")

    def __getitem__(self, index: Any) -> Proxy:
        """Record the item."""
        # TODO: a node. The other operators need methods as well: 13, 13 reflected, 6 and 4.
        raise NotImplementedError("__getitem__")

    def __bool__(self) -> bool:
        """Refuse: the value, and so the branch, is not known."""
        # TODO: a TraceError that says where.
        raise NotImplementedError("__bool__")

    def __iter__(self) -> Iterator[Proxy]:
        """Refuse: how often a loop would run is not known."""
        # TODO: likewise.
        raise NotImplementedError("__iter__")

    def __len__(self) -> int:
        """Refuse: Python insists on an int, and a proxy is none."""
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
        """Record the call of a function of torch that was handed a proxy."""
        # TODO: where does a classmethod find the graph?
        raise NotImplementedError("__torch_function__")


def trace(root: nn.Module | Callable[..., Any]) -> Graph:
    """Return the graph of what `root` does, whatever its inputs are."""
    # TODO: inputs become placeholders; modules are patched for as long as `root` runs.
    raise NotImplementedError("trace")


def python_code(graph: Graph) -> tuple[str, dict[str, Any]]:
    """Return the source of ``forward(self, ...)``, and the globals that it needs."""
    # TODO: one statement for each node.
    raise NotImplementedError("python_code")
