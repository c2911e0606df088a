// What a fault says, and where: the words of a message, the places in the code, and their lines.
#pragma once

#include "machine.h"

namespace simt {
namespace {

std::string text(uint3 v) {
    return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}
std::string text(dim3 v) { return text(uint3{v.x, v.y, v.z}); }

// Stands for file and line until `resolved`.
std::string line_of(uint32_t place) { return "\x01" + std::to_string(place & ~VOLATILE) + "\x02"; }

uint3 index_of(uint32_t id) {
    const dim3& size = machine.config.block;
    return {id % size.x, id / size.x % size.y, id / (size.x * size.y)};
}

uint3 block_of(uint64_t number) {
    const dim3& size = machine.config.grid;
    return {static_cast<unsigned>(number % size.x), static_cast<unsigned>(number / size.x % size.y),
            static_cast<unsigned>(number / size.x / size.y)};
}

std::string who(const Mark& mark) {
    const uint32_t id = (mark.thread - machine.launch_first) % machine.block_size;
    const uint32_t number = (mark.thread - machine.launch_first) / machine.block_size;
    std::string found = "thread " + text(index_of(id));
    if (mark.thread - machine.block_first >= machine.block_size) found += " of block " + text(block_of(number));
    return found;
}

// ``race in kernel matmul, block (0,0,0)``, and then lines of who did what where.
std::string headline(const char* what) {
    return std::string(what) + " in kernel " + machine.kernel + ", block " + text(machine.block.index);
}

std::string at(uint32_t place, const std::string& who, const std::string& deed) {
    return "\n  " + line_of(place) + "  " + who + " " + deed;
}

std::string myself() { return "thread " + text(machine.me->index); }

[[noreturn]] void fault(std::string problem) {
    if (machine.trial.pipe >= 0 || machine.probe.pipe >= 0) _exit(1);
    machine.problem = std::move(problem);
    machine.me = nullptr;
    machine.on_host = false;
    Context abandoned;
    swap(abandoned, machine.base);
    std::abort();
}

const char* verb_of(Kind kind) {
    return kind == Kind::Read ? "reads" : kind == Kind::Write ? "writes" : "changes (atomically)";
}

uint32_t place_of(const void* pc) {
    // The call's own address: the one it returns to may belong to the next line.
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pc) - image_low - 1);
}

Site& site_of(uint32_t place) {
    static Site other;
    const uintptr_t at = image_low + place;
    return at - code_low < code_high - code_low ? sites[at - code_low] : other;
}

SIMT_RARE uint64_t read_statement(uint32_t place) {
    static Lines* lines = nullptr;
    if (!lines) {
        lines = new Lines;
        Dl_info about;
        if (dladdr(reinterpret_cast<void*>(&read_statement), &about)) lines->read(about.dli_fname, code_low - image_low, code_high - image_low);
        for (const char* text : statements()) lines->statements(text);
    }
    const uint64_t found = lines->statement(place);
    return found ? found : NO_STATEMENT;
}

bool same_statement(uint32_t one, uint32_t other) {
    const auto of = [](uint32_t place) {
        Site& site = site_of(place);
        if (!site.statement) site.statement = read_statement(place);
        return site.statement;
    };
    return of(one) == of(other) && of(one) != NO_STATEMENT;
}

// In simt.cpp, by which `resolved` finds its folder.
void host_entry();

// ``file:line`` of each place, as the binary names them; empty if no program finds them.
std::vector<std::string> lines_of(const std::vector<uint32_t>& places) {
    std::vector<std::string> found;
    Dl_info about;
    if (machine.addr2line.empty() || !dladdr(reinterpret_cast<void*>(&host_entry), &about)) return found;
    std::string command = machine.addr2line + " -e '" + about.dli_fname + "'";
    for (uint32_t place : places) {
        char address[24];
        std::snprintf(address, sizeof address, " 0x%x", place);
        command += address;
    }
    FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) return found;
    char line[4096];
    while (std::fgets(line, sizeof line, pipe)) {
        const std::string text(line);
        found.push_back(text.substr(0, text.find_first_of("\n ")));
    }
    pclose(pipe);
    return found;
}

std::string resolved(const std::string& message) {
    // The first is a place in simt.cpp: names are relative to the folder that it was in.
    std::vector<uint32_t> places{static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&host_entry) - image_low)};
    for (size_t at = message.find('\x01'); at != std::string::npos; at = message.find('\x01', at + 1)) {
        places.push_back(static_cast<uint32_t>(std::stoul(message.substr(at + 1))));
    }
    if (places.size() == 1) return message;
    const std::vector<std::string> lines = lines_of(places);
    const std::string folder = lines.empty() ? "" : lines[0].substr(0, lines[0].rfind('/') + 1);
    std::string found;
    size_t number = 0;
    for (size_t at = 0; at < message.size(); ++at) {
        if (message[at] != '\x01') {
            found += message[at];
            continue;
        }
        at = message.find('\x02', at);
        number += 1;
        if (number >= lines.size()) {
            found += "line unknown";
        } else {
            found += lines[number].starts_with(folder) ? lines[number].substr(folder.size()) : lines[number];
        }
    }
    return found;
}

// The memory that this library was loaded to.
int find_image(dl_phdr_info* info, size_t, void* inside) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& part = info->dlpi_phdr[i];
        const uintptr_t low = info->dlpi_addr + part.p_vaddr;
        if (part.p_type != PT_LOAD || reinterpret_cast<uintptr_t>(inside) - low >= part.p_memsz) continue;
        image_low = info->dlpi_addr;
        for (int j = 0; j < info->dlpi_phnum; ++j) {
            const auto& other = info->dlpi_phdr[j];
            if (other.p_type != PT_LOAD) continue;
            const uintptr_t begin = info->dlpi_addr + other.p_vaddr, end = begin + other.p_memsz;
            image_high = std::max(image_high, end);
            if (!(other.p_flags & PF_X)) continue;
            code_low = code_low ? std::min(code_low, begin) : begin;
            code_high = std::max(code_high, end);
        }
        // Only the pages of what runs are ever there.
        void* made = mmap(nullptr, (code_high - code_low) * sizeof(Site), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made == MAP_FAILED) std::abort();
        sites = static_cast<Site*>(made);
        return 1;
    }
    return 0;
}

}  // namespace

void report(const char* what, const void* here, const char* why, ...) {
    char text[512];
    va_list values;
    va_start(values, why);
    std::vsnprintf(text, sizeof text, why, values);
    va_end(values);
    fault(headline(what) + at(place_of(here), myself(), text));
}

Statements::Statements(const char* text) { statements().push_back(text); }

}  // namespace simt

// Instead of the C library's, which ends the process.
extern "C" void __assert_fail(const char* what, const char* file, unsigned line, const char* function) noexcept(true) {
    if (machine.me) simt::report("assertion failed", SIMT_HERE, "finds that this is not true: %s", what);
    std::fprintf(stderr, "%s:%u: %s: assertion `%s' failed.\n", file, line, function, what);
    std::abort();
}
void __trap() { simt::report("trap", SIMT_HERE, "calls __trap()"); }
