"""Tests of k05_online_softmax: PyTorch's attention, its log-sum-exp, and what each saves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch.autograd.gradcheck import GradcheckError
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture23.conftest import close
from katas.lecture23.conftest import numbers
from katas.lecture23.k05_online_softmax import Online
from katas.lecture23.k05_online_softmax import join
from katas.lecture23.k05_online_softmax import online
from katas.lecture23.k05_online_softmax import part
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


one = pytest.mark.step(1, "one block of keys")
two = pytest.mark.step(2, "two parts joined")
three = pytest.mark.step(3, "all blocks")
four = pytest.mark.step(4, "backward")


def qkv(queries: int = 10, keys: int = 10, values: int = 4, *, texts: int = 2) -> Three:
    """Return q, k and v of two texts and three heads, with 4 numbers for each query."""
    q = numbers(texts, 3, queries, 4, seed=1)
    return q, numbers(texts, 3, keys, 4, seed=2), numbers(texts, 3, keys, values, seed=3)


def wanting(inputs: Three) -> Three:
    """Return inputs that require a gradient."""
    q, k, v = inputs
    return q.requires_grad_(), k.requires_grad_(), v.requires_grad_()


def applied(inputs: Three, size: int, *, causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what your function returns."""
    out, lse = Online.apply(*inputs, (size, causal))  # type: ignore[no-untyped-call, unused-ignore]
    return out, lse


