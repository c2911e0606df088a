"""Reads the torch matrix from the dependency groups of pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from pathlib import Path


GROUP = re.compile(r"torch\d+")
PIN = re.compile(r"torch==(\d+\.\d+\.\d+)")


@dataclass(frozen=True)
class Version:
    """A version of torch, and the dependency groups to install for it."""

    name: str
    number: str
    groups: tuple[str, ...]


def read_versions(pyproject: Path) -> tuple[Version, ...]:
    """Return the versions that the groups ``torchNNN`` pin, the oldest first.

    Raises
    ------
    ValueError
        If a group holds anything but one pin of torch.
    """
    groups = tomllib.loads(pyproject.read_text(encoding="utf-8"))["dependency-groups"]
    found = []
    for name, needs in groups.items():
        if not GROUP.fullmatch(name):
            continue
        pin = PIN.fullmatch(needs[0]) if len(needs) == 1 else None
        if pin is None:
            raise ValueError(f'{pyproject}: {name}: expected ["torch==2.13.0"], found {needs}')
        triton = name.replace("torch", "triton")
        more = [group for group in ("course", triton, "oracles") if group in groups]
        found.append(Version(name, pin[1], (name, *more)))
    return tuple(sorted(found, key=lambda it: tuple(int(part) for part in it.number.split("."))))
