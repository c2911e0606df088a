// Races: whether two accesses are ordered, and whether a read that is not may be left out.
//
// Whether a read matters is tried: copies of the process go on with other values.
#pragma once

#include "streams.h"

namespace simt {
namespace {

// Ends a copy of the process: sends a digest of what its launch has left.
[[noreturn]] void end_trial() {
    uint64_t digest = 14695981039346656037u;
    const auto add = [&](uint64_t value) { digest = (digest ^ value) * 1099511628211u; };
    for (const Region* region : machine.regions.all) {
        if (region->space != Space::Global || !region->cells) continue;
        const size_t step = size_t{1} << region->shift;
        for (size_t i = 0; region->low + (i + 1) * step <= region->high; ++i) {
            if (region->mode != Mode::InOut && !region->written[i]) continue;
            uint32_t value = 0;
            std::memcpy(&value, reinterpret_cast<const void*>(region->low + i * step), step);
            add(i);
            add(value);
        }
    }
    const bool told = machine.trial.found && write(machine.trial.pipe, &digest, sizeof digest) == sizeof digest;
    _exit(told ? 0 : 1);
}

enum class Use { Unknown, None, Trial };

// Whether all that the launch leaves is the same whatever this read finds. Copies of the process go on
// with other values, and end with their launch; to them the answer is Trial.
SIMT_RARE Use use_of_value(uint32_t place, uintptr_t address, uint32_t writer) {
    if (machine.trial.pipe >= 0) {
        // Elsewhere it would be another fault, about which this copy is not asked.
        if ((place & ~VOLATILE) != machine.trial.place) _exit(1);
        return Use::Trial;
    }
#ifdef __linux__
    if (machine.cooperative || !machine.aside.empty()) return Use::Unknown;
    constexpr int MOST_MS = 1000;
    uint64_t digests[3] = {};
    // As float these are large, as large below zero, and no number.
    constexpr int fillers[3] = {0x7f, 0xfe, 0xff};
    for (unsigned i = 0; i < 3; ++i) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC)) return Use::Unknown;
        const pid_t copy = fork();
        if (copy == 0) {
            machine.trial = {ends[1], fillers[i], place & ~VOLATILE, writer, address};
            const int nowhere = open("/dev/null", O_WRONLY);
            if (nowhere >= 0) dup2(nowhere, 1);
            return Use::Trial;
        }
        close(ends[1]);
        pollfd waits{ends[0], POLLIN, 0};
        const bool told = copy > 0 && poll(&waits, 1, MOST_MS) == 1 && read(ends[0], &digests[i], sizeof digests[i]) == sizeof digests[i];
        close(ends[0]);
        if (copy > 0) {
            if (!told) kill(copy, SIGKILL);
            while (waitpid(copy, nullptr, 0) < 0 && errno == EINTR) continue;
        }
        if (!told || digests[i] != digests[0]) return Use::Unknown;
    }
    return Use::None;
#else
    return Use::Unknown;
#endif
}

const char* const USELESS = "\nNothing that the kernel leaves depends on the value: the read can be left out.";

bool same_block(const Mark& mark) { return mark.thread - machine.block_first < machine.block_size; }
bool same_warp(const Mark& mark) {
    return same_block(mark) && (mark.thread - machine.block_first) / LANES == machine.me->id / LANES;
}

// Whether the thread has learned of the access by an atomic operation, or by a barrier object.
SIMT_RARE bool handed_over(const Mark& mark, const Thread& me, bool same) {
    if (machine.chains.empty()) return false;
    const uint32_t block = (mark.thread - machine.launch_first) / machine.block_size;
    const uint32_t id = (mark.thread - machine.launch_first) % machine.block_size;
    return machine.chains.covers(me.learned, mark, block, id, same) ||
           machine.chains.covers(machine.block.learned, mark, block, id, same);
}

bool ordered(const Mark& mark, const Thread& me, Space space) {
    if (mark.thread < machine.launch_first || mark.clock <= machine.grid_clock) return true;
    if (!same_block(mark)) return space == Space::Shared || handed_over(mark, me, false);
    const uint32_t id = mark.thread - machine.block_first;
    if (id == me.id || mark.clock <= machine.barrier_clock) return true;
    if (id / LANES == me.id / LANES && (me.known[id % LANES] >= mark.clock || mark.lanes >> me.lane() & 1u)) return true;
    return handed_over(mark, me, true);
}

