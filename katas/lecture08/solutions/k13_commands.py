"""Which command lines will a cluster run? Five TorchX apps, on paper."""

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
    """Return the command lines of each app in `APPS`: one for each replica, role after role."""
    return {
        "replicas": ["python train.py --rank 0", "python train.py --rank 1"],
        "roles": ["read.py --rank=0", "read.py --rank=1", "train.py --rank=0"],
        "image": ["${img_root}/train --data /app/data"],
        "address": ["python train.py --master TORCHX_RANK0_HOST:29500"],
        "dollars": ["echo $HOME $HOME ${HOME} 0.pt"],
    }
