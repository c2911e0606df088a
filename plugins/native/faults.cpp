// Writes the C++ calls of a fault to the crash guard's file; every kata's library has this.
//
// faulthandler knows Python's calls alone. The addresses are looked up after the process has died,
// by plugins/crash/stacks.py: here nothing may allocate.
#include <dlfcn.h>
#include <unistd.h>
#include <unwind.h>

#include <csignal>
#include <cstdint>
#include <cstring>

namespace {

constexpr int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr int KINDS = sizeof(SIGNALS) / sizeof(*SIGNALS);
constexpr int MOST = 64;  // calls, as in plugins/crash/stacks.py

struct sigaction before[KINDS];
int file = -1;
pid_t process = 0;

void put(const char* text, size_t size) {
  if (write(file, text, size) < 0) return;
}

void put(uintptr_t number) {
  char text[2 * sizeof number];
  char* first = text + sizeof text;
  do *--first = "0123456789abcdef"[number % 16];
  while (number /= 16);
  put(first, text + sizeof text - first);
}

_Unwind_Reason_Code call(_Unwind_Context* context, void* left) {
  int exact = 0;
  // Where a call returns to may belong to the next line.
  uintptr_t place = _Unwind_GetIPInfo(context, &exact);
  place -= exact ? 0 : 1;
  Dl_info found;
  if (dladdr(reinterpret_cast<void*>(place), &found) && found.dli_fname) {
    put("C++ 0x", 6);
    put(place - reinterpret_cast<uintptr_t>(found.dli_fbase));
    put(" ", 1);
    put(found.dli_fname, strlen(found.dli_fname));
    put("\n", 1);
  }
  return --*static_cast<int*>(left) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void write_calls(int number, siginfo_t* info, void*) {
  // First of all: a second fault, in here, is for the handler that was there before.
  for (int kind = 0; kind < KINDS; ++kind) sigaction(SIGNALS[kind], &before[kind], nullptr);
  if (getpid() == process) {  // not one that a test has forked
    int left = MOST;
    _Unwind_Backtrace(call, &left);
  }
  // A fault happens again as soon as this returns; abort() and kill() do not.
  if (info->si_code <= 0) raise(number);
}

}  // namespace

extern "C" void kata_write_faults(int stack) {
  file = stack;
  process = getpid();
  struct sigaction action = {};
  action.sa_sigaction = write_calls;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;  // the stack may be what is full
  for (int kind = 0; kind < KINDS; ++kind) sigaction(SIGNALS[kind], &action, &before[kind]);
}
