"""Change one line of a file, and a model computes something else."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile


def aged(archive: bytes, version: int) -> bytes:
    """Return a copy of a TorchScript archive, a zip file, that states a different version."""
    made = BytesIO()
    with ZipFile(BytesIO(archive)) as old, ZipFile(made, "w") as new:
        for name in old.namelist():
            is_version = name.split("/")[1:] == ["version"]
            new.writestr(name, f"{version}\n" if is_version else old.read(name))
    return made.getvalue()
