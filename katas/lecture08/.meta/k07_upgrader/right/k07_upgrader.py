"""Change one line of a file, and a model computes something else: each record as it was."""

from __future__ import annotations

import re
from io import BytesIO
from zipfile import ZipFile


def aged(archive: bytes, version: int) -> bytes:
    """Return a copy of a TorchScript archive, a zip file, that states another version."""
    old = ZipFile(BytesIO(archive))
    contents = {info: old.read(info) for info in old.infolist()}
    made = BytesIO()
    new = ZipFile(made, "w")
    for info, content in contents.items():
        if re.fullmatch(r"[^/]*/version", info.filename):
            new.writestr(info, str(version).encode() + b"\n")
        else:
            new.writestr(info, content)
    new.close()
    return made.getvalue()
