// The device "toy": PyTorch's PrivateUse1 key, an allocator, and the few operators that a
// tensor cannot do without. Every other operator copies its arguments to the CPU, runs there and copies
// the result back.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstdlib>
#include <cstring>

namespace {

using c10::DeviceType;

struct ToyAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t size) override {
    void* data = std::malloc(size);
    TORCH_CHECK(data || size == 0, "toy: out of memory");
    return {data, data, &std::free, c10::Device(DeviceType::PrivateUse1, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return &std::free;
  }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    std::memcpy(to, from, size);
  }
};

// There is one device with one stream, and autograd asks for both.
struct ToyGuard final : c10::impl::NoOpDeviceGuardImpl<DeviceType::PrivateUse1> {
  c10::Device getDevice() const override {
    return {DeviceType::PrivateUse1, 0};
  }
  c10::Device exchangeDevice(c10::Device /*device*/) const override {
    return getDevice();
  }
  c10::Stream getStream(c10::Device /*device*/) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, {DeviceType::PrivateUse1, 0});
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    return stream;
  }
};

struct ToyHooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return true;
  }
  bool hasPrimaryContext(c10::DeviceIndex /*index*/) const override {
    return true;
  }
  c10::DeviceIndex deviceCount() const override {
    return 1;
  }
};

ToyAllocator allocator;
ToyHooks hooks;
const bool hooked = (at::RegisterPrivateUse1HooksInterface(&hooks), true);
constexpr c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);

at::Tensor empty(
    at::IntArrayRef size,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> /*layout*/,
    std::optional<at::Device> /*device*/,
    std::optional<bool> /*pin_memory*/,
    std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &allocator, keys, c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(
    at::IntArrayRef size,
    at::IntArrayRef stride,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> /*layout*/,
    std::optional<at::Device> /*device*/,
    std::optional<bool> /*pin_memory*/) {
  return at::detail::empty_strided_generic(
      size, stride, &allocator, keys, c10::dtype_or_default(dtype));
}

// The memory is the host's, so a CPU tensor over it can do the copying.
at::Tensor on_host(const at::Tensor& tensor) {
  if (tensor.is_cpu()) {
    return tensor;
  }
  return at::from_blob(
      tensor.data_ptr(), tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool /*non_blocking*/) {
  on_host(dst).copy_(on_host(self));
  return dst;
}

// How the fallback brings an argument that an operator wrote to back to the device.
at::Tensor copy_back(const at::Tensor& self, const at::Tensor& dst) {
  dst.resize_(self.sizes());
  return copy_from(self, dst, false);
}

void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::native::cpu_fallback(op, stack);
}

} // namespace

REGISTER_ALLOCATOR(DeviceType::PrivateUse1, &allocator)

namespace c10::impl {
C10_REGISTER_GUARD_IMPL(PrivateUse1, ToyGuard);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("resize_", TORCH_FN(at::native::resize_));
  m.impl("view", &at::native::view);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_back);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
}
