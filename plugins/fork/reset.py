"""``nox -s reset -- lecture04/k02_clamp``: restores the stub of a kata, and keeps the answer.

    python -m plugins.reset lecture04/k02_clamp [--from COMMIT]

The stub comes from the history of the repository, so it works in a fork with committed answers
too. That of a lecture which another package has added comes from the history of the repository
that the lecture is in, or else from the package, which pip fetches once more into a folder of its
own. Only the exercise's own files are written; what is staged stays staged.
"""

from __future__ import annotations

import argparse
import csv
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from importlib.metadata import Distribution
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.course.files import learners_files
from plugins.course.lectures import read_course
from plugins.course.names import UnknownNameError
from plugins.course.names import katas_named
from plugins.course.names import lecture_folders
from plugins.fork.upstream import HOW
from plugins.fork.upstream import UNWRITTEN
from plugins.fork.upstream import RefusedError
from plugins.fork.upstream import is_stub
from plugins.fork.upstream import stub_commits
from plugins.fork.upstream import upstream_of
from plugins.tools.files import describe_os_error
from plugins.tools.files import keep_copy
from plugins.tools.files import read_if_there
from plugins.tools.files import state_folder
from plugins.tools.files import write_whole
from plugins.tools.git import GitError
from plugins.tools.git import Repo
from plugins.tools.terminal import has_pip


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence

    from plugins.course.model import Course
    from plugins.course.model import Kata


NO_STUB = "{kata}: no commit of this repository holds its stub.\nFetch the course: {how}"
NO_PACKAGE = (
    "{kata} lies in {folder}, which is neither in a repository of git nor part of an installed "
    "package: there is no stub to restore."
)
NOT_FETCHED = "The stub is in {package}, which could not be fetched:\n{why}\nThe command: {command}"
OTHER_STUB = "{requirement} has another {path} than the package that is installed, {package}."


@dataclass(frozen=True)
class Replacement:
    """A file, its content (None: no such file), and the stub that will replace it."""

    path: str
    mine: bytes | None
    stub: bytes


def find_replacements(
    mine: Mapping[str, bytes | None], stubs: Mapping[str, bytes | None]
) -> list[Replacement]:
    """Return the files to write; one that is the stub already is left alone."""
    return [
        Replacement(path, mine.get(path), stub)
        for path, stub in stubs.items()
        if stub is not None and stub != mine.get(path)
    ]


def find_one_kata(course: Course, name: str) -> Kata:
    """Return the kata with this name.

    Raises
    ------
    RefusedError
        If there is none, or more than one.
    """
    try:
        katas = katas_named(course, name)
    except UnknownNameError as error:
        raise RefusedError(str(error)) from None
    if len(katas) != 1:
        names = " ".join(kata.id for kata in katas) or "none"
        raise RefusedError(f"{name} has {len(katas)} katas; name one of them: {names}")
    return katas[0]


def find_stub(repo: Repo, kata: Kata, commit: str) -> tuple[str, dict[str, bytes | None]]:
    """Return the commit that has the stub, `commit` if it was asked for, and the stub's files."""
    paths = [file.relative_to(repo.root).as_posix() for file in learners_files(kata)]
    exercise = kata.exercise.relative_to(repo.root).as_posix()
    if commit and not repo.commit(commit):
        raise RefusedError(f"--from: there is no commit {commit}")
    commits = [commit] if commit else stub_commits(repo, upstream_of(repo))
    for name in commits:
        text = repo.blob(name, exercise)
        if text is not None and (commit or is_stub(text)):
            return name, {path: repo.blob(name, path) for path in paths}
    if commit:
        raise RefusedError(f"--from: {commit} has no {exercise}")
    raise RefusedError(NO_STUB.format(kata=kata.id, how=HOW))


def find_stub_in_package(kata: Kata) -> tuple[str, dict[str, bytes | None]]:
    """Return the package that a kata was installed with, and the stub's files as it has them.

    An answer is never taken for the stub: what pip wrote down when it installed the package tells
    whether a file is as it was, and whether what is fetched is the same.
    """
    package, digests = find_package(kata)
    files = {path: read_if_there(kata.folder / path) for path in digests}
    about = f"{package.name} {package.version}"
    if any(digest_of(content) != digests[path] for path, content in files.items()):
        requirement = requirement_of(package)
        files = fetch_files(about, requirement, kata, digests)
        for path, content in files.items():
            if digest_of(content) != digests[path]:
                text = OTHER_STUB.format(requirement=requirement, path=path, package=about)
                raise RefusedError(text)
    return about, files


def find_package(kata: Kata) -> tuple[Distribution, dict[str, str]]:
    """Return the package with a kata, and the digests of the exercise's files by their paths."""
    wanted = {path.resolve(): path for path in learners_files(kata)}
    for entry in entry_points(group="pytest11"):
        package = entry.dist
        digests = {
            wanted[file].relative_to(kata.folder).as_posix(): digest
            for file, digest in (read_record(package) if package else ())
            if file in wanted
        }
        if package and digests:
            return package, digests
    raise RefusedError(NO_PACKAGE.format(kata=kata.id, folder=kata.folder))


