// Blocks: in which order their threads run, and how several of them stand beside each other.
#pragma once

#include "barriers.h"

namespace simt {
namespace {

std::vector<uint32_t> order(size_t count) {
    std::vector<uint32_t> found(count);
    std::iota(found.begin(), found.end(), 0u);
    if (machine.mode == 1) std::reverse(found.begin(), found.end());
    if (machine.mode == 2) std::shuffle(found.begin(), found.end(), machine.random);
    return found;
}

void resume(Thread& thread) {
    machine.me = &thread;
    threadIdx = thread.index;
    blockIdx = machine.block.index;
    swap(machine.scheduler, thread.context);
    machine.me = nullptr;
}

struct Progress {
    bool moved = false, spinning = false;
    Progress& operator|=(const Progress& other) {
        moved |= other.moved;
        spinning |= other.spinning;
        return *this;
    }
};

// Runs the lanes of a warp until each of them waits for others or has returned.
Progress advance(const Lanes& lanes, const std::vector<uint32_t>& lane_order) {
    Progress progress;
    for (Thread* thread : lanes) {
        if (thread && thread->state == State::Poll && thread->ready(thread->waits_for)) thread->state = State::Ready;
    }
    // A lane that spins has its turn after the others, once.
    for (uint32_t lane : lane_order) {
        Thread* thread = lanes[lane];
        if (!thread || thread->state != State::Spin) continue;
        thread->state = State::Ready;
        resume(*thread);
        progress.moved |= thread->state != State::Spin;
        progress.spinning |= thread->state == State::Spin;
    }
    do {
        unsigned alive = 0;
        for (const Thread* thread : lanes) alive += thread && thread->state != State::Done;
        for (bool ready = true; ready;) {
            ready = false;
            for (uint32_t lane : lane_order) {
                Thread* thread = lanes[lane];
                if (!thread || thread->state != State::Ready) continue;
                resume(*thread);
                progress.moved = true;
                ready |= thread->state == State::Ready;
                progress.spinning |= thread->state == State::Spin;
            }
            machine.counter.flush(alive);
        }
    } while (resolve(lanes));
    return progress;
}

// Overwrites old values, which a kernel could use by accident.
Region* poisoned(Region* region) {
    std::memset(reinterpret_cast<void*>(region->low), 0xff, region->high - region->low);
    return region;
}

void begin_block(uint64_t number, size_t first_stack) {
    Block& block = machine.block;
    block.number = number;
    block.index = block_of(number);
    machine.block_first = machine.launch_first + static_cast<uint32_t>(number) * machine.block_size;
    machine.block_serial = ++machine.last_serial;
    machine.barrier_clock = 0;
    block.learned.clear();
    block.stored = block.finished = block.fenced = false;
    block.fences.reset();
    block.static_bytes = 0;
    block.declared.clear();
    block.tiles.clear();
    block.copies.clear();
    block.batches.clear();
    block.counts.clear();
    block.board.clear();
    block.threads.resize(machine.block_size);
    if (machine.dynamic) poisoned(machine.dynamic);
    for (Region* region : machine.file_shared) poisoned(region);
    for (uint32_t id = 0; id < machine.block_size; ++id) {
        Thread& thread = block.threads[id];
        thread.state = State::Ready;
        thread.id = id;
        thread.index = index_of(id);
        thread.low = machine.stacks.at(first_stack + id);
        thread.value = 0;
        thread.active = false;
        thread.spins = thread.polls = 0;
        thread.spun_at = 0;
        if (thread.met) thread.known = {};
        if (thread.met || thread.near.clock) thread.near = thread.far = {};
        thread.met = false;
        thread.doubted = thread.holds = 0;
        thread.learned.clear();
        prepare(thread.context, thread.low, entry);
    }
    block.warps = order((machine.block_size + LANES - 1) / LANES);
    block.lanes = order(LANES);
}

// Runs the block until all threads have returned, or wait for the grid, or spin.
void run_block() {
    Block& block = machine.block;
    const auto all = [&](auto... states) {
        return std::all_of(block.threads.begin(), block.threads.end(), [&](const Thread& t) { return ((t.state == states) || ...); });
    };
    for (;;) {
        Progress progress;
        for (uint32_t warp : block.warps) progress |= advance(lanes_of(warp), block.lanes);
        if (all(State::Done)) {
            block.finished = true;
            return;
        }
        if (machine.cooperative && all(State::Grid, State::Done)) return;
        // It may wait for another block.
        if (!progress.moved && progress.spinning) return;
        if (all(State::Barrier, State::Done)) {
            release_barrier();
        } else if (!progress.moved && !progress.spinning) {
            stuck();
        }
    }
}

void run_in_turn();

void again_entry() {
    machine.me = nullptr;
    // What was done before is no other thread's doing now.
    machine.grid_clock = machine.clock;
    machine.trial.found = false;
    run_in_turn();
    end_trial();
}

void run_block_again() {
    void* stack = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || machine.same.bytes) _exit(1);
    static Context again, left;
    prepare(again, static_cast<char*>(stack), again_entry);
    swap(left, again);
    _exit(1);
}

// Swaps one block's state in the machine for another's, shared memory included.
void exchange(Block& other) {
    Block& block = machine.block;
    for (Region* region : machine.regions.all) {
        if (region->space != Space::Shared) continue;
        const auto* low = reinterpret_cast<const char*>(region->low);
        block.shared[region] = {{low, low + (region->high - region->low)}, region->cells, region->written};
        const auto found = other.shared.find(region);
        if (found != other.shared.end()) {
            std::memcpy(reinterpret_cast<void*>(region->low), found->second.bytes.data(), found->second.bytes.size());
            region->cells = found->second.cells;
            region->written = found->second.written;
            other.shared.erase(found);
        } else {
            region->watch();
            poisoned(region);
        }
    }
    block.first = machine.block_first;
    block.serial = machine.block_serial;
    block.barrier_clock = machine.barrier_clock;
    std::swap(block, other);
    machine.block_first = block.first;
    machine.block_serial = block.serial;
    machine.barrier_clock = block.barrier_clock;
}

void forget_shared(Block& block) {
    for (auto& [region, held] : block.shared) {
        std::free(held.cells);
        std::free(held.written);
    }
}

// Blocks run one after the other. One that does nothing but wait stands aside while those after it run,
// as many as the device has room for.
void run_in_turn() {
    auto& aside = machine.aside;
    size_t& position = machine.position;
    while (position < machine.numbers.size() || !aside.empty()) {
        if (position < machine.numbers.size() && aside.size() < machine.room) {
            size_t place = 0;
            const auto taken = [&](const auto& other) { return other.second == place; };
            while (std::any_of(aside.begin(), aside.end(), taken)) ++place;
            begin_block(machine.numbers[position], place * machine.block_size);
            run_block();
            ++position;
            if (!machine.block.finished) {
                aside.emplace_back(Block{}, place);
                exchange(aside.back().first);
            }
        }
        for (size_t i = 0; i < aside.size(); ++i) {
            exchange(aside[i].first);
            run_block();
            exchange(aside[i].first);
        }
        std::erase_if(aside, [](auto& waited) {
            if (waited.first.finished) forget_shared(waited.first);
            return waited.first.finished;
        });
    }
}

// All blocks of a cooperative launch are there at once: each runs until it waits for the others.
void run_together(const std::vector<uint32_t>& numbers) {
    std::vector<Block> blocks(numbers.size());
    for (size_t i = 0; i < blocks.size(); ++i) {
        if (i) exchange(blocks[i]);
        begin_block(numbers[i], i * machine.block_size);
        if (i) exchange(blocks[i]);
    }
    // The first is in the machine, and its place holds what was there before.
    const auto with = [&](size_t i, auto&& work) {
        if (i) exchange(blocks[i]);
        work();
        if (i) exchange(blocks[i]);
    };
    for (;;) {
        size_t finished = 0, waiting = 0;
        for (size_t i = 0; i < blocks.size(); ++i) {
            with(i, [&] {
                if (!machine.block.finished) run_block();
                finished += machine.block.finished;
                waiting += !machine.block.finished && std::all_of(machine.block.threads.begin(), machine.block.threads.end(), [](const Thread& t) {
                    return t.state == State::Grid || t.state == State::Done;
                });
            });
        }
        if (finished == blocks.size()) break;
        if (finished + waiting < blocks.size()) continue;
        for (size_t i = 0; i < blocks.size(); ++i) {
            with(i, [&] {
                // Told about a block that waits.
                bool waits = false, together = finished == 0;
                for (const Thread& thread : machine.block.threads) {
                    waits |= thread.state == State::Grid;
                    together &= thread.state == State::Grid && thread.place == machine.block.threads[0].place;
                }
                if (waits && !together) stuck();
                for (Thread& thread : machine.block.threads) {
                    if (waits) thread.state = State::Ready;
                }
                machine.barrier_clock = machine.clock;
            });
        }
        machine.grid_clock = machine.clock;
        machine.launches.back().barriers += blocks.size();
    }
    for (Block& block : blocks) forget_shared(block);
}

}  // namespace
}  // namespace simt
