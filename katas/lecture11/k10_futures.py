"""Build ``fork`` and ``wait`` on a future.

A future is a box for a result that is yet to come. ``torch.futures.Future`` adds callbacks, on
which RPC and the communication hooks of DDP are built. Guess which thread runs this one:

    future = torch.futures.Future()
    later = future.then(lambda f: (f.wait() + 1, threading.current_thread().name))
    threading.Thread(target=future.set_result, args=[41]).start()
    print(later.wait())

It gets no thread of its own: the thread that completes a future runs its callbacks. After that,
`then` runs them itself:

    pending  -- set_result, set_exception -->  done  -->  the callbacks, in order

Write `_complete`, `wait`, `then` and `fork`, 20 lines. A callback may use the future, even call
`then`: hold no lock while it runs.

Begin on paper: thread A calls `then` while B calls `set_result`. When would the callback be lost?
Real life differs: PyTorch promises no order, and turns a callback's error into a RuntimeError.
Afterwards read `then` in ``torch/futures/__init__.py`` in site-packages, then `markCompleted` in
``torch/include/ATen/core/ivalue_inl.h``.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


AGAIN = "a Future can only be completed once"


class Future:
    """A result that is yet to come, or an error instead."""

    def __init__(self) -> None:
        """Given: no result yet."""
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._value: Any = None
        self._error: Exception | None = None
        self._callbacks: list[Callable[[], None]] = []

    def done(self) -> bool:
        """Given: whether there is a result or an error."""
        return self._done.is_set()

    def set_result(self, value: Any) -> None:
        """Given: complete the future with a value."""
        self._complete(value, None)

    def set_exception(self, error: Exception) -> None:
        """Given: complete the future with an error."""
        self._complete(None, error)

    def run(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Given: complete the future with a function's return value, or with its error."""
        try:
            value = function(*arguments)
        except Exception as error:  # noqa: BLE001 - a future takes any
            self.set_exception(error)
        else:
            self.set_result(value)

    def _complete(self, value: Any, error: Exception | None) -> None:
        """Store both, wake the waiting threads, then run the callbacks and drop them.

        If the future is already done, raise ``RuntimeError(AGAIN)`` and leave it as it is.
        """
        # TODO: hold the lock while you change state, but not while callbacks run.
        raise NotImplementedError("_complete")

    def wait(self) -> Any:
        """Wait until the future is done; return its value, or raise its error."""
        # TODO: about three lines.
        raise NotImplementedError("wait")

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Return a new future for what ``callback(self)`` returns or raises.

        The callback runs when this future is done: immediately, if it already is.
        """
        # TODO: call `run` of the new future; now, or later?
        raise NotImplementedError("then")


def fork(function: Callable[..., Any], *arguments: Any) -> Future:
    """Call a function in a new daemon thread, and return a future for its result or error.

    The function runs in the caller's grad mode, as in a TorchScript fork.
    """
    # TODO: read the grad mode here, set it in the thread.
    raise NotImplementedError("fork")
