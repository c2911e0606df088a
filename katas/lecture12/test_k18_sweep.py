"""Tests of k18_sweep: real processes that fail, or are killed together with the sweep."""

from __future__ import annotations

import json
import linecache
import math
import multiprocessing as mp
import os
import resource
import signal
import time
from contextlib import contextmanager
from contextlib import suppress
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture12.k18_sweep import append
from katas.lecture12.k18_sweep import read
from katas.lecture12.k18_sweep import sweep


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from multiprocessing.process import BaseProcess
    from pathlib import Path
    from types import FrameType

    Trial = Callable[[Any, Path], None]


# Seconds that a trial waits for another one, and that a test may take.
PATIENCE, LIMIT = 8, 15
FORK = mp.get_context("fork")
ENTRIES: list[dict[str, Any]] = [
    {"trial": 0, "loss": 2**0.5},
    {"trial": 2, "exit": -9},
    {"trial": 1, "loss": 1e-300},
]
one = pytest.mark.step(1, "a journal of whole lines")
two = pytest.mark.step(2, "all trials, some at once")
three = pytest.mark.step(3, "failures stay where they are")
four = pytest.mark.step(4, "killed, and resumed")


# Python 3.12 and later warn: torch has threads, but none computes while a test forks.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """Fail a test that hangs, and leave no process behind."""

    def late(_signal: int, frame: FrameType | None) -> None:
        file, where = sweep.__code__.co_filename, "outside of your file"
        while frame is not None and frame.f_code.co_filename != file:
            frame = frame.f_back
        if frame is not None:
            line = linecache.getline(file, frame.f_lineno).strip()
            where = f"in line {frame.f_lineno} of your file, {line}"
        raise AssertionError(f"nothing has happened for {LIMIT} seconds: the sweep waits {where}")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    for child in mp.active_children():
        child.kill()
        child.join()


def starter(trial: Trial) -> Callable[[Any, Path], BaseProcess]:
    """Return a `start` that records the start in the trial's home and runs it in a process."""

    def start(config: Any, home: Path) -> BaseProcess:
        with (home / "starts").open("a", encoding="utf-8") as file:
            file.write("x")
        process = FORK.Process(target=trial, args=(config, home))
        process.start()
        return process

    return start


def starts(folder: Path, count: int) -> list[int]:
    """Return how often each trial has been started."""
    files = [folder / str(number) / "starts" for number in range(count)]
    return [len(file.read_bytes()) if file.exists() else 0 for file in files]


def write_loss(home: Path, loss: float) -> None:
    """Write the loss of a trial to its home."""
    (home / "loss.json").write_text(json.dumps(loss), encoding="utf-8")


def squared(config: Any, home: Path) -> None:
    """Run a trial whose loss is the square of its configuration."""
    write_loss(home, config**2)


def slowly(config: Any, home: Path) -> None:
    """Run a trial like `squared`; the smaller its configuration, the longer it takes."""
    time.sleep(1 / config)
    squared(config, home)


def await_file(path: Path, writer: BaseProcess | None = None, seconds: float = PATIENCE) -> bool:
    """Wait for a file or the end of its writer, and return whether the file exists."""
    end = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < end:
        if writer is not None and not writer.is_alive():
            break
        time.sleep(0.005)
    return path.exists()


def is_there(pid: int | None) -> bool:
    """Whether the process exists, alive or waiting to be joined."""
    assert pid is not None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def compare(yours: object, right: object, what: str, why: str) -> None:
    """Compare entries."""
    __tracebackhide__ = True
    assert yours == right, f"{what}\nyours     {yours}\nexpected  {right}\n{why}"


def found_in(journal: Path, what: str) -> list[dict[str, Any]]:
    """Return what your `read` finds, or say which journal it cannot read."""
    __tracebackhide__ = True
    try:
        return read(journal)
    except ValueError as error:
        said = f"{type(error).__name__}: {error}"
    raise AssertionError(
        f"{what}\nyours raises {said}\nexpected the entries of its whole lines: a line without its "
        "newline was being written when the sweep was killed, and is not an entry"
    )


def written(journal: Path, entries: list[dict[str, Any]]) -> bytes:
    """Write a journal without your code, and return its bytes."""
    journal.write_text("".join(json.dumps(each) + "\n" for each in entries), encoding="utf-8")
    return journal.read_bytes()


