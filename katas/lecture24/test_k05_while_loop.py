"""Tests of k05_while_loop: the loop in Python, and a program that is exported once."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from katas.lecture24.k05_while_loop import by_python
from katas.lecture24.k05_while_loop import decode
from katas.lecture24.k05_while_loop import next_token
from plugins.kit import unchanged


END = 3


def chain(*after: int) -> torch.Tensor:
    """Return scores [n, n] by which ``after[t]`` follows token t."""
    n = len(after)
    scores = torch.randn(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
    scores[torch.arange(n), torch.tensor(after)] = 7.5
    return scores


# 5 4 0 1 2 3, an end; and 6 7 6 7 ..., without one.
TABLE = chain(1, 2, 3, 5, 0, 4, 7, 6)


class Decode(torch.nn.Module):
    """The function as a module, which export requires."""

    def forward(self, table: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        """Decode eight tokens."""
        return decode(table, start, 8, END)


def exported() -> Any:
    """Return your function as an exported program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(Decode(), (TABLE, torch.tensor(5)), strict=False)


@pytest.mark.given
def test_by_python() -> None:
    """The given loop stops at an end."""
    found = by_python(TABLE, torch.tensor(0), 6, END).tolist()
    assert found == [1, 2, 3, 3, 3, 3], f"after 0: {found}, expected [1, 2, 3, 3, 3, 3]"


def test_the_next_token() -> None:
    """The result is an int64 tensor without dims."""
    for token in range(8):
        tok = torch.tensor(token)
        with unchanged(table=TABLE, tok=tok):
            yours = next_token(TABLE, tok)
        right = TABLE[token].argmax()
        assert yours.shape == (), f"yours has shape {[*yours.shape]}, expected no dims"
        assert yours.dtype == torch.int64, f"yours is {yours.dtype}, expected torch.int64"
        assert int(yours) == int(right), f"after {token}: yours {int(yours)}, expected {right}"


def test_the_number_of_a_token_is_not_read() -> None:
    """On the meta device tensors have no values: reading one raises."""
    try:
        yours = next_token(TABLE.to("meta"), torch.tensor(1, device="meta"))
    except (NotImplementedError, RuntimeError) as error:
        if "next_token" in str(error):
            raise
        message = f"yours asks for the number of a token: {str(error).splitlines()[0]}"
        raise AssertionError(message) from None
    assert yours.shape == (), f"yours has shape {[*yours.shape]}, expected no dims"


@pytest.mark.time_limit(30)
def test_decode_until_an_end() -> None:
    """5 4 0 1 2 and an end take fewer than `length` steps; the inputs are not modified."""
    start = torch.tensor(5)
    with unchanged(table=TABLE, start=start):
        yours = decode(TABLE, start, 8, END)
    right = by_python(TABLE, start, 8, END)
    assert yours.dtype == right.dtype, f"yours is {yours.dtype}, expected {right.dtype}"
    assert yours.tolist() == right.tolist(), f"yours {yours.tolist()}, expected {right.tolist()}"


@pytest.mark.time_limit(30)
def test_decode_without_an_end() -> None:
    """6 and 7 alternate until there are `length` tokens."""
    yours = decode(TABLE, torch.tensor(6), 8, END).tolist()
    assert yours == [7, 6, 7, 6, 7, 6, 7, 6], f"yours {yours}, expected 7 and 6 in turn"


@pytest.mark.time_limit(30)
def test_decode_from_an_end() -> None:
    """The sequence has already ended: no step, and `start` is not part of the result."""
    yours = decode(TABLE, torch.tensor(END), 8, END).tolist()
    assert yours == [END] * 8, f"after an end token: yours {yours}, expected {[END] * 8}"


@pytest.mark.time_limit(30)
def test_one_graph_for_all_lengths() -> None:
    """Export with one start, and run with others: the loop is an operator in the graph."""
    program = exported()
    targets = [str(node.target) for node in program.graph.nodes]
    assert "while_loop" in targets, f"the graph contains {sorted(set(targets))}, but no while_loop"
    call = program.module()
    for start in range(8):
        yours = call(TABLE, torch.tensor(start)).tolist()
        right = by_python(TABLE, torch.tensor(start), 8, END).tolist()
        assert yours == right, f"exported, then started with {start}: {yours}, expected {right}"
