// Barriers of blocks, tiles and grids, fences, and what is said of threads that wait for ever.
#pragma once

#include "warps.h"

namespace simt {
namespace {

std::string several(const std::vector<const Thread*>& threads) {
    const std::string first = "thread " + text(threads.front()->index);
    return threads.size() == 1 ? first : std::to_string(threads.size()) + " threads, the first is " + first + ":";
}

std::string plural(const std::vector<const Thread*>& threads, const char* one, const char* many) {
    return threads.size() == 1 ? one : many;
}

[[noreturn]] void stuck_in_warp(const Thread& first) {
    char mask[16];
    std::snprintf(mask, sizeof mask, "0x%08x", first.mask);
    std::string found = headline("absent lane") + at(first.place, "thread " + text(first.index),
                                                     std::string("waits in ") + name_of(first) + ", mask " + mask);
    for (unsigned lane = 0; lane < LANES; ++lane) {
        const uint32_t id = first.id / LANES * LANES + lane;
        if (!(first.mask >> lane & 1u) || id >= machine.block_size) continue;
        const Thread& other = machine.block.threads[id];
        if (other.state == State::Done) continue;
        if (other.state == State::Warp && other.operation == first.operation && other.mask == first.mask) continue;
        const char* where = other.state == State::Barrier ? "__syncthreads"
                            : other.state == State::Poll  ? other.waits_in
                            : other.state == State::Grid  ? "grid.sync"
                                                          : name_of(other);
        found += at(other.place, "lane " + std::to_string(lane), std::string("waits in ") + where);
        break;
    }
    fault(found + "\nEvery lane that the mask names must come to the same call, with the same mask.");
}

[[noreturn]] void stuck() {
    std::map<uint32_t, std::vector<const Thread*>> barriers, grids, polls;
    std::vector<const Thread*> done;
    for (const Thread& thread : machine.block.threads) {
        if (thread.state == State::Warp) stuck_in_warp(thread);
        if (thread.state == State::Done) done.push_back(&thread);
        if (thread.state == State::Barrier) barriers[thread.place].push_back(&thread);
        if (thread.state == State::Grid) grids[thread.place].push_back(&thread);
        if (thread.state == State::Poll) polls[thread.place].push_back(&thread);
    }
    std::string found = headline(polls.empty() ? "divergent barrier" : "waits for ever");
    for (const auto* places : {&polls, &grids, &barriers}) {
        for (const auto& [place, threads] : *places) {
            const std::string in = places == &polls   ? std::string(" in ") + threads.front()->waits_in
                                   : places == &grids ? " in grid.sync"
                                   : polls.empty()    ? ""
                                                      : " in __syncthreads";
            found += at(place, several(threads), plural(threads, "waits", "wait") + in);
        }
    }
    if (!done.empty()) found += "\n  " + several(done) + " " + plural(done, "has", "have") + " returned";
    if (!polls.empty()) fault(found + "\nNo thread is left that could end the wait.");
    found += grids.empty() ? "\nAll threads of a block must come to the same __syncthreads()."
                           : "\nAll threads of the grid must come to the same grid.sync().";
    if (grids.empty() && barriers.size() > 1) {
        found += " CUDA's guide allows it in a branch only if the whole block takes the branch: else the code is likely to hang,"
                 " or to do what no one meant. Where whole warps take a branch each, a GPU that counts arrivals may go on.";
    }
    if (!done.empty() && machine.strict) {
        found += "\nThis is stricter than a GPU: since Volta it waits for those only that have not returned. But CUDA's guide"
                 " allows the barrier in a branch only if all threads of the block take it, and a barrier that counts"
                 " (cuda::barrier) would wait for ever.";
    }
    fault(found);
}

void release_barrier() {
    Block& block = machine.block;
    const Thread* first = nullptr;
    uint64_t count = 0, present = 0;
    for (const Thread& thread : block.threads) {
        // Since Volta the barrier waits for those that have not returned.
        if (thread.state == State::Done && !machine.strict) continue;
        if (thread.state != State::Barrier || (first && thread.place != first->place)) stuck();
        first = &thread;
        count += thread.value != 0;
        present += 1;
        for (const Learned& what : thread.learned) learn(block.learned, what);
    }
    for (Thread& thread : block.threads) {
        if (thread.state != State::Barrier) continue;
        thread.state = State::Ready;
        thread.result = count << 32 | present;
    }
    if (std::exchange(block.fenced, false)) {
        std::vector<Fenced> fences;
        for (const Thread& thread : block.threads) fences.push_back({thread.near.clock, thread.far.clock});
        block.fences = std::make_shared<const std::vector<Fenced>>(std::move(fences));
    }
    machine.barrier_clock = machine.clock;
    machine.launches.back().barriers += 1;
}

}  // namespace

void fence(Scope scope) {
    Thread& me = *machine.me;
    if (machine.same.bytes) settle();
    me.holds = 0;
    me.near.clock = ++machine.clock;
    me.near.barrier = machine.barrier_clock;
    if (me.met) me.near.known = me.known;
    if (scope == Scope::Device) me.far = me.near;
    machine.block.fenced = true;
}

uint64_t block_sync(uint64_t value, const void* here) {
    machine.me->value = value;
    wait(State::Barrier, here);
    return machine.me->result;
}

bool cooperative() { return machine.cooperative; }

void grid_sync(const void* here) {
    if (!machine.cooperative) {
        fault(headline("no cooperative launch") + at(place_of(here), myself(), "calls grid.sync") +
              "\nIts blocks may not all run at once, and then wait for ever: launch the kernel by cudaLaunchCooperativeKernel.");
    }
    wait(State::Grid, here);
}

void release(const void* object) {
    Thread& me = *machine.me;
    if (machine.same.bytes) settle();
    const Fence now{++machine.clock, machine.barrier_clock, me.known};
    publish(chain_of(object, Space::Shared), me, now, now);
}

void acquire(const void* object) {
    const uint64_t chain = chain_of(object, Space::Shared);
    if (machine.chains.has(chain)) learn(machine.me->learned, {chain, ++machine.clock});
}

void wait_until(bool (*ready)(void*), void* argument, const char* what, const void* here) {
    Thread& me = *machine.me;
    me.place = place_of(here);
    if (machine.late) overdue(me.place);
    if (ready(argument)) return;
    me.ready = ready;
    me.waits_for = argument;
    me.waits_in = what;
    wait(State::Poll, here);
}

void* board(unsigned thread, size_t bytes) {
    if (bytes > sizeof machine.block.board[thread]) fault(headline("too large a value") + "\nA tile of several warps exchanges up to 64 bytes.");
    return machine.block.board[thread].data();
}

void tile_sync(unsigned first, unsigned count, const void* here, bool order) {
    struct Wait {
        Tile* tile;
        uint32_t generation;
    };
    Tile& tile = machine.block.tiles[{first, count}];
    Wait self{&tile, tile.generation};
    if (order) release(&tile);
    unsigned left = 0;
    for (unsigned id = first; id < first + count && id < machine.block_size; ++id) left += machine.block.threads[id].state != State::Done;
    if (++tile.arrived >= left) {
        tile.arrived = 0;
        tile.generation += 1;
    }
    wait_until([](void* given) { return static_cast<Wait*>(given)->tile->generation != static_cast<Wait*>(given)->generation; },
               &self, "sync of a tile", here);
    if (order) acquire(&tile);
}

}  // namespace simt

void __syncthreads() { simt::block_sync(0, SIMT_HERE); }
int __syncthreads_count(int predicate) { return static_cast<int>(simt::block_sync(predicate != 0, SIMT_HERE) >> 32); }
int __syncthreads_and(int predicate) {
    const uint64_t counted = simt::block_sync(predicate != 0, SIMT_HERE);
    return counted >> 32 == (counted & 0xffffffffu);
}
int __syncthreads_or(int predicate) { return simt::block_sync(predicate != 0, SIMT_HERE) >> 32 != 0; }
