// tier: small
//
// An operator of your own: its schema, a CPU kernel and a Meta kernel.
//
// Three registrations make an operator. The schema says what it is called and what goes in and
// out. The CPU kernel computes. The Meta kernel says of which shape and dtype the results will
// be, without data: torch.compile, torch.export and FakeTensor plan with it.
//
// The operator is a clamp that leaks. Its schema, to be defined in the namespace lecture04_k03:
//
//   leaky_clamp(Tensor self, float low, float high, *, float below=0., float above=0.)
//       -> (Tensor output, Tensor clipped)
//
// output: like self, each element x replaced by
//     low + below * (x - low)      if x < low
//     high + above * (x - high)    if x > high
//     x                            otherwise: the bounds stay, -0.0 stays, NaN stays
//   A slope of 0 gives the bound itself for every x beyond it, infinities included: mind that
//   0 * inf is NaN. So leaky_clamp(x, low, high) without slopes is what torch.clamp returns.
// clipped: int64, shape (2,): how many elements were below low, and how many above high. It is
//   a tensor, not two ints, because a Meta kernel has no elements to count.
//
// - self: float32 or float64, any shape, any strides. Compare and compute in double, and round
//   once, when an element is stored. Bounds may be -inf and inf.
// - output: a new contiguous tensor (row-major), whatever the strides of self, that shares no
//   memory with it. self stays as it is.
// - The CPU kernel is a loop over the elements. From ATen it takes what makes, copies and
//   views tensors (empty, empty_like, zeros, contiguous, ...), and no arithmetic.
// - The Meta kernel returns meta tensors. While torch.compile traces, sizes are symbols, and they
//   must stay symbols: sizes() turns them into the ints that they happen to be (a guard, so that
//   any other size is compiled again), sym_sizes() and at::empty_like(self, ...) do not.
// - Both kernels refuse, in this order, before anything is allocated:
//     a dtype other than float32, float64    TypeError (TORCH_CHECK_TYPE)
//         "leaky_clamp: expected float32 or float64, got Long"
//     not low <= high, NaN included          ValueError (TORCH_CHECK_VALUE)
//         "leaky_clamp: expected low <= high, got 2 and 1"
//     a slope outside [0, 1], NaN included   ValueError, below before above
//         "leaky_clamp: expected below in [0, 1], got 1.5"
// - The CPU kernel is registered for the key CPU and the other one for Meta: no composite key.
//
// Out of scope: autograd (the next kata), CUDA, float16 and bfloat16.
// About 50 lines. In PyTorch: torch/library.h (TORCH_LIBRARY, TORCH_LIBRARY_IMPL),
// aten/src/ATen/Dispatch.h (AT_DISPATCH_FLOATING_TYPES), c10/util/Exception.h, and the schema
// of clamp in aten/src/ATen/native/native_functions.yaml.
//
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <tuple>

using at::Tensor;

namespace {

std::tuple<Tensor, Tensor> leaky_clamp_cpu(
    const Tensor& self,
    double low,
    double high,
    double below,
    double above) {
  // TODO: the checks, two new tensors, and one loop for each dtype.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: leaky_clamp_cpu");
}

std::tuple<Tensor, Tensor> leaky_clamp_meta(
    const Tensor& self,
    double low,
    double high,
    double below,
    double above) {
  // TODO: the same checks, and two tensors without data.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: leaky_clamp_meta");
}

} // namespace

TORCH_LIBRARY(lecture04_k03, m) {
  // TODO: define the schema.
}

// TODO: a block TORCH_LIBRARY_IMPL(lecture04_k03, CPU, m) with the CPU kernel, and one with the
// key Meta.
