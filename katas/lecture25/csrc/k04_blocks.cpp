// tier: small
// Given: the operators around the kernels, for tensors of the CPU or of CUDA: lecture25_k04::pool, scatter
// and gather. Matrices are float32 and contiguous, ids, offsets and bags are int64.

#include "launch.h"

#include <ATen/Context.h>

using at::Tensor;

namespace {

void check(const Tensor& matrix, const Tensor& ids, const Tensor& others) {
    TORCH_CHECK(matrix.scalar_type() == at::kFloat && matrix.dim() == 2 && matrix.is_contiguous(), "expected a contiguous float32 matrix");
    for (const Tensor& x : {ids, others}) {
        TORCH_CHECK(x.scalar_type() == at::kLong && x.dim() == 1 && x.is_contiguous(), "expected a contiguous int64 vector");
    }
}

int length(const Tensor& x) { return static_cast<int>(x.size(0)); }

Tensor pool(const Tensor& table, const Tensor& ids, const Tensor& offsets) {
    check(table, ids, offsets);
    const Tensor result = at::empty({offsets.size(0), table.size(1)}, table.options());
    Launch launch("kata_pool", table);
    launch.in(table, "table").in(ids, "ids").in(offsets, "offsets").out(result, "result");
    launch(length(offsets), length(ids), static_cast<int>(table.size(1)), pointer<const long long>(ids), pointer<const long long>(offsets),
           pointer<const float>(table), pointer<float>(result));
    return result;
}

Tensor scatter(const Tensor& grad, const Tensor& ids, const Tensor& offsets, int64_t rows) {
    check(grad, ids, offsets);
    at::globalContext().alertNotDeterministic("lecture25_k04::scatter");
    const Tensor table = at::empty({rows, grad.size(1)}, grad.options());
    Launch launch("kata_scatter", grad);
    launch.in(grad, "grad").in(ids, "ids").in(offsets, "offsets").out(table, "grad_table");
    launch(length(offsets), length(ids), static_cast<int>(grad.size(1)), table.nbytes(), pointer<const long long>(ids),
           pointer<const long long>(offsets), pointer<const float>(grad), pointer<float>(table));
    return table;
}

Tensor gather(const Tensor& grad, const Tensor& ids, const Tensor& bags, int64_t rows) {
    check(grad, ids, bags);
    const Tensor table = at::empty({rows, grad.size(1)}, grad.options());
    Launch launch("kata_gather", grad);
    launch.in(grad, "grad").in(ids, "ids").in(bags, "bags").out(table, "grad_table");
    launch(length(ids), static_cast<int>(grad.size(1)), table.nbytes(), pointer<const long long>(ids), pointer<const long long>(bags),
           pointer<const float>(grad), pointer<float>(table));
    return table;
}

}  // namespace

TORCH_LIBRARY(lecture25_k04, m) {
    m.def("pool(Tensor table, Tensor ids, Tensor offsets) -> Tensor");
    m.def("scatter(Tensor grad, Tensor ids, Tensor offsets, int rows) -> Tensor");
    m.def("gather(Tensor grad, Tensor ids, Tensor bags, int rows) -> Tensor");
}
TORCH_LIBRARY_IMPL(lecture25_k04, CPU, m) {
    m.impl("pool", pool);
    m.impl("scatter", scatter);
    m.impl("gather", gather);
}
TORCH_LIBRARY_IMPL(lecture25_k04, CUDA, m) {
    m.impl("pool", pool);
    m.impl("scatter", scatter);
    m.impl("gather", gather);
}
