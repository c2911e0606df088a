"""Elastic training: an agent that restarts workers, which go on from a checkpoint."""

from __future__ import annotations

import os
from contextlib import suppress
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING
from typing import Any
from typing import Protocol

import torch
from torch import distributed as dist
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Worker(Protocol):
    """A process, as subprocess.Popen is one. Given."""

    def poll(self) -> int | None:
        """Return the exit code, or None as long as it runs."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it."""

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code as soon as there is one, or raise subprocess.TimeoutExpired."""


class WorkerError(Exception):
    """A worker has failed for the last time. Given."""

    def __init__(self, rank: int, code: int) -> None:
        super().__init__(f"rank {rank} has failed with code {code}")
        self.rank = rank
        self.code = code


def make() -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a model from 3 columns to 2, and its optimizer. Given."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def save(path: Path, state: Any) -> None:
    """Write a checkpoint that is there as a whole or not at all."""
    # In the same folder, since a file cannot be moved to another file system in one step.
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        torch.save(state, file)
        os.fsync(file.fileno())
    new.replace(path)


def load(path: Path) -> Any:
    """Return the last checkpoint, or None."""
    return torch.load(path) if path.exists() else None


def train(
    path: Path,
    data: tuple[torch.Tensor, torch.Tensor],
    batch: int,
    steps: int,
    after: Callable[[int], None],
) -> list[float]:
    """Train from the last checkpoint, or from the beginning; return the losses of all steps."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x, y = data
    torch.manual_seed(0)
    model, optimizer = make()
    losses: list[float] = []
    order = torch.tensor([])
    if state := load(path):
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["generator"])
        losses, order = state["losses"], state["order"]
    while len(losses) < steps:
        begin = len(losses) * batch % len(x)
        if begin == 0:
            order = torch.randperm(len(x))
        rows = order[begin : begin + batch][rank::size]
        optimizer.zero_grad()
        loss = (model(x[rows]) - y[rows]).square().sum() / batch
        loss.backward()
        total = loss.detach()
        for tensor in (total, *(parameter.grad for parameter in model.parameters())):
            dist.all_reduce(tensor)
        optimizer.step()
        losses.append(total.item())
        if rank == 0:
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "generator": torch.get_rng_state(),
                "losses": losses,
                "order": order,
            }
            save(path, state)
        after(len(losses))
    return losses


def supervise(
    start: Callable[[dict[str, str]], Worker],
    available: Callable[[], int],
    *,
    fewest: int,
    max_restarts: int,
    pause: Callable[[], None],
    grace: float,
) -> int:
    """Run workers until all have ended well, start all again if one fails; count the restarts."""
    restarts = 0
    while True:
        size = available()
        if size < fewest:
            raise RuntimeError("too few workers")
        workers: list[Worker] = []
        try:
            for rank in range(size):
                environment = {
                    "RANK": str(rank),
                    "WORLD_SIZE": str(size),
                    "TORCHELASTIC_RESTART_COUNT": str(restarts),
                    "TORCHELASTIC_MAX_RESTARTS": str(max_restarts),
                }
                workers.append(start(environment))
            codes = [worker.poll() for worker in workers]
            while None in codes and not any(codes):
                pause()
                codes = [worker.poll() for worker in workers]
        finally:
            _stop(workers, grace)
        failed = [(rank, code) for rank, code in enumerate(codes) if code]
        if not failed:
            return restarts
        if restarts == max_restarts:
            raise WorkerError(*failed[0])
        restarts += 1


def _stop(workers: list[Worker], grace: float) -> None:
    """End all workers that still run."""
    running = [worker for worker in workers if worker.poll() is None]
    try:
        # All are asked before any is waited for: some end only when others do.
        for worker in running:
            worker.terminate()
        for worker in running:
            with suppress(TimeoutExpired):
                worker.wait(grace)
    finally:
        # Also if Ctrl-C comes while they are waited for.
        late = [worker for worker in running if worker.poll() is None]
        for worker in late:
            worker.kill()
        for worker in late:
            worker.wait()
