"""Find a graph break in a trace of torch.compile.

TORCH_TRACE=folder makes PyTorch log what it compiles, without changing the program; tlparse turns
the log into web pages. The format is simple: a JSON header after "] ", then a payload whose lines
begin with a tab. Files get numbers that later lines use:

    V1125 17:06 7 torch/_logging/structured.py:28] {"str": ["/home/me/train.py", 1]}
    V1125 17:06 7 torch/_dynamo/convert_frame.py:303] {"dynamo_start": {"stack":
        [{"line": 5, "name": "step", "filename": 1}]}, "frame_id": 0, "frame_compile_id": 0}
    V1125 17:06 7 torch/_dynamo/symbolic_convert.py:5098] {"artifact": {"name":
        "dynamo_graph_break_reason"}, "frame_id": 0, "frame_compile_id": 0, "has_payload": "97..."}
    <tab>Graph break in user code at /home/me/train.py:7
    <tab>Graph Break Reason: ...

(Headers are folded and shortened here; in the file each is one line.) So what breaks the graph?
Write about 20 lines:

1. `entries`: the file, as a list.
2. `compiled`: the function for each compile id.
3. `breaks`: the lines that break graphs, each with its compilations. One line may break several.

Begin with a payload: to which header does it belong?
Afterwards read `trace_structured` in ``torch/_logging/_internal.py``, in site-packages.
"""

from __future__ import annotations

from typing import Any
from typing import NamedTuple


# The name of the artifact that reports a graph break.
REASON = "dynamo_graph_break_reason"


class Entry(NamedTuple):
    """A header, and the text that follows it, or "" if there is none."""

    header: dict[str, Any]
    payload: str

    @property
    def compile_id(self) -> str:
        """Return "0/1" for the second compilation of the first frame, if it has one. Given."""
        return f"{self.header['frame_id']}/{self.header['frame_compile_id']}"


def entries(text: str) -> list[Entry]:
    """Return the entries of a trace, in order.

    A payload is the text without the leading tab of each line and without the final newline;
    "has_payload" is its MD5. Headers may contain "] " too, and payloads blank lines.
    """
    # TODO: only a newline ends a line; splitlines() also splits at other characters.
    raise NotImplementedError("entries")


def compiled(log: list[Entry]) -> dict[str, str]:
    """Return "name at file:line" of the first function of each compile id.

    It is the last frame of the stack of its first "dynamo_start".
    """
    # TODO: "str" assigns a number to a file.
    raise NotImplementedError("compiled")


def breaks(log: list[Entry]) -> dict[str, list[str]]:
    """Return the compile ids that broke at each "file:line", each once, in the order of the log.

    The first line of the payload is "Graph break in user code at file:line"; leave out reasons with
    a different first line, such as a backend's failure.
    """
    # TODO: most artifacts have a different name, and many headers are not artifacts.
    raise NotImplementedError("breaks")
