"""Write the loops as code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from katas.lecture10.loops import OPERATIONS
from katas.lecture10.loops import REDUCTIONS
from katas.lecture10.loops import Distinct
from katas.lecture10.loops import Reduction
from katas.lecture10.loops import handling
from katas.lecture10.loops import symbols


if TYPE_CHECKING:
    from katas.lecture10.loops import Buffer
    from katas.lecture10.loops import Pointwise


def to_python(kernel: Pointwise | Reduction, output: Buffer) -> str:
    """Return the source of ``kernel(memory)``: loops over numbers that fill `output`."""
    variables, handler, outer = symbols(kernel), Distinct(), len(kernel.size)
    with handling(handler):
        result = kernel.body(variables)
    lines, depth = ["def kernel(memory):"], 1

    def write(line: str) -> None:
        lines.append("    " * depth + line)

    for place, (variable, times) in enumerate(zip(variables, kernel.loops, strict=True)):
        if place == outer:
            write(f"total = {REDUCTIONS[kernel.kind][1]}")
        write(f"for {variable} in range({times}):")
        depth += 1
    for number, (name, args) in enumerate(handler.calls):
        if name == "load":
            write(f"tmp{number} = memory[{args[0]!r}][{args[1]}]")
        else:
            write(f"tmp{number} = {OPERATIONS[name][1].format(*args)}")
    if isinstance(kernel, Reduction):
        write(f"total = {REDUCTIONS[kernel.kind][2].format('total', result)}")
        # The store comes after the inner loops, inside the outer ones.
        depth, result = outer + 1, "total"
    write(f"memory[{output.name!r}][{output.indexer(variables[:outer])}] = {result}")
    return "\n".join(lines)
