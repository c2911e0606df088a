"""Lecture 18 k14 on a cluster: the same night, and its scheduler is the only change."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import module_from_spec
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins import ROOT
from tests.support.cluster import NO_TORCHX
from tests.support.slurm import program
from tests.support.slurm import slurm


if TYPE_CHECKING:
    from collections.abc import Iterator


# TorchX asks sacct for the state of a job, and that needs a database, which the small cluster does
# not have. squeue knows the same for five minutes.
SACCT = """\
#!/bin/sh
echo "JobID|JobName|State"
{squeue} --noheader --states=all --format='%i|%j|%T' --jobs "$3" | sed s/COMPLETING/RUNNING/
"""
FIT = """
import json
import sys

import torch
from torch import distributed as dist

dist.init_process_group("gloo")
total = torch.tensor(float(dist.get_rank() + 1))
dist.all_reduce(total)
if dist.get_rank() == 0:
    with open(sys.argv[1], "w") as file:
        json.dump([total.item(), dist.get_world_size()], file)
dist.destroy_process_group()
"""


@pytest.fixture
def kata() -> Iterator[Any]:
    """Return the solution of the kata."""
    pytest.importorskip("torchx", reason=NO_TORCHX)
    spec = spec_from_file_location("nightly", ROOT / "katas/lecture18/solutions/k14_nightly.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def judge(*words: str) -> Any:
    """Return an app that runs this Python on one line of it."""
    from torchx.specs import AppDef  # noqa: PLC0415 - optional
    from torchx.specs import Role  # noqa: PLC0415 - optional

    role = Role("judge", image="", entrypoint=sys.executable, args=[*words])
    return AppDef("judge", roles=[role])


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.tool("slurm")
def test_a_night_on_a_cluster(
    kata: Any, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two ranks train and one job judges; a night that fails has its last words, and no model."""
    cluster, work = tmp_path_factory.mktemp("c"), tmp_path_factory.mktemp("night")
    monkeypatch.chdir(work)
    for name, text in (
        ("fit.py", FIT),
        ("judge.py", 'open("loss", "w").write("0.5")'),
        ("crash.py", 'raise SystemExit("no loss tonight")'),
        ("sacct", SACCT.format(squeue=program("squeue"))),
    ):
        (work / name).write_text(text)
    (work / "sacct").chmod(0o755)
    path = [str(work), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    registry = kata.Registry()
    train = kata.Stage(kata.trainer("fit.py", "model.json"), work / "model.json")

    with slurm(cluster) as environment:
        monkeypatch.setenv("SLURM_CONF", environment["SLURM_CONF"])
        won = kata.nightly(registry, [train, kata.Stage(judge("judge.py"), work / "loss")], "slurm")
        with pytest.raises(kata.StageError, match="no loss tonight"):
            kata.nightly(registry, [train, kata.Stage(judge("crash.py"), work / "loss")], "slurm")

    assert won
    assert {"champion": 1} == registry.aliases
    assert [[3.0, 2]] == [json.loads(model) for model in registry.models.values()]
    assert {1: 0.5} == registry.losses
