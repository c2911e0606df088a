"""Tests of k08_decomposed: graphs with one operator opened, and sums of saved storages."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._decomp import decomposition_table
from torch.nn import functional

from katas.lecture21.k08_decomposed import kept
from katas.lecture21.k08_decomposed import opened
from plugins.kit import unchanged


ATEN = torch.ops.aten
SAMPLER = ATEN.grid_sampler_2d.default
# Forward mode itself compiles decompositions with torch.jit.script, which warns.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")


def sample(image: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
    """Return the image at the grid's points, bilinear."""
    return functional.grid_sample(image, grid, align_corners=False)


def numbers() -> tuple[torch.Tensor, torch.Tensor]:
    """Return an image and a grid with some points outside."""
    dice = torch.Generator().manual_seed(8)
    image = torch.randn(1, 3, 16, 16, dtype=torch.float64, generator=dice)
    grid = 2.4 * torch.rand(1, 8, 8, 2, dtype=torch.float64, generator=dice) - 1.2
    return image, grid


def operators(graph: Any) -> list[Any]:
    """Return the operators of a graph, in order."""
    return [node.target for node in graph.graph.nodes if node.op == "call_function"]


def close(yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare to twelve digits."""
    torch.testing.assert_close(yours, expected, rtol=1e-12, atol=1e-12, msg=f"{why}\n".__add__)


def test_one_operator_becomes_many() -> None:
    """The graph computes the same, and the sampler is not in it."""
    image, grid = numbers()
    with unchanged(image=image, grid=grid):
        graph = opened(sample, SAMPLER, image, grid)
    found = operators(graph)

    assert SAMPLER not in found, f"the sampler is still in your graph of {len(found)} operators"
    assert len(found) > 20, f"yours has {len(found)} operators, expected several dozen"
    close(graph(image, grid), sample(image, grid), "your graph and grid_sample differ")


def test_only_that_operator() -> None:
    """Other operators stay whole, although they have a decomposition too."""
    image, grid = numbers()
    three = (SAMPLER, ATEN.gelu.default, ATEN.silu.default)

    def chain(x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        return functional.silu(functional.gelu(sample(x, g)))

    for op in three:
        found = operators(opened(chain, op, image, grid))
        assert op not in found, f"{op} should have been decomposed, but is still in your graph"
        for other in set(three) - {op}:
            assert other in found, (
                f"you were asked to decompose only {op}, but {other} is gone too: "
                "give make_fx a table of one operator"
            )


def test_an_operator_without_a_decomposition() -> None:
    """Such an operator stays one node: `opened` must not raise."""
    volume = torch.randn(1, 2, 4, 4, 4).double()
    points = torch.zeros(1, 3, 3, 3, 3).double()
    image, _ = numbers()
    cases: list[tuple[Any, Any, tuple[torch.Tensor, ...]]] = [
        (ATEN.grid_sampler_3d.default, sample, (volume, points)),
        (
            ATEN._upsample_bilinear2d_aa.default,  # noqa: SLF001 - an operator's name
            lambda x: functional.interpolate(x, 5, mode="bilinear", antialias=True),
            (image,),
        ),
    ]
    for op, f, args in cases:
        found = operators(opened(f, op, *args))
        has_one = op in decomposition_table
        says = f"{op} has {'a' if has_one else 'no'} decomposition in this torch"
        assert (op in found) is not has_one, f"{says}, and your graph calls {found}"


def test_forward_mode_knows_the_small_ones() -> None:
    """The derivative along v, in forward mode; the oracle goes backward for each sample."""
    image, grid = numbers()
    v = torch.linspace(-1, 2, grid.numel(), dtype=torch.float64).view_as(grid)
    graph = opened(sample, SAMPLER, image, grid)
    _, yours = torch.func.jvp(lambda g: graph(image, g), (grid,), (v,))
    table = torch.autograd.functional.jacobian(lambda g: sample(image, g), grid)
    expected = (table * v).flatten(4).sum(-1)

    close(yours, expected, "the derivative of the samples, as the grid moves along v")


def test_what_exp_keeps() -> None:
    """`exp` keeps its result, 100 numbers of 8 bytes; without a gradient to compute, nothing."""
    x = torch.randn(100, dtype=torch.float64)
    z = x.clone().requires_grad_()
    with unchanged(x=x, z=z):
        yours, none, twice = kept(torch.exp, z), kept(torch.exp, x), kept(lambda y: y * 2, z)

    assert yours == 800, f"exp of 100 float64: yours is {yours}, expected 800 bytes"
    assert (none, twice) == (0, 0), (
        f"no graph: yours {none}; times 2: yours {twice}; expected 0 bytes for both"
    )


def test_a_storage_counts_once_and_whole() -> None:
    """Two operators save the same tensor; or one saves a column, and its storage has four."""
    z = torch.randn(100, 4, dtype=torch.float64, requires_grad=True)
    chain = kept(lambda x: x.exp().sin().cos(), z)
    column = kept(lambda x: x[:, :1] * x[:, 1:2], z)
    rows = kept(lambda x: torch.sin(x.expand(3, 100, 4)), z)

    assert chain == 6400, (
        f"exp().sin().cos(): yours is {chain}, expected 6400: exp and sin save the same 3200 bytes"
    )
    assert column == 3200, f"two columns of one tensor: yours is {column}, expected 3200 bytes"
    assert rows == 3200, f"sin of an expanded tensor: yours is {rows}, expected 3200 bytes"


def test_what_the_hundred_keep() -> None:
    """The operator keeps its two inputs; its parts also keep the intermediate values."""
    image, grid = numbers()
    image.requires_grad_()
    grid.requires_grad_()
    one = kept(sample, image, grid)
    many = kept(opened(sample, SAMPLER, image, grid), image, grid)

    assert one == 7168, f"grid_sample: yours is {one}, expected its inputs, 6144 + 1024 bytes"
    assert many > 2 * one, f"decomposed: yours is {many}, expected over twice {one} bytes"
    assert image.grad is None, "image.grad is filled, but no backward has to run"


def test_the_backward_still_works() -> None:
    """Watching leaves no hook behind, and the results of a watched call are whole."""
    z = torch.tensor([0.5, -1.25], dtype=torch.float64, requires_grad=True)
    results = list[torch.Tensor]()

    def f(x: torch.Tensor) -> torch.Tensor:
        results.append(x.exp())
        return results[-1]

    kept(f, z)
    before = torch.autograd.grad(results[0].sum(), z)[0]
    after = torch.autograd.grad(z.exp().sum(), z)[0]
    close(before, z.detach().exp(), "the gradient of a result that was computed under `kept`")
    close(after, z.detach().exp(), "the gradient of a call after `kept`")
