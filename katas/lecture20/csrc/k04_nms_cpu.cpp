// tier: small
//
// NMS as an operator in C++: no operator is called for a pair of boxes.
//
// k03 calls a few operators for each survivor: its time goes into their overhead, and into IoUs with boxes
// that were dropped earlier. 3,000 boxes took 330 to 380 ms; this loop takes 15 to 18, compiled with -O2.
//
//   lecture20_k04::nms(Tensor boxes, Tensor scores, float threshold) -> Tensor
//
// 1. Define it with this schema, and give it a kernel for the CPU only: a kernel given to m.def would be
//    called for meta tensors too, and read memory that is not there.
// 2. nms_cpu: the loop, about 20 lines.
// - Boxes may have any strides: read them with an accessor, without a copy.
// - iou counts its calls. Once a survivor drops a box, stop comparing that box.
//
// Begin with step 1: how does a call with meta tensors fail without your kernel?
// Afterwards open torch/headeronly/core/TensorAccessor.h, in torch/include in site-packages. Real life
// differs: here sources are compiled without optimization, so count pairs and calls, not milliseconds.
//
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

using at::Tensor;

namespace {

// ---- given: do not change ----------------------------------------------------------------

using Box = std::array<double, 4>; // x0, y0, x1, y1

// The IoU of two boxes; counts its calls.
double iou(const Box& a, const Box& b);

// The indices of the boxes from the best score to the worst: NaN first, and equal ones in their given
// order.
std::vector<int64_t> ranked(const Tensor& scores);

// Refuses boxes that are not float32 or float64 [n, 4], with scores [n] of the same dtype.
void check(const Tensor& boxes, const Tensor& scores);

// ---- the exercise ------------------------------------------------------------------------

// Returns the indices of the survivors, int64 [k], best score first. After `check`:
// - visit the boxes in the order of `ranked`; a box survives unless its iou with a survivor is above the
//   threshold, both in double;
// - n may be 0; boxes and scores may have any strides; do not modify them.
Tensor nms_cpu(const Tensor& boxes, const Tensor& scores, double threshold) {
  check(boxes, scores);
  // TODO: keep each survivor's box and index; AT_DISPATCH_FLOATING_TYPES defines scalar_t
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: nms_cpu");
}

// ---- given: do not change ----------------------------------------------------------------

int64_t calls = 0;

double iou(const Box& a, const Box& b) {
  ++calls;
  const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const double height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  const double both = std::max(width, 0.0) * std::max(height, 0.0);
  const double areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]);
  return areas > both ? both / (areas - both) : 0.0;
}

std::vector<int64_t> ranked(const Tensor& scores) {
  std::vector<int64_t> order(scores.numel());
  std::iota(order.begin(), order.end(), 0);
  AT_DISPATCH_FLOATING_TYPES(scores.scalar_type(), "ranked", [&] {
    const auto s = scores.accessor<const scalar_t, 1>();
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      return std::isnan(s[i]) ? !std::isnan(s[j]) : s[i] > s[j];
    });
  });
  return order;
}

void check(const Tensor& boxes, const Tensor& scores) {
  const auto dtype = boxes.scalar_type();
  TORCH_CHECK_TYPE(dtype == at::kFloat || dtype == at::kDouble, "nms: expected float32 or float64, got ", dtype);
  TORCH_CHECK_TYPE(scores.scalar_type() == dtype, "nms: expected scores of ", dtype, ", got ", scores.scalar_type());
  TORCH_CHECK_VALUE(boxes.dim() == 2 && boxes.size(1) == 4, "nms: expected boxes [n, 4], got ", boxes.sizes());
  TORCH_CHECK_VALUE(scores.dim() == 1 && scores.size(0) == boxes.size(0), "nms: expected a score for each of ", boxes.size(0), " boxes, got ", scores.sizes());
}

// How often iou was called since the last call of this function.
int64_t pairs() {
  const int64_t found = calls;
  calls = 0;
  return found;
}

} // namespace

TORCH_LIBRARY(lecture20_k04, m) {
  m.def("pairs() -> int", &pairs);
  // TODO: the schema of nms, without a kernel
}

// TODO: TORCH_LIBRARY_IMPL(lecture20_k04, which key, m), with m.impl
