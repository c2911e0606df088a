// Runs the kernels of a .cu file on the CPU, block by block, thread by thread from one barrier
// to the next, and reports what a GPU does not: reads of memory that was never written, races
// between threads, and threads that wait for each other. plugins/cuda/source.py writes the
// calls of what is exported here.
//
// Two accesses are ordered if one thread makes both, if a __syncthreads() of the block, a
// __syncwarp() of both lanes or another barrier of both threads is between them, or if one thread
// made a fence and then an atomic operation on a variable on which the other made one later. What
// a thread knows of others by a barrier, its fence hands on, as PTX's causality order does. For
// volatile variables PTX has the same rule: a thread may wait until another has written one.
// All others race, whatever the values; only lanes of one warp may store the same one.
//
// This file has what the operator around a kernel calls, and what is checked at the end of a run. The parts are
// headers, in one translation unit: every access goes through several, which the compiler makes one function of.

#include "alarm.h"
#include "copies.h"
#include "launching.h"
#include "runtime.h"
#include "tsan.h"

namespace simt {
namespace {

void host_entry() {
    machine.on_host = true;
    try {
        machine.status = machine.thunk(machine.closure);
    } catch (...) {
        fault("host code threw a C++ exception");
    }
    machine.on_host = false;
    swap(machine.host, machine.base);
    std::abort();
}

// Memory that the host code has allocated and not freed.
void check_freed() {
    for (const Region* region : machine.regions.all) {
        if (region->space != Space::Global || region->mode != Mode::Scratch) continue;
        machine.problem = "device memory is not freed: " + region->size_text() + " of what cudaMalloc or cudaMallocAsync returned";
        return;
    }
}

void check_outputs() {
    for (const Region* region : machine.regions.all) {
        if (region->space != Space::Global || region->mode != Mode::Out) continue;
        const size_t count = (region->high - region->low) >> region->shift;
        size_t missing = 0, first = 0;
        for (size_t i = 0; i < count; ++i) {
            if (region->written[i] || stored_unseen(*region, region->low + (i << region->shift))) continue;
            if (!missing++) first = i;
        }
        if (!missing) continue;
        const size_t parts = std::max(1u, region->element >> region->shift);
        machine.problem = "output not written: " + std::to_string((missing + parts - 1) / parts) + " of the " +
                          std::to_string((region->high - region->low) / region->element) + " elements of " + region->name +
                          ", the first is " + region->element_at(region->low + (first << region->shift));
        if (machine.launches.empty()) machine.problem += "\nNo kernel was launched.";
        for (const Launch& launch : machine.launches) {
            machine.problem += "\nlaunched: " + launch.kernel + "<<<" + text(launch.grid) + ", " + text(launch.block) + ">>>";
        }
        return;
    }
}

}  // namespace
}  // namespace simt

// Begins a run: no other may run until `kata_simt_end`. `addr2line` is a program or empty.
extern "C" void kata_simt_begin(uint64_t seed, double seconds, const char* addr2line) {
    machine.mutex.lock();
    if (!simt::image_low) dl_iterate_phdr(simt::find_image, reinterpret_cast<void*>(&simt::tick));
    machine.random.seed(seed);
    machine.mode = machine.wanted.order < 0 ? static_cast<unsigned>(seed % 3) : static_cast<unsigned>(machine.wanted.order);
    machine.attempts = 0;
    machine.refused = false;
    machine.seconds = seconds;
    machine.addr2line = addr2line;
    machine.problem.clear();
    machine.pending.clear();
    machine.error = cudaSuccess;
    machine.launches.clear();
    machine.counter.take();
    machine.next_thread = 1;
    machine.clock = 0;
    machine.runs += 1;
    machine.same.bytes = 0;
    machine.compare = nullptr;
    machine.cooperative = false;
    const int rules = machine.asked < 0 ? machine.habit : machine.asked;
    machine.strict = rules & 1;
    machine.strict_masks = rules & 2;
    for (simt::Stream* own : std::exchange(machine.streams, {})) delete own;
    for (double* own : std::exchange(machine.events, {})) delete own;
    machine.event_waits.clear();
    machine.order = {};
    machine.chains.clear();
    machine.block = {};
    for (auto& waited : std::exchange(machine.aside, {})) simt::forget_shared(waited.first);
    simt::restore_variables();
    machine.shared_used = 0;
    machine.dynamic = nullptr;
    machine.dynamic_limit = simt::MOST_SHARED;
}

// Says what the runs from now on are like, see `Wanted`.
extern "C" void kata_simt_set(uint64_t stream, int processors, unsigned most_threads, int order, unsigned refused, unsigned grid,
                              unsigned block) {
    machine.wanted = {stream, processors, most_threads, order, refused, grid, block};
}

// What is stricter than on a GPU since Volta in the runs from now on: 1 if barriers want all threads
// of a block, 2 if a mask may name no lane that has returned. A test asks by the first function, and
// -1 is back to the habit, which the course sets to 1 for its operators.
extern "C" void kata_simt_strict(int what) { machine.asked = what; }
extern "C" void kata_simt_habit(int what) { machine.habit = what; }

