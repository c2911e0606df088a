"""Tests of k06_roofline: PyTorch counts the operations, and its tensors give the bytes."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from katas.lecture07 import k06_roofline as kata
from katas.lecture07.k06_roofline import OPERATORS
from katas.lecture07.k06_roofline import Work
from katas.lecture07.k06_roofline import bound
from plugins.kit import forbids


RULES = {
    "add": "one FLOP for each result; two tensors are read, one is written",
    "add_row": "a row that is broadcast is no larger in memory",
    "mm": "each result is a sum of products: a multiplication and an addition for each",
    "mm_half": "the dtype changes the bytes, not the operations",
    "mm_one_row": "the matrix is read whole, however few rows it meets",
    "bmm": "each matrix of the batch is multiplied with its partner only",
}


def measure(name: str) -> Work:
    """Run an operator, and count its FLOPs and the bytes of its tensors."""
    function, dtype, sizes = OPERATORS[name]
    operator = getattr(torch, function.removeprefix("torch."))
    tensors = [torch.ones(size, dtype=getattr(torch, dtype)) for size in sizes]
    with FlopCounterMode(display=False) as counter:
        result = operator(*tensors)
    # PyTorch counts only products; an addition is one FLOP for each result.
    flops = counter.get_total_flops() or result.numel()
    return Work(flops, sum(x.untyped_storage().nbytes() for x in (*tensors, result)))


def predicted() -> dict[str, tuple[object, ...]]:
    """Return your rows, which cannot call torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows, again = fresh.work(), fresh.work()
        assert rows == again, "called again, `work` returns different rows"
        return {
            name: ({type(row.flops), type(row.bytes)}, row.flops, row.bytes)
            for name, row in rows.items()
        }


@pytest.mark.given
def test_two_sides_of_the_ridge() -> None:
    """Products of large matrices are compute-bound, additions memory-bound."""
    assert bound(measure("add")) == "memory"
    assert bound(measure("mm")) == "compute"


def test_every_operator_is_there() -> None:
    """There is exactly one row for each operator, and no row comes from torch."""
    yours = set(predicted())
    assert yours == set(OPERATORS), (
        f"yours has rows for {sorted(yours)}, expected those of OPERATORS"
    )


@pytest.mark.parametrize("name", OPERATORS)
def test_row(name: str) -> None:
    """A row has the operator's FLOPs and bytes."""
    kinds, flops, size = predicted()[name]
    right = measure(name)

    assert kinds == {int}, (
        f"{name}: your types are {', '.join(kind.__name__ for kind in kinds)}, expected ints"
    )
    assert flops == right.flops, (
        f"{name}: yours {flops} FLOPs, which is not what PyTorch counts. {RULES[name]}"
    )
    assert size == right.bytes, (
        f"{name}: yours {size} bytes, which is not the size of the tensors. {RULES[name]}"
    )
