"""Branches and loops in a graph.

``cond`` takes both branches, ``scan`` the body of a loop. Traced, each function is a graph inside
the graph; run, the same function chooses and loops. So one Python function is both: what it does
depends on what it is passed.

    cond(pred, true_fn, false_fn, (x,))        pred a tensor: call one of the two
                                               pred a Proxy: record both, add one node
    scan(step, init, xs)                       carry, row -> new carry, result; for each row of xs

Write both, about 25 lines; the plain `loop` is given. Recording and lifting are given in
``levels.py`` next to this file: ``tracer.record(function, count, known)`` returns a `Level`, whose
``lifted`` holds what came from outside.

Begin with tensors. Then ask: which operands does the node have if only the false branch needs y?
Afterwards read ``trace_cond`` in ``torch/_higher_order_ops/cond.py``. Real life differs: PyTorch
also requires branches to agree in dtypes and numbers of dims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import fx

from katas.lecture10.levels import count
from katas.lecture10.levels import lift


if TYPE_CHECKING:
    from collections.abc import Callable


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...]
) -> Any:
    """Return what one of two functions returns for `operands`.

    If `pred` is not an ``fx.Proxy``, call one of them. Otherwise record both, true first, with the
    same inputs: the operands, then what the true branch lifts, then what only the false branch
    lifts. The node is ``cond(pred, true_graph, false_graph, (operands..., lifted...))``;
    ``tracer.add_graph`` adds the graphs, "true_graph" and "false_graph". If they return tuples,
    return a tuple of ``proxy[0]``, ``proxy[1]``, ... If they return different numbers of tensors
    (`count`), raise a ValueError with "branches return".
    """
    # TODO: choose, or record both, give both the same inputs, and add one node.
    raise NotImplementedError("cond")


def loop(
    step: Callable[..., Any], carry: Any, xs: Any, operands: tuple[Any, ...]
) -> tuple[Any, Any]:
    """Return the last carry, and the results of all steps, by a loop over tensors. Given."""
    results = []
    for x in xs.unbind():
        pair = step(carry, x, *operands)
        # A tensor of two rows could be unpacked as well.
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError("step returns a pair: the next carry and a result")
        carry = pair[0]
        results.append(pair[1])
    return carry, torch.stack(results)


def scan(
    step: Callable[..., Any], init: Any, xs: Any, operands: tuple[Any, ...] = ()
) -> tuple[Any, Any]:
    """Return the last carry, and the results of all steps, stacked.

    A step is ``carry, result = step(carry, row, *operands)``, over the rows of `xs` (at least one),
    starting from `init`. If `init` or `xs` is a proxy, record one step; the node is
    ``scan(step_graph, init, xs, (operands..., lifted...))``, and you return ``proxy[0]``,
    ``proxy[1]``. Raise a ValueError with "step returns a pair" if a step does not return a tuple of
    two, recorded or not.
    """
    # TODO: loop, or record one step and add one node.
    raise NotImplementedError("scan")
