"""Hangs: six functions in which ranks wait for ever, a guard that tells before, and a post-mortem.

A collective returns when all ranks have called it. If one of them calls another one, or none, the
rest waits, and nothing says for whom. NCCL's watchdog gives up after ten minutes by default. With
luck sizes do not fit and the backend notices; without luck they fit, and the sums are wrong.

**1. Mend these.** They are written, and hang, die or return nonsense on some input. (They raise no
``NotImplementedError``. A world that hangs is stopped after some seconds, and the report says
where each rank was.) All ranks call a function at once; it returns when its own work is done.

- ``mean_on_first(loss)``: the mean over the ranks of a tensor without dimensions; a float on rank
  0, which prints it, None on all others. `loss` keeps its value.
- ``sum_gradients(gradients)``: replace each tensor by its sum over the ranks, in place. All ranks
  have the same names, but the dictionary of each is in the order in which its hooks ran.
- ``averages(batches, zero)``: step i averages the i-th tensors of all ranks that have one. The
  number of batches differs from rank to rank and may be 0; all ranks return the averages of all
  steps. `zero` is like a batch, of zeros. The batches keep their values.
- ``sum_if_finite(gradient)``: replace a tensor by its sum over the ranks, in place, and return
  True; but if on any rank there is a number in it that is not finite, return False on all ranks,
  and leave it as it is on all ranks.
- ``adopt_best(loss, weights)``: all ranks take the weights of the rank with the least loss, in
  place; of several, of the one with the lowest number. `loss` is a float, and not NaN (take it to
  float64).
- ``gather_ragged(values)``: the 1-D tensors of all ranks, in their order, on each rank. Their
  lengths differ and may be 0.

**2. The guard.** ``disagreement(number, said)`` compares what the ranks are about to do: `said[r]`
is what rank r says, or None if it has said nothing. If all say the same, return None, else a
line with who says what, the group of the lowest rank first: ``"collective 3: ranks 0, 2:
allreduce_ float32 [4]; rank 1: nothing"``.

``Meeting(store, rank, size, seconds)`` is used by the ranks in step: the first call of each, of
whichever of its two methods, is about number 1, and so on. ``say(text)`` tells the others what this
rank is about to do, through the store, and waits for nobody. ``agree(text)`` says it, waits until
all ranks have said something about this number, and raises ``DisagreementError`` with the line
above if not all say the same, on every rank. If some say nothing within `seconds` (a float), it
raises too. Two meetings do not use a store at once, so any keys will do. A store can ``set``,
``get`` (bytes; it waits), ``wait`` (for a list of keys; with a timeout, a ``timedelta``, after
which it raises a ``RuntimeError``) and ``check`` (are these keys there?).

``Guard(meeting)`` is a ``TorchDispatchMode``: within ``with Guard(meeting):`` every operator of
the namespace ``c10d`` comes to ``__torch_dispatch__`` before it runs.

- Before a collective runs, all ranks must agree about it. The text begins with the operator's name
  (``allreduce_``) and tells apart dtypes, shapes of all its tensors, and ``root_rank`` where there
  is one. Then it runs, and returns what it returns.
- ``send``, ``recv_`` and ``recv_any_source_`` are the affair of two ranks: they run at once. So
  does what is no operator of ``c10d``.
- When the block ends, all ranks must agree on ``"the end"``: who leaves early is told of at
  once. If it ends by an exception, this rank says the name of its type, ``"KeyError"`` perhaps,
  waits for nobody, and the exception goes on. After a ``DisagreementError``
  nobody is told any more.
- The guard itself calls no collective.

Out of scope: what is left in the store, groups but the default one, gather and scatter (the root
alone has a list), functional collectives (they arrive under ``_c10d_functional``).

**3. The post-mortem.** Each process group writes its last calls into a ring buffer, the flight
recorder, that can be dumped from a program that hangs. ``diagnose(dumps)`` is given the dump of
each rank, a dictionary: ``dump["entries"]`` is a list of dictionaries, oldest first, in which

- ``"is_p2p"`` is true for send and recv, of which nothing is to be learned here;
- ``"collective_seq_id"`` is the collective's number, from 1, without gaps in what was kept;
- ``"profiling_name"`` and ``"input_sizes"`` are like ``"gloo:all_reduce"`` and ``[[4], [2, 2]]``;
- ``"retired"`` is true when the process group is done with it; with gloo, when it has ended.

Find the first number at which not all ranks have retired the same call (name and input sizes), and
return it with what the ranks did, who the same together, the group of the lowest rank first:
``(7, {"gloo:all_reduce [[4]]": [0, 2], "no call": [1]})``. A call that is retired says so:
``"gloo:all_reduce [[4]] retired"``. If there is no such number, return None. Of one rank the
buffer may have lost calls that it still holds of another one: begin with the first number that no
rank has lost.

About 100 lines in all. In PyTorch: ``torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp``
(``CollectiveFingerPrint``), which ``TORCH_DISTRIBUTED_DEBUG=DETAIL`` puts around process groups,
``torch/csrc/distributed/c10d/FlightRecorder.hpp`` (``FlightRecorder``), whose length is
``TORCH_FR_BUFFER_SIZE``, ``torch/distributed/flight_recorder/fr_trace.py``, which reads its dumps;
for uneven data there is ``torch/distributed/algorithms/join.py`` (``Join``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence
    from types import TracebackType


class DisagreementError(RuntimeError):
    """The ranks are about to do different things. Given."""


# TODO: each of the six functions below lets ranks wait for each other, or worse.
def mean_on_first(loss: torch.Tensor) -> float | None:
    """Return the mean of the ranks' losses on rank 0, None elsewhere."""
    if dist.get_rank() == 0:
        total = loss.clone()
        dist.all_reduce(total)
        return total.item() / dist.get_world_size()
    return None


