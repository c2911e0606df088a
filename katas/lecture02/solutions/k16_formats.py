"""Which operators keep channels-last? Find out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping


# Given: do not change.
OPERATORS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": F.relu,
    "softmax over channels": lambda x: F.softmax(x, dim=1),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: F.group_norm(x, 2),
    "instance_norm": F.instance_norm,
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "conv2d": lambda x: F.conv2d(x, x.new_ones(6, x.shape[1], 3, 3)),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "global pooling": lambda x: F.adaptive_avg_pool2d(x, 1),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
    "grid_sample": lambda x: F.grid_sample(x, x.new_zeros(len(x), 3, 4, 2), align_corners=False),
    "linear": lambda x: F.linear(x, x.new_ones(6, x.shape[3])),
    "pad with zeros": lambda x: F.pad(x, (1, 1, 1, 1)),
    "pad around": lambda x: F.pad(x, (1, 1, 1, 1), mode="circular"),
    "cat": lambda x: torch.cat([x, x], dim=1),
    "repeat": lambda x: x.repeat(1, 2, 1, 1),
    "flip": lambda x: x.flip(3),
    "cumsum": lambda x: x.cumsum(1),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0),
    "where": lambda x: torch.where(x > 0, x, 0),
    "sum over channels": lambda x: x.sum(1, keepdim=True),
    "to float64": lambda x: x.to(torch.float64),
    "clone": torch.clone,
    "contiguous": lambda x: x.contiguous(),
    "slice of channels": lambda x: x[:, 1:3],
    "flatten and back": lambda x: x.flatten(2).unflatten(2, x.shape[2:]),
}


def format_of(tensor: torch.Tensor) -> str:
    """Return ``"contiguous"``, ``"channels_last"``, ``"both"`` or ``"neither"``. Given."""
    answers = {
        (True, False): "contiguous",
        (False, True): "channels_last",
        (True, True): "both",
        (False, False): "neither",
    }
    row_major = tensor.is_contiguous()
    return answers[row_major, tensor.is_contiguous(memory_format=torch.channels_last)]


def _row_major(device: str) -> torch.Tensor:
    # No size is 1, or row-major and channels-last would be indistinguishable.
    return torch.rand((2, 4, 6, 8), device=device)


def _channels_last(device: str) -> torch.Tensor:
    return _row_major(device).contiguous(memory_format=torch.channels_last)


def survey(
    operators: Mapping[str, Callable[[torch.Tensor], torch.Tensor]], device: str = "cpu"
) -> dict[str, str]:
    """Return the format of each operator's result for its own channels-last input.

    Inputs are float32 on `device`, (N, C, H, W) with N at least 2, C at least 4, H and W at least
    6, and C, H and W even, so that every operator works.
    """
    return {
        name: format_of(operator(_channels_last(device))) for name, operator in operators.items()
    }


def deciders(
    operator: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], device: str = "cpu"
) -> set[str]:
    """Return which operand, alone in channels-last, makes the result ``"channels_last"``.

    Return a set of "first" and "second": empty if neither does, both if each does on its own. The
    other operand is row-major; both have the sizes that `survey` uses. Give each call new operands.
    """
    results = {
        "first": operator(_channels_last(device), _row_major(device)),
        "second": operator(_row_major(device), _channels_last(device)),
    }
    return {name for name, result in results.items() if format_of(result) == "channels_last"}
