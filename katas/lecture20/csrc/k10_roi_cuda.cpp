// tier: small
// Given, except for one line: the operator around the kernel, for CPU or CUDA tensors,
// lecture20_k10::roi_align_backward(grad, rois, shape, scale).

#include "launch.h"

#include <ATen/Context.h>

using at::Tensor;

static Tensor backward(const Tensor& grad, const Tensor& rois, at::IntArrayRef shape, double scale) {
    TORCH_CHECK(grad.scalar_type() == at::kFloat && rois.scalar_type() == at::kFloat, "roi_align_backward: expected float32");
    TORCH_CHECK(grad.dim() == 4 && shape.size() == 4 && grad.size(1) == shape[1], "roi_align_backward: expected grad [boxes, channels, y, x]");
    TORCH_CHECK(rois.dim() == 2 && rois.size(0) == grad.size(0) && rois.size(1) == 5, "roi_align_backward: expected rois [boxes, 5]");
    // TODO, step 2: report that this operator is not deterministic
    const Tensor grads = grad.contiguous(), boxes = rois.contiguous(), maps = at::empty(shape, grad.options());
    Launch launch("kata_spread", grads);
    launch.in(grads, "grad").in(boxes, "rois").out(maps, "grad_maps");
    launch(static_cast<int>(grads.numel()), static_cast<int>(shape[1]), static_cast<int>(shape[2]), static_cast<int>(shape[3]),
           static_cast<int>(grads.size(2)), static_cast<int>(grads.size(3)), static_cast<float>(scale), maps.nbytes(),
           pointer<const float>(grads), pointer<const float>(boxes), pointer<float>(maps));
    return maps;
}

TORCH_LIBRARY(lecture20_k10, m) { m.def("roi_align_backward(Tensor grad, Tensor rois, int[] shape, float scale) -> Tensor"); }
TORCH_LIBRARY_IMPL(lecture20_k10, CPU, m) { m.impl("roi_align_backward", backward); }
TORCH_LIBRARY_IMPL(lecture20_k10, CUDA, m) { m.impl("roi_align_backward", backward); }
