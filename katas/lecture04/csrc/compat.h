// The differences between the supported versions of torch that matter to the C++ katas, each in
// one place; katas/compat.py has those of Python.
#pragma once

#include <torch/headeronly/version.h>

#define KATA_TORCH_BEFORE(major, minor) \
  (TORCH_VERSION_MAJOR < major || (TORCH_VERSION_MAJOR == major && TORCH_VERSION_MINOR < minor))

// The last parameter of MetaBase::set_output_raw_strided before torch 2.13, which dropped names of
// dims: `void set_output_raw_strided(int64_t, ..., TensorOptions options KATA_DIM_NAMES) override`.
#if KATA_TORCH_BEFORE(2, 13)
#define KATA_DIM_NAMES , at::DimnameList
#else
#define KATA_DIM_NAMES
#endif
