// tier: small
//
// Write a backend of your own.
//
// PyTorch knows nothing about your chip, but torch.ones(2, 3).to("privateuseone") must work
// tonight. The dispatch key PrivateUse1 is reserved for such devices. How little is enough?
//
//   x.to(chip), x.cpu()    empty_strided, _copy_from     yours to write
//   x.t(), x[1:]           as_strided, view              CPU code: views touch no memory
//   torch.relu(x)          chip::relu                    one kernel of the chip
//   x @ y, and the rest    a fallback                    down to the CPU, and up again
//
// The chip is given: its memory has addresses that mean nothing to the processor, chip::read and
// chip::write move bytes, and it has one kernel.
//
// 1. Tensors: an allocator, a device guard, empty and empty_strided.
// 2. Copies: _copy_from, which to, cpu, copy_ and contiguous all call.
// 3. Views: as_strided, view and _reshape_alias.
// 4. The rest: a boxed fallback, as in k09, around at::native::cpu_fallback.
// 5. relu.
//
// First move: which of these functions does torch.empty(2, device="privateuseone") need?
// Real life differs: streams, several devices, random numbers, hooks by which autograd finds the
// device, resizing of out=; and Python needs a module for the device, which the tests register
// (torch._register_device_module).
// Afterwards read aten/src/ATen/native/CPUFallback.cpp, and PyTorch's model backend in
// test/cpp_extensions/open_registration_extension/torch_openreg.
//
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
// current device, returns kDevice. TODO: the allocator. The guard here does nothing; start from it.
C10_REGISTER_GUARD_IMPL(
    PrivateUse1,
    c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::PrivateUse1>)

// With the allocator, kKeys, and the default dtype if none is given: see ATen/EmptyTensor.h.
Tensor empty(
    at::IntArrayRef size,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout>,
    std::optional<at::Device>,
    std::optional<bool>,
    std::optional<at::MemoryFormat> memory_format) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: empty");
}

Tensor empty_strided(
    at::IntArrayRef size,
    at::IntArrayRef stride,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout>,
    std::optional<at::Device>,
    std::optional<bool>) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: empty_strided");
}

// Step 2. Returns a CPU tensor with the sizes and strides of x, which is on the chip, and with the
// bytes of x, including those between its elements.
Tensor download(const Tensor& x) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: download");
}

// Copies self into dst, and returns dst; at least one is on the chip. A copy from CPU to CPU
// handles strides, offsets, dtypes and broadcasting; its errors are your errors. Do not change
// bytes between the elements of dst. Either may be empty.
Tensor copy_from_and_resize(const Tensor& self, const Tensor& dst) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: copy_from_and_resize");
}

Tensor copy_from(const Tensor& self, const Tensor& dst, bool /*non_blocking*/) {
  return copy_from_and_resize(self, dst);
}

// Step 4. Counts the operator in `fallen` by its full name, "aten::mm.out", then runs it on the
// CPU. The fallback cannot return a view: error_on_views makes it refuse, not copy silently.
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: fallback");
}

// Step 5. chip::relu for float32: one launch for each call, none for an empty tensor. It takes
// contiguous floats. Other dtypes fall back as in step 4, with
// at::native::call_fallback_fn<&fallback, at::_ops::relu>::call.
Tensor relu(const Tensor& self) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: relu");
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  // TODO, step 3: the views. at::native::as_strided_tensorimpl, view and _reshape_alias will do.
  // TODO, step 5: relu.
}

// TODO, step 4: the fallback, in a block for the namespace _, which means all operators.

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
