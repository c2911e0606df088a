"""Tests of k17_parameter_server: steps, rounds, threads, and trainers in other processes."""

from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Barrier
from threading import BrokenBarrierError
from threading import Event
from threading import get_ident
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch.distributed import rpc

from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k17_parameter_server import ParameterServer
from katas.lecture13.k17_parameter_server import train
from plugins.kit import loopback


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.kit import World


pytestmark = pytest.mark.backend("gloo")

START, LR = torch.tensor([1.0, -2.0, 3.0]), 0.125
# How long a thread stays where no other may enter.
WHILE = 0.2


def test_a_push_is_applied_at_once() -> None:
    """A push is one step of SGD, and the version counts it; what was pulled is a copy."""
    server = ParameterServer(START, LR, 2)
    before = server.pull()
    steps = [torch.tensor([8.0, 0.0, -8.0]), torch.tensor([0.0, 16.0, 0.0])]
    same([server.push(step) for step in steps], [1, 2], "the versions that two pushes return")
    version, weights = server.pull()
    same((version, weights.tolist()), (2, [0.0, -4.0, 4.0]), "what is pulled after two pushes")
    same((before[0], before[1].tolist()), (0, START.tolist()), "what was pulled before them, now")


def test_nobody_is_answered_before_all_have_come() -> None:
    """Once all have called, the mean is one step, and all get the result."""
    server = ParameterServer(START, LR, 3)
    steps = [torch.tensor([8.0, 0.0, 0.0]), torch.tensor([0.0, 16.0, 0.0]), torch.zeros(3)]
    futures = [server.push_together(step) for step in steps[:2]]
    done = [future.done() for future in futures]
    same(done, [False, False], "who is answered when two of three have come")
    same(server.pull()[0], 0, "the version: nothing is applied yet")
    futures.append(server.push_together(steps[2]))
    same([future.done() for future in futures], [True] * 3, "who is answered when all have come")
    expected = START - LR * torch.stack(steps).mean(0)
    for number, future in enumerate(futures):
        version, weights = future.value()
        same(version, 1, f"the version in answer {number}: one step for all three")
        close(weights, expected, f"the weights in answer {number}", rtol=1e-5)
    futures[0].value()[1].zero_()
    what = "the weights in answer 1, after answer 0 was written to: each has a copy of its own"
    close(futures[1].value()[1], expected, what, rtol=1e-5)


def test_after_a_round_comes_the_next() -> None:
    """What was answered is a copy, and the earlier gradients no longer count."""
    server = ParameterServer(START, LR, 2)
    rounds = [[server.push_together(torch.full((3,), 8.0 * n)) for _ in range(2)] for n in (1, 2)]
    versions = [tuple(f.value()[0] for f in futures) for futures in rounds]
    same(versions, [(1, 1), (2, 2)], "the versions in the answers of two rounds")
    for at, expected in ((0, START - 1), (1, START - 3)):
        for future in rounds[at]:
            found = future.value()[1].tolist()
            same(found, expected.tolist(), f"the weights in an answer of round {at}, afterwards")


def test_a_gradient_of_another_shape_does_not_count() -> None:
    """Such a gradient is refused even if it could be broadcast; the round continues."""
    server = ParameterServer(START, LR, 2)
    first = server.push_together(torch.ones(3))
    for push in (server.push, server.push_together):
        with pytest.raises(ValueError, match="shape"):
            push(torch.ones(1))
    same((server.pull()[0], first.done()), (0, False), "version, and is the first one answered?")
    second = server.push_together(torch.ones(3))
    same([first.done(), second.done()], [True, True], "who is answered when both have come")


