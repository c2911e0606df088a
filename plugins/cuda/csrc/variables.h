// Variables of CUDA's memory spaces: shared ones of a block, and those at file scope.
#pragma once

#include "blocks.h"

namespace simt {
namespace {

Region* found_at(const void* address) {
    for (Region* region : machine.regions.all) {
        if (region->low == reinterpret_cast<uintptr_t>(address) && region->space == Space::Shared) return region;
    }
    return nullptr;
}

Region* placed(const Variable& about, bool is_dynamic = false) {
    const auto start = reinterpret_cast<uintptr_t>(machine.shared_memory.data());
    // As aligned as the widest that a kernel asks for, which is for the tensor memory accelerator.
    constexpr size_t ALIGNED = 1024;
    Region region;
    region.low = ((start + machine.shared_used + SHARED_GAP + ALIGNED - 1) & ~(ALIGNED - 1));
    if (is_dynamic) region.low = reinterpret_cast<uintptr_t>(file_dynamic());
    region.high = region.low + about.bytes;
    if (!is_dynamic) machine.shared_used = region.high - start;
    if (machine.shared_used > machine.shared_memory.size() - SHARED_GAP) fault(headline("too much shared memory"));
    region.space = Space::Shared;
    region.mode = Mode::Scratch;
    region.name = about.name;
    region.element = about.element;
    region.rank = about.rank;
    region.wide = about.wide;
    std::copy(about.extents, about.extents + 3, region.extents);
    region.watch();
    return machine.regions.add(std::move(region));
}

}  // namespace

void declare(Slot& slot, const Variable& variable) {
    if (slot.run == machine.runs && slot.block == machine.block_serial) return;
    Region* region = slot.run == machine.runs ? found_at(slot.address) : nullptr;
    if (region && machine.block.declared.contains(slot.address)) {
        slot.block = machine.block_serial;
        return;
    }
    if (!region) region = placed(variable);
    machine.block.declared.insert(reinterpret_cast<void*>(region->low));
    slot = {reinterpret_cast<void*>(poisoned(region)->low), machine.runs, machine.block_serial};
    machine.block.static_bytes += variable.bytes;
    Launch& launch = machine.launches.back();
    launch.variables.insert(variable.name);
    launch.static_bytes = std::max(launch.static_bytes, machine.block.static_bytes);
    const std::string bytes = std::to_string(machine.block.static_bytes) + " bytes with " + variable.name;
    if (machine.block.static_bytes > MOST_SHARED) {
        fault(headline("too much shared memory") + "\n" + bytes + "; a block can declare 49152.");
    }
    if (machine.block.static_bytes + launch.dynamic_bytes > std::max(MOST_SHARED, machine.dynamic_limit)) {
        fault(headline("too much shared memory") + "\n" + bytes + ", and " + std::to_string(launch.dynamic_bytes) +
              " of dynamic shared memory; both come out of " + std::to_string(machine.dynamic_limit) + ".");
    }
}

namespace {

Region file_region(void* address, size_t bytes, const Variable& about) {
    Region region;
    region.low = reinterpret_cast<uintptr_t>(address);
    region.high = region.low + bytes;
    region.name = about.name;
    region.element = about.element;
    region.rank = about.rank;
    region.wide = about.wide;
    region.variable = true;
    std::copy(about.extents, about.extents + 3, region.extents);
    return region;
}

}  // namespace

Static::Static(Where where, void* address, const Variable& variable) {
    const auto* bytes = static_cast<const char*>(address);
    variables().push_back({where, address, variable, {bytes, bytes + variable.bytes}});
}

// Every run begins with the values that the source gives.
void restore_variables() {
    machine.file_shared.clear();
    for (const Watched& variable : variables()) {
        if (variable.where == Where::Shared) continue;
        Region region = file_region(variable.address, variable.about.bytes, variable.about);
        region.mode = variable.where == Where::Constant ? Mode::In : Mode::InOut;
        // A constant one may lie in memory that nothing can write.
        if (std::memcmp(variable.address, variable.initial.data(), variable.about.bytes) != 0) {
            std::memcpy(variable.address, variable.initial.data(), variable.about.bytes);
        }
        if (variable.where == Where::Device) region.watch();
        machine.regions.add(std::move(region));
    }
}

void* dynamic_file(const char* name, unsigned element, bool wide) {
    file_dynamic_name = name;
    file_dynamic_element = element;
    file_dynamic_wide = wide;
    return file_dynamic();
}

// All declarations of dynamic shared memory in a kernel are the same memory.
void* dynamic(const char* name, unsigned element, bool wide) {
    machine.launches.back().variables.insert(name);
    if (!machine.dynamic) machine.dynamic = poisoned(placed({name, machine.config.shared, element, 1, {}, wide}, true));
    return reinterpret_cast<void*>(machine.dynamic->low);
}

void allow_dynamic(size_t bytes) { machine.dynamic_limit = std::max(machine.dynamic_limit, std::min(bytes, MOST_DYNAMIC)); }

}  // namespace simt
