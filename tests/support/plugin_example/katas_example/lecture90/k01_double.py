"""Double a tensor on the device where it is, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch


def double(x: torch.Tensor) -> torch.Tensor:
    """Return two times `x`."""
    # TODO: one line
    raise NotImplementedError("double")
