"""Builds and runs public kernels on the CPU, and prints the verdict on each.

    python benchmarks/kernels.py FOLDER [WORD ...]

FOLDER holds checkouts, named OWNER+NAME, of the repositories in ``benchmarks/kernels.json``, each
at the commit that stands there; WORDs choose cases whose kernel, file or repository contains one.
A file is compiled unchanged, up to the first line that names torch or cuBLAS, or that matches
`until`. Every kernel runs in three orders of threads, and its outputs are compared with NumPy's.
A case without a `grid` is a function of the host, which launches. A verdict other than "right" has
a `cause`, read off the source. With ``--write`` the list gets the verdicts.
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np


ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from plugins.cuda.language import CUDA  # noqa: E402
from plugins.cuda.launches import find_addr2line  # noqa: E402
from plugins.native.builder import Builder  # noqa: E402
from plugins.native.builder import BuildError  # noqa: E402
from plugins.native.compile import BrokenToolError  # noqa: E402
from plugins.native.folder import build_folder  # noqa: E402
from plugins.native.sources import SourceError  # noqa: E402
from plugins.native.sources import read_unit  # noqa: E402
from plugins.native.toolchain import find_toolchain  # noqa: E402


CASES = ROOT / "benchmarks/kernels.json"
MODES = {"in": 0, "out": 1, "inout": 2}
C_TYPES = {
    "f32": "float",
    "f16": "half",
    "bf16": "__nv_bfloat16",
    "i32": "int",
    "u32": "unsigned",
    "u8": "unsigned char",
    "b8": "bool",
    "f64": "double",
    "i64": "long",
}
TYPES: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": np.uint16,
    "i32": np.int32,
    "u32": np.uint32,
    "u8": np.uint8,
    "b8": np.bool_,
    "f64": np.float64,
    "i64": np.int64,
}
HOST = re.compile(r"^.*(?:torch::|PYBIND11|cublas\w*\().*$", re.MULTILINE)
DROPPED = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch/|c10/|cublas|cudnn|nvtx3/|helper_|omp\.h)[^\n]*$",
    re.MULTILINE,
)
# What a message adds if the value of a read is not used.
USELESS = "Nothing that the kernel leaves depends on the value"
Case = dict[str, Any]


def device_part(file: Path, case: Case) -> str:
    """Return the file up to its host code, whose includes of libraries become empty lines.

    Where the list says what host code looks like, it begins after the function before that.
    """
    text = file.read_text(encoding="utf-8-sig", errors="replace")
    if case.get("until") and (found := re.search(case["until"], text, re.MULTILINE)):
        text = text[: text.rfind("\n}", 0, found.start()) + 2] + "\n"
    for name in case.get("inline", ()):
        header = (file.parent / name).read_text(encoding="utf-8-sig", errors="replace")
        text = text.replace(f'#include "{name}"', header)
    text = DROPPED.sub("", text)
    if case.get("until"):
        return text
    host = HOST.search(text)
    if not host:
        return text
    # The definition that names torch may begin in the lines above, as a macro's does.
    before = text[: host.start()].rstrip()
    while before.endswith("\\"):
        before = before.rpartition("\n")[0].rstrip()
    return before + "\n"


def caller(case: Case, number: int) -> str:
    """Return a function that launches the kernel of a case with the pointers it is given."""
    values, pointer = [], 0
    for argument in case["arguments"]:
        if isinstance(argument, list):
            kind = (*argument[4:], C_TYPES[argument[1]])[0]
            values.append(f"static_cast<{kind}*>(given[{pointer}])")
            pointer += 1
        else:
            values.append(str(argument))
    size = f"{case.get('grid')}, {case.get('block')}"
    call = f"{case['kernel']}<<<{size}, {case.get('shared', 0)}>>>({', '.join(values)});"
    if "grid" not in case:
        call = f"{case['kernel']}({', '.join(values)});"
    if case.get("cooperative"):
        named = [f"auto a{i} = {value};" for i, value in enumerate(values)]
        pointers = ", ".join(f"&a{i}" for i in range(len(values)))
        call = (
            f"{' '.join(named)} void* list[] = {{{pointers}}};\n"
            f"    cudaLaunchCooperativeKernel((void*){case['kernel']}, {size}, list, "
            f"{case.get('shared', 0)}, 0);"
        )
    return (
        f'extern "C" int kata_case{number}(void* all) {{\n'
        f"    void** given = static_cast<void**>(all);\n    (void)given;\n"
        f"    {call}\n    return cudaGetLastError();\n}}\n"
    )


def build(builder: Builder, folder: Path, file: Path, cases: list[Case]) -> dict[int, Any]:
    """Return a library, or the error of the compiler, for each case of a file.

    All are built at once; if that fails, each on its own.
    """
    text = device_part(file, cases[0])

    def library(chosen: list[int]) -> Any:
        source = folder / f"{file.stem.replace('.', '_')}_{chosen[0]}.cu"
        calls = "\n".join(caller(cases[i], i) for i in chosen)
        before = cases[chosen[0]].get("before", "")
        whole = f"#include <cuda_runtime.h>\n{before}\n{text}\n{calls}"
        source.write_text(whole, encoding="utf-8")
        try:
            unit = read_unit(source.stem, [source], folder, file.parent, [CUDA])
            return builder.build(unit)
        except (BuildError, BrokenToolError, SourceError) as error:
            return str(error)

    every = library(list(range(len(cases))))
    if isinstance(every, Path) or len(cases) == 1:
        return dict.fromkeys(range(len(cases)), every)
    return {i: library([i]) for i in range(len(cases))}


def buffers(case: Case) -> list[tuple[str, str, np.ndarray[Any, Any]]]:
    """Return the arrays of a case, filled with few bits, so that sums are exact."""
    random = np.random.default_rng(0)
    made = []
    for argument in case["arguments"]:
        if not isinstance(argument, list):
            continue
        name, kind, mode, shape = argument[:4]
        size = int(np.prod(shape))
        memory = np.zeros(size * np.dtype(TYPES[kind]).itemsize + 256, np.uint8)
        start = -memory.ctypes.data % 256
        array = memory[start : start + size * np.dtype(TYPES[kind]).itemsize].view(TYPES[kind])
        array = array.reshape(shape)
        if mode == "in":
            low, high = case.get("range", [-4, 5])
            values = random.integers(low, high, shape) * np.float32(case.get("scale", 1))
            array[...] = encoded(kind, values)
        if name in case.get("start", {}):
            names = {"np": np, "random": random}
            array[...] = eval(case["start"][name], names)  # noqa: S307 - of our own file
        made.append((name, mode, array))
    return made


def encoded(kind: str, values: Any) -> Any:
    """Return numbers as an array of that kind holds them: NumPy has no bfloat16."""
    return values.astype(np.float32).view(np.uint32) >> 16 if kind == "bf16" else values


def decoded(kind: str, array: Any) -> Any:
    """Return the numbers that an array of that kind holds."""
    if kind == "bf16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64)


def verdict(library: Path, case: Case, number: int) -> str:
    """Run a kernel in three orders; return "right", or what was wrong."""
    try:
        loaded: Any = ctypes.CDLL(str(library))
    except OSError as error:
        return f"does not load: {str(error).rpartition(': ')[2]}"
    loaded.kata_simt_run.restype = ctypes.c_char_p
    for order in range(3):
        made = buffers(case)
        loaded.kata_simt_begin(
            ctypes.c_uint64(order), ctypes.c_double(20.0), find_addr2line().encode()
        )
        for name, mode, array in made:
            address, size = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)
            loaded.kata_simt_buffer(address, size, array.itemsize, MODES[mode], name.encode())
        before = {f"{name}0": array.copy() for name, _, array in made}
        given = (ctypes.c_void_p * len(made))(*(array.ctypes.data for *_, array in made))
        status = ctypes.c_int()
        function = getattr(loaded, f"kata_case{number}")
        problem = loaded.kata_simt_run(function, given, ctypes.byref(status)).decode()
        loaded.kata_simt_end()
        if problem:
            lines = [line.strip() for line in problem.splitlines()]
            return " / ".join(lines[:3] + [line for line in lines[3:] if line.startswith(USELESS)])
        kinds = [argument[1] for argument in case["arguments"] if isinstance(argument, list)]
        known = {
            name: decoded(kind, array) for kind, (name, _, array) in zip(kinds, made, strict=True)
        }
        for name, expression in case["expect"].items():
            names = {"np": np, "erf": erf, **before, **known}
            wanted = eval(expression, names)  # noqa: S307 - of our own file
            found = np.reshape(eval(name, names), np.shape(wanted))  # noqa: S307
            if not np.allclose(
                found, wanted, rtol=case.get("rtol", 1e-4), atol=case.get("atol", 1e-4)
            ):
                return f"wrong: {name} differs by {np.abs(found - wanted).max():g}"
    return "right"


def verdicts(built: dict[int, Any], cases: list[Case]) -> list[str]:
    """Return the verdict on each case of a file, in a process that its kernels may end.

    The stacks of their threads are also more than one process may have.
    """
    shown = [
        "" if isinstance(built[i], Path) else "does not compile: " + built[i].splitlines()[0]
        for i in range(len(cases))
    ]
    context = multiprocessing.get_context("fork")
    for number, case in enumerate(cases):
        if shown[number]:
            continue
        reader, writer = context.Pipe(duplex=False)
        child = context.Process(target=_tell, args=(writer, built[number], case, number))
        child.start()
        writer.close()
        try:
            shown[number] = reader.recv()
        except EOFError:
            child.join()
            shown[number] = f"ends the process: {child.exitcode}"
        child.join()
    return shown


def _tell(writer: Any, library: Path, case: Case, number: int) -> None:
    writer.send(verdict(library, case, number))


def erf(x: Any) -> Any:
    """Return the error function of each element."""
    from math import erf as of_one  # noqa: PLC0415 - the name is taken

    return np.vectorize(of_one)(x)


def place(case: Case) -> str:
    """Return the path of a case's file, from the folder with the checkouts."""
    return f"{case['repository'].replace('/', '+')}/{case['file']}"


