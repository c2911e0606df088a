"""Creates tinytorch, a miniature framework, with a history, an upstream, a fork and a clone.

The files of ``upstream/`` are its newest tree; a name's leading dot is written ``dot-``.
`history` returns the commits that led there; `build` creates three repositories in a folder: the
bare ``upstream.git`` and ``fork.git``, and ``clone``, with these two as its remotes. An answer gets
a `Run`, and a test reads a `Clone`: history, trees, messages, and whether each commit passes CI.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import site
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import NamedTuple


UPSTREAM = Path(__file__).parent / "upstream"
START = 1_750_000_000
SECONDS = 30
# Keeps the objects in one file, which is faster to copy than a hundred files.
PACKED = ("-c", "fastimport.unpackLimit=1")
ADA, GRACE, YOU = (f"{name} <{name.lower()}@example.org>" for name in ("Ada", "Grace", "You"))
# Files that grow with the operators, and the separator between two entries.
GAPS = {
    "tinytorch/native_functions.yaml": "\n\n",
    "tinytorch/derivatives.yaml": "\n\n",
    "tinytorch/kernels.py": "\n\n\n",
    "test/opinfo.py": "\n\n",
    "docs/ops.md": "\n\n",
}
OPERATOR = re.compile(r'(?:- func: |- name: |def |op_db\.append\(OpInfo\("|## )(\w+?)(?:_|\b)')
OPERATORS = ("add", "neg", "mul", "relu", "exp")

Tree = dict[str, str]


class Commit(NamedTuple):
    """A commit: its message and all its files."""

    message: str
    tree: Tree
    author: str = ADA


class Branch(NamedTuple):
    """A branch, its commits above `base`, and the repositories that have it.

    `base` is an index into upstream's commits (-1 is the newest) or the name of an earlier branch.
    """

    name: str
    commits: tuple[Commit, ...]
    base: int | str = -1
    where: tuple[str, ...] = ("clone",)


class GitError(Exception):
    """A command of an answer failed; the message contains its output."""


def newest() -> Tree:
    """Return the newest tree of tinytorch."""
    return {
        "/".join(re.sub(r"^dot-", ".", part) for part in path.relative_to(UPSTREAM).parts): (
            path.read_text("utf-8")
        )
        for path in sorted(UPSTREAM.rglob("*"))
        if path.is_file() and path.suffix != ".pyc" and path.name != "ops.py"
    }


def grown(tree: Tree, operators: tuple[str, ...]) -> Tree:
    """Return a tree that has only these operators."""
    tree = dict(tree)
    for path, gap in GAPS.items():
        parts = tree[path].rstrip("\n").split(gap)
        kept = []
        keep = True
        for part in parts:
            found = OPERATOR.match(part)
            if found and found[1] in OPERATORS:
                keep = found[1] in operators
            elif path != "docs/ops.md":  # in docs, text after a heading belongs to the heading
                keep = True
            if keep:
                kept.append(part)
        tree[path] = gap.join(kept) + "\n"
    plural = "s" if len(operators) != 1 else ""
    tree["docs/ops.md"] = tree["docs/ops.md"].replace(
        f"{len(OPERATORS)} operators", f"{len(operators)} operator{plural}"
    )
    tree["README.md"] = tree["README.md"].replace("five operators", "operators")
    return tree


def history() -> list[Commit]:
    """Return the dozen commits of upstream's main, oldest first."""
    tree = newest()
    late = {
        "ci": (".github/workflows/ci.yaml",),
        "owners": (".github/CODEOWNERS",),
        "labels": (".github/labels.yaml",),
        "contributing": ("CONTRIBUTING.md",),
        "template": (".github/PULL_REQUEST_TEMPLATE.md",),
    }
    there: set[str] = set()

    def state(count: int, *groups: str) -> Tree:
        there.update(groups)
        absent = {path for group, paths in late.items() if group not in there for path in paths}
        full = grown(tree, OPERATORS[:count])
        return {path: text for path, text in full.items() if path not in absent}

    first = {path: tree[path] for path in (".gitignore",)}
    first["README.md"] = "# tinytorch\n"
    steps = [
        ("Begin with a README", first, ADA),
        ("Generate operators from native_functions.yaml", state(1), ADA),
        ("Add neg", state(2), GRACE),
        ("Run the tests in CI", state(2, "ci"), GRACE),
        ("Add mul", state(3), ADA),
        ("Say who reviews what", state(3, "owners"), GRACE),
        ("Label pull requests by their paths", state(3, "labels"), GRACE),
        ("Add relu", state(4), ADA),
        ("Explain how to contribute", state(4, "contributing"), ADA),
        ("Ask for the issue in pull requests", state(4, "template"), GRACE),
        ("Add exp", state(5), ADA),
        ("Count the operators in the README", tree, GRACE),
    ]
    return [Commit(message, files, author) for message, files, author in steps]


