"""What ``--watch`` builds before the run that needs it, and the process that stays for that."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.native import ahead
from plugins.native.ahead import BEGIN
from plugins.native.ahead import ENDED
from plugins.native.ahead import BuildAhead
from plugins.native.ahead import ahead_key
from plugins.native.ahead import build_again
from plugins.native.ahead import pytest_kata_before_fork
from plugins.native.plugin import begun_key
from plugins.native.prebuild import write_request
from plugins.tools.processes import fork_process
from tests.support.native import built
from tests.support.native import native_kata
from tests.support.native import running
from tests.support.native import until


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from pathlib import Path


class Watch:
    """What a process that stays does: it builds a kata again and again."""

    def __init__(self, lecture: Path) -> None:
        self.root = lecture.parents[1]
        self.folder = self.root / "build"
        self.source = lecture / "csrc/k01.cpp"
        self.kata = native_kata(lecture, "k01_cpp", "csrc/k01.cpp")
        self.ahead = BuildAhead()

    def save(self, text: str) -> int:
        """Save the source and begin to build it; return the process that does."""
        self.source.write_text(f"// tier: small\n{text}\n")
        self.ahead.start(write_request([self.kata], self.folder, self.root, []))
        return self.ahead.process

    def built(self, number: int) -> None:
        """Wait until so many libraries are there, and the process waits."""
        until(lambda: number == len([*self.folder.glob("*.so")]))
        assert select.select([self.ahead._ended], [], [], 60)[0]  # noqa: SLF001 - reading takes it

    def places(self) -> list[Path]:
        """Return the folders in which compilers wait."""
        return [*self.folder.glob("waits-*")]


@pytest.fixture
def watch(lecture: Path) -> Iterator[Watch]:
    """Return a kata that is watched."""
    watch = Watch(lecture)
    yield watch
    watch.ahead.stop()


def test_a_process_stays_to_build_the_next_save(watch: Watch) -> None:
    """It ends, with its folder, when it is told; a second time that does nothing."""
    first = watch.save("one")
    watch.built(1)
    second = watch.save("two")
    watch.built(2)
    assert first == second
    assert running(first)
    assert watch.places()

    watch.ahead.stop()
    watch.ahead.stop()

    assert not running(first)
    assert [] == watch.places()
    assert 0 == watch.ahead.process


def test_a_save_ends_the_build_before(watch: Watch) -> None:
    """With its compilers: what it builds is out of date."""
    (watch.root / "calls.once").write_text("k01.cpp.o sleep\n")
    first = watch.save("one")
    until(lambda: not (watch.root / "calls.once").exists())

    second = watch.save("two")

    assert not running(first)
    watch.built(1)
    assert running(second)
    assert 1 == len(watch.places())


def test_another_kata_has_another_process(watch: Watch, lecture: Path) -> None:
    """So has the same one, when its process has died."""
    first = watch.save("one")
    watch.built(1)
    watch.kata = native_kata(lecture, "k03_cpp", "csrc/k01.cpp")
    second = watch.save("one")
    watch.built(2)
    os.kill(second, signal.SIGKILL)
    until(lambda: str(second) not in running(second))
    third = watch.save("two")

    watch.built(3)
    assert 3 == len({first, second, third})


def test_a_run_leaves_the_process_alone(watch: Watch) -> None:
    """It is a fork, and its copy of the session ends with it."""
    process = watch.save("one")
    watch.built(1)
    os.waitpid(fork_process(watch.ahead.stop), 0)

    assert running(process)


@pytest.mark.parametrize("left", [True, False])
def test_it_builds_whenever_it_is_told(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, *, left: bool
) -> None:
    """With the compiler that has waited, if there is one; none waits at the end."""
    told: list[str] = []

    class Waiting:
        def end(self) -> None:
            told.append("end")

    waiting = iter([None, Waiting(), Waiting() if left else None])
    monkeypatch.setattr(ahead, "main", lambda _, waits: told.append(f"build {waits is not None}"))
    monkeypatch.setattr(ahead, "wait_for_source", lambda *_: next(waiting))
    (wait, begin), (ended, tell) = os.pipe(), os.pipe()
    os.write(begin, 2 * BEGIN)
    os.close(begin)
    place = watch.folder / "waits-here"
    place.mkdir()

    build_again("", place, wait, tell)

    assert ["build False", "build False", "build True", "end", *["end"] * left] == told
    assert 3 * ENDED == os.read(ended, 9)
    assert not place.exists()
    for end in (wait, ended, tell):
        os.close(end)


STAYS = """
import sys, time
from pathlib import Path
from plugins.native.ahead import BuildAhead
from plugins.native.prebuild import write_request
from tests.support.native import native_kata

