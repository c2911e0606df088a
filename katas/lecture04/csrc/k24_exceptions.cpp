// tier: small
//
// Catch only what you mean to catch.
//
// std::stoll parses a number and looks harmless until Python calls it. PyTorch's own schema parser
// uses it:
//
//   torch._C.parse_schema("f(int[" + 30 * "9" + "] x) -> int")     # IndexError: stoll
//
// There is no index in sight. pybind11 translates standard library exceptions by a table of its
// own; PyTorch has classes that say what they mean:
//
//   TORCH_CHECK_INDEX    throws c10::IndexError    which is IndexError in Python
//   TORCH_CHECK_TYPE     throws c10::TypeError     which is TypeError
//   TORCH_CHECK_VALUE    throws c10::ValueError    which is ValueError
//                        each is a c10::Error, which alone is RuntimeError
//
// 1. whole_number: raise a ValueError for anything that is not a number.
// 2. element_or: catch one type and no other.
// 3. elements: add the position to the message, and keep the type. c10::Error::add_context helps:
//    it adds the brackets too.
//
// First move: what does std::stoll throw for "twelve", and what for thirty nines?
// Afterwards open torch/csrc/Exceptions.h in torch/include: it turns each class into its Python
// type.
//
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <stdexcept>
#include <string>
#include <vector>

using at::Tensor;

// ---- the exercise ------------------------------------------------------------------------

// The element of a 1-d tensor of floats; a negative index counts from the end. With the macros of
// the table it checks, in this order, dtype, dims and index. Given.
double element(const Tensor& x, int64_t index);

// The number in a text, as std::stoll reads it (base 10; leading spaces and a sign are fine), if it
// reads the whole text. Otherwise, or if 64 bits are too few, call refuse(text) (given).
[[noreturn]] void refuse(const std::string& text);

int64_t whole_number(const std::string& text) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: whole_number");
}

// Like element, but returns `otherwise` if element throws an IndexError. Other errors pass through.
double element_or(const Tensor& x, int64_t index, double otherwise) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: element_or");
}

// Returns one element for each index. An error of element keeps its type, and adds the position:
// "element: index 5 is out of range for size 3 (at position 1 of indices)".
std::vector<double> elements(const Tensor& x, at::IntArrayRef indices) {
  // TODO
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: elements");
}

// ---- given: do not change ----------------------------------------------------------------

double element(const Tensor& x, int64_t index) {
  TORCH_CHECK_TYPE(
      x.is_floating_point(), "element: expected a floating dtype, got ", x.scalar_type());
  TORCH_CHECK_VALUE(x.dim() == 1, "element: expected 1 dim, got ", x.dim());
  const auto size = x.size(0);
  TORCH_CHECK_INDEX(
      -size <= index && index < size,
      "element: index ",
      index,
      " is out of range for size ",
      size);
  return x[index].item<double>();
}

void refuse(const std::string& text) {
  TORCH_CHECK_VALUE(false, "whole_number: '", text, "' is not a whole number of 64 bits");
}

// As in the brief, for the tests.
int64_t stoll(const std::string& text) {
  return std::stoll(text);
}

TORCH_LIBRARY(lecture04_k24, m) {
  m.def("stoll(str text) -> int", &stoll);
  m.def("element(Tensor x, int index) -> float", &element);
  m.def("whole_number(str text) -> int", &whole_number);
  m.def("element_or(Tensor x, int index, float otherwise) -> float", &element_or);
  m.def("elements(Tensor x, int[] indices) -> float[]", &elements);
}
