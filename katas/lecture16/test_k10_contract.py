"""Tests of k10_contract: files that change after they were sealed, and requests that do not fit."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import pytest

from katas.lecture16.conftest import IR
from katas.lecture16.conftest import model_of
from katas.lecture16.k10_contract import NAME
from katas.lecture16.k10_contract import changed
from katas.lecture16.k10_contract import contract
from katas.lecture16.k10_contract import seal
from katas.lecture16.k10_contract import sizes


if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


INPUTS: dict[str, tuple[str, list[int | str]]] = {
    "x": ("float32", ["batch", 8]),
    "mask": ("float32", ["batch"]),
}
OUTPUTS: dict[str, tuple[str, list[int | str]]] = {"y": ("float32", ["batch"])}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two files of a model."""
    place = tmp_path / "model"
    place.mkdir()
    (place / "model.onnx").write_bytes(bytes(range(256)))
    (place / "model.onnx.data").write_bytes(os.urandom(3 * 65536))
    return place


def test_what_is_sealed(folder: Path) -> None:
    """Inputs, outputs, and both hashes."""
    seal(folder, INPUTS, OUTPUTS)
    sealed = contract(folder)
    expected = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.iterdir()
        if file.name != NAME
    }

    assert sealed.get("sha256") == expected, (
        f"sha256: yours {sealed.get('sha256')}, expected {expected}"
    )
    for name, promised in (("inputs", INPUTS), ("outputs", OUTPUTS)):
        wanted = {key: [dtype, shape] for key, (dtype, shape) in promised.items()}
        assert sealed.get(name) == wanted, f"{name}: yours {sealed.get(name)}, expected {wanted}"


def test_nothing_has_changed(folder: Path) -> None:
    """Sealing again changes nothing: the bytes are the same, in any order of the names."""
    seal(folder, INPUTS, OUTPUTS)
    assert changed(folder) == [], f"`changed` returns {changed(folder)}, but nothing was touched"
    first = (folder / NAME).read_bytes()
    seal(folder, dict(reversed(INPUTS.items())), OUTPUTS)

    second = (folder / NAME).read_bytes()
    alike = second == first
    assert alike, (
        f"sealed again with the inputs in a different order, the contract has different bytes:\n"
        f"{first.decode()}\n{second.decode()}"
    )
    assert changed(folder) == [], f"sealed twice, `changed` returns {changed(folder)}, expected []"


@pytest.mark.parametrize("name", ["model.onnx", "model.onnx.data"])
def test_one_byte_of_either_file(folder: Path, name: str) -> None:
    """The length and the modification time stay the same."""
    seal(folder, INPUTS, OUTPUTS)
    file = folder / name
    before, data = file.stat(), bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    found = changed(folder)

    assert found == [name], f"the last byte of {name} was changed, but `changed` returns {found}"


def test_files_that_go_and_come(folder: Path) -> None:
    """A file that is missing, and one that was never released."""
    seal(folder, INPUTS, OUTPUTS)
    (folder / "model.onnx.data").unlink()
    (folder / "a.onnx.data").write_bytes(b"1")
    found = changed(folder)
    expected = ["a.onnx.data", "model.onnx.data"]

    assert found == expected, f"`changed` returns {found}, expected {expected}"


def feeds(rows: int, **others: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return a request that fits, except for the given inputs."""
    fits = {"x": np.zeros((rows, 8), "float32"), "mask": np.zeros(rows, "float32")}
    return fits | others


def test_a_request_that_fits() -> None:
    """A request may have any batch size, including 1 and 0."""
    for rows in (1, 5, 0):
        found = sizes(INPUTS, feeds(rows))
        assert found == {"batch": rows}, f"yours {found}, expected a batch of {rows}"
    assert sizes({}, {}) == {}, "expected {} for a request without inputs"


def refused(name: str, given: Mapping[str, np.ndarray[Any, Any]], why: str) -> None:
    """Check that a request is refused, and that the error names an input."""
    __tracebackhide__ = True
    try:
        said = f"nothing, and returns {sizes(INPUTS, given)}"
    except ValueError as error:
        said = str(error)
    assert said.startswith(name), (
        f"{why}: expected a ValueError that begins with {name}, your function says {said}"
    )


def test_names() -> None:
    """A missing input, and one too many."""
    without = feeds(2)
    del without["mask"]
    refused("mask", without, "mask is missing")
    refused("extra", feeds(2, extra=np.zeros(2, "float32")), "extra is not promised")


def test_dtypes_and_dims() -> None:
    """float64 is what NumPy gives you; a row is not a batch of one."""
    refused("x", feeds(2, x=np.zeros((2, 8))), "x is float64")
    refused("x", feeds(8, x=np.zeros(8, "float32")), "x has one dim")
    refused("mask", feeds(2, mask=np.zeros((2, 1), "float32")), "mask has two dims")
    refused("mask", feeds(2, mask=np.array(1, "float32")), "mask has no dim")


def test_sizes_that_differ() -> None:
    """A size given as a number is fixed, and a named size is the same in all inputs."""
    refused("x", feeds(2, x=np.zeros((2, 7), "float32")), "x has rows of 7")
    refused("mask", feeds(3, mask=np.zeros(1, "float32")), "a batch of 3, and a mask for 1")
    square: dict[str, tuple[str, list[int | str]]] = {"a": ("int64", ["n", "n"])}
    assert sizes(square, {"a": np.zeros((3, 3), "int64")}) == {"n": 3}, (
        "(3, 3) for (n, n): expected {'n': 3}"
    )
    with pytest.raises(ValueError, match=r"^a"):
        sizes(square, {"a": np.zeros((3, 2), "int64")})


@pytest.mark.backend("onnxruntime")
def test_onnx_runtime_does_not_notice(folder: Path) -> None:
    """Zeroed weights load, and a mask of one row is broadcast; your functions report both."""
    import onnx  # noqa: PLC0415 - may be missing
    import onnxruntime as ort  # noqa: PLC0415 - may be missing

    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["h"]),
        onnx.helper.make_node("Mul", ["h", "mask"], ["y"]),
    ]
    shapes = {"x": ["batch", 8], "mask": ["batch"]}
    weight = np.ones((8,), "float32").repeat(512).reshape(8, 512)[:, 0].copy()
    model = model_of(nodes, shapes, {"y": ["batch"]}, {"w": weight})
    assert model.ir_version == IR, "expected the IR version that this ONNX Runtime reads"
    options = {"all_tensors_to_one_file": True, "location": "model.onnx.data", "size_threshold": 0}
    (folder / "model.onnx.data").unlink()
    onnx.save(model, folder / "model.onnx", save_as_external_data=True, **options)
    seal(folder, INPUTS, OUTPUTS)
    (folder / "model.onnx.data").write_bytes(bytes(weight.nbytes))
    runs = ort.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    given = feeds(3, mask=np.ones(1, "float32"), x=np.ones((3, 8), "float32"))
    (y,) = runs.run(None, given)

    assert [*y] == [0, 0, 0], f"ONNX Runtime answered {y}, expected zeros"
    assert changed(folder) == ["model.onnx.data"], f"`changed` returns {changed(folder)}"
    refused("mask", given, "a batch of 3, and a mask for 1")
