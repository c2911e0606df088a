"""Work ahead: load the next batch while this one is in use."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING
from typing import TypeVar


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator


T = TypeVar("T")


def ahead(source: Iterable[T], depth: int) -> Iterator[T]:
    """Yield the items of `source`, in order, and let one thread work ahead."""
    made: SimpleQueue[tuple[str, object]] = SimpleQueue()
    places = threading.Semaphore(depth)
    stop = threading.Event()

    def work() -> None:
        try:
            iterator = iter(source)
            while places.acquire() and not stop.is_set():
                made.put(("item", next(iterator)))
        except BaseException as error:  # noqa: BLE001 - it is raised again in the other thread
            made.put(("error", error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            kind, value = made.get()
            if isinstance(value, StopIteration) and kind == "error":
                return
            if kind == "error":
                raise value
            places.release()
            yield value
    finally:
        stop.set()
        places.release()
        thread.join()
