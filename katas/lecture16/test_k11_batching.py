"""Tests of k11_batching: calls are counted and recorded, on a clock that the tests set."""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures import InvalidStateError
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
import pytest

from katas.lecture16.conftest import model_of
from katas.lecture16.conftest import session
from katas.lecture16.k11_batching import Batcher


if TYPE_CHECKING:
    from collections.abc import Sequence


class Model:
    """Squares each row, and records the rows of each call."""

    def __init__(self) -> None:
        self.calls: list[list[float]] = []
        self.fails = False

    def __call__(self, x: Any) -> Any:
        """Answer."""
        self.calls.append([float(value) for value in x[:, 0]])
        if self.fails:
            raise RuntimeError("out of memory")
        return x**2


def rows(*values: float) -> Any:
    """Return a request with a row for each value."""
    return np.array(values, dtype=np.float32)[:, None]


def answered(future: Future[Any], *values: float) -> None:
    """Check an answer."""
    __tracebackhide__ = True
    assert future.done(), f"the request {list(values)} has no answer yet"
    found, expected = future.result(0).tolist(), (rows(*values) ** 2).tolist()
    assert found == expected, f"the answer to {list(values)}: yours {found}, expected {expected}"


def called(model: Model, expected: Sequence[Sequence[float]], why: str) -> None:
    """Check the calls so far."""
    __tracebackhide__ = True
    yours = model.calls
    assert yours == [list(each) for each in expected], (
        f"calls of the model: yours {yours}, expected {[list(each) for each in expected]}. {why}"
    )


def polled(batcher: Batcher, now: float) -> None:
    """Poll after a request was cancelled."""
    __tracebackhide__ = True
    try:
        batcher.poll(now)
    except InvalidStateError as error:
        raise AssertionError(
            f"poll({now}) raises InvalidStateError: your code answers a future that was cancelled,"
            f" or could still be; ask it to run before the call. Python says: {error}"
        ) from None


def test_a_full_batch_runs_at_once() -> None:
    """Three requests take one call, and each gets its own rows."""
    model = Model()
    batcher = Batcher(model, most=4, wait=10)
    first, second = batcher.submit(rows(1), 0), batcher.submit(rows(2, 3), 1)
    called(model, [], "three rows of four wait")
    third = batcher.submit(rows(4), 2)

    called(model, [[1, 2, 3, 4]], "the batch is full with the third request")
    answered(first, 1)
    answered(second, 2, 3)
    answered(third, 4)
    assert batcher.deadline is None, f"nothing waits, but the deadline is {batcher.deadline}"


def test_the_oldest_decides() -> None:
    """Later requests do not put off the deadline, however many come."""
    model = Model()
    batcher = Batcher(model, most=100, wait=4)
    for time in (0, 3):
        batcher.submit(rows(time), time)
        assert batcher.deadline == 4, f"at {time} the deadline is {batcher.deadline}, expected 4"
    batcher.poll(3.9)
    called(model, [], "at 3.9 the oldest has waited for 3.9 of 4")
    batcher.poll(4)

    called(model, [[0, 3]], "at 4 it has waited for 4: that is due")
    batcher.poll(100)
    called(model, [[0, 3]], "nothing waits, and nothing runs")


def test_a_deadline_of_zero() -> None:
    """A request that came at -4 is due at 0."""
    model = Model()
    batcher = Batcher(model, most=100, wait=4)
    batcher.submit(rows(1), -4)
    assert batcher.deadline == 0, f"the deadline is {batcher.deadline}, expected -4 + 4"
    batcher.poll(0)

    called(model, [[1]], "0 is a deadline, None is none")


def test_what_is_due_runs_before_a_request_is_taken_in() -> None:
    """If nobody polled, the next request first runs what is due."""
    model = Model()
    batcher = Batcher(model, most=100, wait=4)
    first = batcher.submit(rows(1), 0)
    second = batcher.submit(rows(2), 5)

    called(model, [[1]], "at 5 the first is due; the second has only come")
    answered(first, 1)
    assert not second.done(), "the second was answered too early"
    assert batcher.deadline == 9, f"the deadline is {batcher.deadline}, expected 5 + 4"


def test_a_request_is_not_split() -> None:
    """The picture: 2 and 1 run when 3 do not fit beside them."""
    model = Model()
    batcher = Batcher(model, most=5, wait=4)
    batcher.submit(rows(1, 2), 0)
    batcher.submit(rows(3), 2)
    third = batcher.submit(rows(4, 5, 6), 3)
    called(model, [[1, 2, 3]], "6 rows are more than 5: those that waited run")
    assert batcher.deadline == 7, f"the deadline is {batcher.deadline}, expected 3 + 4"
    batcher.poll(7)

    called(model, [[1, 2, 3], [4, 5, 6]], "the third waits for itself alone")
    answered(third, 4, 5, 6)


def test_a_request_that_fills_a_batch_alone() -> None:
    """A full request runs at once, after the requests that waited."""
    model = Model()
    batcher = Batcher(model, most=2, wait=4)
    first, second = batcher.submit(rows(1), 0), batcher.submit(rows(2, 3), 0)

    called(model, [[1], [2, 3]], "in the order of the requests")
    answered(first, 1)
    answered(second, 2, 3)


