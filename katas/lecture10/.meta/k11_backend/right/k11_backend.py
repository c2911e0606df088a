"""A backend for torch.compile, and what makes it compile again."""

from __future__ import annotations

import dis
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
        self.graphs: list[torch.fx.GraphModule] = []
        self.calls: list[tuple[int, int]] = []
        self._runs = 0
        self._compiled = torch.compile(function, backend=self.backend, dynamic=dynamic)

    def backend(
        self,
        graph: torch.fx.GraphModule,
        inputs: list[torch.Tensor],
    ) -> Callable[..., Any]:
        """Note the graph; return what runs it and notes that."""
        self.graphs.append(graph)

        def run(*args: Any) -> Any:
            self._runs += 1
            return graph(*args)

        return run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled function, and note how many graphs were compiled and were run."""
        compiled, runs = len(self.graphs), self._runs
        try:
            return self._compiled(*args, **kwargs)
        finally:
            self.calls.append((len(self.graphs) - compiled, self._runs - runs))

    @property
    def breaks(self) -> int:
        """How many graph breaks the first call had."""
        first = self.calls[0][0] if self.calls else 0
        return max(first - 1, 0)

    @property
    def recompiles(self) -> int:
        """How many graphs were compiled after the first call."""
        return sum(compiled for compiled, _ in self.calls[1:])


def guards(function: Callable[..., Any], *args: Any) -> Hashable:
    """Return what must be the same in a later call for its compiled graph to serve again."""
    met: dict[int, int] = {}

    def fact(value: Any) -> Hashable:
        if isinstance(value, torch.Tensor):
            # Its number among the tensors of this call: an address would mean nothing later.
            number = met.setdefault(id(value), len(met))
            layout = (value.dtype, value.device, value.shape, value.stride())
            # What Dynamo reads in the dispatch keys, asked of the tensor itself.
            keys = value.is_conj(), value.is_neg(), value.is_inference()
            return type(value), number, layout, value.requires_grad, keys
        if isinstance(value, bool | int | float | str | None):
            # 1, 1.0 and True are equal, and no guard takes one for another.
            return type(value), value
        if isinstance(value, list | tuple):
            return type(value), tuple(fact(item) for item in value)
        return id(value)

    code = dis.get_instructions(function)
    # Not co_names: that holds the names of attributes too.
    names = [it.argval for it in code if it.opname == "LOAD_GLOBAL"]
    loaded = [function.__globals__[name] for name in names if name in function.__globals__]
    closure = [cell.cell_contents for cell in function.__closure__ or ()]
    return torch.is_grad_enabled(), tuple(fact(value) for value in (*args, *loaded, *closure))


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
    return torch.where(x.sum() < 0, -x, x)


def whole_limit(x: torch.Tensor) -> torch.Tensor:
    """Return what `limit` returns, by a single graph."""
    return x / x.detach().abs().max().clamp(min=1)


def whole_report(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what `report` returns, and what it prints, by a single graph."""
    y = x.sin() + x
    return y.cos() * y, y.mean()


class WholeAverage(nn.Module):
    """The same as `Average`, by a single graph for all steps."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        # A number of Python's is a constant in the graph, with a guard; a tensor is an input.
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the mean of `x` and all inputs before it."""
        # A new tensor: autograd has saved the old one, to divide by it in backward.
        self.steps = self.steps + 1
        self.mean += (x - self.mean) / self.steps
        return self.mean.clone()


def any_batch(x: torch.Tensor) -> torch.Tensor:
    """Mark `x`, so that one compiled graph serves all sizes of its dim 0."""
    torch._dynamo.mark_dynamic(x, 0)  # noqa: SLF001 - this is where PyTorch documents it
    return x
