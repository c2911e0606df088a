// Threads, and the lanes of a warp that wait for each other: shuffles, votes, reductions.
#pragma once

#include "accesses.h"

namespace simt {
namespace {

void wait(State state, const void* pc) {
    Thread& me = *machine.me;
    if (machine.same.bytes) settle();
    if (me.doubted) doubted(me, 0, 0, Kind::Write);
    me.holds = 0;
    me.state = state;
    me.place = place_of(pc);
    swap(me.context, machine.scheduler);
    if (machine.late) overdue(me.place);
}

void entry() {
    machine.run(machine.arguments);
    if (machine.same.bytes) settle();
    if (machine.me->doubted) doubted(*machine.me, 0, 0, Kind::Write);
    machine.me->state = State::Done;
    swap(machine.me->context, machine.scheduler);
    std::abort();
}

const char* name_of(const Thread& thread) {
    switch (thread.operation) {
        case Warp::Call: return thread.waits_in;
        case Warp::Sync: return "__syncwarp";
        case Warp::Index: return "__shfl_sync";
        case Warp::Up: return "__shfl_up_sync";
        case Warp::Down: return "__shfl_down_sync";
        case Warp::Xor: return "__shfl_xor_sync";
        case Warp::Ballot: return "__ballot_sync";
        case Warp::All: return "__all_sync";
        case Warp::Any: return "__any_sync";
        case Warp::Match: return "__match_*_sync";
        case Warp::Active: return "__activemask";
        default: return "__reduce_*_sync";
    }
}

using Lanes = std::array<Thread*, LANES>;

Lanes lanes_of(unsigned warp) {
    Lanes found{};
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (warp * LANES + lane < machine.block_size) found[lane] = &machine.block.threads[warp * LANES + lane];
    }
    return found;
}

// By the course's habit a lane that has returned must not be in a mask.
[[noreturn]] void left_early(const Thread& first, const Thread& left) {
    machine.me = const_cast<Thread*>(&first);
    char mask[16];
    std::snprintf(mask, sizeof mask, "0x%08x", first.mask);
    fault(headline("absent lane") + at(first.place, myself(), std::string("waits in ") + name_of(first) + ", mask " + mask) +
          "\nThe mask names lane " + std::to_string(left.lane()) + ", which has returned. This is stricter than a GPU: since"
          " Volta the lanes that are left do not wait for it.");
}

// The lanes that wait with `first` for each other, or none if one is missing. Lanes that have
// returned count as present.
unsigned gathered(const Lanes& lanes, const Thread& first) {
    unsigned found = 0;
    for (unsigned lane = 0; lane < LANES; ++lane) {
        const Thread* thread = lanes[lane];
        if (!(first.mask >> lane & 1u) || !thread) continue;
        if (thread->state == State::Done) {
            if (machine.strict_masks) left_early(first, *thread);
            continue;
        }
        const bool with = thread->state == State::Warp && thread->operation == first.operation &&
                          thread->mask == first.mask && (first.operation != Warp::Call || thread->made == first.made);
        if (!with) return 0;
        found |= 1u << lane;
    }
    return found;
}

uint64_t folded(const Lanes& lanes, unsigned active, const Thread& first) {
    bool begun = false;
    int64_t all = 0;
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (!(active >> lane & 1u)) continue;
        // Sign extended if signed: then the order of int64_t is that of both.
        int64_t value = static_cast<int64_t>(lanes[lane]->value);
        if (!first.is_signed) value = static_cast<int64_t>(static_cast<uint32_t>(value));
        if (!begun) {
            all = value;
        } else {
            switch (first.reduce) {
                case Reduce::Add: all += value; break;
                case Reduce::Min: all = std::min(all, value); break;
                case Reduce::Max: all = std::max(all, value); break;
                case Reduce::And: all &= value; break;
                case Reduce::Or: all |= value; break;
                case Reduce::Xor: all ^= value; break;
            }
        }
        begun = true;
    }
    return static_cast<uint64_t>(all);
}

uint64_t shuffled(const Lanes& lanes, unsigned active, const Thread& me) {
    const int lane = static_cast<int>(me.lane()), width = me.width;
    const int first = lane / width * width;
    int source = lane;
    switch (me.operation) {
        case Warp::Index: source = first + (me.argument & (width - 1)); break;
        case Warp::Up: source = lane - me.argument; break;
        case Warp::Down: source = lane + me.argument; break;
        default: source = lane ^ me.argument;
    }
    // Past its part of the warp a lane gets its own value; xor may read from parts before it.
    if (source >= first + width || (source < first && me.operation != Warp::Xor)) source = lane;
    if (!(active >> source & 1u)) {
        machine.me = const_cast<Thread*>(&me);
        const Thread* other = lanes[source];
        const char* why = !other ? "The block has no such thread."
                          : other->state == State::Done ? "That lane has returned." : "The mask does not name that lane.";
        fault(headline("absent lane") + at(me.place, myself(), "reads from lane " + std::to_string(source) + " in " + name_of(me)) +
              "\n" + why);
    }
    return lanes[source]->value;
}

