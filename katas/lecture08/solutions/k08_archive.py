"""Read a model's archive without loading it, and see what outlives the class."""

from __future__ import annotations

import json
import pickletools
from io import BytesIO
from zipfile import ZipFile

import torch


# The packages of Python and PyTorch that may be named.
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
    """Return the dotted names that unpickling ``data.pkl`` imports but nothing brings."""
    records = records_of(archive)
    found = set()
    for opcode, argument, _ in pickletools.genops(records.get("data.pkl", b".")):
        if opcode.name == "GLOBAL":
            module, name = str(argument).split()
            code = f"code/{module.replace('.', '/')}.py"
            if module.partition(".")[0] not in BROUGHT and code not in records:
                found.add(f"{module}.{name}")
    return found


def weights(archive: bytes) -> dict[str, torch.Tensor]:
    """Return the tensors of a .pt2 by name, in the order of CONFIG."""
    records = records_of(archive)
    memory: dict[str, bytearray] = {}
    found = {}
    for name, entry in json.loads(records[CONFIG])["config"].items():
        path, meta = f"data/weights/{entry['path_name']}", entry["tensor_meta"]
        storage = memory.setdefault(path, bytearray(records[path]))
        flat = torch.frombuffer(storage, dtype=DTYPES[meta["dtype"]])
        sizes, strides = numbers(meta["sizes"]), numbers(meta["strides"])
        found[name] = flat.as_strided(sizes, strides, meta["storage_offset"]["as_int"])
    return found
