// tier: full
//
// Two elementwise operations and a reduction, fused: one pass over memory forward, one backward.
//
// gelu(input + bias) in PyTorch is two operators. The first writes z = input + bias to memory, the
// second reads it again: 2 tensors read and 2 written (bias is small), where 1 and 1 would do.
// Backward is two more, gelu_backward and a sum, and z stays alive until then. An elementwise
// operator mostly waits for memory, so fusing two of them saves about half of the time. Write
//
//   lecture09_k02::bias_gelu(Tensor input, Tensor bias) -> Tensor
//   lecture09_k02::bias_gelu_backward(Tensor grad, Tensor input, Tensor bias)
//       -> (Tensor grad_input, Tensor grad_bias)
//
// input: (..., n), one dim or more, any of size 0; bias: (n,), added to each row; grad: like
// input. float32 or float64, the same for all; any strides. With z = input + bias,
//
//   output = gelu(z) = 0.5 * z * (1 + tanh(kBeta * (z + kKappa * z^3)))     the tanh approximation
//   grad_input = grad * gelu'(z)
//   grad_bias  = grad_input, summed over all dims but the last: zeros where there are no rows
//
// gelu' is yours to find: the derivative of exactly this formula.
//
// CPU kernels (bias_gelu_cpu, bias_gelu_backward_cpu):
// - The results are new contiguous tensors (row-major), one allocation each. For contiguous
//   inputs nothing else as large is allocated, by anyone: no z, no converted copy. A tensor that is
//   not contiguous may be copied first, by contiguous(). A std::vector as long as bias is fine.
// - One loop, no operator of ATen that computes. z is computed again in backward: that is
//   cheaper than keeping it.
// - Each element is computed in double, z included, and rounded once, when it is stored.
//   grad_bias adds up doubles that have not been rounded, in double, and is rounded once.
// Meta kernels: results like those, without data. Sizes may be symbols: see sym_sizes and
// at::empty_like. All four kernels call check (given) before anything else, CPU kernels perhaps
// by calling the Meta kernel, which makes tensors on the device of its inputs.
//
// Autograd (struct BiasGelu, bias_gelu_autograd):
// - forward: below autograd (at::AutoDispatchBelowADInplaceOrView) the operator once, nothing
//   else. The graph has one node. Saved, with save_for_backward: input and bias, not copied.
// - backward: the operator bias_gelu_backward once, nothing else: it is what the fusion is for.
//   It may compute both gradients though only one is asked for.
// - But that operator has no derivative. When backward is itself recorded (create_graph=True:
//   the engine turns grad mode on for it, at::GradMode::is_enabled()), the gradients have to be
//   made of operators that have one, such as at::gelu_backward(grad, z, "tanh"), not fused, so
//   that gradgradcheck passes. (The other way, a second Function for the derivative of
//   bias_gelu_backward, is as good and longer.)
//
// Out of scope: other dtypes, CUDA, forward mode, vmap, threads (at::parallel_for), infinities.
// About 60 lines. In PyTorch: aten/src/ATen/native/cpu/Activation.cpp (GeluKernelImpl and
// GeluBackwardKernelImpl, which are not fused with a bias), torch/csrc/autograd/custom_function.h
// (Function), tools/autograd/derivatives.yaml (gelu_backward, which has a derivative).
//
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

// The operators, through the dispatcher: whichever kernels the keys of the moment ask for.
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

// For forward, grad is input.
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

Tensor bias_gelu_meta(const Tensor& input, const Tensor& bias) {
  // TODO: the check, and a tensor without data.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: bias_gelu_meta");
}

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

std::tuple<Tensor, Tensor> bias_gelu_backward_cpu(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& bias) {
  // TODO: two new tensors, one loop, and the sums of the columns.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: bias_gelu_backward_cpu");
}

struct BiasGelu : torch::autograd::Function<BiasGelu> {
  static Tensor forward(AutogradContext* ctx, const Tensor& input, const Tensor& bias) {
    // TODO: the output, and what backward will need.
    TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: BiasGelu::forward");
  }

  // One gradient per output comes in; one per input goes out.
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
