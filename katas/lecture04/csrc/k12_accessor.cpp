// tier: small
//
// Read a strided matrix in C++ without a contiguous copy.
//
// The obvious kernel reads x.const_data_ptr<float>()[i * n + j]. For x.t() that is a different
// element, without an error. A TensorAccessor carries the strides, so a[i][j] is right for any
// view. It checks no bounds: that is up to you.
//
// Write self += A @ vec for a banded matrix. Only its diagonals are stored, each element in its own
// column:
//
//       1 2 . .              * 2 4 7
//   A = 3 5 4 .      band =  1 5 6 9      upper = 1, lower = 1
//       . 8 6 7              3 8 1 *
//       . . 1 9
//
//   A[i][j] = band[upper + i - j][j]      for i - lower <= j <= i + upper
//
// Fill in banded_addmv_cpu, about 10 lines; the checks are given.
// - One accessor per tensor, accessor<const scalar_t, N>() for tensors that are only read. Do not
//   make the accessor of self a const variable: its elements would be const too.
// - Don't read the corners *: the tests put NaN there.
// - Call no operator, not even contiguous().
//
// Begin on paper: which j exist in rows 0 and 3?
// Afterwards open torch/include/torch/headeronly/core/TensorAccessor.h in site-packages.
//
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <algorithm>

using at::Tensor;

namespace {

// ---- the exercise ------------------------------------------------------------------------

// Refuses wrong dtypes, dims, widths and sizes, so that all indices below are valid. Given.
void check(const Tensor& self, const Tensor& band, const Tensor& vec, int64_t lower, int64_t upper);

// Adds A @ vec to self. After `check`:
// - self, band and vec have the same dtype, scalar_t: float, double or int64_t (add in that type);
// - band has lower + upper + 1 rows of n, vec and self have n elements; n may be 0;
// - any of them may have any strides and offset, in a larger tensor, which must not change; band
//   and vec may be expanded. self overlaps neither itself nor the inputs;
// - lower or upper may be n or more: rows of band without an element of A may hold anything.
void banded_addmv_cpu(
    const Tensor& self,
    const Tensor& band,
    const Tensor& vec,
    int64_t lower,
    int64_t upper) {
  check(self, band, vec, lower, upper);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kLong, self.scalar_type(), "banded_addmv_", [&] {
    // TODO: three accessors; then, for each row i, its columns j.
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: banded_addmv_cpu");
  });
}

// ---- given: do not change ----------------------------------------------------------------

void check(
    const Tensor& self,
    const Tensor& band,
    const Tensor& vec,
    int64_t lower,
    int64_t upper) {
  const auto dtype = self.scalar_type();
  TORCH_CHECK_TYPE(
      dtype == at::kFloat || dtype == at::kDouble || dtype == at::kLong,
      "banded_mv: expected float32, float64 or int64, got ",
      dtype);
  TORCH_CHECK_TYPE(
      band.scalar_type() == dtype && vec.scalar_type() == dtype,
      "banded_mv: expected one dtype, got ",
      dtype,
      ", ",
      band.scalar_type(),
      " and ",
      vec.scalar_type());
  TORCH_CHECK_VALUE(
      band.dim() == 2 && vec.dim() == 1 && self.dim() == 1,
      "banded_mv: expected band of 2 dims, vec and self of 1, got ",
      band.dim(),
      ", ",
      vec.dim(),
      " and ",
      self.dim());
  TORCH_CHECK_VALUE(
      lower >= 0 && upper >= 0,
      "banded_mv: expected lower and upper of 0 or more, got ",
      lower,
      " and ",
      upper);
  // While torch.compile traces, a size may be a symbol; compared with an int, it becomes one.
  TORCH_CHECK_VALUE(
      band.sym_size(0) == lower + upper + 1,
      "banded_mv: expected ",
      lower + upper + 1,
      " rows of band, got ",
      band.sym_size(0));
  const auto n = band.sym_size(1);
  TORCH_CHECK_VALUE(
      vec.sym_numel() == n && self.sym_numel() == n,
      "banded_mv: expected ",
      n,
      " elements of vec and of self, got ",
      vec.sym_numel(),
      " and ",
      self.sym_numel());
}

void banded_addmv_meta(
    const Tensor& self,
    const Tensor& band,
    const Tensor& vec,
    int64_t lower,
    int64_t upper) {
  check(self, band, vec, lower, upper);
}

Tensor banded_mv_cpu(const Tensor& band, const Tensor& vec, int64_t lower, int64_t upper) {
  const auto result = at::zeros_like(vec, vec.options(), at::MemoryFormat::Contiguous);
  banded_addmv_cpu(result, band, vec, lower, upper);
  return result;
}

Tensor banded_mv_meta(const Tensor& band, const Tensor& vec, int64_t lower, int64_t upper) {
  const auto result = at::zeros_like(vec, vec.options(), at::MemoryFormat::Contiguous);
  check(result, band, vec, lower, upper);
  return result;
}

} // namespace

TORCH_LIBRARY(lecture04_k12, m) {
  m.def("banded_mv(Tensor band, Tensor vec, int lower, int upper) -> Tensor");
  m.def("banded_addmv_(Tensor(a!) self, Tensor band, Tensor vec, int lower, int upper) -> ()");
}

TORCH_LIBRARY_IMPL(lecture04_k12, CPU, m) {
  m.impl("banded_mv", &banded_mv_cpu);
  m.impl("banded_addmv_", &banded_addmv_cpu);
}

TORCH_LIBRARY_IMPL(lecture04_k12, Meta, m) {
  m.impl("banded_mv", &banded_mv_meta);
  m.impl("banded_addmv_", &banded_addmv_meta);
}
