"""Prioritised replay: draw from a sum tree."""

from __future__ import annotations

import torch


class SumTree:
    """The priorities of 2 ** n slots, all 0 at first, and the sums above them."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.tree = torch.zeros(2 * capacity, dtype=torch.float64)

    @property
    def total(self) -> torch.Tensor:
        """Return the sum of all priorities."""
        return self.tree[1]

    def update(self, slots: torch.Tensor, priorities: torch.Tensor) -> None:
        """Set the priorities of slots, and update the sums above them."""
        nodes = slots + self.capacity
        self.tree[nodes] = priorities.detach().double()
        for _ in range(self.capacity.bit_length() - 1):
            nodes = nodes // 2
            self.tree[nodes] = self.tree[2 * nodes] + self.tree[2 * nodes + 1]

    def find(self, marks: torch.Tensor) -> torch.Tensor:
        """For each mark, return the slot whose part of [0, total) contains it."""
        nodes, rest = torch.ones_like(marks, dtype=torch.int64), marks
        for _ in range(self.capacity.bit_length() - 1):
            left, right = self.tree[2 * nodes], self.tree[2 * nodes + 1]
            goes = (rest >= left) & (right > 0)
            rest = torch.where(goes, rest - left, rest)
            nodes = 2 * nodes + goes
        return nodes - self.capacity


def draw(
    tree: SumTree, size: int, beta: float, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return slots, and the weights of importance sampling."""
    marks = torch.rand(size, generator=generator, dtype=torch.float64) * tree.total
    slots = tree.find(marks)
    weights = tree.tree[slots + tree.capacity] ** -beta
    return slots, weights / weights.max()
