// tier: small
//
// Leave kernels out of a library at compile time.
//
// A phone runs one model, which calls 20 operators. PyTorch has thousands, and no linker can drop any:
// each registers itself, so each counts as used. So PyTorch builds for phones with a list, and a
// constexpr function looks up whether to register:
//
//     -DTORCH_OPERATOR_WHITELIST="aten::add.Tensor;aten::relu"
//
//     aten::add.Tensor(Tensor self, Tensor other)    selected
//     aten::add.Scalar(Tensor self, Scalar other)    not: another overload
//     aten::relu6(Tensor self)                       not: relu is only a part of it
//
// 1. contains: whether a list contains an item, as a whole.
// 2. selected: whether a list contains the operator of a schema.
// 3. OFFER registers every kernel. One that ALLOWLIST does not select must leave nothing in
//    the library, even at -O0, which is how this file is built.
//
// About 14 lines. Begin with contains("aten::tanh_backward", "aten::tanh").
// Afterwards read ATen/core/op_registration/op_allowlist.h in torch/include in site-packages: which
// of its functions have you just written, and which one does TORCH_SELECTIVE_NAME in torch/library.h
// call? Its first comment says "no overloads": is that what its code does?
//
#include <map>
#include <string>
#include <string_view>

namespace {

// ---- given: do not change ----------------------------------------------------------------

// Thrown by what is not written yet.
struct NotImplementedError {};

// What this library is built for.
constexpr std::string_view ALLOWLIST = "aten::add.Tensor;aten::relu;aten::tanh_backward";

// Kernels by the names of their schemas.
using Kernel = double (*)(double);
std::map<std::string, Kernel>& registry() {
  static std::map<std::string, Kernel> kernels;
  return kernels;
}

// Defined at the end of the file. Each leaves a text in the library, "kernel of add.Tensor", if it is
// used: inline code is compiled only where it is used.
inline double add_tensor(double x);
inline double add_scalar(double x);
inline double relu(double x);
inline double relu6(double x);
inline double tanh_(double x);
inline double tanh_backward(double x);

// ---- the exercise ------------------------------------------------------------------------

// Whether `item` is one of the items of `list`, which are separated by ';'. Part of an item
// does not match.
constexpr bool contains(std::string_view list, std::string_view item) {
  // TODO: from one ';' to the next.
  return list.empty() ? false : throw NotImplementedError{};
}

// Whether `list` contains the operator of a schema, "aten::add.Tensor(Tensor self) -> Tensor":
// everything before "(", overload included. A schema may be only the name.
constexpr bool selected(std::string_view list, std::string_view schema) {
  // TODO: take the name alone, and ask contains.
  return list.empty() ? false : throw NotImplementedError{};
}

// Register a kernel under its schema, if ALLOWLIST selects it. `schema` is a literal.
// TODO: ask; the compiler must know the answer, and drop the code that depends on it.
#define OFFER(schema, kernel) registry()[schema] = kernel

// ---- given: do not change ----------------------------------------------------------------

void register_all() {
  OFFER("aten::add.Tensor(Tensor self, Tensor other) -> Tensor", add_tensor);
  OFFER("aten::add.Scalar(Tensor self, Scalar other) -> Tensor", add_scalar);
  OFFER("aten::relu(Tensor self) -> Tensor", relu);
  OFFER("aten::relu6(Tensor self) -> Tensor", relu6);
  OFFER("aten::tanh(Tensor self) -> Tensor", tanh_);
  OFFER("aten::tanh_backward(Tensor grad, Tensor output) -> Tensor", tanh_backward);
}

const char* ran = "";

inline double add_tensor(double x) {
  ran = "kernel of add.Tensor";
  return x + 1;
}

inline double add_scalar(double x) {
  ran = "kernel of add.Scalar";
  return x + 2;
}

inline double relu(double x) {
  ran = "kernel of relu";
  return x > 0 ? x : 0;
}

inline double relu6(double x) {
  ran = "kernel of relu6";
  return x > 6 ? 6 : x;
}

inline double tanh_(double x) {
  ran = "kernel of tanh";
  return x / 2;
}

inline double tanh_backward(double x) {
  ran = "kernel of tanh_backward";
  return 1 - x * x;
}

} // namespace

extern "C" {

// 1 and 0 for true and false, -1 if it is not written yet: no exception may reach ctypes.
int kata_contains(const char* list, const char* item) {
  try {
    return contains(list, item);
  } catch (const NotImplementedError&) {
    return -1;
  }
}

int kata_selected(const char* list, const char* schema) {
  try {
    return selected(list, schema);
  } catch (const NotImplementedError&) {
    return -1;
  }
}

// Calls the kernel of a schema: returns which one ran, "" if none is registered.
const char* kata_run(const char* schema, double x, double* out) {
  if (registry().empty()) {
    register_all();
  }
  const auto found = registry().find(schema);
  ran = "";
  if (found != registry().end()) {
    *out = found->second(x);
  }
  return ran;
}
}