def listed(data: list[Case]) -> str:
    """Return the list as JSON, with a line for each case."""
    groups = []
    for group in data:
        lines = ",\n".join(f"  {json.dumps(case)}" for case in group["cases"])
        head = json.dumps({key: value for key, value in group.items() if key != "cases"})[:-1]
        groups.append(f'{head}, "cases": [\n{lines}\n]}}')
    return "[" + ",\n".join(groups) + "]\n"


def main() -> None:
    """Print one row for each case, and what became of all."""
    checkouts, words = Path(sys.argv[1]), [word for word in sys.argv[2:] if word != "--write"]
    data = json.loads(CASES.read_text(encoding="utf-8"))
    cases = [
        {**{key: value for key, value in group.items() if key != "cases"}, **case, "own": case}
        for group in data
        for case in group["cases"]
    ]
    if words:
        cases = [c for c in cases if any(word in c["kernel"] + place(c) for word in words)]
    files: dict[Path, list[Case]] = {}
    for case in cases:
        files.setdefault(checkouts / place(case), []).append(case)
    builder = Builder(find_toolchain(), build_folder(ROOT)[0])
    found: Counter[str] = Counter()
    changed = 0
    with tempfile.TemporaryDirectory() as name:
        for file, chosen in files.items():
            built = build(builder, Path(name), file, chosen)
            for case, shown in zip(chosen, verdicts(built, chosen), strict=True):
                kind = "right" if shown == "right" else shown.partition(":")[0].partition(" in ")[0]
                found[kind] += 1
                changed += shown != case["verdict"]
                print(f"{case['kernel'][:48]:48} {shown}", flush=True)
                case["own"]["verdict"] = shown
    print(", ".join(f"{count} {what}" for what, count in found.most_common()))
    print(f"{changed} other than {CASES.name} says")
    if not words and "--write" in sys.argv:
        CASES.write_text(listed(data), encoding="utf-8")


if __name__ == "__main__":
    main()
