"""Read a model's archive without loading it: storages by set_, names by their parents."""

from __future__ import annotations

import json
import pickletools
from io import BytesIO
from pathlib import PurePosixPath
from zipfile import ZipFile

import torch


BROUGHT = ("__builtin__", "builtins", "collections", "torch")
CONFIG = "data/weights/model_weights_config.json"
DTYPES = {5: torch.int64, 7: torch.float32, 8: torch.float64, 12: torch.bool, 13: torch.bfloat16}


def records_of(archive: bytes) -> dict[str, bytes]:
    """Return the records of a zip file by name, without the one top folder."""
    with ZipFile(BytesIO(archive)) as file:
        return {name.partition("/")[2]: file.read(name) for name in file.namelist()}


def numbers(entries: list[dict[str, int]]) -> list[int]:
    """Return what a .pt2 writes as [{"as_int": 2}, {"as_int": 3}] as [2, 3]."""
    return [entry["as_int"] for entry in entries]


def needs(archive: bytes) -> set[str]:
    """Return the dotted names that unpickling ``data.pkl`` imports and that are not brought."""
    records = records_of(archive)
    if "data.pkl" not in records:
        return set()
    opcodes = pickletools.genops(BytesIO(records["data.pkl"]))
    words = [str(argument).split(" ") for code, argument, _ in opcodes if code.name == "GLOBAL"]
    codes = [PurePosixPath(each) for each in records if each.startswith("code/")]
    modules = {".".join(each.with_suffix("").parts[1:]) for each in codes if each.suffix == ".py"}
    return {
        ".".join(each)
        for each in words
        if each[0].split(".")[0] not in BROUGHT and each[0] not in modules
    }


def weights(archive: bytes) -> dict[str, torch.Tensor]:
    """Return the tensors of a .pt2 by name, in the order of CONFIG."""
    records = records_of(archive)
    entries = json.loads(records[CONFIG])["config"]
    storages = {
        path: torch.tensor(list(records[f"data/weights/{path}"]), dtype=torch.uint8)
        for path in {entry["path_name"] for entry in entries.values()}
    }
    return {
        name: torch.empty(0, dtype=DTYPES[entry["tensor_meta"]["dtype"]]).set_(
            storages[entry["path_name"]].untyped_storage(),
            entry["tensor_meta"]["storage_offset"]["as_int"],
            numbers(entry["tensor_meta"]["sizes"]),
            numbers(entry["tensor_meta"]["strides"]),
        )
        for name, entry in entries.items()
    }
