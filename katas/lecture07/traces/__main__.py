"""``python -m katas.lecture07.traces [FOLDER]`` makes the trace files anew, with this PyTorch.

``training.json`` is a step of training with ranges, ``memory.json`` the step again with the
events of the allocator.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity
from torch.profiler import profile
from torch.profiler import record_function


# What the katas read of a row, and of its arguments.
KEYS = ("ph", "cat", "name", "pid", "tid", "ts", "dur")
ARGUMENTS = ("Bytes", "Total Allocated", "Addr")


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


def write(path: Path, prof: profile) -> None:
    """Write a trace, without what no kata reads."""
    prof.export_chrome_trace(str(path))
    trace = json.loads(path.read_text(encoding="utf-8"))
    rows = []
    for row in trace["traceEvents"]:
        kept = {key: row[key] for key in KEYS if key in row}
        arguments = {key: row["args"][key] for key in ARGUMENTS if key in row.get("args", {})}
        rows.append(kept | ({"args": arguments} if arguments else {}))
    lines = ",\n".join(json.dumps(row) for row in rows if row["ph"] in {"X", "i"})
    path.write_text(
        f'{{"made by": "torch {torch.__version__}", "traceEvents": [\n{lines}\n]}}\n',
        encoding="utf-8",
    )


def main() -> None:
    """Make all files."""
    parser = argparse.ArgumentParser(prog="traces", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent)
    folder = parser.parse_args().folder
    train()
    for name, memory in (("training.json", False), ("memory.json", True)):
        with profile(activities=[ProfilerActivity.CPU], profile_memory=memory) as prof:
            train()
        write(folder / name, prof)


if __name__ == "__main__":
    main()