def test_no_wait_at_all() -> None:
    """With a `wait` of 0 a request is due when it comes: nobody has to poll."""
    model = Model()
    batcher = Batcher(model, most=4, wait=0)
    first, second = batcher.submit(rows(1), 0), batcher.submit(rows(2, 3), 0)

    called(model, [[1], [2, 3]], "with a wait of 0, `submit` runs what it has taken in")
    answered(first, 1)
    answered(second, 2, 3)


def test_a_failure_is_that_of_its_batch() -> None:
    """Every request of the batch gets the exception, and the next batch is served."""
    model = Model()
    batcher = Batcher(model, most=2, wait=4)
    model.fails = True
    futures = [batcher.submit(rows(value), 0) for value in (1, 2)]
    for future in futures:
        assert future.done(), "a request of the failed batch waits forever"
        error = future.exception(0)
        assert isinstance(error, RuntimeError), (
            f"a request of the failed batch has {error!r}, expected the RuntimeError"
        )
    model.fails = False
    third = batcher.submit(rows(3, 4), 1)

    answered(third, 3, 4)


def test_cancelled_requests_are_left_out() -> None:
    """If all requests were cancelled, the model is not called."""
    model = Model()
    batcher = Batcher(model, most=9, wait=4)
    first, second = batcher.submit(rows(1), 0), batcher.submit(rows(2), 0)
    first.cancel()
    polled(batcher, 4)
    called(model, [[2]], "the request [1] was cancelled while it waited: leave its row out")
    answered(second, 2)
    batcher.submit(rows(3), 5).cancel()
    polled(batcher, 9)

    called(model, [[2]], "the request [3] was alone, and was cancelled: there is nothing to run")


def test_too_late_to_cancel() -> None:
    """Once its call has begun, a request cannot be cancelled, and is answered."""
    futures: list[Future[Any]] = []
    said: list[bool] = []

    def run(x: Any) -> Any:
        said.append(futures[0].cancel())
        return x**2

    batcher = Batcher(run, most=9, wait=4)
    futures += [batcher.submit(rows(1), 0), batcher.submit(rows(2), 0)]
    polled(batcher, 4)

    assert said == [False], f"cancel() during the call returns {said}, expected one False"
    answered(futures[0], 1)
    answered(futures[1], 2)


def test_a_model_that_asks_again() -> None:
    """A call may submit: that request belongs to the next batch."""
    later: list[Future[Any]] = []

    def run(x: Any) -> Any:
        if not later:
            later.append(batcher.submit(rows(7), 4))
        return x**2

    batcher = Batcher(run, most=9, wait=4)
    first = batcher.submit(rows(1), 0)
    batcher.poll(4)
    answered(first, 1)
    assert not later[0].done(), "the new request should wait for the next batch"
    batcher.poll(8)

    answered(later[0], 7)


def test_a_model_that_asks_again_and_leaves_no_room() -> None:
    """The model's own request is queued when the call ends: x must fit beside it too."""
    calls: list[list[float]] = []

    def run(x: Any) -> Any:
        calls.append([float(value) for value in x[:, 0]])
        if len(calls) == 1:
            batcher.submit(rows(7), 1)
        return x**2

    batcher = Batcher(run, most=2, wait=4)
    batcher.submit(rows(1), 0)
    full = batcher.submit(rows(2, 3), 1)

    assert calls == [[1], [7], [2, 3]], (
        f"calls of the model: yours {calls}, expected [[1], [7], [2, 3]]. The call for [1] asks for"
        " [7], and 7, 2 and 3 are more rows than two"
    )
    answered(full, 2, 3)


def test_calls_are_saved() -> None:
    """160 requests of one row, one each unit of time, with most = 8: 20 calls."""
    model = Model()
    batcher = Batcher(model, most=8, wait=100)
    futures = [batcher.submit(rows(value), value) for value in range(160)]

    assert len(model.calls) <= 20, (
        f"calls: yours {len(model.calls)}, expected at most 20; one for each request would be 160"
    )
    for value, future in enumerate(futures):
        answered(future, value)


@pytest.mark.backend("onnxruntime")
def test_onnx_runtime_behind_it() -> None:
    """Four requests take one call of a session."""
    from onnx import helper  # noqa: PLC0415 - may be missing

    node = helper.make_node("Mul", ["x", "x"], ["y"])
    runs = session(model_of([node], {"x": ["rows", 1]}, {"y": ["rows", 1]}))
    calls = []

    def run(x: Any) -> Any:
        calls.append(len(x))
        return runs.run(None, {"x": x})[0]

    batcher = Batcher(run, most=4, wait=1)
    futures = [batcher.submit(rows(value), 0) for value in (1, 2, 3, 4)]

    assert calls == [4], f"rows in each call: yours {calls}, expected one call with 4 rows"
    for value, future in enumerate(futures, 1):
        answered(future, value)
