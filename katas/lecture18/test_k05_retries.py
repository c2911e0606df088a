"""Tests of k05_retries: exit codes, error files that PyTorch writes, and counted sleeps."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from torch.distributed.elastic.multiprocessing.errors.error_handler import ErrorHandler

from katas.lecture18 import k05_retries as kata


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.fixture
def error_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path where PyTorch writes an error; there is no file yet."""
    file = tmp_path / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(file))
    return file


def record(error: Exception) -> None:
    """Let PyTorch write the file, as its decorator `record` does."""
    try:
        raise error  # noqa: TRY301 - so that it has a traceback
    except Exception as caught:  # noqa: BLE001 - as torch does
        ErrorHandler().record_exception(caught)


def judged(code: int, error_file: Path, right: str, why: str) -> None:
    """Compare a verdict."""
    __tracebackhide__ = True
    try:
        yours = kata.verdict(code, error_file)
    except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        message = f"exit code {code}, {why}: yours raises {error!r}, expected {right!r}"
        raise AssertionError(message) from None
    assert yours == right, f"exit code {code}, {why}: yours {yours!r}, expected {right!r}"


def test_done(error_file: Path) -> None:
    """Code 0 is a success, whatever the file says."""
    judged(0, error_file, "done", "no file")
    record(ValueError("caught, and mended"))
    judged(0, error_file, "done", "and a file")


@pytest.mark.parametrize("code", [-9, 137, -15, 143])
def test_what_was_taken_away(code: int, error_file: Path) -> None:
    """SIGKILL and SIGTERM, in either form, lead to another try; no file is read."""
    judged(code, error_file, "again", "a signal from outside")
    record(ValueError("while it was stopped"))
    judged(code, error_file, "again", "a signal from outside, and a file")


@pytest.mark.parametrize("code", [-11, 139, -6, 134, -2, 130, -1, 129])
def test_other_signals(code: int, error_file: Path) -> None:
    """After a crash or Ctrl-C do not try again, even if the file says OSError."""
    judged(code, error_file, "never", "any other signal")
    record(OSError("no route"))
    judged(code, error_file, "never", "any other signal, and a file")


def test_no_file(error_file: Path) -> None:
    """An unknown cause is tried again; 9, 15 and 128 are codes like 1, not signals."""
    for code in (1, 2, 9, 11, 15, 127, 128):
        judged(code, error_file, "again", "no file")


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError, ModuleNotFoundError])
def test_what_never_goes_away(error: type[Exception], error_file: Path) -> None:
    """PyTorch's file contains the class's name, a colon and the text."""
    for text in ("rate: -1", "", "a\nb"):
        record(error(text))
        for code in (1, 2, 128):
            judged(code, error_file, "never", f"{error.__name__}({text!r})")


def test_what_may_go_away(error_file: Path) -> None:
    """Only the name of the class matters, and it must match in full."""

    class MyValueError(Exception):
        pass

    class ValueErrorAgain(Exception):  # noqa: N818
        pass

    for error in (
        OSError("ValueError: said somebody else"),
        RuntimeError("ValueError"),
        MyValueError("x"),
        ValueErrorAgain("x"),
    ):
        record(error)
        judged(1, error_file, "again", f"{type(error).__name__}: {error}")


