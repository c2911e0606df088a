"""Tests of k10_futures: the same program runs with your futures and with PyTorch's."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture11 import k10_futures as kata
from katas.lecture11.k10_futures import AGAIN
from katas.lecture11.k10_futures import Future
from katas.lecture11.k10_futures import fork
from plugins.kit import forbids
from plugins.kit import freed
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


WHERE = "read then in torch/futures/__init__.py, and the docstrings of your Future"
SECONDS = 5


def within(program: Callable[[], Any], name: str = "mine") -> Any:
    """Run a program in a thread of its own, and return its result, or report that it hangs."""
    found: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            found.append(program())
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive(), (
        f"your code hangs: which thread holds the lock, or is never woken? {WHERE}"
    )
    if errors:
        raise errors[0]
    return found[0]


def outcome(future: Any) -> str:
    """Return a future's value, or the type and text of its error."""
    try:
        return f"value {future.wait()!r}"
    except (ArithmeticError, ValueError) as error:
        return f"{type(error).__name__} {error}"


def compare(program: Callable[[Any], list[Any]], why: str) -> None:
    """Run a program with your Future and with PyTorch's; it returns the events in order."""
    yours = within(lambda: program(Future))
    theirs = within(lambda: program(torch.futures.Future))
    assert yours == theirs, f"yours     {yours}\nPyTorch's {theirs}\n{why}; {WHERE}"


def in_thread(function: Callable[..., Any], *arguments: Any) -> None:
    """Call a function in another thread, named "other", and wait for the thread."""
    within(lambda: function(*arguments), name="other")


def here() -> str:
    """Return this thread's name: mine, or other."""
    return threading.current_thread().name


class Slow(threading.Event):
    """An event that lets another thread run first: when first checked, or before or after set."""

    def __init__(self, moment: str, meanwhile: Callable[[], Any]) -> None:
        super().__init__()
        self.moment = moment
        self.thread = threading.Thread(target=meanwhile, daemon=True)

    def overtaken(self, moment: str) -> None:
        """Give the other thread half a second, once."""
        if moment == self.moment:
            self.moment = ""
            self.thread.start()
            self.thread.join(0.5)

    def ended(self) -> None:
        """Wait for the other thread; start it now if nothing has checked or set the event."""
        if self.thread.ident is None:
            self.thread.start()
        self.thread.join()

    def is_set(self) -> bool:
        """Return the state from before the other thread ran."""
        answer = super().is_set()
        self.overtaken("asked")
        return answer

    def set(self) -> None:
        """Set the event, with a chance for the other thread before and after."""
        self.overtaken("before set")
        super().set()
        self.overtaken("after set")


def test_a_value() -> None:
    """A future is pending, then done; each wait returns the value."""

    def program(kind: Any) -> list[Any]:
        future = kind()
        events = [future.done()]
        future.set_result(41)
        return [*events, future.done(), future.wait(), future.wait()]

    compare(program, "set_result makes it done, and wait returns what was set")


def test_wait_waits() -> None:
    """If a thread completes the future later, wait returns only then."""

    def program() -> Any:
        future = Future()
        timer = threading.Timer(0.2, future.set_result, ["late"])
        timer.start()
        try:
            return future.wait()
        finally:
            timer.cancel()

    yours = within(program)
    assert yours == "late", (
        f"yours {yours!r}, expected 'late': wait returned before the future was done"
    )


def test_an_error() -> None:
    """Each wait raises the error that was set, even one that is falsy."""

    class EmptyError(ValueError):
        def __len__(self) -> int:
            return 0

    def program() -> list[Any]:
        error, future, caught = EmptyError("boo"), Future(), []
        future.set_exception(error)
        for _ in range(2):
            try:
                caught.append(future.wait())
            except ValueError as found:
                caught.append(found is error)
        return [future.done(), *caught]

    yours = within(program)
    assert yours == [True, True, True], f"yours {yours}, expected done, and the error itself twice"


