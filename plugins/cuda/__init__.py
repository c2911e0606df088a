"""CUDA and Triton on the CPU, or for a GPU: a ``.cu`` file from its text to what a test is told.

Begin with `source`: it makes C++, which `native` builds as `language` says; `simt` launches it in
`csrc` and tells its faults, `launches` its counts, `nvcc` and `ptx` a GPU's. Beside it: `triton`.
"""

from __future__ import annotations
