// tier: small
//
// Errors across the border.
//
// A C++ exception that leaves an operator becomes a Python exception, and an error that Python
// raises inside an operator travels through C++ as an exception. Write eight operators that
// keep the type, the message and the state of the program right on the way.
//
// 1. element(x, index): the element of a 1-d floating tensor, negative indices from the end.
//    Checked in this order, each with the macro whose exception becomes that Python type:
//    a) x is not strided (sparse, ...): NotImplementedError,
//       "element: expected a strided tensor, got layout Sparse"
//    b) its dtype is not floating: TypeError, "element: expected a floating dtype, got Int"
//    c) it is not 1-d: ValueError, "element: expected 1 dim, got 2"
//    d) the index is not in [-size, size): IndexError, with the index as it was given,
//       "element: index 3 is out of range for size 3"
// 2. whole_number(text): what std::stoll reads (base 10, it skips leading spaces and takes a
//    sign), if it reads the whole text. Anything else, a number too large for 64 bits included,
//    is a ValueError: "whole_number: '12a' is not a whole number of 64 bits". Look at what
//    std::stoll throws: an std:: exception that leaves an operator is translated as well, by
//    pybind11, and seldom to the type or the message that the caller needs.
// 3. element_or(x, index, otherwise): as element, but `otherwise` where element raises
//    IndexError. Its other errors pass.
// 4. elements(x, indices): a list, one element per index. An error of element passes with its
//    own Python type, and its message says where: "element: index 5 is out of range for size 3
//    (at position 1 of indices)". c10::Error carries such context: c10::Error::add_context.
// 5. relay(x): returns call_callback(x) (given). The kernel behind it is written in Python, by
//    the tests: an exception raised there reaches Python again as the same object. While it
//    runs, `running` (given) is one higher than before, and not afterwards, however relay is
//    left. A callback may call relay again.
// 6. relay_in_thread(x): the same, but call_callback runs in a std::thread of its own, which is
//    joined before relay_in_thread returns or throws. `running` stays as it is. An exception
//    that leaves a thread's function ends the process: carry it over.
// 7. zero_nan(x): a copy of x with 0 for every NaN, any shape, integers too. If there were any, one
//    TORCH_WARN: "zero_nan: 2 of 6 elements were NaN". Not strided: NotImplementedError,
//    "zero_nan: expected a strided tensor, got layout Sparse". The bindings of torch.* functions
//    have a handler that makes Python warnings. Operators called through torch.ops have one
//    since torch 2.15; before, their warnings are printed on stderr.
// 8. zero_nan_quietly(x): (zero_nan(x), the messages that were warned about), nothing printed.
//    Derive a handler from c10::WarningHandler, and put the former one back however you leave.
//
// Out of scope: autograd, TorchScript, dtypes that few kernels know (float8, uint16), the C++ stack
// traces of TORCH_SHOW_CPP_STACKTRACES.
// About 60 lines. In PyTorch: c10/util/Exception.h (the classes, the macros, TORCH_RETHROW,
// WarningHandlerGuard), torch/csrc/Exceptions.h (CATCH_CORE_ERRORS: which class becomes which
// type; python_error), aten/src/ATen/ParallelOpenMP.h (invoke_parallel carries an exception
// out of a parallel region).
//
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
  // TODO: four checks, then the element.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: element");
}

int64_t whole_number(const std::string& text) {
  // TODO: which exceptions does std::stoll throw, and does it read the whole text?
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: whole_number");
}

double element_or(const Tensor& x, int64_t index, double otherwise) {
  // TODO: catch one type, no more.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: element_or");
}

std::vector<double> elements(const Tensor& x, at::IntArrayRef indices) {
  // TODO: add the position to the error, and keep its type.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: elements");
}

Tensor relay(const Tensor& x) {
  // TODO: count `running` up and, for certain, down again.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: relay");
}

Tensor relay_in_thread(const Tensor& x) {
  // TODO: a thread, and what it throws.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: relay_in_thread");
}

Tensor zero_nan(const Tensor& x) {
  // TODO: warn once per call, if there is anything to warn about.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: zero_nan");
}

std::tuple<Tensor, std::vector<std::string>> zero_nan_quietly(const Tensor& x) {
  // TODO: a handler that keeps the messages.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: zero_nan_quietly");
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
