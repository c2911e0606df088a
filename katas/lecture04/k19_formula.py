"""What a formula keeps alive.

Your model has a million weights, and training fills the GPU: autograd keeps what backward needs.
Look at what:

    x = torch.ones(3, requires_grad=True)
    [name for name in dir(x.exp().grad_fn) if name.startswith("_saved")]    # and for cos, neg

All of that follows from one file, derivatives.yaml, and one rule: kept is what a formula mentions.

    exp    self: grad * result.conj()             keeps result
    cos    self: grad * -self.sin().conj()        keeps self

Write the rule down, in about three lines. Which names in the second formula are no variables?
Afterwards read saved_variables in tools/autograd/load_derivatives.py, which the wheel has in
torchgen/packaged/autograd.
"""

from __future__ import annotations

import re


# What PyTorch keeps of a tensor without the tensor: sizes, dtype and the like. Given.
METADATA = re.compile(
    r"\b\w+\.(?:(?:sym_)?(?:sizes?|strides?|numel)|scalar_type|layout|options|dim|device|is_sparse)"
    r"\([^()]*\)"
)


def without_metadata(formula: str) -> str:
    """Return a formula without calls such as ``self.sym_sizes()``. Given."""
    return METADATA.sub("", formula)


def saved_names(arguments: list[str], formulas: list[str]) -> list[str]:
    """Return what forward keeps: the arguments that some formula mentions, then ``"result"``.

    The arguments stand in their order, each at most one time. What follows ``.``, ``->`` or ``::``
    is a member and no variable. An argument whose metadata alone is asked for is not kept.
    """
    # TODO: all names of the formulas; then those that are kept.
    raise NotImplementedError("saved_names")
