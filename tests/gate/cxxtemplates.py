"""Templates of a new C++ kata; `tests.gate.templates` has the others."""

from __future__ import annotations


STUB = """// tier: small
//
// <title>.
//
// TODO: the brief. What to build; shapes, dtypes; what to raise, by type; what is out of
// scope; about how many lines. In PyTorch: TODO path (symbol).

#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace {

at::Tensor <word>(const at::Tensor& self) {
  // TODO: say where to begin.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: <word>");
}

} // namespace

TORCH_LIBRARY(<lecture>_<number>, m) {
  m.def("<word>(Tensor self) -> Tensor");
  m.impl("<word>", torch::kCPU, <word>);
}
"""

SOLUTION = STUB.replace("  // TODO: say where to begin.\n", "")

TEST = '''"""<title>: TODO what the tests teach, the smallest case first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch


if TYPE_CHECKING:
    from plugins.native.plugin import Extension


pytestmark = pytest.mark.backend("cxx")


def test_the_smallest_case(extension: Extension) -> None:
    """TODO: state the expected behaviour, as a rule."""
    found = extension.op("<word>")(torch.ones(1))

    assert found.item() == 1, f"<word> gave {found}, expected 1: TODO why it matters"
'''
