"""Write a decode loop as one operator."""

from __future__ import annotations

import torch
from torch._higher_order_ops.while_loop import while_loop


def by_python(table: torch.Tensor, start: torch.Tensor, length: int, end: int) -> torch.Tensor:
    """Return up to `length` tokens, [length], with `end` everywhere after an end. Given.

    Row t of the table [n, n] scores the tokens after token t; `start` has no dims.
    """
    tokens = torch.full((length,), end)
    tok, place = start, 0
    while place < length and int(tok) != end:
        tok = table[int(tok)].argmax()
        tokens[place] = tok
        place += 1
    return tokens


def next_token(table: torch.Tensor, tok: torch.Tensor) -> torch.Tensor:
    """Return the token with the highest score after `tok`; both are int64 without dims."""
    return table.index_select(0, tok.reshape(1)).argmax(1).reshape(())


def decode(table: torch.Tensor, start: torch.Tensor, length: int, end: int) -> torch.Tensor:
    """Return what `by_python` returns, with `while_loop`."""
    places = torch.arange(length)

    def cond(place: torch.Tensor, tok: torch.Tensor, _tokens: torch.Tensor) -> torch.Tensor:
        return (place < length) & (tok != end)

    def body(
        place: torch.Tensor, tok: torch.Tensor, tokens: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        tok = next_token(table, tok)
        return place + 1, tok, torch.where(places == place, tok, tokens)

    state = torch.tensor(0), start.clone(), torch.full((length,), end)
    tokens: torch.Tensor = while_loop(cond, body, state)[2]
    return tokens