def edit(tree: Tree, path: str, old: str, new: str) -> Tree:
    """Replace a text that occurs once, and return the tree; "" means the end of the file."""
    text = tree.get(path, "")
    if not old:
        return {**tree, path: text + new}
    if text.count(old) != 1:
        raise ValueError(f"{old!r} occurs in {path} {text.count(old)} times, expected once")
    return {**tree, path: text.replace(old, new)}


def with_operator(
    tree: Tree,
    name: str,
    *,
    kernel: str,
    formula: str,
    reference: str,
    doc: str,
    leave: tuple[str, ...] = (),
) -> Tree:
    """Return the tree with another one-input operator, except in the files in `leave`."""
    count = len(re.findall(r"^## ", tree["docs/ops.md"], re.MULTILINE))
    added = {
        "tinytorch/native_functions.yaml": (
            f"\n- func: {name}(Tensor self) -> Tensor\n"
            f"  dispatch:\n    CPU: {name}_cpu\n    Meta: {name}_meta\n"
        ),
        "tinytorch/derivatives.yaml": (
            f"\n- name: {name}(Tensor self) -> Tensor\n  self: {formula}\n"
        ),
        "tinytorch/kernels.py": (
            f'\n\ndef {name}_meta(self: int) -> int:\n    """Return the size of {name}."""\n'
            f"    return self\n"
            f'\n\ndef {name}_cpu(self: list[float]) -> list[float]:\n    """{doc}"""\n'
            f"    return {kernel}\n"
        ),
        "test/opinfo.py": (
            f'\nop_db.append(OpInfo("{name}", {reference}, (([1.5, -2.0, 0.25],), ([],))))\n'
        ),
        "docs/ops.md": f"\n## {name}\n\n{doc}\n",
    }
    for path, text in added.items():
        if path not in leave:
            tree = edit(tree, path, "", text)
    if "docs/ops.md" not in leave:
        tree = edit(tree, "docs/ops.md", f"has {count} operators", f"has {count + 1} operators")
    return tree


def with_sigmoid(tree: Tree, leave: tuple[str, ...] = ()) -> Tree:
    """Return the tree with an operator sigmoid, whose kernel overflows far below zero."""
    return with_operator(
        tree,
        "sigmoid",
        kernel="[1 / (1 + math.exp(-x)) for x in self]",
        formula='"[g * y * (1 - y) for g, y in zip(grad, sigmoid(self))]"',
        reference="lambda a: 0.5 + 0.5 * math.tanh(a / 2)",
        doc="Returns 1 / (1 + exp(-x)) for each element x.",
        leave=leave,
    )


def with_tanh(tree: Tree) -> Tree:
    """Return the tree with an operator tanh."""
    return with_operator(
        tree,
        "tanh",
        kernel="[math.tanh(x) for x in self]",
        formula='"[g * (1 - y * y) for g, y in zip(grad, tanh(self))]"',
        reference="math.tanh",
        doc="Returns the hyperbolic tangent of each element.",
    )


