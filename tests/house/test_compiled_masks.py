"""Lecture 24 k09 compiled: a kernel obeys the blocks of a mask, as the kata's tests say in eager.

A compilation takes half a minute, so no kata waits for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT


if TYPE_CHECKING:
    from pathlib import Path


SCRIPT = """
import json
import warnings

import torch
from torch.nn.attention.flex_attention import and_masks
from torch.nn.attention.flex_attention import create_block_mask
from torch.nn.attention.flex_attention import flex_attention

from katas.lecture24.solutions import k09_eager_hides as kata

warnings.simplefilter("ignore")

# Documents of 40 and 88 tokens, in blocks of 32.
documents = (torch.arange(128) >= 40).int()


def causal(_batch, _head, query, key):
    return query >= key


def document(_batch, _head, query, key):
    return documents[query] == documents[key]


left, right = (
    create_block_mask(mod, None, None, 128, 128, device="cpu", BLOCK_SIZE=32)
    for mod in (causal, document)
)
torch.manual_seed(0)
query, key, value = torch.randn(3, 1, 1, 128, 16)
compiled = torch.compile(flex_attention)
found = {}
for name, mask in {
    # As the stub begins: the blocks of one mask, what both masks allow.
    "stub": kata.made(*kata.tables(left), left, and_masks(causal, document)),
    "solution": kata.both(left, right),
}.items():
    yours = compiled(query, key, value, block_mask=mask)
    eager = flex_attention(query, key, value, block_mask=mask)
    obeyed = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=kata.obeyed(mask)
    )
    found[name] = [(yours - other).abs().max().item() for other in (obeyed, eager)]
print(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.tool("inductor")
def test_a_compiled_kernel_obeys_the_blocks(tmp_path: Path) -> None:
    """It equals the kata's picture of the blocks; and eager only where both masks agree."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr[-3000:]
    found = json.loads(done.stdout)

    blocks, eager = found["stub"]
    assert blocks < 1e-5
    assert eager > 0.1
    assert max(found["solution"]) < 1e-5