@one
def test_no_journal(tmp_path: Path) -> None:
    """A new sweep has no journal: no entries, and reading creates no file."""
    compare(read(tmp_path / "j"), [], "entries of a journal that does not exist", "none yet")
    assert not (tmp_path / "j").exists(), (
        "your code created a journal, expected none: `read` only reads"
    )


@one
def test_entries_come_back(tmp_path: Path) -> None:
    """In the order in which they were appended, each on a line of its own, NaN too."""
    for entry in ENTRIES:
        append(tmp_path / "j", entry)
    yours = found_in(tmp_path / "j", "three entries, appended one after the other")
    compare(yours, ENTRIES, "three entries", "a line of JSON for each")
    text = (tmp_path / "j").read_text(encoding="utf-8")
    compare([json.loads(line) for line in text.split("\n")[:-1]], ENTRIES, text, "JSON lines")
    append(tmp_path / "j", {"trial": 3, "loss": math.nan})
    loss = read(tmp_path / "j")[-1]["loss"]
    assert math.isnan(loss), f"your code returns a loss of NaN as {loss}, expected NaN"


@one
def test_a_torn_line_is_no_entry(tmp_path: Path) -> None:
    """Wherever the file ends: entries whose newline is there, and no error."""
    data = written(tmp_path / "j", ENTRIES)
    for size in range(len(data) + 1):
        (tmp_path / "j").write_bytes(data[:size])
        right = ENTRIES[: data[:size].count(b"\n")]
        about = f"a journal that ends in {data[:size][-20:]!r}"
        compare(
            found_in(tmp_path / "j", about),
            right,
            about,
            "a line without its newline was being written when the sweep was killed",
        )


@one
def test_append_after_a_torn_line(tmp_path: Path) -> None:
    """The torn line must be cut off, or the new entry becomes part of it."""
    data = written(tmp_path / "j", ENTRIES)
    new = {"trial": 4, "loss": 0.5}
    for size in range(len(data) + 1):
        (tmp_path / "j").write_bytes(data[:size])
        append(tmp_path / "j", new)
        whole = data[: data[:size].rfind(b"\n") + 1]
        right = [*ENTRIES[: whole.count(b"\n")], new]
        about = f"a journal that ended in {data[:size][-20:]!r}, then an entry"
        yours = found_in(tmp_path / "j", about)
        compare(yours, right, about, "cut the torn line off, then append")
        left = (tmp_path / "j").read_bytes()
        assert left.startswith(whole), f"{about}: your code changed the whole lines to {left!r}"


@one
def test_an_entry_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When append returns, os.fsync has been called on a file with all its bytes."""
    sizes: list[int] = []

    def fsync(file: Any) -> None:
        sizes.append(os.fstat(file if isinstance(file, int) else file.fileno()).st_size)

    monkeypatch.setattr(os, "fsync", fsync)
    append(tmp_path / "j", ENTRIES[0])
    size = (tmp_path / "j").stat().st_size
    assert sizes, (
        "your code did not call os.fsync: a power failure loses what the kernel still holds"
    )
    assert sizes[-1] == size, (
        f"when your code calls os.fsync the file has {sizes[-1]} bytes, expected {size}: Python"
        " keeps the"
        " rest in its buffer until flush()"
    )


@contextmanager
def disk_full(size: int) -> Iterator[None]:
    """Let no file grow beyond this size in the block: a write stops there, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@one
