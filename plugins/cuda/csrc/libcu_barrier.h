// cuda::barrier on the host: a barrier that counts those who arrive, and may be waited for later.
#pragma once
#include "simt.h"
#include "simt_async.h"

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

namespace std {
struct __empty_completion {
    void operator()() const {}
};
template <class Completion = __empty_completion>
class barrier;
}  // namespace std

template <thread_scope Scope, class Completion = std::__empty_completion>
class barrier {
  public:
    struct arrival_token {
        uint32_t phase;
    };

    barrier() = default;
    SIMT_PLAIN explicit barrier(ptrdiff_t count, Completion completion = {}) : completion_(completion) { begin(count); }
    barrier(const barrier&) = delete;
    barrier& operator=(const barrier&) = delete;

    [[nodiscard]] SIMT_PLAIN arrival_token arrive(ptrdiff_t count = 1) { return arrived(count, "arrive", SIMT_HERE); }
    SIMT_PLAIN void wait(arrival_token&& token) const { waited(token.phase, SIMT_HERE); }
    SIMT_PLAIN void wait(const arrival_token& token) const { waited(token.phase, SIMT_HERE); }
    SIMT_PLAIN void wait_parity(bool parity) const { waited(phase_ % 2 == parity ? phase_ : phase_ - 1, SIMT_HERE); }
    SIMT_PLAIN void arrive_and_wait() { waited(arrived(1, "arrive_and_wait", SIMT_HERE).phase, SIMT_HERE); }
    SIMT_PLAIN void arrive_and_drop() {
        look("arrive_and_drop", SIMT_HERE);
        expected_ -= 1;
        arrived(1, "arrive_and_drop", SIMT_HERE);
    }
    static constexpr ptrdiff_t max() { return (1 << 20) - 1; }

    // For `init`, which any thread may call before a __syncthreads() that lets all see it.
    SIMT_PLAIN void begin(ptrdiff_t count) {
        alive_ = ALIVE;
        phase_ = 0;
        expected_ = left_ = count;
    }
    SIMT_PLAIN void written(const void* here) {
        simt::access(this, 8, simt::Kind::Write, here);
    }

  private:
    static constexpr uint32_t ALIVE = 0x42617272;
    // As large and as aligned as CUDA's.
    alignas(8) uint32_t alive_;
    uint32_t phase_;
    ptrdiff_t expected_, left_;
    [[no_unique_address]] Completion completion_;

    SIMT_PLAIN void look(const char* what, const void* here) const {
        simt::access(this, 8, simt::Kind::Read, here);
        if (alive_ != ALIVE) simt::report("uninitialised barrier", here, "calls %s of a barrier that was never initialised", what);
    }
    SIMT_PLAIN arrival_token arrived(ptrdiff_t count, const char* what, const void* here) {
        look(what, here);
        if (count > left_) simt::report("too many arrivals", here, "calls %s, and all that the barrier expects have arrived", what);
        simt::release(this);
        const arrival_token token{phase_};
        left_ -= count;
        if (left_ == 0) {
            simt::commit(this);
            simt::complete(this, 0);
            completion_();
            left_ = expected_;
            phase_ += 1;
        }
        return token;
    }
    SIMT_PLAIN void waited(uint32_t phase, const void* here) const {
        struct Wait {
            const barrier* self;
            uint32_t phase;
        } wait{this, phase};
        look("wait", here);
        simt::wait_until([](void* given) { return static_cast<Wait*>(given)->self->phase_ != static_cast<Wait*>(given)->phase; }, &wait,
                         "cuda::barrier::wait", here);
        simt::acquire(this);
    }
};

template <thread_scope Scope, class Completion>
SIMT_PLAIN void init(barrier<Scope, Completion>* made, ptrdiff_t count) {
    made->written(SIMT_HERE);
    made->begin(count);
}

// The copy is complete when the phase of the barrier is.
template <class Group, class T, class U, class Size, thread_scope Scope, class Completion>
SIMT_PLAIN void memcpy_async(const Group& group, T* to, const U* from, Size size, barrier<Scope, Completion>& owner) {
    simt::copy_of_group(to, from, simt::byte_count(size), group.rank, group.count, &owner, SIMT_HERE);
}
template <class T, class U, class Size, thread_scope Scope, class Completion>
SIMT_PLAIN void memcpy_async(T* to, const U* from, Size size, barrier<Scope, Completion>& owner) {
    simt::copy_of_group(to, from, simt::byte_count(size), 0, 1, &owner, SIMT_HERE);
}

}  // namespace cuda
