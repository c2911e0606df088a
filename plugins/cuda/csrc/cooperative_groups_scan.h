// Running sums of a group, with the thread's own value or without it.
#pragma once
#include "cooperative_groups/reduce.h"

namespace cooperative_groups {

template <class Group, class T, class Op>
SIMT_PLAIN T inclusive_scan(const Group& group, T value, Op op) {
    return details::folded(group, value, op, true, false, "inclusive_scan", SIMT_HERE);
}
template <class Group, class T>
SIMT_PLAIN T inclusive_scan(const Group& group, T value) {
    plus<T> op;
    return details::folded(group, value, op, true, false, "inclusive_scan", SIMT_HERE);
}
template <class Group, class T, class Op>
SIMT_PLAIN T exclusive_scan(const Group& group, T value, Op op) {
    return details::folded(group, value, op, true, true, "exclusive_scan", SIMT_HERE);
}
template <class Group, class T>
SIMT_PLAIN T exclusive_scan(const Group& group, T value) {
    plus<T> op;
    return details::folded(group, value, op, true, true, "exclusive_scan", SIMT_HERE);
}

}  // namespace cooperative_groups
