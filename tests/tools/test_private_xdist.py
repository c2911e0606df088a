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


LEAVES = """
import os
import signal
from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    if item.name == "test_one[2]" and not Path("left").exists():
        Path("left").touch()
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("number", range(5))
def test_one(number):
    with open("log", "a") as log:
        log.write(f"{number} ")
"""


@pytest.mark.slow
@pytest.mark.parametrize("dist", ["load", "worksteal", "loadscope", "loadfile", "each"])
def test_replace_in_silence(pytester: pytest.Pytester, dist: str) -> None:
    """Another worker runs all tests that are left, each once, with each scheduler of xdist."""
    pytester.makeconftest(LEAVES.partition("@pytest.mark")[0])
    pytester.makepyfile(f"import pytest\n\n@pytest.mark{LEAVES.partition('@pytest.mark')[2]}")
    down: list[object] = []

    class Leaves:
        def pytest_sessionstart(self, session: pytest.Session) -> None:
            private.replace_in_silence(session.config, lambda _: True)

        def pytest_testnodedown(self, error: object) -> None:
            down.append(error)

    result = pytester.runpytest_inprocess(
        "--tx=popen", f"--dist={dist}", "--max-worker-restart=0", plugins=[Leaves()]
    )

    result.assert_outcomes(passed=5)
    assert [*"01234"] == sorted((pytester.path / "log").read_text().split())
    assert [None, None] == down
    assert not any(word in result.stdout.str() for word in ("crashed", "node down"))


@pytest.mark.slow
def test_replace_in_silence_only_who_has_left(pytester: pytest.Pytester) -> None:
    """Any other death is a crash, as xdist has it."""
    pytester.makepyfile("import os\n\ndef test_it(): os._exit(7)\n\ndef test_more(): pass\n")

    class Crashes:
        def pytest_sessionstart(self, session: pytest.Session) -> None:
            private.replace_in_silence(session.config, lambda _: False)

    result = pytester.runpytest_inprocess("-n1", plugins=[Crashes()])

    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*replacing crashed worker gw0"])


def test_replace_in_silence_where_xdist_hides_it() -> None:
    """The session is another class, or none."""
    config: Any = SimpleNamespace(
        pluginmanager=SimpleNamespace(get_plugin=lambda _: SimpleNamespace())
    )

    with pytest.raises(private.MissingNameError, match="worker_errordown"):
        private.replace_in_silence(config, lambda _: True)