@pytest.mark.parametrize("first", [1, None, ValueError("first")], ids=["1", "None", "error"])
def test_completed_only_once(first: Any) -> None:
    """A second completion raises, and changes neither value nor error nor callbacks."""
    failed = isinstance(first, Exception)

    def complete(future: Future, value: Any) -> None:
        (future.set_exception if isinstance(value, Exception) else future.set_result)(value)

    def program() -> list[Any]:
        future, events = Future(), []
        if not failed:
            future.then(lambda _: events.append("called"))
        complete(future, first)
        for again in (2, ValueError("second")):
            try:
                complete(future, again)
            except RuntimeError as error:
                events.append(str(error))
        return [outcome(future), *events]

    yours = within(program)
    kept = [f"ValueError {first}"] if failed else [f"value {first!r}", "called"]
    expected = [*kept, AGAIN, AGAIN]
    assert yours == expected, (
        f"completed with {first!r}, then with 2, then with an error\nyours    {yours}\n"
        f"expected {expected}: keep the first outcome, call back once, and raise for each later one"
    )


def test_a_callback_of_a_done_future() -> None:
    """The callback runs inside the call of then, in the calling thread."""

    def program(kind: Any) -> list[Any]:
        future = kind()
        events: list[Any] = []
        in_thread(future.set_result, 3)
        later = future.then(lambda f: events.append(("called", here(), f.wait())))
        return [*events, "then has returned", later.done()]

    compare(program, "the thread that set the result is gone: the caller of then runs it")


def test_callbacks_of_a_pending_future() -> None:
    """Callbacks run in the completing thread, in order, once it is done."""

    def program(kind: Any) -> list[Any]:
        future = kind()
        events: list[Any] = []
        for number in range(3):
            future.then(lambda f, n=number: events.append((n, here(), f.done(), f.wait())))
        events.append("not yet")
        in_thread(future.set_result, 3)
        return events

    compare(program, "the thread that completes the future runs its callbacks")


def test_a_chain() -> None:
    """Each then returns its own future, done when its callback has returned."""

    def program(kind: Any) -> list[Any]:
        first = kind()
        second = first.then(lambda f: f.wait() + 1)
        third = second.then(lambda f: [f is second, f.wait() * 10])
        events = [first.done(), second.done(), third.done()]
        first.set_result(1)
        # PyTorch makes a new Python object for the callback; yours may pass itself.
        return [*events, third.done(), second.wait(), third.wait()[1], second is first]

    compare(program, "a then returns another future, which its callback completes")


def test_a_callback_uses_its_future() -> None:
    """A callback calls wait and then; inner callbacks find a done future, and run immediately."""

    def program(kind: Any) -> list[Any]:
        future = kind()
        events: list[Any] = []

        def callback(f: Any) -> None:
            f.then(lambda inner: inner.then(lambda last: events.append(("inner", last.wait()))))
            events.append("outer")

        future.then(callback)
        future.then(lambda _: events.append("second"))
        future.set_result(7)
        return events

    compare(program, "run callbacks without the lock: one of them may want it")


def test_an_error_in_a_callback() -> None:
    """A callback's error completes its own future; its thread and other callbacks go on."""

    def program() -> list[Any]:
        future, calls = Future(), []
        broken = future.then(lambda _: 1 / 0)
        future.then(lambda _: calls.append("second"))
        future.set_result(0)
        later = future.then(lambda _: int("x"))
        return [outcome(future), *calls, outcome(broken), outcome(later).split()[0]]

    yours = within(program)
    expected = ["value 0", "second", "ZeroDivisionError division by zero", "ValueError"]
    assert yours == expected, f"yours    {yours}\nexpected {expected}\n{WHERE}"


def test_a_callback_that_does_not_look() -> None:
    """A callback may ignore its future's error; one that calls wait passes it on."""

    def program(kind: Any) -> list[Any]:
        future, calls = kind(), []
        blind = future.then(lambda _: calls.append("called"))
        future.then(lambda f: calls.append(outcome(f)))
        future.set_exception(ValueError("lost"))
        late = future.then(lambda _: calls.append("late"))
        return [outcome(blind), outcome(late), outcome(future), *calls]

    compare(program, "a callback runs after an error, too, and what it returns is a result")


