// tier: full
//
// The autograd kernel of an operator, in C++, good for second derivatives.
//
// lecture04_k18::linear_scan(Tensor decay, Tensor input) -> Tensor is the recurrence inside
// state space models and gated RNNs, along dim 0:
//
//   output[0] = input[0]
//   output[t] = decay[t] * output[t - 1] + input[t]
//
// Both tensors have the same shape (one dim or more, any of size 0) and dtype (float32 or
// float64). decay[0] is never read. The schema, the CPU kernel and the Meta kernel are given;
// they know nothing of autograd. You write what is registered for the key Autograd: a subclass
// of torch::autograd::Function, called Scan, and the kernel that applies it.
//
// With g[t], the gradient of output[t], the gradients are
//
//   carried[t] = g[t] + decay[t + 1] * carried[t + 1]    (carried[T - 1] = g[T - 1])
//   of input[t]:  carried[t]
//   of decay[t]:  carried[t] * output[t - 1]             (of decay[0]: 0)
//
// carried is a linear_scan itself, read backwards, with the decays moved by one. So backward
// needs no new kernel: call the operator through the dispatcher (`linear_scan`, given) on
// tensors that ATen has flipped, rolled and sliced, and the second derivative, and the third,
// come for free.
//
// What the tests want:
// - forward calls the operator again, below autograd, once, and does nothing else. Inside
//   at::AutoDispatchBelowADInplaceOrView the dispatcher skips the key that brought you here;
//   without that guard you would arrive here again for ever. Backward must not be guarded, or
//   there will be no second derivative.
// - The graph of output has one node, Scan. Without gradients (torch.no_grad, or no input that
//   requires grad) it has none.
// - Saved for backward, with save_for_backward: decay, and output only if decay requires grad.
//   No copies. A saved tensor that is changed in place before backward is an error by itself.
// - Backward calls linear_scan once, and does not compute the gradient of decay if nobody asks
//   for it (ctx->needs_input_grad(0); it may be asked for input alone even if both require grad).
// - A gradient of output may be undefined (a Python Function that returned None comes after).
//   Then all gradients are undefined, and nothing is computed: set_materialize_grads.
// - decay[0] may be NaN; it spoils nothing, and its gradient is 0.
// - Any strides, of the inputs and of g. Gradients have the shape and dtype of their inputs.
//
// The sizes of traced tensors are symbols: slice(0, 1) and slice(0, 0, -1) take what they find,
// arithmetic with size(0) would turn it into an int. Mind T = 0 and T = 1.
// Out of scope: forward-mode derivatives, vmap, complex numbers.
// About 30 lines. In PyTorch: torch/csrc/autograd/custom_function.h (Function,
// AutogradContext), aten/src/ATen/core/LegacyTypeDispatch.h (the guards, and why there are
// two), tools/autograd/derivatives.yaml (cumsum: a backward made of the operator itself).
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

// The operator, through the dispatcher: whichever kernels the keys of the moment ask for.
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
  static Tensor forward(AutogradContext* ctx, const Tensor& decay, const Tensor& input) {
    // TODO: the output, and what backward will need.
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: Scan::forward");
  }

  // One gradient per output comes in; one per input goes out, Tensor() for an undefined one.
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    // TODO: the gradients, made of operators that have derivatives themselves.
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
