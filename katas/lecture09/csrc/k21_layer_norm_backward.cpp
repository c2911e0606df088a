// tier: full
// Given: the operators around the kernels, and the autograd function that calls them.
//
//   lecture09_k21::layer_norm_backward   launches the kernels
//   lecture09_k21::layer_norm            ATen's forward; its gradients come from layer_norm_backward
//
// CPU and CUDA tensors, float32 or float64; rows are along the last dim.

#include "launch.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <climits>

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using Three = std::tuple<Tensor, Tensor, Tensor>;

// Call the operators through the dispatcher, which selects the kernels by the current keys.
static Three call_backward(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& mean, const Tensor& rstd) {
    static const auto op =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("lecture09_k21::layer_norm_backward", "")
            .typed<Three(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&)>();
    return op.call(grad, x, weight, mean, rstd);
}

// ---- What the operators expect, and the tensors they return

static void check(const Tensor& x, const Tensor& like) {
    const auto dtype = x.scalar_type();
    TORCH_CHECK_TYPE((dtype == at::kFloat || dtype == at::kDouble) && like.scalar_type() == dtype,
                     "layer_norm: expected tensors of float32 or of float64");
}

static void check_row(const Tensor& x, const Tensor& row) {
    check(x, row);
    TORCH_CHECK_VALUE(x.dim() > 0 && x.sym_size(-1) > 0, "layer_norm: expected rows of one element or more");
    TORCH_CHECK_VALUE(row.dim() == 1 && row.sym_size(0) == x.sym_size(-1), "layer_norm: expected a weight and a bias as long as a row");
}

static Tensor contiguous_like(const Tensor& x) { return at::empty_symint(x.sym_sizes(), x.options()); }

// One number per row, for mean and rstd.
static std::vector<c10::SymInt> one_per_row(const Tensor& x) {
    auto sizes = x.sym_sizes().vec();
    sizes.back() = 1;
    return sizes;
}

static Three backward_meta(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& mean, const Tensor& rstd) {
    check_row(x, weight);
    check(x, grad);
    check(x, mean);
    check(x, rstd);
    const c10::SymIntArrayRef sizes = grad.sym_sizes();
    TORCH_CHECK_VALUE(sizes == x.sym_sizes(), "layer_norm: expected a gradient like x");
    const auto per_row = one_per_row(x);
    TORCH_CHECK_VALUE(mean.sym_sizes() == c10::SymIntArrayRef(per_row) && rstd.sym_sizes() == c10::SymIntArrayRef(per_row),
                      "layer_norm: expected one mean and one rstd per row");
    return {contiguous_like(x), contiguous_like(weight), contiguous_like(weight)};
}

// ---- The calls of the .cu file

static std::pair<int, int> rows_and_columns(const Tensor& x) {
    TORCH_CHECK_VALUE(x.numel() < INT_MAX && x.size(-1) < INT_MAX, "layer_norm: expected less than 2^31 - 1 elements");
    return {static_cast<int>(x.numel() / x.size(-1)), static_cast<int>(x.size(-1))};
}

template <class T>
static void launch_backward(const char* function, const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& mean,
                            const Tensor& rstd, const Three& results) {
    const auto& [grad_x, grad_weight, grad_bias] = results;
    const auto [rows, n] = rows_and_columns(x);
    Launch launch(function, x);
    launch.in(grad, "grad").in(x, "x").in(weight, "weight").in(mean, "mean").in(rstd, "rstd");
    launch.out(grad_x, "grad_x").out(grad_weight, "grad_weight").out(grad_bias, "grad_bias");
    launch(rows, n, pointer<const T>(grad), pointer<const T>(x), pointer<const T>(weight), pointer<const T>(mean), pointer<const T>(rstd),
           pointer<T>(grad_x), pointer<T>(grad_weight), pointer<T>(grad_bias));
}

static Three backward(const Tensor& grad, const Tensor& x, const Tensor& weight, const Tensor& mean, const Tensor& rstd) {
    const Three results = backward_meta(grad, x, weight, mean, rstd);
    const Tensor grads = grad.contiguous(), xs = x.contiguous(), weights = weight.contiguous();
    const Tensor means = mean.contiguous(), rstds = rstd.contiguous();
    if (x.scalar_type() == at::kFloat) {
        launch_backward<float>("kata_backward_float", grads, xs, weights, means, rstds, results);
    } else {
        launch_backward<double>("kata_backward_double", grads, xs, weights, means, rstds, results);
    }
    return results;
}

// ---- Autograd

struct LayerNorm : torch::autograd::Function<LayerNorm> {
    static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        const auto [out, mean, rstd] = at::native_layer_norm(x, weight.sizes(), weight, bias, eps);
        ctx->save_for_backward({x, weight, mean, rstd});
        return out;
    }

    static variable_list backward(AutogradContext* ctx, variable_list gradients) {
        TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled(), "layer_norm: second derivatives are out of scope");
        const auto saved = ctx->get_saved_variables();
        const auto [grad_x, grad_weight, grad_bias] = call_backward(gradients[0], saved[0], saved[1], saved[2], saved[3]);
        return {grad_x, grad_weight, grad_bias, Tensor()};
    }
};

static Tensor layer_norm_autograd(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
    return LayerNorm::apply(x, weight, bias, eps);
}

TORCH_LIBRARY(lecture09_k21, m) {
    m.def("layer_norm_backward(Tensor grad, Tensor x, Tensor weight, Tensor mean, Tensor rstd)"
          " -> (Tensor grad_x, Tensor grad_weight, Tensor grad_bias)");
    m.def("layer_norm(Tensor x, Tensor weight, Tensor bias, float eps) -> Tensor");
}

TORCH_LIBRARY_IMPL(lecture09_k21, CPU, m) { m.impl("layer_norm_backward", backward); }
TORCH_LIBRARY_IMPL(lecture09_k21, CUDA, m) { m.impl("layer_norm_backward", backward); }
TORCH_LIBRARY_IMPL(lecture09_k21, Meta, m) { m.impl("layer_norm_backward", backward_meta); }
TORCH_LIBRARY_IMPL(lecture09_k21, Autograd, m) { m.impl("layer_norm", layer_norm_autograd); }
