"""The model of streams in lecture 07, and a real GPU where there is one, by the documents' rules.

Each test is a rule, and its docstring names the place where it stands. The guide is NVIDIA's CUDA
C++ Programming Guide, the runtime API the CUDA Runtime API, the notes PyTorch's "CUDA semantics".
Work is short or long; who waited for whom is seen by what is done when, and by no clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.machine.builtin import no_cuda


if TYPE_CHECKING:
    from collections.abc import Callable

    Launch = Callable[[Any, int], None]


pytestmark = pytest.mark.torch
SHORT, LONG = 1, 500
# Of a GPU's clock, for each unit of time: LONG is about 200 ms.
CYCLES = 800_000


class Real:
    """A real GPU, by the names of the model."""

    def __init__(self) -> None:
        import torch  # noqa: PLC0415 - collected without torch, too

        self.torch = torch
        self.default = torch.cuda.default_stream()
        self.synchronize: Callable[[], None] = torch.cuda.synchronize
        self.synchronize()

    def stream(self) -> Any:
        """Return a stream of PyTorch's pool."""
        return self.torch.cuda.Stream()

    def event(self) -> Any:
        """Return an event that is not recorded yet."""
        return self.torch.cuda.Event(enable_timing=True)


@pytest.fixture(params=["model", pytest.param("cuda", marks=pytest.mark.cuda)])
def gpu(request: pytest.FixtureRequest) -> Any:
    """Return the model, and a GPU."""
    if request.param == "cuda":
        if reason := no_cuda():
            pytest.skip(reason)
        return Real()
    from katas.lecture07.conftest import Gpu  # noqa: PLC0415 - imports torch

    return Gpu()


@pytest.fixture
def launch(gpu: Any) -> Launch:
    """Return a function that launches work in a stream."""

    def launch_one(stream: Any, time: int) -> None:
        if isinstance(gpu, Real):
            with gpu.torch.cuda.stream(stream):
                gpu.torch.cuda._sleep(time * CYCLES)  # noqa: SLF001 - PyTorch's tests use it, too
        else:
            stream.launch("work", time)

    return launch_one


def test_a_launch_does_not_block_the_host(gpu: Any, launch: Launch) -> None:
    """Guide, "Asynchronous Concurrent Execution"; notes, "Asynchronous execution"."""
    stream = gpu.stream()
    launch(stream, LONG)

    assert not stream.query()


def test_a_stream_is_in_order(gpu: Any, launch: Launch) -> None:
    """Guide, "Streams": a sequence of commands that execute in order; notes, "CUDA streams"."""
    stream = gpu.stream()
    launch(stream, LONG)
    first = stream.record_event()
    launch(stream, SHORT)
    stream.record_event().synchronize()

    assert first.query()


def test_streams_have_no_order_among_them(gpu: Any, launch: Launch) -> None:
    """Guide, "Streams": different streams may execute out of order; notes, "CUDA streams"."""
    one, other = gpu.stream(), gpu.stream()
    launch(one, LONG)
    launch(other, SHORT)
    other.synchronize()

    assert not one.query()


def test_a_stream_waits_for_an_event_of_another(gpu: Any, launch: Launch) -> None:
    """Runtime API, cudaStreamWaitEvent: all future work waits for the work that it captured."""
    one, other = gpu.stream(), gpu.stream()
    launch(one, LONG)
    event = one.record_event()
    other.wait_event(event)
    launch(other, SHORT)
    other.synchronize()

    assert event.query()


def test_wait_of_an_event_is_the_same(gpu: Any, launch: Launch) -> None:
    """``torch.cuda.Event.wait``: a wrapper around cudaStreamWaitEvent."""
    one, other = gpu.stream(), gpu.stream()
    launch(one, LONG)
    event = gpu.event()
    event.record(one)
    event.wait(other)
    assert not event.query()
    launch(other, SHORT)
    other.synchronize()

    assert event.query()


def test_a_stream_that_waits_does_not_block_the_host(gpu: Any, launch: Launch) -> None:
    """``torch.cuda.Stream.wait_event``: returns without waiting, only the future is affected."""
    one, other = gpu.stream(), gpu.stream()
    launch(one, LONG)
    event = one.record_event()
    other.wait_event(event)

    assert not event.query()
    assert not other.query()


def test_work_of_before_does_not_wait(gpu: Any, launch: Launch) -> None:
    """Runtime API, cudaStreamWaitEvent: it is future work that waits."""
    one, other = gpu.stream(), gpu.stream()
    launch(one, LONG)
    launch(other, SHORT)
    before = other.record_event()
    other.wait_event(one.record_event())
    before.synchronize()

    assert not one.query()


def test_a_wait_adds_to_the_order_of_the_stream(gpu: Any, launch: Launch) -> None:
    """Guide, "Streams", and cudaStreamWaitEvent: the stream's own work comes first all the same."""
    one, other = gpu.stream(), gpu.stream()
    launch(one, SHORT)
    launch(other, LONG)
    before = other.record_event()
    other.wait_event(one.record_event())
    launch(other, SHORT)
    other.record_event().synchronize()

    assert before.query()


def test_an_event_captures_what_was_before_it(gpu: Any, launch: Launch) -> None:
    """Runtime API, cudaEventRecord: the contents of the stream at the time of the call."""
    one, other = gpu.stream(), gpu.stream()
    launch(one, SHORT)
    event = one.record_event()
    launch(one, LONG)
    other.wait_event(event)
    launch(other, SHORT)
    other.synchronize()

    assert not one.query()


