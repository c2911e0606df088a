"""CUDA and Triton: simulated on the CPU or compiled for a GPU, and what can be counted.

Begin with `simt` for CUDA C++, and with `triton` and `interpreter` for Triton. `native` builds the
libraries, and asks this wing by one hook, `plugins.native.hooks`.
"""

from __future__ import annotations
