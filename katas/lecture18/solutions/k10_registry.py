"""A registry: versions that stay, aliases that move, and hashes."""

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
        """Keep the bytes as a new version, and return its number: 1, 2, 3, ..."""
        index, digest = self.load(), sha256(data).hexdigest()
        write(self.file(digest), data)
        index.last += 1
        index.versions[index.last] = Version(digest, run_id)
        self.save(index)
        return index.last

    def find(self, which: int | str) -> int:
        """Return a version's number; an int is a number, and a str is an alias, even "3"."""
        index = self.load()
        number = index.aliases.get(which, 0) if isinstance(which, str) else which
        if number not in index.versions:
            raise NotFoundError(f"no version {which!r}; there are {sorted(index.versions)}")
        return number

    def point(self, alias: str, number: int) -> None:
        """Point the alias at a version, wherever it pointed before."""
        index = self.load()
        index.aliases[alias] = self.find(number)
        self.save(index)

    def read(self, which: int | str) -> bytes:
        """Return the bytes of a version, by its number or an alias."""
        digest = self.load().versions[self.find(which)].digest
        path = self.file(digest)
        data = path.read_bytes() if path.exists() else b""
        if not path.exists() or sha256(data).hexdigest() != digest:
            raise CorruptError(f"version {which!r}: its bytes are missing, or others")
        return data

    def delete(self, number: int) -> None:
        """Forget a version and the aliases that point to it, or raise NotFoundError."""
        index = self.load()
        del index.versions[self.find(number)]
        index.aliases = {name: to for name, to in index.aliases.items() if to != number}
        self.save(index)
