// tier: small
//
// One kernel for every operator: a boxed fallback that counts.
//
// The dispatcher can call a kernel in two ways: unboxed, with C++ arguments, or boxed, with a
// stack of c10::IValue. A boxed kernel serves any schema, so one of them can be the fallback of
// a dispatch key: what runs for every operator that has no kernel of its own there. This one
// counts the operators of a program, then lets them go on.
//
// The key is TESTING_ONLY_GenericMode (`kMode`, given). No tensor carries it; it takes part in
// dispatch only while the thread includes it (c10::impl::tls_set_dispatch_key_included: the
// form without a guard object, because the start and the stop are separate calls).
//
// 1. start(inner): forgets all counts and begins to count on this thread. While it counts, a
//    second start throws a RuntimeError with "start: already counting", and goes on counting.
// 2. stop(): ends it; the counts stay readable. Not counting: RuntimeError, "stop: not counting".
// 3. count(op, keys, stack): the fallback of kMode for all operators, the ones that are defined
//    after this library was loaded included. In tallies, under the operator's full name
//    ("aten::add.Tensor", "aten::relu": c10::toString of its operator_name()):
//      calls    one more for each call, also for one that throws
//      tensors  how many tensors the call returned, when it has returned: a Tensor[] counts
//               each of its tensors, an undefined tensor (None in Python) does not count
//    Then the operator does what it would have done, with its arguments as they are on the
//    stack. Which calls arrive here depends on `inner`:
//      false    only those that the program makes itself. What an operator calls while it runs
//               (linear calls t and addmm) is not counted: exclude kMode while it runs
//               (c10::impl::ExcludeDispatchKeyGuard), and call it again.
//      true     those inner calls as well. kMode stays included, so the operator must go on
//               below it (redispatchBoxed with the keys that come after kMode), or it would
//               arrive here for ever.
//    In both cases the thread's included and excluded keys are afterwards what they were before,
//    also when the operator throws.
// 4. The operators of this file are never counted: register a fallthrough for them.
//
// Backward of CPU tensors runs on the thread that called it, with the keys it had: it counts.
// Other threads do not. Out of scope: other devices, TorchScript, torch.compile.
// About 35 lines. In PyTorch: torch/library.h (fallback, makeFromBoxedFunction,
// makeFallthrough), aten/src/ATen/core/dispatch/Dispatcher.h (OperatorHandle::redispatchBoxed),
// aten/src/ATen/core/stack.h (last), aten/src/ATen/core/dispatch/backend_fallback_test.cpp,
// and a real one: aten/src/ATen/native/CPUFallback.cpp (cpu_fallback).
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

// What one thread counts is its own affair, so there is nothing to lock.
thread_local std::map<std::string, Tally> tallies;
thread_local bool count_inner = false;

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

// ---- the exercise ------------------------------------------------------------------------

void count(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  // TODO: count, let the operator run, look at what it left on the stack.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: count");
}

void start(bool inner) {
  // TODO: from now on, this thread's calls pass by kMode.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: start");
}

void stop() {
  // TODO: and from now on they do not.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "TODO: stop");
}

// TODO: two blocks TORCH_LIBRARY_IMPL(namespace, TESTING_ONLY_GenericMode, m): one for the
// namespace _, which stands for all operators, and one for lecture04_k09.

// ---- given: do not change ----------------------------------------------------------------

TORCH_LIBRARY(lecture04_k09, m) {
  m.def("start(bool inner) -> ()", &start);
  m.def("stop() -> ()", &stop);
  m.def("calls() -> Dict(str, int)", &calls);
  m.def("tensors() -> Dict(str, int)", &tensors);
}
