"""In a job that torchrun has started, one process runs the tests with the ranks of all."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins.ranks.job import Alone
from plugins.ranks.job import Answerer
from plugins.ranks.job import Asker
from plugins.ranks.job import Job
from plugins.ranks.job import dismiss_processes
from plugins.ranks.job import job_of
from plugins.ranks.job import serve_process
from plugins.ranks.messages import LATE
from plugins.ranks.messages import RankOutcome
from plugins.ranks.rank import Request
from tests.support.patience import PLUGINS
from tests.support.patience import be_patient


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.ranks.job import Elsewhere
    from tests.conftest import MiniCourse


TEST = """
import os
import torch
from torch import distributed as dist


def summed():
    tensor = torch.ones(2) * dist.get_rank()
    dist.all_reduce(tensor)
    return tensor.tolist(), os.getppid()


def test_sum(world):
    results = world(summed, 2)
    assert [[1.0, 1.0]] * 2 == [tensor for tensor, _ in results]
    # They are children of two servers.
    assert 2 == len({parent for _, parent in results})
    assert 2 == results.sent(0, "all_reduce").messages + results.sent(1, "all_reduce").messages


def test_one_rank_of_two(world):
    assert [[0.0, 0.0]] == [tensor for tensor, _ in world(summed, 1)]


def test_too_many(world):
    world(summed, 4)


def fails():
    dist.barrier()
    assert dist.get_rank() == 0
    dist.barrier()


def test_fails(world):
    world(fails, 2)
"""


class Memory:
    """A store of a job in this process."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.asked = 0

    def add(self, key: str, amount: int) -> int:
        """Count."""
        assert "katas/asked" == key
        self.asked += amount
        return self.asked

    def set(self, key: str, value: bytes) -> None:
        """Keep a value."""
        self.values[key] = value

    def get(self, key: str) -> bytes:
        """Return a value."""
        return self.values[key]

    def check(self, keys: list[str]) -> bool:
        """Whether they are all there."""
        return all(key in self.values for key in keys)


def request(folder: Path, size: int, seconds: float | None = None) -> Request:
    """A request for a world of so many ranks."""
    return Request(b"", size, (), "tcp://host:1/world", folder, folder, seconds=seconds)


def test_a_job_is_described_by_torchrun() -> None:
    """All four variables. A world that is too large for it gets the reason."""
    variables = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "host", "MASTER_PORT": "29500"}
    job = Job(1, 2, "host:29500")

    assert job == job_of(variables)
    assert "tcp://host:29500/katas-world" == job.place
    for name in variables:
        assert job_of({**variables, name: ""}) is None
    assert job.missing(2) is None
    assert "needs 4 ranks, the job has 2: torchrun --nproc-per-node 4" == job.missing(4)


def test_ranks_ask_and_answer(tmp_path: Path) -> None:
    """One process gets the outcomes of all ranks; all learn of the failure of one."""
    store = Memory()
    asker = Asker(store, request(tmp_path, 3))
    first, second = Answerer(store, 1), Answerer(store, 1)
    assert ("tcp://host:1/world-1", (0,)) == (asker.request.place, asker.request.ranks)
    assert ([], (), False) == (asker.fetch_outcomes(), first.fetch_outcomes(), first.has_failed())

    fine, failed = RankOutcome(1), RankOutcome(2, death="segmentation fault")
    first.add_outcome(fine)
    assert ([fine], False, False) == (asker.fetch_outcomes(), asker.has_failed(), asker.is_over())
    second.add_outcome(failed)
    assert ([failed], True, True) == (
        asker.fetch_outcomes(),
        asker.has_failed(),
        first.has_failed(),
    )
    assert not first.is_over()
    asker.add_outcome(RankOutcome(0))
    assert (True, True) == (asker.is_over(), first.is_over())


def test_a_process_that_is_silent_is_named(tmp_path: Path) -> None:
    """Some time after the deadline of its rank."""
    asker = Asker(Memory(), request(tmp_path, 2, seconds=-1000.0))

    assert [(1, LATE)] == [(outcome.rank, outcome.stopped) for outcome in asker.fetch_outcomes()]


def test_ranks_of_one_process(tmp_path: Path) -> None:
    """No other process is asked."""
    alone = Alone(Request(b"", 1, (0,), "", tmp_path, tmp_path))

    assert ((), False, False) == (alone.fetch_outcomes(), alone.has_failed(), alone.is_over())
    alone.add_outcome(RankOutcome(0))
    assert alone.is_over()


