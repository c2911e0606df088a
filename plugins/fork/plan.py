"""Plans an update: settles the versions of each file that upstream changed.

A file has a version in the working tree, one in the index and one in the last commit. Each is
settled on its own, so uncommitted work stays uncommitted. `settle` decides, and needs no git.

A kata may have another name than when the fork last took from upstream: ``was`` in its table says
which. An answer that fits moves to the new name, as in a merge; one that does not, and one to a
kata that was split, stays where it is.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import tomllib
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Literal

from plugins.tools.files import read_if_there


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Mapping
    from collections.abc import Sequence

    from plugins.tools.git import GitEntry
    from plugins.tools.git import Repo


# What git calls regular files; links and submodules are not merged.
PLAIN = "100644"
FILES = {PLAIN, "100755"}

TABLE = re.compile(r"katas/[^/]+/lecture\.toml")
# The files that a learner edits, by folder, name and ending.
EXERCISE = re.compile(r"(katas/[^/]+)/(csrc/)?(k\d\d_\w+)(\.\w+)")

Word = Literal["same", "kept", "moved", "merged", "left"]
CHANGED = ("moved", "merged")

SAME_LINES = "you and upstream changed the same lines"
BOTH_ADDED = "upstream has a new file where you have one of your own"
REMOVED_THERE = "upstream removed it, and you have changed it"
# With the new name, or names, and with the old one.
MADE_ANEW = "upstream has made {} of it: your answer stays here"
CARRIED = "your answer to {}, which has this name now"
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
    steps = {path: plan_file(repo, path, sources, texts) for path in paths if path not in odd}
    tables = {path: step.theirs or b"" for path, step in steps.items() if TABLE.fullmatch(path)}
    return carry_answers(steps, find_heirs(tables)), odd


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


def find_heirs(tables: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Return which katas were made of an earlier one, all as ``katas/lecture04/k01_parser``.

    `tables` are the texts of ``lecture.toml``, by their paths.
    """
    heirs = defaultdict[str, list[str]](list)
    for path, text in tables.items():
        folder = path.rpartition("/")[0]
        # A table that cannot be read is an error of the course, which a run of pytest shows.
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            for kata in tomllib.loads(text.decode())["kata"]:
                lecture, _, name = kata.get("was", "").rpartition("/")
                if name:
                    was = f"katas/{lecture}/{name}" if lecture else f"{folder}/{name}"
                    heirs[was].append(f"{folder}/{kata['name']}")
    return dict(heirs)


def carry_answers(steps: Mapping[str, Step], heirs: Mapping[str, Sequence[str]]) -> list[Step]:
    """Return the steps, with the answers to katas that are no longer there under their new names.

    The old files come last: what is moved is written before it is removed.
    """
    found, last = dict(steps), list[Step]()
    for path, step in steps.items():
        parts = EXERCISE.fullmatch(path)
        names = heirs.get(f"{parts[1]}/{parts[3]}", ()) if parts else ()
        if parts and names and step.theirs is None:
            old = found.pop(path)
            folder, _, name = names[0].rpartition("/")
            new = f"{folder}/{parts[2] or ''}{name}{parts[4]}"
            if len(names) == 1 and new in found and found[new].base is None:
                old, found[new] = carry_answer(old, found[new])
            last.append(say_who_inherits(old, names))
    return [*found.values(), *last]


def carry_answer(old: Step, new: Step) -> tuple[Step, Step]:
    """Settle the versions of a file that has another name upstream, under both names."""
    tree, commit, index = (
        settle_renamed(old.base, mine, there, new.theirs, merge_texts, name=Path(old.path).stem)
        for mine, there in (
            (old.found, new.found),
            (old.committed, new.committed),
            (old.staged, new.staged),
        )
    )
    return (
        replace(old, tree=tree[0], commit=commit[0], index=index[0]),
        replace(new, tree=tree[1], commit=commit[1], index=index[1]),
    )


def settle_renamed(
    base: bytes | None,
    mine: bytes | None,
    there: bytes | None,
    theirs: bytes | None,
    merge: Callable[[bytes, bytes, bytes], bytes | None],
    *,
    name: str,
) -> tuple[Settled, Settled]:
    """Settle a file that was `base`, and is `theirs` upstream under another name.

    Here it is `mine` under the old one, called `name`, and `there` under the new one. Settling the
    results again changes nothing.
    """
    alone = settle(base, mine, None, merge), settle(None, there, theirs, merge)
    if mine in {None, base}:
        # Nothing to carry; a run that was killed may have carried it.
        again = settle(base, there, theirs, merge)
        carried = alone[1].word == "left" and again.content == there and again.word != "left"
        return alone[0], Settled("same", there) if carried else alone[1]
    merged = settle(base, mine, theirs, merge)
    if merged.word == "left" or there not in {None, theirs, merged.content}:
        return alone
    word: Word = "same" if merged.content == there else "merged"
    return Settled("moved", None), Settled(word, merged.content, CARRIED.format(name))


def say_who_inherits(old: Step, names: Sequence[str]) -> Step:
    """Return the step of a file that is left, with the names of the katas that were made of it."""
    if old.tree.word != "left":
        return old
    heirs = " and ".join(name.rpartition("/")[2] for name in names)
    return replace(old, tree=replace(old.tree, why=MADE_ANEW.format(heirs)))


def describe_counts(counts: dict[str, int]) -> str:
    """Return the numbers of files in words: ``12 moved on, 2 merged, 1 left alone``."""
    words = {"moved": "moved on", "merged": "merged", "left": "left alone"}
    found = [f"{counts[word]} {text}" for word, text in words.items() if counts.get(word)]
    return ", ".join(found) or "no file changed"
