// tier: small
#include <ATen/core/Tensor.h>
#include <c10/util/irange.h>
#include <torch/library.h>

#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using at::Tensor;

// ---- given: do not change ----------------------------------------------------------------

Tensor call_callback(const Tensor& x) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("lecture04_k24::callback", "")
                             .typed<Tensor(const Tensor&)>();
  return op.call(x);
}

std::atomic<int64_t> running{0};

int64_t depth() {
  return running;
}

// ---- the exercise ------------------------------------------------------------------------

double element(const Tensor& x, int64_t index) {
  // Each macro throws another subclass of c10::Error, and each subclass becomes another type
  // in Python. The order is part of the contract: what cannot work at all comes first.
  TORCH_CHECK_NOT_IMPLEMENTED(
      x.layout() == at::kStrided, "element: expected a strided tensor, got layout ", x.layout());
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

int64_t whole_number(const std::string& text) {
  try {
    size_t used{};
    const auto number = std::stoll(text, &used);
    if (used == text.size()) {
      return number;
    }
  } catch (const std::logic_error&) {
    // std::invalid_argument or std::out_of_range. Left alone, pybind11 would make a ValueError
    // that says "stoll" of the one and an IndexError of the other.
  }
  TORCH_CHECK_VALUE(false, "whole_number: '", text, "' is not a whole number of 64 bits");
}

double element_or(const Tensor& x, int64_t index, double otherwise) {
  try {
    return element(x, index);
  } catch (const c10::IndexError&) {
    // Nothing wider: a wrong dtype is the caller's mistake, and must be heard of.
    return otherwise;
  }
}

std::vector<double> elements(const Tensor& x, at::IntArrayRef indices) {
  std::vector<double> found;
  for (const auto position : c10::irange(indices.size())) {
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

Tensor relay(const Tensor& x) {
  struct Running {
    Running() {
      ++running;
    }
    ~Running() {
      --running;
    }
  };
  // A destructor runs however the scope is left; nothing needs to be caught.
  const Running guard;
  return call_callback(x);
}

Tensor relay_in_thread(const Tensor& x) {
  Tensor result;
  std::exception_ptr failure;
  std::thread worker([&] {
    try {
      result = call_callback(x);
    } catch (...) {
      // An exception that leaves a thread's function ends the process.
      failure = std::current_exception();
    }
  });
  worker.join();
  if (failure) {
    std::rethrow_exception(failure);
  }
  return result;
}

Tensor zero_nan(const Tensor& x) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      x.layout() == at::kStrided, "zero_nan: expected a strided tensor, got layout ", x.layout());
  const auto nan = x.isnan();
  const auto count = nan.sum().item<int64_t>();
  if (count > 0) {
    TORCH_WARN("zero_nan: ", count, " of ", x.numel(), " elements were NaN");
  }
  return x.masked_fill(nan, 0);
}

std::tuple<Tensor, std::vector<std::string>> zero_nan_quietly(const Tensor& x) {
  struct Collect : c10::WarningHandler {
    std::vector<std::string> messages;
    void process(const c10::Warning& warning) override {
      messages.push_back(warning.msg());
    }
  };
  Collect collect;
  Tensor result;
  {
    // Puts the old handler back, also when zero_nan throws.
    const c10::WarningUtils::WarningHandlerGuard guard(&collect);
    result = zero_nan(x);
  }
  return {result, collect.messages};
}

// ---- given: do not change ----------------------------------------------------------------

TORCH_LIBRARY(lecture04_k24, m) {
  m.def("callback(Tensor x) -> Tensor"); // its kernel is written in Python, by the tests
  m.def("depth() -> int", &depth);
  m.def("element(Tensor x, int index) -> float", &element);
  m.def("whole_number(str text) -> int", &whole_number);
  m.def("element_or(Tensor x, int index, float otherwise) -> float", &element_or);
  m.def("elements(Tensor x, int[] indices) -> float[]", &elements);
  m.def("relay(Tensor x) -> Tensor", &relay);
  m.def("relay_in_thread(Tensor x) -> Tensor", &relay_in_thread);
  m.def("zero_nan(Tensor x) -> Tensor", &zero_nan);
  m.def("zero_nan_quietly(Tensor x) -> (Tensor, str[])", &zero_nan_quietly);
}
