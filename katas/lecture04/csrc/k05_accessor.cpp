// tier: small
//
// A kernel over any strides, by TensorAccessor, and the bounds that it leaves to you.
//
// A banded matrix is zero but for its diagonal, `lower` diagonals below it and `upper` above.
// LAPACK and SciPy store one of n x n in lower + upper + 1 rows of n, a row per diagonal, every
// element in the column that it has in the matrix A:
//
//   A[i][j] = band[upper + i - j][j]          for i - lower <= j <= i + upper
//
//       1 2 . .                     * 2 4 7    the diagonal above
//   A = 3 5 4 .      upper = 1      1 5 6 9    the main diagonal
//       . 8 6 7      lower = 1      3 8 1 *    the diagonal below
//       . . 1 9
//
// The corners marked * are no elements of A. They may hold anything, NaN included, and must not
// be read: with NaN there nothing in a result may be NaN.
//
// Write what two operators do: banded_mv(band, vec, lower, upper) returns A @ vec, and
// banded_addmv_(self, band, vec, lower, upper) adds A @ vec to self in place. The first is
// given, made of the second; so are the schemas and the Meta kernels, which call `check`.
//
// check(self, band, vec, lower, upper) refuses, in this order:
//   a dtype of self other than float32, float64, int64           TypeError (TORCH_CHECK_TYPE)
//       "banded_mv: expected float32, float64 or int64, got Half"
//   band or vec of another dtype than self                       TypeError
//       "banded_mv: expected one dtype, got Float, Double and Float"   (self, band, vec)
//   not 2 dims of band, 1 of vec, 1 of self                      ValueError (TORCH_CHECK_VALUE)
//       "banded_mv: expected band of 2 dims, vec and self of 1, got 1, 1 and 1"
//   lower < 0 or upper < 0                                       ValueError
//       "banded_mv: expected lower and upper of 0 or more, got -1 and 2"
//   band not of lower + upper + 1 rows                           ValueError
//       "banded_mv: expected 4 rows of band, got 3"
//   vec or self not of as many elements as band has columns      ValueError
//       "banded_mv: expected 5 elements of vec and of self, got 5 and 4"
// The Meta kernels call it while torch.compile traces, when sizes may be symbols: ask for a size
// by sym_size(dim), which compares and prints as an int does.
//
// banded_addmv_cpu(self, band, vec, lower, upper) calls check, and loops:
// - band, vec and self may have any strides: transposed, stepped, with an offset, expanded (band
//   and vec), in the middle of a larger tensor whose other elements must be left alone.
// - It calls no operator of ATen, not even contiguous: nothing is copied.
// - Input is read through accessor<const scalar_t, N>. A pointer that may be written through
//   makes PyTorch copy a tensor that shares its memory lazily (copy on write).
// - More diagonals than the matrix has (lower >= n) are fine, and so are 0 and 1 elements.
//
// An accessor checks its dtype and its number of dims when it is made; after that, a[i][j] is
// two multiplications and no check of any bound. It keeps pointers to the sizes and strides of
// its tensor, so the tensor must live longer.
//
// Out of scope: autograd, self that overlaps itself or the inputs.
// About 45 lines, most of them checks. In PyTorch: torch/headeronly/core/TensorAccessor.h
// (TensorAccessor), aten/src/ATen/core/TensorBase.h (accessor), aten/src/ATen/Dispatch.h
// (AT_DISPATCH_FLOATING_TYPES_AND).
//
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <algorithm>

using at::Tensor;

namespace {

// ---- the exercise ------------------------------------------------------------------------

void check(
    const Tensor& self,
    const Tensor& band,
    const Tensor& vec,
    int64_t lower,
    int64_t upper) {
  // TODO: six checks.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: check");
}

void banded_addmv_cpu(
    const Tensor& self,
    const Tensor& band,
    const Tensor& vec,
    int64_t lower,
    int64_t upper) {
  // TODO: three accessors for each dtype, and for each row the columns that it has.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: banded_addmv_cpu");
}

// ---- given: do not change ----------------------------------------------------------------

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

TORCH_LIBRARY(lecture04_k05, m) {
  m.def("banded_mv(Tensor band, Tensor vec, int lower, int upper) -> Tensor");
  m.def("banded_addmv_(Tensor(a!) self, Tensor band, Tensor vec, int lower, int upper) -> ()");
}

TORCH_LIBRARY_IMPL(lecture04_k05, CPU, m) {
  m.impl("banded_mv", &banded_mv_cpu);
  m.impl("banded_addmv_", &banded_addmv_cpu);
}

TORCH_LIBRARY_IMPL(lecture04_k05, Meta, m) {
  m.impl("banded_mv", &banded_mv_meta);
  m.impl("banded_addmv_", &banded_addmv_meta);
}
