// tier: full
//
// Two elementwise operations and a reduction, fused: one pass over memory forward, one backward.
//
// gelu(input + bias) is two operators: the first writes z = input + bias to memory, the second
// reads it again. Backward is two more, and z stays alive until then. An elementwise operator is
// bound by memory, so one pass instead of two is nearly twice as fast:
//
//   z = input + bias
//   output     = 0.5 * z * (1 + tanh(kBeta * (z + kKappa * z^3)))
//   grad_input = grad * gelu'(z)               gelu' is yours to find
//   grad_bias  = the columns of grad_input, summed
//
// 1. bias_gelu_cpu: one loop.
// 2. bias_gelu_backward_cpu: one loop that recomputes z, which is cheaper than keeping it.
// 3. bias_gelu_backward_meta; the other Meta kernel is given.
// 4. BiasGelu and bias_gelu_autograd: below autograd the operator runs once in each direction.
// 5. A backward that is itself recorded: bias_gelu_backward has no derivative, so use operators
//    that have one.
//
// About 55 lines.
//
// - Call check (given) first in each kernel.
// - Compute in double, and round once, when you store.
// - Results are new and contiguous. Allocate nothing else that large.
//
// Begin on paper: differentiate z * (1 + tanh(u(z))) by z.
// Afterwards read GeluBackwardKernelImpl in aten/src/ATen/native/cpu/Activation.cpp.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cmath>
#include <tuple>
#include <vector>

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

// ---- given: do not change ----------------------------------------------------------------

constexpr double kBeta = 0.79788456080286535588; // sqrt(2 / pi)
constexpr double kKappa = 0.044715;

// Call the operators through the dispatcher, which selects the kernels by the current keys.
Tensor bias_gelu(const Tensor& input, const Tensor& bias) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("lecture09_k02::bias_gelu", "")
                             .typed<Tensor(const Tensor&, const Tensor&)>();
  return op.call(input, bias);
}

std::tuple<Tensor, Tensor> bias_gelu_backward(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& bias) {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("lecture09_k02::bias_gelu_backward", "")
          .typed<std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&)>();
  return op.call(grad, input, bias);
}

// Forward passes input as grad.
void check(const Tensor& grad, const Tensor& input, const Tensor& bias) {
  const auto dtype = input.scalar_type();
  TORCH_CHECK_TYPE(
      (dtype == at::kFloat || dtype == at::kDouble) && bias.scalar_type() == dtype &&
          grad.scalar_type() == dtype,
      "bias_gelu: expected tensors of float32 or of float64");
  TORCH_CHECK_VALUE(
      input.dim() > 0 && bias.dim() == 1 && bias.sym_size(0) == input.sym_size(-1),
      "bias_gelu: expected a bias as long as the rows of input");
  TORCH_CHECK_VALUE(
      grad.sym_sizes() == input.sym_sizes(), "bias_gelu: expected a gradient like input");
}

// ---- the exercise ------------------------------------------------------------------------

// Given: a result like the CPU kernel's, without data; the CPU kernel allocates its tensor with it.
// Sizes may be symbols.
Tensor bias_gelu_meta(const Tensor& input, const Tensor& bias) {
  check(input, input, bias);
  return at::empty_like(input, input.options(), at::MemoryFormat::Contiguous);
}

// input: (..., n), with one dim or more, any of them of size 0; bias: (n,), added to each row. float32
// or float64, any strides. A tensor that is not contiguous may be copied first, by contiguous(); no ATen operator
// computes. NaN stays NaN.
Tensor bias_gelu_cpu(const Tensor& input, const Tensor& bias) {
  // TODO: one new tensor, one loop.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: bias_gelu_cpu");
}

std::tuple<Tensor, Tensor> bias_gelu_backward_meta(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& bias) {
  // TODO: the check, and two tensors without data.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: bias_gelu_backward_meta");
}

// grad_bias adds up doubles that have not been rounded; a std::vector as long as bias is fine. Without rows
// it is zeros.
std::tuple<Tensor, Tensor> bias_gelu_backward_cpu(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& bias) {
  // TODO: two new tensors, one loop, and the sums of the columns.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: bias_gelu_backward_cpu");
}

// at::AutoDispatchBelowADInplaceOrView goes below autograd. Save the two inputs, by save_for_backward. The
// engine turns grad mode on for a backward that is recorded: at::GradMode::is_enabled(). In that case
// use at::gelu_backward(grad, z, "tanh"), which has a derivative.
struct BiasGelu : torch::autograd::Function<BiasGelu> {
  static Tensor forward(AutogradContext* ctx, const Tensor& input, const Tensor& bias) {
    // TODO: the output, and what backward will need.
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: BiasGelu::forward");
  }

  // gradients has one tensor per output; return one gradient per input.
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    // TODO: the fused operator, or, when this is recorded, operators with derivatives.
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: BiasGelu::backward");
  }
};

Tensor bias_gelu_autograd(const Tensor& input, const Tensor& bias) {
  // TODO: apply BiasGelu.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: bias_gelu_autograd");
}

// ---- given: do not change ----------------------------------------------------------------

} // namespace

TORCH_LIBRARY(lecture09_k02, m) {
  m.def("bias_gelu(Tensor input, Tensor bias) -> Tensor");
  m.def(
      "bias_gelu_backward(Tensor grad, Tensor input, Tensor bias)"
      " -> (Tensor grad_input, Tensor grad_bias)");
}

TORCH_LIBRARY_IMPL(lecture09_k02, CPU, m) {
  m.impl("bias_gelu", &bias_gelu_cpu);
  m.impl("bias_gelu_backward", &bias_gelu_backward_cpu);
}

TORCH_LIBRARY_IMPL(lecture09_k02, Meta, m) {
  m.impl("bias_gelu", &bias_gelu_meta);
  m.impl("bias_gelu_backward", &bias_gelu_backward_meta);
}

TORCH_LIBRARY_IMPL(lecture09_k02, Autograd, m) {
  m.impl("bias_gelu", &bias_gelu_autograd);
}
