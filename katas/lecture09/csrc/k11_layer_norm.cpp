// tier: full
// Given: the operator around the kernel, lecture09_k11::layer_norm_forward, which takes CPU and CUDA
// tensors, float32 or float64; rows are along the last dim.

#include "launch.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <climits>

using at::Tensor;

using Three = std::tuple<Tensor, Tensor, Tensor>;

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

static Three forward_meta(const Tensor& x, const Tensor& weight, const Tensor& bias, double) {
    check_row(x, weight);
    check_row(x, bias);
    const auto sizes = one_per_row(x);
    return {contiguous_like(x), at::empty_symint(sizes, x.options()), at::empty_symint(sizes, x.options())};
}

// ---- The calls of the .cu file

static std::pair<int, int> rows_and_columns(const Tensor& x) {
    TORCH_CHECK_VALUE(x.numel() < INT_MAX && x.size(-1) < INT_MAX, "layer_norm: expected less than 2^31 - 1 elements");
    return {static_cast<int>(x.numel() / x.size(-1)), static_cast<int>(x.size(-1))};
}

template <class T>
static void launch_forward(const char* function, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, const Three& results) {
    const auto& [out, mean, rstd] = results;
    const auto [rows, n] = rows_and_columns(x);
    Launch launch(function, x);
    launch.in(x, "x").in(weight, "weight").in(bias, "bias").out(out, "out").out(mean, "mean").out(rstd, "rstd");
    launch(rows, n, static_cast<T>(eps), pointer<const T>(x), pointer<const T>(weight), pointer<const T>(bias), pointer<T>(out),
           pointer<T>(mean), pointer<T>(rstd));
}

static Three forward(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
    const Three results = forward_meta(x, weight, bias, eps);
    const Tensor xs = x.contiguous(), weights = weight.contiguous(), biases = bias.contiguous();
    if (x.scalar_type() == at::kFloat) {
        launch_forward<float>("kata_forward_float", xs, weights, biases, eps, results);
    } else {
        launch_forward<double>("kata_forward_double", xs, weights, biases, eps, results);
    }
    return results;
}

TORCH_LIBRARY(lecture09_k11, m) {
    m.def("layer_norm_forward(Tensor x, Tensor weight, Tensor bias, float eps) -> (Tensor out, Tensor mean, Tensor rstd)");
}

TORCH_LIBRARY_IMPL(lecture09_k11, CPU, m) { m.impl("layer_norm_forward", forward); }
TORCH_LIBRARY_IMPL(lecture09_k11, CUDA, m) { m.impl("layer_norm_forward", forward); }
TORCH_LIBRARY_IMPL(lecture09_k11, Meta, m) { m.impl("layer_norm_forward", forward_meta); }
