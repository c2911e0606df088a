"""Tests of k11_window: the same masks, and compilations counted for both ways."""

from __future__ import annotations

import logging

import pytest
import torch
from torch.nn.attention.flex_attention import create_mask

from katas.lecture24.k11_window import by_int
from katas.lecture24.k11_window import compilations
from katas.lecture24.k11_window import window


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence the compiler's log."""
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "disabled", True)


@pytest.mark.parametrize(("width", "tokens"), [(1, 4), (3, 9), (0, 4), (6, 16), (20, 12)])
def test_who_sees_whom(width: int, tokens: int) -> None:
    """mask_mod and the blocks allow the same pairs as in `by_int`."""
    yours, right = window(width, tokens), by_int(width, tokens)
    what = f"width {width}, {tokens} tokens"
    pairs = [
        create_mask(each.mask_mod, None, None, tokens, tokens, device="cpu")[0, 0].int().tolist()
        for each in (yours, right)
    ]
    assert pairs[0] == pairs[1], f"{what}: your pairs are {pairs[0]}, expected {pairs[1]}"
    for name in ("kv_num_blocks", "full_kv_num_blocks"):
        counts = [getattr(each, name).tolist() for each in (yours, right)]
        assert counts[0] == counts[1], f"{what}: your {name} are {counts[0]}, not {counts[1]}"
    for name in ("BLOCK_SIZE", "seq_lengths"):
        sizes = [getattr(each, name) for each in (yours, right)]
        assert sizes[0] == sizes[1], f"{what}: your {name} is {sizes[0]}, expected {sizes[1]}"


def test_one_compilation() -> None:
    """All widths, even 0 and 1, share one compilation."""
    widths = [16, 0, 1, 9, 2]
    yours, other = (compilations(way, widths) for way in (window, by_int))
    torch.compiler.reset()
    assert yours == 1, (
        f"widths {widths}: window calls the backend {yours} times, expected once; by_int {other}"
        " times. Run with TORCH_LOGS=recompiles to see why"
    )


def test_masks_do_not_share_a_width() -> None:
    """A mask made earlier keeps its own width."""
    masks = [window(width, 8) for width in (2, 5)]
    zero = torch.tensor(0)
    found = [
        sum(int(mask.mask_mod(zero, zero, zero + 7, zero + key)) for key in range(8))
        for mask in masks
    ]
    assert found == [2, 5], (
        f"windows of [2, 5]: the last token sees {found} tokens, expected [2, 5]"
    )


@pytest.mark.given
def test_a_number_of_python_is_guarded() -> None:
    """One width compiles once, and more widths recompile."""
    found = compilations(by_int, [3, 3, 3]), compilations(by_int, [1, 2, 3])
    torch.compiler.reset()
    assert found[0] == 1, f"by_int with one width compiles {found[0]} times, expected once"
    assert found[1] > 1, (
        f"by_int with three widths compiles {found[1]} times, expected more than once"
    )
