"""CUDA and Triton: simulated on the CPU or compiled for a GPU, and what can be counted.

Begin with `simt` for CUDA C++, with `triton` for Triton; `native.hooks` is how `native` asks here.
The simulator's sources stay in native/csrc: `native.prebuild`, a process without hooks, needs them.
"""

from __future__ import annotations
