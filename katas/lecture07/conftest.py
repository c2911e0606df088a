"""Trace files for the katas, and a model of a GPU's streams to play with.

``python -m katas.lecture07.conftest FOLDER`` writes the files, too.

The profiler of this PyTorch writes ``training.json``, a training step with ranges, and
``memory.json``, the same step with allocator events. ``gpu.json`` contains the rows the profiler
writes for a GPU, with made-up times: two streams compute, one communicates, one copies.

`Gpu` models only the times of a device: which stream waits for which, and when the host waits.
Its methods are those of ``torch.cuda``; ``tests/house/test_streams.py`` checks each of them against
the documented rule.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity
from torch.profiler import profile
from torch.profiler import record_function


# Name, stream, start and end in microseconds. Streams overlap, even the two that compute.
GPU = (
    ("Memcpy HtoD (Pinned -> Device)", 9, 0, 12),
    ("sm90_xmma_gemm_f32f32", 7, 15, 40),
    ("ncclDevKernel_AllReduce_Sum_f32", 20, 30, 70),
    ("vectorized_elementwise_kernel", 7, 40, 44),
    ("reduce_kernel", 13, 42, 60),
    ("Memset (Device)", 7, 80, 83),
    ("sm90_xmma_gemm_f32f32", 7, 83, 95),
    ("ncclDevKernel_AllGather", 20, 90, 99),
    ("vectorized_elementwise_kernel", 7, 110, 111),
)


def train() -> None:
    """Train for one step, in three ranges."""
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with record_function("step"):
        with record_function("forward"):
            loss = model(torch.ones(8, 16)).square().mean()
        with record_function("backward"):
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def gpu_rows() -> list[dict[str, object]]:
    """Return the rows of a GPU's trace: each piece of work, and the call that launched it."""
    rows: list[dict[str, object]] = []
    for number, (name, stream, start, end) in enumerate(GPU):
        kind = {"Memc": "gpu_memcpy", "Mems": "gpu_memset"}.get(name[:4], "kernel")
        call = {"gpu_memcpy": "cudaMemcpyAsync", "gpu_memset": "cudaMemsetAsync"}
        launch = call.get(kind, "cudaLaunchKernel")
        for cat, title, pid, thread, ts, dur, extra in (
            ("cuda_runtime", launch, 99, 99, max(0, start - 4), 1, {}),
            (kind, name, 0, stream, start, end - start, {"device": 0, "stream": stream}),
        ):
            place = {"ph": "X", "cat": cat, "name": title, "pid": pid, "tid": thread}
            rows.append(place | {"ts": ts, "dur": dur, "args": {"correlation": number} | extra})
    return rows


def make(folder: Path) -> dict[str, Path]:
    """Write all files, and return them by name."""
    files = {name: folder / f"{name}.json" for name in ("training", "memory", "gpu")}
    train()
    for name in ("training", "memory"):
        with profile(activities=[ProfilerActivity.CPU], profile_memory=name == "memory") as prof:
            train()
        prof.export_chrome_trace(str(files[name]))
    trace = {"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": gpu_rows()}
    files["gpu"].write_text(json.dumps(trace), encoding="utf-8")
    return files


class Work(NamedTuple):
    """A piece of work, and when the device does it."""

    name: str
    start: int
    end: int


class Event:
    """A mark in a stream. `time` is when the stream passes it; None if it was never recorded."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.time: int | None = None

    def record(self, stream: Stream) -> None:
        """Put the mark after all work launched in `stream` so far; it replaces an older mark."""
        self.time = max(stream.free, self.gpu.now)

    def wait(self, stream: Stream) -> None:
        """Make work launched in `stream` from now on wait for the mark; the host does not wait."""
        stream.wait_event(self)

    def query(self) -> bool:
        """Return whether the stream has passed the mark; True if it was never recorded."""
        return self.time is None or self.time <= self.gpu.now

    def synchronize(self) -> None:
        """Make the host wait for the mark."""
        self.gpu.now = max(self.gpu.now, self.time or 0)

    def elapsed_time(self, end: Event) -> int:
        """Return the time from this mark to `end`."""
        if self.time is None or end.time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return end.time - self.time


class Stream:
    """A queue of work. `free` is the time when all work so far, and all waits, will be done."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.free = 0

    def launch(self, name: str, time: int) -> Work:
        """Launch work that takes `time`; the host continues immediately."""
        start = max(self.free, self.gpu.now)
        self.free = start + time
        return Work(name, start, self.free)

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, by default a new one, and return it."""
        event = event or Event(self.gpu)
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Make work launched from now on wait for the event, if it was recorded."""
        self.free = max(self.free, event.time or 0)

    def wait_stream(self, stream: Stream) -> None:
        """Make work launched from now on wait for all work in `stream` so far."""
        self.wait_event(stream.record_event())

    def query(self) -> bool:
        """Return whether all work is done."""
        return self.free <= self.gpu.now

    def synchronize(self) -> None:
        """Make the host wait for all work of this stream."""
        self.gpu.now = max(self.gpu.now, self.free)


class Gpu:
    """A model of a device: streams, and a host whose time is `now`.

    A piece of work always takes the same time: everything that may run at once does so, at full
    speed. There is no memory and no data, so no ``record_stream`` and no races; no limit on queued
    launches, no priorities, no streams of other libraries, and no blocking streams.
    """

    def __init__(self) -> None:
        self.now = 0
        self.default = Stream(self)
        self.streams = [self.default]

    def stream(self) -> Stream:
        """Return a new stream."""
        self.streams.append(Stream(self))
        return self.streams[-1]

    def event(self) -> Event:
        """Return an event that has not been recorded yet."""
        return Event(self)

    def work(self, time: int) -> None:
        """Make the host work, while the device works too."""
        self.now += time

    def synchronize(self) -> None:
        """Make the host wait for all streams."""
        self.now = max([self.now, *(stream.free for stream in self.streams)])


@pytest.fixture(scope="session")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Trace files by name: "training", "memory", "gpu"."""
    return make(tmp_path_factory.mktemp("traces"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="traces", description=__doc__)
    parser.add_argument("folder", type=Path)
    target = parser.parse_args().folder
    target.mkdir(parents=True, exist_ok=True)
    make(target)