def test_whole_lines_are_not_written_again(tmp_path: Path) -> None:
    """If append fails in mid-write, here on a full disk, earlier entries survive."""
    data = written(tmp_path / "j", ENTRIES)
    for size in (len(data) // 2, len(data) + 5):
        written(tmp_path / "j", ENTRIES)
        with disk_full(size), pytest.raises(OSError, match="too large"):
            pytest.fail(
                f"the disk is full at {size} bytes, too few for this entry, and your code returns"
                f" {append(tmp_path / 'j', {'trial': 4, 'loss': 0.5})}, expected the OSError to"
                " propagate: otherwise nobody learns that the entry is missing"
            )
        yours = [json.loads(line) for line in (tmp_path / "j").read_bytes().split(b"\n")[:-1]]
        compare(yours, ENTRIES, "entries after an append that died", "append, and rewrite nothing")
    written(tmp_path / "j", ENTRIES)
    with (tmp_path / "j").open("rb") as file:
        append(tmp_path / "j", {"trial": 4, "loss": 0.5})
        same = os.path.samestat(os.fstat(file.fileno()), (tmp_path / "j").stat())
    assert same, "your code wrote the whole lines to a new file: append to the old one"


@two
def test_one_after_the_other(tmp_path: Path) -> None:
    """One worker: each trial has its own home, and its loss becomes an entry."""
    yours = sweep([2, 9], starter(slowly), tmp_path, workers=1)
    right = [{"trial": 0, "loss": 4.0}, {"trial": 1, "loss": 81.0}]
    compare(
        yours,
        right,
        "trials 2 and 9, whose losses are squares",
        "a number and a loss each",
    )
    compare(read(tmp_path / "journal.jsonl"), right, "the journal", "an entry when a trial ends")


@two
def test_no_trials(tmp_path: Path) -> None:
    """Nothing to start and nothing to wait for."""
    compare(sweep([], starter(squared), tmp_path, workers=2), [], "no trials", "no entries")


@two
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_no_more_than_the_workers(tmp_path: Path, workers: int) -> None:
    """The first trials wait for one another, and no other begins in the meantime."""

    def begun(number: int) -> Path:
        return tmp_path / str(number) / "begun"

    def waiting(config: Any, home: Path) -> None:
        begun(config).touch()
        if config == 0:
            found = sum(await_file(begun(number)) for number in range(workers))
            write_loss(home, found + await_file(begun(workers), seconds=0.3))
            (home / "ended").touch()
        elif config < workers:
            await_file(tmp_path / "0" / "ended")
        if config != 0:
            write_loss(home, 0.0)

    entries = sweep(list(range(5)), starter(waiting), tmp_path, workers)
    yours = next(each["loss"] for each in entries if each["trial"] == 0)
    assert yours == workers, (
        f"{workers} workers, 5 trials: your code runs {yours} at once, expected {workers}"
    )


@two
def test_results_in_the_order_of_the_trials(tmp_path: Path) -> None:
    """The journal lists trials as they end, here the last one first."""
    journal = tmp_path / "journal.jsonl"

    def patient(config: Any, home: Path) -> None:
        end = time.monotonic() + 2
        # Two trials that end at the same time may be seen in any order.
        while len(read(journal)) < 2 - config and time.monotonic() < end:
            time.sleep(0.005)
        write_loss(home, config)

    yours = sweep([0, 1, 2], starter(patient), tmp_path, workers=3)
    compare([each["trial"] for each in yours], [0, 1, 2], "trial 2 ends first", "sort the result")


@two
def test_the_next_starts_when_one_has_ended(tmp_path: Path) -> None:
    """Trial 0 waits for trial 3: with two workers, the other one runs 1, 2 and 3 meanwhile."""

    def patient(config: Any, home: Path) -> None:
        (home / "begun").touch()
        write_loss(home, float(config or await_file(tmp_path / "3" / "begun")))

    yours = sweep([0, 1, 2, 3], starter(patient), tmp_path, workers=2)
    assert yours[0]["loss"] == 1.0, (
        "trial 0 waited for trial 3 to begin, but it did not: your code starts trials in"
        " waves, expected the next one as soon as one has ended"
    )


@two
def test_an_entry_is_there_at_once(tmp_path: Path) -> None:
    """When trial 1 starts, the entry of trial 0 is in the journal; trials start in order."""

    def counting(config: Any, home: Path) -> None:
        journal = tmp_path / "journal.jsonl"
        write_loss(home, journal.read_bytes().count(b"\n") if journal.exists() else 0)

    yours = [each["loss"] for each in sweep("abcd", starter(counting), tmp_path, workers=1)]
    compare(
        yours,
        [0.0, 1.0, 2.0, 3.0],
        "lines of the journal when each trial starts",
        "append when a trial ends, not when the sweep does",
    )


@two
def test_it_sleeps_while_a_trial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that keeps polling takes a core from the trials."""

    def slow(config: Any, home: Path) -> None:
        time.sleep(1.0)
        write_loss(home, config)

    asked, waitpid = [0], os.waitpid

    def counted(pid: int, options: int) -> tuple[int, int]:
        asked[0] += 1
        return waitpid(pid, options)

    monkeypatch.setattr(os, "waitpid", counted)
    sweep([0.5], starter(slow), tmp_path, workers=1)
    assert asked[0] < 2000, (
        f"while one trial ran, your code checked {asked[0]} times whether it had ended, limit 2000:"
        " wait for the sentinels of the processes"
    )


def mixed(config: Any, home: Path) -> None:
    """Succeed, exit with a code, die by a signal, or write a loss and then fail."""
    if config == "loss, then 1":
        write_loss(home, 0.25)
    if config == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif config != "good":
        os._exit(int(config[-1]))
    write_loss(home, 0.5)


@three
@pytest.mark.parametrize("workers", [1, 3])
def test_a_trial_that_fails(tmp_path: Path, workers: int) -> None:
    """Its entry has its exit code, -9 if it was killed; the others still run."""
    yours = sweep(
        ["exit 3", "good", "killed", "loss, then 1", "good"], starter(mixed), tmp_path, workers
    )
    results: list[dict[str, float]] = [
        {"exit": 3},
        {"loss": 0.5},
        {"exit": -9},
        {"exit": 1},
        {"loss": 0.5},
    ]
    right = [{"trial": number, **result} for number, result in enumerate(results)]
    compare(yours, right, "five trials, three of which fail", "exitcode of the process")


@three
@pytest.mark.parametrize("left", [None, "", "{", "null"])
def test_a_trial_without_a_loss(tmp_path: Path, left: str | None) -> None:
    """It exits with 0 but wrote no loss or half of one; the next one still runs."""

    def careless(config: Any, home: Path) -> None:
        if config == 1:
            squared(config, home)
        elif left is not None:
            (home / "loss.json").write_text(left, encoding="utf-8")

    yours = sweep([0, 1], starter(careless), tmp_path, workers=1)
    right = [{"trial": 0, "exit": 0}, {"trial": 1, "loss": 1.0}]
    compare(yours, right, f"a trial that ends with 0 and leaves {left!r}", "loss_in raises")


@three
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_sweep_that_fails_leaves_no_process(tmp_path: Path, error: type[BaseException]) -> None:
    """The third trial cannot start: the error propagates, and the first two are killed."""

    def endless(config: Any, home: Path) -> None:
        (home / "begun").touch()
        time.sleep(3600)

    made: list[BaseProcess] = []
    plain = starter(endless)

    def start(config: Any, home: Path) -> BaseProcess:
        if config == 2:
            for number in range(2):
                await_file(tmp_path / str(number) / "begun")
            raise error("no third process")
        made.append(plain(config, home))
        return made[-1]

    with pytest.raises(error, match="no third process"):
        pytest.fail(
            f"`start` raises {error.__name__} for the third trial, but your code returns"
            f" {sweep([0, 1, 2], start, tmp_path, workers=3)}, expected the error to propagate"
        )
    left = [process.pid for process in made if is_there(process.pid)]
    assert not left, (
        f"your code leaves the processes {left} running or not joined, expected none, whatever"
        " error ended the sweep"
    )
    compare(read(tmp_path / "journal.jsonl"), [], "the journal", "they have not run to their end")


@three
def test_a_journal_that_fails_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trial 0 ends and its entry cannot be written while trial 1 is still running."""

    def fsync(_file: Any) -> None:
        raise OSError("disk on fire")

    def endless(config: Any, home: Path) -> None:
        if config == 1:
            (home / "begun").touch()
            time.sleep(3600)
        await_file(tmp_path / "1" / "begun")
        write_loss(home, 0.5)

    made: list[BaseProcess] = []
    plain = starter(endless)

    def start(config: Any, home: Path) -> BaseProcess:
        made.append(plain(config, home))
        return made[-1]

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="disk on fire"):
        pytest.fail(
            "os.fsync raises OSError for each entry, but your code returns"
            f" {sweep([0, 1], start, tmp_path, workers=2)}, expected the error to propagate:"
            " otherwise nobody learns that the entries may be lost"
        )
    left = [process.pid for process in made if is_there(process.pid)]
    assert not left, f"after os.fsync raised, your code leaves {left}, expected no process"


