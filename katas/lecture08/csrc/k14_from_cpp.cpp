// tier: small
//
// Run a model without Python: an AOTInductor package, loaded by C++.
//
// TorchScript was how a model left Python: torch::jit::load in a C++ program. It still runs, but is
// deprecated. An AOTInductor package only needs a class in libtorch_cpu:
//
//     torch::inductor::AOTIModelPackageLoader loader("network.pt2");
//     std::vector<at::Tensor> outputs = loader.run({x});
//
// This package was compiled for two rows. Give it three, and it answers with only a warning, and
// with a ReLU that stops after the second row. So split a request of any size into batches:
//
//     5 rows    [0 1] [2 3] [4 pad]    three runs; the caller never sees the row "pad"
//
// 1. load: the package, once for all requests.
// 2. answer: as many runs as needed, about 8 lines.
//
// Begin on paper: how many runs for 0, 1, 2 and 3 rows? Where does the last run get its second row?
// Afterwards open torch/csrc/inductor/aoti_package/model_package_loader.h, in torch/include.
//
// Real life differs: export with a dynamic batch dim if you can, and link your own program with
// libtorch, using CMake.
//
#include <ATen/ops/zeros.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

// ---- given: do not change ----------------------------------------------------------------

using Loader = torch::inductor::AOTIModelPackageLoader;

// The package takes one float32 tensor (kRows, kIn) and returns one (kRows, kOut).
constexpr int64_t kRows = 2;
constexpr int64_t kIn = 4;
constexpr int64_t kOut = 3;

// ---- the exercise ------------------------------------------------------------------------

// Return the loader of the package at `path`. Exceptions pass through to the caller.
std::unique_ptr<Loader> load(const std::string& path) {
  // TODO: one line.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: load");
}

// Write the model's answers to x, (rows, kIn), into y, (rows, kOut). Both are row-major, and
// neither is a byte longer than that.
void answer(Loader& loader, const float* x, int64_t rows, float* y) {
  // TODO: for each batch, make a tensor, run the model, and copy the rows.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: answer");
}

// ---- given: do not change ----------------------------------------------------------------

// A program in C calls these: no exception may leave them.
thread_local std::string error;

template <typename Function>
int guarded(Function function) noexcept {
  try {
    error.clear();
    function();
    return 0;
  } catch (const std::exception& thrown) {
    error = thrown.what();
    return 1;
  }
}

extern "C" {

const char* kata_error() {
  return error.c_str();
}

void* kata_load(const char* path) {
  std::unique_ptr<Loader> loader;
  guarded([&] { loader = load(path); });
  return loader.release();
}

int kata_answer(void* loader, const float* x, int64_t rows, float* y) {
  return guarded([&] { answer(*static_cast<Loader*>(loader), x, rows, y); });
}

void kata_close(void* loader) {
  delete static_cast<Loader*>(loader);
}
}
