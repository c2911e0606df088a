"""Tests of k09_lies: the models are exported, and their files get the requests of the tickets."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import pytest
import torch

from katas.lecture16 import k09_lies as kata
from katas.lecture16.conftest import Files
from katas.lecture16.conftest import Part
from katas.lecture16.conftest import quiet
from katas.lecture16.conftest import session
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Sequence


pytestmark = pytest.mark.backend("onnxruntime")
INF, NAN = float("inf"), float("nan")
X = torch.tensor([2.0, -3.0, 5.0, -7.0, 11.0, 13.0, -17.0, 19.0, 23.0]).view(3, 3)
ROOTS = X.sign() * X.abs().sqrt()


class Served(NamedTuple):
    """A Noisy after its export, and the results."""

    model: Any
    program: Any
    modes: list[bool]


@cache
def noisy(*, mode: bool) -> Served:
    """Export a Noisy in this mode, and record its mode afterwards."""
    __tracebackhide__ = True
    torch.manual_seed(0)
    model = kata.Noisy().train(mode)
    with quiet(), unchanged(parameters=[*model.parameters()]):
        program = model.exported(X)
    return Served(model, program.model_proto, [each.training for each in model.modules()])


@cache
def files() -> Files:
    """Return the other models, in eval mode."""
    parts = {
        name: Part(getattr(kata, name)().eval(), (X,)) for name in ("Signed", "Peak", "Latest")
    }
    counted = Part(kata.Counted().eval(), (X, torch.zeros(())), outputs=2)
    return Files({"Counted": counted} | parts)


def ask(name: str, *args: torch.Tensor) -> list[torch.Tensor]:
    """Return the file's answers."""
    __tracebackhide__ = True
    file = files()[name]
    try:
        found = file.ask(name, *args)
    except Exception as error:  # noqa: BLE001 - ONNX Runtime has one class for each status
        raise AssertionError(f"{name} refuses {tuple(args[0].shape)}: {error}") from None
    return [torch.from_numpy(y) for y in found]


def same(name: str, yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare an answer."""
    __tracebackhide__ = True
    says = f"{name}: yours {yours.tolist()}, expected {expected.tolist()}. {why}\n".__add__
    torch.testing.assert_close(yours, expected, equal_nan=True, msg=says)


def test_noisy_answers_alike() -> None:
    """Both answers are the same, and equal to the answer in eval mode."""
    model, program, _ = noisy(mode=True)
    runs = session(program)
    feed = {runs.get_inputs()[0].name: X.numpy()}
    first, second = (torch.from_numpy(runs.run(None, feed)[0]) for _ in range(2))

    same("Noisy", second, first, "look for an operator in the file that draws")
    linear = model.layers[0]
    same("Noisy", first, (X @ linear.weight.t() + linear.bias).detach(), "the layer alone")


def test_noisy_goes_on_training() -> None:
    """An export in mid-training leaves the model as it was, in either mode."""
    for mode in (True, False):
        _, program, modes = noisy(mode=mode)
        assert modes == [mode] * len(modes), f"training was {mode}; after the export: {modes}"
        operators = [node.op_type for node in program.graph.node]
        assert "Dropout" not in operators, f"the file still contains a Dropout: {operators}"


def test_counted_counts() -> None:
    """The caller passes the count that came back: a file has no memory."""
    count = torch.zeros(())
    for number in (1.0, 2.0, 3.0):
        y, count = ask("Counted", X, count)
        same("Counted", count, torch.tensor(number), f"after {number:g} batches")
        same("Counted", y, X + number, f"batch {number:g}")
    model = kata.Counted()
    first, again = torch.zeros(()), torch.zeros(())
    with unchanged(count=first):
        outputs = [model(X, first)[1], model(X, again)[1]]
    same("Counted", torch.stack(outputs), torch.ones(2), "in eager too, the count is the caller's")


def test_signed_of_anything() -> None:
    """NaN and both zeros give 0, in the dtype of x."""
    x = torch.tensor([[NAN, 2.5, -1e-30], [0.0, -0.0, NAN], [INF, -INF, 1e-30]])
    expected = torch.tensor([[0.0, 1.0, -1.0], [0.0, 0.0, 0.0], [1.0, -1.0, 1.0]])
    (y,) = ask("Signed", x)

    same("Signed", y, expected, "torch.sign and ONNX's Sign differ for one value")
    for dtype in (torch.float32, torch.float64):
        same("Signed", kata.Signed()(x.to(dtype)), expected.to(dtype), f"in eager too, of {dtype}")


def test_peak_shows_nan() -> None:
    """NaN shows wherever it is in the row, and in no other row; -inf and negative rows stay."""
    rows: Sequence[Sequence[float]] = [
        [1.0, NAN, 3.0],
        [NAN, 1.0, 2.0],
        [-3.0, -2.0, NAN],
        [-INF, -INF, -INF],
        [-3.0, -2.0, -1.0],
        [1.0, INF, 2.0],
    ]
    x = torch.tensor(rows)
    (y,) = ask("Peak", x)
    expected = torch.tensor([NAN, NAN, NAN, -INF, -1.0, INF])

    same("Peak", y, expected, "ONNX Runtime's ReduceMax may drop a NaN, depending on its place")
    same("Peak", kata.Peak()(x), expected, "in eager too")


def test_latest_takes_any_batch() -> None:
    """The file takes one row, three or seven: it must not remember the example."""
    for x in (ROOTS[:1], ROOTS, torch.cat([ROOTS, ROOTS, ROOTS[:1]])):
        (y,) = ask("Latest", x)
        same("Latest", y, x / x.shape[0] - x[-1], f"a batch of {len(x)}")