def sum_gradients(gradients: dict[str, torch.Tensor]) -> None:
    """Replace each gradient by its sum over the ranks."""
    for gradient in gradients.values():
        dist.all_reduce(gradient)


def averages(batches: list[torch.Tensor], zero: torch.Tensor) -> list[torch.Tensor]:
    """Return for each step the average over the ranks that still have a batch."""
    found = []
    for batch in batches:
        total = batch.clone()
        dist.all_reduce(total)
        found.append(total / dist.get_world_size())
    return found


def sum_if_finite(gradient: torch.Tensor) -> bool:
    """Replace a gradient by its sum over the ranks, unless something in it is not finite."""
    if not gradient.isfinite().all():
        return False
    dist.all_reduce(gradient)
    return True


def adopt_best(loss: float, weights: torch.Tensor) -> None:
    """Take the weights of the rank with the least loss."""
    least = torch.tensor(loss, dtype=torch.float64)
    dist.all_reduce(least, dist.ReduceOp.MIN)
    best = dist.get_rank() if least.item() == loss else 0
    dist.broadcast(weights, best)


def gather_ragged(values: torch.Tensor) -> list[torch.Tensor]:
    """Return the tensors of all ranks, each as long as it is."""
    parts = [torch.empty_like(values) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, values)
    return parts


def disagreement(number: int, said: Sequence[str | None]) -> str | None:
    """Return a line with who says what about a collective, or None if all say the same."""
    # TODO: group the ranks by what they say.
    raise NotImplementedError("disagreement")


class Meeting:
    """A place where ranks say what they are about to do, and hear what the others are."""

    def __init__(self, store: dist.Store, rank: int, size: int, seconds: float) -> None:
        # TODO: remember these, and which number is next.
        raise NotImplementedError("Meeting")

    def say(self, text: str) -> None:
        """Go on to the next number, and tell the others this about it."""
        # TODO: nobody is waited for here.
        raise NotImplementedError("say")

    def agree(self, text: str) -> None:
        """Say this, wait for what all others say, and raise unless it is the same."""
        # TODO: set, wait, compare.
        raise NotImplementedError("agree")


class Guard(TorchDispatchMode):
    """Lets a collective run only if all ranks are about to run the same one."""

    def __init__(self, meeting: Meeting) -> None:
        super().__init__()
        self.meeting = meeting

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Given: without it the first operator would import all of Dynamo, which takes seconds."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run an operator; before a collective, agree with the other ranks about it."""
        # TODO: func.namespace, func._schema.name and func._schema.arguments say what it is.
        raise NotImplementedError("__torch_dispatch__")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Agree with the other ranks that this is the end, or tell them of an exception."""
        super().__exit__(kind, error, traceback)
        # TODO: three cases.
        raise NotImplementedError("__exit__")


def diagnose(
    dumps: Sequence[Mapping[str, Any]],
) -> tuple[int, dict[str, list[int]]] | None:
    """Return the first collective that not all ranks have finished, and who did what in it."""
    # TODO: by number, for each rank; then number by number.
    raise NotImplementedError("diagnose")
