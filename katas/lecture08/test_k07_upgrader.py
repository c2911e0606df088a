"""Tests of k07_upgrader: torch.jit.load reads the archive you write, and its model is called."""

from __future__ import annotations

import io
import warnings
import zipfile
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture08.k07_upgrader import aged


class Divide(nn.Module):
    """Divides."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return x / y."""
        return torch.div(x, y)


class Fill(nn.Module):
    """Fills a tensor, and has a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([2**0.5, 0.0, torch.inf]))

    def forward(self) -> torch.Tensor:
        """Return a tensor of threes."""
        return torch.full([2], 3)


def saved(module: nn.Module, extra: dict[str, str] | None = None) -> bytes:
    """Script a module, save it, and return the file."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        # TorchScript is deprecated; this kata is about its old files.
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(module), file, _extra_files=extra or {})
    return file.getvalue()


def loaded(archive: bytes) -> Any:
    """Return the model in an archive."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.load(io.BytesIO(archive))


def records(archive: bytes) -> dict[str, bytes]:
    """Return the records of a zip file by name, in their order."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_a_division_of_integers() -> None:
    """Version 2 truncates towards zero; floats divide as they do today."""
    archive = saved(Divide())
    for version, whole in ((2, True), (3, True), (4, False)):
        model = loaded(aged(archive, version))
        for x, y in ((5, 2), (-5, 2), (2**0.5, 2)):
            mode = "trunc" if whole and isinstance(x, int) else None
            right = torch.div(torch.tensor(x), y, rounding_mode=mode)
            yours = model(torch.tensor(x), torch.tensor(y))
            assert yours.item() == right.item(), (
                f"{x} / {y} in a model of version {version}: yours {yours}, PyTorch's {right}; "
                "print `code` of the loaded model"
            )


def test_the_record_is_a_line() -> None:
    """The record is a number of any length and a newline, as PyTorch writes it."""
    for version in (3, 10):
        yours = records(aged(saved(Divide()), version))["archive/version"]
        expected = f"{version}\n".encode()
        assert yours == expected, f"the record version: yours {yours!r}, expected {expected!r}"


def test_another_operator_has_another_version() -> None:
    """Until version 4, full([2], 3) returned floats."""
    archive = saved(Fill())
    dtypes = [loaded(aged(archive, version))().dtype for version in (4, 5)]
    expected = [torch.float32, torch.int64]
    assert dtypes == expected, f"dtypes of versions 4 and 5: yours {dtypes}, expected {expected}"


def test_the_rest_is_the_same() -> None:
    """Other records keep their names, order and bytes, and the given archive is unchanged."""
    archive = saved(Fill())
    before, given = records(archive), bytes(archive)
    after = records(aged(archive, 4))
    assert list(after) == list(before), f"records: yours {list(after)}, expected {list(before)}"
    other = [name for name in before if before[name] != after[name]]
    assert other == ["archive/version"], (
        f"your function changed {other}, expected only archive/version"
    )
    assert archive == given, "your function changed the archive it was given"


def test_extra_files_are_the_users() -> None:
    """A user may save a file called version next to the model."""
    archive = saved(Divide(), {"version": "4\n", "notes/version": "of May\n"})
    after = records(aged(archive, 2))
    found = [after["archive/extra/version"], after["archive/extra/notes/version"]]
    assert found == [b"4\n", b"of May\n"], f"extra files: yours {found}, expected them unchanged"
    assert after["archive/version"] == b"2\n", f"version: yours {after['archive/version']!r}"


def test_any_top_folder() -> None:
    """The folder is named after the file; a record whose name only ends alike is unchanged."""
    archive, other = saved(Divide()), io.BytesIO()
    similar = {"extra/.data/version": b"6\n", "extra/conversion": b"1\n"}
    with zipfile.ZipFile(other, "w") as file:
        for name, content in records(archive).items():
            file.writestr(f"extra{name.removeprefix('archive')}", content)
        for name, content in similar.items():
            file.writestr(name, content)
    after = records(aged(other.getvalue(), 2))
    yours = after.get("extra/version")
    assert yours == b"2\n", f"extra/version: yours {yours!r}, expected b'2\\n'"
    kept = {name: after.get(name) for name in similar}
    assert kept == similar, f"other records: yours {kept}, expected {similar}"


def test_there_and_back() -> None:
    """Changing the version back restores today's answer; an unknown version is rejected."""
    archive = saved(Divide())
    back = aged(aged(archive, 2), 4)
    five, two = torch.tensor(5), torch.tensor(2)
    yours, right = loaded(back)(five, two), torch.div(five, two)
    assert yours.item() == right.item(), f"5 / 2: yours {yours}, PyTorch's {right}"
    damaged = zipfile.ZipFile(io.BytesIO(back)).testzip()
    assert damaged is None, f"{damaged} does not match the checksum in your archive"
    with pytest.raises(RuntimeError, match="maximum supported version"):
        loaded(aged(archive, 1000))