// The stream of the caller, for the operator to hand on.
extern "C" void* kata_simt_stream() { return reinterpret_cast<void*>(machine.wanted.stream); }

// Gives kernels a buffer; mode is 0 for an input, 1 for an output, 2 for both.
extern "C" void kata_simt_buffer(const void* pointer, size_t bytes, unsigned element, int mode, const char* name) {
    simt::Region region;
    region.low = reinterpret_cast<uintptr_t>(pointer);
    region.high = region.low + bytes;
    region.mode = static_cast<simt::Mode>(mode);
    region.name = name;
    region.element = element;
    if (region.mode != simt::Mode::In) region.watch();
#ifndef __clang__
    if (region.mode == simt::Mode::Out) region.before.assign(static_cast<const char*>(pointer), static_cast<const char*>(pointer) + bytes);
#endif
    machine.regions.add(std::move(region));
}

// Runs host code that launches kernels; returns what is wrong, or an empty text.
extern "C" const char* kata_simt_run(int (*thunk)(void*), void* closure, int* status) {
    static char* host_stack = nullptr;
    if (!host_stack) {
        void* found = mmap(nullptr, simt::HOST_STACK * simt::STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (found == MAP_FAILED) std::abort();
        host_stack = static_cast<char*>(found);
    }
    machine.host_low = host_stack;
    machine.thunk = thunk;
    machine.closure = closure;
    machine.status = 0;
    simt::prepare(machine.host, host_stack + (simt::HOST_STACK - 1) * simt::STACK, simt::host_entry);
    {
        simt::Alarm alarm;
        simt::swap(machine.base, machine.host);
    }
    *status = machine.status;
    if (machine.problem.empty() && machine.refused) {
        if (machine.status == 0) {
            machine.problem = "not reported: the host code returned cudaSuccess, but a launch failed\n" + machine.pending +
                              "\nA launch that fails raises nothing, and the caller takes for a result what was in memory before."
                              " cudaGetLastError() has the error.";
        } else if (machine.error != cudaSuccess) {
            machine.problem = "an error is left behind: the next call that asks for one finds it\n" + machine.pending +
                              "\ncudaGetLastError() takes the error away; cudaPeekAtLastError() does not.";
        } else if (machine.status == cudaErrorLaunchOutOfResources) {
            machine.problem = machine.pending;
        }
    }
    if (machine.problem.empty() && machine.error != cudaSuccess) {
        machine.problem = machine.pending.empty() ? cudaGetErrorString(machine.error) : machine.pending;
    }
    if (machine.problem.empty() && machine.status == 0) simt::check_outputs();
    if (machine.problem.empty() && machine.status == 0) simt::check_freed();
    if (machine.problem.empty() && machine.status == 0) simt::check_joined();
    // The refused launch behind an error that the host code returned.
    if (machine.problem.empty() && machine.status == cudaErrorInvalidConfiguration) machine.problem = machine.pending;
    // A launch that ended early has left its logs.
    for (unsigned lane = 0; lane < simt::LANES; ++lane) machine.counter.begin(lane);
    machine.problem = simt::resolved(machine.problem);
    return machine.problem.c_str();
}

static std::string joined(const std::vector<uint64_t>& numbers) {
    std::string found;
    for (uint64_t number : numbers) found += (found.empty() ? "[" : ",") + std::to_string(number);
    return found + "]";
}

static std::string quoted(const std::set<std::string>& names) {
    std::string found;
    for (const auto& name : names) found += (found.empty() ? "\"" : ",\"") + name + "\"";
    return "[" + found + "]";
}

// Returns the launches of the last run as JSON; a line of the source is a list of numbers.
extern "C" const char* kata_simt_counts() {
    std::string launches;
    for (const auto& launch : machine.launches) {
        std::string lines;
        for (const auto& [key, count] : launch.lines) {
            lines += (lines.empty() ? "" : ",") +
                     joined({key.place, static_cast<uint64_t>(key.space), static_cast<uint64_t>(key.kind), count.accesses,
                             count.requests, count.sectors, count.wavefronts, count.excess, count.partial});
        }
        launches += (launches.empty() ? "{\"kernel\":\"" : ",{\"kernel\":\"") + launch.kernel +
                    "\",\"grid\":" + joined({launch.grid.x, launch.grid.y, launch.grid.z}) +
                    ",\"block\":" + joined({launch.block.x, launch.block.y, launch.block.z}) +
                    ",\"stream\":" + std::to_string(launch.stream) +
                    ",\"dynamic_bytes\":" + std::to_string(launch.dynamic_bytes) +
                    ",\"static_bytes\":" + std::to_string(launch.static_bytes) + ",\"variables\":" + quoted(launch.variables) +
                    ",\"barriers\":" + std::to_string(launch.barriers) +
                    ",\"warp_operations\":" + std::to_string(launch.warp_operations) +
                    ",\"active_threads\":" + std::to_string(launch.active_threads) +
                    ",\"storing_blocks\":" + std::to_string(launch.storing_blocks) + ",\"lines\":[" + lines + "]}";
    }
    machine.counts_text = "[" + launches + "]";
    return machine.counts_text.c_str();
}

extern "C" void kata_simt_end() {
    machine.regions.clear();
    machine.mutex.unlock();
}
