"""Build a tape.

A tensor in 2016 knew nothing about gradients. You wrapped it in a ``Variable``, and each operation
on it was recorded as the program ran. Read backwards, the record gives the gradients:

    x = Variable(torch.tensor(3.0), tape)        tape.entries
    y = x * x                                    (y, [x, x], rule of *)
    z = y + x                                    (z, [y, x], rule of +)

The operators and their rules are given. Write the two methods of `Tape`, about ten lines.

1. `record`: compute, wrap, append an entry.
2. `backward`: go from the last entry to the first, pass gradients on, and add them up where two
   arrive.

Begin on paper: which gradients does x get from the two entries, and how many?
Afterwards open ``torch/csrc/autograd/variable.h``: ``Variable`` is now just another name for
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
        """Add; both inputs get the gradient unchanged."""
        return self.tape.record(torch.add, [self, other], lambda grad: (grad, grad))

    def __mul__(self, other: Variable) -> Variable:
        """Multiply; each input gets the gradient times the other input."""
        return self.tape.record(
            torch.mul, [self, other], lambda grad: (grad * other.data, grad * self.data)
        )

    def sin(self) -> Variable:
        """Return the sine; the gradient is multiplied by the cosine."""
        return self.tape.record(torch.sin, [self], lambda grad: (grad * self.data.cos(),))


# ---- the exercise ----------------------------------------------------------------------------


class Tape:
    """A record of the operations, in the order in which they ran."""

    def __init__(self) -> None:
        """Start with an empty tape."""
        self.entries: list[tuple[Variable, list[Variable], Rule]] = []

    def record(
        self, forward: Callable[..., torch.Tensor], inputs: list[Variable], rule: Rule
    ) -> Variable:
        """Call `forward` on the data of `inputs`, and return the result as a Variable.

        Append an entry to the tape: (result, inputs, rule).
        """
        # TODO: three lines.
        raise NotImplementedError("Tape.record")

    def backward(self, result: Variable) -> None:
        """Give `result` a gradient of ones, and every Variable that it depends on its gradient.

        ``rule(grad)`` returns a gradient for each input, possibly the same tensor for two of them.
        A Variable on which `result` does not depend keeps grad None. Do not change the tape.
        """
        # TODO: about seven lines.
        raise NotImplementedError("Tape.backward")
