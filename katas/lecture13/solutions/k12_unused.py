"""Which parameters a graph leads to, and the mean of gradients that some ranks lack."""

from __future__ import annotations

import torch
from torch import distributed as dist
from torch import nn


def parameters_behind(output: torch.Tensor) -> set[torch.Tensor]:
    """Return the leaves in the graph of `output` that require gradients.

    Begin at ``output.grad_fn``; ``node.next_functions`` are pairs whose first element may be None.
    The graph may be a thousand nodes deep, and may reach a node in a thousand ways.
    """
    seen = set()
    waiting = [output.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [following for following, _ in node.next_functions]
    return {node.variable for node in seen if hasattr(node, "variable")}


def average_used(parameters: list[nn.Parameter]) -> None:
    """Replace each ``grad`` with its mean over all ranks, where at least one rank has a ``grad``.

    A rank without a ``grad`` contributes zeros, and gets the mean. Use two all-reduces: one int32
    flag for each parameter, then all gradients in one flat tensor. All parameters have one dtype.
    """
    flags = torch.tensor([p.grad is not None for p in parameters], dtype=torch.int32)
    dist.all_reduce(flags)
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    flat = torch.cat([grad.flatten() for grad in grads])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    pieces = flat.split([p.numel() for p in parameters])
    for parameter, piece, users in zip(parameters, pieces, flags.tolist(), strict=True):
        if users:
            parameter.grad = piece.view_as(parameter)