@four
def test_what_has_an_entry_is_not_run_again(tmp_path: Path) -> None:
    """Repeating the call returns the same, starts nothing, and writes nothing."""
    trials = ["good", "exit 3", "killed", "good"]
    first = sweep(trials, starter(mixed), tmp_path, workers=2)
    before = (tmp_path / "journal.jsonl").read_bytes()
    again = sweep(trials, starter(mixed), tmp_path, workers=2)
    compare(again, first, "the same sweep again", "its entries are in the journal")
    counts = starts(tmp_path, 4)
    compare(counts, [1] * 4, "starts of each trial", "what has failed has been run, too")
    after = (tmp_path / "journal.jsonl").read_bytes()
    compare(after, before, "the journal", "nothing new is to be written")


@four
def test_a_torn_entry_is_run_again(tmp_path: Path) -> None:
    """The line of trial 1 is torn, and trial 2 has a line before it."""
    journal = tmp_path / "journal.jsonl"
    written(journal, [{"trial": 2, "loss": 7.0}])
    with journal.open("a", encoding="utf-8") as file:
        file.write('{"trial": 1, "lo')
    yours = sweep([3, 4, 5], starter(squared), tmp_path, workers=1)
    right = [{"trial": 0, "loss": 9.0}, {"trial": 1, "loss": 16.0}, {"trial": 2, "loss": 7.0}]
    compare(yours, right, "trial 2 is done, the line of trial 1 torn", "0 and 1 are to be run")
    compare(
        starts(tmp_path, 3),
        [1, 1, 0],
        "starts of each trial",
        "what has no whole line",
    )


