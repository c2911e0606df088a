// Copies that run on their own: the group waits for them before it reads what they write.
#pragma once
#include "cooperative_groups.h"
#include "simt_async.h"

namespace cooperative_groups {

template <class Group, class T, class U, class Size>
SIMT_PLAIN void memcpy_async(const Group& group, T* to, const U* from, Size size) {
    simt::copy_of_group(to, from, simt::byte_count(size), group.rank, group.count, nullptr, SIMT_HERE);
    simt::commit(nullptr);
}
// In elements: as many as both sides have room for.
template <class Group, class T, class Room, class U, class Size>
SIMT_PLAIN void memcpy_async(const Group& group, T* to, Room room, const U* from, Size size) {
    const size_t count = std::min(simt::byte_count(room), simt::byte_count(size)) * sizeof(T);
    simt::copy_of_group(to, from, count, group.rank, group.count, nullptr, SIMT_HERE);
    simt::commit(nullptr);
}
template <class Group>
SIMT_PLAIN void wait(const Group& group) {
    simt::complete(nullptr, 0);
    group.meet(SIMT_HERE);
}
template <unsigned Stages, class Group>
SIMT_PLAIN void wait_prior(const Group& group) {
    simt::complete(nullptr, Stages);
    group.meet(SIMT_HERE);
}

}  // namespace cooperative_groups
