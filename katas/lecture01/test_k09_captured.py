"""Tests of k09_captured: each module is exported, and its program is compared with eager mode."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture01.k09_captured import Gain
from katas.lecture01.k09_captured import Mean
from katas.lecture01.k09_captured import Noise
from katas.lecture01.k09_captured import Steps
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


X = torch.tensor([[0.3, -1.7], [2.1, 0.0], [-0.9, 5.5]])


def exported(module: torch.nn.Module, *, rows_vary: bool = False) -> Callable[..., Any]:
    """Return the program of a module."""
    dims = ({0: torch.export.Dim.DYNAMIC},) if rows_vary else None
    try:
        return torch.export.export(module, (X,), dynamic_shapes=dims).module()
    except Exception as error:
        reason = f"{type(error).__name__}: {str(error)[:400]}"
        raise AssertionError(f"export rejects your {type(module).__name__}\n{reason}") from error


def check_shapes(module: torch.nn.Module) -> None:
    """Check that an eager result has the shape and dtype of x."""
    for shape, dtype in (((), torch.float16), ((3,), torch.float16), ((2, 1, 3), torch.float64)):
        yours = module(torch.ones(shape, dtype=dtype))
        assert shape == yours.shape, (
            f"called eagerly with x of shape {shape}, your module returns shape {yours.shape}"
        )
        assert dtype == yours.dtype, (
            f"called eagerly with x of dtype {dtype}, your module returns dtype {yours.dtype}"
        )


def close(yours: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    """Compare two results."""
    torch.testing.assert_close(
        yours, expected, msg=f"{what}: yours differs from the expected value\n".__add__
    )


@pytest.mark.given
def test_a_number_of_python_is_a_constant() -> None:
    """A Python count is a constant in the program, as the brief says of the noise."""

    class Counted(torch.nn.Module):
        calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return x * self.calls

    program = exported(Counted())

    assert torch.equal(program(X), program(X)), (
        "the program counts its calls, but no Python should run in it"
    )


def test_noise_differs_from_call_to_call() -> None:
    """The same program gives a new number on every call; a seed reproduces the numbers."""
    module = Noise()
    for name, run in (("eagerly", module), ("exported", exported(module))):
        torch.manual_seed(3)
        before = X.clone()
        first, second = run(X) - X, run(X) - X
        assert torch.equal(X, before), f"{name}: your module wrote to x"
        assert not torch.equal(first, second), f"{name}: two calls gave the same noise {first}"
        for noise in (first, second):
            spread = noise.max() - noise.min()
            assert spread < 1e-6, (
                f"{name}: added {noise.tolist()}, expected the same number for all of x"
            )
            assert 0 <= noise.mean() <= 1, (
                f"{name}: the noise must be between 0 and 1; yours is {noise.mean()}"
            )
        torch.manual_seed(3)
        close(run(X) - X, first, f"{name}, with the same seed")
    check_shapes(module)


def test_noise_is_spread() -> None:
    """The numbers cover 0 to 1, and none repeats."""
    program = exported(Noise())
    found = sorted(float((program(X) - X).mean()) for _ in range(100))

    assert found[0] < 0.2, f"the smallest of a hundred numbers is {found[0]}, expected about 0"
    assert found[-1] > 0.8, f"the largest of a hundred numbers is {found[-1]}, expected about 1"


def test_steps_go_on() -> None:
    """Each call of the program adds one to the count."""
    module = Steps()
    for name, run in (("eagerly", module), ("exported", exported(Steps()))):
        for count in range(1, 5):
            with unchanged(X=X):
                close(run(X), X / count, f"{name}, call {count}")
    for _ in range(4, 299):
        module(X)
    close(module(X), X / 300, "eagerly, call 300: a count that fits into no byte")
    check_shapes(module)


def test_steps_are_saved() -> None:
    """A program continues from the count that another has saved."""
    first, second = exported(Steps()), exported(Steps())
    for _ in range(3):
        first(X)
    state = first.state_dict()
    assert state, "the state_dict of your program is empty: where does it keep the count?"
    second.load_state_dict(state)

    close(second(X), X / 4, "the fourth call, in another program")
    module = Steps()
    exported(module)
    close(module(X), X, "the first call of a module that was exported")
    close(Steps()(X), X, "the first call of another module")


def test_gain_is_loaded() -> None:
    """A gain can be loaded into the module and into the program."""
    module = Gain()
    for name, run in (("eagerly", module), ("exported", exported(Gain()))):
        close(run(X), X * 2, name)
        try:
            run.load_state_dict({"gain": torch.tensor(-0.7)})
        except RuntimeError as error:
            raise AssertionError(f"{name}: {error}") from error
        close(run(X), X * -0.7, f"{name}, with a gain of -0.7")
    assert [] == [*module.parameters()], (
        "the gain is set, not learned, so it must not be a parameter"
    )


@pytest.mark.parametrize("rows", [2, 3, 8])
def test_mean_of_any_number_of_rows(rows: int) -> None:
    """A captured loop keeps its number of iterations; a length is a Python int."""
    module = Mean()
    x = torch.linspace(-1, 2, rows * 2).reshape(rows, 2).exp()
    for name, run in (("eagerly", module), ("exported", exported(module, rows_vary=True))):
        with unchanged(x=x):
            close(run(x), x.mean(0), f"{name}, {rows} rows")
    wide = torch.linspace(-1, 2, rows * 3, dtype=torch.float64).reshape(rows, 3)
    close(module(wide), wide.mean(0), "eagerly, three columns of float64")


def test_mean_is_small() -> None:
    """A program for any number of rows cannot have a node for each row."""
    module = Mean()
    nodes = torch.export.export(
        module, (torch.ones(50, 2),), dynamic_shapes=({0: torch.export.Dim.AUTO},)
    ).graph.nodes

    assert len(nodes) < 20, (
        f"your graph has {len(nodes)} nodes for 50 rows: the loop was unrolled into it"
    )
