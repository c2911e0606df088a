"""Find a graph break in a trace of torch.compile."""

from __future__ import annotations

import json
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
        """Return "0/1" for the second compilation of the first frame. Given."""
        return f"{self.header['frame_id']}/{self.header['frame_compile_id']}"


def entries(text: str) -> list[Entry]:
    """Return the entries of a trace, in order."""
    found: list[tuple[str, list[str]]] = []
    for line in text.split("\n"):
        if line.startswith("\t"):
            found[-1][1].append(line[1:])
        elif line:
            found.append((line.partition("] ")[2], []))
    return [Entry(json.loads(header), "\n".join(lines)) for header, lines in found]


def compiled(log: list[Entry]) -> dict[str, str]:
    """Return "name at file:line" of the first function of each compile id."""
    files: dict[int, str] = {}
    functions: dict[str, str] = {}
    for entry in log:
        if "str" in entry.header:
            file, number = entry.header["str"]
            files[number] = file
        elif "dynamo_start" in entry.header:
            frame = entry.header["dynamo_start"]["stack"][-1]
            place = f"{files[frame['filename']]}:{frame['line']}"
            functions.setdefault(entry.compile_id, f"{frame['name']} at {place}")
    return functions


def breaks(log: list[Entry]) -> dict[str, list[str]]:
    """Return the compile ids that broke at each "file:line", in order."""
    places: dict[str, dict[str, None]] = {}
    for entry in log:
        place = entry.payload.partition("\n")[0].partition("user code at ")[2]
        if entry.header.get("artifact", {}).get("name") == REASON and place:
            places.setdefault(place, {})[entry.compile_id] = None
    return {place: [*ids] for place, ids in places.items()}
