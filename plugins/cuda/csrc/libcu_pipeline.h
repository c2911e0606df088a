// cuda::pipeline on the host: batches of copies, first in, first out.
#pragma once
#include "cuda/barrier"

namespace cuda {

enum class pipeline_role { producer, consumer };

// The state of a pipeline that the threads of a block share: nothing but an address for each stage
// that is under way, full or free again.
template <thread_scope Scope, uint8_t Stages>
struct pipeline_shared_state {
    pipeline_shared_state() = default;
    pipeline_shared_state(const pipeline_shared_state&) = delete;
    alignas(8) char held[640];
};

template <thread_scope Scope>
class pipeline {
  public:
    // For make_pipeline. Without a state the pipeline is the thread's own.
    const char* state = nullptr;
    unsigned stages = 1, producers = 1, consumers = 1;
    uint32_t produced = 0, consumed = 0;

    SIMT_PLAIN void producer_acquire() {
        if (!state || produced < stages) return;
        const uint32_t stage = produced - stages;
        simt::wait_count(freed(stage), consumers * (stage / AT_ONCE + 1), "pipeline::producer_acquire", SIMT_HERE);
    }
    SIMT_PLAIN void producer_commit() {
        simt::commit(owner());
        if (state) simt::count(owner());
        produced += 1;
    }
    SIMT_PLAIN void consumer_wait() { finish(SIMT_HERE); }
    template <class Duration>
    SIMT_PLAIN bool consumer_wait_for(const Duration&) {
        finish(SIMT_HERE);
        return true;
    }
    SIMT_PLAIN void consumer_release() {
        // A thread's own is released by the wait.
        if (!state) return;
        simt::count(freed(consumed));
        consumed += 1;
    }
    SIMT_PLAIN bool quit() { return true; }

    SIMT_PLAIN const void* owner() const { return state ? full(produced) : nullptr; }
    SIMT_PLAIN void wait_prior(unsigned leave) {
        simt::complete(nullptr, leave);
        consumed = produced - leave;
    }

  private:
    static constexpr uint32_t AT_ONCE = 256;
    SIMT_PLAIN const void* full(uint32_t stage) const { return state + stage % AT_ONCE; }
    SIMT_PLAIN const void* freed(uint32_t stage) const { return state + 320 + stage % AT_ONCE; }
    SIMT_PLAIN void finish(const void* here) {
        if (state) {
            simt::wait_count(full(consumed), producers * (consumed / AT_ONCE + 1), "pipeline::consumer_wait", here);
            simt::complete(full(consumed), 0);
            simt::acquire(full(consumed));
        } else if (produced > consumed) {
            simt::complete(nullptr, produced - consumed - 1);
            consumed += 1;
        }
    }
};

SIMT_PLAIN inline pipeline<thread_scope_thread> make_pipeline() { return {}; }
// All threads of the group give and take.
template <class Group, thread_scope Scope, uint8_t Stages>
SIMT_PLAIN pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state) {
    pipeline<Scope> made;
    made.state = state->held;
    made.stages = Stages;
    made.producers = made.consumers = static_cast<unsigned>(group.count);
    group.meet(SIMT_HERE);
    return made;
}
// Each says what it does; all come together to count.
template <class Group, thread_scope Scope, uint8_t Stages>
SIMT_PLAIN pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state, pipeline_role role) {
    pipeline<Scope> made;
    made.state = state->held;
    made.stages = Stages;
    if (role == pipeline_role::producer) simt::count(state->held + 639);
    group.meet(SIMT_HERE);
    made.producers = simt::counted(state->held + 639);
    made.consumers = static_cast<unsigned>(group.count) - made.producers;
    return made;
}
// The first threads of the group are the producers.
template <class Group, thread_scope Scope, uint8_t Stages>
SIMT_PLAIN pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state, size_t producers) {
    pipeline<Scope> made;
    made.state = state->held;
    made.stages = Stages;
    made.producers = static_cast<unsigned>(producers);
    made.consumers = static_cast<unsigned>(group.count - producers);
    group.meet(SIMT_HERE);
    return made;
}

template <uint8_t Leave>
SIMT_PLAIN void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>& pipe) {
    pipe.wait_prior(Leave);
}

template <class Group, class T, class U, class Size, thread_scope Scope>
SIMT_PLAIN void memcpy_async(const Group& group, T* to, const U* from, Size size, pipeline<Scope>& pipe) {
    simt::copy_of_group(to, from, simt::byte_count(size), group.rank, group.count, pipe.owner(), SIMT_HERE);
}
template <class T, class U, class Size, thread_scope Scope>
SIMT_PLAIN void memcpy_async(T* to, const U* from, Size size, pipeline<Scope>& pipe) {
    simt::copy_of_group(to, from, simt::byte_count(size), 0, 1, pipe.owner(), SIMT_HERE);
}

}  // namespace cuda
