"""Read an exception that has been through C++.

Python calls C++, C++ calls a hook of yours, and the hook raises. The exception you get depends on
the path. Try both with a function that raises:

    through_hook(pay)        Boom: no money          the exception itself
    through_future(pay)      RuntimeError: Got the following error when running the callback: Boom:
                             no money                       (folded: it is one line, up to here)

                             At:
                               ledger.py(4): pay
                               ...
    from TorchScript         RuntimeError: The following operation failed in the TorchScript ...
                             RuntimeError: Boom: no money

                             At: ...

Write `raised`: which class was raised, by which function? About seven lines.

Begin with the exception itself: its traceback names the function.
Afterwards find that message in ``torch/include/torch/csrc/jit/python/pybind_utils.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


def through_hook(f: Callable[[], object]) -> None:
    """Call f during the backward of a product. Given."""
    y = torch.ones(1, requires_grad=True) * 2
    y.register_hook(lambda _: f())  # type: ignore[no-untyped-call, unused-ignore]
    y.sum().backward()


def through_future(f: Callable[[], object]) -> None:
    """Call f when a future has its result. Given."""
    future: torch.futures.Future[int] = torch.futures.Future()
    after = future.then(lambda _: f())
    future.set_result(1)
    after.wait()


def raised(error: Exception) -> tuple[str, str]:
    """Return the name of the class that was raised first, and of the function that raised it.

    The class follows "when running the callback: " or, from TorchScript, "RuntimeError: " at the
    beginning of a line. A message may have several lines, none of them just "At:", and may itself
    contain "callback: ". One text may be nested in another.
    """
    # TODO: in an exception's text, "At:" is on its own line.
    raise NotImplementedError("raised")