root = Path(sys.argv[1])
ahead = BuildAhead()
kata = native_kata(root / "katas/lecture01", "k01_cpp", "csrc/k01.cpp")
ahead.start(write_request([kata], root / "build", root, []))
print(ahead.process, flush=True)
time.sleep(60)
"""


def test_the_process_ends_with_one_that_is_killed(watch: Watch) -> None:
    """`BuildAhead.stop` is not called then; what it builds is built."""
    command = [sys.executable, "-c", STAYS, str(watch.root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout
        process = int(run.stdout.readline())
        run.kill()

    until(lambda: not running(process))
    assert ["lecture01_k01"] == built(watch.source.parents[1], "*.so")
    assert [] == watch.places()


class Ahead:
    """Notes what is built ahead."""

    def __init__(self) -> None:
        self.process = 0
        self.told: list[str] = []

    def start(self, request: str) -> None:
        """Build."""
        self.process = 7
        self.told += [name for name, _, _ in json.loads(request)["units"]]

    def stop(self) -> None:
        """End."""
        self.process = 0
        self.told.append("stop")


def test_a_watch_builds_before_it_forks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One builder for the session; for a kata without sources it ends, and the run needs none."""
    monkeypatch.setenv("KATAS_BUILD", str(tmp_path / "build"))
    monkeypatch.setattr(ahead, "BuildAhead", Ahead)
    monkeypatch.setattr(ahead, "course_root", lambda _: tmp_path)
    monkeypatch.setattr(ahead, "find_compiler", lambda: None)
    at_the_end: list[Callable[[], None]] = []
    languages = lambda **_: [["tests.support.native:LOUD"]]  # noqa: E731 - a hook
    session: Any = SimpleNamespace(
        stash=pytest.Stash(),
        add_cleanup=at_the_end.append,
        hook=SimpleNamespace(pytest_kata_languages=languages),
    )
    python = native_kata(tmp_path / "lecture01", "k01_python")
    cpp = native_kata(tmp_path / "lecture01", "k02_cpp", "csrc/k02.cpp", "csrc/k02.loud")
    loud = native_kata(tmp_path / "lecture01", "k03_loud", "csrc/k03.loud")

    begun = []
    for kata in (cpp, loud, python, None):
        pytest_kata_before_fork(session, kata)
        begun.append(session.stash[begun_key])

    builder: Any = session.stash[ahead_key]
    units = ["lecture01_k02_loud", "lecture01_k02", "lecture01_k03_loud"]
    assert [*units, "stop", "stop"] == builder.told
    assert [True, True, False, False] == begun
    assert [builder.stop] == at_the_end


def test_a_watch_without_a_compiler_leaves_it_to_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing ends the process that stays."""
    monkeypatch.setenv("KATAS_BUILD", str(tmp_path / "build"))
    monkeypatch.setenv("KATAS_CXX", "no-such-compiler")
    monkeypatch.setattr(ahead, "course_root", lambda _: tmp_path)
    session: Any = SimpleNamespace(
        stash=pytest.Stash(),
        add_cleanup=lambda _: None,
        hook=SimpleNamespace(pytest_kata_languages=lambda **_: []),
    )

    pytest_kata_before_fork(session, native_kata(tmp_path, "k01_cpp", "csrc/k01.cpp"))

    assert 0 == session.stash[ahead_key].process
    assert not session.stash[begun_key]