def environment(home: Path, clock: int = 0) -> dict[str, str]:
    """Return an environment in which git finds only the given settings, hooks and names.

    Commands that write settings or temporary files, such as ``git config --global``, use `home`.
    """
    when = f"{START + 86_400 * 30 + 60 * clock} +0000"
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        # With this HOME, Python would not find packages installed by the user.
        "PYTHONUSERBASE": site.getuserbase(),
        "LC_ALL": "C",
        "TMPDIR": str(home),
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GIT_CONFIG_SYSTEM": str(home / ".gitconfig-system"),
        "GIT_ATTR_NOSYSTEM": "1",
        # Git searches the folder that it starts in, and those above it that are below one of these:
        # the tests may run in a folder of another repository.
        "GIT_CEILING_DIRECTORIES": f"{home}{os.pathsep}{home.parent}",
        # Git 3 finds a bare repository only with this setting.
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.bareRepository",
        "GIT_CONFIG_VALUE_0": "all",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": ":",
        "GIT_PAGER": "cat",
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_DATE": when,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = {bare}
\tlogallrefupdates = true
\tfsync = none
[sequence]
\teditor = :
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
REMOTES = """[user]
\tname = You
\temail = you@example.org
[remote "upstream"]
\turl = ../upstream.git
\tfetch = +refs/heads/*:refs/remotes/upstream/*
[remote "origin"]
\turl = ../fork.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
"""


