"""Write a decode loop as one operator.

`while tok != end` asks the device for a number after each token, and a graph cannot hold that:
export refuses such a loop, and ``torch.jit.trace`` records the steps of one run. A graph can hold
`while_loop`, an operator that takes two functions:

    while_loop(cond, body, (x, y))     # as:  while cond(x, y): x, y = body(x, y)

Both are traced once, with tokens without values. So `W[tok]` with a 0-d `tok` fails: indexing by a
0-d integer reads its value. `index_select` takes the index as a tensor.

1. `next_token`: the best token after `tok`, without reading its value.
2. `decode`: the same result as the given `by_python`.

Rules for `body`: as many results as arguments, of the same shape and dtype, all new; do not write
to an argument. About 15 lines.

Begin on paper: which tensors change from step to step, and what does the list of tokens become?
Afterwards read ``torch/_higher_order_ops/while_loop.py``, in site-packages.
"""

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
    # TODO
    raise NotImplementedError("next_token")


def decode(table: torch.Tensor, start: torch.Tensor, length: int, end: int) -> torch.Tensor:
    """Return what `by_python` returns, with `while_loop`."""
    # TODO: a position, a token, and the tokens so far.
    raise NotImplementedError("decode")
