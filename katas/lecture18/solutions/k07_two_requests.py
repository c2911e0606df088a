"""The same app for Slurm and for Docker: read what each promises."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple


if TYPE_CHECKING:
    from collections.abc import Sequence


ROLE, NUMBER = "torchx.pytorch.org/role-name", "torchx.pytorch.org/replica-id"


class Container(NamedTuple):
    """The fields of TorchX's ``DockerContainer``."""

    image: str
    command: list[str]
    kwargs: dict[str, Any]

    @property
    def replica(self) -> str:
        """Return the role and the number of its replica, such as "trainer-0"."""
        labels = self.kwargs["labels"]
        return f"{labels[ROLE]}-{labels[NUMBER]}"


class Promise(NamedTuple):
    """The memory of a replica in megabytes, and how often it is restarted if it fails."""

    memory: int
    retries: int


def compare(script: str, containers: Sequence[Container]) -> dict[str, tuple[Promise, Promise]]:
    """Return Slurm's promise and Docker's for each replica, such as "trainer-0".

    In the script, `replica` is a job's name. Each job has a memory limit. Slurm restarts all
    jobs together, as often as the script says.
    """
    retries = int(re.findall(r"TORCHX_MAX_RETRIES=(\d+)", script)[0])
    memory = dict(re.findall(r"--job-name=(\S+) .*--mem=(\d+)", script))
    found = {}
    for container in containers:
        again = container.kwargs.get("restart_policy", {}).get("MaximumRetryCount", 0)
        docker = Promise(int(container.kwargs["mem_limit"].removesuffix("m")), again)
        found[container.replica] = Promise(int(memory[container.replica]), retries), docker
    return found
