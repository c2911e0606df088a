"""Trace files for the katas: ``python -m katas.lecture07.conftest FOLDER`` makes them, too.

``training.json`` is a step of training with ranges, ``memory.json`` the step again with the events
of the allocator: both by the profiler of this PyTorch. ``gpu.json`` has the rows that it writes of
a GPU, with times of our own: two streams that compute, one that communicates, one that copies.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity
from torch.profiler import profile
from torch.profiler import record_function


# Name, stream, beginning and end in microseconds. Streams overlap, and so do two that compute.
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
