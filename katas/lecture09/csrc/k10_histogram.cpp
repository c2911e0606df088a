// tier: small
// Given: the operators around the kernels. lecture09_k10::histogram and ::histogram_global take
// CPU and CUDA tensors.

#include "launch.h"

using at::Tensor;

static Tensor check(const Tensor& values, int64_t bins) {
    TORCH_CHECK(values.scalar_type() == at::kInt, "histogram: expected int32");
    TORCH_CHECK(bins >= 1 && bins <= (1 << 28), "histogram: expected 1 to 2^28 bins");
    return at::empty({bins}, values.options());
}

static Tensor run(const char* function, const Tensor& values, int64_t bins) {
    const Tensor counts = check(values, bins), all = values.contiguous();
    Launch launch(function, all);
    launch.in(all, "values").out(counts, "counts");
    launch(static_cast<int>(all.numel()), static_cast<int>(bins), pointer<const int>(all), pointer<int>(counts));
    return counts;
}

static Tensor histogram_global(const Tensor& values, int64_t bins) { return run("kata_histogram_global", values, bins); }
static Tensor histogram(const Tensor& values, int64_t bins) { return run("kata_histogram", values, bins); }

TORCH_LIBRARY(lecture09_k10, m) {
    m.def("histogram_global(Tensor values, int bins) -> Tensor");
    m.def("histogram(Tensor values, int bins) -> Tensor");
}

static void register_both(torch::Library& m) {
    m.impl("histogram_global", histogram_global);
    m.impl("histogram", histogram);
}

TORCH_LIBRARY_IMPL(lecture09_k10, CPU, m) { register_both(m); }
TORCH_LIBRARY_IMPL(lecture09_k10, CUDA, m) { register_both(m); }
TORCH_LIBRARY_IMPL(lecture09_k10, Meta, m) {
    m.impl("histogram_global", check);
    m.impl("histogram", check);
}
