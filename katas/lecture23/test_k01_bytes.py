"""Tests of k01_bytes: UTF-8 bytes, shared memory, and an index that is really a mask."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture23.conftest import close
from katas.lecture23.conftest import numbers
from katas.lecture23.k01_bytes import codes_of
from katas.lecture23.k01_bytes import embed
from katas.lecture23.k01_bytes import lower_
from plugins.kit import unchanged


@pytest.mark.parametrize("text", ["Aa", "é€", ""], ids=["ASCII", "more bytes", "empty"])
def test_bytes_of_a_text(text: str) -> None:
    """A letter beyond ASCII has two or more bytes; an empty text has none."""
    yours, expected = codes_of(text), [*text.encode()]

    assert yours.dtype == torch.uint8, f"yours is {yours.dtype}, expected torch.uint8"
    assert yours.tolist() == expected, f"{text!r}: yours {yours.tolist()}, expected {expected}"


def test_you_may_write_to_them() -> None:
    """Python keeps one object for each one-byte text; a write to one changes them all."""
    yours = codes_of("~")
    yours[0] = 33
    again = codes_of("~").tolist()
    yours[0] = 126

    assert again == [126], (
        f'after a write to the codes of "~", a second "~" has codes {again}, expected [126]: a'
        " bytes object must never change, because Python shares it. Copy it to a bytearray"
    )


def test_lower_writes_to_the_buffer() -> None:
    """The bytes just before A and just after Z are unchanged, and so are lowercase letters."""
    buffer = bytearray(b"@AZ[ Kata \xc3\x89`az{")
    lower_(buffer)
    expected = bytearray(b"@az[ kata \xc3\x89`az{")

    assert buffer == expected, f"the buffer is {bytes(buffer)!r}, expected {bytes(expected)!r}"


class Count(TorchDispatchMode):
    """Counts operators."""

    calls = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Count one."""
        self.calls += 1
        return func(*args, **(kwargs or {}))


def test_lower_by_operators() -> None:
    """A tensor is used, and a long buffer takes as many operators as a short one."""
    counts = []
    for times in (2, 50):
        buffer = bytearray(b"aBCd" * times)
        with Count() as mode:  # type: ignore[no-untyped-call, unused-ignore]
            lower_(buffer)
        assert buffer == b"abcd" * times, f"{times} times aBCd became {bytes(buffer)!r}"
        counts.append(mode.calls)

    assert counts[0], "no operator of PyTorch ran: write to the bytes through a tensor"
    assert counts[1] < 2 * counts[0], (
        f"operators for 8 bytes {counts[0]}, for 200 bytes {counts[1]}: process all bytes at once"
    )


def test_a_row_for_each_byte() -> None:
    """There are as many codes as rows, so a mask would fit too, and select rows 1 and 2."""
    codes, table = torch.tensor([2, 0, 1], dtype=torch.uint8), numbers(3, 2)
    with unchanged(codes=codes, table=table):
        yours = embed(codes, table)

    close(yours, table[[2, 0, 1]], "rows 2, 0, 1: a uint8 index is a mask, as bool is")


def test_codes_of_any_shape() -> None:
    """Codes may be a batch of texts, empty, or above 127."""
    codes, table = torch.tensor([[255, 0, 128], [7, 7, 200]], dtype=torch.uint8), numbers(256, 5)
    close(embed(codes, table), table[codes.long()], "codes of [2, 3], above 127 too")
    assert embed(codes[:0], table).shape == (0, 3, 5), "codes of shape [0, 3]: expected [0, 3, 5]"


def test_a_byte_that_comes_twice_learns_twice() -> None:
    """The gradient of a row is summed over all positions of its byte."""
    table = numbers(256, 3).requires_grad_()
    embed(torch.tensor([104, 101, 108, 108, 111], dtype=torch.uint8), table).sum().backward()
    expected = torch.zeros(256, 3).double()
    expected[[101, 104, 108, 111]] = torch.tensor([[1.0], [1.0], [2.0], [1.0]]).double()

    assert table.grad is not None, "no gradient reached the table"
    close(table.grad, expected, "the gradient of hello: 2 for l, 1 for e, h, o")
