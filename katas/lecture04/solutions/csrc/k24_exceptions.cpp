// tier: small
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
  try {
    size_t used{};
    const auto number = std::stoll(text, &used);
    if (used == text.size()) {
      return number;
    }
  } catch (const std::logic_error&) {
    // std::invalid_argument or std::out_of_range.
  }
  refuse(text);
}

// Like element, but returns `otherwise` if element throws an IndexError. Other errors pass through.
double element_or(const Tensor& x, int64_t index, double otherwise) {
  try {
    return element(x, index);
  } catch (const c10::IndexError&) {
    // Nothing wider: a wrong dtype is the caller's mistake, and must be reported.
    return otherwise;
  }
}

// Returns one element for each index. An error of element keeps its type, and adds the position:
// "element: index 5 is out of range for size 3 (at position 1 of indices)".
std::vector<double> elements(const Tensor& x, at::IntArrayRef indices) {
  std::vector<double> found;
  for (size_t position = 0; position < indices.size(); ++position) {
    try {
      found.push_back(element(x, indices[position]));
    } catch (c10::Error& error) {
      error.add_context(c10::str("at position ", position, " of indices"));
      // Not `throw error`: that copies the c10::Error part of what may be an IndexError.
      throw;
    }
  }
  return found;
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
