"""Tests of k08_archive: this PyTorch writes files of a class that is then removed."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
import warnings
import zipfile
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture08 import k08_archive as kata
from katas.lecture08.k08_archive import needs
from katas.lecture08.k08_archive import weights
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

# The name begins like PyTorch's, but is not PyTorch's.
VANISHED = "torchmodels"
RECORD = f"code/__torch__/{VANISHED}.py"
LINEAR = "code/__torch__/torch/nn/modules/linear.py"
SOURCE = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.tied = self.linear.weight
        row = torch.tensor([2**0.5, 0.0, -(3**0.5), torch.inf, torch.nan, 5**0.5])
        self.register_buffer("left", row[:3])
        self.register_buffer("right", row[3:])
        self.register_buffer("turned", torch.arange(6, dtype=torch.float64).reshape(2, 3).t())
        self.register_buffer("step", torch.arange(9)[1::3])
        self.register_buffer("flags", torch.tensor([True, False, True]))
        self.register_buffer("bf16", torch.full((3, 3), 7**0.5, dtype=torch.bfloat16)[:, 1])

    def forward(self, x):
        return self.linear(x) + self.left.nan_to_num()
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """Import a module with a class Net, which no other process can import."""
    file = tmp_path_factory.mktemp("source") / f"{VANISHED}.py"
    file.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(VANISHED, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[VANISHED] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[VANISHED]


@pytest.fixture(scope="module")
def files(models: ModuleType) -> dict[str, bytes]:
    """Save a Net in four ways."""
    net = models.Net().eval()
    with warnings.catch_warnings():
        # TorchScript is deprecated.
        warnings.simplefilter("ignore")
        script = torch.jit.script(net)
        extra = {"data.pkl": "not a pickle", "weight_0": "no bytes"}
        extra |= dict.fromkeys((RECORD, LINEAR), "no code")
        return {
            "torch.save": written(lambda file: torch.save(net, file)),
            "state_dict": written(lambda file: torch.save(net.state_dict(), file)),
            "TorchScript": written(lambda file: torch.jit.save(script, file, extra)),
            "pt2": written(
                lambda file: torch.export.save(
                    torch.export.export(net, (torch.zeros(2, 4),)), file, extra_files=extra
                )
            ),
        }


def written(save: Callable[[io.BytesIO], object]) -> bytes:
    """Return the saved bytes."""
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def without(archive: bytes, *records: str) -> bytes:
    """Return an archive with a different top folder, without these records."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            record = name.partition("/")[2]
            if record not in records:
                new.writestr(f"of_may/{record}", old.read(name))
    return made.getvalue()


def test_a_pickled_module_needs_its_class(files: dict[str, bytes], tmp_path: Path) -> None:
    """Names of PyTorch and Python are not needed; torchmodels belongs to neither."""
    yours = needs(files["torch.save"])
    (tmp_path / "net.pt").write_bytes(files["torch.save"])
    unsafe = torch.serialization.get_unsafe_globals_in_checkpoint(tmp_path / "net.pt")
    right = {name for name in unsafe if not name.startswith("torch.")}
    assert yours == right, (
        f"needed: yours {yours}, expected {right}: the unsafe globals that PyTorch reports, "
        "without the names from torch itself"
    )


def test_a_state_dict_needs_nothing(files: dict[str, bytes]) -> None:
    """A state dict names only what PyTorch brings."""
    yours = needs(files["state_dict"])
    assert yours == set(), f"needed: yours {yours}, expected nothing"


def test_torchscript_brings_its_code(files: dict[str, bytes]) -> None:
    """A class is needed only if the record with its code is missing."""
    archive = files["TorchScript"]
    yours = needs(archive), needs(without(archive)), needs(without(archive, RECORD))
    expected: tuple[set[str], ...] = set(), set(), {f"__torch__.{VANISHED}.Net"}
    assert yours == expected, (
        "needed by a complete archive, by one with a different top folder, by one without the"
        " code:\n"
        f"yours    {yours}\nexpected {expected}"
    )
    linear = needs(without(archive, LINEAR))
    right = {"__torch__.torch.nn.modules.linear.Linear"}
    assert linear == right, f"without the code of Linear: yours {linear}, expected {right}"