def test_a_process_serves_until_it_is_dismissed(tmp_path: Path) -> None:
    """It takes part in worlds that it is large enough for, unless they were given up."""
    store, seen = Memory(), []

    def run(asked: Request, elsewhere: Elsewhere) -> None:
        seen.append((asked.size, asked.ranks))
        Asker(store, request(tmp_path, 1))
        assert elsewhere.is_over()
        dismiss_processes(store)

    Asker(store, request(tmp_path, 4))
    Asker(store, request(tmp_path, 3))
    serve_process(store, 1, run)

    # The first was given up for the second.
    assert [(3, (1,))] == seen


# Prints what is known of the job where the crash guard begins to fork.
GUARDED = """

from plugins.crash import parent


def fork_and_say(config, *limits, guard=parent.guard_session):
    from plugins.ranks.job import job_key

    print("the guard forks for", config.stash[job_key])
    guard(config, *limits)


parent.guard_session = fork_and_say
"""


@pytest.fixture
def alone(course: MiniCourse, monkeypatch: pytest.MonkeyPatch) -> MiniCourse:
    """A course with one kata in a job of one process."""
    be_patient(course)
    course.kata()
    for name, value in (
        ("RANK", "0"),
        ("WORLD_SIZE", "1"),
        ("MASTER_ADDR", "localhost"),
        ("MASTER_PORT", "29500"),
    ):
        monkeypatch.setenv(name, value)
    return course


def test_the_rank_is_noted_before_the_crash_guard_forks(alone: MiniCourse) -> None:
    """Though the guard is registered later, as in the root conftest, and so called earlier."""
    guard = "plugins.crash.plugin"
    plugins = [*(name for name in PLUGINS if name != guard), guard]
    alone.write("conftest.py", f"pytest_plugins = {plugins!r}\n{GUARDED}")

    result = alone.run("-s")

    result.assert_outcomes(passed=1)
    line = "the guard forks for Job(rank=0, size=1, address='localhost:29500')"
    assert 1 == result.stdout.str().count(line)


@pytest.mark.parametrize(("rank", "size"), [("0", "1"), ("0", "2"), ("1", "2")])
def test_xdist_in_a_job_is_a_usage_error(alone: MiniCourse, rank: str, size: str) -> None:
    """Workers and ranks would be the same processes; nothing runs, and each process says so."""
    alone.monkeypatch.setenv("RANK", rank)
    alone.monkeypatch.setenv("WORLD_SIZE", size)
    result = alone.run("-n2")

    assert pytest.ExitCode.USAGE_ERROR == result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: -n and a job do not go together: *"])
    result.stdout.no_fnmatch_line("*passed*")


def test_the_job_comes_before_all_that_answers_for_a_session(
    pytestconfig: pytest.Config,
) -> None:
    """Before --watch, which stays, and before the crash guard, which forks."""
    hooks = pytestconfig.hook.pytest_cmdline_main.get_hookimpls()
    # The last one is called first.
    names = [hook.plugin_name for hook in reversed(hooks)]
    job, watch, guard = (
        next(index for index, name in enumerate(names) if name.endswith(end))
        for end in ("ranks.job", "loop.watch", "crash.plugin")
    )

    assert job < watch < guard


def torchrun(course: MiniCourse, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a job of two processes."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    return subprocess.run(
        [*command, "2", "-m", "pytest", "katas", *options],
        cwd=course.path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.mark.slow
@pytest.mark.torch
def test_one_verdict_comes_back(course: MiniCourse) -> None:
    """The first process prints, the others serve it; the status is that of the first."""
    be_patient(course)
    course.kata(test=TEST)

    failed = torchrun(course, "--junit-xml=report.xml")
    passed = torchrun(course, "-k", "sum")

    assert 1 == failed.returncode
    assert 1 == failed.stdout.count("test session starts")
    lines = pytest.LineMatcher(failed.stdout.splitlines())
    lines.fnmatch_lines(
        [
            "*test_k01_first.py ..sF *",
            "E*AssertionError: rank 1 of 2: assert 1 == 0",
            "E*rank 1 raised AssertionError",
            "E*rank 0 waited in barrier, its 2nd call",
            "*1 failed, 2 passed, 1 skipped*",
        ]
    )
    # torchrun writes to stderr too; the processes that it ends add nothing.
    assert "katas: " not in failed.stderr
    assert (0, 1) == (passed.returncode, passed.stdout.count(" passed"))
