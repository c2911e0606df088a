"""Plans an update: settles the versions of each file that upstream changed.

A file has a version in the working tree, one in the index and one in the last commit. Each is
settled on its own, so uncommitted work stays uncommitted. `settle` decides, and needs no git.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Literal

from plugins.tools.files import read_if_there


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Mapping

    from plugins.tools.git import GitEntry
    from plugins.tools.git import Repo


# What git calls regular files; links and submodules are not merged.
PLAIN = "100644"
FILES = {PLAIN, "100755"}

Word = Literal["same", "kept", "moved", "merged", "left"]
CHANGED = ("moved", "merged")

SAME_LINES = "you and upstream changed the same lines"
BOTH_ADDED = "upstream has a new file where you have one of your own"
REMOVED_THERE = "upstream removed it, and you have changed it"
REMOVED_HERE = "you removed it, and upstream has changed it"


@dataclass(frozen=True)
class Settled:
    """The content that a file will have (None: no such file), in a word, and why if it is left."""

    word: Word
    content: bytes | None
    why: str = ""


@dataclass(frozen=True)
class Step:
    """A file that upstream changed.

    Attributes
    ----------
    base, theirs
        What upstream had when the fork last took from it, and what it has now.
    found, committed, staged
        What the working tree, the last commit and the index hold; None: no such file.
    tree, commit, index
        What will stand there.
    chmod
        Whether upstream has changed it to executable, or back.
    """

    path: str
    mode: str
    base: bytes | None
    theirs: bytes | None
    found: bytes | None
    committed: bytes | None
    staged: bytes | None
    tree: Settled
    commit: Settled
    index: Settled
    chmod: bool = False

    def changes(self, settled: Settled) -> bool:
        """Whether `settled`, one of the three, is to be written."""
        return settled.word in CHANGED or (self.chmod and settled.content is not None)


def plan_update(repo: Repo, base: str, head: str, theirs: str) -> tuple[list[Step], list[str]]:
    """Return a step for each file that upstream changed, and the paths that are no plain files."""
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
    odd = [path for path in paths if not are_plain_files(path, sources)]
    steps = [plan_file(repo, path, sources, texts) for path in paths if path not in odd]
    return steps, odd


def plan_file(
    repo: Repo, path: str, sources: list[dict[str, GitEntry]], texts: Mapping[str, bytes]
) -> Step:
    """Settle the versions of one file."""
    base, theirs, committed, staged = (
        texts[source[path].blob] if path in source else None for source in sources
    )
    found = read_if_there(repo.root / path)
    settled: dict[bytes | None, Settled] = {}
    for version in (found, committed, staged):
        if version not in settled:
            settled[version] = settle(base, version, theirs, merge_texts)
    # The mode is upstream's; a learner has no reason to change it.
    mode = next(source[path].mode for source in (sources[1], sources[0]) if path in source)
    tree, commit, index = (settled[version] for version in (found, committed, staged))
    before = sources[0][path].mode if path in sources[0] else PLAIN
    return Step(
        path, mode, base, theirs, found, committed, staged, tree, commit, index, before != mode
    )


def are_plain_files(path: str, sources: Iterable[Mapping[str, GitEntry]]) -> bool:
    """Whether all versions of a path are regular files."""
    return all(source[path].mode in FILES for source in sources if path in source)


def settle(
    base: bytes | None,
    mine: bytes | None,
    theirs: bytes | None,
    merge: Callable[[bytes, bytes, bytes], bytes | None],
) -> Settled:
    """Settle a file that was `base`, and is `mine` here and `theirs` upstream.

    `merge` takes mine, base and theirs; it returns None where both changed the same lines.
    Settling the result again changes nothing, so a run that was killed can be repeated.
    """
    if mine == theirs:
        return Settled("same", mine)
    if base in {mine, theirs}:
        return Settled("kept", mine) if base == theirs else Settled("moved", theirs)
    if mine is None or base is None or theirs is None:
        why = {mine is None: REMOVED_HERE, theirs is None: REMOVED_THERE}.get(True, BOTH_ADDED)
        return Settled("left", mine, why)
    merged = merge(mine, base, theirs)
    if merged is None:
        return Settled("left", mine, SAME_LINES)
    return Settled("same" if merged == mine else "merged", merged)


def merge_texts(mine: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Return a text with both changes; None if they touch the same lines, or it is binary."""
    with tempfile.TemporaryDirectory(prefix="katas-") as folder:
        files = [Path(folder, name) for name in ("mine", "base", "theirs")]
        for file, text in zip(files, (mine, base, theirs), strict=True):
            file.write_bytes(text)
        command = ["git", "merge-file", "-p", *map(str, files)]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - git
    return done.stdout if done.returncode == 0 else None


def describe_counts(counts: dict[str, int]) -> str:
    """Return the numbers of files in words: ``12 moved on, 2 merged, 1 left alone``."""
    words = {"moved": "moved on", "merged": "merged", "left": "left alone"}
    found = [f"{counts[word]} {text}" for word, text in words.items() if counts.get(word)]
    return ", ".join(found) or "no file changed"
