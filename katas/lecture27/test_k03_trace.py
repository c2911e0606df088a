"""Tests of k03_trace: a few lines by hand, then a trace written by PyTorch."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline

from katas.lecture27.k03_trace import Entry
from katas.lecture27.k03_trace import breaks
from katas.lecture27.k03_trace import compiled
from katas.lecture27.k03_trace import entries
from plugins.kit import build_folder


PREFIX = "V1125 17:06:18.846000 7 torch/_dynamo/utils.py:2350] "
WHERE = "look at torch/_logging/_internal.py"
# The traced program. Its graph breaks at two lines; `helper` is first inlined, then compiled
# separately.
PROGRAM = """
import torch

def helper(x):
    print(end="")
    return x.cos()

def step(x):
    return helper(x.sin()) + 1

def choose(x):
    if x.sum() > 0:
        return x * 2
    return x

for f, size in ((step, 3), (step, 4), (choose, 3)):
    torch.compile(f, backend="eager")(torch.ones(size))
"""
PRINT, IF = (PROGRAM.split("\n").index(line) + 1 for line in PROGRAM.split("\n")[4:12:7])


@pytest.fixture(scope="module")
def trace(request: pytest.FixtureRequest) -> Path:
    """Return a trace of PROGRAM, which takes seconds, so it is made once per PyTorch version."""
    folder, _ = build_folder(request.config.rootpath)
    key = "\n".join([PROGRAM, Path(__file__).read_text("utf-8"), torch.__version__, sys.version])
    file = folder / f"trace-{hashlib.sha256(key.encode()).hexdigest()[:16]}.log"
    if not file.exists():
        with tempfile.TemporaryDirectory(dir=folder, prefix="trace-") as scratch:
            program = Path(scratch, "program.py")
            program.write_text(PROGRAM, encoding="utf-8")
            done = subprocess.run(  # noqa: S603 - the program above
                [sys.executable, program],
                capture_output=True,
                text=True,
                timeout=50,
                check=False,
                cwd=scratch,
                env=os.environ | {"TORCH_TRACE": str(Path(scratch, "logs"))},
            )
            assert not done.returncode, done.stderr[-2000:]
            (log,) = Path(scratch, "logs").iterdir()
            log.replace(file)
    return file


def record(*, payload: str | None = None, **header: object) -> str:
    """Return the lines of an entry."""
    lines = [] if payload is None else payload.split("\n")
    return "\n".join([PREFIX + json.dumps(header), *("\t" + line for line in lines), ""])


def at(frame: int, again: int = 0) -> dict[str, Any]:
    """Return the fields of a header that identify its compilation."""
    return {"frame_id": frame, "frame_compile_id": again, "attempt": 0}


def check_entries(text: str, expected: list[Entry]) -> None:
    """Compare the entries of a text."""
    __tracebackhide__ = True
    yours = entries(text)
    says = f"yours\n{yours}\nexpected\n{expected}\nof the text\n{text}"
    assert [tuple(entry) for entry in yours] == [tuple(entry) for entry in expected], says
    assert all(isinstance(entry, Entry) for entry in yours), (
        f"yours {yours}, expected each item to be an Entry"
    )


def test_headers() -> None:
    """Two lines are two entries without a payload."""
    text = record(str=["a.py", 0]) + record(dynamo_cpp_guards_str={}, **at(0))
    right = [Entry({"str": ["a.py", 0]}, ""), Entry({"dynamo_cpp_guards_str": {}, **at(0)}, "")]
    check_entries(text, right)


def test_payloads() -> None:
    """A payload belongs to the header before it; its own blank lines and tabs stay."""
    payload = "def f():\n\treturn 1\n\n\tpass\n"
    text = record(a={}, payload=payload) + record(b={}) + record(c={}, payload="x")
    check_entries(text, [Entry({"a": {}}, payload), Entry({"b": {}}, ""), Entry({"c": {}}, "x")])


def test_what_text_may_hold() -> None:
    """A header may contain "] " or a rank prefix, and a payload a page break."""
    text = "[rank0]:" + record(a="x[0] + 1] {", payload="1\x0c2\u20283\r")
    check_entries(text, [Entry({"a": "x[0] + 1] {"}, "1\x0c2\u20283\r")])


def test_an_empty_trace() -> None:
    """An empty trace has no entries."""
    check_entries("", [])


def test_the_function_of_a_compile_id() -> None:
    """The function is the last frame of the first stack; a number stands for its file."""
    inner = {"line": 5, "name": "step", "filename": 1}
    outer = {"line": 9, "name": "<module>", "filename": 0, "loc": "step(x)"}
    text = record(str=["main.py", 0]) + record(str=["train.py", 1])
    text += record(dynamo_start={"stack": [outer, inner]}, **at(3, 2)) + record(other={}, **at(3))
    text += record(dynamo_start={"stack": [outer]}, **at(3, 2))
    yours, expected = compiled(entries(text)), {"3/2": "step at train.py:5"}
    assert yours == expected, f"yours {yours}, expected {expected}"


def test_a_line_that_breaks() -> None:
    """Two compilations broke at one line, one of them twice; other entries report no break."""
    reason = {"name": "dynamo_graph_break_reason", "encoding": "string"}
    head = "Graph break in user code at "
    text = record(artifact={"name": "torch_version"}, payload=head + "x.py:1")
    for frame, place in ((5, "a at b.py:7"), (1, "c.py:9"), (2, "a at b.py:7"), (5, "a at b.py:7")):
        text += record(artifact=reason, payload=f"{head}{place}\nReason: looks at x", **at(frame))
    text += record(compilation_metrics={"name": "dynamo_graph_break_reason"}, **at(0))
    fails = "WON'T CONVERT f at d.py line 3 \ndue to:\nGraph break in user code at d.py:4"
    text += record(artifact=reason, payload=fails, **at(0))
    yours, expected = breaks(entries(text)), {"a at b.py:7": ["5/0", "2/0"], "c.py:9": ["1/0"]}
    assert yours == expected, f"yours {yours}, expected {expected}"


@pytest.mark.given
@pytest.mark.time_limit(60)
def test_the_format(trace: Path) -> None:
    """PyTorch writes the format that the brief describes."""
    text = trace.read_text("utf-8")
    for word in ('"dynamo_start": {"stack"', "\tGraph break in user code at ", '{"str": ["'):
        assert word in text, f"PyTorch's trace does not contain {word!r}; {WHERE}"


def test_every_payload_has_its_digest(trace: Path) -> None:
    """PyTorch writes the MD5 of a payload into its header."""
    log = entries(trace.read_text("utf-8"))
    assert len(log) > 100, f"your code returns {len(log)} entries, expected hundreds"
    for entry in log:
        digest = hashlib.md5(entry.payload.encode(), usedforsecurity=False).hexdigest()
        right = entry.header.get("has_payload", digest if not entry.payload else "none")
        says = f"your payload is not PyTorch's for {entry.header}:\n{entry.payload!r}"
        assert digest == right, says


def test_the_functions_of_the_program(trace: Path) -> None:
    """Every compile id with metrics in the trace has the function named in its metrics."""
    log = entries(trace.read_text("utf-8"))
    metrics = [e.header["compilation_metrics"] for e in log if "compilation_metrics" in e.header]
    right = {
        m["compile_id"]: f"{m['co_name']} at {m['co_filename']}:{m['co_firstlineno']}"
        for m in metrics
    }
    yours = compiled(log)
    assert yours == right, f"yours\n{yours}\nPyTorch's, by its metrics\n{right}"
    names = {each.split(" at ")[0] for each in right.values()}
    assert {"step", "helper", "choose"} <= names, (
        f"PyTorch's metrics have only {names}, expected step, helper and choose"
    )


def test_the_lines_that_break_the_program(trace: Path) -> None:
    """The graph breaks where the program prints, and where it reads a value."""
    found = breaks(entries(trace.read_text("utf-8")))
    yours = {int(place.rpartition(":")[2]): ids for place, ids in found.items()}
    assert yours.keys() == {PRINT, IF}, f"lines: yours {[*yours]}, expected {[PRINT, IF]}\n{found}"
    says = "the print breaks step and helper, and step again for another size"
    assert len(yours[PRINT]) >= 3, f"yours {yours[PRINT]}, expected three or more: {says}"
    assert len(yours[IF]) == 1, f"yours {yours[IF]}, expected one: choose is compiled once"


@pytest.mark.backend("tlparse")
def test_tlparse(trace: Path, tmp_path: Path) -> None:
    """The program tlparse writes a graph break page for the same compile ids."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    tool = shutil.which("tlparse", path=path)
    assert tool, "tlparse is not on the PATH"
    out = tmp_path / "out"
    subprocess.run(  # noqa: S603 - tlparse
        [tool, trace, "-o", out, "--no-browser"], check=True, capture_output=True, timeout=50
    )
    pages = json.loads((out / "compile_directory.json").read_text("utf-8"))
    # An id is [0/0], and after a restart [0/0_1].
    right = {
        key.strip("[]").partition("_")[0]
        for key, page in pages.items()
        if any("graph_break_reason" in each["name"] for each in page["artifacts"])
    }
    yours = {each for ids in breaks(entries(trace.read_text("utf-8"))).values() for each in ids}
    assert yours == right, f"yours {sorted(yours)}, tlparse's {sorted(right)}"


def test_a_trace_as_text() -> None:
    """Print entries with and without a payload, from two compilations."""
    text = (
        record(str=["a.py", 0])
        + record(dynamo_output_graph={"sizes": {}}, payload="class G:\n    pass", **at(0))
        + record(dynamo_cpp_guards_str={}, payload="", **at(0, 1))
    )
    lines = [f"{' '.join(header)}: {payload!r}" for header, payload in entries(text)]

    assert_expected_inline(
        "\n".join(lines),
        """\
str: ''
dynamo_output_graph frame_id frame_compile_id attempt: 'class G:\\n    pass'
dynamo_cpp_guards_str frame_id frame_compile_id attempt: ''""",
    )
