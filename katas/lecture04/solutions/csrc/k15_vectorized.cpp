// tier: vec
#include <ATen/cpu/vec/vec.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

// ---- given: do not change ----------------------------------------------------------------

using Vec = at::vec::Vectorized<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void silu_scalar(float* out, const float* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = in[i] / (1.0f + std::exp(-in[i]));
  }
}

float sum_of_squares_scalar(const float* in, int64_t n) {
  float sum = 0.0f;
  for (int64_t i = 0; i < n; ++i) {
    sum += in[i] * in[i];
  }
  return sum;
}

float max_scalar(const float* in, int64_t n) {
  float largest = -kInfinity;
  for (int64_t i = 0; i < n; ++i) {
    // NaN counts as larger than any number: once found, it stays.
    if (in[i] > largest || std::isnan(in[i])) {
      largest = in[i];
    }
    if (std::isnan(largest)) {
      return largest;
    }
  }
  return largest;
}

// An example: the sum of the squares, 0 if n is 0.
float sum_of_squares(const float* in, int64_t n) {
  // One sum per lane: additions that do not wait for each other.
  Vec sums(0.0f);
  for (int64_t i = 0; i < n; i += Vec::size()) {
    // Lanes beyond the count are loaded as zero, which adds nothing.
    const auto x = Vec::loadu(in + i, std::min<int64_t>(Vec::size(), n - i));
    sums = at::vec::fmadd(x, x, sums);
  }
  float lanes[Vec::size()];
  sums.store(lanes);
  float sum = 0.0f;
  for (const auto lane : lanes) {
    sum += lane;
  }
  return sum;
}

// ---- the exercise ------------------------------------------------------------------------

void silu(float* out, const float* in, int64_t n) {
  const Vec one(1.0f);
  for (int64_t i = 0; i < n; i += Vec::size()) {
    // With a count, loadu and store touch only that many elements.
    const auto count = std::min<int64_t>(Vec::size(), n - i);
    const auto x = Vec::loadu(in + i, count);
    (x / (one + x.neg().exp())).store(out + i, count);
  }
}

float max(const float* in, int64_t n) {
  const Vec lowest(-kInfinity);
  auto largest = lowest;
  for (int64_t i = 0; i < n; i += Vec::size()) {
    const auto count = std::min<int64_t>(Vec::size(), n - i);
    // Here a zero could be larger than all elements, so fill the other lanes with -infinity.
    const auto x = Vec::set(lowest, Vec::loadu(in + i, count), count);
    largest = at::vec::maximum(largest, x);
  }
  float lanes[Vec::size()];
  largest.store(lanes);
  return max_scalar(lanes, Vec::size());
}

// ---- given: do not change ----------------------------------------------------------------

// The tests use ctypes: no exception may leave a function that C could call.
template <typename Function>
int guarded(Function function) noexcept {
  try {
    function();
    return 0;
  } catch (const c10::NotImplementedError&) {
    return 1;
  }
}

extern "C" {

int64_t kata_width() {
  return Vec::size();
}

// Whether Vectorized<float>::exp is more than a loop over its lanes in this build.
int64_t kata_exp_is_vectorized() {
#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512)
  return 1;
#else
  return 0;
#endif
}

int kata_silu(float* out, const float* in, int64_t n) {
  return guarded([&] { silu(out, in, n); });
}

int kata_sum_of_squares(float* out, const float* in, int64_t n) {
  return guarded([&] { *out = sum_of_squares(in, n); });
}

int kata_max(float* out, const float* in, int64_t n) {
  return guarded([&] { *out = max(in, n); });
}

int kata_silu_scalar(float* out, const float* in, int64_t n) {
  return guarded([&] { silu_scalar(out, in, n); });
}

int kata_sum_of_squares_scalar(float* out, const float* in, int64_t n) {
  return guarded([&] { *out = sum_of_squares_scalar(in, n); });
}

int kata_max_scalar(float* out, const float* in, int64_t n) {
  return guarded([&] { *out = max_scalar(in, n); });
}
}
