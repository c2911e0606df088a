"""Tests of k11_atomic: `save` is killed at each byte and at each call, in processes of its own."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from katas.lecture12.k11_atomic import checkpoints
from katas.lecture12.k11_atomic import path_of
from katas.lecture12.k11_atomic import save


# Longer than Python's buffer, and short enough to stay in it.
SIZE, SMALL = 20_000, 100
# Saves steps 1 and 2, forks a child that saves a step and is killed, and reports what is left:
# for each place the complete and the broken checkpoints, then those and all names after step 4.
PROGRAM = """
import json, os, resource, signal, sys, traceback
from pathlib import Path
from katas.lecture12.k11_atomic import checkpoints, path_of, save

top, keep, size, step, places = Path(sys.argv[1]), *json.loads(sys.argv[2])
# What a process has written survives its end, synced or not: here that takes time only.
os.fsync = lambda opened: None

payload = {step: bytes((step + i * i) % 251 for i in range(size)) for step in range(1, 4)}
# Shorter than what may lie there.
payload[4] = bytes(i * i % 249 for i in range(size // 2))

def at_call(number):
    count = 0
    def watch(frame, event, arg):
        nonlocal count
        count += 1
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(watch)

def at_byte(number):
    # The kernel itself ends the process where the file would grow beyond this.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (number, number))

def whole(folder):
    names = {path_of(folder, step).name: payload[step] for step in payload}
    found = {path.name: path.read_bytes() == names.get(path.name) for path in checkpoints(folder)}
    return [name for name, right in found.items() if right], [n for n in found if not found[n]]

report = []
for number in places or range(1, 1000):
    folder = top / f"{number}"
    folder.mkdir()
    save(payload[1], folder, 1, keep)
    save(payload[2], folder, 2, keep)
    child = os.fork()
    if not child:
        (at_byte if places else at_call)(number)
        save(payload[step], folder, step, keep)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    right, broken = whole(folder)
    save(payload[4], folder, 4, keep)
    torn = whole(folder)[1]
    report.append(
        [number, torn, right, broken, sorted(p.name for p in folder.iterdir())]
    )
    if not status:
        break
print(json.dumps(report))
"""


def killed(
    folder: Path, root: Path, keep: int, *places: int, size: int = SIZE, step: int = 3
) -> list[Any]:
    """Return what is left where `save` was killed: at these bytes, or at each of its calls."""
    __tracebackhide__ = True
    folder.mkdir(exist_ok=True)
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", PROGRAM, str(folder), json.dumps([keep, size, step, places])],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, f"`save` failed without being killed:\n{done.stderr[-1500:]}"
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def names(folder: Path) -> list[str]:
    """Return the names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_the_first_checkpoint(tmp_path: Path) -> None:
    """One complete file under its name."""
    assert [] == checkpoints(tmp_path), (
        "your code finds checkpoints in an empty folder, expected none"
    )
    save(b"\x00first", tmp_path, 7)
    assert ["step-7.pt"] == names(tmp_path), (
        f"your code leaves {names(tmp_path)}, expected step-7.pt"
    )
    yours = path_of(tmp_path, 7).read_bytes()
    assert b"\x00first" == yours, (
        f"your file holds {yours!r}, expected the payload and nothing else"
    )
    found = checkpoints(tmp_path)
    assert [path_of(tmp_path, 7)] == found, f"your code finds {found}, expected only step-7.pt"


def test_the_oldest_comes_first(tmp_path: Path) -> None:
    """By number: as strings, 10 comes before 9."""
    for step in (10, 9, 100, 2):
        path_of(tmp_path, step).touch()
    yours = [path.name for path in checkpoints(tmp_path)]
    expected = [f"step-{step}.pt" for step in (2, 9, 10, 100)]
    assert expected == yours, f"yours {yours}, expected {expected}"


def test_other_names_are_no_checkpoints(tmp_path: Path) -> None:
    """A name that begins or ends like a checkpoint's may be an unfinished one."""
    others = "step-7.pt.tmp", "old-step-7.pt", "step-.pt", "step-7a.pt", "step-7_pt", "step-a7.pt"
    for name in others:
        (tmp_path / name).touch()
    path_of(tmp_path, 8).touch()
    yours = [path.name for path in checkpoints(tmp_path)]
    assert ["step-8.pt"] == yours, f"yours {yours}, expected only step-8.pt"


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_the_newest_stay(tmp_path: Path, keep: int) -> None:
    """Each save leaves the `keep` newest, or all if there are fewer; other files stay."""
    others = {"best.pt", "best.pt.tmp", "step-1.pt.bak"}
    for name in others:
        (tmp_path / name).write_bytes(b"other")
    for count, step in enumerate((1, 8, 9, 10, 11), 1):
        save(f"{step}".encode(), tmp_path, step, keep)
        expected = [1, 8, 9, 10, 11][max(0, count - keep) : count]
        yours = {path.name: path.read_bytes().decode() for path in checkpoints(tmp_path)}
        theirs = {f"step-{step}.pt": f"{step}" for step in expected}
        assert theirs == yours, f"after step {step}, keep={keep}: yours {yours}, expected {theirs}"
    gone = others.difference(names(tmp_path))
    assert not gone, f"your code removes {sorted(gone)}, which are not checkpoints"


def test_two_are_kept(tmp_path: Path) -> None:
    """Two is the default; saving a step again replaces its file."""
    for step in (1, 2, 3, 3):
        save(b"first" if step < 3 else b"again", tmp_path, step)
    yours = {path.name: path.read_bytes() for path in checkpoints(tmp_path)}
    assert {"step-2.pt": b"first", "step-3.pt": b"again"} == yours, (
        f"after saving steps 1, 2, 3, 3 your code leaves {yours}, expected step 2 and the "
        "second step 3"
    )


def test_killed_at_a_byte(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Part of the new checkpoint is written: the old ones are complete, the new one absent."""
    places = (0, 1, 8191, 8192, 8193, SIZE - 1)
    for byte, _, right, broken, _ in killed(tmp_path, pytestconfig.rootpath, 2, *places):
        assert not broken, f"killed at byte {byte}: {broken} exists but is not complete"
        assert ["step-1.pt", "step-2.pt"] == right, (
            f"killed at byte {byte}: {right} are left, expected step-1.pt and step-2.pt"
        )


@pytest.mark.parametrize(
    ("keep", "size", "step"), [(1, SMALL, 3), (2, SIZE, 3), (1, SIZE, 2)], ids=["1", "2", "again"]
)
def test_killed_at_any_call(
    tmp_path: Path, pytestconfig: pytest.Config, keep: int, size: int, step: int
) -> None:
    """Before and after each call; steps 1 and 2 exist, and 3 is saved, or 2 again."""
    report = killed(tmp_path, pytestconfig.rootpath, keep, size=size, step=step)
    for call, _, right, broken, _ in report:
        where = f"step {step}, keep={keep}, {size} bytes, killed at call {call} of {len(report)}"
        assert not broken, f"{where}: {broken} exists but is not complete"
        assert len(right) >= keep, (
            f"{where}: {right} are left, expected {keep} complete checkpoints"
        )
        assert right[-1] in {"step-2.pt", "step-3.pt"}, (
            f"{where}: the newest is missing, only {right} are left"
        )


def test_the_next_save_cleans_up(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """A run that is killed every night must not fill the disk."""
    root = pytestconfig.rootpath
    for report in (
        killed(tmp_path / "a", root, 1, size=SMALL),
        killed(tmp_path / "b", root, 1, 0, 9000),
    ):
        for place, torn, _, _, left in report:
            assert ["step-4.pt"] == left, (
                f"killed at {place}, then step 4 with keep=1: your code leaves {left}, expected"
                " only step-4.pt: what is your unfinished file called?"
            )
            assert not torn, (
                f"killed at {place}, then step 4: your {torn} differs from the bytes passed in."
                " What was in the unfinished file when you opened it?"
            )


def watched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any, Any]]:
    """Save steps 1 to 3 with keep=1, and return the calls of step 3."""
    calls: list[tuple[str, Any, Any]] = []

    def patch(name: str, note: Any) -> None:
        real = getattr(os, name)

        def noted(*args: Any, **kwargs: Any) -> Any:
            entry = note(*args)
            result = real(*args, **kwargs)
            calls.append(entry)
            return result

        monkeypatch.setattr(os, name, noted)

    def synced(file: Any) -> tuple[str, Any, Any]:
        found = os.fstat(file if isinstance(file, int) else file.fileno())
        if stat.S_ISDIR(found.st_mode):
            return "sync_folder", found.st_ino, 0
        return "fsync", found.st_ino, found.st_size

    def moved(source: Any, _: Any) -> tuple[str, Any, Any]:
        return "replace", os.stat(source).st_ino, Path(source).parent  # noqa: PTH116

    def removed(path: Any) -> tuple[str, Any, Any]:
        return "unlink", Path(path).name, 0

    save(b"1" * SMALL, folder, 1, 1)
    save(b"2" * SMALL, folder, 2, 1)
    for name in ("replace", "rename"):
        patch(name, moved)
    for name in ("unlink", "remove"):
        patch(name, removed)
    patch("fsync", synced)
    save(b"3" * SMALL, folder, 3, 1)
    monkeypatch.undo()
    return calls


def test_it_is_written_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A move is atomic only within one file system; /tmp is often another one."""
    moves = [call for call in watched(tmp_path, monkeypatch) if call[0] == "replace"]
    assert len(moves) == 1, f"your code moves {len(moves)} files, expected one"
    assert tmp_path == moves[0][2], (
        f"your code moves a file from {moves[0][2]}, expected {tmp_path}"
    )


def test_the_bytes_come_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the power fails after the move, the name must not refer to an empty file."""
    calls = watched(tmp_path, monkeypatch)
    order = [name for name, *_ in calls]
    at = order.index("replace")
    sizes = [size for name, file, size in calls[:at] if (name, file) == ("fsync", calls[at][1])]
    assert sizes, f"your code calls {order}, expected an fsync of the file before it is moved"
    assert SMALL == sizes[-1], (
        f"at fsync the file has {sizes[-1]} of {SMALL} bytes: the rest is in Python's buffer"
    )


def test_the_name_comes_before_the_end_of_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the power fails after ``unlink``, the new name must already be on disk."""
    calls = watched(tmp_path, monkeypatch)
    order = [name for name, *_ in calls]
    folder = tmp_path.stat().st_ino
    between = calls[order.index("replace") : order.index("unlink")]
    assert ("sync_folder", folder, 0) in between, (
        f"your code calls {order}, expected sync_folder after replace, and unlink last"
    )
    gone = [name for call, name, _ in calls if call == "unlink"]
    assert ["step-2.pt"] == gone, f"your code removes {gone}, expected only step-2.pt"
