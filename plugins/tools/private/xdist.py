"""The private names of xdist, as of 3.8.0, and of execnet, as of 2.1.2."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from plugins.tools.private.missing import MissingNameError


if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    import pytest


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


def replace_in_silence(config: pytest.Config, has_left: Callable[[Any], bool]) -> None:
    """Let another worker do what one of which `has_left` is true has left, and tell nothing of it.

    `DSession.worker_errordown` and what it calls: xdist has one way to replace a worker, which
    fails the test that the worker would have run next and reports a crash; no hook can keep it
    from either. `Scheduling.node2pending`: a scheduler drops the first of a dead worker's tests as
    the one that has crashed, so that one is there twice. A scheduler without it keeps all tests
    (xdist 3.8.0).

    Raises
    ------
    MissingNameError
        If the installed xdist has none of these.
    """
    session: Any = config.pluginmanager.get_plugin("dsession")
    try:
        report = session.worker_errordown
        clone, active = session._clone_node, session._active_nodes  # noqa: SLF001
    except AttributeError as error:
        raise MissingNameError(str(error)) from error

    def replace(node: Any, error: object) -> None:
        if not has_left(node):
            report(node=node, error=error)
            return
        config.hook.pytest_testnodedown(node=node, error=None)
        tests = getattr(session.sched, "node2pending", {}).get(node)
        if tests:
            tests.insert(0, tests[0])
        session.sched.remove_node(node)
        # It may have begun, as all tests had been given out.
        session.shuttingdown = False
        clone(node)
        active.remove(node)

    session.worker_errordown = replace