def test_a_wait_keeps_the_recording_that_it_saw(gpu: Any, launch: Launch) -> None:
    """Runtime API, cudaEventRecord: later calls change nothing for whoever waits already."""
    one, other = gpu.stream(), gpu.stream()
    event = gpu.event()
    launch(one, SHORT)
    event.record(one)
    other.wait_event(event)
    launch(one, LONG)
    event.record(one)
    launch(other, SHORT)
    other.synchronize()

    assert not event.query()


def test_an_event_that_is_recorded_again_is_moved(gpu: Any, launch: Launch) -> None:
    """Runtime API, cudaEventRecord: it overwrites what the event had captured."""
    stream, other = gpu.stream(), gpu.stream()
    event = stream.record_event()
    event.synchronize()
    assert event.query()
    launch(stream, LONG)
    assert event is stream.record_event(event)
    assert not event.query()
    other.wait_event(event)
    launch(other, SHORT)
    other.synchronize()

    assert stream.query()


def test_an_event_that_was_never_recorded(gpu: Any, launch: Launch) -> None:
    """Runtime API, cudaEventQuery, cudaEventSynchronize, cudaStreamWaitEvent: it is complete."""
    one, other = gpu.stream(), gpu.stream()
    event = gpu.event()
    launch(one, LONG)
    other.wait_event(event)
    launch(other, SHORT)
    other.synchronize()
    event.synchronize()

    assert event.query()
    assert not one.query()


def test_a_stream_waits_for_a_stream(gpu: Any, launch: Launch) -> None:
    """``torch.cuda.Stream.wait_stream``: all future work waits for all that was submitted there."""
    one, other = gpu.stream(), gpu.stream()
    launch(one, LONG)
    launch(one, SHORT)
    other.wait_stream(one)
    assert not one.query()
    before = one.record_event()
    launch(one, LONG)
    launch(other, SHORT)
    other.synchronize()

    assert before.query()
    assert not one.query()


def test_the_host_waits_for_a_stream(gpu: Any, launch: Launch) -> None:
    """Runtime API, cudaStreamSynchronize: for this stream, and no other."""
    one, other = gpu.stream(), gpu.stream()
    launch(one, LONG)
    launch(other, LONG + LONG)
    one.synchronize()

    assert one.query()
    assert not other.query()


def test_the_host_waits_for_an_event(gpu: Any, launch: Launch) -> None:
    """Runtime API, cudaEventSynchronize: not for what was launched behind it."""
    stream = gpu.stream()
    launch(stream, LONG)
    event = stream.record_event()
    launch(stream, LONG)
    event.synchronize()

    assert event.query()
    assert not stream.query()


def test_the_host_waits_for_the_device(gpu: Any, launch: Launch) -> None:
    """Runtime API, cudaDeviceSynchronize: for all streams, the default one too."""
    streams = [gpu.default, gpu.stream(), gpu.stream()]
    for number, stream in enumerate(streams, 1):
        launch(stream, LONG // number)
    gpu.synchronize()

    assert [True] * 3 == [stream.query() for stream in streams]


def test_the_default_stream_has_no_part_in_it(gpu: Any, launch: Launch) -> None:
    """Runtime API, "Stream synchronization behavior": streams of cudaStreamNonBlocking.

    The legacy default stream waits for all others but these, and those of PyTorch are such:
    ``kDefaultFlags`` in c10/cuda/CUDAStream.cpp. So the example of the notes, "CUDA streams", in
    which a stream reads what the default stream still writes, is wrong.
    """
    stream = gpu.stream()
    launch(gpu.default, LONG)
    launch(stream, SHORT)
    stream.synchronize()
    assert not gpu.default.query()
    gpu.synchronize()
    launch(stream, LONG)
    launch(gpu.default, SHORT)
    gpu.default.synchronize()

    assert not stream.query()


def test_a_stream_without_work_is_done(gpu: Any) -> None:
    """Runtime API, cudaStreamQuery: all operations are complete, though there were none."""
    stream = gpu.stream()
    stream.synchronize()

    assert stream.query()


def test_the_time_between_two_events(gpu: Any, launch: Launch) -> None:
    """Runtime API, cudaEventElapsedTime: both are recorded and complete; ``elapsed_time`` says."""
    stream = gpu.stream()
    start, middle, end = gpu.event(), gpu.event(), gpu.event()
    with pytest.raises(ValueError, match="Both events must be recorded before"):
        start.elapsed_time(end)
    start.record(stream)
    launch(stream, SHORT)
    middle.record(stream)
    launch(stream, LONG)
    end.record(stream)
    with pytest.raises(RuntimeError):
        start.elapsed_time(end)
    end.synchronize()

    assert 0 < start.elapsed_time(middle) < middle.elapsed_time(end)


def test_host_and_device_work_at_once() -> None:
    """Notes, "Asynchronous execution": of the model alone, where the host's time is known."""
    from katas.lecture07.conftest import Gpu  # noqa: PLC0415 - imports torch

    gpu = Gpu()
    stream = gpu.stream()
    found = [stream.launch("a", 5)]
    gpu.work(3)
    found.append(stream.launch("b", 4))
    gpu.work(10)
    found.append(stream.launch("c", 2))
    gpu.synchronize()

    # c finds the stream idle, and begins when it is launched.
    assert [("a", 0, 5), ("b", 5, 9), ("c", 13, 15)] == [tuple(each) for each in found]
    assert 15 == gpu.now
    start = stream.record_event()
    gpu.work(7)
    end = stream.record_event()
    # Who waits for what is done already goes on at once.
    for wait in (start.synchronize, stream.synchronize, gpu.synchronize):
        wait()
    assert 22 == gpu.now
    assert 7 == start.elapsed_time(end)
