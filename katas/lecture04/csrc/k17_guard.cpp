// tier: small
//
// Run a kernel on device 1.
//
// On cuda:0 all your tests pass; on cuda:1 your kernel makes an illegal memory access. A launch
// goes to the thread's current device. Inside PyTorch, generated code sets it; in your own
// operator, you do.
//
// Practise on maia:0 to maia:7: c10 has a fake of these chips for tests.
//
// 1. scale_: launch on x's device.
// 2. mean: launch for each tensor on that tensor's device.
//
// However a call ends, restore the caller's current device.
//
// First move: what runs even when an exception is thrown?
// Afterwards open torch/include/c10/core/DeviceGuard.h.
//
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/FakeGuardImpl.h>
#include <torch/library.h>

#include <cmath>
#include <utility>
#include <vector>

using at::Tensor;

// ---- the exercise ------------------------------------------------------------------------

// Two kernels for the chips. They run on this thread's current device, and throw an error if x is
// elsewhere or contains NaN.
void launch_scale(const Tensor& x, double by);
double launch_sum(const Tensor& x);

// Multiplies all elements of x.
void scale_(const Tensor& x, double by) {
  // TODO: one object, then launch_scale.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: scale_");
}

// Returns the mean of all elements of all tensors; without elements it is NaN, like 0.0 / 0.
double mean(at::TensorList xs) {
  // TODO: one launch_sum for each tensor, in order.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: mean");
}

// ---- given: do not change ----------------------------------------------------------------

// c10's fake for tests: it keeps the index of the current device of each thread.
using Chips = c10::impl::FakeGuardImpl<c10::DeviceType::MAIA>;
C10_REGISTER_GUARD_IMPL(MAIA, Chips)

// The device of each launch.
std::vector<int64_t> launched;

float* launch(const Tensor& x) {
  const auto current = Chips::getDeviceIndex();
  launched.push_back(current);
  TORCH_CHECK(
      x.device().index() == current,
      "launch: illegal memory access: the tensor is on ",
      x.device(),
      ", the current device is maia:",
      static_cast<int64_t>(current));
  return static_cast<float*>(x.mutable_data_ptr());
}

void launch_scale(const Tensor& x, double by) {
  auto* const elements = launch(x);
  TORCH_CHECK(!std::isnan(by), "launch: the kernel has failed");
  for (int64_t i = 0; i < x.numel(); ++i) {
    elements[i] = static_cast<float>(elements[i] * by);
  }
}

double launch_sum(const Tensor& x) {
  const auto* const elements = launch(x);
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    sum += elements[i];
  }
  TORCH_CHECK(!std::isnan(sum), "launch: the kernel has failed");
  return sum;
}

// A copy of x on a chip, and a copy of that on the CPU.
Tensor upload(const Tensor& x, int64_t index) {
  const c10::Device chip(c10::DeviceType::MAIA, static_cast<c10::DeviceIndex>(index));
  const auto own = x.to(at::kFloat).contiguous().clone();
  return at::for_blob(own.mutable_data_ptr(), own.sizes())
      .deleter([own](void*) {})
      .options(own.options().device(chip))
      .target_device(chip)
      .make_tensor();
}

Tensor download(const Tensor& x) {
  return at::from_blob(x.mutable_data_ptr(), x.sizes(), at::kFloat).clone();
}

TORCH_LIBRARY(lecture04_k17, m) {
  m.def("scale_(Tensor(a!) x, float by) -> ()", &scale_);
  m.def("mean(Tensor[] xs) -> float", &mean);
  m.def("launch_scale(Tensor(a!) x, float by) -> ()", &launch_scale);
  m.def("upload(Tensor x, int index) -> Tensor", &upload);
  m.def("download(Tensor x) -> Tensor", &download);
  m.def("current() -> int", [] { return static_cast<int64_t>(Chips::getDeviceIndex()); });
  m.def("set_current(int index) -> ()", [](int64_t index) {
    Chips::setDeviceIndex(static_cast<c10::DeviceIndex>(index));
  });
  // Where the launches since the last call went.
  m.def("launches() -> int[]", [] { return std::exchange(launched, {}); });
}
