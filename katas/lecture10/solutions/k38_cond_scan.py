"""Branches and loops in a graph."""

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
    """Return the result of one of two functions; record both if the choice is not known."""
    if not isinstance(pred, fx.Proxy):
        return (true_fn if pred else false_fn)(*operands)
    tracer: Any = pred.tracer
    true = tracer.record(true_fn, len(operands))
    false = tracer.record(false_fn, len(operands), true.lifted)
    # The node has one list of operands: each branch has inputs for what only the other needs.
    for node in false.lifted:
        lift(true, node)
    number = count(true)
    if number != count(false):
        raise ValueError("the branches return different numbers of tensors")
    graphs = tracer.add_graph("true_graph", true), tracer.add_graph("false_graph", false)
    inputs = (*operands, *map(tracer.proxy, true.lifted))
    result = tracer.create_proxy("call_function", cond, (pred, *graphs, inputs), {})
    return result if number is None else tuple(result[place] for place in range(number))


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
    """Return the last carry, and the results of all steps."""
    proxy = next((value for value in (init, xs) if isinstance(value, fx.Proxy)), None)
    if proxy is None:
        return loop(step, init, xs, operands)
    tracer: Any = proxy.tracer
    level = tracer.record(step, 2 + len(operands))
    if count(level) != 2:
        raise ValueError("step returns a pair: the next carry and a result")
    inputs = (*operands, *map(tracer.proxy, level.lifted))
    graph = tracer.add_graph("step_graph", level)
    pair = tracer.create_proxy("call_function", scan, (graph, init, xs, inputs), {})
    return pair[0], pair[1]
