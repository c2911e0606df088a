"""Tests of k13_answered: a torn journal, threads that ask at once, a server that is killed."""

from __future__ import annotations

import gc
import http.client
import json
import multiprocessing
import os
import threading
import time
from typing import TYPE_CHECKING
from typing import Any

import pytest

from katas.lecture16.k13_answered import Journal
from katas.lecture16.k13_answered import ReusedError
from katas.lecture16.k13_answered import answer
from katas.lecture16.k13_answered import server


if TYPE_CHECKING:
    from pathlib import Path


class Model:
    """Doubles x and adds the number of the call, so that no two answers are the same."""

    def __init__(self) -> None:
        self.calls = 0
        self.fails = False

    def __call__(self, x: list[float]) -> list[float]:
        """Answer."""
        self.calls += 1
        if self.fails:
            raise RuntimeError("out of memory")
        return [2 * value + self.calls for value in x]


def lines(path: Path) -> list[Any]:
    """Return the entries of a journal."""
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n"), f"the journal's last line has no newline: {text[-80:]!r}"
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            raise AssertionError(
                f"this line of the journal is no JSON: {line!r}. Half a line was left in the file,"
                " and the next entry was glued to it"
            ) from None
    return found


def restarted(path: Path) -> Journal:
    """Return a new journal for a file."""
    __tracebackhide__ = True
    try:
        return Journal(path)
    except ValueError as error:
        raise AssertionError(
            f"your Journal cannot read what a kill has left: {error}. An entry counts if its line"
            f" has an end, and the file ends with {path.read_bytes()[-40:]!r}"
        ) from None


def test_one_run_for_an_id(tmp_path: Path) -> None:
    """Asked again, it returns the first answer; a different id is a different request."""
    journal, model = Journal(tmp_path / "journal"), Model()
    first = answer(journal, model, "a", [1.0, 2.0])
    again = answer(journal, model, "a", [1.0, 2.0])

    assert first == [3.0, 5.0], f"yours {first}, expected [3.0, 5.0]"
    assert again == first, f"asked again, your code answers {again}, expected {first}"
    assert model.calls == 1, f"the model ran {model.calls} times, expected 1 for one id"
    assert answer(journal, model, "b", [1.0, 2.0]) == [4.0, 6.0], (
        "b is a different request: expected [4.0, 6.0]"
    )


def test_what_is_in_the_journal(tmp_path: Path) -> None:
    """The journal has a line for each id as soon as it is answered."""
    path = tmp_path / "journal"
    journal = Journal(path)
    answer(journal, Model(), "a", [0.5])
    expected = [{"id": "a", "x": [0.5], "answer": [2.0]}]

    assert lines(path) == expected, f"the file contains {lines(path)}, expected {expected}"
    answer(journal, Model(), "a", [0.5])
    assert lines(path) == expected, "expected no second line for an answer that is already known"


