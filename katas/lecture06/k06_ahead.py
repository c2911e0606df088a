"""Work ahead: load the next batch while this one is in use.

    one after the other   load 0 | train 0 | load 1 | train 1 | load 2 | ...
    one ahead             load 0 | train 0 | train 1 | train 2 | ...
                                 | load 1  | load 2  | load 3  |

A thread can do this: loading waits for disks and networks, and meanwhile Python lets other threads
run. The danger is a thread that runs too far ahead: if the trainer is slow, batches fill the
memory.

Write `ahead`, about 20 lines with ``threading`` and ``queue``. Three steps:

1. The thread puts items into a queue, and the generator takes them out.
2. A ``Semaphore`` counts free places: take one before you ask the source.
3. Two ends: the source ends, with or without an error, or the trainer stops early.

Begin on paper: depth 2, and item 0 is in use. Which items exist?
Afterwards read ``_pin_memory_loop`` in ``torch/utils/data/_utils/pin_memory.py``, in site-packages:
the DataLoader's own thread.
"""

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
    """Yield the items of `source`, in order, and let one thread work ahead.

    While an item is in use, the thread fetches up to `depth` more and then waits; `depth` is at
    least 1. Only that thread touches the source. If the source raises an error, raise that same
    error here, after the items before it.

    When this generator is closed, or the source has ended, the thread has to end before this
    returns, and no item may be kept alive, not even by the traceback of an error. A generator left
    open must not keep the interpreter from exiting.
    """
    # TODO: a queue for the items, a semaphore for the free places.
    raise NotImplementedError("ahead")
    yield
