"""The git of lecture 28: no setting of a learner reaches it, and it reaches nothing of theirs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from plugins import ROOT


# Answers each kata with git in the folder, and prints the references of all repositories.
PLAY = """
import importlib, sys
from pathlib import Path

for name, maker in (
    ("k01_commit", "answered"),
    ("k02_rebase", "rebased"),
    ("k03_stack", "stacked"),
    ("k03_stack", "restacked"),
    ("k04_conflict", "rebased"),
    ("k12_pull_request", "opened"),
):
    module = importlib.import_module(f"katas.lecture28.test_{name}")
    clone = getattr(module, maker)(Path(sys.argv[1]) / name / maker)
    for each in (clone, clone.upstream, clone.fork):
        for reference, commit in each.refs().items():
            print(name, maker, each.folder.name, reference, commit)
"""
# Ends the process of the test with a rebase on its way: between two commands, or inside of one.
KILLED = """
import os, sys
from pathlib import Path
from katas.lecture28 import test_k04_conflict as module


def between(run):
    run("git rebase upstream/main", check=False)
    os.kill(os.getpid(), 9)


def inside(run):
    code = f"import os; os.kill({os.getpid()}, 9)"
    run(f'git rebase HEAD~1 --exec "python -c \\'{code}\\'"')


module.answer = globals()[sys.argv[2]]
module.rebased(Path(sys.argv[1]))
"""
APPLIED = """
import sys
from pathlib import Path
from katas.lecture28.test_k11_review import CI, applied

print((applied(Path(sys.argv[1]), 4, []) / CI).read_text("utf-8"))
"""
SETTINGS = """
import sys
from pathlib import Path
from katas.lecture28.repository import build

folder = Path(sys.argv[1])
run = build(folder).run
run("git config --global user.name Someone")
run("git config --system user.name Everyone")
print(run("git config --global user.name"), *sorted(each.name for each in folder.iterdir()))
"""
CONFIG = """
[user]
    name = A Learner
    email = learner@example.com
    signingkey = 0123456789ABCDEF
[commit]
    gpgsign = true
    template = {home}/missing
    cleanup = verbatim
[tag]
    gpgsign = true
[gpg]
    program = {home}/missing
[core]
    hooksPath = {home}/hooks
    editor = false
    autocrlf = true
    excludesFile = {home}/everything
    attributesFile = {home}/attributes
    abbrev = 4
    quotePath = false
    fsmonitor = {home}/hooks/pre-commit
[sequence]
    editor = false
[init]
    defaultBranch = trunk
    templateDir = {home}/template
[rebase]
    autosquash = true
    autostash = true
    updateRefs = true
    instructionFormat = %an
    abbreviateCommands = true
[merge]
    ff = only
    conflictStyle = diff3
[pull]
    rebase = true
[push]
    default = nothing
    gpgSign = true
[diff]
    noprefix = true
    external = false
[color]
    ui = always
[log]
    showSignature = true
    date = relative
[status]
    short = true
    branch = true
[status]
    showUntrackedFiles = no
[fetch]
    prune = true
[i18n]
    commitEncoding = latin1
[alias]
    commit = !false
    rebase = !false
[url "https://nowhere.invalid/"]
    insteadOf = ../
    pushInsteadOf = ../
"""
HOOKS = ("pre-commit", "commit-msg", "pre-rebase", "post-checkout", "pre-push", "post-rewrite")


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a learner who has set nothing."""
    home.mkdir()
    there = {name: os.environ[name] for name in ("PATH", "VIRTUAL_ENV") if name in os.environ}
    return {
        **there,
        "HOME": str(home),
        "KATAS_SOLUTIONS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(ROOT),
    }


def hostile(home: Path) -> dict[str, str]:
    """Return the environment of a learner whose settings and variables are all in the way."""
    there = environment(home)
    for folder in ("hooks", "template/hooks", ".config/git", "xdg/git"):
        (home / folder).mkdir(parents=True)
    for folder in ("hooks", "template/hooks"):
        for name in HOOKS:
            (home / folder / name).write_text("#!/bin/sh\nexit 1\n")
            (home / folder / name).chmod(0o755)
    (home / "everything").write_text("*\n")
    (home / "attributes").write_text("* text eol=crlf\n")
    for name in (".gitconfig", ".config/git/config", "xdg/git/config", "counted", "system"):
        (home / name).write_text(CONFIG.format(home=home))
    for folder in (".config/git", "xdg/git"):
        shutil.copyfile(home / "everything", home / folder / "ignore")
        shutil.copyfile(home / "attributes", home / folder / "attributes")
    return {
        **there,
        "XDG_CONFIG_HOME": str(home / "xdg"),
        "GIT_CONFIG_GLOBAL": str(home / "counted"),
        "GIT_CONFIG_SYSTEM": str(home / "system"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "commit.gpgsign",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_CONFIG_PARAMETERS": "'core.bare'='true'",
        "GIT_DIR": str(home / "nowhere"),
        "GIT_WORK_TREE": str(home),
        "GIT_INDEX_FILE": str(home / "index"),
        "GIT_OBJECT_DIRECTORY": str(home / "objects"),
        "GIT_NAMESPACE": "elsewhere",
        "GIT_TEMPLATE_DIR": str(home / "template"),
        "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z",
        "GIT_AUTHOR_NAME": "Another",
        "GIT_AUTHOR_EMAIL": "another@example.com",
        "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z",
        "GIT_COMMITTER_NAME": "Another",
        "GIT_COMMITTER_EMAIL": "another@example.com",
        "GIT_EDITOR": "false",
        "GIT_SEQUENCE_EDITOR": "false",
        "GIT_MERGE_AUTOEDIT": "no",
        "GIT_EXTERNAL_DIFF": "false",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_DEFAULT_HASH": "sha256",
        "GIT_TRACE": str(home / "trace"),
        "EDITOR": "false",
        "LC_ALL": "C",
        "TZ": "Pacific/Apia",
    }


def python(code: str, *arguments: object, cwd: Path, env: dict[str, str]) -> str:
    """Run code in a process of its own and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout


def git(folder: Path, env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git as the learner does."""
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def files(folder: Path, *but: Path) -> dict[str, bytes]:
    """Return the contents of all files below a folder."""
    return {
        str(path): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(path.is_relative_to(each) for each in but)
    }


def learners(folder: Path, env: dict[str, str]) -> Path:
    """Return a repository of a learner's with the lecture, an edit and a file of their own."""
    repository = folder / "course"
    lecture = repository / "katas/lecture28"
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "katas/lecture28", lecture, ignore=unwanted)
    shutil.copyfile(ROOT / "katas/__init__.py", repository / "katas/__init__.py")
    (repository / ".gitignore").write_text("/tests-write-here/\n")
    you = ("-c", "user.name=A Learner", "-c", "user.email=learner@example.com")
    for line in ("init -q -b main", "add .", "commit -q -m Begin", "branch other"):
        done = git(repository, env, *you, *line.split())
        assert not done.returncode, done.stderr
    (lecture / "k01_commit.py").write_text("# An answer that is not committed.\n")
    (repository / "notes.txt").write_text("mine\n")
    return repository


