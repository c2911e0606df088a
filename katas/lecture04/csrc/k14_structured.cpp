// tier: iter
//
// A structured kernel by hand: one meta function, three variants, two keys.
//
// Most operators come in three variants: op(self), op_(self) in place, and op(self, out=out).
// They have the same checks and the same result, but get the tensor for it in three ways. In a
// structured operator the checks, the shape and the dtype are worked out in one function, meta,
// which ends by calling set_output_raw_strided. That is virtual: each variant answers in its own
// way. impl then fills the tensor, whosever it is. PyTorch generates the classes around meta and
// impl for `structured: True` entries of native_functions.yaml; here you write them.
//
// The operator is tropical_addr(self, row, col), the outer product of max-plus algebra, where
// addition is maximum and multiplication is addition:
//
//   result[i][j] = max(self[i][j], row[i] + col[j])       NaN if one of the two is NaN
//
// row and col have 1 dim (m and n elements, 0 included), self any shape that expands to (m, n).
// The dtype is that of torch.maximum(self, row[:, None] + col). So are the values, but all three
// operands are converted to that dtype before anything is added.
//
// 1. meta refuses, in this order, then calls set_output_raw_strided (output 0, shape (m, n), no
//    strides hint, the common dtype on the device of self):
//    a) row or col not of 1 dim: ValueError (TORCH_CHECK_VALUE),
//       "tropical_addr: expected row and col of 1 dim, got 2 and 1"
//    b) self does not expand to (m, n) (at::is_expandable_to): ValueError,
//       "tropical_addr: expected self to expand to [2, 3], got [3, 2]"
//    c) the common dtype (at::native::result_type) is not float32, float64, int64: TypeError
//       (TORCH_CHECK_TYPE), "tropical_addr: cannot compute in Half"
// 2. impl fills out, which may have any strides, by one loop. From ATen it takes to, expand and
//    what copies, and no arithmetic.
// 3. set_output_raw_strided of
//    Functional: makes a new contiguous tensor.
//    Out: refuses a wrong dtype, then a wrong device, with TORCH_CHECK (RuntimeError),
//       "Expected out tensor to have dtype float, but got double instead"
//       "Expected out tensor to have device meta, but got cpu instead"
//       then resizes (at::native::resize_output: nothing happens to an out of the right shape,
//       which keeps its strides).
//    Inplace: self keeps its dtype and shape. TORCH_CHECK refuses others, the dtype first,
//       "Bad in-place call: input tensor dtype float and output tensor dtype double should match"
//       "Bad in-place call: input tensor size [3] and output tensor size [2, 3] should match"
//    TensorOptions::dtype() and Tensor::dtype() print as in these messages ("float"), a
//    c10::ScalarType as in that of 1c ("Half").
//    KATA_DIM_NAMES (compat.h) is nothing since torch 2.13. Before, it is a last parameter, the
//    names of dims, which this kata leaves alone.
//
// A call that is refused has changed nothing. The Meta key has the same meta, and an impl that
// does nothing: what fails on the CPU fails there with the same words.
// Out of scope: autograd, symbolic sizes, operands on different devices, out or self that shares
// memory with row or col, out that shares memory with self without being self, or that is self
// and would be resized.
// About 60 lines. In PyTorch: aten/src/ATen/TensorMeta.h (MetaBase, TORCH_META_FUNC,
// TORCH_IMPL_FUNC), torchgen/dest/register_dispatch_key.py (gen_resize_out_helper,
// gen_check_inplace_helper: what is generated), aten/src/ATen/native/LinearAlgebra.cpp
// (TORCH_META_FUNC(addmm)).
//
#include <ATen/Dispatch.h>
#include <ATen/ExpandUtils.h>
#include <ATen/TensorMeta.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <vector>

#include "compat.h"

using at::IntArrayRef;
using at::Tensor;
using at::TensorOptions;

