// tier: small
// Given: the operators around the kernels, for CPU or CUDA tensors. lecture20_k07::nms_masks returns only
// the masks, lecture20_k07::nms which boxes survive.

#include "launch.h"

#include <ATen/ops/zeros.h>

#include <tuple>

using at::Tensor;

namespace {

// Boxes are float32 [n, 4], sorted from the best score to the worst.
int words_of(const Tensor& boxes) {
    TORCH_CHECK(boxes.scalar_type() == at::kFloat, "nms: expected float32");
    TORCH_CHECK(boxes.dim() == 2 && boxes.size(1) == 4 && boxes.size(0) <= 4096, "nms: expected at most 4,096 boxes [n, 4]");
    return static_cast<int>((boxes.size(0) + 63) / 64);
}

Tensor masks(const Tensor& boxes, double threshold) {
    const int words = words_of(boxes), n = static_cast<int>(boxes.size(0));
    const Tensor rows = boxes.contiguous(), found = at::zeros({n, words}, boxes.options().dtype(at::kLong));
    if (n == 0) return found;
    Launch launch("kata_nms_masks", rows);
    launch.in(rows, "boxes").inout(found, "masks");
    launch(n, words, static_cast<float>(threshold), pointer<const float>(rows), pointer<unsigned long long>(found));
    return found;
}

Tensor nms(const Tensor& boxes, double threshold) {
    const Tensor found = masks(boxes, threshold);
    const int words = words_of(boxes), n = static_cast<int>(boxes.size(0));
    const Tensor kept = at::empty({n}, boxes.options().dtype(at::kBool));
    if (n == 0) return kept;
    Launch launch("kata_sweep", found);
    launch.in(found, "masks").out(kept, "kept");
    launch(n, words, pointer<const unsigned long long>(found), pointer<bool>(kept));
    return kept;
}

}  // namespace

TORCH_LIBRARY(lecture20_k07, m) {
    m.def("nms_masks(Tensor boxes, float threshold) -> Tensor");
    m.def("nms(Tensor boxes, float threshold) -> Tensor");
}
TORCH_LIBRARY_IMPL(lecture20_k07, CPU, m) {
    m.impl("nms_masks", masks);
    m.impl("nms", nms);
}
TORCH_LIBRARY_IMPL(lecture20_k07, CUDA, m) {
    m.impl("nms_masks", masks);
    m.impl("nms", nms);
}
