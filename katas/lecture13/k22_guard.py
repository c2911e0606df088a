"""A guard that warns before a collective hangs.

Rank 1 broadcasts where the others all-reduce, and everybody waits. If each rank said what it is
about to do, and compared, the error would name the rank:

    collective 3: ranks 0, 2: allreduce_ [...]; rank 1: broadcast_ [...]

That is ``TORCH_DISTRIBUTED_DEBUG=DETAIL``. Build yours as a ``TorchDispatchMode``, which sees each
operator of the namespace ``c10d`` before it runs (k07). The meeting in a store is given.

1. `disagreement`: that line.
2. `Guard.__torch_dispatch__`: all agree, then the collective runs.
3. `Guard.__exit__`: a rank that leaves early, or fails, says so.

About 22 lines.

Begin with a question: which of a call's arguments must be equal on all ranks, and which may differ?
Afterwards read ``CollectiveFingerPrint`` in
``torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp``.
Real life differs: PyTorch compares through a second process group, not through a store.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import Any

import torch
from torch import distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class DisagreementError(RuntimeError):
    """The ranks are about to do different things. Given."""


def disagreement(number: int, said: Sequence[str | None]) -> str | None:
    """Return a line that says which ranks say what, or None if all say the same.

    ``said[r]`` is what rank r says, None if it has said nothing. Group the ranks that say the same,
    the group of the lowest rank first: ``"collective 3: ranks 0, 2: a; rank 1: nothing"``.
    """
    # TODO: group the ranks by what they say.
    raise NotImplementedError("disagreement")


class Meeting:
    """A place in a store where ranks say what they are about to do. Given."""

    def __init__(self, store: dist.Store, rank: int, size: int, seconds: float) -> None:
        self.store, self.rank, self.size = store, rank, size
        self.timeout = timedelta(seconds=seconds)
        self.number = 0

    def say(self, text: str) -> None:
        """Advance to the next number, and publish the text under it; wait for nobody."""
        self.number += 1
        self.store.set(f"collective {self.number}/{self.rank}", text)

    def agree(self, text: str) -> None:
        """Post this text, wait for the other ranks' texts, and raise unless all are the same."""
        self.say(text)
        keys = [f"collective {self.number}/{rank}" for rank in range(self.size)]
        # A rank that did not arrive in time has said nothing.
        with suppress(RuntimeError):
            self.store.wait(keys, self.timeout)
        said = [self.store.get(key).decode() if self.store.check([key]) else None for key in keys]
        if line := disagreement(self.number, said):
            raise DisagreementError(line)


class Guard(TorchDispatchMode):
    """Lets a collective run only if all ranks are about to run the same one.

    ``send``, ``recv_`` and ``recv_any_source_`` concern only two ranks: they run at once. So do
    operators that are not in ``c10d``. The guard itself calls no collective.
    """

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
        """Run an operator; before a collective, agree with the other ranks about it.

        The text that ranks compare begins with the operator's name, such as ``allreduce_``, and
        distinguishes the dtypes and shapes of all tensors, and ``root_rank`` where there is one.
        ``scatter_`` and ``gather_``, where only the root has a list of tensors, are not called
        here.
        """
        # TODO: func.namespace, func._schema.name and func._schema.arguments say what it is.
        raise NotImplementedError("__torch_dispatch__")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Agree on "the end" with the others. After an exception, say the name of its type.

        Then wait for nobody, and let the exception propagate. After a `DisagreementError` say
        nothing: all ranks know.
        """
        super().__exit__(kind, error, traceback)
        # TODO: three cases.
        raise NotImplementedError("__exit__")
