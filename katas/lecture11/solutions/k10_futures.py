"""Build ``fork`` and ``wait`` on a future."""

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
        with self._lock:
            if self.done():
                raise RuntimeError(AGAIN)
            self._value, self._error = value, error
            self._done.set()
        waiting, self._callbacks = self._callbacks, []
        for call in waiting:
            call()

    def wait(self) -> Any:
        """Wait until the future is done; return its value, or raise its error."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Return a new future for what ``callback(self)`` returns or raises.

        The callback runs when this future is done: immediately, if it already is.
        """
        later = Future()
        with self._lock:
            if not self.done():
                self._callbacks.append(lambda: later.run(callback, self))
                return later
        later.run(callback, self)
        return later


def fork(function: Callable[..., Any], *arguments: Any) -> Future:
    """Call a function in a new daemon thread, and return a future for its result or error.

    The function runs in the caller's grad mode, as in a TorchScript fork.
    """
    future, mode = Future(), torch.is_grad_enabled()

    def work() -> Any:
        with torch.set_grad_enabled(mode):
            return function(*arguments)

    threading.Thread(target=future.run, args=[work], daemon=True).start()
    return future
