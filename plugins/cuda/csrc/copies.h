// Copies that go on while their thread does, and the counts that threads wait for.
#pragma once

#include "barriers.h"

namespace simt {

void copy_later(void* to, const void* from, size_t bytes, size_t zeros, unsigned step, const void* owner, const void* here) {
    Thread& me = *machine.me;
    const auto low = reinterpret_cast<uintptr_t>(to);
    machine.called = here;
    for (size_t at = 0; at < bytes; at += step) touch(reinterpret_cast<uintptr_t>(from) + at, step, Kind::Read, here);
    for (size_t at = 0; at < bytes + zeros; at += step) touch(low + at, step, Kind::Write, here);
    if (low - reinterpret_cast<uintptr_t>(me.low) < STACK) {
        std::memcpy(to, from, bytes);
        return;
    }
    if (machine.same.bytes) settle();
    Region* region = machine.regions.find(low);
    if (region && region->cells) {
        for (uintptr_t part = low; part < low + bytes + zeros; part += size_t{1} << region->shift) {
            region->written[(part - region->low) >> region->shift] = IN_FLIGHT;
        }
    }
    const uint32_t batch = machine.block.batches[{owner ? nullptr : &me, owner}];
    machine.block.copies.push_back({&me, batch, owner, static_cast<char*>(to), static_cast<const char*>(from), bytes, zeros, step, here});
}

namespace {

void perform(const Copy& copy) {
    std::memcpy(copy.to, copy.from, copy.bytes);
    std::memset(copy.to + copy.bytes, 0, copy.zeros);
    const auto low = reinterpret_cast<uintptr_t>(copy.to);
    Region* region = machine.regions.find(low);
    if (!region || !region->cells) return;
    const Mark now{machine.block_first + copy.thread->id, 0, ++machine.clock, place_of(copy.pc)};
    for (uintptr_t part = low; part < low + copy.bytes + copy.zeros; part += size_t{1} << region->shift) {
        const size_t i = (part - region->low) >> region->shift;
        region->written[i] = stamp_of(*region);
        region->cells[i].write = now;
    }
}

}  // namespace

// A pipeline without an owner is the thread's own, as that of __pipeline_commit().
void commit(const void* owner) { machine.block.batches[{owner ? nullptr : machine.me, owner}] += 1; }

void complete(const void* owner, unsigned leave) {
    Block& block = machine.block;
    const uint32_t committed = block.batches[{owner ? nullptr : machine.me, owner}];
    std::erase_if(block.copies, [&](const Copy& copy) {
        if (copy.owner != owner || (!owner && (copy.thread != machine.me || copy.batch + leave >= committed))) return false;
        perform(copy);
        // A thread that waits for the owner sees the copy, though another thread began it.
        if (owner) {
            const Published seen{machine.clock, machine.clock, machine.clock};
            machine.chains.publish(chain_of(owner, Space::Shared), machine.block_first + copy.thread->id, seen);
        }
        return true;
    });
}

void count(const void* place) {
    release(place);
    machine.block.counts[place] += 1;
}

unsigned counted(const void* place) { return machine.block.counts[place]; }

void wait_count(const void* place, unsigned wanted, const char* what, const void* here) {
    struct Wait {
        const void* place;
        unsigned wanted;
    } wait{place, wanted};
    wait_until([](void* given) { return counted(static_cast<Wait*>(given)->place) >= static_cast<Wait*>(given)->wanted; }, &wait, what, here);
    acquire(place);
}

}  // namespace simt
