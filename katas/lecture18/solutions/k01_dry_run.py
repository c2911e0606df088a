"""A dry run: read the command before it runs."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING
from typing import NamedTuple


if TYPE_CHECKING:
    from torchx.specs import AppDef


class Replica(NamedTuple):
    """The fields of TorchX's ``ReplicaParam`` that matter here: a process to be started."""

    args: list[str]
    env: dict[str, str]
    cwd: str


class Request(NamedTuple):
    """The fields of TorchX's ``PopenRequest`` that matter here: lists of replicas, by role."""

    app_id: str
    log_dir: str
    role_params: dict[str, list[Replica]]


def dry_run(app: AppDef, log_dir: str = "logs") -> Request:
    """Return the request that TorchX's scheduler for local processes would get."""
    from torchx.runner import get_runner  # noqa: PLC0415 - optional

    with get_runner() as runner:
        request: Request = runner.dryrun(app, "local_cwd", {"log_dir": log_dir}).request
    return request


def readable(request: Request) -> str:
    """Return the request as text: roles in their order, replicas from 0.

    Write the command, quoted for a shell, then a line for each variable, sorted by name. Values
    are not quoted. Each line ends with a newline:

        trainer/0: python fit.py 0 <id>
            PET_LOG_DIR=<logs>/torchelastic/trainer

    Wherever they occur, replace the log folder with <logs>, then the replica's working folder with
    <here>, and the id with <id>.
    """
    text = ""
    for role, replicas in request.role_params.items():
        for number, replica in enumerate(replicas):
            lines = f"{role}/{number}: {shlex.join(replica.args)}\n"
            lines += "".join(f"    {name}={replica.env[name]}\n" for name in sorted(replica.env))
            text += lines.replace(request.log_dir, "<logs>").replace(replica.cwd, "<here>")
    return text.replace(request.app_id, "<id>")
