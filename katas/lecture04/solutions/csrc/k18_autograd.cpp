// tier: full
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
    const at::AutoDispatchBelowADInplaceOrView guard;
    const auto output = linear_scan(decay, input);
    ctx->save_for_backward({decay, decay.requires_grad() ? output : Tensor()});
    // Otherwise an undefined gradient would arrive as zeros, and all the work would be done on
    // them.
    ctx->set_materialize_grads(false);
    return output;
  }

  // Takes g as the only entry of a list; returns the gradients of decay and of input. If g is
  // undefined, both are Tensor(), and nothing is computed. Compute decay's gradient only if
  // ctx->needs_input_grad(0). Call linear_scan once, and not below autograd, or there is no second
  // derivative. g may have any strides. decay[0] may be NaN without spoiling anything. There may be
  // no steps, or one: slice(0, 1) and slice(0, 0, -1) work for these too.
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto& gradient = gradients[0];
    if (!gradient.defined()) {
      return {Tensor(), Tensor()};
    }
    const auto saved = ctx->get_saved_variables();
    const auto& decay = saved[0];
    const auto& output = saved[1];
    // Backwards in time, step t + 1 comes before t, with its own decay. Rolling puts decay[0] in
    // front, where it is never read.
    const auto carried = linear_scan(decay.roll(-1, 0).flip(0), gradient.flip(0)).flip(0);
    Tensor for_decay;
    if (ctx->needs_input_grad(0)) {
      const auto later = carried.slice(0, 1) * output.slice(0, 0, -1);
      // A row of zeros for decay[0], or no row if there are no steps.
      for_decay = at::cat({at::zeros_like(carried.slice(0, 0, 1)), later});
    }
    return {for_decay, carried};
  }
};

Tensor linear_scan_autograd(const Tensor& decay, const Tensor& input) {
  return Scan::apply(decay, input);
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