def test_a_pt2_has_no_pickle_of_the_module(files: dict[str, bytes]) -> None:
    """An extra file called data.pkl belongs to the user."""
    yours = needs(files["pt2"])
    assert yours == set(), f"needed: yours {yours}, expected nothing"


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    """A pickle may call any function; reading its opcodes calls none."""
    trace = tmp_path / "was_here"

    class Trap:
        def __init__(self, call: Callable[[str], None]) -> None:
            self.call = call

        def __reduce__(self) -> tuple[object, tuple[str]]:
            return self.call, (str(trace),)

    # To code that searches the bytes, the text looks like an import.
    content = [Trap(os.mkdir), Trap(os.mkdir), Trap(os.chdir), "\ncmodels\nNet\n"]
    yours = needs(written(lambda file: torch.save(content, file)))
    assert not trace.exists(), "your function ran the code that the pickle names"
    expected = {f"{os.mkdir.__module__}.{name}" for name in ("mkdir", "chdir")}
    assert yours == expected, f"needed: yours {yours}, expected {expected}"


def test_what_is_needed_decides_who_can_load(
    files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the class, only files that need no names can be loaded."""
    yours = {kind: "fails" if needs(archive) else "loads" for kind, archive in files.items()}
    monkeypatch.delitem(sys.modules, VANISHED)
    loaders: dict[str, Callable[[io.BytesIO], object]] = {
        "torch.save": lambda file: torch.load(file, weights_only=False),
        "state_dict": torch.load,
        "TorchScript": torch.jit.load,
        "pt2": torch.export.load,
    }
    right = {}
    for kind, load in loaders.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                load(io.BytesIO(files[kind]))
            right[kind] = "loads"
        except ModuleNotFoundError:
            right[kind] = "fails"
    assert yours == right, f"loads without the class\nby your needs {yours}\nPyTorch      {right}"


def loaded(archive: bytes) -> dict[str, Any]:
    """Return PyTorch's state_dict of the program in a .pt2."""
    found: dict[str, Any] = torch.export.load(io.BytesIO(archive)).state_dict
    return found


def test_weights(files: dict[str, bytes]) -> None:
    """All names are there, in order, and all values are bitwise equal."""
    yours, right = weights(files["pt2"]), loaded(files["pt2"])
    assert list(yours) == list(right), f"names: yours {list(yours)}, PyTorch's {list(right)}"
    for name, theirs in right.items():
        torch.testing.assert_close(
            yours[name],
            theirs.detach(),
            rtol=0,
            atol=0,
            equal_nan=True,
            msg=f"{name}: yours {yours[name]}\nPyTorch's {theirs.detach()}",
        )


def test_weights_are_laid_out_as_they_were(files: dict[str, bytes]) -> None:
    """Strides and storage offset are kept, for a slice and for a transposed tensor."""
    yours, right = weights(files["pt2"]), loaded(files["pt2"])
    for name, theirs in right.items():
        layout = yours[name].stride(), yours[name].storage_offset()
        expected = theirs.stride(), theirs.storage_offset()
        assert layout == expected, f"{name}: strides, offset: yours {layout}, PyTorch's {expected}"


def test_one_record_is_one_memory(files: dict[str, bytes]) -> None:
    """A tied weight is tied again, and two halves of a tensor share its memory."""
    yours = weights(files["pt2"])
    yours["tied"][0, 0] = 8.0
    assert yours["linear.weight"][0, 0] == 8.0, "your result contains two copies of the tied weight"
    start = {name: yours[name].untyped_storage().data_ptr() for name in ("left", "right")}
    assert start["left"] == start["right"], (
        "your result contains two copies of the memory of left and right"
    )
    again = weights(files["pt2"])
    assert again["tied"][0, 0] != 8.0, (
        "a write to the first call's result changed the second call's result"
    )


def test_another_top_folder(files: dict[str, bytes]) -> None:
    """If PyTorch saves to a file, the folder has the file's name."""
    yours, other = weights(files["pt2"]), weights(without(files["pt2"]))
    same = list(yours) == list(other)
    assert same, f"names: yours {list(other)}, in a folder called archive {list(yours)}"


def test_nothing_is_loaded(files: dict[str, bytes]) -> None:
    """Your answer uses no loader of PyTorch, and no unpickler."""
    with forbids(
        kata,
        *("torch.load", "torch.jit", "torch.export", "torch.serialization", "torch.package"),
        *("pickle", "_pickle"),
    ) as fresh:
        yours = fresh.needs(files["torch.save"]), list(fresh.weights(files["pt2"]))
    expected = {f"{VANISHED}.Net"}, list(loaded(files["pt2"]))
    assert yours == expected, f"yours {yours}, expected {expected}"
