"""Tests of k08_rpc: calls at once, a server for many threads, and training against it."""

from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from threading import BrokenBarrierError
from threading import Event
from threading import Lock
from threading import get_ident
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch.distributed import rpc

from katas.lecture13.k08_rpc import ParameterServer
from katas.lecture13.k08_rpc import build
from katas.lecture13.k08_rpc import everywhere
from katas.lecture13.k08_rpc import gradient
from katas.lecture13.k08_rpc import train
from plugins.kit import loopback
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.backend("gloo")

# The server's name, and how it begins.
SERVER, START = "worker0", torch.tensor([1.0, -2.0, 3.0])
LR = 0.125


def near(found: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    """Compare weights of float32."""
    torch.testing.assert_close(
        found, expected, rtol=1e-4, atol=1e-5, msg=lambda text: f"{what}, yours: {found}. {text}"
    )


def same(found: Any, expected: Any, what: str) -> None:
    """Compare, side by side."""
    assert expected == found, f"{what}\nyours:    {found}\nexpected: {expected}"


def joined(folder: Path, threads: int, work: Callable[..., Any], *args: Any) -> Any:
    """Return what work returns in this process, one of several that can call each other."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    for variable in ("TP_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        os.environ.setdefault(variable, loopback(socket.if_nameindex()))
    options = rpc.TensorPipeRpcBackendOptions(
        init_method=f"file://{folder}/rpc",
        num_worker_threads=threads,
        rpc_timeout=15,
        _transports=["uv"],
        _channels=["basic"],
    )
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size, rpc_backend_options=options)
    result = work(rank, *args)
    # Waits until nobody asks any more.
    rpc.shutdown()
    return result


def meet(folder: str, count: int) -> int:
    """Return this process's rank, when so many processes have begun to run this."""
    store = dist.FileStore(f"{folder}/meeting", -1)
    rank = int(os.environ["RANK"])
    store.set(f"here{rank}", "")
    store.wait([f"here{other}" for other in range(1, count + 1)])
    return rank


def calls_all(rank: int, folder: str) -> Any:
    """Rank 0 calls three others, which wait for each other."""
    return everywhere(["worker3", "worker1", "worker2"], meet, folder, 3) if rank == 0 else None


def test_all_are_called_before_one_is_waited_for(world: Any, tmp_path: Path) -> None:
    """Each of them returns when all have begun; the results come in the order asked for."""
    results = world(joined, 4, tmp_path, 2, calls_all, str(tmp_path), backend=None)

    same(results[0], [3, 1, 2], "what each process returned, in the order of the names")


def test_a_push_is_applied_at_once() -> None:
    """It is one step of SGD, and the version counts it."""
    server = ParameterServer(START, LR, 2)
    same(server.pull()[0], 0, "the version at first")
    steps = [torch.tensor([8.0, 0.0, -8.0]), torch.tensor([0.0, 16.0, 0.0])]
    with unchanged(steps=steps, weights=START):
        same([server.push(step) for step in steps], [1, 2], "the versions that two pushes return")

    version, weights = server.pull()
    same((version, weights.tolist()), (2, [0.0, -4.0, 4.0]), "what is pulled after two pushes")


def test_what_was_pulled_stays() -> None:
    """It is a copy, also for who calls in the server's own process."""
    server = ParameterServer(START, LR, 1)
    _, weights = server.pull()
    with unchanged(weights=weights):
        server.push(torch.ones(3))
        server.push_together(torch.ones(3))


def test_nobody_is_answered_before_all_have_come() -> None:
    """Then the mean is one step, and all get what came of it."""
    server = ParameterServer(START, LR, 3)
    steps = [torch.tensor([8.0, 0.0, 0.0]), torch.tensor([0.0, 16.0, 0.0]), torch.zeros(3)]
    with unchanged(steps=steps):
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
        near(weights, expected, f"the weights in answer {number}")


def test_after_a_round_comes_the_next() -> None:
    """What was answered is a copy, and the gradients of before count no more."""
    server = ParameterServer(START, LR, 2)
    rounds = [[server.push_together(torch.full((3,), 8.0 * n)) for _ in range(2)] for n in (1, 2)]

    versions = [tuple(f.value()[0] for f in futures) for futures in rounds]
    same(versions, [(1, 1), (2, 2)], "the versions in the answers of two rounds")
    for at, answer, expected in ((0, 0, START - 1), (0, 1, START - 1), (1, 1, START - 3)):
        found = rounds[at][answer].value()[1].tolist()
        same(found, expected.tolist(), f"the weights in answer {answer} of round {at}, afterwards")


def test_a_push_between_does_not_disturb_a_round() -> None:
    """It is applied at once, and the round later."""
    server = ParameterServer(START, LR, 2)
    first = server.push_together(torch.full((3,), 8.0))
    same(server.push(torch.full((3,), 80.0)), 1, "the version of a push within a round")
    second = server.push_together(torch.full((3,), 8.0))

    same([first.value()[0], second.value()[0]], [2, 2], "the versions in the answers")
    same(second.value()[1].tolist(), (START - 11).tolist(), "the weights in the answers")


@pytest.mark.parametrize("shape", [(2,), (1,), (3, 1)])
def test_a_gradient_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    """Even if it could be broadcast; and a round that has begun goes on without it."""
    server = ParameterServer(START, LR, 2)
    first = server.push_together(torch.ones(3))
    with pytest.raises(ValueError, match="shape"):
        server.push(torch.ones(shape))
    with pytest.raises(ValueError, match="shape"):
        server.push_together(torch.ones(shape))

    assert not first.done(), "yours counts the gradient that it has refused as one of the round"
    found = (server.pull()[0], server.pull()[1].tolist())
    same(found, (0, START.tolist()), f"version and weights after a refused gradient of {shape}")
    second = server.push_together(torch.ones(3))
    done = [first.done(), second.done()]
    same(done, [True, True], "who is answered when both trainers have sent a gradient that counts")


class Slow(ParameterServer):
    """Stays in its first apply until another thread is in it as well, or half a second is over."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.barrier = Barrier(2)
        self.met = False

    def apply(self, gradient: torch.Tensor) -> None:
        """Make one step."""
        # Once it has run out the barrier is broken: whoever comes after that does not wait.
        with suppress(BrokenBarrierError):
            self.barrier.wait(0.5)
            self.met = True
        super().apply(gradient)


@pytest.mark.parametrize("method", ["push", "push_together"])
def test_one_thread_at_a_time_applies(method: str) -> None:
    """Requests are run by several threads, and ``-=`` is not one operation."""
    server = Slow(START, LR, 1)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(getattr(server, method), [torch.ones(3)] * 2))

    assert not server.met, f"two threads of yours were in apply() at the same time, by {method}"
    same(server.pull()[0], 2, f"the version after two calls of {method}")


class Torn(ParameterServer):
    """Stays in the middle of apply until somebody has pulled, or half a second is over."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.inside, self.pulled = Event(), Event()

    def apply(self, gradient: torch.Tensor) -> None:
        """Make one step, in two halves."""
        self.weights -= self.lr * gradient
        self.inside.set()
        self.pulled.wait(0.5)
        self.version += 1


def test_version_and_weights_belong_together() -> None:
    """Also if another thread is in the middle of a step."""
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
    """Whose first thread, when it reads the version after its step, waits for another push."""

    def __init__(self, *args: Any) -> None:
        self.stepped, self.pushed = Event(), Event()
        self.first = 0
        super().__init__(*args)

    @property
    def version(self) -> int:
        """Return it, half a second later at most."""
        if self.first == get_ident():
            self.pushed.wait(0.5)
        return self._version

    @version.setter
    def version(self, version: int) -> None:
        self._version = version

    def apply(self, gradient: torch.Tensor) -> None:
        """Make one step."""
        super().apply(gradient)
        self.first = self.first or get_ident()
        self.stepped.set()


def test_a_push_returns_the_version_that_it_has_made() -> None:
    """Not that of another thread, which has pushed before this one was read."""
    server = Read(START, LR, 1)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(server.push, torch.ones(3))
        while not server.stepped.wait(0.01):
            assert not first.done(), first.result()
        second = pool.submit(server.push, torch.ones(3))
        second.add_done_callback(lambda _: server.pushed.set())

        found = [first.result(), second.result()]
        same(found, [1, 2], "the versions that two pushes return: read before the lock is free")


def builds(rank: int) -> Any:
    """Rank 1 builds a server in rank 0."""
    if rank != 1:
        return None
    server = build(SERVER, START, LR, 2)
    kind = rpc.rpc_sync(SERVER, kind_of, (server,))
    before = server.rpc_sync().pull()
    server.rpc_sync().push(torch.full((3,), 8.0))
    after = server.rpc_sync().pull()
    try:
        server.rpc_sync().push(torch.ones(2))
    except ValueError as error:
        refused = str(error)
    values = [(version, weights.tolist()) for version, weights in (before, after)]
    return server.owner().name, server.is_owner(), kind, values, refused


def kind_of(reference: Any) -> tuple[str, str]:
    """Return, where it is run, whose object a reference is there, and in which process."""
    return type(reference.local_value()).__name__, os.environ["RANK"]


def test_the_server_lives_in_the_other_process(world: Any, tmp_path: Path) -> None:
    """Its owner is that process; the caller holds a reference, and hears of errors."""
    owner, is_owner, kind, values, refused = world(joined, 2, tmp_path, 2, builds, backend=None)[1]

    same((owner, is_owner), (SERVER, False), "who owns the server, and whether that is the caller")
    same(kind, ("ParameterServer", "0"), "the object, looked at in its process, and which that is")
    expected = [(0, START.tolist()), (1, (START - 1).tolist())]
    same(values, expected, "what is pulled before and after a push")
    assert "shape" in refused, f"the error comes back to the caller; yours says {refused!r}"


def rows(rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the data of one trainer: as many rows as any other has."""
    generator = torch.Generator().manual_seed(rank)
    return torch.randn(4, 3, generator=generator), torch.randn(4, generator=generator)


def sgd(ranks: list[int], steps: int) -> torch.Tensor:
    """Return what gradient descent on the rows of all trainers makes of the weights."""
    parts = [rows(rank) for rank in ranks]
    x, y = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
    weights = START.clone()
    for _ in range(steps):
        weights -= LR * gradient(weights, x, y)
    return weights


class Reference:
    """A reference to a server in this process, which writes down what is asked of it."""

    def __init__(self, server: ParameterServer) -> None:
        self.server = server
        self.asked: list[str] = []

    def rpc_sync(self) -> Any:
        """Return what calls methods and waits."""
        return Caller(self, wait=True)

    def rpc_async(self) -> Any:
        """Return what calls methods and returns futures."""
        return Caller(self, wait=False)


class Caller:
    """Calls the methods of a server."""

    def __init__(self, reference: Reference, *, wait: bool) -> None:
        self.reference, self.wait = reference, wait

    def __getattr__(self, name: str) -> Any:
        """Return a method."""

        def called(*args: Any) -> Any:
            self.reference.asked.append(name)
            later = Later(lambda: getattr(self.reference.server, name)(*args))
            return later.wait() if self.wait else later

        return called


class Later:
    """A call that takes place as late as it may: when somebody waits for it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call

    def wait(self) -> Any:
        """Return what it returns."""
        result = self.call()
        return result.wait() if isinstance(result, torch.futures.Future) else result


def test_an_asynchronous_trainer_pulls_before_each_gradient() -> None:
    """And once more at the end."""
    reference = Reference(ParameterServer(START, LR, 2))
    weights = train(reference, *rows(1), 3, together=False)

    same(reference.asked, ["pull", "push"] * 3 + ["pull"], "what a trainer asks in three steps")
    near(weights, sgd([1], 3), "the weights that it returns")


def test_together_a_trainer_pulls_once() -> None:
    """The answer to a gradient is the weights for the next one."""
    reference = Reference(ParameterServer(START, LR, 1))
    weights = train(reference, *rows(1), 3, together=True)

    same(reference.asked, ["pull"] + ["push_together"] * 3, "what a trainer asks in three steps")
    near(weights, sgd([1], 3), "the weights that it returns")


KEPT: dict[str, Any] = {}
KEEPING = Lock()


def shared(trainers: int) -> Any:
    """Return a reference to the one server of this process."""
    with KEEPING:
        if "server" not in KEPT:
            KEPT["server"] = rpc.RRef(ParameterServer(START, LR, trainers))
        return KEPT["server"]


def trains(rank: int, steps: int, kind: str) -> Any:
    """Be the server, or a trainer; return its last weights, and the version at the server."""
    trainers = int(os.environ["WORLD_SIZE"]) - 1
    if rank == 0:
        shared(trainers)
        return None
    server = rpc.rpc_sync(SERVER, shared, (trainers,))
    weights = train(server, *rows(rank), steps, together=kind == "together")
    return weights, server.rpc_sync().pull()[0]


def test_trainers_do_not_wait_for_each_other(world: Any, tmp_path: Path) -> None:
    """Each gradient is a step, in whatever order they come."""
    results = world(joined, 3, tmp_path, 2, trains, 5, "apart", backend=None)

    last = max(version for _, version in results[1:])
    same(last, 10, "the last version, after five steps of two trainers")


def test_together_they_descend_on_all_rows(world: Any, tmp_path: Path) -> None:
    """As one process would. The server has a single thread: nobody may wait in it."""
    results = world(joined, 4, tmp_path, 1, trains, 4, "together", backend=None)
    expected = sgd([1, 2, 3], 4)

    for rank in (1, 2, 3):
        weights, version = results[rank]
        near(weights, expected, f"the weights of rank {rank}")
        same(version, 4, f"the version that rank {rank} pulls: a round is one step")
