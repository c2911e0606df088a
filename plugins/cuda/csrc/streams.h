// Streams and events: what orders the work of one stream and another, and what of it a test is told.
#pragma once

#include "messages.h"

namespace simt {
namespace {

// The work that an access belongs to; none if it is older than the first stream of the source's own.
const Work* work_of(uint32_t thread) {
    const auto after = std::upper_bound(machine.order.works.begin(), machine.order.works.end(), thread,
                                        [](uint32_t t, const Work& work) { return t < work.first_thread; });
    return after == machine.order.works.begin() ? nullptr : &*std::prev(after);
}

// The work of another stream that made the access and may still run; `now` is what runs.
const Work* still_running(const Mark& mark, const Work& now) {
    if (!mark.thread || mark.thread >= now.first_thread) return nullptr;
    const Work* work = work_of(mark.thread);
    if (!work || work->stream == now.stream) return nullptr;
    const Done& done = machine.order.done[now.stream];
    const auto found = done.find(work->stream);
    return found != done.end() && found->second >= work->number ? nullptr : work;
}

const char* const STREAMS =
    "\nNothing orders two streams: cudaStreamWaitEvent makes one wait for an event of the other, and"
    " cudaStreamSynchronize the host for all of it.";

// A kernel on one stream touches what work on another may still use.
SIMT_RARE void check_streams(const Region& region, const Cell& cell, uintptr_t address, Kind kind, uint32_t place) {
    const Work& now = machine.order.works.back();
    const auto other = [&](const Mark& mark, const char* deed) {
        const Work* work = still_running(mark, now);
        if (!work) return;
        fault(headline("race between streams") + at(place, myself(), std::string(verb_of(kind)) + " " + region.element_at(address)) +
              (mark.place ? at(mark.place, work->what, std::string("on another stream ") + deed + " it")
                          : "\n  " + work->what + " on another stream " + deed + " it") + STREAMS);
    };
    other(cell.write, "writes");
    other(cell.atomic, "changes");
    if (kind == Kind::Read) return;
    other(cell.read, "reads");
    other(cell.other, "reads");
}

}  // namespace

// The caller's work before and after is on the caller's stream: on another nothing orders it.
void need_stream(const char* what, cudaStream_t stream) {
    const auto name = [](uint64_t number) {
        for (const Stream* own : machine.streams) {
            if (number == reinterpret_cast<uint64_t>(own)) return std::string("a stream of its own, which waits for no other");
        }
        return number ? "stream " + std::to_string(number) : std::string("the default stream");
    };
    const uint64_t found = reinterpret_cast<uint64_t>(stream);
    if (found == machine.wanted.stream) return;
    // The default stream by another of its names: cudaStreamLegacy and cudaStreamPerThread.
    if (machine.wanted.stream == 0 && (found == 1 || found == 2)) return;
    for (const Stream* own : machine.streams) {
        if (found == reinterpret_cast<uint64_t>(own) && own->waits) return;
    }
    fault(std::string("another stream: ") + what + " is on " + name(found) + ", and the caller is on " +
          name(machine.wanted.stream) + "\nNothing orders two streams: it may run before its inputs are there, or after"
          " its result is read. The stream comes in as an argument: <<<blocks, threads, bytes, stream>>>.");
}

namespace {

uint32_t id_of(cudaStream_t stream) {
    for (const Stream* own : machine.streams) {
        if (own == reinterpret_cast<const Stream*>(stream)) return own->id;
    }
    return 0;
}

// Work begins in a stream; with the source's first stream of its own this begins to matter.
void begin_work(cudaStream_t stream, const std::string& what) {
    if (machine.streams.empty() && machine.order.works.empty()) return;
    Streams& order = machine.order;
    const uint32_t id = id_of(stream);
    Done& done = order.done[id];
    merge(done, order.host);
    // The default stream and those that block wait for each other.
    for (const Stream* own : machine.streams) {
        if (!own->blocking || (id && own->id != id)) continue;
        merge(done, order.done[id ? 0 : own->id]);
    }
    const uint32_t number = static_cast<uint32_t>(order.works.size()) + 1;
    order.works.push_back({machine.next_thread, id, number, what});
    done[id] = number;
}

// What the caller's stream does not wait for is still running when it goes on.
void check_joined() {
    Streams& order = machine.order;
    Done& done = order.done[0];
    merge(done, order.host);
    for (const Stream* own : machine.streams) {
        if (own->blocking) merge(done, order.done[own->id]);
    }
    for (const Work& work : order.works) {
        if (!work.stream || done[work.stream] >= work.number || order.done[work.stream].empty()) continue;
        machine.problem = "another stream: no one waits for " + work.what + ", which is on a stream of its own\nThe caller goes on while it may still run." + STREAMS;
        return;
    }
}

}  // namespace
}  // namespace simt

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    const bool blocking = !(flags & cudaStreamNonBlocking) && machine.wanted.stream == 0;
    auto* made = new simt::Stream{++machine.order.last_id, blocking, blocking};
    machine.streams.push_back(made);
    *stream = reinterpret_cast<cudaStream_t>(made);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    auto* own = reinterpret_cast<simt::Stream*>(stream);
    if (std::erase(machine.streams, own) == 0) return cudaErrorInvalidValue;
    // The default stream goes on waiting for what it was given.
    if (own->blocking) simt::merge(machine.order.done[0], machine.order.done[own->id]);
    delete own;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    simt::Done& done = machine.order.done[simt::id_of(stream)];
    for (const simt::Stream* own : machine.streams) {
        if (own->blocking && !simt::id_of(stream)) simt::merge(done, machine.order.done[own->id]);
    }
    simt::merge(machine.order.host, done);
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    for (const auto& [stream, done] : machine.order.done) simt::merge(machine.order.host, done);
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    simt::merge(machine.order.host, machine.order.events[event]);
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    for (simt::Stream* own : machine.streams) {
        if (own == reinterpret_cast<simt::Stream*>(stream)) own->waits |= machine.event_waits[event];
    }
    simt::merge(machine.order.done[simt::id_of(stream)], machine.order.events[event]);
    return cudaSuccess;
}

static double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    machine.events.push_back(new double(0.0));
    *event = reinterpret_cast<cudaEvent_t>(machine.events.back());
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    auto* own = reinterpret_cast<double*>(event);
    if (std::erase(machine.events, own) == 0) return cudaErrorInvalidValue;
    machine.event_waits.erase(event);
    machine.order.events.erase(event);
    delete own;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    *reinterpret_cast<double*>(event) = now();
    bool waits = reinterpret_cast<uint64_t>(stream) == machine.wanted.stream;
    for (const simt::Stream* own : machine.streams) waits |= own == reinterpret_cast<simt::Stream*>(stream) && own->waits;
    machine.event_waits[event] = waits;
    machine.order.events[event] = machine.order.done[simt::id_of(stream)];
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    *milliseconds = static_cast<float>(*reinterpret_cast<double*>(to) - *reinterpret_cast<double*>(from));
    return cudaSuccess;
}
