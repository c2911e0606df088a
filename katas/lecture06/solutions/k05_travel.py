"""Explore: what travels from a worker to the trainer."""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING
from typing import Any

import torch
import torch.multiprocessing as mp


if TYPE_CHECKING:
    from collections.abc import Callable


def add_one(array: Any) -> None:
    """Add 1 to the first element of a tensor or an array. Given."""
    array[:1] += 1


def receive(queue: Any) -> None:
    """Wait for a tensor or an array, and add 1 to it. Given."""
    add_one(queue.get())


def by_argument(tensor: torch.Tensor) -> None:
    """Let the process inherit `tensor`: with fork, arguments are not pickled. Given."""
    child = mp.get_context("fork").Process(target=add_one, args=(tensor,))
    child.start()
    child.join()


def by_queue(tensor: torch.Tensor) -> torch.Tensor:
    """Send `tensor` through a queue, and return what was pickled. Given."""
    return send(tensor)


def by_numpy(tensor: torch.Tensor) -> Any:
    """Send it as a NumPy array that shares its memory, and return what was pickled. Given."""
    return send(tensor.numpy())


def send(value: Any) -> Any:
    """Start a process, send `value` through a queue, wait, and return it. Given."""
    context = mp.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=receive, args=(queue,))
    child.start()
    queue.put(value)
    child.join()
    return value


@dataclass(frozen=True)
class Journey:
    """How many bytes were pickled, whether the 1 came back, and whether the memory moved."""

    sent: int
    reached: bool
    shared: bool


def journey(tensor: torch.Tensor, way: Callable[[torch.Tensor], Any]) -> Journey:
    """Send `tensor`, private or already shared, in one of the ways above; report what happened."""
    before = tensor.clone()
    pickled = way(tensor)
    reached, shared = not torch.equal(before, tensor), tensor.is_shared()
    sent = 0 if pickled is None else len(ForkingPickler.dumps(pickled))
    return Journey(sent, reached, shared)