class _Stream:
    """Commits in the format of ``git fast-import``; each keeps its own reference."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def add(self, commits: tuple[Commit, ...], parent: str) -> list[str]:
        """Write commits, one above the other, and return their marks."""
        marks = []
        for commit in commits:
            self.count += 1
            when = f"{START + 3600 * self.count} +0000"
            message = commit.message.rstrip("\n") + "\n"
            self.lines += [
                f"commit refs/made/{self.count}",
                f"mark :{self.count}",
                f"author {commit.author} {when}",
                f"committer {commit.author} {when}",
                f"data {len(message.encode())}\n{message}",
            ]
            self.lines += [f"from {parent}"] if parent else []
            self.lines += ["deleteall"]
            for path, text in commit.tree.items():
                self.lines += [f"M 100644 inline {path}\ndata {len(text.encode())}\n{text}"]
            parent = f":{self.count}"
            marks.append(parent)
        return marks

    def write(self, bare: Path) -> dict[str, str]:
        """Make the commits in a bare repository and return their names by their marks."""
        marks = bare / "marks"
        subprocess.run(  # noqa: S603 - git
            ["git", *PACKED, "fast-import", "--quiet", "--done", f"--export-marks={marks}"],  # noqa: S607
            input="\n".join([*self.lines, "done\n"]).encode(),
            cwd=bare,
            env=environment(bare.parent),
            check=True,
            capture_output=True,
            timeout=SECONDS,
        )
        names = dict(line.split() for line in marks.read_text("utf-8").splitlines())
        marks.unlink()
        shutil.rmtree(bare / "refs")
        (bare / "refs").mkdir()
        return names


def build(
    folder: Path,
    *branches: Branch,
    main: tuple[Commit, ...] = (),
    seen: int | None = None,
    checkout: str = "main",
    trunk: tuple[Commit, ...] = (),
) -> Clone:
    """Create the three repositories in `folder` and return the clone, in two processes.

    Besides ``main`` there are `branches`; the clone knows one in "fork" as ``origin/name``. `main`
    holds upstream's commits above `history`; the fork and the clone know the first `seen` of its
    commits, by default all. `checkout` is the branch checked out in the clone. `trunk` replaces
    `history`, for a project other than tinytorch.
    """
    stream = _Stream()
    made = stream.add((*(trunk or history()), *main), "")
    heads: dict[str, str] = {}
    for branch in branches:
        base = heads[branch.base] if isinstance(branch.base, str) else made[branch.base]
        heads[branch.name] = stream.add(branch.commits, base)[-1]
    upstream, fork, clone = (folder / name for name in ("upstream.git", "fork.git", "clone"))
    _make_bare(upstream)
    names = stream.write(upstream)
    shutil.copytree(upstream, fork)
    shutil.copytree(upstream, clone / ".git")
    old = made[len(made) - 1 if seen is None else seen - 1]
    refs = {
        upstream: {"refs/heads/main": made[-1]},
        fork: {"refs/heads/main": old},
        clone / ".git": {
            f"refs/{each}/main": old for each in ("heads", "remotes/upstream", "remotes/origin")
        },
    }
    for branch in branches:
        head = heads[branch.name]
        # A branch may be called main if a fork has diverged.
        if "clone" in branch.where:
            refs[clone / ".git"][f"refs/heads/{branch.name}"] = head
        if "fork" in branch.where:
            refs[fork][f"refs/heads/{branch.name}"] = head
            refs[clone / ".git"][f"refs/remotes/origin/{branch.name}"] = head
    before: dict[Path, dict[str, str]] = {}
    for place, each in refs.items():
        found = {ref: names[mark] for ref, mark in sorted(each.items())}
        lines = [f"{name} {ref}\n" for ref, name in found.items()]
        (place / "packed-refs").write_text("".join(lines), "utf-8")
        before[clone if place.name == ".git" else place] = found
    (clone / ".git/config").write_text(CONFIG.format(bare="false") + REMOTES, "utf-8")
    (clone / ".git/HEAD").write_text(f"ref: refs/heads/{checkout}\n", "utf-8")
    ready = Clone(clone, before)
    ready.git("reset", "--hard", "--quiet")
    return ready


def _make_bare(folder: Path) -> None:
    """Create an empty repository without a process: git needs only these files."""
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (folder / "config").write_text(CONFIG.format(bare="true"), "utf-8")


class Run:
    """Runs one command line at a time in the clone, without a shell: `git` or `python`.

    ``run("git status")`` returns the command's output. A failing command raises `GitError`,
    unless ``check=False``. `typed` is its input, such as "y" for ``git add -p``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = 0

    def __call__(self, line: str, typed: str = "", *, check: bool = True) -> str:
        """Run a command line such as ``git switch -c fix``; quotes are those of a shell."""
        __tracebackhide__ = True
        program, *arguments = shlex.split(line)
        if program not in {"git", "python"}:
            raise GitError(f"{line!r}: only git and python run here")
        self.clock += 1
        program = sys.executable if program == "python" else program
        done = subprocess.run(  # noqa: S603 - in a repository that the test has made
            [program, *arguments],
            cwd=self.folder,
            env=_with_python(environment(self.folder.parent, self.clock)),
            input=typed,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
        if check and done.returncode:
            raise GitError(f"$ {line}\n{done.stdout.strip()}\n(status {done.returncode})")
        return done.stdout

    def read(self, path: str) -> str:
        """Return the text of a file in the clone's working tree."""
        return (self.folder / path).read_text("utf-8")

    def write(self, path: str, text: str) -> None:
        """Write a file in the clone's working tree."""
        (self.folder / path).write_text(text, "utf-8")

    def replace(self, path: str, old: str, new: str) -> None:
        """Replace a text that occurs once in a file."""
        text = self.read(path)
        if text.count(old) != 1:
            raise GitError(f"{path} has {old!r} {text.count(old)} times, expected once")
        self.write(path, text.replace(old, new))


def _with_python(variables: dict[str, str]) -> dict[str, str]:
    """Let ``git rebase --exec "python ..."`` find the tests' Python first."""
    folder = str(Path(sys.executable).parent)
    return {**variables, "PATH": f"{folder}{os.pathsep}{variables['PATH']}"}


@dataclass(frozen=True)
class Logged:
    """A commit as `Clone.log` reads it."""

    sha: str
    tree: str
    author: str
    date: str
    parents: tuple[str, ...]
    subject: str
    body: str

    def __str__(self) -> str:
        return f"{self.sha[:7]} {self.subject}"


@dataclass(frozen=True)
class Clone:
    """A repository as a test reads it."""

    folder: Path
    made: dict[Path, dict[str, str]] = field(default_factory=dict, compare=False)

    @property
    def before(self) -> dict[str, str]:
        """The value of `refs` before the answer."""
        return self.made[self.folder]

    @property
    def run(self) -> Run:
        """The `Run` that an answer gets."""
        return Run(self.folder)

    @property
    def upstream(self) -> Clone:
        """The bare upstream."""
        return Clone(self.folder.parent / "upstream.git", self.made)

    @property
    def fork(self) -> Clone:
        """The bare fork."""
        return Clone(self.folder.parent / "fork.git", self.made)

    def git(self, *arguments: str) -> str:
        """Run git for the test, and return its output without the last newline."""
        done = subprocess.run(  # noqa: S603 - git
            ["git", *arguments],  # noqa: S607 - wherever it is installed
            cwd=self.folder,
            env=environment(self.folder.parent),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert not done.returncode, f"git {' '.join(arguments)}: {done.stderr.strip()}"
        return done.stdout.removesuffix("\n")

    def refs(self) -> dict[str, str]:
        """Return the commit of each reference."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split() for line in lines)

    def log(self, revisions: str) -> list[Logged]:
        """Return commits, oldest first: ``log("upstream/main..HEAD")``."""
        form = "%H%x00%T%x00%an <%ae>%x00%ad%x00%P%x00%s%x00%b%x01"
        out = self.git("log", "--topo-order", "--reverse", f"--format={form}", revisions)
        found = []
        for entry in out.split("\x01")[:-1]:
            sha, tree, author, date, parents, subject, body = entry.lstrip("\n").split("\x00")
            found.append(
                Logged(sha, tree, author, date, (*parents.split(),), subject, body.strip("\n"))
            )
        return found

    def changed(self, commit: str) -> list[str]:
        """Return the paths that a commit changes."""
        return self.git("show", "--format=", "--name-only", "--no-renames", commit).split()

    def files(self, commit: str) -> list[str]:
        """Return the paths in a commit."""
        return self.git("ls-tree", "-r", "--name-only", commit).split()

    def show(self, commit: str, path: str) -> str:
        """Return a file of a commit."""
        return self.git("show", f"{commit}:{path}") + "\n"

    def status(self) -> str:
        """Return the differences between commit, index and working tree."""
        return self.git("status", "--porcelain")

    def busy(self) -> str:
        """Return the unfinished operation, a rebase or a merge, or "" if there is none."""
        names = {
            "rebase-merge": "a rebase",
            "rebase-apply": "a rebase",
            "MERGE_HEAD": "a merge",
            "CHERRY_PICK_HEAD": "a cherry-pick",
        }
        there = [what for name, what in names.items() if (self.folder / ".git" / name).exists()]
        return " and ".join(there)

    def ci(self, commit: str) -> str:
        """Run the tests of a commit; return "" if they pass, otherwise their output."""
        tree = self.git("rev-parse", f"{commit}^{{tree}}")
        return _ci(self.folder, tree)


@cache
def _ci(folder: Path, tree: str) -> str:
    """Build and test a tree in its own folder."""
    archive = subprocess.run(  # noqa: S603 - git
        ["git", "archive", "--format=zip", tree],  # noqa: S607 - wherever it is installed
        cwd=folder,
        env=environment(folder.parent),
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="ci-") as scratch:
        with zipfile.ZipFile(io.BytesIO(archive.stdout)) as files:
            files.extractall(scratch)
        done = subprocess.run(
            [sys.executable, "-I", "-S", "test/run.py"],
            cwd=scratch,
            env=environment(folder.parent),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        lines = done.stdout.strip().splitlines()
    return "" if not done.returncode else "\n".join(lines[-4:])


# Words that are not imperatives, and imperatives in spite of their ending.
NO_VERB = re.compile(
    r"an?|the|th(?:at|ere|ese|is)|it|its|is|was|we|our|i|for|in|now|when|with|some"
    r"|docs?|documentation|operators?|relu|wip"
)
VERB = re.compile(r"embed|shed|.*eed|[^aeiouy]*ing|.*[aisu]s")


def not_an_order(subject: str) -> bool:
    """Return whether a subject begins with "Added", "Adds" or "The" instead of "Add"."""
    first = subject.split(maxsplit=1)[0].lower().rstrip(":,")
    ends = first.endswith(("ed", "ing", "s")) and not VERB.fullmatch(first)
    return bool(ends or NO_VERB.fullmatch(first))