def test_it_is_on_disk_before_it_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fsync has written survives a power cut."""
    journal, model = Journal(tmp_path / "journal"), Model()
    seen: list[tuple[bool, int]] = []

    def fsync(file: Any) -> None:
        seen.append(("a" in journal.known, (tmp_path / "journal").stat().st_size))

    monkeypatch.setattr(os, "fsync", fsync)
    answer(journal, model, "a", [1.0])
    assert seen, "os.fsync is not called: a power cut loses what the system has not yet written"
    assert not seen[0][0], "the answer was in `known` before it was on disk"
    assert seen[0][1], "os.fsync is called while the line is in Python's buffer: flush first"


def test_a_restart(tmp_path: Path) -> None:
    """A new journal of the same file knows everything, and goes on."""
    path = tmp_path / "journal"
    first = answer(Journal(path), Model(), "a", [1.0])
    journal, model = Journal(path), Model()
    model.calls = 7

    assert answer(journal, model, "a", [1.0]) == first, "after a restart the answer is different"
    assert model.calls == 7, (
        "after a restart the model runs again for an id that had already been answered"
    )
    answer(journal, model, "b", [1.0])
    assert [each["id"] for each in lines(path)] == ["a", "b"], (
        "expected lines for a and b: append new entries"
    )


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk takes half a line: nothing counts as answered, and the next entry is whole."""
    path = tmp_path / "journal"
    journal, model = Journal(path), Model()
    answer(journal, model, "a", [1.0])
    before = path.stat().st_size

    def full(file: Any) -> None:
        os.truncate(path, (before + path.stat().st_size) // 2)
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space"):
            answer(journal, model, "b", [1.0])
    assert "b" not in journal.known, "the disk was full, but your journal has b in `known`"
    answer(journal, model, "c", [1.0])

    assert [each["id"] for each in lines(path)] == ["a", "c"], "the file should contain a and c"
    assert [*restarted(path).known] == ["a", "c"], (
        "after the next restart, `known` should have a and c"
    )


@pytest.mark.parametrize("kept", [1, 20, -1])
def test_half_a_line(tmp_path: Path, kept: int) -> None:
    """Killed while it wrote b: b was not answered, and its half must not spoil the next line."""
    path = tmp_path / "journal"
    journal = Journal(path)
    for ident in ("a", "b"):
        answer(journal, Model(), ident, [1.0])
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:kept])
    journal, model = restarted(path), Model()

    assert [*journal.known] == ["a"], (
        f"the file ended with {second[:kept]!r}, a line without a newline: that is not an answer,"
        f" but your journal knows {[*journal.known]}"
    )
    left = path.read_bytes()
    assert left == first, (
        f"after the restart the file contains {left!r}, expected only the whole line"
    )
    answer(journal, model, "c", [1.0])
    assert [each["id"] for each in lines(path)] == ["a", "c"], (
        "the file should contain a and c, not b"
    )
    assert [*restarted(path).known] == ["a", "c"], "the next restart does not read c"


def test_an_id_with_another_request(tmp_path: Path) -> None:
    """A client that reuses an id gets an error, and nothing runs; a longer x differs as well."""
    journal, model = Journal(tmp_path / "journal"), Model()
    answer(journal, model, "a", [1.0])
    for other in ([2.0], [1.0, 2.0], []):
        try:
            said = f"nothing, and returns {answer(journal, model, 'a', other)}"
        except ReusedError:
            continue
        raise AssertionError(
            f"a was asked with [1.0], and now with {other}: your code raises {said}"
        )

    assert model.calls == 1, "the model ran for a request that should be refused"


def again(journal: Journal, run: Any, x: list[float]) -> list[float]:
    """Ask for "a" once more, with the same x."""
    __tracebackhide__ = True
    try:
        return answer(journal, run, "a", x)
    except ReusedError as error:
        raise AssertionError(
            f"asked again with the same x, {x}, your code says that it differs; known is"
            f" {journal.known['a']}. The error: {error}"
        ) from None


def test_nan_asks_the_same_again(tmp_path: Path) -> None:
    """NaN is not equal to NaN, but the request is the same, after a restart too."""
    path, model = tmp_path / "journal", Model()
    answer(Journal(path), model, "a", [1.0, float("nan")])
    for journal in (Journal(path), Journal(path)):
        found = again(journal, model, [1.0, float("nan")])
        assert found[0] == 3.0, f"your code answers {found}, but the first answer was [3.0, nan]"
        assert found[1] != found[1], (
            f"your code answers {found}, but the first answer was [3.0, nan]"
        )

    assert model.calls == 1, f"the model ran {model.calls} times, expected 1 for one id"


def test_lists_that_change(tmp_path: Path) -> None:
    """The model sorts in place, and the caller uses its lists again."""
    journal, x = Journal(tmp_path / "journal"), [3.0, 1.0]

    def run(values: list[float]) -> list[float]:
        values.sort()
        return values

    first = answer(journal, run, "a", x)
    assert x == [3.0, 1.0], f"the caller's x is now {x}: give `run` a list of its own"
    x.append(7.0)
    first.append(7.0)
    found = again(journal, run, [3.0, 1.0])

    assert found == [1.0, 3.0], (
        f"the caller modified the first answer, and the second changed with it: {found}"
    )


