"""Compiles the device "toy"; everything else about the package stands in pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import torch
from setuptools import Extension
from setuptools import setup


TORCH = Path(torch.__file__).parent

setup(
    ext_modules=[
        Extension(
            "katas_example.libtoy",
            ["katas_example/toy.cpp"],
            include_dirs=[str(TORCH / "include")],
            library_dirs=[str(TORCH / "lib")],
            libraries=["c10", "torch_cpu"],
            extra_compile_args=["-std=c++20", "-O0", "-g0"],
            language="c++",
        )
    ]
)
