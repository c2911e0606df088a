// What each load, store and atomic operation of a kernel goes through.
#pragma once

#include "bounds.h"

namespace simt {
namespace {

uint32_t stamp_of(const Region& region) { return region.space == Space::Shared ? machine.block_serial : 1; }

// Whether memory holds another value than it had before anyone stored to it. What a function returns in a
// structure g++ stores without a call of the sanitizer.
bool stored_unseen(const Region& region, uintptr_t address) {
#ifdef __clang__
    static_cast<void>(region), static_cast<void>(address);
    return false;
#else
    const size_t step = size_t{1} << region.shift;
    constexpr unsigned char poison[4] = {0xff, 0xff, 0xff, 0xff};
    const void* before = poison;
    if (region.mode != Mode::Scratch) {
        if (region.before.size() < address - region.low + step) return false;
        before = region.before.data() + (address - region.low);
    }
    return std::memcmp(reinterpret_cast<const void*>(address), before, step) != 0;
#endif
}

// Returns only in a trial.
SIMT_RARE void unwritten_read(const Region& region, uintptr_t address, Kind kind, uint32_t place) {
    const Use use = kind == Kind::Read ? use_of_value(place, address, 0) : Use::Unknown;
    if (use == Use::Trial) {
        std::memset(reinterpret_cast<void*>(address), machine.trial.filler, size_t{1} << region.shift);
        machine.trial.found = true;
        return;
    }
    fault(headline("uninitialised read") + at(place, myself(), "reads " + region.element_at(address)) +
          (region.space == Space::Shared ? "\nNo thread of this block has written it, or not before a __syncthreads()."
                                         : "\nIt was never written: it holds whatever was there before.") +
          (use == Use::None ? USELESS : ""));
}

// In a trial: lets the read that it is about find another value.
SIMT_RARE void try_read(uintptr_t address, unsigned bytes, Kind kind, uint32_t place) {
    const Trial& trial = machine.trial;
    if (kind != Kind::Read || place != trial.place || trial.address - address >= bytes) return;
    if (!trial.writer || machine.block_first + machine.me->id == trial.writer) return;
    const Region* region = machine.regions.find(trial.address);
    if (region && region->cells && region->written[(trial.address - region->low) >> region->shift] == stamp_of(*region)) replace(*region, trial.address);
}

// A thread has read what others change: is it for a comparison? Then no one needs to wait for the load.
SIMT_RARE void doubted(Thread& me, uintptr_t address, unsigned bytes, Kind kind) {
    constexpr uint32_t MOST_LOADS = 16;
    if (kind == Kind::Read && ++me.loads < MOST_LOADS) return;
    auto* const end = me.doubts.begin() + me.doubted;
    const auto here = [&](const Doubt& doubt) { return doubt.address - address < bytes; };
    const auto compared = [&](const Doubt& doubt) {
        return here(doubt) &&
               std::memcmp(static_cast<const char*>(machine.compare) + (doubt.address - address), doubt.value, size_t{1} << doubt.region->shift) == 0;
    };
    if (machine.compare) {
        auto* const left = std::remove_if(me.doubts.begin(), end, compared);
        me.doubted = static_cast<uint32_t>(left - me.doubts.begin());
        if (std::none_of(me.doubts.begin(), left, here)) return;
    }
    const Doubt doubt = me.doubts[0];
    race(*doubt.region, doubt.address, doubt.mark, verb_of(Kind::Atomic), verb_of(Kind::Read), doubt.place);
}

// The thread compares, and need not have read the same before.
SIMT_RARE void forget_reads(const Thread& me, uintptr_t address, unsigned bytes) {
    const Region* region = machine.regions.find(address);
    if (!region || !region->cells || address + bytes > region->high) return;
    for (uintptr_t part = address; part < address + bytes; part += uintptr_t{1} << region->shift) {
        Cell& cell = region->cells[(part - region->low) >> region->shift];
        const size_t step = size_t{1} << region->shift;
        if (std::memcmp(reinterpret_cast<const void*>(part), static_cast<const char*>(machine.compare) + (part - address), step) != 0) continue;
        for (Mark* read : {&cell.read, &cell.other}) {
            if (read->thread == machine.block_first + me.id) *read = {};
        }
    }
}

[[noreturn]] void overdue(uint32_t place) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", machine.seconds);
    fault(headline("endless") + at(place, myself(), std::string("is here after ") + seconds + " s of processor time"));
}

// Whether the thread repeats an operation that finds the same value again: it waits for others. A loop
// that looks at several variables is known by how long it does nothing else.
SIMT_RARE bool repeated(Thread& me, uintptr_t address, unsigned bytes, uint32_t place) {
    if (bytes > 8 || !machine.regions.find(address)) return false;
    constexpr uint32_t MOST_POLLS = 64;
    if (++me.polls % MOST_POLLS == 0) return true;
    uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(address), bytes);
    const bool again = me.spun_at == address && me.spun_place == place && me.spun_value == value;
    me.spun_at = address;
    me.spun_place = place;
    me.spun_value = value;
    me.spins = again ? me.spins + 1 : 0;
    return me.spins >= 2;
}

