// tier: small
//
// Run a model without Python: an AOTInductor package, loaded by C++.
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
  return std::make_unique<Loader>(path);
}

// Write the model's answers to x, (rows, kIn), into y, (rows, kOut). Both are row-major, and
// neither is a byte longer than that.
void answer(Loader& loader, const float* x, int64_t rows, float* y) {
  for (int64_t row = 0; row < rows; row += kRows) {
    const auto count = std::min(kRows, rows - row);
    const auto batch = at::zeros({kRows, kIn}, at::kFloat);
    std::copy_n(x + row * kIn, count * kIn, batch.mutable_data_ptr<float>());
    const auto output = loader.run({batch})[0];
    std::copy_n(output.const_data_ptr<float>(), count * kOut, y + row * kOut);
  }
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