def read_record(package: Distribution) -> Iterator[tuple[Path, str]]:
    """Return the files of an installed package with the digests that its RECORD has.

    `Distribution.files` leaves out what is missing on disk, from Python 3.12 on, and before in a
    process that has imported ``importlib_metadata``; a missing exercise is to be restored.
    """
    for row in csv.reader((package.read_text("RECORD") or "").splitlines()):
        name, digest, *_ = (*row, "", "")
        if digest:
            yield Path(str(package.locate_file(name))).resolve(), digest.partition("=")[2]


def digest_of(content: bytes | None) -> str:
    """Return the digest of a file as the RECORD of an installed package has it."""
    return urlsafe_b64encode(sha256(content or b"").digest()).decode().rstrip("=")


def requirement_of(package: Distribution) -> str:
    """Return what pip installs the same package from: its version, or the address it came from."""
    text = package.read_text("direct_url.json")
    if text is None:
        return f"{package.name}=={package.version}"
    found = json.loads(text)
    vcs = found.get("vcs_info")
    return f"{vcs['vcs']}+{found['url']}@{vcs['commit_id']}" if vcs else str(found["url"])


def fetch_files(
    about: str, requirement: str, kata: Kata, paths: Iterable[str]
) -> dict[str, bytes | None]:
    """Install a package into a folder that is then removed, and return files of a kata from it."""
    with tempfile.TemporaryDirectory(prefix="katas-stub-") as folder:
        command = installer("--quiet", "--no-deps", "--target", folder, requirement)
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - pip, and a package that is installed already
        if done.returncode:
            # Of a Python without pip, its own words say so.
            how = "" if has_pip() or command[0] == "uv" else "\npython -m ensurepip"
            shown = shlex.join("python" if each == sys.executable else each for each in command)
            why = f"{done.stderr.strip()}{how}"
            raise RefusedError(NOT_FETCHED.format(package=about, why=why, command=shown))
        inner = next(Path(folder).rglob(f"{kata.lecture}/lecture.toml")).parent
        return {path: read_if_there(inner / path) for path in paths}


def installer(*arguments: str) -> list[str]:
    """Return the command that installs for this Python: by pip, or by uv where there is no pip."""
    if has_pip() or not shutil.which("uv"):
        return [sys.executable, "-m", "pip", "install", *arguments]
    return ["uv", "pip", "install", "--python", sys.executable, *arguments]


def read_known_course(root: Path, name: str) -> Course:
    """Return the course; with the lectures of installed packages only if it lacks this name."""
    course = read_course(lecture_folders(root))
    try:
        katas_named(course, name)
    except UnknownNameError:
        try:
            from plugins.course.session import read_whole_course  # noqa: PLC0415 - needs pytest
        except ImportError:
            return course
        return read_whole_course(root) or course
    return course


def reset(root: Path, name: str, commit: str = "") -> list[str]:
    """Restore the stub of a kata; return the lines to print."""
    kata = find_one_kata(read_known_course(root, name), name)
    own = kata.folder.is_relative_to(root / "katas")
    # Where the paths of its files begin, and where they are written before they are moved.
    folder, state = (root, state_folder(root)) if own else (kata.folder, kata.folder)
    as_of, stubs = find_stub_anywhere(folder, kata, commit, own=own)
    replacements = find_replacements({path: read_if_there(folder / path) for path in stubs}, stubs)
    if not replacements:
        return [f"{kata.id} is the stub already, as of {as_of}; nothing was changed."]
    now = datetime.now().astimezone()
    # First all copies: one that cannot be made leaves every file as it was.
    above = "" if own else f"{kata.lecture}/"
    copies = {
        each.path: keep_copy(root, f"{above}{each.path}", each.mine, now)
        for each in replacements
        if each.mine is not None
    }
    lines = [f"{kata.id} is the stub again, as of {as_of}."]
    for each in replacements:
        write_whole(folder / each.path, each.stub, state)
        if each.path in copies:
            lines.append(f"your version  {copies[each.path]}")
        lines.append(f"the stub      {each.path if own else folder / each.path}")
    return lines


def find_stub_anywhere(
    folder: Path, kata: Kata, commit: str, *, own: bool
) -> tuple[str, dict[str, bytes | None]]:
    """Return what the stub is as of, in words, and its files by their paths from `folder`."""
    repo = Repo(folder)
    if own:
        try:
            repo.run("rev-parse", "--git-dir")
        except GitError as error:
            raise RefusedError(f"The stub comes from the history of git:\n{error}") from None
    exercise = kata.exercise.relative_to(folder).as_posix()
    if not (own or commit or repo.line("ls-files", "--error-unmatch", "--", exercise)):
        return find_stub_in_package(kata)
    found, stubs = find_stub(repo, kata, commit)
    return repo.line("show", "--no-patch", "--format=%h of %as", found), stubs


def main(arguments: Sequence[str], root: Path) -> int:
    """Run the command line; return its status."""
    parser = argparse.ArgumentParser(
        prog="python -m plugins.reset", description="Restore the stub of a kata."
    )
    parser.add_argument("kata", help="such as lecture04/k02_clamp, or the path of one of its files")
    parser.add_argument("--from", dest="commit", default="", help="the commit that has the stub")
    options = parser.parse_args(arguments)
    try:
        lines = reset(root, options.kata, options.commit)
    except (RefusedError, GitError) as error:
        sys.stderr.write(f"{error}\nNothing was changed.\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"{describe_os_error(error)}\n{UNWRITTEN}\n")
        return 1
    sys.stdout.write("\n".join([*lines, ""]))
    return 0