unsigned matching(const Lanes& lanes, unsigned active, const Thread& me) {
    unsigned found = 0;
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (active >> lane & 1u && lanes[lane]->value == me.value) found |= 1u << lane;
    }
    return found;
}

void meet(const Lanes& lanes, unsigned active) {
    std::array<uint32_t, LANES> known{};
    Knowledge learned;
    ++machine.clock;
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (!(active >> lane & 1u)) continue;
        for (unsigned other = 0; other < LANES; ++other) known[other] = std::max(known[other], lanes[lane]->known[other]);
        known[lane] = machine.clock;
        for (const Learned& what : lanes[lane]->learned) learn(learned, what);
    }
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (!(active >> lane & 1u)) continue;
        lanes[lane]->known = known;
        lanes[lane]->met = true;
        if (!learned.empty()) lanes[lane]->learned = learned;
    }
}

void finish(const Lanes& lanes, unsigned active, const Thread& first) {
    unsigned ballot = 0;
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (active >> lane & 1u && lanes[lane]->value) ballot |= 1u << lane;
    }
    machine.launches.back().warp_operations += 1;
    if (first.operation == Warp::Sync) meet(lanes, active);
    if (first.operation == Warp::Call && first.made) {
        std::array<void*, LANES> given{};
        for (unsigned lane = 0; lane < LANES; ++lane) {
            if (active >> lane & 1u) given[lane] = lanes[lane]->given;
        }
        first.made(given.data());
    }
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (!(active >> lane & 1u)) continue;
        Thread& thread = *lanes[lane];
        switch (first.operation) {
            case Warp::Sync:
            case Warp::Call: break;
            case Warp::Active: thread.result = active; break;
            case Warp::Match: thread.result = uint64_t{active} << 32 | matching(lanes, active, thread); break;
            case Warp::Ballot: thread.result = ballot; break;
            case Warp::All: thread.result = ballot == active; break;
            case Warp::Any: thread.result = ballot != 0; break;
            case Warp::Reduce: thread.result = folded(lanes, active, first); break;
            default: thread.result = shuffled(lanes, active, thread);
        }
    }
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (active >> lane & 1u) lanes[lane]->state = State::Ready;
    }
}

bool resolve(const Lanes& lanes) {
    for (const Thread* thread : lanes) {
        if (!thread || thread->state != State::Warp || thread->operation == Warp::Active) continue;
        if (const unsigned active = gathered(lanes, *thread)) {
            finish(lanes, active, Thread(*thread));
            return true;
        }
    }
    // Nothing else can go on: the lanes that are active are those that came to the same line.
    for (const Thread* thread : lanes) {
        if (!thread || thread->state != State::Warp || thread->operation != Warp::Active) continue;
        unsigned active = 0;
        for (unsigned lane = 0; lane < LANES; ++lane) {
            const Thread* other = lanes[lane];
            if (other && other->state == State::Warp && other->operation == Warp::Active && other->place == thread->place) {
                active |= 1u << lane;
            }
        }
        finish(lanes, active, Thread(*thread));
        return true;
    }
    return false;
}

}  // namespace

unsigned thread_rank() { return machine.me->id; }

uint64_t warp(Warp operation, unsigned mask, uint64_t value, int argument, int width, Reduce reduce, bool is_signed,
              const void* pc) {
    Thread& me = *machine.me;
    me.operation = operation;
    if (operation != Warp::Active && !(mask >> me.lane() & 1u)) {
        fault(headline("absent lane") + at(place_of(pc), myself(), std::string("calls ") + name_of(me)) +
              "\nThe mask does not name the lane of this thread, " + std::to_string(me.lane()) + ".");
    }
    me.mask = mask;
    me.value = value;
    me.argument = argument;
    me.width = width;
    me.reduce = reduce;
    me.is_signed = is_signed;
    wait(State::Warp, pc);
    return me.result;
}

void warp_call(unsigned mask, void* given, void (*made)(void* const*), const char* what, const void* here) {
    Thread& me = *machine.me;
    me.given = given;
    me.made = made;
    me.waits_in = what;
    warp(Warp::Call, mask, 0, 0, 32, Reduce::Add, false, here);
}

}  // namespace simt
