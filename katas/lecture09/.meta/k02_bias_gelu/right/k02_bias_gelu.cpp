// tier: full
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

double gelu(double z) {
  return 0.5 * z * (1 + std::tanh(kBeta * (z + kKappa * z * z * z)));
}

double slope(double z) {
  const auto t = std::tanh(kBeta * (z + kKappa * z * z * z));
  return 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * kBeta * (1 + 3 * kKappa * z * z);
}

Tensor bias_gelu_meta(const Tensor& input, const Tensor& bias) {
  check(input, input, bias);
  return at::empty_like(input, input.options(), at::MemoryFormat::Contiguous);
}

Tensor bias_gelu_cpu(const Tensor& input, const Tensor& bias) {
  check(input, input, bias);
  const auto output = at::full(input.sizes(), 0, input.options());
  const auto inputs = input.contiguous();
  const auto biases = bias.contiguous();
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "bias_gelu", [&] {
    const auto x = inputs.const_data_ptr<scalar_t>();
    const auto b = biases.const_data_ptr<scalar_t>();
    const auto y = output.mutable_data_ptr<scalar_t>();
    for (int64_t i = 0; i < input.numel(); ++i) {
      const double z = x[i];
      y[i] = gelu(z + b[i % bias.numel()]);
    }
  });
  return output;
}

std::tuple<Tensor, Tensor> bias_gelu_backward_meta(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& bias) {
  check(grad, input, bias);
  return {
      at::empty_like(input, input.options(), at::MemoryFormat::Contiguous),
      at::empty_like(bias, bias.options(), at::MemoryFormat::Contiguous)};
}

std::tuple<Tensor, Tensor> bias_gelu_backward_cpu(
    const Tensor& grad,
    const Tensor& input,
    const Tensor& bias) {
  check(grad, input, bias);
  // Zeros that the loop writes over are as good as memory that nobody has written.
  const std::tuple<Tensor, Tensor> results{
      at::zeros_like(input, input.options(), at::MemoryFormat::Contiguous), at::zeros(bias.sizes(), bias.options())};
  const auto grads = grad.contiguous();
  const auto inputs = input.contiguous();
  const auto biases = bias.contiguous();
  // One double for each column: a float would lose the last bits of what is added to it.
  std::vector<double> sums(bias.numel());
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "bias_gelu_backward", [&] {
    const auto g = grads.const_data_ptr<scalar_t>();
    const auto x = inputs.const_data_ptr<scalar_t>();
    const auto b = biases.const_data_ptr<scalar_t>();
    const auto for_input = std::get<0>(results).mutable_data_ptr<scalar_t>();
    const auto for_bias = std::get<1>(results).mutable_data_ptr<scalar_t>();
    for (int64_t i = 0; i < input.numel(); ++i) {
      const auto column = i % bias.numel();
      const double z = x[i];
      const auto gradient = g[i] * slope(z + b[column]);
      for_input[i] = gradient;
      sums[column] += gradient;
    }
    for (int64_t column = 0; column < bias.numel(); ++column) {
      for_bias[column] = sums[column];
    }
  });
  return results;
}

struct BiasGelu : torch::autograd::Function<BiasGelu> {
  static Tensor forward(AutogradContext* ctx, const Tensor& input, const Tensor& bias) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    ctx->save_for_backward({input, bias});
    return bias_gelu(input, bias);
  }

  // gradients has one tensor per output; return one gradient per input.
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const auto& input = saved[0];
    const auto& bias = saved[1];
    if (at::GradMode::is_enabled()) {
      // This will be differentiated, so each step is an operator that has a derivative.
      const auto for_input = at::gelu_backward(gradients[0], input + bias, "tanh");
      return {for_input, for_input.sum_to_size_symint(bias.sym_sizes())};
    }
    const auto [for_input, for_bias] = bias_gelu_backward(gradients[0], input, bias);
    return {for_input, for_bias};
  }
};

Tensor bias_gelu_autograd(const Tensor& input, const Tensor& bias) {
  return BiasGelu::apply(input, bias);
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
