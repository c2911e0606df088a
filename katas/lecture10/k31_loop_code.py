"""Write the loops as code.

The last handler writes a program. For a sum over each row of x + row:

    def kernel(memory):
        for i0 in range(3):
            total = 0.0
            for r0 in range(4):
                tmp0 = memory['x'][4*i0 + r0]
                tmp1 = memory['row'][r0]
                tmp2 = tmp0 + tmp1
                total = total + tmp2
            memory['out'][i0] = total

Where does the total start, and at which depth is it stored? Write `to_python`, about 20 lines. The
handler `Distinct`, which lists each distinct call once, and the text of each operation are given in
``loops.py`` next to this file.

Begin with a `Pointwise` of one loop.
Afterwards set ``TORCH_LOGS=output_code``, look at a kernel that Inductor writes, and find
``CppKernel`` in ``torch/_inductor/codegen/cpp.py``.
"""

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
    """Return the source of ``kernel(memory)``: loops over numbers that fill `output`.

    ``memory[name]`` is a flat list of floats; `output` has the size of the result. There is one
    ``for`` for each of ``kernel.loops``, in order. In an iteration each distinct call is computed
    once, with the text in `OPERATIONS` (a load becomes the list's item); each element of the result
    is stored once, where ``output.indexer`` says. `REDUCTIONS` has the texts of a reduction's start
    and of its step.

    The source uses no names from outside except ``math`` and builtins, and imports nothing.
    """
    # TODO: write the loops, and in them a line for each distinct call.
    raise NotImplementedError("to_python")
