// Accesses outside all buffers: which buffer was meant, by the code that made the address, by what this place
// has accessed before, or by what other threads access there.
#pragma once

#include "races.h"

namespace simt {
namespace {

#ifdef __x86_64__
// Where the code before a call has computed its argument. g++ computes the addresses of a statement first,
// into registers that the calls keep, and moves each to the argument: `leaq (%rdx,%rax), %rbx`, and
// then `movq %rbx, %rdi`.
const unsigned char* computed_at(const unsigned char* call) {
    const unsigned char* move = call - 3;
    if ((move[0] & 0xfb) != 0x48 || move[1] != 0x89 || (move[2] & 0xc7) != 0xc7) return call;
    const unsigned source = (move[2] >> 3 & 7u) | (move[0] & 4u) << 1;
    if (source != 3 && source < 12) return move;
    constexpr int MOST_CODE = 256;
    for (const unsigned char* code = move - 3; code > move - MOST_CODE && reinterpret_cast<uintptr_t>(code) >= code_low; --code) {
        if ((code[0] & 0xf8) != 0x48) continue;
        const unsigned first = (code[2] >> 3 & 7u) | (code[0] & 4u) << 1, second = (code[2] & 7u) | (code[0] & 1u) << 3;
        if (code[1] == 0x8d && first == source) return code;
        if (code[1] == 0x89 && code[2] >= 0xc0 && second == source) return code;
        if (code[1] == 0x8b && first == source) return code + 4;
    }
    return move;
}
#endif

// The buffers that the code before a call loads pointers to: the address was made from one of them. An
// access of the source comes after the load of its own pointer; of a function that takes several, all are
// found. The code is not optimised: its variables are on the stack, at a distance from its frame.
std::vector<Region*> made_from([[maybe_unused]] const void* pc) {
    std::vector<Region*> found;
#ifdef __x86_64__
    const auto on_stack = [&](const void* at) { return reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(machine.me->low) < STACK - 16; };
    const char* base = nullptr;
    // The frames of the simulator's own functions are below.
    for (auto* frame = static_cast<void**>(__builtin_frame_address(0)); on_stack(frame) && !base; frame = static_cast<void**>(frame[0])) {
        if (frame[1] == pc) base = static_cast<const char*>(frame[0]);
        if (frame[0] <= frame) break;
    }
    const bool several = machine.called == pc;
    // Whether it says from where the address comes, if from no buffer.
    const auto tells = [&](uintptr_t pointer) {
        Region* region = machine.regions.find(pointer);
        // A pointer to the end of a buffer.
        if (!region) region = machine.regions.find(pointer - 1);
        if (region && region->space != Space::Arguments) found.push_back(region);
        if (region) return !several;
        const bool index = pointer < uintptr_t{1} << 32 || pointer - image_low < image_high - image_low;
        return !several && !index && !on_stack(reinterpret_cast<const void*>(pointer));
    };
    constexpr int MOST_CODE = 128;
    const auto* end = static_cast<const unsigned char*>(pc);
    // A call has five bytes, and the shortest load four.
    const unsigned char* const begin = several ? end - 9 : computed_at(end - 5) - 4;
    for (const unsigned char* code = begin; base && code > begin - MOST_CODE; --code) {
        if (reinterpret_cast<uintptr_t>(code) < code_low) break;
        // What comes before another access belongs to that, and what comes before `pushq %rbp; movq %rsp, %rbp`
        // to another function.
        if (std::memcmp(code, "\x55\x48\x89\xe5", 4) == 0) break;
        const Site& before = sites[reinterpret_cast<uintptr_t>(code) - code_low];
        if (before.read.launch || before.write.launch) {
            // But a call may have been given more than what was computed since.
            if (several) found.clear();
            break;
        }
        const bool loads = code[1] == 0x8b, computes = code[1] == 0x8d;
        if ((code[0] != 0x48 && code[0] != 0x4c) || !(loads || computes)) continue;
        int32_t far = 0;
        std::memcpy(&far, code + 3, sizeof far);
        const unsigned mode = code[2] & 0xc7;
        uintptr_t pointer = 0;
        if (mode == 0x05) {  // movq name@GOTPCREL(%rip), %rax; leaq name(%rip), %rax
            pointer = reinterpret_cast<uintptr_t>(code + 7 + far);
            if (pointer - image_low >= image_high - image_low) continue;
        } else if (loads && (mode == 0x45 || mode == 0x85)) {  // movq -8(%rbp), %rax
            const char* slot = base + (mode == 0x45 ? static_cast<signed char>(code[3]) : far);
            if (!on_stack(slot)) continue;
            pointer = reinterpret_cast<uintptr_t>(slot);
        } else {
            continue;
        }
        if (loads) std::memcpy(&pointer, reinterpret_cast<const void*>(pointer), sizeof pointer);
        if (tells(pointer)) break;
    }
#endif
    return found;
}

// The buffer that another thread accesses at the same place: a copy of the process goes on without this one.
SIMT_RARE Region* accessed_by_others([[maybe_unused]] uint32_t place, [[maybe_unused]] Kind kind) {
#ifdef __linux__
    constexpr int MOST_MS = 1000;
    int ends[2];
    if (machine.trial.pipe >= 0 || pipe2(ends, O_CLOEXEC)) return nullptr;
    const pid_t copy = fork();
    if (copy == 0) {
        machine.probe = {ends[1], place, kind};
        machine.strict = machine.strict_masks = false;
        const int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere >= 0) dup2(nowhere, 1);
        return nullptr;
    }
    close(ends[1]);
    pollfd waits{ends[0], POLLIN, 0};
    uint32_t id = 0;
    const bool told = copy > 0 && poll(&waits, 1, MOST_MS) == 1 && read(ends[0], &id, sizeof id) == sizeof id;
    close(ends[0]);
    if (copy > 0) {
        kill(copy, SIGKILL);
        while (waitpid(copy, nullptr, 0) < 0 && errno == EINTR) continue;
    }
    return told ? machine.regions.of(id) : nullptr;
#else
    return nullptr;
#endif
}

// In such a copy: the access is legal.
[[noreturn]] SIMT_RARE void answer(const Region& region) {
    const bool told = write(machine.probe.pipe, &region.id, sizeof region.id) == sizeof region.id;
    _exit(told ? 0 : 1);
}

// In such a copy: this thread has nothing to say.
[[noreturn]] SIMT_RARE void give_up() {
    machine.me->state = State::Done;
    swap(machine.me->context, machine.scheduler);
    std::abort();
}

// The buffer that the pointer was made from, or that this place has accessed before in the launch, or that
// other threads access here; null if none of these is clear. `from` are those that it may have been made from.
SIMT_RARE const Region* meant(const std::vector<Region*>& from, uint32_t place, Kind kind) {
    if (!from.empty() && std::all_of(from.begin(), from.end(), [&](const Region* region) { return region == from[0]; })) return from[0];
    const Site::Last& last = site_of(place).of(kind);
    const Region* region = nullptr;
    if (last.launch != machine.serial) {
        region = accessed_by_others(place, kind);
        if (machine.probe.pipe >= 0) give_up();
    } else if (!last.others) {
        region = machine.regions.of(last.region);
    }
    return from.empty() || std::find(from.begin(), from.end(), region) != from.end() ? region : nullptr;
}

[[noreturn]] SIMT_RARE void outside(uintptr_t address, unsigned bytes, Kind kind, uint32_t place, const void* pc, const Region* region = nullptr) {
    if (machine.probe.pipe >= 0) give_up();
    const std::string width = std::to_string(bytes) + " bytes";
    const auto end = [&](const std::string& what, const std::string& why) {
        fault(headline("out of bounds") + at(place, myself(), std::string(verb_of(kind)) + " " + what) + "\n" + why);
    };
    if (address < 4096) end(width, "The pointer is null.");
    std::vector<Region*> from;
    if (!region) {
        from = made_from(pc);
        region = meant(from, place, kind);
    }
    if (region) end(region->element_at(address), region->name + " has " + region->size_text() + ".");
    const Region* near = machine.regions.nearest(address, from);
    if (!near) end(width, "No kernel was given that memory.");
    end(width + " that belong to no buffer", "Near " + near->name + ", if that is the buffer it meant: it would be " + near->element_at(address) +
                                                 ", and " + near->name + " has " + near->size_text() + ".");
    std::abort();
}

// Whether the address is beside a variable at file scope, in what nothing may touch.
bool among_variables(uintptr_t address) {
    const auto low = reinterpret_cast<uintptr_t>(__start_simt_device), high = reinterpret_cast<uintptr_t>(__stop_simt_device);
    return address - low < high - low;
}

}  // namespace
}  // namespace simt
