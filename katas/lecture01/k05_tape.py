"""Build a tape.

A tensor of 2017 knew nothing of gradients. One wrapped it in a ``Variable``, and a record was kept
of what was done to it. The program runs; the record is made as it runs; read backwards, it gives
the gradients:

    x = Variable(torch.tensor(3.0), tape)        tape.entries
    y = x * x                                    (y, [x, x], rule of *)
    z = y + x                                    (z, [y, x], rule of +)

The operators and their rules are given. Write the two methods of `Tape`, about ten lines.

1. `record`: compute, wrap, note.
2. `backward`: from the last entry to the first, hand gradients on, and add up where two arrive.

Begin on paper: which gradients does x get from the two entries, and how many?
Afterwards open ``torch/csrc/autograd/variable.h``: what is left of Variable is another name for
Tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    Rule = Callable[[torch.Tensor], Sequence[torch.Tensor]]


# ---- given -----------------------------------------------------------------------------------


class Variable:
    """A tensor with a tape and, after backward, a gradient."""

    def __init__(self, data: torch.Tensor, tape: Tape) -> None:
        """Wrap `data`."""
        self.data = data
        self.tape = tape
        self.grad: torch.Tensor | None = None

    def __add__(self, other: Variable) -> Variable:
        """Add; both get the gradient as it is."""
        return self.tape.record(torch.add, [self, other], lambda grad: (grad, grad))

    def __mul__(self, other: Variable) -> Variable:
        """Multiply; each gets the gradient times the other."""
        return self.tape.record(
            torch.mul, [self, other], lambda grad: (grad * other.data, grad * self.data)
        )

    def sin(self) -> Variable:
        """Return the sine; the gradient is multiplied by the cosine."""
        return self.tape.record(torch.sin, [self], lambda grad: (grad * self.data.cos(),))


# ---- the exercise ----------------------------------------------------------------------------


class Tape:
    """What was done, in the order in which it was done."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.entries: list[tuple[Variable, list[Variable], Rule]] = []

    def record(
        self, forward: Callable[..., torch.Tensor], inputs: list[Variable], rule: Rule
    ) -> Variable:
        """Call `forward` on the data of `inputs`; return a Variable, and note it as an entry.

        An entry is (result, inputs, rule).
        """
        # TODO: three lines.
        raise NotImplementedError("Tape.record")

    def backward(self, result: Variable) -> None:
        """Give `result` a gradient of ones, and each Variable that it depends on its own.

        ``rule(grad)`` returns a gradient for each input, maybe the same tensor for two. A
        Variable on which `result` does not depend keeps grad None. The tape is read, not used up.
        """
        # TODO: about seven lines.
        raise NotImplementedError("Tape.backward")
