"""Read a model's archive without loading it, and see what outlives the class.

Someone renames a class, and last year's file cannot be loaded. Each format is a zip file, and you
can read what it depends on without running anything:

    torch.save(net)             data.pkl names  models.Net             your class, to import
    torch.jit.save(scripted)    data.pkl names  __torch__.models.Net   in code/__torch__/models.py
    torch.export.save(program)  data/weights/…, models/model.json      no class to import

1. `needs`: which names would unpickling import that neither BROUGHT nor the archive provides?
2. `weights`: the tensors of a .pt2, from raw bytes and a JSON file.

Neither unpickles: ``pickletools.genops`` yields a pickle's opcodes, each with its argument.

Begin with ``unzip -l`` on one file of each kind, and ``python -m pickletools`` on a data.pkl.
Real life differs: in a .pt2 a few kinds of tensor, and the sample inputs, are pickled after all.
Afterwards read `_load_state_dict` in ``torch/export/pt2_archive/_package.py``, in site-packages.
"""

from __future__ import annotations

import json
import pickletools
from io import BytesIO
from zipfile import ZipFile

import torch


# Packages whose names all count as brought.
BROUGHT = ("__builtin__", "builtins", "collections", "torch")
CONFIG = "data/weights/model_weights_config.json"
DTYPES = {5: torch.int64, 7: torch.float32, 8: torch.float64, 12: torch.bool, 13: torch.bfloat16}


def records_of(archive: bytes) -> dict[str, bytes]:
    """Return the records of a zip file by name, without the one top folder. Given."""
    with ZipFile(BytesIO(archive)) as file:
        return {name.partition("/")[2]: file.read(name) for name in file.namelist()}


def numbers(entries: list[dict[str, int]]) -> list[int]:
    """Return [2, 3] for [{"as_int": 2}, {"as_int": 3}], as a .pt2 writes it. Given."""
    return [entry["as_int"] for entry in entries]


def needs(archive: bytes) -> set[str]:
    """Return the dotted names that unpickling ``data.pkl`` imports but nothing brings.

    A .pt2 has no such record. The opcode GLOBAL has an argument of two words, module and name. A
    TorchScript archive brings the classes of ``__torch__.a.b`` in ``code/__torch__/a/b.py``.
    """
    # TODO: use genops, then check both ways in which a name is brought.
    raise NotImplementedError("needs")


def weights(archive: bytes) -> dict[str, torch.Tensor]:
    """Return the tensors of a .pt2 by name, in the order of CONFIG.

    An entry under "config" has a "path_name", which names a record next to CONFIG with the bytes of
    a storage, and a "tensor_meta" with "dtype", "sizes", "strides" and "storage_offset". Entries
    with the same record share memory. No tensor is empty.
    """
    # TODO: read each record into a bytearray, then torch.frombuffer and as_strided.
    raise NotImplementedError("weights")
