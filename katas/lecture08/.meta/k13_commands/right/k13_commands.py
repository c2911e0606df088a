"""Python's own template, for the arguments alone."""

from __future__ import annotations

from string import Template
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
    """Return what each app of `APPS` runs: a line for each replica, role after role."""
    known = {"img_root": "/app", "rank0_env": "TORCHX_RANK0_HOST"}
    found: dict[str, list[str]] = {}
    for name, roles in APPS.items():
        found[name] = []
        for role in roles:
            for k in range(role.num_replicas):
                args = (Template(each).safe_substitute(known, replica_id=k) for each in role.args)
                found[name].append(" ".join((role.entrypoint, *args)))
    return found
