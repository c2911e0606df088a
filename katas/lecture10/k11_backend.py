"""A backend for torch.compile, and what makes it compile again.

``torch.compile(function, backend=...)`` runs nothing: when the compiled function is called,
TorchDynamo reads its bytecode and hands pieces of it to the backend, each as an ``fx.GraphModule``
with example inputs. What the backend returns, a callable that takes the graph's inputs, runs in
place of that piece from then on. Where Dynamo cannot go on inside a function there is a *graph
break*: Python runs that spot, and a new graph begins behind it. Dynamo keeps each compiled piece
with its *guards*, the facts that it relied on. A call that meets no piece's guards is a
*recompile*; once a function has ``torch._dynamo.config.recompile_limit`` (8) versions, a call that
none of them serves runs without a compiler. You write the meter, a model of the guards, and code
that needs none of it.

1. ``Watch(function, dynamic=None)`` compiles `function` by ``torch.compile``, once, with its own
   method ``backend(graph, inputs)`` as the backend and with `dynamic` handed on. Calling a watch is
   calling the compiled function: any arguments, its result, its errors.

   - ``backend`` appends the GraphModule to ``graphs`` and returns a callable that runs the graph.
   - ``calls`` is a list with a pair for each call of the watch, ``(compiled, ran)``: how many
     graphs were compiled in this call, how often a compiled graph ran in it. A call that raises
     has its pair too. ``(0, 1)`` is a cache hit, ``(0, 0)`` means that no graph ran at all.
   - ``breaks`` (a property) is what ``torch._dynamo.explain`` calls graph breaks: the graphs
     compiled by the first call, less one; 0 without a call or a graph (for which explain says -1).
   - ``recompiles`` (a property) is the number of graphs compiled by all calls after the first.

   Count in your backend: ``explain``, ``testing`` and ``utils.counters`` of ``torch._dynamo``
   are not to be used.

2. ``guards(function, *args)`` returns a hashable key: equal for two calls of one `function` that
   ``torch.compile(function, dynamic=False)`` serves by one compiled graph, another one where it
   compiles again, supposing that the function looks at all it can. The key is made of

   - whether grad mode is on;
   - the arguments, in their order; then the globals that the function's own bytecode loads
     (``dis``: ``LOAD_GLOBAL``; a name that is only in ``builtins`` is none); then the contents of
     its closure (``__closure__``, maybe None). Of each of these values:

     * a tensor: its class, dispatch keys (``torch._C._dispatch_keys``; a ``.conj()`` view and an
       inference tensor have others), dtype, device, sizes, strides, requires_grad, and which tensor
       met earlier in this call it *is*: ``f(x, x)`` is compiled apart from ``f(x, y)``. Not the
       data, not the storage offset, not the address.
     * a bool, int, float, string or None: its class and value.
     * a list or tuple: its class, and its items by these rules.
     * anything else (a module, a function, a class): which object it is. (Dynamo also takes
       equal ones for one.)

   (Dynamo of torch 2.11 misses that an argument is a global until a global is assigned to.)

   The key keeps no tensor alive. Do not compile anything. Out of scope: dicts, NaN, -0.0, one list
   in two places, marked dims, globals that other functions load, other global switches.

3. Four pieces of code are given below; write them anew, so that ``torch.compile(...,
   fullgraph=True)`` makes one graph of one call, and so that no later call with other data
   compiles again. Values and gradients stay the same, no caller's tensor is written to, and the
   operators stay PyTorch's: no custom operator, no ``torch.compiler.disable``.

   - ``whole_flip`` for ``flip``: a branch on data.
   - ``whole_limit`` for ``limit``: ``.item()``. With ``fullgraph=True`` Dynamo would put that into
     the graph, which then waits for the data; your graph takes no number out of a tensor.
   - ``whole_report`` for ``report``: a print. Return ``(result, mean)``, the mean as a tensor
     without dims, which the caller may print.
   - ``WholeAverage(size)`` for ``Average``: a Python number that changes with each call. The new
     module keeps its two values, ``mean`` and ``steps``, in its ``state_dict``.

   And ``any_batch(x)`` returns `x` itself, marked so that what is compiled for it serves every size
   of dim 0 from 2 on (0 and 1 are compiled apart in any case), but one size of each other dim; a
   function that can be compiled for a single batch size only fails at once and is not compiled for
   that size. One call of ``torch._dynamo``, without bounds.

About 60 lines. All graphs run on the CPU as they are: no Inductor, no C++ compiler.

In PyTorch: ``torch/_dynamo/backends/debugging.py`` (``eager``), ``torch/_dynamo/guards.py``
(``GuardBuilder``), ``torch/_dynamo/eval_frame.py`` (``explain``), ``torch/_dynamo/decorators.py``
(``mark_dynamic``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Hashable


class Watch:
    """A compiled function that knows what was compiled and run in each of its calls."""

    def __init__(self, function: Callable[..., Any], *, dynamic: bool | None = None) -> None:
        # TODO: compile the function with self.backend; begin with no graphs and no calls.
        raise NotImplementedError("Watch")

    def backend(
        self, graph: torch.fx.GraphModule, inputs: list[torch.Tensor]
    ) -> Callable[..., Any]:
        """Note the graph; return what runs it and notes that."""
        # TODO: this is what torch.compile calls, once for each graph.
        raise NotImplementedError("Watch.backend")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled function, and note how many graphs were compiled and were run."""
        # TODO: compare the counts before and after the call.
        raise NotImplementedError("Watch.__call__")

    @property
    def breaks(self) -> int:
        """How many graph breaks the first call had."""
        # TODO: the graphs of the first call, less one.
        raise NotImplementedError("Watch.breaks")

    @property
    def recompiles(self) -> int:
        """How many graphs were compiled after the first call."""
        # TODO: the graphs of all other calls.
        raise NotImplementedError("Watch.recompiles")