def test_the_settings_of_a_learner_change_nothing(tmp_path: Path) -> None:
    """The commits are the same, name by name; no hook runs, and nothing of theirs is written."""
    calm = environment(tmp_path / "calm")
    home = tmp_path / "home"
    rough = hostile(home)
    there = files(home)

    expected = python(PLAY, tmp_path / "one", cwd=tmp_path, env=calm)
    found = python(PLAY, tmp_path / "two", cwd=tmp_path, env=rough)

    assert expected == found
    assert 40 < len(found.splitlines())
    assert there == files(home)
    assert [] == list((tmp_path / "calm").iterdir())


def test_these_settings_would_be_in_the_way(tmp_path: Path) -> None:
    """Where they are read, no commit is made: what the test above keeps out is real."""
    calm = environment(tmp_path / "calm")
    rough = hostile(tmp_path / "home")
    rough = {name: value for name, value in rough.items() if not name.startswith("GIT_")}
    repository = learners(tmp_path, calm)

    assert git(repository, rough, "commit", "-q", "-a", "-m", "An answer").returncode


def test_an_answer_that_changes_settings_changes_its_own(tmp_path: Path) -> None:
    """Git replaces the file of settings, which as root would be /dev/null, or the system's."""
    env = environment(tmp_path / "home")
    code = "import sys; from pathlib import Path; from katas.lecture28.repository import *\n"
    code += "print(*(f'{k}={v}' for k, v in environment(Path(sys.argv[1])).items()), sep='\\n')"
    said = python(code, tmp_path / "made", cwd=tmp_path, env=env)
    places = dict(line.split("=", 1) for line in said.splitlines())
    for name in ("HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "TMPDIR"):
        assert Path(places[name]).is_relative_to(tmp_path / "made"), name

    said = python(SETTINGS, tmp_path / "made", cwd=tmp_path, env=env)

    assert ["Someone", ".gitconfig", ".gitconfig-system"] == said.split()[:3]
    assert [] == list((tmp_path / "home").iterdir())


def test_a_folder_in_another_repository(tmp_path: Path) -> None:
    """Git does not take the repository around it for the one that is meant."""
    env = environment(tmp_path / "home")
    repository = learners(tmp_path, env)
    inside = repository / "tests-write-here"
    there = files(repository)

    said = python(APPLIED, inside / "review", cwd=repository, env=env)
    python(PLAY, inside, cwd=repository, env=env)

    assert re.search(r"run\.py \| tail -n 1$", said, re.MULTILINE), said
    assert there == files(repository, inside)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("when", ["between", "inside"])
def test_a_killed_test_leaves_the_learner_a_repository(tmp_path: Path, when: str) -> None:
    """Even where the tests write in a folder of it: not a byte is another, and they run again."""
    env = {**environment(tmp_path / "home"), "PYTHONPATH": "."}
    repository = learners(tmp_path, env)
    inside = repository / "tests-write-here"
    there = files(repository)

    with pytest.raises(subprocess.CalledProcessError) as killed:
        subprocess.run(
            [sys.executable, "-c", KILLED, str(inside / "killed"), when],
            cwd=repository,
            env=env,
            check=True,
        )

    assert -signal.SIGKILL == killed.value.returncode
    assert there == files(repository, inside)
    assert [] == list((tmp_path / "home").iterdir())
    said = git(repository, env, "status", "--porcelain").stdout
    assert [" M katas/lecture28/k01_commit.py", "?? notes.txt"] == said.splitlines()
    assert "main" == git(repository, env, "branch", "--show-current").stdout.strip()
    assert not git(repository, env, "switch", "-q", "other").returncode
    again = "from pathlib import Path; import sys; from katas.lecture28 import test_k04_conflict\n"
    again += "print(test_k04_conflict.rebased(Path(sys.argv[1])).busy())"
    assert not python(again, inside / "again", cwd=repository, env=env).strip()
