"""What the tests of katas may use of the plugins: types, a few functions, and nothing else.

A kata's tests get nearly everything by fixtures (``extension``, ``world``, ``launches``, ``ptx``,
``compiled``), which need no import. Where they name a type, or need a function, it comes from
here: ruff refuses any other import from ``plugins`` under ``katas/``, so the rest can move.

=====================  ======================================================================
name                   what it is
=====================  ======================================================================
`Extension`            what the fixtures ``extension`` and ``unloaded`` return
`BuildError`           a C++ source does not compile; the message names its lines
`build_source`         build a C++ file that a test has written, and return the library
`load_library`         load a library that may crash; return why it cannot be loaded
`build_folder`         where this checkout keeps builds
`CudaExtension`        the same for a kata with a CUDA source, with ``launches()``
`Launch`               one launch of a CUDA kernel: ``extension.launches()``
`Ptx`                  what the fixture ``ptx`` returns
`TritonLaunch`         one launch of a Triton kernel: the fixture ``launches``
`Compiled`             a Triton kernel compiled for a GPU: the fixture ``compiled``
`World`                what the fixture ``world`` is
`Call`, `Sent`         a collective that a rank called; what a rank sent
`loopback`             the network interface over which ranks on one machine talk
`install_group`        the command that installs an optional tool, for the reason of a skip
`graph_text`           an FX graph as text that is the same with every supported torch
`function_name`        how `graph_text` calls a function: ``aten.mm.default``
`unchanged`            a ``with`` that checks what a call leaves behind: inputs, state of torch
`freed`                check that what must die is dead, without the garbage collector
`forbids`              a ``with`` in which an exercise must not use some names or operators
`forbids_tokens`       the same for the text of a C++ or CUDA source
`forbids_doubles`      check that a CUDA source computes nothing in double
`watched_operators`    a ``with`` that lists the operators that run, in every thread
`tensors`              a strategy of hypothesis: tensors with values and strides that bite
=====================  ======================================================================
"""

from __future__ import annotations

from plugins.checks.aftermath import freed
from plugins.checks.aftermath import unchanged
from plugins.checks.doubles import forbids_doubles
from plugins.checks.forbidden import forbids
from plugins.checks.forbidden import watched_operators
from plugins.checks.tensors import tensors
from plugins.checks.tokens import forbids_tokens
from plugins.cuda.launches import Launch
from plugins.cuda.ptx import Ptx
from plugins.cuda.simt import CudaExtension
from plugins.cuda.triton_compiled import Compiled
from plugins.cuda.triton_interpreter import TritonLaunch
from plugins.native.builder import BuildError
from plugins.native.extension import Extension
from plugins.native.folder import build_folder
from plugins.native.loader import load_library
from plugins.native.plugin import build_source
from plugins.ranks.rank import loopback
from plugins.ranks.traffic import Call
from plugins.ranks.traffic import Sent
from plugins.ranks.world import World
from plugins.tools.graphtext import function_name
from plugins.tools.graphtext import graph_text
from plugins.tools.terminal import install_group


__all__ = (
    "BuildError",
    "Call",
    "Compiled",
    "CudaExtension",
    "Extension",
    "Launch",
    "Ptx",
    "Sent",
    "TritonLaunch",
    "World",
    "build_folder",
    "build_source",
    "forbids",
    "forbids_doubles",
    "forbids_tokens",
    "freed",
    "function_name",
    "graph_text",
    "install_group",
    "load_library",
    "loopback",
    "tensors",
    "unchanged",
    "watched_operators",
)
