// Launches of kernels: what is refused, and how one runs.
#pragma once

#include "variables.h"

namespace simt {
namespace {

std::string limits(const Config& config) {
    const dim3 &grid = config.grid, &block = config.block;
    const uint64_t threads = uint64_t{block.x} * block.y * block.z;
    if (!threads) return "The block has no threads";
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return "The grid has no blocks";
    if (threads > machine.wanted.most_threads) {
        return "The block has " + std::to_string(threads) + " threads; " + std::to_string(machine.wanted.most_threads) + " are possible";
    }
    if (block.z > MOST_Z) return "The block has " + std::to_string(block.z) + " threads along z; 64 are possible";
    if (grid.x > INT_MAX || grid.y > MOST_GRID_YZ || grid.z > MOST_GRID_YZ) {
        return "The grid has " + text(grid) + " blocks; (2147483647,65535,65535) are possible";
    }
    if (config.shared > machine.dynamic_limit) {
        return std::to_string(config.shared) + " bytes of dynamic shared memory; " + std::to_string(machine.dynamic_limit) +
               " are possible";
    }
    return "";
}

// Shared variables at file scope count for every kernel that the source has, as nvcc would count
// those only that a kernel uses.
void place_file_shared(Launch& launch) {
    for (const Watched& variable : variables()) {
        if (variable.where != Where::Shared) continue;
        Region region = file_region(variable.address, variable.about.bytes, variable.about);
        region.space = Space::Shared;
        region.mode = Mode::Scratch;
        region.watch();
        machine.file_shared.push_back(machine.regions.add(std::move(region)));
        launch.variables.insert(variable.about.name);
    }
    if (file_dynamic_name && machine.config.shared) dynamic(file_dynamic_name, file_dynamic_element, file_dynamic_wide);
}

}  // namespace

void launch(const char* kernel, const Config& asked, void (*run)(void*), void* arguments, size_t bytes, bool together) {
    if (machine.me) {
        fault(headline("dynamic parallelism") + at(place_of(SIMT_HERE), myself(), std::string("launches ") + kernel) +
              "\nA kernel that launches another is not supported on the CPU.");
    }
    Config config = asked;
    if (machine.wanted.grid) config.grid = dim3(machine.wanted.grid);
    if (machine.wanted.block) config.block = dim3(machine.wanted.block);
    const std::string call = std::string(kernel) + "<<<" + text(config.grid) + ", " + text(config.block) + ">>>";
    const std::string reason = limits(config);
    if (++machine.attempts == machine.wanted.refused) {
        machine.refused = true;
        machine.error = cudaErrorLaunchOutOfResources;
        machine.pending = "launch refused: " + call + "\nThe test asked for that: too many resources requested for launch.";
        return;
    }
    // On a GPU the launches that follow work on what this one never wrote, and raise nothing.
    if (machine.refused) return;
    if (!reason.empty()) {
        machine.error = cudaErrorInvalidConfiguration;
        machine.pending = "launch refused: " + call + "\n" + reason + ".";
        return;
    }
    const uint64_t asks = uint64_t{config.grid.x} * config.grid.y * config.grid.z;
    const uint64_t threads = (config.block.x * config.block.y * config.block.z + LANES - 1) / LANES * LANES;
    const uint64_t resident = std::min<uint64_t>(MOST_THREADS / threads, MOST_RESIDENT) * static_cast<unsigned>(machine.wanted.processors);
    if (together && asks > resident) {
        machine.error = cudaErrorCooperativeLaunchTooLarge;
        machine.pending = "launch refused: " + call + "\nA cooperative launch has all its blocks run at once, and the device has room for " +
                          std::to_string(resident) + ".";
        return;
    }
    need_stream(call.c_str(), config.stream);
    begin_work(config.stream, std::string("kernel ") + kernel);
    machine.on_host = false;
    machine.cooperative = together;
    machine.kernel = kernel;
    machine.serial += 1;
    machine.config = config;
    gridDim = config.grid;
    blockDim = config.block;
    machine.run = run;
    machine.arguments = arguments;
    machine.launches.push_back({.kernel = kernel, .grid = config.grid, .block = config.block, .stream = machine.wanted.stream, .dynamic_bytes = config.shared, .variables = {}, .lines = {}});
    machine.block_size = config.block.x * config.block.y * config.block.z;
    const uint64_t blocks = uint64_t{config.grid.x} * config.grid.y * config.grid.z;
    machine.launch_first = machine.next_thread;
    machine.next_thread += static_cast<uint32_t>(blocks * machine.block_size);
    machine.chains.clear();
    machine.grid_clock = machine.clock;
    place_file_shared(machine.launches.back());
    Region held;
    held.low = reinterpret_cast<uintptr_t>(arguments);
    held.high = held.low + bytes;
    held.space = Space::Arguments;
    Region* region = machine.regions.add(std::move(held));
    if (together) {
        run_together(order(blocks));
    } else {
        machine.numbers = order(blocks);
        machine.position = 0;
        machine.room = resident;
        run_in_turn();
    }
    if (machine.trial.pipe >= 0) end_trial();
    if (machine.probe.pipe >= 0) _exit(1);
    machine.regions.remove(region);
    for (Region* shared : machine.file_shared) machine.regions.remove(shared);
    machine.file_shared.clear();
    if (config.shared && !machine.dynamic) {
        fault("unused shared memory: " + call + " asks for " + std::to_string(config.shared) +
              " bytes of dynamic shared memory\nNo thread has an extern __shared__ array. Each block takes the bytes all the"
              " same, and fewer blocks fit a multiprocessor.");
    }
    if (machine.dynamic) machine.regions.remove(std::exchange(machine.dynamic, nullptr));
    machine.launches.back().lines = machine.counter.take();
    machine.on_host = true;
}

}  // namespace simt
