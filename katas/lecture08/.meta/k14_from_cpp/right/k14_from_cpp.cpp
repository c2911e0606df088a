// tier: small
//
// Whole batches are views of x, and only the last one is copied.
#include <ATen/ops/from_blob.h>
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

// The loader of the package at `path`. Exceptions pass through to the caller.
std::unique_ptr<Loader> load(const std::string& path) {
  return std::make_unique<Loader>(path);
}

// Write the model's answers to x, (rows, kIn), into y, (rows, kOut): both row-major, and neither has
// a byte more.
void answer(Loader& loader, const float* x, int64_t rows, float* y) {
  const auto whole = rows / kRows;
  for (int64_t batch = 0; batch < whole; ++batch) {
    const auto from = const_cast<float*>(x) + batch * kRows * kIn;
    const auto output = loader.run({at::from_blob(from, {kRows, kIn}, at::kFloat)}).at(0);
    at::from_blob(y + batch * kRows * kOut, {kRows, kOut}, at::kFloat).copy_(output);
  }
  if (const auto left = rows - whole * kRows; left > 0) {
    float last[kRows * kIn] = {};
    std::copy(x + whole * kRows * kIn, x + rows * kIn, last);
    const auto output = loader.run({at::from_blob(last, {kRows, kIn}, at::kFloat)}).at(0);
    at::from_blob(y + whole * kRows * kOut, {left, kOut}, at::kFloat)
        .copy_(output.narrow(0, 0, left));
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
