"""One C++ source, three builds: CMake, cpp_extension.load, and a setup.py."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch.utils
from torch.utils import cpp_extension


if TYPE_CHECKING:
    from pathlib import Path


# Given, do not change: an operator squared_relu(Tensor self) -> Tensor, for float32 on the CPU.
SOURCE = """\
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

using torch::stable::Tensor;

namespace {

Tensor squared_relu(const Tensor& self) {
  STD_TORCH_CHECK(
      self.scalar_type() == torch::headeronly::ScalarType::Float,
      "squared_relu: expected float32");
  const auto input = torch::stable::contiguous(self);
  const auto output = torch::stable::empty_like(input);
  const auto from = static_cast<const float*>(input.data_ptr());
  const auto to = static_cast<float*>(output.data_ptr());
  for (int64_t i = 0; i < input.numel(); ++i) {
    to[i] = from[i] > 0 ? from[i] * from[i] : 0.0f;
  }
  return output;
}

} // namespace

// A macro's argument is expanded on its way into another macro, and not where # makes text of it.
#define LIBRARY(ns, m) STABLE_TORCH_LIBRARY(ns, m)
#define LIBRARY_IMPL(ns, key, m) STABLE_TORCH_LIBRARY_IMPL(ns, key, m)

LIBRARY(KATA_NAMESPACE, m) {
  m.def("squared_relu(Tensor self) -> Tensor");
}

LIBRARY_IMPL(KATA_NAMESPACE, CPU, m) {
  m.impl("squared_relu", TORCH_BOX(&squared_relu));
}
"""


def cmake_lists(name: str, source: str, namespace: str) -> str:
    """Return the text of the CMakeLists.txt."""
    return f"""\
cmake_minimum_required(VERSION 3.18)
project({name} LANGUAGES CXX)
find_package(Torch REQUIRED)
add_library({name} MODULE {source})
set_target_properties({name} PROPERTIES PREFIX "" CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
target_compile_definitions({name} PRIVATE KATA_NAMESPACE={namespace})
target_link_libraries({name} PRIVATE ${{TORCH_LIBRARIES}})
"""


def configure_command(folder: Path, build: Path) -> list[str]:
    """Return the command that configures `folder` into `build`. Given, do not change."""
    return [
        *("cmake", "-S", str(folder), "-B", str(build), "-G", "Ninja"),
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}",
    ]


def build_command(build: Path) -> list[str]:
    """Return the command that builds what is configured in `build`. Given, do not change."""
    return ["cmake", "--build", str(build)]


def load_extension(name: str, source: Path, namespace: str, folder: Path) -> None:
    """Compile `source` in `folder` and load the library."""
    cpp_extension.load(
        name,
        [str(source)],
        extra_cflags=["-O3", f"-DKATA_NAMESPACE={namespace}"],
        build_directory=str(folder),
        # There is nothing to import: the library registers itself when it is loaded.
        is_python_module=False,
    )


def setup_arguments(name: str, source: Path, namespace: str) -> dict[str, Any]:
    """Return the keyword arguments for ``setuptools.setup``."""
    extension = cpp_extension.CppExtension(
        name,
        [str(source)],
        define_macros=[("KATA_NAMESPACE", namespace)],
        extra_compile_args=["-O3"],
        py_limited_api=True,
    )
    build_ext = cpp_extension.BuildExtension.with_options(no_python_abi_suffix=True)
    return {"name": name, "ext_modules": [extension], "cmdclass": {"build_ext": build_ext}}
