"""Plans an update: for each file that upstream changed, what becomes of its three versions.

A file has a version in the working tree, one in the index and one in the last commit. Each is
settled on its own, so that what is not committed stays so.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.reset import content
from plugins.threeway import Outcome
from plugins.threeway import settle


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping

    from plugins.gitrepo import Entry
    from plugins.gitrepo import Repo


# What git calls regular files; links and submodules are not merged.
PLAIN = "100644"
FILES = {PLAIN, "100755"}
CHANGED = ("moved", "merged")


@dataclass(frozen=True)
class Step:
    """A file that upstream changed.

    Attributes
    ----------
    base, theirs
        What upstream had when the fork last took from it, and what it has now.
    found, committed, staged
        What stands in the working tree, in the last commit, and in the index; None: nothing.
    tree, commit, index
        What shall stand there.
    chmod
        Whether upstream has made it executable, or the opposite.
    """

    path: str
    mode: str
    base: bytes | None
    theirs: bytes | None
    found: bytes | None
    committed: bytes | None
    staged: bytes | None
    tree: Outcome
    commit: Outcome
    index: Outcome
    chmod: bool = False

    def changes(self, outcome: Outcome) -> bool:
        """Whether one of the three is to be written."""
        return outcome.word in CHANGED or (self.chmod and outcome.content is not None)


def plan(repo: Repo, base: str, head: str, theirs: str) -> tuple[list[Step], list[str]]:
    """Return what is to be done with each file that upstream changed, and what is no file."""
    trees = [repo.tree(commit) for commit in (base, theirs, head)]
    before, after, _ = trees
    staged = repo.staged()
    paths = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    sources = [*trees, staged]
    texts = repo.blobs(
        source[path].blob
        for path in paths
        for source in sources
        if path in source and source[path].mode in FILES
    )
    odd = [path for path in paths if not plain(path, sources)]
    steps = [a_step(repo, path, sources, texts) for path in paths if path not in odd]
    return steps, odd


def plain(path: str, sources: Iterable[Mapping[str, Entry]]) -> bool:
    """Whether all versions of a path are ordinary files."""
    return all(source[path].mode in FILES for source in sources if path in source)


def a_step(
    repo: Repo, path: str, sources: list[dict[str, Entry]], texts: Mapping[str, bytes]
) -> Step:
    """Settle the versions of one file."""
    base, theirs, committed, staged = (
        texts[source[path].blob] if path in source else None for source in sources
    )
    found = content(repo.root / path)
    known: dict[bytes | None, Outcome] = {}
    for version in (found, committed, staged):
        if version not in known:
            known[version] = settle(base, version, theirs, merged)
    # The mode is upstream's; a learner has no reason to change it.
    mode = next(source[path].mode for source in (sources[1], sources[0]) if path in source)
    tree, commit, index = (known[version] for version in (found, committed, staged))
    before = sources[0][path].mode if path in sources[0] else PLAIN
    return Step(
        path, mode, base, theirs, found, committed, staged, tree, commit, index, before != mode
    )


def merged(mine: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Return both changes of a text in one; None if they touch the same lines, or are no text."""
    with tempfile.TemporaryDirectory(prefix="katas-") as folder:
        files = [Path(folder, name) for name in ("mine", "base", "theirs")]
        for file, text in zip(files, (mine, base, theirs), strict=True):
            file.write_bytes(text)
        command = ["git", "merge-file", "-p", *map(str, files)]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - git
    return done.stdout if done.returncode == 0 else None
