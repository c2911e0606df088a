"""Work ahead: the next batch is made while this one is in use.

    one after the other   load 0 | train 0 | load 1 | train 1 | load 2 | ...
    one ahead             load 0 | train 0 | train 1 | train 2 | ...
                                 | load 1  | load 2  | load 3  |

A thread does it: loading waits for disks and networks, and Python lets others run meanwhile. The
danger is a thread that runs too far ahead: a slow trainer, and memory is full of batches.

You write `ahead`, about 20 lines with ``threading`` and ``queue``. Three steps:

1. The thread puts what it gets into a queue, and the generator takes it out.
2. A ``Semaphore`` counts free places: take one before you ask the source.
3. Two ends: the source's own, with or without an error, and a trainer that stops early.

Begin on paper: depth 2, and item 0 is in use. Which items exist?
Afterwards read ``_pin_memory_loop`` in ``torch/utils/data/_utils/pin_memory.py``, in site-packages:
the DataLoader's own thread.
"""

from __future__ import annotations

import threading  # noqa: F401 - your answer calls it
from queue import SimpleQueue  # noqa: F401 - it may help
from typing import TYPE_CHECKING
from typing import TypeVar


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator


T = TypeVar("T")


def ahead(source: Iterable[T], depth: int) -> Iterator[T]:
    """Yield what `source` yields, in order, and let one thread work ahead.

    While an item is in use, the thread makes up to `depth` more and then waits; `depth` is at
    least 1. Only that thread touches the source. An error of the source is raised here, itself,
    after the items before it.

    If this generator is closed, or the source has ended, the thread has ended too when this
    returns, and no item is kept, in the traceback of an error neither. One that is left open does
    not keep the interpreter from ending.
    """
    # TODO: a queue for what is made, a semaphore for the places.
    raise NotImplementedError("ahead")
    yield
