"""Tests of k12_ship: models that may be shipped, and models whose files would lie."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import nn

from katas.lecture16.conftest import quiet
from katas.lecture16.k12_ship import NAME
from katas.lecture16.k12_ship import ship
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


pytestmark = pytest.mark.backend("onnxruntime")
MADE: dict[str, Any] = {}
# The files that the checker has read.
CHECKED: list[Any] = []


def drawn(rows: int, seed: int = 0) -> torch.Tensor:
    """Return rows of four numbers."""
    return torch.randn(rows, 4, generator=torch.Generator().manual_seed(seed))


def network() -> nn.Module:
    """Return a model in training, with a dropout, and a BatchNorm that is frozen."""
    torch.manual_seed(0)
    layers = (nn.Linear(4, 64), nn.BatchNorm1d(64), nn.GELU(), nn.Dropout(0.5), nn.Linear(64, 3))
    model = nn.Sequential(*layers)
    model(drawn(16))
    model[1].eval()
    return model


@pytest.fixture(autouse=True, scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Make the network's folder; every failure would print it if it were an argument."""
    MADE["folder"] = tmp_path_factory.mktemp("network")


def shipped() -> tuple[Any, nn.Module, Path]:
    """Ship the network once, and return session, model and folder."""
    folder: Path = MADE["folder"]
    if "network" not in MADE:
        model = network()
        MADE["network"] = (quietly(model, folder, [drawn(2), drawn(1), drawn(5)]), model)
    session, model = MADE["network"]
    return session, model, folder


def quietly(
    model: nn.Module, folder: Path, batches: Sequence[torch.Tensor], **options: float
) -> Any:
    """Ship a model without the exporter's log, and check that it is as it was before."""
    __tracebackhide__ = True
    import onnx  # noqa: PLC0415 - may be missing

    refusal = None
    check_model = onnx.checker.check_model

    def noted(file: Any, *args: Any, **kwargs: Any) -> None:
        CHECKED.append(file)
        check_model(file, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch, quiet(), unchanged(model=model, batches=batches):
        patch.setattr(onnx.checker, "check_model", noted)
        try:
            found = ship(model, folder, batches, **options)
        except Exception as error:  # noqa: BLE001 - the modes are checked, whatever it is
            refusal = error
    if refusal:
        raise refusal
    return found


def test_two_files_and_a_session() -> None:
    """The weights are in a file next to the graph, and the first size has a name."""
    session, _, folder = shipped()
    files = sorted(file.name for file in folder.iterdir())
    assert files == [NAME, f"{NAME}.data"], f"files: yours {files}, expected two"
    read = [str(file) for file in CHECKED]
    assert str(folder / NAME) in read, f"the checker read {read}, not {folder / NAME}"
    sizes = [entry.shape for entry in session.get_inputs()]

    assert isinstance(sizes[0][0], str), f"inputs {sizes}: the first size should be open"
    assert sizes[0][1:] == [4], f"inputs {sizes}: a row should have four numbers"


@settings(max_examples=20, deadline=None)
@given(rows=st.integers(1, 100), seed=st.integers(0, 99))
@example(rows=1, seed=0)
def test_parity_for_any_batch(rows: int, seed: int) -> None:
    """The session answers as the model does in eval mode."""
    session, model, _ = shipped()
    x = drawn(rows, seed)
    (y,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    modes = [(each, each.training) for each in model.modules()]
    with torch.no_grad():
        right = model.eval()(x)
    for each, mode in modes:
        each.training = mode
    says = f"a batch of {rows}, drawn with seed {seed}: the file answers differently\n".__add__

    torch.testing.assert_close(torch.from_numpy(y), right, rtol=1e-4, atol=1e-5, msg=says)


class Branch(nn.Module):
    """Takes a different branch for one row; the file does not contain it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return."""
        return x + 1 if x.shape[0] > 1 else x + 1.01


class Sign(nn.Module):
    """Returns 0 for NaN in the last column, but ONNX Runtime keeps the NaN."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return."""
        return torch.cat([x[:, :3], torch.sign(x[:, 3:])], 1)


class Fixed(nn.Module):
    """Turns its first size into a number."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return."""
        return x / int(x.shape[0])


def refused(
    model: nn.Module, folder: Path, batches: Sequence[torch.Tensor], shape: str, why: str
) -> None:
    """Check that a model is not shipped, and that the error names the batch."""
    __tracebackhide__ = True
    said = "nothing, and returns a session"
    try:
        quietly(model, folder, batches)
    except ValueError as error:
        said = str(error)
    assert said.startswith(shape), (
        f"{why}: expected a ValueError that begins with {shape}, your function says {said}"
    )


def test_a_batch_that_is_answered_wrongly(tmp_path: Path) -> None:
    """The file loads, takes the batch, and answers wrongly."""
    refused(
        Branch(), tmp_path, [drawn(2), drawn(3), drawn(1)], "(1, 4)", "a batch of 1 gets 0.01 more"
    )


def test_a_batch_that_is_refused(tmp_path: Path) -> None:
    """The file has the size of the example; ONNX Runtime's error becomes yours."""
    refused(Fixed(), tmp_path, [drawn(2), drawn(5)], "(5, 4)", "the file takes 2 rows alone")


def test_nan(tmp_path: Path) -> None:
    """NaN on both sides is not a difference; NaN on one side is."""
    both, one = drawn(5), drawn(3)
    both[1, 2] = one[1, 3] = torch.nan
    why = "the file keeps NaN in column 2, as the model does, and in column 3, as it does not"
    refused(Sign(), tmp_path, [drawn(2), both, one], "(3, 4)", why)


class Near(nn.Module):
    """Takes a different branch for one row, with a result close by."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return."""
        return x if x.shape[0] > 1 else x * 1.001 + 0.001


def test_the_tolerance(tmp_path: Path) -> None:
    """The tolerance covers 0 and large numbers; with a tolerance of 0, float32 rounding fails."""
    near = [drawn(2), torch.zeros(1, 4), torch.full((1, 4), 1000.0)]
    try:
        quietly(Near(), tmp_path, near, tolerance=0.005)
    except ValueError as error:
        raise AssertionError(
            "0 and 0.001 are one with an atol of 0.005, 1000 and 1001.001 with an rtol of 0.005;"
            f" your function says {error}"
        ) from None
    batches = [drawn(2), *(drawn(50, seed) for seed in range(4))]
    with pytest.raises(ValueError, match=r"^\(\d+, 4\)"):
        quietly(nn.Sequential(nn.Linear(4, 64), nn.GELU()), tmp_path, batches, tolerance=0.0)


class Broken(nn.Module):
    """Raises, in eager and in the export."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return nothing."""
        raise RuntimeError("a bug of the model's")


def test_a_model_that_fails(tmp_path: Path) -> None:
    """There is no file, and the modes are as before: `quietly` says so if they are not."""
    model = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(4).eval(), Broken())
    with pytest.raises(Exception, match="a bug of the model's"):
        quietly(model, tmp_path, [drawn(2)])


def test_the_file_is_what_runs() -> None:
    """Another session of the same file answers alike, without the model."""
    import onnxruntime as ort  # noqa: PLC0415 - may be missing

    first, _, folder = shipped()
    again = ort.InferenceSession(folder / NAME, providers=["CPUExecutionProvider"])
    name, x = again.get_inputs()[0].name, drawn(3).numpy()
    found, second = (each.run(None, {name: x})[0] for each in (first, again))

    alike = np.array_equal(found, second)
    assert alike, "the session that `ship` returns does not match the file: one x, two answers"
