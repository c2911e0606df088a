"""Another right answer: marks what is needed, folds with an interpreter, compares keys as text."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx


def _kind(node: fx.Node) -> str:
    """Return "pure", "effect" (stays, but writes to no tensor) or "write"."""
    if node.op in {"placeholder", "output"}:
        return "effect"
    if node.op == "get_attr" or node.target is operator.getitem:
        return "pure"
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or schema.is_mutable:
        return "write"
    random = torch.Tag.nondeterministic_seeded in node.target.tags
    return "effect" if random or len(schema.returns) == 0 else "pure"


def is_pure(node: fx.Node) -> bool:
    """Return whether all that `node` does is to compute its value, the same one each time."""
    return _kind(node) == "pure"


def _written(gm: fx.GraphModule) -> bool:
    return "write" in map(_kind, gm.graph.nodes)


def eliminate_dead_code(gm: fx.GraphModule) -> int:
    """Remove pure nodes that nothing uses; return by how many nodes the graph is shorter."""
    needed: set[fx.Node] = set()
    waiting = [node for node in gm.graph.nodes if not is_pure(node)]
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += node.all_input_nodes
    dead = [node for node in gm.graph.nodes if node not in needed]
    for node in dead[::-1]:
        gm.graph.erase_node(node)
    gm.recompile()
    return len(dead)


class _Constants(fx.Interpreter):
    """Runs what depends on no input, and keeps the values."""

    def run_node(self, n: fx.Node) -> Any:
        """Compute a constant; anything else is None."""
        constant = is_pure(n) and all(used in self.values for used in n.all_input_nodes)
        if not constant:
            return None
        self.values[n] = super().run_node(n)
        return self.values[n]


def fold_constants(gm: fx.GraphModule) -> int:
    """Compute now what depends on no input; return by how many nodes the graph is shorter."""
    before = len(gm.graph.nodes)
    if _written(gm):
        return 0
    interpreter = _Constants(gm, garbage_collect_values=False)
    values: dict[fx.Node, Any] = {}
    interpreter.values = values
    with torch.no_grad():
        interpreter.run(*(None for node in gm.graph.nodes if node.op == "placeholder"))
    for node, value in values.items():
        outside = set(node.users) - set(values)
        if not outside or node.op == "get_attr" or not torch.is_tensor(value):
            continue
        name = f"constant_{len(dir(gm))}"
        while hasattr(gm, name):
            name += "_"
        gm.register_buffer(name, value.detach().clone())
        with gm.graph.inserting_after(node):
            new = gm.graph.get_attr(name)
        for user in outside:
            user.replace_input_with(node, new)
    eliminate_dead_code(gm)
    return before - len(gm.graph.nodes)


def _text(value: Any) -> str:
    if isinstance(value, fx.Node):
        return f"%{value.name}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    return f"{type(value).__name__} {value!r}"


def merge_duplicates(gm: fx.GraphModule) -> int:
    """Compute what is the same once; return by how many nodes the graph is shorter."""
    if _written(gm):
        return 0
    stays: dict[str, fx.Node] = {}
    gone = []
    for node in filter(is_pure, gm.graph.nodes):
        named = sorted((name, _text(value)) for name, value in node.kwargs.items())
        first = stays.setdefault(f"{node.target} {_text(node.args)} {named}", node)
        if first is not node:
            node.replace_all_uses_with(first)
            gone.append(node)
    for node in reversed(gone):
        gm.graph.erase_node(node)
    gm.recompile()
    return len(gone)
