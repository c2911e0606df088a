"""Ship a model with ExecuTorch, and check the plan it comes with.

You have built the pieces; this is the real thing. `torch.export` makes the graph, ExecuTorch turns
it into its dialect, with a copy for each view, gives a delegate its part, and plans the memory:

    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    manager = program.to_executorch()
    manager.buffer                                   # the .pte
    manager.executorch_program.execution_plan[0]     # values, chains of instructions, inputs, ...

1. `ship`: for inference, whatever mode the model is in.
2. `answer`: load the bytes, run ``forward``. ExecuTorch refuses another batch size, but not a
   channels-last input, whose bytes it reads as if it were contiguous. And a NaN may be lost.
3. `conflicts`: the lifetimes of k04, read from the instructions and checked against the offsets.

Begin with ``print(manager.executorch_program.execution_plan[0])`` for a linear layer. About 20
lines. Afterwards let the Inspector tell you what ran, with the given `inspected`, and read
`run_decompositions` in ``torch/export/exported_program.py``, in site-packages: ExecuTorch calls it
first.

Real life differs: here the runtime is a Python module on x86, on a phone a C++ library on ARM.
"""

from __future__ import annotations

import copy
import importlib
import warnings
from itertools import combinations
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn


# Given: do not change. Each import takes seconds, so it happens only when it is needed.
def lowering() -> Any:
    """Return ``to_edge_transform_and_lower``."""
    return importlib.import_module("executorch.exir").to_edge_transform_and_lower


def runtime() -> Any:
    """Return the runtime, for ``load_program(...).load_method(...).execute(...)``."""
    return importlib.import_module("executorch.runtime").Runtime.get()


def inspected(data: bytes, x: torch.Tensor) -> list[Any]:
    """Run ``forward`` once, and return the Inspector's events: ``name``, ``perf_data``, ..."""
    program = runtime().load_program(data, enable_etdump=True)
    program.load_method("forward").execute([x])
    devtools = importlib.import_module("executorch.devtools")
    with TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        program.write_etdump_result_to_file(f"{folder}/etdump", f"{folder}/debug")
        blocks = devtools.Inspector(etdump_path=f"{folder}/etdump").event_blocks
    return [event for block in blocks if block.name == "Execute" for event in block.events]


def arguments(plan: Any, instruction: Any) -> list[int]:
    """Return the value numbers that an instruction reads or writes, including those in lists."""
    numbers: list[int] = []
    for number in instruction.instr_args.args:
        numbers += getattr(plan.values[number].val, "items", [number])
    return numbers


def placed(plan: Any) -> dict[int, range]:
    """Return the range of arena bytes of each planned value, by the value's number."""
    sizes = {0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 2, 6: 4, 7: 8, 11: 1}
    found = {}
    for number, value in enumerate(plan.values):
        where = getattr(value.val, "allocation_info", None)
        if where is not None:
            count = sizes[int(value.val.scalar_type)]
            for size in value.val.sizes:
                count *= size
            found[number] = range(where.memory_offset_low, where.memory_offset_low + count)
    return found


# The exercise.
def ship(model: nn.Module, example: torch.Tensor, delegates: Sequence[Any] = ()) -> Any:
    """Return ExecuTorch's manager of a program for inference; the model stays as it is.

    `delegates` are partitioners, for the argument ``partitioner``, which is a list.
    """
    # TODO: a copy in eval mode, then the lines of the brief.
    raise NotImplementedError("ship")


def answer(data: bytes, x: torch.Tensor) -> torch.Tensor:
    """Return the first output of ``forward`` of a .pte; `x` may have any strides.

    Raise ValueError if `x` contains NaN: ExecuTorch's max pooling may ignore it.
    """
    # TODO: refuse, load, and execute with a list of inputs.
    raise NotImplementedError("answer")


def conflicts(plan: Any) -> list[tuple[int, int]]:
    """Return the pairs of values, sorted, that share a byte while both are alive.

    Number the instructions in ``plan.chains[0].instructions`` from 1. A value is alive from the
    first to the last that has it among its `arguments`. Values in ``plan.inputs`` are alive from 0
    on, and those in ``plan.outputs`` until after the last instruction.
    """
    # TODO: first and last of each number; then all pairs of placed values.
    raise NotImplementedError("conflicts")
