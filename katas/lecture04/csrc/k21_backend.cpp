// tier: small
//
// A backend of one's own.
//
// PrivateUse1 is the dispatch key that PyTorch keeps free for a device it does not know. Your
// device is a chip (given below) that can allocate and free memory of its own, copy bytes to and
// from the processor's, and run one kernel. Make tensors of device "privateuseone" of it: what
// the chip cannot do, the processor does for it.
//
// 1. An allocator: a subclass of BaseAllocator (given), registered with REGISTER_ALLOCATOR. Its
//    allocate(bytes) gives a c10::DataPtr on kDevice whose deleter is chip::free; no memory is
//    taken for 0 bytes.
// 2. A device guard: c10::impl::NoOpDeviceGuardImpl does all that a single device without
//    streams needs but one thing: getDevice() must be kDevice. Otherwise x.to("privateuseone")
//    copies a tensor that is there already. Registered with C10_REGISTER_GUARD_IMPL.
// 3. Kernels for PrivateUse1, in a TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) block:
//      empty.memory_format, empty_strided   see at::detail::empty_generic and
//                       empty_strided_generic; the dtype defaults to the default dtype, the
//                       other options need not be looked at
//      _copy_from(self, dst, non_blocking)  writes self into dst and returns dst; at least one of
//                       them is on the chip. All of copy_, to, cpu and contiguous ends here:
//                       any strides, offsets, dtypes, broadcasting and empty tensors; elements
//                       of dst's memory between those of dst stay as they are. An error of a
//                       copy on the processor is an error here (sizes that do not broadcast).
//      _copy_from_and_resize(self, dst)     the same; sizes are equal. cpu_fallback writes
//                       mutated arguments back with it.
//      relu             float32 tensors by chip::relu, one launch each, none for an empty one;
//                       strided tensors are made contiguous first. Other dtypes go the way of 4
//                       (at::native::call_fallback_fn<&fallback, at::_ops::relu>::call).
//      as_strided, view, _reshape_alias     views never touch memory, so the CPU's kernels serve:
//                       at::native::as_strided_tensorimpl, view, _reshape_alias
// 4. A fallback for every other operator: a boxed kernel that counts it in `fallen` (given) under
//    its full name ("aten::mm.out") and calls at::native::cpu_fallback, which copies the
//    arguments to the processor, runs the operator there and copies the results back. A view
//    cannot be had that way: with error_on_views it is refused, not silently copied.
//
// The tests load this file in processes of their own, for the key is taken once it is used.
// Out of scope: resizing (out= tensors have the right size), random numbers, complex dtypes,
// serialisation, and backward: the autograd engine asks at::PrivateUse1HooksInterface for the
// device. About 100 lines, most of them signatures.
// In PyTorch: test/cpp_extensions/open_registration_extension/torch_openreg is the model backend,
// aten/src/ATen/native/CPUFallback.cpp (cpu_fallback), aten/src/ATen/EmptyTensor.cpp,
// aten/src/ATen/native/Copy.cpp (copy_impl decides who is asked for _copy_from),
// c10/core/impl/DeviceGuardImplInterface.h.
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

// The device: a chip with memory of its own. Its addresses mean nothing to the processor, so
// that code which reads or writes them as if they were its own ends with a segmentation fault.
namespace chip {

constexpr uintptr_t kFar = uintptr_t{1} << 62;
std::map<uintptr_t, size_t> blocks;
int64_t launches = 0;

// The processor's name for `bytes` bytes at a chip address, which must lie in one block.
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

// An allocator that cannot copy; how it allocates is yours to say.
struct BaseAllocator : c10::Allocator {
  void copy_data(void* /*to*/, const void* /*from*/, size_t /*bytes*/) const override {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "chip: storages are not cloned");
  }
};

// ---- the exercise ------------------------------------------------------------------------

// TODO: the allocator and the guard, registered.

Tensor empty(
    at::IntArrayRef size,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout>,
    std::optional<at::Device>,
    std::optional<bool>,
    std::optional<at::MemoryFormat> memory_format) {
  // TODO: a tensor whose storage is your allocator's and whose dispatch key is PrivateUse1.
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

Tensor copy_from(const Tensor& self, const Tensor& dst, bool /*non_blocking*/) {
  // TODO: chip::read and chip::write move bytes; the processor knows all about strides.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: copy_from");
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& dst) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: copy_from_and_resize");
}

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  // TODO: count, then let the processor do it.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: fallback");
}

Tensor relu(const Tensor& self) {
  // TODO: the chip's own kernel.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: relu");
}

// The tests need a device to ask for; a guard that does nothing is where you start from.
C10_REGISTER_GUARD_IMPL(
    PrivateUse1, c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::PrivateUse1>)

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  // TODO: the other kernels, and the fallback in a block for the namespace _.
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