[[noreturn]] SIMT_RARE void in_flight(const Region& region, uintptr_t address, Kind kind, uint32_t place) {
    std::string found = headline("read before the wait") + at(place, myself(), std::string(verb_of(kind)) + " " + region.element_at(address));
    for (const Copy& copy : machine.block.copies) {
        if (address - reinterpret_cast<uintptr_t>(copy.to) >= copy.bytes + copy.zeros) continue;
        found += at(place_of(copy.pc), "thread " + text(copy.thread->index), "copies to it");
        break;
    }
    fault(found + "\nThe copy runs on its own until it is waited for; other threads also need a barrier after the wait.");
}

// Whether a thread need not access the memory, since its register holds the value: the same statement has
// read or stored it before, and this is not its next turn in a loop. Compilers differ in what they make of
// `x[i] + x[i]` and of the value of `y[i] = x`, and of a structure that is made where it is to be.
bool held(Thread& me, const Region& region, uintptr_t low, uintptr_t high, Kind kind, uint32_t place) {
    const bool wide = region.wide || region.wide_launch == machine.attempts;
    const uintptr_t start = low, end = high;
    if (wide) low &= ~uintptr_t{7}, high = (high + 7) & ~uintptr_t{7};
    const uint32_t key = place << 1 | (kind == Kind::Write);
    const Held* found = nullptr;
    for (uint32_t i = 0; i < me.holds; ++i) {
        const Held& one = me.held[i];
        if (one.key == key) {
            me.holds = i;
            break;
        }
        if (low < one.low || high > one.high || (kind == Kind::Write && !(one.key & 1))) continue;
        if (!found && same_statement(one.key >> 1, place)) found = &one;
    }
    if (found && found < me.held.data() + me.holds) {
        // Parts of what is copied at once elsewhere.
        if (wide && found->high - found->low == 8) machine.counter.widen(me.lane(), found->batch, found->number, start, end);
        return true;
    }
    if (me.holds == MOST_HELD) me.holds = 0;
    me.held[me.holds++] = {key, machine.counter.batch(), machine.counter.next(me.lane()), low, high};
    return false;
}

// Whether an access is counted: it is asked here, or the one who calls has asked.
enum class Tally : uint8_t { Ask, Yes, No };

