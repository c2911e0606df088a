// tier: small
//
// Let one host function find a kernel for each device.
//
// native_functions.yaml names one function, silu_out, for both CPU and CUDA: sizes and checks are
// the same, and only the loop differs. It is in libtorch_cpu.so, which also loads without
// libtorch_cuda.so. How does it call a kernel in that library?
//
// Through a pointer, which the other library fills while it is loaded:
//
//   libtorch_cpu.so                           libtorch_cuda.so, if there is one
//   Tensor scale(x, by)
//     scale_stub.find(device of x)  <-------  static Register r(scale_stub, kCUDA, &scale_cuda);
//       (out, x, by)                          void scale_cuda(out, x, by) { ... <<<...>>> ... }
//
// 1. Stub::find: the kernel for a device; on the CPU, the best one that the processor can run.
// 2. Register: an object whose constructor fills in a pointer.
// 3. Four of these objects for scale, and a row for CUDA in the dispatcher's table. All of this
//    compiles without CUDA.
//
// Begin on paper: which code runs before the first line of main?
// Real life differs: each CPU kernel is compiled once for each level, and the CUDA one by nvcc.
// Afterwards read aten/src/ATen/native/DispatchStub.h, which you have as
// torch/include/ATen/native/DispatchStub.h: this kata is most of it.
//
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using at::Tensor;

using Kernel = void (*)(const Tensor& out, const Tensor& x, double by);

// What a processor can do; each level includes those before it.
enum Level { DEFAULT, AVX2, AVX512, LEVELS };

// ---- the exercise ------------------------------------------------------------------------

// The highest level of this processor. Finding out is slow. Given.
Level ask_processor();

// Throws an error: there is no kernel for this device type. Given.
Kernel refuse(c10::DeviceType type);

// The kernels of scale. Given.
void scale_default(const Tensor& out, const Tensor& x, double by);
void scale_avx2(const Tensor& out, const Tensor& x, double by);
void scale_avx512(const Tensor& out, const Tensor& x, double by);
void scale_cuda(const Tensor& out, const Tensor& x, double by);

struct Stub {
  // No constructor fills these: they are nullptr before any code runs. So a kernel may come
  // before or after its stub.
  Kernel cpu[LEVELS] = {};
  Kernel others[c10::COMPILE_TIME_MAX_DEVICE_TYPES] = {};
  // The CPU's kernel, once it is known.
  std::atomic<Kernel> chosen{nullptr};

  Kernel find(c10::DeviceType type);
};

// Returns the kernel registered for a device type; if there is none, call refuse. For kCPU, return
// the registered kernel of the highest level that the processor has; call ask_processor once for
// each stub, on its first call, and never for other devices. DEFAULT is always registered.
Kernel Stub::find(c10::DeviceType type) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: Stub::find");
}

struct Register {
  // Fills in the pointer of a kernel; `level` matters only for kCPU.
  Register(Stub& stub, c10::DeviceType type, Kernel kernel, Level level = DEFAULT) {
    // TODO
  }
};

// In real life this is in another file, which may be loaded before or after this one.
extern Stub scale_stub;
extern Stub shift_stub;

// The host function of scale for all devices. Given.
Tensor scale(const Tensor& x, double by);

// TODO: static objects of type Register for the four kernels of scale. TODO:
// TORCH_LIBRARY_IMPL(lecture04_k16, CUDA, m), which registers scale's host function.

// ---- given: do not change ----------------------------------------------------------------

Stub scale_stub;
Stub shift_stub;

std::vector<std::string> ran;
int64_t asked = 0;

Level processor = AVX2;

Level ask_processor() {
  ++asked;
  return processor;
}

Kernel refuse(c10::DeviceType type) {
  TORCH_CHECK(false, "stub: no kernel for ", type);
}

void scale_kernel(const char* name, const Tensor& out, const Tensor& x, double by) {
  ran.emplace_back(name);
  out.copy_(x.mul(by));
}

void shift_kernel(const char* name, const Tensor& out, const Tensor& x, double by) {
  ran.emplace_back(name);
  out.copy_(x.add(by));
}

void scale_default(const Tensor& out, const Tensor& x, double by) {
  scale_kernel("scale_default", out, x, by);
}

void scale_avx2(const Tensor& out, const Tensor& x, double by) {
  scale_kernel("scale_avx2", out, x, by);
}

void scale_avx512(const Tensor& out, const Tensor& x, double by) {
  scale_kernel("scale_avx512", out, x, by);
}

void scale_cuda(const Tensor& out, const Tensor& x, double by) {
  scale_kernel("scale_cuda", out, x, by);
}

void shift_default(const Tensor& out, const Tensor& x, double by) {
  shift_kernel("shift_default", out, x, by);
}

void shift_avx512(const Tensor& out, const Tensor& x, double by) {
  shift_kernel("shift_avx512", out, x, by);
}

static const Register shift_1(shift_stub, c10::kCPU, &shift_default);
static const Register shift_2(shift_stub, c10::kCPU, &shift_avx512, AVX512);

Tensor call(Stub& stub, c10::DeviceType type, const Tensor& x, double by, Level level = AVX2) {
  processor = level;
  const auto out = at::empty_like(x);
  stub.find(type)(out, x, by);
  return out;
}

Tensor scale(const Tensor& x, double by) {
  return call(scale_stub, x.device().type(), x, by);
}

Tensor shift(const Tensor& x, double by) {
  return call(shift_stub, x.device().type(), x, by);
}

// As if x were on that device, for machines without one.
Tensor scale_on(c10::Device device, const Tensor& x, double by) {
  return call(scale_stub, device.type(), x, by);
}

Tensor shift_on(c10::Device device, const Tensor& x, double by) {
  return call(shift_stub, device.type(), x, by);
}

// Simulates the first call on another processor; also returns how often the processor was asked.
std::tuple<Tensor, int64_t> scale_there(
    int64_t level, c10::Device device, const Tensor& x, double by) {
  const auto before = asked;
  Stub stub;
  std::copy(std::begin(scale_stub.cpu), std::end(scale_stub.cpu), stub.cpu);
  std::copy(std::begin(scale_stub.others), std::end(scale_stub.others), stub.others);
  const auto out = call(stub, device.type(), x, by, static_cast<Level>(level));
  const auto more = asked - before;
  asked = before;
  return {out, more};
}

TORCH_LIBRARY(lecture04_k16, m) {
  m.def("scale(Tensor x, float by) -> Tensor");
  m.def("shift(Tensor x, float by) -> Tensor");
  m.def("scale_on(Device device, Tensor x, float by) -> Tensor", &scale_on);
  m.def("shift_on(Device device, Tensor x, float by) -> Tensor", &shift_on);
  m.def(
      "scale_there(int level, Device device, Tensor x, float by) -> (Tensor, int)", &scale_there);
  m.def("ran() -> str[]", [] { return std::exchange(ran, {}); });
  m.def("asked() -> int", [] { return asked; });
}

TORCH_LIBRARY_IMPL(lecture04_k16, CPU, m) {
  m.impl("scale", &scale);
  m.impl("shift", &shift);
}
