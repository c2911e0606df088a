"""A log of every operator below autograd: ``__torch_dispatch__``.

``__torch_function__`` sees what you call. ``__torch_dispatch__`` sits at the other end of the
dispatcher, at the key Python, below autograd: it sees the operators that kernels are asked for.
What is composite has been decomposed, what autograd runs in a backward pass shows up too, and
``out = func(*args, **kwargs)`` goes on to the kernel. A mode (`TorchDispatchMode`) does it for
all tensors while it is entered, factories such as ``torch.zeros`` included.

Write a mode that keeps a log made for reading and for expect tests. ::

    with OperatorLog() as log:
        y = torch.mul(a, b)
        y.add_(1)
        z = y.view(6)
    print(log)

    $0: float32[2, 3] = input
    $1: float32[3] = input
    $2: float32[2, 3] = aten.mul.Tensor($0, $1)
    $2 = aten.add_.Tensor($2, 1)
    $3: float32[6] = aten.view.default($2, [6])  # alias of $2

- ``log.lines``: the lines, in order; ``str(log)``: the lines joined by newlines.
- Every tensor has a number, given when it is first seen, counting from 0. A tensor that appears
  as an argument without having been logged before (an input) first gets a line of its own, as
  above. Its arguments are looked at in order, positional before keyword, and lists are looked
  into; then come the results.
- A tensor that is numbered by this line is written ``$2: dtype[sizes]``, the dtype without
  ``torch.``; one that has a number already is written ``$2``. A tensor without dims is
  ``float32[]``.
- The operator is written as ``str(func)`` gives it. Arguments: tensors as ``$n``, lists and
  tuples as ``[a, b]`` with their items written in the same way, everything else by ``str``;
  keyword arguments as ``name=value``. Separator ``", "``.
- Several results are separated by ``", "``; a result that is no tensor is written by ``str``;
  if the result is None, the line is the call alone, without ``" = "``. A list of results
  counts as several.
- A result that is new, but shares the storage of a tensor among the arguments, gets two spaces
  and ``# alias of $n`` at the end of the line, with the first such argument. A line has one
  remark at most: the one for the first such result.
- A call that raises leaves no line of its own. The results are handed on as they are.
- The log must not keep tensors alive, and the number of a dead tensor is never given again.
  (``id()`` of a dead tensor is: `torch.utils.weak.WeakTensorKeyDictionary` is the tool.)
- Nothing that the log does itself is logged: do not compute with tensors, read their values or
  their repr while you log.

About 50 lines. In PyTorch: ``torch/utils/_python_dispatch.py`` (``TorchDispatchMode``); the
kernel that calls you is ``pythonFallback`` in ``aten/src/ATen/core/PythonFallbackKernel.cpp``.
Out of scope: tensor subclasses, tensors inside dicts, sparse tensors.
"""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class OperatorLog(TorchDispatchMode):
    """Keeps one readable line for each operator that runs below autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        # TODO: what does a log have to remember about tensors, without keeping them alive?

    def __str__(self) -> str:
        """Return the lines of the log, joined by newlines."""
        return "\n".join(self.lines)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run the operator `func`, log it, and return its result."""
        # TODO: number the inputs, go on to the kernel, then write the line.
        raise NotImplementedError("__torch_dispatch__")
