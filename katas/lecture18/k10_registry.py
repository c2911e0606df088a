"""Keep versions that never change, and a name that moves.

"Roll back to yesterday's model" is easy if yesterday's model has not changed. A model registry
keeps three things apart:

    champion --.                       an alias moves
                v
      1    2    3    4                 a number is never reused, even if its version is deleted
      |    |    |    |
    9f3a 07be 9f3a c411                a hash of the bytes, which is also the name of their file

Write the five methods of `Registry`, about 24 lines. Its state is on disk, in an index and one file
for each hash: two registries with the same folder are the same registry.

Begin on paper: versions 1 to 3, and 3 is deleted. Which number is next? Who could be harmed by 3?
Afterwards look for ``check_hash`` in ``torch/hub.py``, in site-packages: which part of the hash do
the names of PyTorch's own files contain?

Real life differs: a registry is a service, and a transaction keeps two writers apart. MLflow has
the same rules for numbers and aliases, but keeps no hash.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from hashlib import sha256
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from pathlib import Path


class NotFoundError(LookupError):
    """The version or alias does not exist."""


class CorruptError(RuntimeError):
    """A version's bytes differ from those that were registered."""


@dataclass(frozen=True)
class Version:
    """A version's record: the SHA-256 of its bytes, in hexadecimal, and who made it."""

    digest: str
    run_id: str


@dataclass
class Index:
    """The registry's state; `last` is the last number that was assigned."""

    last: int = 0
    versions: dict[int, Version] = field(default_factory=dict)
    aliases: dict[str, int] = field(default_factory=dict)


def write(path: Path, data: bytes) -> None:
    """Write a file that is either absent or complete. Given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(data)
    part.replace(path)


class Registry:
    """The versions of one model, in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def load(self) -> Index:
        """Return the index on disk. Given."""
        path = self.root / "index.json"
        if not path.exists():
            return Index()
        raw = json.loads(path.read_text("utf-8"))
        # The keys of a JSON object are strings.
        versions = {int(number): Version(**each) for number, each in raw["versions"].items()}
        return Index(raw["last"], versions, raw["aliases"])

    def save(self, index: Index) -> None:
        """Replace the index on disk. Given."""
        write(self.root / "index.json", json.dumps(asdict(index)).encode())

    def file(self, digest: str) -> Path:
        """Return the path of the bytes with this hash. Given."""
        return self.root / "blobs" / digest

    def register(self, data: bytes, run_id: str) -> int:
        """Keep the bytes as a new version, and return its number: 1, 2, 3, ...

        A number is never reused. The same bytes may be registered again, as a new version. If
        anything fails on the way, the index lists no version without bytes.
        """
        # TODO: write, load and save are given.
        raise NotImplementedError("register")

    def find(self, which: int | str) -> int:
        """Return a version's number; an int is a number, and a str is an alias, even "3".

        Raise NotFoundError if there is none.
        """
        # TODO
        raise NotImplementedError("find")

    def point(self, alias: str, number: int) -> None:
        """Point the alias at a version, wherever it pointed before.

        Raise NotFoundError if there is no such version, and change nothing.
        """
        # TODO
        raise NotImplementedError("point")

    def read(self, which: int | str) -> bytes:
        """Return the bytes of a version, by its number or an alias.

        Raise CorruptError if their file is missing, or differs from what was registered.
        """
        # TODO
        raise NotImplementedError("read")

    def delete(self, number: int) -> None:
        """Forget a version and the aliases that point to it, or raise NotFoundError.

        Its bytes stay: another version may share them.
        """
        # TODO
        raise NotImplementedError("delete")
