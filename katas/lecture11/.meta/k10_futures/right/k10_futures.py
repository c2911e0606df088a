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
    """A result that is yet to come, or the error in its place."""

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
        """Given: complete it with what a function returns, or with its error."""
        try:
            value = function(*arguments)
        except Exception as error:  # noqa: BLE001 - a future takes any
            self.set_exception(error)
        else:
            self.set_result(value)

    def _complete(self, value: Any, error: Exception | None) -> None:
        """Keep both, wake those who wait, then run the callbacks and let go of them.

        If it is done already, raise ``RuntimeError(AGAIN)`` and leave it as it is.
        """
        self._lock.acquire()
        if self._done.is_set():
            self._lock.release()
            raise RuntimeError(AGAIN)
        self._value, self._error = value, error
        waiting = tuple(self._callbacks)
        self._callbacks.clear()
        self._done.set()
        self._lock.release()
        for call in waiting:
            call()

    def wait(self) -> Any:
        """Wait until the future is done; return its value, or raise its error."""
        while not self.done():
            self._done.wait(1)
        with self._lock:
            value, error = self._value, self._error
        if error is not None:
            raise error
        return value

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Return a new future, of what ``callback(self)`` returns or raises.

        The callback runs when this future is done: immediately, if it already is.
        """
        later = Future()
        with self._lock:
            pending = not self.done()
            if pending:
                self._callbacks.append(lambda: later.run(callback, self))
        if not pending:
            later.run(callback, self)
        return later


def fork(function: Callable[..., Any], *arguments: Any) -> Future:
    """Call a function in a new daemon thread, and return the future of its result or error.

    It runs in the caller's grad mode, as a fork of TorchScript does.
    """
    future, mode = Future(), torch.is_grad_enabled()

    def work() -> Any:
        with torch.set_grad_enabled(mode):
            return function(*arguments)

    threading.Thread(target=future.run, args=[work], daemon=True).start()
    return future
