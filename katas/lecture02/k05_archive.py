"""Read a ``torch.save`` archive without ``torch.load``.

A ``.pt`` file is a zip. Look into one:

    torch.save({"a": x, "b": x.t()}, "x.pt")
    print(zipfile.ZipFile("x.pt").namelist())

    x/data.pkl      the pickle: a dict, and how to rebuild two tensors
    x/data/0        the bytes of one storage: both tensors refer to it
    x/byteorder     and a few small files

The pickle contains no elements. For each tensor it calls ``_rebuild_tensor_v2`` with sizes, strides
and offset, and with a *persistent id* in place of the storage, which only the reader can resolve.
Be the reader:

1. `Reader.persistent_load`: turn the id into the storage. A storage shared by two tensors must stay
   shared.
2. `rebuild`: build the tensor from a storage, sizes, strides and offset.

About 10 lines. Begin with ``pickletools.dis`` of data.pkl: find the id, and what surrounds it.
Afterwards open ``torch/serialization.py`` (``persistent_load``) and ``torch/_utils.py``.

Real life differs: devices, byte orders, Parameters, memory mapping.
"""

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
        # TODO: read bytes, once for each key. (torch.frombuffer refuses an empty buffer.)
        raise NotImplementedError("persistent_load")


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

    The tensor requires grad if `requires_grad` is true. `hooks` and `metadata` are empty here.
    """
    # TODO: which method makes a view from all three?
    raise NotImplementedError("rebuild")


def load(file: BinaryIO | str) -> Any:
    """Return the object in an archive of ``torch.save``. Given."""
    with zipfile.ZipFile(file) as archive:
        return Reader(archive).load()