def test_a_run_that_fails(tmp_path: Path) -> None:
    """A failed run is no answer: nothing is recorded, and the client may ask again."""
    journal, model = Journal(tmp_path / "journal"), Model()
    model.fails = True
    with pytest.raises(RuntimeError, match="out of memory"):
        answer(journal, model, "a", [1.0])
    model.fails = False

    assert answer(journal, model, "a", [1.0]) == [4.0], "asked again, the model should run"
    assert not journal.lock.locked(), "the lock is still held"


def test_two_threads_with_one_id(tmp_path: Path) -> None:
    """A client that is impatient asks twice at once: one run, one line."""
    path, calls = tmp_path / "journal", []
    journal = Journal(path)

    def slow(x: list[float]) -> list[float]:
        calls.append(x)
        time.sleep(0.05)
        return x

    def ask() -> None:
        answer(journal, slow, "a", [1.0])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert len(calls) == 1, (
        f"the model ran {len(calls)} times, expected 1 for four threads with one id"
    )
    assert len(lines(path)) == 1, f"the journal has {len(lines(path))} lines, expected 1"


def test_what_the_client_is_told(tmp_path: Path) -> None:
    """200 with the answer, 409 for an id that is reused, 500 for a model that fails."""

    def run(x: list[float]) -> list[float]:
        if x == [0.0]:
            raise ValueError("0 has no logarithm")
        return x

    serving = server(Journal(tmp_path / "journal"), run)
    thread = threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    requests = [("a", [1.0]), ("a", [2.0]), ("b", [0.0]), ("a", [1.0])]
    try:
        found = [asked(serving.server_port, ident, x) for ident, x in requests]
    finally:
        serving.shutdown()
        serving.server_close()
        thread.join(10)

    expected = [200, 409, 500, 200]
    assert [status for status, _ in found] == expected, (
        f"the server answers {found}, expected {expected}: do not report a ValueError from"
        " the model as a reused id"
    )


def live(path: Path, port: Any, calls: Path) -> None:
    """Serve in a process of its own until it is killed; record each run."""
    # Do not collect garbage from other katas: the end of a session waits for threads that a fork
    # lacks.
    gc.freeze()

    def run(x: list[float]) -> list[float]:
        with calls.open("a", encoding="utf-8") as file:
            file.write("run\n")
        return [value + len(calls.read_text(encoding="utf-8")) for value in x]

    serving = server(Journal(path), run)
    port.send(serving.server_port)
    serving.serve_forever()


@pytest.mark.parametrize("requests", [1, 20])
def test_killed_and_restarted(tmp_path: Path, requests: int) -> None:
    """After kill -9 a client gets the same answer as before, and the model ran once for each id."""
    path, calls = tmp_path / "journal", tmp_path / "calls"
    forked = multiprocessing.get_context("fork")
    answers: list[list[Any]] = []
    for _ in range(2):
        here, there = forked.Pipe()
        process = forked.Process(target=live, args=(path, there, calls), daemon=True)
        process.start()
        # Close this end, so that `recv` fails at once if the server does not start.
        there.close()
        try:
            try:
                port = here.recv() if here.poll(20) else None
            except EOFError:
                port = None
            assert port, "the server does not start: its error is in the captured output"
            answers.append([asked(port, f"id{number}", [0.5]) for number in range(requests)])
        finally:
            process.kill()
            process.join(10)
    before, after = answers

    assert {status for status, _ in before} == {200}, (
        f"the server answered {before}, expected status 200"
    )
    assert after == before, f"the answers were {before} before the kill, {after} after it"
    runs = len(calls.read_text(encoding="utf-8").splitlines())
    assert runs == requests, (
        f"the model ran {runs} times, expected {requests} before and after the restart together"
    )


def asked(port: int, ident: str, x: list[float]) -> tuple[int, Any]:
    """Return status and answer of a request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", f"/{ident}", json.dumps(x))
    response = connection.getresponse()
    found = (response.status, json.loads(response.read()))
    connection.close()
    return found
