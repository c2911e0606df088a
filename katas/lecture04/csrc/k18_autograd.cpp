// tier: full
//
// Write an autograd kernel that can be differentiated again.
//
// The recurrence inside state space models and gated RNNs has a CPU kernel, and that kernel knows
// nothing about gradients:
//
//   output[0] = input[0]
//   output[t] = decay[t] * output[t - 1] + input[t]
//
// Its gradients need no kernel of their own. With g, the gradient of output, they are the same
// recurrence, run from the last step to the first:
//
//   carried[t]            = g[t] + decay[t + 1] * carried[t + 1]    at the last step: g[t]
//   gradient of input[t]  = carried[t]
//   gradient of decay[t]  = carried[t] * output[t - 1]              at the first step: 0
//
// So call linear_scan on tensors that ATen has flipped, rolled and sliced. All of these have
// derivatives, so your second derivative comes for free, and so does the third.
//
// 1. Scan::forward: call the operator below autograd, and save what backward needs.
// 2. Scan::backward: compute the gradients that are needed.
// 3. linear_scan_autograd, the kernel for the key Autograd: apply Scan.
//
// Begin on paper: three steps. What is carried, and which decay multiplies it?
// Afterwards open torch/include/torch/csrc/autograd/custom_function.h.
//
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

// ---- given: do not change ----------------------------------------------------------------

// The operator, through the dispatcher: whichever kernels the current keys select.
Tensor linear_scan(const Tensor& decay, const Tensor& input) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("lecture04_k18::linear_scan", "")
                             .typed<Tensor(const Tensor&, const Tensor&)>();
  return op.call(decay, input);
}

Tensor linear_scan_meta(const Tensor& decay, const Tensor& input) {
  TORCH_CHECK_VALUE(input.dim() > 0, "linear_scan: expected one dim or more");
  TORCH_CHECK_VALUE(
      decay.sym_sizes() == input.sym_sizes(), "linear_scan: expected tensors of one shape");
  TORCH_CHECK_TYPE(
      decay.scalar_type() == input.scalar_type() &&
          (input.scalar_type() == at::kFloat || input.scalar_type() == at::kDouble),
      "linear_scan: expected two tensors of float32 or of float64");
  return at::empty_like(input, input.options(), at::MemoryFormat::Contiguous);
}

Tensor linear_scan_cpu(const Tensor& decay, const Tensor& input) {
  const auto output = linear_scan_meta(decay, input);
  const auto decays = decay.contiguous();
  const auto inputs = input.contiguous();
  const auto width = input.size(0) == 0 ? 0 : input.numel() / input.size(0);
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "linear_scan", [&] {
    const auto a = decays.const_data_ptr<scalar_t>();
    const auto x = inputs.const_data_ptr<scalar_t>();
    const auto y = output.mutable_data_ptr<scalar_t>();
    for (int64_t i = 0; i < input.numel(); ++i) {
      y[i] = i < width ? x[i] : a[i] * y[i - width] + x[i];
    }
  });
  return output;
}

// ---- the exercise ------------------------------------------------------------------------

struct Scan : torch::autograd::Function<Scan> {
  // Calls the operator once, and computes nothing else. While an object of type
  // at::AutoDispatchBelowADInplaceOrView is alive, the dispatcher skips the autograd key that led
  // here. Saves decay with ctx->save_for_backward, without a copy, and output only if decay
  // requires a gradient, otherwise Tensor(). Lets an undefined gradient arrive as Tensor(), not as
  // zeros (ctx->set_materialize_grads).
  static Tensor forward(AutogradContext* ctx, const Tensor& decay, const Tensor& input) {
    // TODO: the output, and what backward will need.
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: Scan::forward");
  }

  // Takes g as the only entry of a list; returns the gradients of decay and of input. If g is
  // undefined, both are Tensor(), and nothing is computed. Compute decay's gradient only if
  // ctx->needs_input_grad(0). Call linear_scan once, and not below autograd, or there is no second
  // derivative. g may have any strides. decay[0] may be NaN without spoiling anything. There may be
  // no steps, or one: slice(0, 1) and slice(0, 0, -1) work for these too.
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    // TODO: the gradients, computed with operators that have derivatives themselves.
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: Scan::backward");
  }
};

Tensor linear_scan_autograd(const Tensor& decay, const Tensor& input) {
  // TODO: apply Scan.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: linear_scan_autograd");
}

// ---- given: do not change ----------------------------------------------------------------

} // namespace

TORCH_LIBRARY(lecture04_k18, m) {
  m.def("linear_scan(Tensor decay, Tensor input) -> Tensor");
}

TORCH_LIBRARY_IMPL(lecture04_k18, CPU, m) {
  m.impl("linear_scan", &linear_scan_cpu);
}

TORCH_LIBRARY_IMPL(lecture04_k18, Meta, m) {
  m.impl("linear_scan", &linear_scan_meta);
}

TORCH_LIBRARY_IMPL(lecture04_k18, Autograd, m) {
  m.impl("linear_scan", &linear_scan_autograd);
}
