"""Tests of k13_commands: each template is filled in as TorchX does for its requests."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from string import Template
from unittest.mock import patch

import pytest

from katas.lecture08 import k13_commands as kata
from katas.lecture08.k13_commands import APPS
from katas.lecture08.k13_commands import Role
from plugins.kit import forbids


needs_torchx = pytest.mark.backend("torchx")
RULES = {
    "replicas": "a role is run once for each replica, and they are counted from 0",
    "roles": "each role counts its own replicas, and the roles stand in the order of the app",
    "image": "which fields of a role are templates? Read the warning in the docstring of `macros`",
    "address": "this macro gives the name of a variable, not what the variable holds",
    "dollars": "the rules are those of Python's string.Template, and no shell comes afterwards",
}


def predicted() -> dict[str, list[str]]:
    """Return your lines, computed where neither torch nor TorchX can be imported."""
    __tracebackhide__ = True
    names = {"torchx", *(name for name in sys.modules if name.startswith("torchx."))}
    with patch.dict(sys.modules, dict.fromkeys(names)), forbids(kata) as fresh:
        # As text: a subclass of str may be equal to anything.
        try:
            first, second = (json.dumps(fresh.commands()) for _ in range(2))
        except ModuleNotFoundError as error:
            raise AssertionError(f"yours imports {error.name}: work it out on paper") from None
    assert second == first, f"called again, your function returns {second}, expected {first}"
    lines: dict[str, list[str]] = json.loads(first)
    return lines


def filled_in(role: Role, replica: int) -> str:
    """Return the command line of a replica: of a role's fields, only the arguments are templates.

    Macros that a scheduler does not know stay as they are.
    """
    known = {"img_root": "/app", "replica_id": replica, "rank0_env": "TORCHX_RANK0_HOST"}
    return " ".join([role.entrypoint, *(Template(arg).safe_substitute(known) for arg in role.args)])


def requested(name: str, folder: Path) -> list[str]:
    """Return the command lines in TorchX's request to its local scheduler."""
    from torchx import specs  # noqa: PLC0415 - may be missing
    from torchx.runner import get_runner  # noqa: PLC0415 - may be missing

    roles = [
        specs.Role(
            name=role.name,
            image="app",
            entrypoint=role.entrypoint,
            args=list(role.args),
            num_replicas=role.num_replicas,
        )
        for role in APPS[name]
    ]
    with get_runner() as runner:
        info = runner.dryrun(specs.AppDef(name, roles), "local_cwd", {"log_dir": str(folder)})
    replicas = [each for role in info.request.role_params.values() for each in role]
    # The image of this scheduler is the current folder.
    return [" ".join(each.args).replace(str(Path.cwd()), "/app") for each in replicas]


def test_every_app_is_there() -> None:
    """Each app has its lines, worked out on paper: neither torch nor TorchX can be imported."""
    yours = predicted()
    assert set(yours) == set(APPS), f"yours has {sorted(yours)}, expected {sorted(APPS)}"
    strange = [line for each in yours.values() for line in each if line != " ".join(line.split())]
    assert not strange, f"yours {strange}: expected words separated by one space"


@pytest.mark.parametrize("name", APPS)
def test_app(name: str) -> None:
    """Lines are checked with string.Template, which TorchX uses too."""
    yours = predicted()[name]
    right = [filled_in(role, n) for role in APPS[name] for n in range(role.num_replicas)]

    assert len(yours) == len(right), (
        f"{name}: yours has {len(yours)} commands, TorchX a different number. {RULES[name]}"
    )
    wrong = [line for line, expected in zip(yours, right, strict=True) if line != expected]
    assert not wrong, f"{name}: yours {wrong}, which is not what TorchX runs. {RULES[name]}"


@needs_torchx
@pytest.mark.parametrize("name", APPS)
def test_torchx_runs_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TorchX makes the request, and submits nothing."""
    yours = predicted()[name]
    monkeypatch.chdir(tmp_path)
    assert yours == requested(name, tmp_path), (
        f"{name}: yours {yours}; TorchX runs different commands"
    )
