"""The same app for Slurm and for Docker: read what each promises.

An app says ``max_retries=2`` and a gigabyte, and runs anywhere. But one scheduler gets a script and
the other containers, and your numbers are in different places:

    torchx run --dryrun -s slurm FILE.py:app
    torchx run --dryrun --workspace="" -s local_docker FILE.py:app

Write `compare`. Begin in ``test_k07_two_requests.py``: `SCRIPT` and `CONTAINERS` are such requests
for one app. How often is each replica retried?

Afterwards read ``_restart_workers`` in ``torch/distributed/elastic/agent/server/api.py``: which
workers does torchrun restart?
"""

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
    # TODO: re.findall for the script; what may be missing from kwargs?
    raise NotImplementedError("compare")
