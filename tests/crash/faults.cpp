// Faults of native code, for the tests of the crash guard.
#include <cstdlib>
#include <stdexcept>
#include <thread>

extern "C" {
void segfault() { *reinterpret_cast<volatile int*>(8) = 1; }
void abort_now() { std::abort(); }
int divide(int a, int b) { return a / b; }
int recurse(volatile int* p) { volatile int here[4096]; here[0] = *p; return recurse(here) + here[0]; }
void join_nothing() { std::thread thread([] {}); }
void uncaught() { throw std::runtime_error("thrown to Python"); }
void free_twice() { void* volatile p = std::malloc(64); std::free(p); std::free(p); }
void fall_off() { __builtin_trap(); }
void leave() { std::exit(0); }
void spin() { for (volatile int i = 0;; i = i + 1) {} }
}
