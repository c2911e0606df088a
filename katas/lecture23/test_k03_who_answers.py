"""Tests of k03_who_answers: a mode of the tests asks this PyTorch what runs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention as attention
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture23.conftest import close
from katas.lecture23.conftest import numbers
from katas.lecture23.k03_who_answers import Names
from katas.lecture23.k03_who_answers import answer
from katas.lecture23.k03_who_answers import fast
from plugins.kit import unchanged


Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class Seen(TorchDispatchMode):
    """Collects the operators that run."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Record one."""
        self.names.append(f"{func}")
        return func(*args, **(kwargs or {}))


def fused(names: list[str]) -> str:
    """Return the fused operator among them."""
    return ([name for name in names if "scaled_dot_product" in name] or ["math"])[0]


def test_names_of_operators() -> None:
    """Names are in order, results are PyTorch's, and keyword arguments are passed on."""
    x = numbers(2, 3)
    with Names() as mode:
        y = torch.add(x, x, alpha=3).sum(1, keepdim=True)

    right = ["aten.add.Tensor", "aten.sum.dim_IntList"]
    assert mode.names == right, f"(x + 3 x).sum(1) runs {right}; yours recorded {mode.names}"
    close(y, (x + 3 * x).sum(1, keepdim=True), "the value of (x + 3 x).sum(1), in your mode")


def test_each_mode_has_its_own_names() -> None:
    """A second mode begins empty, and the first records nothing after its with."""
    with Names() as first:
        torch.ones(2)
    with Names() as second:
        pass
    assert len(first.names) == 1, f"one operator ran in the first with; it recorded {first.names}"
    assert second.names == [], f"nothing ran in the second with; it recorded {second.names}"


def cases() -> dict[str, tuple[Three, dict[str, Any]]]:
    """Return calls: q, k and v, and options."""
    q, k, v = (numbers(2, 4, 6, 8, seed=seed) for seed in (1, 2, 3))
    bias = numbers(6, 6)
    return {
        "plain": ((q, k, v), {}),
        "float16": ((q.half(), k.half(), v.half()), {}),
        "a mask of bool": ((q, k, v), {"attn_mask": bias > 0}),
        "a mask of numbers": ((q, k, v), {"attn_mask": bias}),
        "a mask that requires a gradient": (
            (q, k, v),
            {"attn_mask": bias.clone().requires_grad_()},
        ),
        "is_causal": ((q, k, v), {"is_causal": True}),
        "two heads of keys, enable_gqa": ((q, k[:, :2], v[:, :2]), {"enable_gqa": True}),
        "one head of keys, broadcast": ((q, k[:, :1], v[:, :1]), {}),
        "dropout": ((q, k, v), {"dropout_p": 0.5}),
        "no batch": ((q[0], k[0], v[0]), {}),
        "values of another size": ((q, k, v[..., :5]), {}),
        "queries with a last stride of 6": ((q.mT.contiguous().mT, k, v), {}),
    }


def test_who_answers() -> None:
    """Compare for twelve calls with what this PyTorch runs now."""
    for name, (inputs, options) in cases().items():
        with Seen() as seen:
            attention(*inputs, **options)
        with unchanged(*inputs, but=["torch.get_rng_state()"]):
            yours = answer(*inputs, **options)

        ran = fused(seen.names)
        assert yours == ran, f"{name}: yours {yours!r}, but {ran!r} ran, out of {seen.names}"


def test_an_error_is_no_answer() -> None:
    """Two key heads for four query heads, without enable_gqa: the caller gets the error."""
    q, k = numbers(2, 4, 6, 8), numbers(2, 2, 6, 8)
    with unchanged(q=q, k=k), pytest.raises(RuntimeError, match=r"size|heads"):
        answer(q, k, k)


def test_one_head_of_keys_for_all() -> None:
    """The values are the same, the fused operator answers, and no key is copied."""
    q, k, v = numbers(2, 4, 6, 8), numbers(2, 1, 9, 8, seed=1), numbers(2, 1, 9, 8, seed=2)
    with unchanged(q=q, k=k, v=v), Seen() as seen:
        yours = fast(q, k, v)
    close(yours, attention(q, k, v), "attention to one head of keys")
    with Seen() as full:
        attention(q, k.repeat(1, 4, 1, 1), v.repeat(1, 4, 1, 1))
    wanted = fused(full.names)

    assert fused(seen.names) == wanted, f"your call ran {fused(seen.names)!r}, expected {wanted!r}"
    copies = [n for n in seen.names if n.startswith(("aten.clone", "aten.copy", "aten.repeat"))]
    assert not copies, f"your code copies the keys with {copies}: a view with 4 heads is enough"