def killed_when(path: Path, run: Callable[[], object]) -> None:
    """Run a sweep in a process, and kill it with its trials once a file exists."""

    def leader() -> None:
        os.setpgid(0, 0)
        run()

    process = FORK.Process(target=leader)
    process.start()
    assert process.pid is not None
    has_come = await_file(path, process)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    assert has_come, f"{path} did not appear within {PATIENCE} seconds: was every trial started?"


@four
def test_kill_minus_nine(tmp_path: Path) -> None:
    """Sweep and trials are killed while trials 2 and 3 run; then the call is repeated."""

    def stuck(config: Any, home: Path) -> None:
        if config >= 2 and not (tmp_path / "second").exists():
            (home / "begun").touch()
            await_file(tmp_path / str(5 - config) / "begun")
            (tmp_path / "both").touch()
            time.sleep(3600)
        squared(config, home)

    trials = [0, 1, 2, 3, 4]
    killed_when(tmp_path / "both", lambda: sweep(trials, starter(stuck), tmp_path, workers=2))
    compare(starts(tmp_path, 5), [1, 1, 1, 1, 0], "starts before the kill", "two at once")
    (tmp_path / "second").touch()
    yours = sweep(trials, starter(stuck), tmp_path, workers=2)
    right = [{"trial": number, "loss": float(number**2)} for number in range(5)]
    compare(yours, right, "after kill -9, the same call", "every trial has its loss")
    compare(starts(tmp_path, 5), [1, 1, 2, 2, 1], "starts", "those that ran are started again")


def train(rate: float, home: Path, stop: Path | None = None) -> None:
    """Train with momentum and random data for eight steps, with a checkpoint after each."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.ones(4, dtype=torch.float64).sqrt() / 3
    momentum, steps = torch.zeros_like(weight), 0
    if (home / "checkpoint.pt").exists():
        weight, momentum, steps, state = torch.load(home / "checkpoint.pt")
        generator.set_state(state)
    while steps < 8:
        x = torch.randn(4, generator=generator, dtype=torch.float64)
        momentum = 0.9 * momentum + (weight @ x - 1) * x
        weight = weight - rate * momentum
        steps += 1
        torch.save((weight, momentum, steps, generator.get_state()), home / "new.pt")
        (home / "new.pt").replace(home / "checkpoint.pt")
        if stop and steps == 3:
            stop.touch()
            time.sleep(3600)
    write_loss(home, float(weight.square().sum()))


@four
def test_training_goes_on_bit_for_bit(tmp_path: Path) -> None:
    """A torch trial killed after three of eight steps ends with the loss of an uninterrupted one.

    Its checkpoint is in its home, and the resumed sweep has left it there.
    """
    rates = [0.01, 0.02]
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole = sweep(rates, starter(train), tmp_path / "whole", workers=1)
    stop, folder = tmp_path / "stop", tmp_path / "killed"

    def stopping(config: Any, home: Path) -> None:
        train(config, home, stop)

    killed_when(stop, lambda: sweep(rates, starter(stopping), folder, workers=1))
    assert torch.load(folder / "0" / "checkpoint.pt")[2] == 3, (
        "the checkpoint in folder 0 is not that of step 3, which the killed trial wrote there"
    )
    yours = sweep(rates, starter(train), folder, workers=1)
    compare(
        yours,
        whole,
        "losses of two trials, one of them killed and resumed",
        "trial 0 goes on from the checkpoint in its home",
    )
