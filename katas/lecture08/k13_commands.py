"""Which command lines will a cluster run? Five TorchX apps, on paper.

An app is a list of roles, and a role is one command that runs in one or more replicas. A macro is a
placeholder for a value that only the scheduler knows. For each replica, it substitutes the macros
wherever it looks for them. Suppose a scheduler uses these values:

    ${img_root}     /app                  the folder of the image
    ${replica_id}   0, 1, ...
    ${rank0_env}    TORCHX_RANK0_HOST     the variable with the address of rank 0

Write `commands`. Begin with one that you can run:

    torchx run --dryrun -s local_cwd utils.echo --msg '$HOME' --num_replicas 2

If "image" fails, read ``macros`` in ``torchx/specs/api.py``, in site-packages. Afterwards read
torchrun's only macro, in ``torch/distributed/elastic/utils/api.py``.
"""

from __future__ import annotations

from typing import NamedTuple


class Role(NamedTuple):
    """The fields of ``torchx.specs.Role`` that matter here."""

    name: str
    entrypoint: str
    args: tuple[str, ...]
    num_replicas: int = 1


APPS: dict[str, tuple[Role, ...]] = {
    "replicas": (Role("trainer", "python", ("train.py", "--rank", "${replica_id}"), 2),),
    "roles": (
        Role("reader", "read.py", ("--rank=${replica_id}",), 2),
        Role("trainer", "train.py", ("--rank=${replica_id}",)),
    ),
    "image": (Role("trainer", "${img_root}/train", ("--data", "${img_root}/data")),),
    "address": (Role("trainer", "python", ("train.py", "--master", "${rank0_env}:29500")),),
    "dollars": (Role("printer", "echo", ("$HOME", "$$HOME", "${HOME}", "$replica_id.pt")),),
}


def commands() -> dict[str, list[str]]:
    """Return the command lines of each app in `APPS`: one for each replica, role after role.

    A line is the entrypoint and its arguments, joined by spaces, as passed to the operating system:
    no shell reads it.
    """
    # TODO: return {"replicas": ["python train.py --rank ...", ...], ...}
    raise NotImplementedError("commands")
