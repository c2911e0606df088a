"""Change one line of a file, and a model computes something else.

Up to PyTorch 1.5, dividing integer tensors gave integers. TorchScript archives from that time still
do: a file states its version, and the loader restores the old meaning of operators.

    torch.jit.save(model, "m.pt")                        version 4       5 / 2 is 2.5
    open("m.pt", "wb").write(aged(old_bytes, 2))         version 2       5 / 2 is 2

Write `aged`, about 7 lines.

Begin with ``unzip -l`` on any TorchScript file: which record holds the version?
Afterwards print ``code`` of the loaded model, and find aten::div and aten::full in
``torch/include/caffe2/serialize/versions.h``, in site-packages.
"""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile


def aged(archive: bytes, version: int) -> bytes:
    """Return a copy of a TorchScript archive, a zip file, that states a different version.

    The version is a line of text in the record ``version`` of the archive's one top folder. The
    other records keep their names, order and content, including a user's ``extra/version``.
    """
    # TODO: copy each record from the old archive to the new one.
    raise NotImplementedError("aged")
