// tier: small
// Given: the operators around the kernels. lecture09_k13::scale, ::row_sum and ::differences take
// CPU and CUDA tensors. A contiguous tensor is used in place, wherever it begins.

#include "launch.h"

using at::Tensor;

static void check(const Tensor& x, at::ScalarType dtype, int64_t dims) {
    TORCH_CHECK(x.scalar_type() == dtype, "tails: expected ", dtype);
    TORCH_CHECK(x.dim() == dims, "tails: expected ", dims, dims == 1 ? " dim" : " dims", ", got ", x.dim());
}

static int whole(int64_t number) {
    TORCH_CHECK(number <= 1 << 30, "tails: expected at most 2^30 elements and rows");
    return static_cast<int>(number);
}

static Tensor scale_meta(const Tensor& x, double) {
    check(x, at::kFloat, 1);
    return at::empty_symint(x.sym_sizes(), x.options());
}

static Tensor row_sum_meta(const Tensor& x) {
    check(x, at::kInt, 2);
    return at::empty_symint({x.sym_size(0)}, x.options());
}

static Tensor differences_meta(const Tensor& x) {
    check(x, at::kInt, 1);
    const c10::SymInt n = x.sym_size(0);
    return at::empty_symint({n > 0 ? n - 1 : n}, x.options());
}

static Tensor scale(const Tensor& x, double a) {
    const Tensor out = scale_meta(x, a), xs = x.contiguous();
    Launch launch("kata_scale", xs);
    launch.in(xs, "x").out(out, "out");
    launch(whole(xs.numel()), static_cast<float>(a), pointer<const float>(xs), pointer<float>(out));
    return out;
}

static Tensor row_sum(const Tensor& x) {
    const Tensor sums = row_sum_meta(x), xs = x.contiguous();
    whole(xs.numel());
    Launch launch("kata_row_sum", xs);
    launch.in(xs, "x").out(sums, "sums");
    launch(whole(xs.size(0)), whole(xs.size(1)), pointer<const int>(xs), pointer<int>(sums));
    return sums;
}

static Tensor differences(const Tensor& x) {
    const Tensor out = differences_meta(x), xs = x.contiguous();
    Launch launch("kata_differences", xs);
    launch.in(xs, "x").out(out, "out");
    launch(whole(xs.numel()), pointer<const int>(xs), pointer<int>(out));
    return out;
}

TORCH_LIBRARY(lecture09_k13, m) {
    m.def("scale(Tensor x, float a) -> Tensor");
    m.def("row_sum(Tensor x) -> Tensor");
    m.def("differences(Tensor x) -> Tensor");
}

static void register_all(torch::Library& m) {
    m.impl("scale", scale);
    m.impl("row_sum", row_sum);
    m.impl("differences", differences);
}

TORCH_LIBRARY_IMPL(lecture09_k13, CPU, m) { register_all(m); }
TORCH_LIBRARY_IMPL(lecture09_k13, CUDA, m) { register_all(m); }
TORCH_LIBRARY_IMPL(lecture09_k13, Meta, m) {
    m.impl("scale", scale_meta);
    m.impl("row_sum", row_sum_meta);
    m.impl("differences", differences_meta);
}
