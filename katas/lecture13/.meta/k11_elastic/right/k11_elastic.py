"""Elastic training: the order of an epoch is drawn again, and the agent keeps a dictionary."""

from __future__ import annotations

import os
import subprocess
import tempfile
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
    """Write a checkpoint under a name that nobody else has, then rename it."""
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    with os.fdopen(handle, "wb", buffering=0) as file:
        torch.save(state, file)
        os.fsync(file)
    os.replace(name, path)  # noqa: PTH105 - a name, not a path


def load(path: Path) -> Any:
    """Return the last checkpoint, or None."""
    try:
        return torch.load(path)
    except FileNotFoundError:
        return None


def train(
    path: Path,
    data: tuple[torch.Tensor, torch.Tensor],
    batch: int,
    steps: int,
    after: Callable[[int], None],
) -> list[float]:
    """Keep what the generator was at the beginning of the epoch: the order follows from it."""
    x, y = data
    torch.manual_seed(0)
    model, optimizer = make()
    state = load(path) or {"losses": [], "begin": torch.get_rng_state()}
    if "model" in state:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    losses, begin = state["losses"], state["begin"]
    torch.set_rng_state(begin)
    per_epoch = len(x) // batch
    order = torch.randperm(len(x)) if len(losses) % per_epoch else torch.empty(0)
    for step in range(len(losses), steps):
        if step % per_epoch == 0:
            begin = torch.get_rng_state()
            order = torch.randperm(len(x))
        mine = order.view(per_epoch, batch)[step % per_epoch]
        mine = mine[torch.arange(batch) % dist.get_world_size() == dist.get_rank()]
        model.zero_grad()
        loss = ((model(x[mine]) - y[mine]) ** 2).sum() / batch
        loss.backward()
        flat = torch.cat([loss.detach().view(1), *(p.grad.flatten() for p in model.parameters())])
        dist.all_reduce(flat)
        losses.append(flat[0].item())
        sizes = [p.numel() for p in model.parameters()]
        for parameter, part in zip(model.parameters(), flat[1:].split(sizes), strict=True):
            parameter.grad = part.view_as(parameter)
        optimizer.step()
        # At the end of an epoch the next one begins with the generator as it is now.
        now = torch.get_rng_state() if (step + 1) % per_epoch == 0 else begin
        if not dist.get_rank():
            parts = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            save(path, {**parts, "losses": losses, "begin": now})
        after(step + 1)
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
    """Run groups until one ends well."""
    restarts = 0
    while failed := _group(start, available(), fewest, restarts, max_restarts, pause, grace):
        if restarts == max_restarts:
            raise WorkerError(*failed)
        restarts += 1
    return restarts


def _group(  # noqa: PLR0917 - all of what an agent knows
    start: Callable[[dict[str, str]], Worker],
    size: int,
    fewest: int,
    restarts: int,
    max_restarts: int,
    pause: Callable[[], None],
    grace: float,
) -> tuple[int, int] | None:
    """Run a group; return rank and code of who failed, if somebody did."""
    if size < fewest:
        raise RuntimeError("too few workers")
    running: dict[int, Worker] = {}
    names = ("RANK", "WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS")
    try:
        for rank in range(size):
            values = map(str, (rank, size, restarts, max_restarts))
            running[rank] = start(dict(zip(names, values, strict=True)))
        while True:
            codes = {rank: worker.poll() for rank, worker in running.items()}
            running = {rank: running[rank] for rank, code in codes.items() if code is None}
            for rank, code in codes.items():
                if code:
                    return rank, code
            if not running:
                return None
            pause()
    finally:
        _end(list(running.values()), grace)


def _end(running: list[Worker], grace: float) -> None:
    """Ask workers to end, and end those that do not."""
    for worker in running:
        worker.terminate()
    slow: list[Worker] = []
    try:
        for worker in running:
            try:
                worker.wait(grace)
            except subprocess.TimeoutExpired:
                slow.append(worker)
    except BaseException:
        # Ctrl-C: nobody is given more time.
        slow = running
        raise
    finally:
        for worker in slow:
            worker.kill()
        for worker in slow:
            worker.wait()
