// Reductions of a group: every thread gets the result.
#pragma once
#include "cooperative_groups.h"

namespace cooperative_groups {

template <class T>
struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
    T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
    T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
    T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
    T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
    T operator()(T a, T b) const { return a ^ b; }
};

namespace details {

// What the lanes of a warp give to a reduction or a scan, and get back.
template <class T, class Op>
struct Share {
    T value;
    Op* op;
    unsigned mask;
    bool scan, exclusive;
};

template <class T, class Op>
SIMT_PLAIN void fold(void* const* given) {
    using Shared = Share<T, Op>;
    T all{}, before{};
    bool begun = false;
    for (unsigned lane = 0; lane < LANES; ++lane) {
        auto* share = static_cast<Shared*>(given[lane]);
        if (!share) continue;
        before = all;
        all = begun ? (*share->op)(all, share->value) : share->value;
        begun = true;
        if (share->scan) share->value = share->exclusive ? before : all;
    }
    for (unsigned lane = 0; lane < LANES; ++lane) {
        auto* share = static_cast<Shared*>(given[lane]);
        if (share && !share->scan) share->value = all;
    }
}

// Of a tile of several warps: each thread folds what all have laid out.
template <class Group, class T, class Op>
SIMT_PLAIN T folded_widely(const Group& group, T value, Op& op, bool scan, bool exclusive, const void* here) {
    const auto count = static_cast<unsigned>(group.count);
    __builtin_memcpy(simt::board(group.first + static_cast<unsigned>(group.rank), sizeof(T)), static_cast<const void*>(&value), sizeof(T));
    simt::tile_sync(group.first, count, here, false);
    T all{}, before{}, other{};
    for (unsigned i = 0; i < count; ++i) {
        __builtin_memcpy(static_cast<void*>(&other), simt::board(group.first + i, sizeof(T)), sizeof(T));
        before = all;
        all = i ? op(all, other) : other;
        if (scan && i == group.rank) break;
    }
    simt::tile_sync(group.first, count, here, false);
    return exclusive ? before : all;
}

template <class Group, class T, class Op>
SIMT_PLAIN T folded(const Group& group, T value, Op& op, bool scan, bool exclusive, const char* what, const void* here) {
    if (group.count > LANES) return folded_widely(group, value, op, scan, exclusive, here);
    Share<T, Op> share{value, &op, group.mask, scan, exclusive};
    simt::warp_call(group.mask, &share, &fold<T, Op>, what, here);
    return share.value;
}

}  // namespace details

template <class Group, class T, class Op>
SIMT_PLAIN T reduce(const Group& group, T value, Op op) {
    return details::folded(group, value, op, false, false, "reduce", SIMT_HERE);
}

}  // namespace cooperative_groups