namespace {

// ---- given: do not change ----------------------------------------------------------------

// These are declared in generated headers too. TORCH_META_FUNC(x) begins the definition of
// structured_x::meta, TORCH_IMPL_FUNC(x) that of structured_x::impl.
struct structured_tropical_addr : at::impl::MetaBase {
  void meta(const Tensor& self, const Tensor& row, const Tensor& col);
};

struct structured_tropical_addr_cpu : structured_tropical_addr {
  void impl(const Tensor& self, const Tensor& row, const Tensor& col, const Tensor& out);
};

struct structured_tropical_addr_meta : structured_tropical_addr {
  void impl(const Tensor&, const Tensor&, const Tensor&, const Tensor&) {}
};

// ---- the exercise ------------------------------------------------------------------------

TORCH_META_FUNC(tropical_addr)(const Tensor& self, const Tensor& row, const Tensor& col) {
  // TODO: three checks, the shape and the dtype.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: meta");
}

TORCH_IMPL_FUNC(tropical_addr_cpu)
(const Tensor& self, const Tensor& row, const Tensor& col, const Tensor& out) {
  // TODO: one loop; out has the right shape and dtype.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: impl");
}

template <class Structured>
struct Functional final : Structured {
  void set_output_raw_strided(
      int64_t, IntArrayRef sizes, IntArrayRef, TensorOptions options KATA_DIM_NAMES) override {
    // TODO: set `output`.
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: Functional");
  }
  const Tensor& maybe_get_output(int64_t) override {
    return output;
  }
  Tensor output;
};

template <class Structured>
struct Out final : Structured {
  explicit Out(Tensor& out) : output(out) {}
  void set_output_raw_strided(
      int64_t, IntArrayRef sizes, IntArrayRef, TensorOptions options KATA_DIM_NAMES) override {
    // TODO: may `output` be used? Then resize it.
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: Out");
  }
  const Tensor& maybe_get_output(int64_t) override {
    return output;
  }
  Tensor& output;
};

template <class Structured>
struct Inplace final : Structured {
  explicit Inplace(Tensor& self) : output(self) {}
  void set_output_raw_strided(
      int64_t, IntArrayRef sizes, IntArrayRef, TensorOptions options KATA_DIM_NAMES) override {
    // TODO: may `output` be used, as it is?
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: Inplace");
  }
  const Tensor& maybe_get_output(int64_t) override {
    return output;
  }
  Tensor& output;
};

// ---- given: do not change ----------------------------------------------------------------

// The kernels that are registered. They are generated too, once for each key.
template <class Structured>
Tensor functional(const Tensor& self, const Tensor& row, const Tensor& col) {
  Functional<Structured> op;
  op.meta(self, row, col);
  op.impl(self, row, col, op.maybe_get_output(0));
  return op.maybe_get_output(0);
}

template <class Structured>
Tensor& out(const Tensor& self, const Tensor& row, const Tensor& col, Tensor& out) {
  Out<Structured> op(out);
  op.meta(self, row, col);
  op.impl(self, row, col, op.maybe_get_output(0));
  return out;
}

template <class Structured>
Tensor& inplace(Tensor& self, const Tensor& row, const Tensor& col) {
  Inplace<Structured> op(self);
  op.meta(self, row, col);
  op.impl(self, row, col, op.maybe_get_output(0));
  return self;
}

} // namespace

TORCH_LIBRARY(lecture04_k14, m) {
  m.def("tropical_addr(Tensor self, Tensor row, Tensor col) -> Tensor");
  m.def("tropical_addr.out(Tensor self, Tensor row, Tensor col, *, Tensor(a!) out) -> Tensor(a!)");
  m.def("tropical_addr_(Tensor(a!) self, Tensor row, Tensor col) -> Tensor(a!)");
}

TORCH_LIBRARY_IMPL(lecture04_k14, CPU, m) {
  m.impl("tropical_addr", &functional<structured_tropical_addr_cpu>);
  m.impl("tropical_addr.out", &out<structured_tropical_addr_cpu>);
  m.impl("tropical_addr_", &inplace<structured_tropical_addr_cpu>);
}

TORCH_LIBRARY_IMPL(lecture04_k14, Meta, m) {
  m.impl("tropical_addr", &functional<structured_tropical_addr_meta>);
  m.impl("tropical_addr.out", &out<structured_tropical_addr_meta>);
  m.impl("tropical_addr_", &inplace<structured_tropical_addr_meta>);
}
