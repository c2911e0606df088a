"""Trace versus script: predict which branch survives.

Before ``torch.export``, models left Python through TorchScript, in one of two ways.
``torch.jit.trace`` runs a model and records the operators; ``torch.jit.script`` compiles its
source. They agree until Python decides something:

    if x.sum() > 0:        the trace keeps one branch and warns; `total` gets no warning

Each program in `PROGRAMS` is traced with ``x = ones(4)``, and called with ``y = full((8,), -3.0)``.
Predict both results, on paper: your rows cannot call torch.

Begin by comparing `mean` with `length`.
Afterwards read the warning in the docstring of `trace`, ``torch/jit/_trace.py`` in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch


# Given: do not change.
def sign(x: torch.Tensor) -> torch.Tensor:
    """Branch on a value."""
    if x.sum() > 0:
        return x.max() + 1
    return x.max() - 1


def total(x: torch.Tensor) -> torch.Tensor:
    """Loop over a size."""
    out = x[0]
    for i in range(1, x.shape[0]):
        out = out + x[i]
    return out


def mean(x: torch.Tensor) -> torch.Tensor:
    """Divide by a size."""
    return x.sum() / x.shape[0]


def length(x: torch.Tensor) -> torch.Tensor:
    """Divide by a length, which is a Python int."""
    return x.sum() / len(x)


def item(x: torch.Tensor) -> torch.Tensor:
    """Multiply by a number taken out of a tensor."""
    return x.max() * x.min().item()


PROGRAMS = {function.__name__: function for function in (sign, total, mean, length, item)}


def predictions() -> dict[str, tuple[float, float]]:
    """For each program, return what its trace returns for y, and what its script returns.

    Add one more row, "mixed": first the result of a traced function that calls the scripted
    `sign`, then the result of a scripted function that calls the traced `sign`.
    """
    # TODO: return {"sign": (..., ...), ..., "mixed": (..., ...)}
    raise NotImplementedError("predictions")
