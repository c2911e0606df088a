// cuda::atomic and cuda::atomic_ref on the host. Every load may acquire; a store or a change that
// releases publishes what the thread has done before.
#pragma once
#include "simt.h"

#include "cuda/barrier"

namespace cuda {

enum memory_order { memory_order_relaxed, memory_order_consume, memory_order_acquire, memory_order_release, memory_order_acq_rel, memory_order_seq_cst };
namespace std {
using cuda::memory_order;
using cuda::memory_order_acq_rel;
using cuda::memory_order_acquire;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;
using cuda::memory_order_seq_cst;
}  // namespace std

SIMT_PLAIN inline void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system) {
    if (order != memory_order_relaxed) simt::fence(scope == thread_scope_block ? simt::Scope::Block : simt::Scope::Device);
}

namespace detail {

enum class Deed { Change, Load, Store };

// The operations of both; Self says where the value is.
template <class Self, class T, thread_scope Scope>
class Operations {
  public:
    SIMT_PLAIN T load(memory_order order = memory_order_seq_cst) const { return change([](T v) { return v; }, order, SIMT_HERE, Deed::Load); }
    SIMT_PLAIN void store(T value, memory_order order = memory_order_seq_cst) const {
        change([&](T) { return value; }, order, SIMT_HERE, Deed::Store);
    }
    SIMT_PLAIN T exchange(T value, memory_order order = memory_order_seq_cst) const {
        return change([&](T) { return value; }, order, SIMT_HERE);
    }
    SIMT_PLAIN T fetch_add(T by, memory_order order = memory_order_seq_cst) const {
        return change([&](T v) { return static_cast<T>(v + by); }, order, SIMT_HERE);
    }
    SIMT_PLAIN T fetch_sub(T by, memory_order order = memory_order_seq_cst) const {
        return change([&](T v) { return static_cast<T>(v - by); }, order, SIMT_HERE);
    }
    SIMT_PLAIN T fetch_max(T by, memory_order order = memory_order_seq_cst) const {
        return change([&](T v) { return v < by ? by : v; }, order, SIMT_HERE);
    }
    SIMT_PLAIN T fetch_min(T by, memory_order order = memory_order_seq_cst) const {
        return change([&](T v) { return by < v ? by : v; }, order, SIMT_HERE);
    }
    SIMT_PLAIN T fetch_and(T by, memory_order order = memory_order_seq_cst) const {
        return change([&](T v) { return static_cast<T>(v & by); }, order, SIMT_HERE);
    }
    SIMT_PLAIN T fetch_or(T by, memory_order order = memory_order_seq_cst) const {
        return change([&](T v) { return static_cast<T>(v | by); }, order, SIMT_HERE);
    }
    SIMT_PLAIN bool compare_exchange_strong(T& expected, T wanted, memory_order order = memory_order_seq_cst,
                                            memory_order = memory_order_seq_cst) const {
        const T before = expected;
        const T found = change([&](T v) { return ::std::memcmp(&v, &before, sizeof v) ? v : wanted; }, order, SIMT_HERE);
        expected = found;
        return ::std::memcmp(&found, &before, sizeof found) == 0;
    }
    SIMT_PLAIN bool compare_exchange_weak(T& expected, T wanted, memory_order order = memory_order_seq_cst,
                                          memory_order = memory_order_seq_cst) const {
        const T before = expected;
        const T found = change([&](T v) { return ::std::memcmp(&v, &before, sizeof v) ? v : wanted; }, order, SIMT_HERE);
        expected = found;
        return ::std::memcmp(&found, &before, sizeof found) == 0;
    }
    SIMT_PLAIN operator T() const { return change([](T v) { return v; }, memory_order_seq_cst, SIMT_HERE, Deed::Load); }
    SIMT_PLAIN T operator=(T value) const {
        change([&](T) { return value; }, memory_order_seq_cst, SIMT_HERE, Deed::Store);
        return value;
    }
    SIMT_PLAIN T operator++() const { return change([](T v) { return static_cast<T>(v + 1); }, memory_order_seq_cst, SIMT_HERE) + 1; }
    SIMT_PLAIN T operator++(int) const { return change([](T v) { return static_cast<T>(v + 1); }, memory_order_seq_cst, SIMT_HERE); }
    SIMT_PLAIN T operator--() const { return change([](T v) { return static_cast<T>(v - 1); }, memory_order_seq_cst, SIMT_HERE) - 1; }
    SIMT_PLAIN T operator+=(T by) const { return change([&](T v) { return static_cast<T>(v + by); }, memory_order_seq_cst, SIMT_HERE) + by; }
    SIMT_PLAIN T operator-=(T by) const { return change([&](T v) { return static_cast<T>(v - by); }, memory_order_seq_cst, SIMT_HERE) - by; }

  protected:
    template <class New>
    SIMT_PLAIN T change(New&& make, memory_order order, const void* here, Deed deed = Deed::Change) const {
        const bool releases = deed != Deed::Load && (order == memory_order_release || order == memory_order_acq_rel || order == memory_order_seq_cst);
        if (releases) simt::fence(Scope == thread_scope_block ? simt::Scope::Block : simt::Scope::Device);
        T* const at = static_cast<const Self*>(this)->place();
        if (deed == Deed::Store) simt::begin_value(at, sizeof(T));
        simt::access(at, sizeof(T), simt::Kind::Atomic, here);
        T before;
        __builtin_memcpy(static_cast<void*>(&before), static_cast<const void*>(at), sizeof before);
        const T after = make(before);
        if (deed != Deed::Load) __builtin_memcpy(static_cast<void*>(at), &after, sizeof after);
        return before;
    }
};

}  // namespace detail

template <class T, thread_scope Scope = thread_scope_system>
class atomic_ref : public detail::Operations<atomic_ref<T, Scope>, T, Scope> {
  public:
    SIMT_PLAIN explicit atomic_ref(T& value) : at_(&value) {}
    using detail::Operations<atomic_ref<T, Scope>, T, Scope>::operator=;
    SIMT_PLAIN T* place() const { return at_; }

  private:
    T* at_;
};

// Without a pointer to itself: a shared one is not constructed.
template <class T, thread_scope Scope = thread_scope_system>
class atomic : public detail::Operations<atomic<T, Scope>, T, Scope> {
  public:
    atomic() = default;
    constexpr atomic(T value) : value_(value) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;
    SIMT_PLAIN T operator=(T value) {
        this->change([&](T) { return value; }, memory_order_seq_cst, SIMT_HERE, detail::Deed::Store);
        return value;
    }
    SIMT_PLAIN T* place() const { return const_cast<T*>(&value_); }

  private:
    T value_;
};

}  // namespace cuda