// Shared memory is another variable in each block.
uint64_t chain_of(const void* address, Space space) {
    return reinterpret_cast<uint64_t>(address) ^ (space == Space::Shared ? uint64_t{machine.block_serial} << 47 : 0);
}

SIMT_RARE void publish(uint64_t place, const Thread& me, const Fence& near, const Fence& far) {
    const uint32_t thread = machine.block_first + me.id, now = machine.clock;
    const uint32_t block = (machine.block_first - machine.launch_first) / machine.block_size;
    machine.chains.publish(place, thread, {now, near.clock, far.clock});
    if (near.barrier) machine.chains.publish_block(place, block, {now, near.barrier, far.barrier});
    if (me.met) {
        for (unsigned lane = 0; lane < LANES; ++lane) {
            if (near.known[lane] > near.barrier) {
                machine.chains.publish(place, thread - me.lane() + lane, {now, near.known[lane], far.known[lane]});
            }
        }
    }
    machine.chains.publish(place, now, me.learned);
    machine.chains.publish(place, now, machine.block.learned);
    if (machine.block.fences) machine.chains.publish_fences(place, block, now, machine.block.fences);
}

// What the thread that wrote an element has done with it where this one reads it: nothing; read it there and
// written it elsewhere, as a tile that is filled again; read and written it in one statement, `count += 1`.
enum class Change { None, Elsewhere, Here };

[[noreturn]] SIMT_RARE void race(const Region& region, uintptr_t address, const Mark& mark, const char* before,
                       const char* now, uint32_t place, Change change = Change::None, bool useless = false) {
    std::string found = headline("race") + at(place, myself(), std::string(now) + " " + region.element_at(address)) +
                        at(mark.place, who(mark), std::string(before) + " it");
    if (change == Change::Here) {
        found += std::string(same_block(mark) ? "" : "\nNothing orders two blocks of one launch.") +
                 "\nEach reads it, changes it and writes it back, so what one adds is lost. A barrier does not help:"
                 " an atomic operation (atomicAdd for a sum) does all three as one step.";
        fault(found);
    }
    if (!same_block(mark)) {
        found += "\nNothing orders two blocks of one launch";
    } else if (same_warp(mark)) {
        found += "\nNo __syncthreads() or __syncwarp() stands between the two";
    } else {
        found += "\nNo __syncthreads() stands between the two";
    }
    found += ": either may come first.";
    if (change == Change::Elsewhere) found += " If each adds to it, use an atomic operation.";
    fault(found + (useless ? USELESS : ""));
}

// The store that was to be looked at has been made.
SIMT_RARE void settle() {
    Same& same = machine.same;
    const unsigned bytes = std::exchange(same.bytes, 0);
    if (std::exchange(same.restore, false)) {
        std::memcpy(reinterpret_cast<void*>(same.address), same.value, bytes);
        return;
    }
    if (std::memcmp(reinterpret_cast<const void*>(same.address), same.value, bytes) == 0) return;
    race(*same.region, same.address, same.mark, "writes", "writes", same.place);
}

// Whether lanes of one warp store, each to the same place: the value decides.
SIMT_RARE bool perhaps_same(const Mark& mark, Region& region, uintptr_t address, uint32_t place) {
    if (!same_warp(mark)) return false;
    Same& same = machine.same;
    if (!same.bytes) same = {.address = address, .value = {}, .region = &region, .mark = mark, .place = place};
    const unsigned step = 1u << region.shift;
    if (address + step - same.address > sizeof same.value) return false;
    std::memcpy(same.value + (address - same.address), reinterpret_cast<const void*>(address), step);
    same.bytes = static_cast<unsigned>(address + step - same.address);
    return true;
}

// In a trial: the next load finds another value, and what was there is back at the access after it.
SIMT_RARE void replace(const Region& region, uintptr_t address) {
    Same& same = machine.same;
    const unsigned step = 1u << region.shift;
    if (same.bytes && address - same.address < same.bytes) return;
    if (!same.bytes) same = {.restore = true, .address = address, .value = {}, .mark = {}};
    if (address + step - same.address > sizeof same.value) _exit(1);
    std::memcpy(same.value + (address - same.address), reinterpret_cast<const void*>(address), step);
    std::memset(reinterpret_cast<void*>(address), machine.trial.filler, step);
    machine.trial.found = true;
    same.bytes = static_cast<unsigned>(address + step - same.address);
}

