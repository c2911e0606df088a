"""Commands of git, in real repositories."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from plugins.tools.git import GitEntry
from plugins.tools.git import GitError
from plugins.tools.git import Repo
from plugins.tools.git import parse_listing
from tests.support.fork import SETTINGS
from tests.support.fork import git


if TYPE_CHECKING:
    from pathlib import Path


TEXT = "one\ntwo"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """A repository with one commit of two files, one of them executable."""
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init")
    (root / "text").write_text(TEXT)
    (root / "folder").mkdir()
    (root / "folder/größe").write_text("")
    (root / "folder/größe").chmod(0o755)
    git(root, "add", "-A")
    git(root, "commit", "-m", "Begin")
    return Repo(root)


def test_a_failure_quotes_git(repo: Repo) -> None:
    """With the command, and the status where git prints nothing."""
    with pytest.raises(GitError, match=r"^git cat-file: fatal: "):
        repo.run("cat-file", "blob", "nothing")
    with pytest.raises(GitError, match=r"^git diff: status 1$"):
        repo.run("diff", "--no-index", "--quiet", "text", "folder/größe")


def test_another_repository_in_the_environment_is_ignored(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook of git runs with the variables of its own repository."""
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))

    assert {"text", "folder/größe"} == set(repo.staged())


def test_a_line_is_empty_if_the_command_fails(repo: Repo) -> None:
    """A name that stands for no commit is the common case."""
    head = git(repo.root, "rev-parse", "HEAD")

    assert head == repo.commit("HEAD") == repo.line("rev-parse", "HEAD")
    assert "" == repo.commit("nothing") == repo.line("nothing")


def test_a_linked_working_tree_has_its_own_files(repo: Repo, tmp_path: Path) -> None:
    """Git keeps them in the first one's folder."""
    linked = tmp_path / "linked"
    git(repo.root, "worktree", "add", str(linked))

    assert repo.root / ".git/index" == repo.git_path("index")
    assert repo.root / ".git/worktrees/linked/index" == Repo(linked).git_path("index")


def test_files_of_a_commit_and_of_the_index(repo: Repo) -> None:
    """By path, with mode and blob; the index may be ahead of the commit."""
    git(repo.root, "rm", "--cached", "text")
    text, empty = repo.add_blob(TEXT.encode()), repo.add_blob(b"")

    assert {
        "text": GitEntry("100644", text),
        "folder/größe": GitEntry("100755", empty),
    } == repo.tree("HEAD")
    assert {"folder/größe": GitEntry("100755", empty)} == repo.staged()


def test_contents(repo: Repo) -> None:
    """Of one file in a commit, or of many blobs at once, whatever bytes they hold."""
    data = bytes(range(256))
    names = [repo.add_blob(each) for each in (data, b"", TEXT.encode())]

    assert TEXT.encode() == repo.blob("HEAD", "text")
    assert repo.blob("HEAD", "nothing") is None
    assert dict(zip(names, (data, b"", TEXT.encode()), strict=True)) == repo.blobs(
        [*names, names[0]]
    )
    assert {} == repo.blobs([])


def test_an_index_is_changed(repo: Repo, tmp_path: Path) -> None:
    """Also one in another file: the repository's own stays as it is."""
    entry = GitEntry("100644", repo.add_blob(b"new"))
    index = tmp_path / "index"
    repo.run("read-tree", "HEAD", index=index)
    repo.change_index(index, {"text": None, "new": entry})

    listed = repo.run("ls-files", "--stage", "-z", index=index)
    assert {"new", "folder/größe"} == set(parse_listing(listed, blob=1))
    assert entry == parse_listing(listed, blob=1)["new"]
    assert {"text", "folder/größe"} == set(repo.staged())


def test_a_path_may_hold_any_byte() -> None:
    """A tab, a line break, and what is no UTF-8: the file is found on the disk by this name."""
    listing = b"100644 blob 0123\ta\tb\n\x00100755 blob 4567\t\xff\0"

    assert {
        "a\tb\n": GitEntry("100644", "0123"),
        os.fsdecode(b"\xff"): GitEntry("100755", "4567"),
    } == parse_listing(listing, blob=2)
