"""Tests of k01_dry_run: a request that TorchX made, and a new request if TorchX is installed."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest
from expecttest import assert_expected_inline

from katas.lecture18 import k01_dry_run as kata
from katas.lecture18.k01_dry_run import Replica
from katas.lecture18.k01_dry_run import Request


if TYPE_CHECKING:
    from pathlib import Path


def request(app_id: str = "fit-j9jzscjrwsv5hc", here: str = "/home/me", logs: str = "") -> Request:
    """Return TorchX 0.7's request to its local scheduler for `app`."""
    folder = f"{logs or here + '/logs'}/torchx/{app_id}"

    def replica(role: str, number: int, *args: str, **env: str) -> Replica:
        variables = {
            **env,
            "PATH": here,
            "TORCHX_JOB_ID": f"local_cwd://torchx/{app_id}",
            "TORCHX_RANK0_HOST": "localhost",
            "TORCHELASTIC_ERROR_FILE": f"{folder}/{role}/{number}/error.json",
            "PET_LOG_DIR": f"{folder}/torchelastic/{role}",
        }
        return Replica(["python", *args], variables, here)

    out = f"{here}/{app_id}.pt"
    trainers = [
        replica("trainer", k, "fit.py", "--rank", f"{k}", "--out", out, LR="0.1") for k in range(2)
    ]
    judge = replica("judge", 0, "judge.py", "--title", "a b", out)
    return Request(app_id, folder, {"trainer": trainers, "judge": [judge]})


def test_one_command() -> None:
    """The text has the command's words, and no variables."""
    yours = kata.readable(Request("x-1", "/logs/x-1", {"a": [Replica(["ls", "-l"], {}, "/home")]}))
    assert yours == "a/0: ls -l\n", f"yours {yours!r}, expected 'a/0: ls -l\\n'"


def test_words_are_quoted() -> None:
    """Two words look different from one word with a space, and an empty word is visible."""
    words = ["echo", "a b", "", "$HOME", "it's"]
    yours = kata.readable(Request("x-1", "/logs/x-1", {"a": [Replica(words, {}, "/home")]}))
    right = "a/0: echo 'a b' '' '$HOME' 'it'\"'\"'s'\n"
    assert yours == right, f"yours {yours!r}, expected {right!r}, as shlex.join writes it"


def test_variables() -> None:
    """Values are unchanged, sorted by name: A is before A1, although "=" is after "1"."""
    env = {"B": "", "A1": "x y", "A": "it's $1"}
    yours = kata.readable(Request("x-1", "/logs/x-1", {"a": [Replica(["ls"], env, "/home")]}))
    right = "a/0: ls\n    A=it's $1\n    A1=x y\n    B=\n"
    assert yours == right, (
        f"yours {yours!r}, expected {right!r}: sort the names, not the lines, and quote no value"
    )


def test_wherever_they_occur() -> None:
    """Each text occurs twice in a line; each replica has its own working folder."""
    replicas = [
        Replica(["cp", f"{here}/a", f"{here}/b"], {"TO": "/l/x-1:/l/x-1:x-1 x-1"}, here)
        for here in ("/home", "/root")
    ]
    yours = kata.readable(Request("x-1", "/l/x-1", {"a": replicas}))
    right = "".join(
        f"a/{number}: cp <here>/a <here>/b\n    TO=<logs>:<logs>:<id> <id>\n" for number in range(2)
    )
    assert yours == right, f"each text occurs twice in a line: yours {yours!r}, expected {right!r}"


def test_the_whole_request() -> None:
    """Two roles and three replicas; an id in words, folders and variables."""
    assert_expected_inline(
        kata.readable(request()),
        """\
trainer/0: python fit.py --rank 0 --out <here>/<id>.pt
    LR=0.1
    PATH=<here>
    PET_LOG_DIR=<logs>/torchelastic/trainer
    TORCHELASTIC_ERROR_FILE=<logs>/trainer/0/error.json
    TORCHX_JOB_ID=local_cwd://torchx/<id>
    TORCHX_RANK0_HOST=localhost
trainer/1: python fit.py --rank 1 --out <here>/<id>.pt
    LR=0.1
    PATH=<here>
    PET_LOG_DIR=<logs>/torchelastic/trainer
    TORCHELASTIC_ERROR_FILE=<logs>/trainer/1/error.json
    TORCHX_JOB_ID=local_cwd://torchx/<id>
    TORCHX_RANK0_HOST=localhost
judge/0: python judge.py --title 'a b' <here>/<id>.pt
    PATH=<here>
    PET_LOG_DIR=<logs>/torchelastic/judge
    TORCHELASTIC_ERROR_FILE=<logs>/judge/0/error.json
    TORCHX_JOB_ID=local_cwd://torchx/<id>
    TORCHX_RANK0_HOST=localhost
""",
    )


@pytest.mark.parametrize(
    ("here", "logs"),
    [("/home/you", ""), ("/home/you", "/var/logs")],
    ids=["logs in the folder", "logs elsewhere"],
)
def test_another_run_is_the_same_text(here: str, logs: str) -> None:
    """Another id, another user and another folder for the logs give the same text."""
    yours, right = kata.readable(request("fit-q0", here, logs)), kata.readable(request())
    assert right == yours, (
        f"in {here}, logs in {logs or here}: yours\n{yours}\nexpected, as for another run\n{right}"
    )


def test_the_request_stays_as_it_is() -> None:
    """Leave the request unchanged: somebody may still want to submit it."""
    asked = request()
    before = copy.deepcopy(asked)
    texts = kata.readable(asked), kata.readable(asked)
    assert before == asked, "your code modified the request"
    assert texts[0] == texts[1], f"called again, your code returns a different text: {texts[1]}"
    order = [*before.role_params["judge"][0].env] == [*asked.role_params["judge"][0].env]
    assert order, "your code sorts the variables in the request; sort their names for the text only"


@pytest.mark.backend("torchx")
def test_torchx_asks_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real dry run of the app above gives the same text, and starts nothing."""
    from torchx.specs import AppDef  # noqa: PLC0415 - may be missing
    from torchx.specs import Role  # noqa: PLC0415 - may be missing

    monkeypatch.chdir(tmp_path)
    out = ["${img_root}/${app_id}.pt"]
    args = ["fit.py", "--rank", "${replica_id}", "--out", *out]
    trainer = Role(
        "trainer", image="", entrypoint="python", args=args, env={"LR": "0.1"}, num_replicas=2
    )
    judge = Role("judge", image="", entrypoint="python", args=["judge.py", "--title", "a b", *out])
    asked = kata.dry_run(AppDef("fit", [trainer, judge]), str(tmp_path / "logs"))
    yours, right = kata.readable(asked), kata.readable(request())
    assert right == yours, (
        f"from TorchX's request your code writes\n{yours}\nfrom the given request\n{right}"
    )
    made = [*tmp_path.iterdir()]
    assert not made, f"a dry run has created {made}, expected nothing"
