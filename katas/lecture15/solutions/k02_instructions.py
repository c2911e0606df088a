"""Turn a graph into a program of calls, and run it in the memory you are given."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.fx.node import map_aggregate


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping
    from collections.abc import Sequence

    from torch.export import ExportedProgram


# Given: do not change.
@dataclass(frozen=True)
class Ref:
    """An argument of a call that stands for the value with this number."""

    number: int

    def __repr__(self) -> str:
        return f"%{self.number}"


@dataclass(frozen=True)
class Call:
    """Call `function` with the arguments, and have it write value number `out`."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    out: int


@dataclass
class Plan:
    """A program: values (shape, dtype), which of them are constants or inputs, and the calls."""

    values: list[tuple[tuple[int, ...], torch.dtype]] = field(default_factory=list)
    constants: dict[int, str] = field(default_factory=dict)
    inputs: list[int] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def new_value(self, like: torch.Tensor) -> int:
        """Add a value that looks like `like`, and return its number."""
        self.values.append((tuple(like.shape), like.dtype))
        return len(self.values) - 1

    def __str__(self) -> str:
        lines = []
        for number, (shape, dtype) in enumerate(self.values):
            what = f" = {self.constants[number]}" if number in self.constants else ""
            what += " input" if number in self.inputs else ""
            lines.append(f"{number}  {str(dtype)[6:]}{list(shape)}{what}")
        for call in self.calls:
            given = [str(each) for each in call.args]
            given += [f"{key}={value}" for key, value in call.kwargs.items()]
            lines.append(f"{call.function}({', '.join(given)}) -> %{call.out}")
        return "\n".join([*lines, f"return {', '.join(f'%{number}' for number in self.outputs)}"])


def out_variant(function: Any) -> Any:
    """Return the overload with the same arguments that writes to ``out=``; LookupError if none."""
    packet = function.overloadpacket
    same = [(each.name, str(each.type)) for each in function._schema.arguments]  # noqa: SLF001
    for overload in packet.overloads():
        found = getattr(packet, overload)
        theirs = [(each.name, str(each.type)) for each in found._schema.arguments]  # noqa: SLF001
        if theirs == [*same, ("out", "Tensor")]:
            return found
    advice = "emit its copy" if function.is_view else "run_decompositions makes others of it"
    raise LookupError(f"{function} has no out=: {advice}")


def copying(function: Any) -> Any:
    """Return ``aten.permute_copy.default`` for ``aten.permute.default``."""
    packet = getattr(torch.ops.aten, f"{function.overloadpacket.__name__}_copy")
    return getattr(packet, function._overloadname)  # noqa: SLF001


def replaced(arguments: Any, kind: type, by: Callable[[Any], Any]) -> Any:
    """Return arguments with ``by(x)`` for each `x` of this kind, in lists and dicts too."""
    return map_aggregate(arguments, lambda x: by(x) if isinstance(x, kind) else x)


# The exercise.
def emit(program: ExportedProgram) -> Plan:
    """Return the plan of a program whose operators each return one tensor.

    Number the values in the order of the graph's nodes; ``node.meta["val"]`` has the shape and
    dtype of each. A constant has a ``spec.target``, an input has none. Replace each node among the
    arguments, in lists too, by a `Ref`; keep everything else. ``function.is_view`` says whether
    the result is a view.
    """
    plan, numbers = Plan(), dict[Any, int]()
    targets = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs}
    *nodes, output = program.graph.nodes
    for node in nodes:
        number = numbers[node] = plan.new_value(node.meta["val"])
        if node.op == "call_function":
            function = copying(node.target) if node.target.is_view else node.target
            both = (node.args, node.kwargs)
            args, kwargs = replaced(both, torch.fx.Node, lambda each: Ref(numbers[each]))
            plan.calls.append(Call(out_variant(function), args, kwargs, number))
        elif targets[node.name] is None:
            plan.inputs.append(number)
        else:
            plan.constants[number] = targets[node.name]
    plan.outputs = [numbers[node] for node in output.args[0]]
    return plan


def execute(
    plan: Plan,
    constants: Mapping[str, torch.Tensor],
    inputs: Sequence[torch.Tensor],
    memory: Sequence[torch.Tensor],
) -> list[torch.Tensor]:
    """Make the calls and return the outputs.

    ``memory[n]`` is where value n is written. Its entries for constants and inputs are not used:
    read those in place.
    """
    values = list(memory)
    for number, name in plan.constants.items():
        values[number] = constants[name]
    for number, x in zip(plan.inputs, inputs, strict=True):
        values[number] = x
    for call in plan.calls:
        args, kwargs = replaced((call.args, call.kwargs), Ref, lambda ref: values[ref.number])
        call.function(*args, **kwargs, out=values[call.out])
    return [values[number] for number in plan.outputs]
