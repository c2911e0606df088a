"""Read a ``torch.save`` archive without ``torch.load``."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from typing import Any
from typing import BinaryIO

import torch


# Given: the dtype of each storage class that a pickle names.
DTYPES = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "ComplexFloatStorage": torch.complex64,
    "LongStorage": torch.int64,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}


class Reader(pickle.Unpickler):
    """Unpickles the object of one archive."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        """Given: open data.pkl; all names in the archive begin with `root`."""
        self.archive = archive
        self.root = archive.namelist()[0].split("/")[0]
        self.storages: dict[str, torch.Tensor] = {}
        super().__init__(io.BytesIO(archive.read(f"{self.root}/data.pkl")))

    def find_class(self, module: str, name: str) -> Any:
        """Given: resolve the names that an archive of tensors needs, and refuse all others.

        A pickle can call anything; that is why ``torch.load`` has ``weights_only``.
        """
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return rebuild
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch" and name in DTYPES:
            return DTYPES[name]
        raise pickle.UnpicklingError(f"{module}.{name} is not for tensors")

    def persistent_load(self, pid: tuple[str, torch.dtype, str, str, int]) -> torch.Tensor:
        """Return the whole storage as a flat, writable, row-major tensor of its dtype.

        `pid` is ("storage", dtype, key, device, number of elements); the bytes are in the file
        ``data/`` + key. The unpickler calls this once for each tensor. The device is always the
        CPU.
        """
        _, dtype, key, _, _ = pid
        if key not in self.storages:
            raw = bytearray(self.archive.read(f"{self.root}/data/{key}"))
            flat = torch.empty(0, dtype=dtype)
            self.storages[key] = torch.frombuffer(raw, dtype=dtype) if raw else flat
        return self.storages[key]


def rebuild(  # noqa: PLR0917 - the pickle calls it so
    storage: torch.Tensor,
    offset: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,  # noqa: FBT001
    hooks: OrderedDict[int, object],
    metadata: object = None,
) -> torch.Tensor:
    """Return a tensor with these sizes, strides and offset on `storage`, without a copy.

    `hooks` and `metadata` are empty here.
    """
    tensor = storage.as_strided(sizes, strides, offset)
    return tensor.requires_grad_(requires_grad)


def load(file: BinaryIO | str) -> Any:
    """Return the object in an archive of ``torch.save``. Given."""
    with zipfile.ZipFile(file) as archive:
        return Reader(archive).load()
