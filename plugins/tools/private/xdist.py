"""The private names of xdist, as of 3.8.0, and of execnet, as of 2.1.2."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from plugins.tools.private.missing import MissingNameError


if TYPE_CHECKING:
    import subprocess


def worker_process(gateway: Any) -> subprocess.Popen[bytes] | None:
    """Return the process of a worker, or None if another machine started it.

    `Gateway._io.popen`: a gateway can end its process but not tell its exit status, and xdist
    reports only that it is gone (xdist 3.8.0, execnet 2.1.2).

    Raises
    ------
    MissingNameError
        If the gateway has started a process but hides it.
    """
    try:
        process: subprocess.Popen[bytes] = gateway._io.popen  # noqa: SLF001
    except AttributeError as error:
        if gateway.spec.popen and not gateway.spec.via:
            raise MissingNameError(str(error)) from error
        return None
    return process
