"""Say when torch.compile recompiles.

A compiled graph holds only for calls that look alike. Dynamo keeps it with *guards*, the facts that
it relied on, and a call that satisfies no graph's guards triggers a recompilation. Which facts?

    f(x)                        f(x.double())       dtype: recompile
    f(x)                        f(x + 1)            data: no guard
    f(x, y)                     f(x, x)             which tensor is which: recompile
    f(x, 1)                     f(x, True)          equal in Python, but not to a guard

Write `guards`: it returns keys that are equal exactly when one graph serves both calls. About 20
lines, one recursive function inside. No call is compiled.

Begin with one tensor, and compare with ``TORCH_LOGS=recompiles``.
Afterwards read the methods of ``GuardBuilder`` in ``torch/_dynamo/guards.py``. Real life differs:
Dynamo guards only what a function looks at; your keys assume that it looks at everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Hashable


def guards(function: Callable[..., Any], *args: Any) -> Hashable:
    """Return what must be the same in a later call of `function` for its graph to be reused.

    Assume ``dynamic=False``. The key consists of grad mode; then of the arguments, in order, the
    globals that the function's own bytecode loads (``dis``: ``LOAD_GLOBAL``; skip builtins), and
    the contents of its closure (``__closure__``, possibly None). For each of these values keep:

    - for a tensor: class, dispatch keys (``torch._C._dispatch_keys``), dtype, device, sizes,
      strides, requires_grad, and which of the tensors met earlier in this call it is;
    - for a bool, int, float, string or None: class and value;
    - for a list or tuple: class, and its items by these rules;
    - for anything else (a module, a function): which object it is.

    The key keeps no tensor alive. Out of scope: dicts, NaN, -0.0, globals of other functions.
    """
    # TODO: grad mode, then a fact for each argument, each loaded global, each closure variable.
    raise NotImplementedError("guards")
