// tier: small
//
// Write one kernel for every operator: it counts the call, then lets it continue.
//
// A kernel may be boxed: it takes a stack of values instead of arguments, so it fits any schema and
// can be the fallback of a dispatch key, even for operators that do not exist yet. Your kernel
// counts the operators that a program calls:
//
//     start(inner=False)
//     nn.functional.linear(x, weight, bias)
//     calls()      {"aten::linear": 1}
//                  with inner=True also aten::t, aten::transpose, aten::as_strided, aten::addmm ...
//
// Its key is kMode. No tensor has it; start includes it for the thread, as in k07.
//
// 1. count, about 12 lines: tally the call, let the operator run, then look at its results.
//    - inner is false: don't count what an operator calls while it runs. Exclude kMode meanwhile
//      with a guard (c10::impl::ExcludeDispatchKeyGuard), and call the operator again.
//    - inner is true: kMode stays included, so the operator must continue below it
//      (redispatchBoxed), or the call recurses forever.
// 2. Two registrations: count is the fallback for all operators; those of this file fall through.
//
// Begin with the second step, and a count that only lets the operator run.
// Afterwards read torch/library.h (fallback, makeFallthrough), and for a real fallback
// aten/src/ATen/native/CPUFallback.cpp.
//
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <map>
#include <string>

// ---- given: do not change ----------------------------------------------------------------

// A functionality key that no tensor has and that nothing in PyTorch uses outside its tests.
// It comes before autograd and functorch. Only PreDispatch (tracing) and PythonDispatcher (tables
// that Python may override) come before it.
constexpr auto kMode = c10::DispatchKey::TESTING_ONLY_GenericMode;

struct Tally {
  int64_t calls = 0;
  int64_t tensors = 0;
};

// Each thread counts for itself, so no lock is needed.
thread_local std::map<std::string, Tally> tallies;
thread_local bool count_inner = false;

// Clears all counts, and includes kMode for this thread until stop().
void start(bool inner);
void stop();

// Returns how many tensors a value is or contains. An undefined tensor, None in Python, does not
// count.
int64_t defined_tensors(const c10::IValue& value);

// ---- the exercise ------------------------------------------------------------------------

// Adds to tallies, under the operator's full name (c10::toString of its operator_name()):
//   calls     one more for each call, even one that throws
//   tensors   how many tensors the call has returned, if it returned
// `keys` are those of the call, kMode among them; c10::DispatchKeySet::FULL_AFTER constructs the
// set of all keys below one. The stack ends with the arguments before the operator runs, and with
// its results afterwards, one for each return in its schema.
void count(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  // TODO: count, let the operator run, look at what it left on the stack.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: count");
}

// TODO: two blocks TORCH_LIBRARY_IMPL(namespace, TESTING_ONLY_GenericMode, m). One is for the
// namespace _, which means all operators: m.fallback takes CppFunction::makeFromBoxedFunction of
// count. One is for lecture04_k09: start, stop, calls and tensors fall through.

// ---- given: do not change ----------------------------------------------------------------

void start(bool inner) {
  TORCH_CHECK(!c10::impl::tls_is_dispatch_key_included(kMode), "start: already counting");
  tallies.clear();
  count_inner = inner;
  c10::impl::tls_set_dispatch_key_included(kMode, true);
}

void stop() {
  TORCH_CHECK(c10::impl::tls_is_dispatch_key_included(kMode), "stop: not counting");
  c10::impl::tls_set_dispatch_key_included(kMode, false);
}

int64_t defined_tensors(const c10::IValue& value) {
  if (value.isTensor()) {
    return value.toTensor().defined() ? 1 : 0;
  }
  return value.isTensorList() ? value.toTensorList().size() : 0;
}

c10::Dict<std::string, int64_t> field(int64_t Tally::* member) {
  c10::Dict<std::string, int64_t> counts;
  for (const auto& [name, tally] : tallies) {
    counts.insert(name, tally.*member);
  }
  return counts;
}

c10::Dict<std::string, int64_t> calls() {
  return field(&Tally::calls);
}

c10::Dict<std::string, int64_t> tensors() {
  return field(&Tally::tensors);
}

TORCH_LIBRARY(lecture04_k09, m) {
  m.def("start(bool inner) -> ()", &start);
  m.def("stop() -> ()", &stop);
  m.def("calls() -> Dict(str, int)", &calls);
  m.def("tensors() -> Dict(str, int)", &tensors);
}
