"""For the tests only: ranks as threads, which use a store in an order that the test chooses."""

from __future__ import annotations

from functools import partial
from random import Random
from threading import Semaphore
from threading import Thread
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence
    from datetime import timedelta


# An operation that is about to take place: whose it is, and whether it is a wait that runs out.
Option = tuple[bool, int]


class StoppedError(BaseException):
    """Ends a rank whose result is no longer needed."""


class Seat:
    """The store as one rank sees it: each operation takes place when it is this rank's turn."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._go = Semaphore(0)
        # A rank that has not begun may begin.
        self.asked: tuple[str, tuple[Any, ...]] | None = ("begin", ())
        self.answer: Any = None
        self.made: list[str] = []

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"store.{name}: only set, get, add and wait may be used")

    def _ask(self, name: str, *args: Any) -> Any:
        self.made.append(name)
        assert len(self.made) < 5000, (
            f"your code polls the store instead of waiting: its last operations are "
            f"{self.made[-3:]}. get and wait return when the key is there"
        )
        self.asked = (name, args)
        self._turns.paused.release()
        return self.go_on()

    def go_on(self) -> Any:
        """Return the answer when it is this rank's turn."""
        self._go.acquire()
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def reply(self, answer: Any) -> None:
        """Let this rank continue, and return when it asks for something else or has ended."""
        self.asked, self.answer = None, answer
        self._go.release()
        self._turns.paused.acquire()

    def set(self, key: str, value: str | bytes) -> None:
        """Like a store's method."""
        return self._ask("set", key, value)

    def get(self, key: str) -> bytes:
        """Like a store's method."""
        return self._ask("get", [key])

    def add(self, key: str, number: int) -> int:
        """Like a store's method."""
        return self._ask("add", key, number)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Like a store's method."""
        assert not isinstance(keys, str), f"store.wait takes a list of keys; yours is {keys!r}"
        return self._ask("wait", list(keys), timeout)


class Turns:
    """Runs ranks whose operations on one store take place one by one, in a chosen order."""

    def __init__(self, choose: Callable[[list[Option]], Option] = min) -> None:
        self.paused = Semaphore(0)
        self.seats: list[Seat] = []
        self.timeouts: list[tuple[int, timedelta]] = []
        self.ran_out: list[int] = []
        self._choose = choose
        self._data: dict[str, bytes] = {}
        self._counters: set[str] = set()

    def run(self, functions: Sequence[Callable[[Any], Any]]) -> list[Any]:
        """Call each function with its store, and return what they return."""
        self.seats = [Seat(self) for _ in functions]
        self._results: list[Any] = [None] * len(functions)
        self._error: BaseException | None = None
        for number, function in enumerate(functions):
            Thread(target=self._live, args=(number, function), daemon=True).start()
        while self._error is None and any(seat.asked for seat in self.seats):
            options = [option for seat in self.seats for option in self._options(seat)]
            if not options:
                waiting = {n: seat.asked for n, seat in enumerate(self.seats) if seat.asked}
                self._error = AssertionError(
                    f"these of your ranks wait forever for keys that nobody sets: {waiting}"
                )
                break
            runs_out, number = self._choose(options)
            self._serve(self.seats[number], runs_out=runs_out)
        for seat in self.seats:
            if seat.asked:
                seat.reply(StoppedError())
        if self._error:
            raise self._error
        return self._results

    def _live(self, number: int, function: Callable[[Any], Any]) -> None:
        try:
            self.seats[number].go_on()
            self._results[number] = function(self.seats[number])
        except StoppedError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the test's thread
            self._error = self._error or error
        self.paused.release()

    def _options(self, seat: Seat) -> list[Option]:
        number = self.seats.index(seat)
        if seat.asked is None:
            return []
        name, args = seat.asked
        if name in {"begin", "set", "add"} or all(key in self._data for key in args[0]):
            return [(False, number)]
        return [(True, number)] if name == "wait" and args[1] is not None else []

    def _serve(self, seat: Seat, *, runs_out: bool) -> None:
        name, args = seat.asked or ("", ())
        answer: Any = None
        if name == "wait":
            if args[1] is not None:
                self.timeouts.append((self.seats.index(seat), args[1]))
                self.ran_out += [self.seats.index(seat)] if runs_out else []
            answer = RuntimeError("Wait timeout: what a FileStore raises") if runs_out else None
        elif name == "get":
            answer = self._data[args[0][0]]
        elif name == "set":
            key, value = args
            assert key not in self._counters, f"your code sets {key!r}, which is a counter"
            self._data[key] = value.encode() if isinstance(value, str) else value
        elif name == "add":
            key, number = args
            assert key in self._counters or key not in self._data, (
                f"your code adds to {key!r}, which was set: a store would raise, or read it as a"
                " number"
            )
            self._counters.add(key)
            answer = int(self._data.get(key, b"0")) + number
            self._data[key] = b"%d" % answer
        seat.reply(answer)


def slow(rank: int) -> Callable[[list[Option]], Option]:
    """Choose anybody before this rank, and nobody's time runs out while anybody can go on."""
    return lambda options: min(options, key=lambda option: (option[0], option[1] == rank, option))


def anyhow(seed: int) -> Callable[[list[Option]], Option]:
    """Choose at random; time may run out at any moment."""
    return Random(seed).choice  # noqa: S311 - an order, not a secret


def quietly(seed: int) -> Callable[[list[Option]], Option]:
    """Choose at random, and let time run out only when nothing else can happen."""
    choice = anyhow(seed)

    def choose(options: list[Option]) -> Option:
        first = min(options)[0]
        return choice([option for option in sorted(options) if option[0] == first])

    return choose


def of_ranks(work: Callable[..., Any], size: int, *args: Any) -> list[Callable[[Any], Any]]:
    """Return for each rank a function of its store, which calls ``work(store, rank, ...)``."""

    def function(rank: int, store: Any) -> Any:
        return work(store, rank, *args)

    return [partial(function, rank) for rank in range(size)]


def check_cost(turns: Turns, most: int) -> None:
    """Check that no rank asks the store more often."""
    __tracebackhide__ = True
    made = max((seat.made for seat in turns.seats), key=len)
    assert len(made) <= most, (
        f"one of your ranks runs {len(made)} operations, expected at most {most}: {made}"
    )