def flash(inputs: Three, *, causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what the fused operator of the CPU returns: the attention, and its log-sum-exp."""
    fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu  # noqa: SLF001
    out, lse = fused(*inputs, is_causal=causal)
    return out, lse


Three = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class Largest(TorchDispatchMode):
    """Remembers the size of the largest tensor that an operator returns."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.elements = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Look at what the operator returns."""
        found = func(*args, **(kwargs or {}))
        for each in found if isinstance(found, list | tuple) else [found]:
            if isinstance(each, torch.Tensor):
                self.elements = max(self.elements, each.numel())
        return found


def saved(function: Callable[..., Any], *args: Any) -> int:
    """Return how many elements a call saves for backward."""
    sizes: list[int] = []

    def pack(x: torch.Tensor) -> torch.Tensor:
        sizes.append(x.numel())
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        function(*args)
    return sum(sizes)


@one
def test_two_keys() -> None:
    """Scores 0 and log 3: the sum of their exponentials is 4."""
    s = torch.tensor([[1.0, 3.0]]).double().log()
    out, lse = part(s, torch.tensor([[8.0, 0.0], [0.0, 4.0]]).double())

    close(out, [[2.0, 3.0]], "weights 1/4 and 3/4 of [8, 0] and [0, 4]")
    close(lse, torch.tensor([4.0]).double().log(), "the log of 1 + 3")


@one
def test_part_in_general() -> None:
    """Compare with softmax and logsumexp, for scores beyond 1,000 too."""
    s, v = numbers(2, 3, 5, 7) * 1000, numbers(2, 3, 7, 4)
    with unchanged(s=s, v=v):
        out, lse = part(s, v)
    close(out, s.softmax(-1) @ v, "out, with scores beyond 1,000")
    close(lse, s.logsumexp(-1), "lse, with scores beyond 1,000")


@one
def test_a_row_that_sees_nothing() -> None:
    """Such a row reads 0, and its log-sum-exp is that of an empty set."""
    s, v = numbers(3, 4), numbers(4, 2)
    s[1] = -torch.inf
    s[2, 1:] = -torch.inf
    out, lse = part(s, v)

    close(out[1], [0.0, 0.0], "row 1 sees nothing")
    close(lse[1], -torch.inf, "the log of 0")
    close(out[2], v[0], "row 2 sees key 0 alone")
    close(lse[2], s[2, 0], "row 2: its only score")


@two
def test_join_two_on_paper() -> None:
    """Sums of 1 and 3 have weights 1/4 and 3/4."""
    a = (torch.tensor([[8.0, 0.0]]).double(), torch.tensor([1.0]).double().log())
    b = (torch.tensor([[0.0, 4.0]]).double(), torch.tensor([3.0]).double().log())
    with unchanged(a=a, b=b):
        out, lse = join(a, b)
    close(out, [[2.0, 3.0]], "1/4 of [8, 0] and 3/4 of [0, 4]")
    close(lse, torch.tensor([4.0]).double().log(), "the log of 1 + 3")


@two
def test_join_is_as_if_never_cut() -> None:
    """The split point and the order do not matter, even for an lse beyond 1,000."""
    for factor in (1.0, 1000.0):
        s, v = numbers(2, 5, 7) * factor, numbers(2, 7, 3)
        whole = part(s, v)
        for cut in (1, 3, 6):
            a, b = part(s[..., :cut], v[:, :cut]), part(s[..., cut:], v[:, cut:])
            for name, pair in (("join(a, b)", join(a, b)), ("join(b, a)", join(b, a))):
                why = f"{name}, where a has {cut} of 7 keys and scores are times {factor}"
                close(pair[0], whole[0], f"out of {why}")
                close(pair[1], whole[1], f"lse of {why}")


@two
def test_nothing_joined() -> None:
    """Join an empty part to another part, from the left and the right, and to an empty part."""
    some = numbers(3, 2), numbers(3, seed=1)
    nothing = torch.zeros(3, 2).double(), torch.full((3,), -torch.inf).double()
    for why, pair, right in (
        ("some and nothing", join(some, nothing), some),
        ("nothing and some", join(nothing, some), some),
        ("nothing and nothing", join(nothing, nothing), nothing),
    ):
        close(pair[0], right[0], f"out of {why}")
        close(pair[1], right[1], f"lse of {why}")


@three
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
def test_online(causal: bool) -> None:  # noqa: FBT001
    """Blocks may divide the keys, may not, and may be larger than all keys together."""
    inputs = qkv()
    right = flash(inputs, causal=causal)
    for size in (1, 4, 5, 10, 64):
        with unchanged(*inputs):
            out, lse = online(*inputs, size, causal=causal)
        ask = "; does a block know where its keys begin?" if causal else ""
        close(out, right[0], f"out by blocks of {size}{ask}")
        close(lse, right[1], f"lse by blocks of {size}: PyTorch's operator returns it too{ask}")


@three
def test_other_sizes() -> None:
    """Compare with fewer or more queries than keys, values of another size, and float32."""
    for queries, keys, values in ((3, 10, 4), (10, 3, 4), (5, 9, 2)):
        inputs = qkv(queries, keys, values)
        for causal in (False, True):
            out, lse = online(*inputs, 4, causal=causal)
            right = scaled_dot_product_attention(*inputs, is_causal=causal)
            why = f"{queries} queries, {keys} keys, values of {values}, causal={causal}"
            close(out, right, why)
            assert lse.shape == (2, 3, queries), f"{why}: lse has shape {[*lse.shape]}"
    q, k, v = qkv()
    out, lse = online(q.float(), k.float(), v.float(), 4, causal=True)
    kinds = {out.dtype, lse.dtype}
    assert kinds == {torch.float32}, f"for float32 inputs, your results are {kinds}"


@three
def test_no_matrix_of_scores() -> None:
    """The largest tensor is as large as a block of scores, or as q."""
    inputs = qkv(64, 64, texts=1)
    with Largest() as mode:
        online(*inputs, 8, causal=True)
    bar = 2 * 3 * 64 * 8

    assert mode.elements <= bar, (
        f"your largest tensor has {mode.elements:,} elements, expected at most {bar:,}: the"
        " scores of a block of 8 keys; all scores are 12,288"
    )


@four
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
def test_gradients(causal: bool) -> None:  # noqa: FBT001
    """Gradients equal those of PyTorch's attention; so do the value and lse."""
    inputs = wanting(qkv(10, 10, 3))
    expected = scaled_dot_product_attention(*inputs, is_causal=causal)
    weights = numbers(*expected.shape, seed=9)
    right = torch.autograd.grad(expected, inputs, weights)
    out, lse = applied(inputs, 4, causal=causal)
    close(out.detach(), expected.detach(), "out")
    close(lse.detach(), flash(qkv(), causal=causal)[1], "lse")
    yours = torch.autograd.grad(out, inputs, weights)
    for name, mine, theirs in zip("qkv", yours, right, strict=True):
        close(mine, theirs, f"the gradient of {name}", 1e-11)


@four
def test_gradcheck() -> None:
    """Finite differences agree."""
    inputs = wanting((numbers(3, 2, seed=1), numbers(3, 2, seed=2), numbers(3, 2, seed=3)))
    try:
        torch.autograd.gradcheck(lambda *x: applied(x, 2, causal=True)[0], inputs)
    except GradcheckError as error:
        raise AssertionError("gradcheck says: " + " ".join(str(error).split())) from None


@four
def test_lse_has_no_gradient() -> None:
    """The lse does not require a gradient: a loss on it would be silently wrong."""
    _, lse = applied(wanting(qkv()), 4, causal=False)
    assert not lse.requires_grad, "lse requires a gradient, but backward ignores it"


@four
def test_what_is_saved() -> None:
    """q, k, v, out and lse, as the fused operator does: they grow with the number of tokens."""
    for tokens in (64, 256):
        inputs = wanting(qkv(tokens, tokens, texts=1))
        yours = saved(partial(applied, inputs, 16, causal=False))
        out, lse = applied(inputs, 16, causal=False)
        beside = vars(out.grad_fn)
        five = sum(each.numel() for each in (*inputs, out, lse))
        odd = [name for name, each in beside.items() if isinstance(each, torch.Tensor | list)]
        assert not odd, f"ctx.{odd} keeps tensors that were not passed to save_for_backward"
        theirs = saved(scaled_dot_product_attention, *inputs)
        tiled = saved(partial(online, causal=False), *inputs, 16)
        assert yours, "nothing was passed to save_for_backward"
        assert yours >= five, (
            f"{tokens} tokens: your code saves {yours:,} elements, expected {five:,}: q, k, v, out"
            " and lse. Without the last two, backward computes the whole attention again"
        )
        assert yours <= theirs, (
            f"{tokens} tokens: your code saves {yours:,} elements, PyTorch's fused operator"
            f" {theirs:,}: q, k, v, out and lse; autograd would save {tiled:,} of `online`"
        )


@four
def test_backward_by_blocks() -> None:
    """In backward too, no full score matrix is created, and no input changes."""
    inputs = wanting(qkv(64, 64, texts=1))
    out, _ = applied(inputs, 8, causal=True)
    grad = numbers(*out.shape)
    with unchanged(*inputs, grad=grad), Largest() as mode:
        torch.autograd.grad(out, inputs, grad)
    bar = 2 * 3 * 64 * 8

    assert mode.elements <= bar, (
        f"the largest tensor of your backward has {mode.elements:,} elements, expected at most"
        f" {bar:,}: the scores of a block of 8 keys; all scores are 12,288"
    )
