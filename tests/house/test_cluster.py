"""``nox -s cluster``: a job of four ranks on a Slurm of this machine, and one verdict.

That of a job that passes is checked by `test_examples`: the command stands in a README.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support import cluster
from tests.support import slurm
from tests.support.patience import be_patient


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


TEST = """
import torch
from torch import distributed as dist


def total():
    tensor = torch.ones(2) * dist.get_rank()
    dist.all_reduce(tensor)
    return tensor.tolist()


def test_four_ranks_add_up(world):
    assert [[6.0, 6.0]] * 4 == world(total, 4)


def late():
    assert dist.get_rank() != 3, "calls[0]: too late"


def test_one_of_them_fails(world):
    world(late, 4)
"""


@pytest.fixture
def torchx() -> None:
    """Skip where TorchX is not installed."""
    pytest.importorskip("torchx", reason=cluster.NO_TORCHX)


@pytest.fixture
def job(course: MiniCourse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter a course with a test that passes and one that fails."""
    be_patient(course)
    course.kata(test=TEST)
    monkeypatch.chdir(course.path)
    # Set by the command: monkeypatch restores them after the test. With an empty SLURM_CONF the
    # commands of Slurm look for a cluster for a minute.
    for name in ("PATH", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    monkeypatch.setenv("SLURM_CONF", "")
    monkeypatch.delenv("SLURM_CONF")


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.tool("slurm")
@pytest.mark.usefixtures("torchx", "job")
def test_one_verdict_comes_back(course: MiniCourse, capfd: pytest.CaptureFixture[str]) -> None:
    """One session of pytest is seen, its status is that of the command, and no file is left."""
    before = written(course)

    assert 1 == cluster.main(["katas", "-q", "-p", "no:cacheprovider"])

    out = capfd.readouterr().out
    assert 1 == out.count("1 failed, 1 passed")
    assert "rank 3 of 4: calls[0]: too late" in out
    assert "[0]:F" not in out
    assert before == written(course)


def written(course: MiniCourse) -> set[Path]:
    """Return the paths in the course's folder, without Python's cache of conftest.py."""
    return {path for path in course.path.iterdir() if path.name != "__pycache__"}


@pytest.mark.usefixtures("torchx")
def test_without_slurm_the_request_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command fails: it prints what is missing, how to get it, and the request."""
    monkeypatch.setattr(cluster, "missing", lambda: "slurmd: not found")

    assert 1 == cluster.main([])

    told = capsys.readouterr().err
    assert told.startswith("cluster: slurmd: not found\nNothing was run.")
    assert "torchrun" in told
    assert "--nproc_per_node 4" in told
    assert "-m pytest katas/lecture13 --solutions -q" in told


@pytest.mark.usefixtures("torchx")
def test_a_cluster_that_does_not_come_up_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A container may not let the daemons run."""
    monkeypatch.setattr(cluster, "missing", lambda: None)
    monkeypatch.setattr(slurm, "PROGRAMS", ("a-daemon-of-another-world",))

    assert 1 == cluster.main([])

    told = capsys.readouterr().err
    assert told.startswith("cluster: a-daemon-of-another-world: not found")
    assert "Nothing was run." in told


def test_without_torchx_the_group_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command fails."""
    monkeypatch.setitem(sys.modules, "torchx.runner", None)

    assert 1 == cluster.main([])
    assert f"cluster: {cluster.NO_TORCHX}\n" == capsys.readouterr().err
