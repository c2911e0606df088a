"""Shows a tensor that hypothesis drew with what its values do not tell: dtype, strides, offset.

hypothesis looks the printer up by the name of the class, so nothing imports torch for it.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING
from typing import Any

from plugins.tools.private import without_overrides


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Sequence

    from hypothesis.vendor.pretty import RepresentationPrinter


# Maximum number of values shown per tensor, the first of each dim.
VALUES = 36
STRIDED = "torch.strided"
# What is said of every tensor, as far as it has it: one that is sparse has no strides.
ALWAYS: dict[str, Callable[[Any], object]] = {
    "dtype": lambda x: x.dtype,
    "size": lambda x: tuple(x.size()),
    "stride": lambda x: strided(x).stride(),
    "storage_offset": lambda x: strided(x).storage_offset(),
}
# What is said only where it differs from this.
SELDOM: dict[str, tuple[str, Callable[[Any], object]]] = {
    "layout": (STRIDED, lambda x: x.layout),
    "device": ("'cpu'", lambda x: str(x.device)),
    "requires_grad": ("False", lambda x: x.requires_grad),
    "is_conj": ("False", lambda x: x.is_conj()),
    "is_neg": ("False", lambda x: x.is_neg()),
}


def show_layouts() -> None:
    """Let hypothesis print tensors with `print_tensor`."""
    from hypothesis.vendor.pretty import for_type_by_name  # noqa: PLC0415 - takes half a second

    for_type_by_name("torch", "Tensor", print_tensor)


def print_tensor(tensor: Any, printer: RepresentationPrinter, _: object) -> None:
    """Print a tensor, also one of a subclass, as a call with its values and facts."""
    name = type(tensor).__name__
    # A learner's subclass is under test, and its methods may print, count or fail.
    with without_overrides():
        facts = list(describe_tensor(tensor))
    with printer.group(4, f"{'tensor' if name == 'Tensor' else name}(", ")"):
        for number, fact in enumerate(facts):
            if number:
                printer.text(",")
                printer.breakable()
            printer.text(fact)


def describe_tensor(tensor: Any) -> Iterator[str]:
    """Return the values of a tensor and its facts; what cannot be asked of it is left out."""
    with suppress(Exception):
        yield format_values(tensor.detach())
    for name, read in ALWAYS.items():
        with suppress(Exception):
            yield f"{name}={read(tensor)!r}"
    for name, (usual, read) in SELDOM.items():
        with suppress(Exception):
            if (text := repr(read(tensor))) != usual:
                yield f"{name}={text}"


def strided(tensor: Any) -> Any:
    """Return `tensor` if it has strides; torch would call those of another 0.

    Raises
    ------
    TypeError
        If it has none.
    """
    if str(tensor.layout) != STRIDED:
        raise TypeError
    return tensor


def format_values(tensor: Any) -> str:
    """Return the first values of a tensor, in nested lists."""
    tensor = tensor if str(tensor.layout) == STRIDED else tensor.to_dense()
    sizes = tuple(tensor.size())
    most = next(n for n in range(VALUES, 0, -1) if n == 1 or count_first(sizes, n) <= VALUES)
    return format_nested(tensor[(slice(most),) * len(sizes)].tolist(), sizes)


def count_first(sizes: Sequence[int], most: int) -> int:
    """Return how many values there are among the first `most` of each dim."""
    return math.prod(min(size, most) for size in sizes)


def format_nested(value: object, sizes: Sequence[int]) -> str:
    """Return nested lists, with "..." where one is not whole, and numbers with four digits."""
    if isinstance(value, list):
        parts = [format_nested(each, sizes[1:]) for each in value]
        parts += ["..."] * (len(value) < sizes[0])
        return f"[{', '.join(parts)}]"
    if isinstance(value, float):
        return repr(float(f"{value:.4g}"))
    return f"{value:.4g}" if isinstance(value, complex) else repr(value)
