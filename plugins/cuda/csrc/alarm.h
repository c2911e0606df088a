// Time: what ends a kernel that does not, and the signals of a thread that went wrong.
#pragma once

#include "accesses.h"

namespace simt {
namespace {

void tick(int) {
    if (!pthread_equal(pthread_self(), machine.runner)) {
        pthread_kill(machine.runner, SIGVTALRM);
        return;
    }
    // After the first tick the next access stops the thread. If there is none before the second,
    // it computes without end, and holds nothing that would be lost.
    if (machine.late && machine.me) {
        sigset_t own;
        sigemptyset(&own);
        sigaddset(&own, SIGVTALRM);
        pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
        fault(headline("endless") + ": " + myself() + " loops without touching memory");
    }
    machine.late = 1;
}

// A signal of the processor in a kernel is the thread's fault; any other is for the one who was asked
// before.
struct sigaction before_segv{}, before_bus{}, before_fpe{};

void struck(int number, siginfo_t* info, void* context) {
    const auto at_address = reinterpret_cast<uintptr_t>(info->si_addr);
    if (machine.me) {
        uint32_t place = machine.me->place;
#if defined(__x86_64__) && defined(__linux__)
        const auto pc = static_cast<uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
        if (pc - image_low < image_high - image_low) place = static_cast<uint32_t>(pc - image_low);
#endif
        if (number == SIGFPE) {
            fault(headline("division by zero") + at(place, myself(), "divides whole numbers, and the divisor is 0") +
                  "\nA GPU goes on with a result that means nothing.");
        }
        if (at_address >= reinterpret_cast<uintptr_t>(machine.me->low) - STACK_GAP && at_address < reinterpret_cast<uintptr_t>(machine.me->low)) {
            fault(headline("too much local memory") + at(place, myself(), "has more variables of its own than 512 KB") +
                  "\nAn array among a thread's own variables is too large, or a function calls itself without end.");
        }
    }
    sigaction(number, number == SIGFPE ? &before_fpe : number == SIGBUS ? &before_bus : &before_segv, nullptr);
}

class Alarm {
  public:
    Alarm() {
        machine.late = 0;
        machine.runner = pthread_self();
        struct sigaction action{};
        action.sa_handler = tick;
        action.sa_flags = SA_RESTART | SA_NODEFER;
        sigaction(SIGVTALRM, &action, &before);
        struct sigaction strike{};
        strike.sa_sigaction = struck;
        strike.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
        sigaction(SIGSEGV, &strike, &before_segv);
        sigaction(SIGBUS, &strike, &before_bus);
        sigaction(SIGFPE, &strike, &before_fpe);
        // The thread's own stack is at its end.
        static char* room = static_cast<char*>(std::malloc(SIGNAL_STACK));
        stack_t alternative{};
        alternative.ss_sp = room;
        alternative.ss_size = SIGNAL_STACK;
        sigaltstack(&alternative, &before_stack);
        set(machine.seconds, 1.0);
    }
    ~Alarm() {
        set(0.0, 0.0);
        sigaction(SIGVTALRM, &before, nullptr);
        sigaction(SIGSEGV, &before_segv, nullptr);
        sigaction(SIGBUS, &before_bus, nullptr);
        sigaction(SIGFPE, &before_fpe, nullptr);
        sigaltstack(&before_stack, nullptr);
    }

  private:
    static constexpr size_t SIGNAL_STACK = 64 << 10;
    struct sigaction before{};
    stack_t before_stack{};

    static void set(double first, double next) {
        const auto time = [](double seconds) {
            const auto whole = static_cast<time_t>(seconds);
            return timeval{whole, static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6)};
        };
        const itimerval value{time(next), time(first)};
        setitimer(ITIMER_VIRTUAL, &value, nullptr);
    }
};

}  // namespace

long long ticks() {
    Thread* me = machine.me;
    // A thread that looks at the time may wait for others.
    if (me) {
        me->state = State::Spin;
        swap(me->context, machine.scheduler);
        if (machine.late) overdue(me->place);
    }
    return machine.clock += 1;
}

}  // namespace simt

extern "C" clock_t clock() noexcept(true) { return static_cast<clock_t>(simt::ticks()); }
