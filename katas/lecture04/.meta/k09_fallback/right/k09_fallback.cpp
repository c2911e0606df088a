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

// A functor instead of a function, a redispatch in both cases, and a kernel for each name.
struct Counter final : c10::OperatorKernel {
  void operator()(
      const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const auto name = c10::toString(op.operator_name());
    tallies[name].calls += 1;
    {
      std::optional<c10::impl::ExcludeDispatchKeyGuard> hidden;
      if (!count_inner) {
        hidden.emplace(c10::DispatchKeySet(kMode));
      }
      op.redispatchBoxed(keys.remove(kMode), stack);
    }
    for (auto value = stack->end() - op.schema().returns().size(); value < stack->end(); ++value) {
      if (value->isTensorList()) {
        for (const at::Tensor& tensor : value->toTensorVector()) {
          tallies[name].tensors += tensor.defined();
        }
      } else if (value->isTensor()) {
        tallies[name].tensors += value->toTensor().defined();
      }
    }
  }
};

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Counter>()));
}

TORCH_LIBRARY_IMPL(lecture04_k09, TESTING_ONLY_GenericMode, m) {
  m.impl("start", torch::CppFunction::makeFallthrough());
  m.impl("stop", torch::CppFunction::makeFallthrough());
  m.impl("calls", torch::CppFunction::makeFallthrough());
  m.impl("tensors", torch::CppFunction::makeFallthrough());
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