@pytest.mark.given
def test_a_callback_error_in_pytorch() -> None:
    """PyTorch keeps the text of a callback's error, but not its type."""
    future: torch.futures.Future[int] = torch.futures.Future()
    broken = future.then(lambda _: 1 // 0)
    future.set_result(0)
    with pytest.raises(RuntimeError, match="ZeroDivisionError: ") as caught:
        broken.wait()
    assert caught.type is RuntimeError, f"PyTorch's is a {caught.type}, expected a RuntimeError"


def test_no_callback_is_lost() -> None:
    """A future may be completed just after then sees it pending, or the other way round."""

    def asked() -> list[Any]:
        future, calls = Future(), []
        future._done = slow = Slow("asked", lambda: future.set_result(5))  # noqa: SLF001 - given
        future.then(lambda f: calls.append(f.wait()))
        slow.ended()
        return calls

    def completed() -> list[Any]:
        future, calls = Future(), []
        other = Slow("before set", lambda: future.then(lambda f: calls.append(f.wait())))
        future._done = other  # noqa: SLF001 - given
        future.set_result(5)
        other.ended()
        return calls

    yours = within(asked)
    assert yours == [5], f"yours ran {yours}, expected [5]: check and append under one lock"
    yours = within(completed)
    assert yours == [5], (
        f"yours ran {yours}, expected [5]: then was called just before _done.set(), and found a"
        " future that was not done but would run no more callbacks; call set() under the lock"
    )


def test_two_threads_complete_it() -> None:
    """If two threads complete a future at once, one succeeds and one gets the error."""

    def program(moment: str) -> list[Any]:
        future, errors = Future(), []

        def complete(value: int) -> None:
            try:
                future.set_result(value)
            except RuntimeError as error:
                errors.append(str(error))

        future._done = slow = Slow(moment, lambda: complete(2))  # noqa: SLF001 - given
        complete(1)
        slow.ended()
        return [future.wait(), *errors]

    def waiting() -> list[Any]:
        future, values = Future(), []
        slow = Slow("after set", lambda: values.append(future.wait()))
        future._done = slow  # noqa: SLF001 - given
        future.set_result(3)
        slow.ended()
        return values

    for moment in ("asked", "before set"):
        yours = within(partial(program, moment))
        assert yours == [1, AGAIN], (
            f"yours {yours}, expected {[1, AGAIN]}: another thread ran when _done was {moment}; "
            "check, store and set under one lock"
        )
    values = within(waiting)
    assert values == [3], (
        f"a thread woken by set() got {values}, expected [3]: store the value first"
    )


def test_it_lets_go_of_its_callbacks() -> None:
    """Objects held by a callback are freed after it runs, even if the future lives on."""
    futures: list[Future] = []

    def make(late: bool) -> torch.Tensor:  # noqa: FBT001 - a parameter
        held, future = torch.ones(3), Future()
        if late:
            future.set_result(None)
        later = future.then(lambda _: held.sum())
        if not late:
            future.set_result(None)
        futures.extend((future, later))
        return held

    for late, when in ((False, "before"), (True, "after")):
        freed(
            partial(make, late),
            f"A callback that has run holds it: then was called {when} set_result, and one of your"
            " two futures keeps the callback",
        )
    done = [each.done() for each in futures]
    assert all(done), f"of four futures your code completed {done}, expected all"


def test_fork_runs_beside() -> None:
    """The function runs in a daemon thread, with its arguments, after fork has returned."""

    def program() -> list[Any]:
        gate = threading.Event()

        def work(a: int, b: int) -> list[Any]:
            gate.wait(SECONDS)
            return [a - b, threading.current_thread() is caller]

        caller = threading.current_thread()
        future = fork(work, 7, 3)
        failed = outcome(fork(lambda: 1 / 0))
        pending = not future.done()
        gate.set()
        return [pending, *future.wait(), failed]

    yours = within(program)
    expected = [True, 4, False, "ZeroDivisionError division by zero"]
    assert yours == expected, f"yours    {yours}\nexpected {expected}"
    # Threads started by a daemon are daemons, so a non-daemon thread starts this one.
    daemon = fork(lambda: threading.current_thread().daemon).wait()
    assert daemon is True, "your thread is not a daemon, so Python cannot exit before it ends"


@pytest.mark.parametrize("mode", [False, True])
def test_fork_takes_the_grad_mode_along(mode: bool) -> None:  # noqa: FBT001 - a parameter
    """A new thread starts with grad mode on; the caller's mode must not change."""
    x = torch.tensor([2.0, 3.0], requires_grad=True)

    def program() -> Any:
        with torch.set_grad_enabled(mode), unchanged(x=x):
            y = fork(lambda: x * 2)
            return y.wait().requires_grad

    with forbids(kata, "torch.futures", "torch.jit", "concurrent.futures", "asyncio"):
        yours = within(program)
    assert yours == mode, (
        f"grad mode was {mode}, in your thread it is {yours}: set the caller's mode in the thread"
    )