// Whether the thread, or its block by a barrier, has looked at the variable since it was stored to.
SIMT_RARE bool seen(const Mark& write, const Thread& me, const Region& region, uintptr_t address) {
    const uint64_t place = chain_of(reinterpret_cast<const void*>(address), region.space);
    const auto since = [&](const Learned& what) { return what.place == place && what.time >= write.clock; };
    return std::any_of(me.learned.begin(), me.learned.end(), since) ||
           std::any_of(machine.block.learned.begin(), machine.block.learned.end(), since);
}

// Runs the block again, with another value for the read that came before the write: what else it finds in
// memory is the same in all copies.
void run_block_again();

void check_order(Region& region, uintptr_t address, Kind kind, uint32_t place) {
    Thread& me = *machine.me;
    Cell& cell = region.cells[(address - region.low) >> region.shift];
    Mark now{machine.block_first + me.id, 0, ++machine.clock, place};
    if (!machine.order.works.empty()) [[unlikely]] check_streams(region, cell, address, kind, place);
    const auto unordered = [&](const Mark& mark) { return mark.thread && !ordered(mark, me, region.space); };
    // The other thread has read the element where this one does, and then written it.
    const auto read_here = [&](const Mark& read) { return read.thread == cell.write.thread && read.place == place; };
    const auto change = [&] {
        if (kind != Kind::Read || !(read_here(cell.read) || read_here(cell.other))) return Change::None;
        return same_statement(cell.write.place & ~VOLATILE, place & ~VOLATILE) ? Change::Here : Change::Elsewhere;
    };
    // A load of a volatile variable that another warp stores to is no race, nor is an atomic operation
    // on it: so threads wait for each other. Two stores are, for what one adds the other loses, unless
    // one thread has seen what the other stored after a fence.
    const bool waits = place & VOLATILE || kind == Kind::Atomic;
    const auto handed = [&](const Mark& mark) { return waits && mark.place & VOLATILE && !same_warp(mark); };
    if (unordered(cell.write) && !(handed(cell.write) && (kind != Kind::Write || seen(cell.write, me, region, address)))) {
        if (kind != Kind::Write || !perhaps_same(cell.write, region, address, place)) {
            const Use use = kind == Kind::Read ? use_of_value(place, address, cell.write.thread) : Use::Unknown;
            if (use != Use::Trial) race(region, address, cell.write, "writes", verb_of(kind), place, use == Use::None ? Change::None : change(), use == Use::None);
            replace(region, address);
            return;
        }
        now.lanes = cell.write.lanes | 1u << (cell.write.thread - machine.block_first) % LANES | 1u << me.lane();
    }
    if (kind != Kind::Atomic && unordered(cell.atomic) && !(waits && !same_warp(cell.atomic))) {
        if (kind == Kind::Read && me.doubted < MOST_DOUBTS) {
            Doubt& doubt = me.doubts[me.doubted++];
            doubt = {&region, address, {}, cell.atomic, place};
            std::memcpy(doubt.value, reinterpret_cast<const void*>(address), size_t{1} << region.shift);
            me.loads = 0;
            return;
        }
        race(region, address, cell.atomic, verb_of(Kind::Atomic), verb_of(kind), place);
    }
    if (kind == Kind::Read) {
        if (cell.read.thread == now.thread || !unordered(cell.read)) {
            cell.read = now;
        } else {
            cell.other = now;
        }
        return;
    }
    for (const Mark* read : {&cell.read, &cell.other}) {
        if (!unordered(*read) || handed(*read)) continue;
        const Use use = kind == Kind::Write ? use_of_value(read->place, address, now.thread) : Use::Unknown;
        if (use != Use::Trial) race(region, address, *read, "reads", verb_of(kind), place, Change::None, use == Use::None);
        if (!machine.trial.found) run_block_again();
    }
    // An atomic operation does not hide the write before it from the blocks that follow.
    if (kind == Kind::Write) cell = {.write = now, .atomic = {}, .read = cell.read, .other = cell.other};
    if (kind == Kind::Atomic) cell.atomic = now;
}

}  // namespace
}  // namespace simt
