"""Perf: save what you see, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch


def compact(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return equal tensors by the same keys, of which ``torch.save`` writes no more than it needs.

    A tensor that shows its whole storage is returned itself. Any other is copied; names of one
    view (equal start, shape, strides and dtype) share one copy. The file has as many bytes as the
    distinct tensors need, and what was tied is tied after loading.
    """
    copies: dict[tuple, torch.Tensor] = {}
    result = {}
    for name, x in state.items():
        view = (x.data_ptr(), x.shape, x.stride(), x.dtype)
        if x.untyped_storage().nbytes() > x.nbytes and view not in copies:
            copies[view] = x.clone()
        result[name] = copies.get(view, x)
    return result
