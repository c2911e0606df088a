"""Find out what a formula makes forward keep.

``exp`` keeps its result for backward, ``sin`` its input, ``add`` neither. Ask a node:

    y = torch.ones(2, requires_grad=True).exp()
    [name for name in dir(y.grad_fn) if name.startswith("_saved")]      # ['_saved_result']

No author of ``exp`` said so. A program reads the formulas of ``derivatives.yaml``, and what they
mention is saved:

    - name: exp(Tensor self) -> Tensor
      self: grad * result.conj()

Write that part of it, about 5 lines.

Begin on paper: what does ``grad * self.cos().conj()`` mention?
Afterwards open ``torchgen/packaged/autograd/derivatives.yaml`` in site-packages; in PyTorch's
repository it is ``tools/autograd/derivatives.yaml``.
"""

from __future__ import annotations

import re
from typing import Final


# What a formula asks of a tensor without its elements: that alone is saved, not the tensor.
PROPERTY: Final = re.compile(r"\b\w+\.(?:scalar_type|sizes|sym_sizes|options|numel|sym_numel)\(\)")


def without_properties(formula: str) -> str:
    """Return a formula without ``self.scalar_type()`` and its kind. Given."""
    return PROPERTY.sub("", formula)


def saved(arguments: list[str], formulas: dict[str, str]) -> list[str]:
    """Return what is saved: the names that formulas mention.

    Arguments come in their order, then "result"; other names, such as grad or those of functions,
    are not saved. What follows ``.``, ``->`` or ``::`` is a member: ``grad.self`` mentions grad,
    ``std::exp(x)`` std and x. `formulas` has one for each input that has a gradient.
    """
    # TODO: one regular expression finds the names of a formula.
    raise NotImplementedError("saved")
