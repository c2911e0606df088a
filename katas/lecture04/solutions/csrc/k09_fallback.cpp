// tier: small
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

void count(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  auto& tally = tallies[c10::toString(op.operator_name())];
  // Before the call, which may throw, and may recurse into this function.
  ++tally.calls;
  if (count_inner) {
    // The thread still includes kMode, so what the kernel calls comes here too.
    op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kMode), stack);
  } else {
    const c10::impl::ExcludeDispatchKeyGuard guard(kMode);
    op.callBoxed(stack);
  }
  for (const auto& result : torch::jit::last(*stack, op.schema().returns().size())) {
    tally.tensors += defined_tensors(result);
  }
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&count>());
}

TORCH_LIBRARY_IMPL(lecture04_k09, TESTING_ONLY_GenericMode, m) {
  for (const auto* name : {"start", "stop", "calls", "tensors"}) {
    m.impl(name, torch::CppFunction::makeFallthrough());
  }
}

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