template <bool is_volatile = false>
void touch(uintptr_t address, unsigned bytes, Kind kind, const void* pc, Tally tally = Tally::Ask) {
    Thread* me = machine.me;
    if (!me) {
        if (!machine.on_host || address - reinterpret_cast<uintptr_t>(machine.host_low) < HOST_STACK * STACK) return;
        const Region* region = machine.regions.find(address);
        if (region && region->space == Space::Global && !region->managed) {
            fault("host code touches device memory" + at(place_of(pc), "the host", std::string(verb_of(kind)) + " " + region->element_at(address)) +
                  "\nOnly kernels, cudaMemcpy and cudaMemset may.");
        }
        return;
    }
    if (address - reinterpret_cast<uintptr_t>(me->low) < STACK) return;
    if (address - reinterpret_cast<uintptr_t>(__start_simt_index) < static_cast<size_t>(__stop_simt_index - __start_simt_index)) return;
    if (machine.same.bytes) [[unlikely]] settle();
    if (me->doubted) [[unlikely]] doubted(*me, address, bytes, kind);
    const uint32_t place = place_of(pc);
    if (machine.trial.pipe >= 0) [[unlikely]] try_read(address, bytes, kind, place);
    if (machine.late) overdue(place);
    if (kind == Kind::Write) me->polls = 0;
    if ((kind == Kind::Atomic || (is_volatile && kind == Kind::Read)) && repeated(*me, address, bytes, place)) {
        me->state = State::Spin;
        swap(me->context, machine.scheduler);
        if (machine.late) overdue(place);
    }
    const char* verb = verb_of(kind);
    Region* region = machine.regions.find(address);
    if (!region) {
        // Constants of the source, and __constant__ variables, are not watched.
        if (address - image_low < image_high - image_low && !among_variables(address)) {
            if (kind == Kind::Read) return;
            fault(headline("a variable of the source is changed") + at(place, myself(), std::string(verb) + " it") +
                  "\nKernels may change __device__ variables, and what they are given.");
        }
        outside(address, bytes, kind, place, pc);
    }
    if (region->space == Space::Arguments) return;
    if (address + bytes > region->high) outside(region->high, bytes, kind, place, pc, region);
    if (machine.probe.pipe >= 0 && place == machine.probe.place && kind == machine.probe.kind) [[unlikely]] answer(*region);
    Site::Last& last = site_of(place).of(kind);
    if (last.launch != machine.serial || last.region != region->id) {
        last.others = last.launch == machine.serial;
        last.launch = machine.serial;
        last.region = region->id & 0x7fffffffu;
    }
    if (address % bytes) {
        const std::string size = std::to_string(bytes) + " bytes";
        fault(headline("misaligned access") + at(place, myself(), std::string(verb) + " " + size + " at " + region->element_at(address)) +
              "\nThe address is no multiple of " + size + ".");
    }
    if (region->mode == Mode::In && kind != Kind::Read) {
        if (region->variable) {
            fault(headline("a variable of the source is changed") + at(place, myself(), std::string(verb) + " " + region->element_at(address)) +
                  "\n" + region->name + " is a __constant__ variable: only the host writes it, by cudaMemcpyToSymbol.");
        }
        fault(headline("input changed") + at(place, myself(), std::string(verb) + " " + region->element_at(address)) +
              "\n" + region->name + " is an input.");
    }
    if (region->cells) {
        for (uintptr_t part = address; part < address + bytes; part += size_t{1} << region->shift) {
            uint32_t& written = region->written[(part - region->low) >> region->shift];
            if (kind != Kind::Write && region->mode != Mode::InOut && written != stamp_of(*region)) {
                if (written == IN_FLIGHT) in_flight(*region, part, kind, place);
                if (!stored_unseen(*region, part)) unwritten_read(*region, part, kind, place);
            }
            if (written == IN_FLIGHT) [[unlikely]] in_flight(*region, part, kind, place);
            check_order(*region, part, kind, is_volatile ? place | VOLATILE : place);
            if (kind != Kind::Read) written = stamp_of(*region);
        }
    }
    if ((kind == Kind::Atomic || is_volatile) && (me->near.clock || machine.block.fences || !machine.chains.empty())) {
        const uint64_t chain = chain_of(reinterpret_cast<const void*>(address), region->space);
        if (kind != Kind::Write && machine.chains.has(chain)) learn(me->learned, {chain, machine.clock});
        if (kind != Kind::Read && (me->near.clock || machine.block.fences)) publish(chain, *me, me->near, me->far);
    }
    if (region->space == Space::Global) {
        Launch& launch = machine.launches.back();
        launch.active_threads += !std::exchange(me->active, true);
        if (kind != Kind::Read) launch.storing_blocks += !std::exchange(machine.block.stored, true);
    }
    if (kind == Kind::Atomic) me->holds = 0;
    if (!is_volatile && kind != Kind::Atomic && tally == Tally::Ask && held(*me, *region, address, address + bytes, kind, place)) return;
    if (tally == Tally::No) return;
    const Access access{address, place, static_cast<uint8_t>(bytes), kind, region->space};
    if (machine.counter.log(me->lane(), access) && machine.trial.pipe < 0) swap(me->context, machine.scheduler);
}

}  // namespace

void access(const void* address, unsigned bytes, Kind kind, const void* here) {
    machine.called = here;
    touch(reinterpret_cast<uintptr_t>(address), bytes, kind, here);
}

void access_compare(const void* address, unsigned bytes, const void* compare, const void* here) {
    machine.compare = compare;
    machine.called = here;
    const auto low = reinterpret_cast<uintptr_t>(address);
    Thread* me = machine.me;
    if (!me) return touch(low, bytes, Kind::Atomic, here);
    if (me->doubted) doubted(*me, low, bytes, Kind::Atomic);
    forget_reads(*me, low, bytes);
    machine.compare = nullptr;
    const uint32_t left = std::exchange(me->doubted, 0);
    touch(low, bytes, Kind::Atomic, here);
    me->doubted = left;
}

void begin_value(const void* address, unsigned bytes) {
    const auto low = reinterpret_cast<uintptr_t>(address);
    const Region* region = machine.regions.find(low);
    if (!region || !region->cells || low + bytes > region->high) return;
    for (uintptr_t part = low; part < low + bytes; part += size_t{1} << region->shift) {
        uint32_t& written = region->written[(part - region->low) >> region->shift];
        if (written != IN_FLIGHT) written = stamp_of(*region);
    }
}

void widen(const void* address) {
    if (Region* region = machine.regions.find(reinterpret_cast<uintptr_t>(address))) region->wide_launch = machine.attempts + 1;
}

}  // namespace simt
