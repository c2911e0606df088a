// tier: vec
//
// Eight floats at a time: at::vec::Vectorized.
//
// A CPU kernel in ATen is written once, with Vectorized<float>, and compiled several times, for
// AVX2, AVX512 and so on: Vectorized<float>::size() is how many floats one instruction takes.
// Write three kernels over a contiguous buffer of n floats with it. Each must agree with the
// scalar loop that is given, and leave it behind.
//
// 1. silu(out, in, n): out[i] = in[i] / (1 + exp(-in[i])). out may be in. Vec's exp may differ from
//    std::exp in the last bits, so not bit for bit: within torch.testing.assert_close's tolerances.
// 2. sum_of_squares(in, n): the sum of in[i] * in[i]; 0 if n is 0. In another order than the
//    loop's, so not bit for bit: within a relative error of 1e-5.
// 3. max(in, n): the largest element, exactly; NaN if there is one, wherever; -infinity if n is 0.
//
// For all three:
// - any n >= 0, multiples of the width or not, and any address: not only aligned ones;
// - no byte before in[0] or after in[n - 1] is read, and none outside out[0] .. out[n - 1] is
//   written: the tests put the buffers against pages that may not be touched;
// - NaN, infinities and numbers next to overflow come out as in the scalar loop;
// - speed: at 8192 elements, against the scalar loop in the same run, at least 1.7 times as fast
//   for silu, twice for sum_of_squares and for max. (Measured on AVX2: about 3.5, 7 and 7; a
//   scalar loop, which no compiler may reorder here, stays at 1.)
// - with Vectorized itself: do not include ATen/cpu/vec/functional.h. Its at::vec::map, reduce_all
//   and their kin do all of this in one call, and are what you are writing here.
//
// Useful: Vec::loadu(pointer, count) and x.store(pointer, count) take the first `count` elements
// only (the other lanes are loaded as 0), Vec::set(a, b, count) takes them from b and the rest
// from a; x.exp(), x.neg(), at::vec::maximum, at::vec::fmadd.
//
// Out of scope: strides, other dtypes, threads. About 35 lines. In PyTorch:
// aten/src/ATen/cpu/vec/vec_base.h (Vectorized, for any processor), vec256/vec256_float.h beside
// it (for AVX2), aten/src/ATen/native/cpu/Activation.cpp (silu_kernel),
// aten/src/ATen/cpu/vec/functional_base.h (map, reduce_all).
//
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
    // Not a number counts as larger than any: once met, it stays.
    if (in[i] > largest || std::isnan(in[i])) {
      largest = in[i];
    }
    if (std::isnan(largest)) {
      return largest;
    }
  }
  return largest;
}

// ---- the exercise ------------------------------------------------------------------------

void silu(float* out, const float* in, int64_t n) {
  // TODO: whole vectors, then what is left.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: silu");
}

float sum_of_squares(const float* in, int64_t n) {
  // TODO: a sum in every lane, and in the end the sum of the lanes.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: sum_of_squares");
}

float max(const float* in, int64_t n) {
  // TODO: mind what stands in the lanes that no element fills.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: max");
}

// ---- given: do not change ----------------------------------------------------------------

// The tests call by ctypes: no exception may leave a function that C could call.
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
