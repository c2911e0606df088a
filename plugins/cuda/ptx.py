"""The fixture ``ptx``: a kata's kernels as nvcc compiles them for an H100, without any GPU.

nvcc compiles CUDA C++ to PTX, the assembly language of a GPU that does not exist; the driver or
ptxas translates it for one that does. Its instructions show what no value can: whether a
multiplication and an addition became one, whether four floats are loaded at once, whether an array
of the kernel ended up in local memory, which is global memory in disguise.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from katas import source
from plugins.course.session import kata_of
from plugins.cuda.nvcc import NvccError
from plugins.cuda.nvcc import find_nvcc
from plugins.native.plugin import native_key


TARGET = "sm_90"
ENTRY = re.compile(r"^(?:\.\w+ )*\.(?:entry|func) .*?(\w+)\($", re.MULTILINE)
INSTRUCTION = re.compile(r"^\s+(?:@!?%\w+\s+)?([a-z]\w*(?:\.[\w:]+)*)[\s;]", re.MULTILINE)


# What a function of the host returns before it is written, and where such a function begins.
UNWRITTEN = "cudaErrorNotYetImplemented"
HOST = re.compile(r"\bcudaError_t\s+(\w+)\(")


@dataclass(frozen=True)
class Ptx:
    """The instructions of a kata's kernels.

    Attributes
    ----------
    source
        The learner's file, as messages call it.
    kernels
        For each kernel or function of the device, by its mangled name, how often each
        instruction occurs in it: in a loop once, or as often as the loop was unrolled.
    problem
        Why there is no PTX; empty if there is.
    unwritten
        The function that is still to be written, whose kernel nobody launches; empty if none is.
    """

    source: str
    kernels: dict[str, Counter[str]] = field(default_factory=dict, repr=False)
    problem: str = field(default="", repr=False)
    unwritten: str = field(default="", repr=False)

    def count(self, *patterns: str) -> int:
        """Return how many instructions match one of `patterns`: ``"shfl.sync.*"``."""
        __tracebackhide__ = True
        if self.problem:
            pytest.fail(self.problem, pytrace=False)
        if self.unwritten:
            # As the tests say that run it: an empty kernel lacks every instruction.
            raise NotImplementedError(f"{self.unwritten} is yet to be written")
        return sum(
            number
            for found in self.kernels.values()
            for name, number in found.items()
            if any(fnmatchcase(name, pattern) for pattern in patterns)
        )

    def table(self) -> str:
        """Return all instructions with their counts, for the message of a test."""
        rows = [f"{self.source} for {TARGET}:"]
        for kernel, found in self.kernels.items():
            shown = ", ".join(f"{number} {name}" for name, number in found.most_common())
            rows.append(f"  {kernel}: {shown or 'nothing'}")
        return "\n".join(rows)


def count_instructions(text: str) -> dict[str, Counter[str]]:
    """Return how often each instruction occurs in each function of `text`, which is PTX."""
    starts = list(ENTRY.finditer(text))
    # One end per function; a source whose kernels are all templates may have none.
    ends = [*(found.start() for found in starts), len(text)][1:]
    return {
        found[1]: Counter(INSTRUCTION.findall(text, found.end(), end))
        for found, end in zip(starts, ends, strict=True)
    }


@pytest.fixture(scope="module")
def ptx(request: pytest.FixtureRequest) -> Ptx:
    """Return the PTX of the CUDA source of this module's kata."""
    kata = kata_of(request.node)
    names = kata.cuda if kata else []
    nvcc = find_nvcc()
    if not kata or not names or not nvcc:
        pytest.fail(f"{request.path.name}: `ptx` needs a CUDA source and the backend nvcc")
    native = request.config.stash[native_key]
    file = source(request.module.__package__, names[0])
    options = ["-ptx", f"-arch={TARGET}", f"-I{kata.folder / 'csrc'}"]
    with tempfile.TemporaryDirectory(prefix="katas-ptx-") as name:
        target = Path(name, "kernels.ptx")
        try:
            nvcc.run(file, target, options, native.folder[0])
        except NvccError as error:
            # A failure of the test that counts, instead of an error of its set-up.
            return Ptx(names[0], problem=str(error))
        text = target.read_text(encoding="utf-8")
    unwritten = find_unwritten(file.read_text(encoding="utf-8"))
    return Ptx(names[0], count_instructions(text), unwritten=unwritten)


def find_unwritten(text: str) -> str:
    """Return the first function of the host in a source that is yet to be written, or nothing."""
    before, found, _ = text.partition(UNWRITTEN)
    return HOST.findall(before)[-1] if found and HOST.search(before) else ""
