// tier: small
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <string>

using at::Tensor;

// ---- given: do not change ----------------------------------------------------------------

// The device: a chip with memory of its own. Its addresses mean nothing to the processor, so code
// that dereferences them crashes with a segmentation fault.
namespace chip {

constexpr uintptr_t kFar = uintptr_t{1} << 62;
std::map<uintptr_t, size_t> blocks;
int64_t launches = 0;

// The processor's address of `bytes` bytes at a chip address, which must be within one block.
void* near(const void* address, size_t bytes) {
  const auto from = reinterpret_cast<uintptr_t>(address);
  auto block = blocks.upper_bound(from);
  TORCH_CHECK(
      block != blocks.begin() && from + bytes <= std::prev(block)->first + std::prev(block)->second,
      "chip: ",
      bytes,
      " bytes at ",
      address,
      " are not in its memory");
  return reinterpret_cast<void*>(from - kFar);
}

void* allocate(size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(std::malloc(bytes)) + kFar;
  blocks[address] = bytes;
  return reinterpret_cast<void*>(address);
}

void free(void* address) {
  if (blocks.erase(reinterpret_cast<uintptr_t>(address)) == 1) {
    std::free(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) - kFar));
  }
}

// From the processor's memory to the chip's, and back.
void write(void* address, const void* from, size_t bytes) {
  std::memcpy(near(address, bytes), from, bytes);
}

void read(void* to, const void* address, size_t bytes) {
  std::memcpy(to, near(address, bytes), bytes);
}

// The chip's one kernel: `count` floats, one after another.
void relu(float* out, const float* in, int64_t count) {
  auto* const y = static_cast<float*>(near(out, count * sizeof(float)));
  const auto* const x = static_cast<const float*>(near(in, count * sizeof(float)));
  for (int64_t i = 0; i < count; ++i) {
    y[i] = x[i] < 0 ? 0 : x[i];
  }
  ++launches;
}

} // namespace chip

const c10::Device kDevice(c10::DeviceType::PrivateUse1, 0);

std::map<std::string, int64_t> fallen;

int64_t memory() {
  int64_t bytes = 0;
  for (const auto& [address, size] : chip::blocks) {
    bytes += size;
  }
  return bytes;
}

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

// The bytes from the first element of x to the end of its last.
size_t extent(const Tensor& x) {
  return at::detail::computeStorageNbytes(x.sizes(), x.strides(), x.itemsize());
}

// An allocator that cannot copy; you decide how it allocates.
struct BaseAllocator : c10::Allocator {
  void copy_data(void* /*to*/, const void* /*from*/, size_t /*bytes*/) const override {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "chip: storages are not cloned");
  }
};

// ---- the exercise ------------------------------------------------------------------------

// Step 1. An allocator, derived from BaseAllocator and registered by REGISTER_ALLOCATOR: its
// allocate(bytes) returns a c10::DataPtr on kDevice, whose deleter is chip::free; allocate nothing
// for 0 bytes. And a device guard: c10::impl::NoOpDeviceGuardImpl, except that getDevice(), the
// current device, returns kDevice.
struct Allocator final : BaseAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    // An empty tensor has a storage too, on this device, but no memory.
    void* const address = bytes ? chip::allocate(bytes) : nullptr;
    return {address, address, &chip::free, kDevice};
  }
};

struct Guard final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::PrivateUse1> {
  c10::Device getDevice() const override {
    return kDevice;
  }
};

Allocator allocator;
REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, &allocator)
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

// With the allocator, kKeys, and the default dtype if none is given: see ATen/EmptyTensor.h.
Tensor empty(
    at::IntArrayRef size,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout>,
    std::optional<at::Device>,
    std::optional<bool>,
    std::optional<at::MemoryFormat> memory_format) {
  return at::detail::empty_generic(
      size, &allocator, kKeys, c10::dtype_or_default(dtype), memory_format);
}

Tensor empty_strided(
    at::IntArrayRef size,
    at::IntArrayRef stride,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout>,
    std::optional<at::Device>,
    std::optional<bool>) {
  return at::detail::empty_strided_generic(
      size, stride, &allocator, kKeys, c10::dtype_or_default(dtype));
}

// Step 2. Returns a CPU tensor with the sizes and strides of x, which is on the chip, and with the
// bytes of x, including those between its elements.
Tensor download(const Tensor& x) {
  auto near = at::empty_strided(x.sizes(), x.strides(), x.options().device(at::kCPU));
  if (x.numel() > 0) {
    chip::read(near.mutable_data_ptr(), x.const_data_ptr(), extent(x));
  }
  return near;
}

// Copies self into dst, and returns dst; at least one is on the chip. A copy from CPU to CPU
// handles strides, offsets, dtypes and broadcasting; its errors are your errors. Do not change
// bytes between the elements of dst. Either may be empty.
Tensor copy_from_and_resize(const Tensor& self, const Tensor& dst) {
  const auto source = self.is_cpu() ? self : download(self);
  if (dst.is_cpu()) {
    return dst.copy_(source);
  }
  const auto target = download(dst);
  // A copy from CPU to CPU handles strides, dtypes and broadcasting.
  target.copy_(source);
  if (dst.numel() > 0) {
    chip::write(dst.mutable_data_ptr(), target.const_data_ptr(), extent(dst));
  }
  return dst;
}

Tensor copy_from(const Tensor& self, const Tensor& dst, bool /*non_blocking*/) {
  return copy_from_and_resize(self, dst);
}

// Step 4. Counts the operator in `fallen` by its full name, "aten::mm.out", then runs it on the
// CPU. The fallback cannot return a view: error_on_views makes it refuse, not copy silently.
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  ++fallen[c10::toString(op.operator_name())];
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

// Step 5. chip::relu for float32: one launch for each call, none for an empty tensor. It takes
// contiguous floats. Other dtypes fall back as in step 4, with
// at::native::call_fallback_fn<&fallback, at::_ops::relu>::call.
Tensor relu(const Tensor& self) {
  if (self.scalar_type() != at::kFloat) {
    return at::native::call_fallback_fn<&fallback, at::_ops::relu>::call(self);
  }
  const auto in = self.contiguous();
  const auto out = at::empty_like(in);
  if (in.numel() > 0) {
    chip::relu(out.mutable_data_ptr<float>(), in.const_data_ptr<float>(), in.numel());
  }
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("relu", &relu);
  // Views change sizes and strides, but not memory: the CPU's code works.
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", &at::native::view);
  m.impl("_reshape_alias", &at::native::_reshape_alias);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

// ---- given: do not change ----------------------------------------------------------------

TORCH_LIBRARY(lecture04_k21, m) {
  m.def("memory() -> int", &memory);
  m.def("launches() -> int", [] { return chip::launches; });
  m.def("fallen() -> Dict(str, int)", [] {
    c10::Dict<std::string, int64_t> counts;
    for (const auto& [name, count] : fallen) {
      counts.insert(name, count);
    }
    return counts;
  });
}