def guards(function: Callable[..., Any], *args: Any) -> Hashable:
    """Return what must be the same in a later call for its compiled graph to serve again."""
    # TODO: grad mode, then a fact for each argument, each loaded global, each closure variable.
    raise NotImplementedError("guards")


def flip(x: torch.Tensor) -> torch.Tensor:
    """Given, to be written anew: turn the sign of `x` if its sum is negative."""
    if x.sum() < 0:
        return -x
    return x * 1


def limit(x: torch.Tensor) -> torch.Tensor:
    """Given, to be written anew: divide by the largest magnitude, if that is above 1."""
    largest = x.detach().abs().max().item()
    return x / max(largest, 1.0)


def report(x: torch.Tensor) -> torch.Tensor:
    """Given, to be written anew: say how large the intermediate values are."""
    y = x.sin() + x
    print("mean:", y.mean())  # noqa: T201 - that is the point
    return y.cos() * y


class Average(nn.Module):
    """Given, to be written anew: the mean of all inputs of shape (size,) so far."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.steps = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the mean of `x` and all inputs before it."""
        self.steps += 1
        self.mean += (x - self.mean) / self.steps
        return self.mean.clone()


def whole_flip(x: torch.Tensor) -> torch.Tensor:
    """Return what `flip` returns, by a single graph."""
    # TODO: both branches are cheap.
    raise NotImplementedError("whole_flip")


def whole_limit(x: torch.Tensor) -> torch.Tensor:
    """Return what `limit` returns, by a single graph."""
    # TODO: stay on tensors.
    raise NotImplementedError("whole_limit")


def whole_report(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what `report` returns, and what it prints, by a single graph."""
    # TODO: return what is to be printed.
    raise NotImplementedError("whole_report")


class WholeAverage(nn.Module):
    """The same as `Average`, by a single graph for all steps."""

    def __init__(self, size: int) -> None:
        super().__init__()
        # TODO: what a compiled graph reads and writes is a tensor.
        raise NotImplementedError("WholeAverage")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the mean of `x` and all inputs before it."""
        # TODO: one step.
        raise NotImplementedError("WholeAverage.forward")


def any_batch(x: torch.Tensor) -> torch.Tensor:
    """Mark `x`, so that one compiled graph serves all sizes of its dim 0."""
    # TODO: one call.
    raise NotImplementedError("any_batch")