def test_other_files(error_file: Path) -> None:
    """A message may be a text, and a process may die while it writes."""
    error_file.write_text(json.dumps({"message": "KeyError: 'lr'"}), encoding="utf-8")
    judged(1, error_file, "never", "a message that is a text")
    error_file.write_text(json.dumps({"message": "ConnectionError: reset"}), encoding="utf-8")
    judged(1, error_file, "again", "a message that is a text")
    error_file.write_text(json.dumps({"message": "AssertionError"}), encoding="utf-8")
    judged(1, error_file, "never", "a message that is a name, without a colon")
    record(ValueError("bad"))
    whole = error_file.read_text("utf-8")
    for text in (whole[: len(whole) // 2], "", "{}", '{"error": "KeyError: 1"}', '{"message": {}}'):
        error_file.write_text(text, encoding="utf-8")
        judged(1, error_file, "again", f"the file holds {text[:40]!r}")


def test_files_without_a_text(error_file: Path) -> None:
    """The JSON may be null, a number or a list, and the file may end within a character."""
    for value in ("null", "5", '["ValueError: 1"]'):
        for text in (value, f'{{"message": {value}}}', f'{{"message": {{"message": {value}}}}}'):
            error_file.write_text(text, encoding="utf-8")
            judged(1, error_file, "again", f"the file holds {text}")
    error_file.write_bytes('{"message": "ValueError: é"}'.encode()[:-3])
    judged(1, error_file, "again", "the file ends after the first of two bytes of 'é'")


class Process:
    """Ends with one code after another, writes the errors to the file, and records what happens."""

    def __init__(self, file: Path, *ends: int | Exception) -> None:
        self.file, self.ends, self.log, self.stale = file, [*ends], list[float | str](), 0

    def start(self) -> int:
        """Return the next code, or 1 after an exception."""
        assert self.ends, (
            f"your code starts the process once more after {self.log}, expected no further try"
        )
        self.stale += self.file.exists()
        self.log.append("start")
        end = self.ends.pop(0)
        if isinstance(end, Exception):
            record(end)
            return 1
        return end

    def sleep(self, seconds: float) -> None:
        """Record the time, and do not wait."""
        self.log.append(seconds)

    def insist(self, **rest: float) -> list[int]:
        """Call your `insist`."""
        codes = kata.insist(self.start, self.file, self.sleep, **rest)  # type: ignore[arg-type]
        assert isinstance(codes, list), f"your code returns {codes!r}, expected a list of codes"
        return codes


def happened(
    process: Process, codes: Sequence[int], log: Sequence[float | str], yours: list[int]
) -> None:
    """Compare codes, starts and sleeps."""
    __tracebackhide__ = True
    assert [*codes] == yours, f"codes: yours {yours}, expected {[*codes]}; {process.log}"
    assert [*log] == process.log, f"starts and sleeps: yours {process.log}, expected {[*log]}"


@pytest.mark.time_limit(5)
def test_one_try_is_enough(error_file: Path) -> None:
    """After a success there is no sleep."""
    process = Process(error_file, 0)
    happened(process, [0], ["start"], process.insist())


@pytest.mark.time_limit(5)
def test_it_goes_away(error_file: Path) -> None:
    """Each sleep is twice as long as the last."""
    process = Process(error_file, -9, OSError("reset"), 0)
    happened(process, [-9, 1, 0], ["start", 1.0, "start", 2.0, "start"], process.insist())


@pytest.mark.time_limit(5)
def test_it_never_goes_away(error_file: Path) -> None:
    """A ValueError ends the loop at once, even after other failures."""
    process = Process(error_file, 137, ValueError("bad"))
    happened(process, [137, 1], ["start", 1.0, "start"], process.insist())
    kept = error_file.exists()
    assert kept, (
        "your code deletes the file of the last try, which says why it ended: expected it to stay"
    )


@pytest.mark.time_limit(5)
def test_all_tries(error_file: Path) -> None:
    """Four starts need three sleeps: after the last try there is nothing to wait for."""
    process = Process(error_file, *[1] * 4)
    log = ["start", 1.0, "start", 2.0, "start", 4.0, "start"]
    happened(process, [1] * 4, log, process.insist())
    process = Process(error_file, 1)
    happened(process, [1], ["start"], process.insist(tries=1))


@pytest.mark.time_limit(5)
def test_sleeps_are_limited(error_file: Path) -> None:
    """The first sleep is `first` seconds, and none exceeds `most`, a minute by default."""
    process = Process(error_file, *[1] * 6)
    log = ["start", 0.7, "start", 1.4, "start", 2.5, "start", 2.5, "start", 2.5, "start"]
    happened(process, [1] * 6, log, process.insist(tries=6, first=0.7, most=2.5))
    process = Process(error_file, *[1] * 9)
    process.insist(tries=9)
    waits = [each for each in process.log if isinstance(each, float | int)]
    right = [1, 2, 4, 8, 16, 32, 60, 60]
    assert right == waits, f"sleeps by default: yours {waits}, expected {right}"
    process = Process(error_file, 1, 0)
    happened(process, [1, 0], ["start", 2.5, "start"], process.insist(first=4.0, most=2.5))


@pytest.mark.time_limit(5)
def test_an_old_file_is_not_read(error_file: Path) -> None:
    """Delete the file of an earlier try or day: the next try may die before it writes its own."""
    record(ValueError("yesterday"))
    process = Process(error_file, 3, OSError("reset"), 3, 0)
    yours = process.insist()
    assert not process.stale, (
        f"your code starts {process.stale} times with an old file still there, expected 0"
    )
    log = ["start", 1.0, "start", 2.0, "start", 4.0, "start"]
    happened(process, [3, 1, 3, 0], log, yours)


@pytest.mark.time_limit(30)
def test_real_processes(error_file: Path, tmp_path: Path) -> None:
    """Two killed processes are tried again, and a Python error with a file is not."""
    kill = "import os; os.kill(os.getpid(), 9)"
    write = f"open({str(error_file)!r}, 'w').write('{{\"message\": \"TypeError: no\"}}'); exit(1)"
    python = [sys.executable, "-S", "-c"]
    commands = [[*python, kill], ["sh", "-c", "sh -c 'kill -9 $$'; exit $?"], [*python, write]]
    rest = iter(commands)

    def start() -> int:
        return subprocess.run(next(rest), check=False, capture_output=True).returncode  # noqa: S603

    yours = kata.insist(start, error_file, lambda _: None)
    assert yours == [-9, 137, 1], f"codes: yours {yours}, expected [-9, 137, 1]"


@pytest.mark.backend("torchx")
@pytest.mark.time_limit(30)
def test_torchx_has_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TorchX sets the path for each replica, and shows the text in the app's status."""
    from torchx.runner import get_runner  # noqa: PLC0415 - may be missing
    from torchx.specs import AppDef  # noqa: PLC0415 - may be missing
    from torchx.specs import Role  # noqa: PLC0415 - may be missing

    monkeypatch.delenv("TORCHELASTIC_ERROR_FILE", raising=False)
    text = '{"message": {"message": "KeyError: 3"}}'
    program = "import os, sys; open(os.environ['TORCHELASTIC_ERROR_FILE'], 'w').write(sys.argv[1])"
    args = ["-S", "-c", program + "; exit(1)", text]
    app = AppDef("app", [Role("r", image="", entrypoint=sys.executable, args=args)])
    with get_runner() as runner:
        handle = runner.run(app, "local_cwd", {"log_dir": str(tmp_path)})
        status = runner.wait(handle, wait_interval=0.05)
    (file,) = tmp_path.rglob("error.json")
    assert json.loads(text) == json.loads(status.structured_error_msg), "TorchX's own text differs"
    judged(1, file, "never", "a replica of TorchX")
