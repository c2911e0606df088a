"""The private names of xdist and execnet do, in the releases installed here, what is needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import execnet
import pytest

from plugins.tools import private


def test_worker_process(pytester: pytest.Pytester) -> None:
    """It has the exit status once xdist has seen that the worker is gone."""
    codes: list[int | None] = []

    class Ends:
        def pytest_testnodedown(self, node: Any) -> None:
            process = private.worker_process(node.gateway)
            codes.append(process.wait(60) if process else None)

    pytester.makepyfile("import os\n\ndef test_it(): os._exit(7)\n")

    pytester.runpytest_inprocess("-n1", "--max-worker-restart=0", plugins=[Ends()])

    assert [7] == codes


def test_worker_process_elsewhere() -> None:
    """Behind a socket, or started by another worker."""
    for spec in ("socket=host:1", "popen//via=gw0"):
        gateway = SimpleNamespace(_io=object(), spec=execnet.XSpec(spec))

        assert private.worker_process(gateway) is None


def test_worker_process_that_is_hidden() -> None:
    """The worker is one of this machine, so it has a process."""
    gateway = SimpleNamespace(_io=object(), spec=execnet.XSpec("popen"))

    with pytest.raises(private.MissingNameError, match="popen"):
        private.worker_process(gateway)
