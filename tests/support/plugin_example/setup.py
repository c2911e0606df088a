"""Compiles the device "toy"; everything else about the package stands in pyproject.toml."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from setuptools import Extension
from setuptools import setup


# Found and not imported: pip runs this file more than once.
SPEC = find_spec("torch")
TORCH = Path(SPEC.origin if SPEC and SPEC.origin else "torch").parent

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