class Slow(ParameterServer):
    """Stays in its first apply until another thread is in it as well, or time is up."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.barrier, self.met = Barrier(2), False

    def apply(self, gradient: torch.Tensor) -> None:
        """Take one step."""
        # After a time-out the barrier is broken: later threads do not wait.
        with suppress(BrokenBarrierError):
            self.barrier.wait(WHILE)
            self.met = True
        super().apply(gradient)


@pytest.mark.parametrize("method", ["push", "push_together"])
def test_one_thread_at_a_time_applies(method: str) -> None:
    """Requests are run by several threads, and ``-=`` is not one operation."""
    server = Slow(START, LR, 1)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(getattr(server, method), [torch.ones(3)] * 2))
    assert not server.met, f"two threads were in your apply() at the same time, called by {method}"
    same(server.pull()[0], 2, f"the version after two calls of {method}")


class Torn(ParameterServer):
    """Stays in the middle of apply until somebody has pulled, or time is up."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.inside, self.pulled = Event(), Event()

    def apply(self, gradient: torch.Tensor) -> None:
        """Take one step, in two halves."""
        self.weights -= self.lr * gradient
        self.inside.set()
        self.pulled.wait(WHILE)
        self.version += 1


def test_version_and_weights_belong_together() -> None:
    """Version and weights match even if another thread is in the middle of a step."""
    server = Torn(START, LR, 1)
    with ThreadPoolExecutor(1) as pool:
        push = pool.submit(server.push, torch.full((3,), 8.0))
        while not server.inside.wait(0.01):
            assert not push.done(), push.result()
        version, weights = server.pull()
        server.pulled.set()
        push.result()
    found = (version, weights.tolist())
    same(found, (1, (START - 1).tolist()), "what is pulled in the middle of a step")


class Read(ParameterServer):
    """Makes the first reader of the version after a step wait a little for another push."""

    def __init__(self, *args: Any) -> None:
        self.pushed, self.first = Event(), 0
        super().__init__(*args)

    @property
    def version(self) -> int:
        """Return the version, perhaps after a short wait."""
        if self.first == get_ident():
            self.pushed.wait(WHILE)
        return self._version

    @version.setter
    def version(self, version: int) -> None:
        self._version = version

    def apply(self, gradient: torch.Tensor) -> None:
        """Take one step."""
        super().apply(gradient)
        self.first = self.first or get_ident()


def test_a_push_returns_the_version_that_it_has_made() -> None:
    """The version is not that of another thread that pushed before this one was read."""
    server = Read(START, LR, 1)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(server.push, torch.ones(3))
        while not server.first:
            assert not first.done() or server.first, first.result()
        second = pool.submit(server.push, torch.ones(3))
        second.add_done_callback(lambda _: server.pushed.set())
        found = [first.result(), second.result()]
    same(found, [1, 2], "the versions that two pushes return: read before the lock is free")


def trains(folder: Path) -> Any:
    """Return what a trainer ends with; rank 0 is the server, with a single thread."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    for variable in ("TP_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        os.environ.setdefault(variable, loopback(socket.if_nameindex()))
    options = rpc.TensorPipeRpcBackendOptions(
        init_method=f"file://{folder}/rpc",
        num_worker_threads=4 if rank else 1,
        rpc_timeout=4,
        _transports=["uv"],
        _channels=["basic"],
    )
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size, rpc_backend_options=options)
    found: Any = None
    if rank == 0:
        server = rpc.RRef(ParameterServer(START, LR, size - 1))
        works = [
            rpc.rpc_async(f"worker{other}", train, (server, partial(pulled_to, other), 3))
            for other in range(1, size)
        ]
        try:
            found = [work.wait() for work in works]
        except RuntimeError as error:
            # What an error of another process arrives as.
            found = str(error)
    # Waits until there are no more calls.
    rpc.shutdown()
    return found


def pulled_to(goal: int, weights: torch.Tensor) -> torch.Tensor:
    """Return the gradient of half the squared distance to a goal."""
    return weights - goal


def test_one_thread_serves_all_trainers(world: World, tmp_path: Path) -> None:
    """Three rounds of two trainers, in processes of their own: nobody may wait in the server."""
    results = world(trains, 3, tmp_path, backend=None, timeout=10)
    expected = START.clone()
    for _ in range(3):
        expected -= LR * (expected - 1.5)
    assert isinstance(results[0], list), f"a trainer failed, or waited in vain: {results[0]}"
    for rank, (version, weights) in enumerate(results[0], 1):
        same(version, 3, f"the version that trainer {rank} is answered last: a round is one step")
        close(weights, expected, f"the weights of trainer {rank}", rtol=1e-5)
