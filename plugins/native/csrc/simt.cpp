// Runs the kernels of a .cu file on the CPU, block by block, thread by thread from one barrier
// to the next, and reports what a GPU does not: reads of memory that was never written, races
// between threads, and threads that wait for each other. plugins/native/cudasource.py writes the
// calls of what is exported here.
//
// Two accesses are ordered if one thread makes both, if a __syncthreads() of the block or a
// __syncwarp() of both lanes is between them, or if the writer made a __threadfence() and its
// block and then the reader's an atomic operation. All others race, whatever the values.

#include "simt.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include <array>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "counts.h"
#include "fiber.h"
#include "memory.h"

namespace simt {
namespace {

constexpr unsigned MOST_Z = 64, MOST_GRID_YZ = 65535;
constexpr size_t MOST_SHARED = 48 << 10;
constexpr size_t HOST_STACK = 16;  // times STACK
constexpr size_t SHARED_ROOM = 1 << 20, SHARED_GAP = 256;

enum class State : uint8_t { Ready, Barrier, Warp, Done };

struct Thread {
    Context context;
    char* low = nullptr;
    State state = State::Ready;
    uint32_t id = 0;  // in the block
    uint3 index{};
    uint32_t place = 0;  // where it waits
    Warp operation{};
    Reduce reduce{};
    bool is_signed = false;
    unsigned mask = 0;
    uint64_t value = 0, result = 0;
    int argument = 0, width = 32;
    bool active = false;  // has loaded or stored anything that outlives its block
    // The clocks up to which it knows what the lanes of its warp have done.
    std::array<uint32_t, LANES> known{};

    unsigned lane() const { return id % LANES; }
};

// A launch and its counts.
struct Launch {
    std::string kernel;
    dim3 grid, block;
    uint64_t barriers = 0, warp_operations = 0;
    // Those that load or store global memory, and those that store to it.
    uint64_t active_threads = 0, storing_blocks = 0;
    uint64_t stream = 0;
    // Shared memory of a block, and the names of its variables.
    size_t dynamic_bytes = 0, static_bytes = 0;
    std::set<std::string> variables;
    std::map<Key, Count> lines;
};

// What a test asks for: the stream of the caller, the device, the order of blocks and threads
// (-1: another at each call), the launch to refuse (1 is the first), and instead of what a launch
// says so many blocks and threads along x.
struct Wanted {
    uint64_t stream = 0;
    int processors = 8;
    unsigned most_threads = 1024;
    int order = -1;
    unsigned refused = 0, grid = 0, block = 0;
};

struct Machine {
    std::mutex mutex;
    Regions regions;
    Stacks stacks;
    Counter counter;
    std::vector<Launch> launches;
    std::vector<Thread> threads;
    Context base, host, scheduler;
    std::string problem, pending, counts_text;
    std::string addr2line;
    std::mt19937_64 random;
    unsigned mode = 0;
    cudaError_t error = cudaSuccess;
    size_t dynamic_limit = MOST_SHARED;
    Wanted wanted;
    unsigned attempts = 0;
    bool refused = false;

    // The launch, the block and the thread that run.
    const char* kernel = nullptr;
    Config config{dim3(), dim3()};
    uint3 block{};
    Thread* me = nullptr;
    bool on_host = false;
    char* host_low = nullptr;
    uint32_t launch_first = 1, next_thread = 1, block_first = 1, block_size = 1;
    uint32_t epoch = 0, clock = 0, block_serial = 0;
    Region* dynamic = nullptr;
    // Shared memory: 256 bytes that no thread may touch lie between two variables.
    std::vector<char> shared_memory = std::vector<char>(2 * SHARED_ROOM);
    size_t shared_used = 0;
    uint32_t runs = 0;
    size_t static_bytes = 0;
    void (*run)(void*) = nullptr;
    void* arguments = nullptr;

    // Fences by thread of the launch, atomic operations by block.
    std::vector<uint32_t> fences, atomics;
    uint32_t acquired = 0, acquired_epoch = 0, acquired_thread = 0;
    bool stored = false;  // whether the block has stored to global memory

    int (*thunk)(void*) = nullptr;
    void* closure = nullptr;
    int status = 0;

    double seconds = 5.0;
    volatile sig_atomic_t late = 0;
    pthread_t runner{};
};

Machine machine;
uintptr_t image_low = 0, image_high = 0;

// ---- Words

std::string text(uint3 v) {
    return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}
std::string text(dim3 v) { return text(uint3{v.x, v.y, v.z}); }

// Stands for file and line until `resolved`.
std::string line_of(uint32_t place) { return "\x01" + std::to_string(place) + "\x02"; }

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
    return std::string(what) + " in kernel " + machine.kernel + ", block " + text(machine.block);
}

std::string at(uint32_t place, const std::string& who, const std::string& deed) {
    return "\n  " + line_of(place) + "  " + who + " " + deed;
}

std::string myself() { return "thread " + text(machine.me->index); }

[[noreturn]] void fault(std::string problem) {
    machine.problem = std::move(problem);
    machine.me = nullptr;
    machine.on_host = false;
    Context abandoned;
    swap(abandoned, machine.base);
    std::abort();
}

uint32_t place_of(const void* pc) {
    // The call's own address: the one it returns to may belong to the next line.
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pc) - image_low - 1);
}

// ---- Races

bool same_block(const Mark& mark) { return mark.thread - machine.block_first < machine.block_size; }

// Whether the writer's block has published the write, by a fence and then an atomic operation, and
// this block has made an atomic operation since. Their variables are not compared.
bool handed_over(const Mark& mark, const Thread& me) {
    if (machine.fences.empty() || machine.atomics.empty()) return false;
    const uint32_t thread = mark.thread - machine.launch_first;
    if (machine.fences[thread] <= mark.clock) return false;
    if (machine.atomics[thread / machine.block_size] <= mark.clock) return false;
    if (machine.acquired <= mark.clock) return false;
    return machine.epoch > machine.acquired_epoch || me.id == machine.acquired_thread;
}

bool ordered(const Mark& mark, const Thread& me, Space space) {
    if (mark.thread < machine.launch_first) return true;
    if (!same_block(mark)) return space == Space::Shared || handed_over(mark, me);
    const uint32_t id = mark.thread - machine.block_first;
    if (id == me.id || mark.epoch < machine.epoch) return true;
    return id / LANES == me.id / LANES && me.known[id % LANES] >= mark.clock;
}

// `change` if both read, change and write the element, as in `count += 1`.
[[noreturn]] void race(const Region& region, uintptr_t address, const Mark& mark, const char* before,
                       const char* now, uint32_t place, bool change = false) {
    std::string found = headline("race") + at(place, myself(), std::string(now) + " " + region.element_at(address)) +
                        at(mark.place, who(mark), std::string(before) + " it");
    if (change) {
        found += std::string(same_block(mark) ? "" : "\nNothing orders two blocks of one launch.") +
                 "\nEach reads it, changes it and writes it back, so what one adds is lost. A barrier does not help:"
                 " an atomic operation (atomicAdd for a sum) does all three as one step.";
        fault(found);
    }
    if (!same_block(mark)) {
        found += "\nNothing orders two blocks of one launch";
    } else if ((mark.thread - machine.block_first) / LANES == machine.me->id / LANES) {
        found += "\nNo __syncthreads() or __syncwarp() stands between the two";
    } else {
        found += "\nNo __syncthreads() stands between the two";
    }
    fault(found + ": either may come first.");
}

const char* verb_of(Kind kind) {
    return kind == Kind::Read ? "reads" : kind == Kind::Write ? "writes" : "changes (atomically)";
}

void check_order(Region& region, uintptr_t address, Kind kind, uint32_t place) {
    Thread& me = *machine.me;
    Cell& cell = region.cells[(address - region.low) >> region.shift];
    const Mark now{machine.block_first + me.id, machine.epoch, ++machine.clock, place};
    const auto unordered = [&](const Mark& mark) { return mark.thread && !ordered(mark, me, region.space); };
    // The other thread has read the element where this one does, and then written it.
    const auto read_here = [&](const Mark& read) { return read.thread == cell.write.thread && read.place == place; };
    const bool change = kind == Kind::Read && (read_here(cell.read) || read_here(cell.other));
    if (unordered(cell.write)) race(region, address, cell.write, "writes", verb_of(kind), place, change);
    if (kind != Kind::Atomic && unordered(cell.atomic)) {
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
        if (unordered(*read)) race(region, address, *read, "reads", verb_of(kind), place);
    }
    // An atomic operation does not hide the write before it from the blocks that follow.
    if (kind == Kind::Write) cell = {.write = now, .read = cell.read, .other = cell.other};
    if (kind == Kind::Atomic) cell.atomic = now;
}

// ---- Accesses

uint32_t stamp_of(const Region& region) { return region.space == Space::Shared ? machine.block_serial : 1; }

[[noreturn]] void unwritten_read(const Region& region, uintptr_t address, uint32_t place) {
    fault(headline("uninitialised read") + at(place, myself(), "reads " + region.element_at(address)) +
          (region.space == Space::Shared ? "\nNo thread of this block has written it, or not before a __syncthreads()."
                                         : "\nIt was never written: it holds whatever was there before."));
}

[[noreturn]] void outside(uintptr_t address, unsigned bytes, const char* verb, uint32_t place) {
    std::string what = std::to_string(bytes) + " bytes", why = "No kernel was given that memory.";
    if (const Region* near = machine.regions.nearest(address)) {
        what = near->element_at(address);
        why = near->name + " has " + near->size_text() + ".";
    } else if (address < 4096) {
        why = "The pointer is null.";
    }
    fault(headline("out of bounds") + at(place, myself(), std::string(verb) + " " + what) + "\n" + why);
}

[[noreturn]] void overdue(uint32_t place) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", machine.seconds);
    fault(headline("endless") + at(place, myself(), std::string("is here after ") + seconds + " s of processor time"));
}

void touch(uintptr_t address, unsigned bytes, Kind kind, const void* pc) {
    Thread* me = machine.me;
    if (!me) {
        if (!machine.on_host || address - reinterpret_cast<uintptr_t>(machine.host_low) < HOST_STACK * STACK) return;
        const Region* region = machine.regions.find(address);
        if (region && region->space == Space::Global) {
            fault("host code touches device memory" + at(place_of(pc), "the host", std::string(verb_of(kind)) + " " + region->element_at(address)) +
                  "\nOnly kernels, cudaMemcpy and cudaMemset may.");
        }
        return;
    }
    if (address - reinterpret_cast<uintptr_t>(me->low) < STACK) return;
    const uint32_t place = place_of(pc);
    if (machine.late) overdue(place);
    const char* verb = verb_of(kind);
    Region* region = machine.regions.find(address);
    if (!region) {
        // Constants of the source, and __constant__ variables, are not watched.
        if (address - image_low < image_high - image_low) {
            if (kind == Kind::Read) return;
            fault(headline("a variable of the source is changed") + at(place, myself(), std::string(verb) + " it") +
                  "\nAll launches share a __device__ variable, on all streams, and it is not watched here: let the kernel be"
                  " given its memory.");
        }
        outside(address, bytes, verb, place);
    }
    if (region->space == Space::Arguments) return;
    if (address + bytes > region->high) outside(region->high, bytes, verb, place);
    if (address % bytes) {
        const std::string size = std::to_string(bytes) + " bytes";
        fault(headline("misaligned access") + at(place, myself(), std::string(verb) + " " + size + " at " + region->element_at(address)) +
              "\nThe address is no multiple of " + size + ".");
    }
    if (region->mode == Mode::In && kind != Kind::Read) {
        fault(headline("input changed") + at(place, myself(), std::string(verb) + " " + region->element_at(address)) +
              "\n" + region->name + " is an input.");
    }
    if (region->cells) {
        for (uintptr_t part = address; part < address + bytes; part += size_t{1} << region->shift) {
            uint32_t& written = region->written[(part - region->low) >> region->shift];
            if (kind != Kind::Write && region->mode != Mode::InOut && written != stamp_of(*region)) {
                unwritten_read(*region, part, place);
            }
            check_order(*region, part, kind, place);
            if (kind != Kind::Read) written = stamp_of(*region);
        }
    }
    if (kind == Kind::Atomic && region->space == Space::Global) {
        if (machine.atomics.empty()) machine.atomics.resize(machine.config.grid.x * size_t{machine.config.grid.y} * machine.config.grid.z);
        machine.atomics[(machine.block_first - machine.launch_first) / machine.block_size] = machine.clock;
        machine.acquired = machine.clock;
        machine.acquired_epoch = machine.epoch;
        machine.acquired_thread = me->id;
    }
    if (region->space == Space::Global) {
        Launch& launch = machine.launches.back();
        launch.active_threads += !std::exchange(me->active, true);
        if (kind != Kind::Read) launch.storing_blocks += !std::exchange(machine.stored, true);
    }
    const Access access{address, place, static_cast<uint8_t>(bytes), kind, region->space};
    if (machine.counter.log(me->lane(), access)) swap(me->context, machine.scheduler);
}

// ---- Threads and warps

void wait(State state, const void* pc) {
    Thread& me = *machine.me;
    me.state = state;
    me.place = place_of(pc);
    swap(me.context, machine.scheduler);
    if (machine.late) overdue(me.place);
}

void entry() {
    machine.run(machine.arguments);
    machine.me->state = State::Done;
    swap(machine.me->context, machine.scheduler);
    std::abort();
}

const char* name_of(Warp operation) {
    switch (operation) {
        case Warp::Sync: return "__syncwarp";
        case Warp::Index: return "__shfl_sync";
        case Warp::Up: return "__shfl_up_sync";
        case Warp::Down: return "__shfl_down_sync";
        case Warp::Xor: return "__shfl_xor_sync";
        case Warp::Ballot: return "__ballot_sync";
        case Warp::All: return "__all_sync";
        case Warp::Any: return "__any_sync";
        default: return "__reduce_*_sync";
    }
}

using Lanes = std::array<Thread*, LANES>;

Lanes lanes_of(unsigned warp) {
    Lanes found{};
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (warp * LANES + lane < machine.block_size) found[lane] = &machine.threads[warp * LANES + lane];
    }
    return found;
}

// The lanes that wait with `first` for each other, or none if one is missing. Lanes that have
// returned count as present.
unsigned gathered(const Lanes& lanes, const Thread& first) {
    unsigned found = 0;
    for (unsigned lane = 0; lane < LANES; ++lane) {
        const Thread* thread = lanes[lane];
        if (!(first.mask >> lane & 1u) || !thread || thread->state == State::Done) continue;
        const bool with = thread->state == State::Warp && thread->operation == first.operation &&
                          thread->mask == first.mask;
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
        fault(headline("absent lane") + at(me.place, myself(), "reads from lane " + std::to_string(source) + " in " + name_of(me.operation)) +
              "\n" + why);
    }
    return lanes[source]->value;
}

void meet(const Lanes& lanes, unsigned active) {
    std::array<uint32_t, LANES> known{};
    ++machine.clock;
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (!(active >> lane & 1u)) continue;
        for (unsigned other = 0; other < LANES; ++other) known[other] = std::max(known[other], lanes[lane]->known[other]);
        known[lane] = machine.clock;
    }
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (active >> lane & 1u) lanes[lane]->known = known;
    }
}

void finish(const Lanes& lanes, unsigned active, const Thread& first) {
    unsigned ballot = 0;
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (active >> lane & 1u && lanes[lane]->value) ballot |= 1u << lane;
    }
    machine.launches.back().warp_operations += 1;
    if (first.operation == Warp::Sync) meet(lanes, active);
    for (unsigned lane = 0; lane < LANES; ++lane) {
        if (!(active >> lane & 1u)) continue;
        Thread& thread = *lanes[lane];
        switch (first.operation) {
            case Warp::Sync: break;
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
        if (!thread || thread->state != State::Warp) continue;
        if (const unsigned active = gathered(lanes, *thread)) {
            finish(lanes, active, Thread(*thread));
            return true;
        }
    }
    return false;
}

// ---- Blocks

std::vector<uint32_t> order(size_t count) {
    std::vector<uint32_t> found(count);
    std::iota(found.begin(), found.end(), 0u);
    if (machine.mode == 1) std::reverse(found.begin(), found.end());
    if (machine.mode == 2) std::shuffle(found.begin(), found.end(), machine.random);
    return found;
}

void resume(Thread& thread) {
    machine.me = &thread;
    swap(machine.scheduler, thread.context);
    machine.me = nullptr;
}

// Runs the lanes of a warp until each of them waits for others or has returned.
bool advance(const Lanes& lanes, const std::vector<uint32_t>& lane_order) {
    bool moved = false;
    do {
        unsigned alive = 0;
        for (const Thread* thread : lanes) alive += thread && thread->state != State::Done;
        for (bool ready = true; ready;) {
            ready = false;
            for (uint32_t lane : lane_order) {
                Thread* thread = lanes[lane];
                if (!thread || thread->state != State::Ready) continue;
                resume(*thread);
                moved = true;
                ready |= thread->state == State::Ready;
            }
            machine.counter.flush(alive);
        }
    } while (resolve(lanes));
    return moved;
}

std::string several(const std::vector<const Thread*>& threads) {
    const std::string first = "thread " + text(threads.front()->index);
    return threads.size() == 1 ? first : std::to_string(threads.size()) + " threads, the first is " + first + ":";
}

std::string plural(const std::vector<const Thread*>& threads, const char* one, const char* many) {
    return threads.size() == 1 ? one : many;
}

[[noreturn]] void stuck_in_warp(const Thread& first) {
    char mask[16];
    std::snprintf(mask, sizeof mask, "0x%08x", first.mask);
    std::string found = headline("absent lane") + at(first.place, "thread " + text(first.index),
                                                     std::string("waits in ") + name_of(first.operation) + ", mask " + mask);
    for (unsigned lane = 0; lane < LANES; ++lane) {
        const uint32_t id = first.id / LANES * LANES + lane;
        if (!(first.mask >> lane & 1u) || id >= machine.block_size) continue;
        const Thread& other = machine.threads[id];
        if (other.state == State::Done) continue;
        if (other.state == State::Warp && other.operation == first.operation && other.mask == first.mask) continue;
        const char* where = other.state == State::Barrier ? "__syncthreads" : name_of(other.operation);
        found += at(other.place, "lane " + std::to_string(lane), std::string("waits in ") + where);
        break;
    }
    fault(found + "\nEvery lane that the mask names must come to the same call, with the same mask.");
}

[[noreturn]] void stuck() {
    std::map<uint32_t, std::vector<const Thread*>> barriers;
    std::vector<const Thread*> done;
    for (const Thread& thread : machine.threads) {
        if (thread.state == State::Warp) stuck_in_warp(thread);
        if (thread.state == State::Done) done.push_back(&thread);
        if (thread.state == State::Barrier) barriers[thread.place].push_back(&thread);
    }
    std::string found = headline("divergent barrier");
    for (const auto& [place, threads] : barriers) found += at(place, several(threads), plural(threads, "waits", "wait"));
    if (!done.empty()) found += "\n  " + several(done) + " " + plural(done, "has", "have") + " returned";
    found += "\nAll threads of a block must come to the same __syncthreads().";
    if (!done.empty()) {
        found += "\nThis is stricter than a GPU: since Volta it waits for those only that have not returned. But CUDA's guide"
                 " allows the barrier in a branch only if all threads of the block take it, and a barrier that counts"
                 " (cuda::barrier) would wait for ever.";
    }
    fault(found);
}

void release_barrier() {
    const Thread* first = nullptr;
    for (const Thread& thread : machine.threads) {
        if (thread.state != State::Barrier || (first && thread.place != first->place)) stuck();
        first = &thread;
    }
    uint64_t count = 0;
    for (const Thread& thread : machine.threads) count += thread.value != 0;
    for (Thread& thread : machine.threads) {
        thread.state = State::Ready;
        thread.result = count;
    }
    machine.epoch += 1;
    machine.launches.back().barriers += 1;
}

// Overwrites old values, which a kernel could use by accident.
Region* poisoned(Region* region) {
    std::memset(reinterpret_cast<void*>(region->low), 0xff, region->high - region->low);
    return region;
}

void run_block(uint64_t number) {
    machine.block = block_of(number);
    machine.block_first = machine.launch_first + static_cast<uint32_t>(number) * machine.block_size;
    machine.block_serial += 1;
    machine.epoch = 0;
    machine.acquired = 0;
    machine.stored = false;
    machine.static_bytes = 0;
    if (machine.dynamic) poisoned(machine.dynamic);
    for (uint32_t id = 0; id < machine.block_size; ++id) {
        Thread& thread = machine.threads[id];
        thread.state = State::Ready;
        thread.id = id;
        thread.index = index_of(id);
        thread.low = machine.stacks.at(id);
        thread.value = 0;
        thread.active = false;
        thread.known = {};
        prepare(thread.context, thread.low, entry);
    }
    const auto warps = order((machine.block_size + LANES - 1) / LANES);
    const auto lane_order = order(LANES);
    for (;;) {
        bool moved = false;
        for (uint32_t warp : warps) moved |= advance(lanes_of(warp), lane_order);
        const auto done = [](const Thread& thread) { return thread.state == State::Done; };
        if (std::all_of(machine.threads.begin(), machine.threads.end(), done)) return;
        const auto at_barrier = [](const Thread& thread) { return thread.state == State::Barrier; };
        const bool any = std::any_of(machine.threads.begin(), machine.threads.end(), at_barrier);
        if (!moved || !any) stuck();
        release_barrier();
    }
}

// ---- Time

void tick(int) {
    if (!pthread_equal(pthread_self(), machine.runner)) {
        pthread_kill(machine.runner, SIGVTALRM);
        return;
    }
    // After the first tick the next access stops the thread. If there is none before the second,
    // it computes without end, and holds nothing that would be lost.
    if (machine.late && machine.me) {
        sigset_t own;
        sigemptyset(&own);
        sigaddset(&own, SIGVTALRM);
        pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
        fault(headline("endless") + ": " + myself() + " loops without touching memory");
    }
    machine.late = 1;
}

class Alarm {
  public:
    Alarm() {
        machine.late = 0;
        machine.runner = pthread_self();
        struct sigaction action{};
        action.sa_handler = tick;
        action.sa_flags = SA_RESTART | SA_NODEFER;
        sigaction(SIGVTALRM, &action, &before);
        set(machine.seconds, 1.0);
    }
    ~Alarm() {
        set(0.0, 0.0);
        sigaction(SIGVTALRM, &before, nullptr);
    }

  private:
    struct sigaction before{};

    static void set(double first, double next) {
        const auto time = [](double seconds) {
            const auto whole = static_cast<time_t>(seconds);
            return timeval{whole, static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6)};
        };
        const itimerval value{time(next), time(first)};
        setitimer(ITIMER_VIRTUAL, &value, nullptr);
    }
};

// ---- Reports

// ``file:line`` of each place, as the binary names them; empty if no program finds them.
std::vector<std::string> lines_of(const std::vector<uint32_t>& places) {
    std::vector<std::string> found;
    Dl_info about;
    if (machine.addr2line.empty() || !dladdr(reinterpret_cast<void*>(&tick), &about)) return found;
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
    // The first is a place in this file: names are relative to the folder that it was in.
    std::vector<uint32_t> places{static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&tick) - image_low)};
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
            if (other.p_type == PT_LOAD) image_high = std::max<uintptr_t>(image_high, info->dlpi_addr + other.p_vaddr + other.p_memsz);
        }
        return 1;
    }
    return 0;
}

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
            if (region->written[i]) continue;
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

// ---- What kernels call

uint3 thread_index() { return machine.me->index; }
uint3 block_index() { return machine.block; }
dim3 block_size() { return machine.config.block; }
dim3 grid_size() { return machine.config.grid; }

void access(const void* address, unsigned bytes, Kind kind, const void* here) {
    touch(reinterpret_cast<uintptr_t>(address), bytes, kind, here);
}

void fence() {
    if (machine.fences.empty()) {
        machine.fences.resize(size_t{machine.block_size} * machine.config.grid.x * machine.config.grid.y * machine.config.grid.z);
    }
    machine.fences[machine.block_first - machine.launch_first + machine.me->id] = ++machine.clock;
}

namespace {

Region* found_at(const void* address) {
    for (Region* region : machine.regions.all) {
        if (region->low == reinterpret_cast<uintptr_t>(address) && region->space == Space::Shared) return region;
    }
    return nullptr;
}

Region* placed(const Variable& about) {
    const auto start = reinterpret_cast<uintptr_t>(machine.shared_memory.data());
    Region region;
    region.low = ((start + machine.shared_used + SHARED_GAP - 1) & ~(SHARED_GAP - 1)) + SHARED_GAP;
    region.high = region.low + about.bytes;
    machine.shared_used = region.high - start;
    if (machine.shared_used > machine.shared_memory.size() - SHARED_GAP) fault(headline("too much shared memory"));
    region.space = Space::Shared;
    region.mode = Mode::Scratch;
    region.name = about.name;
    region.element = about.element;
    region.rank = about.rank;
    std::copy(about.extents, about.extents + 3, region.extents);
    region.watch();
    return machine.regions.add(std::move(region));
}

}  // namespace

void declare(Slot& slot, const Variable& variable) {
    if (slot.run == machine.runs && slot.block == machine.block_serial) return;
    Region* region = slot.run == machine.runs ? found_at(slot.address) : nullptr;
    if (!region) region = placed(variable);
    slot = {reinterpret_cast<void*>(poisoned(region)->low), machine.runs, machine.block_serial};
    machine.static_bytes += variable.bytes;
    Launch& launch = machine.launches.back();
    launch.variables.insert(variable.name);
    launch.static_bytes = std::max(launch.static_bytes, machine.static_bytes);
    const std::string bytes = std::to_string(machine.static_bytes) + " bytes with " + variable.name;
    if (machine.static_bytes > MOST_SHARED) {
        fault(headline("too much shared memory") + "\n" + bytes + "; a block can declare 49152.");
    }
    if (machine.static_bytes + launch.dynamic_bytes > std::max(MOST_SHARED, machine.dynamic_limit)) {
        fault(headline("too much shared memory") + "\n" + bytes + ", and " + std::to_string(launch.dynamic_bytes) +
              " of dynamic shared memory; both come out of " + std::to_string(machine.dynamic_limit) + ".");
    }
}

// All declarations of dynamic shared memory in a kernel are the same memory.
void* dynamic(const char* name, unsigned element) {
    machine.launches.back().variables.insert(name);
    if (!machine.dynamic) machine.dynamic = poisoned(placed({name, machine.config.shared, element, 1, {}}));
    return reinterpret_cast<void*>(machine.dynamic->low);
}

uint64_t warp(Warp operation, unsigned mask, uint64_t value, int argument, int width, Reduce reduce, bool is_signed,
              const void* pc) {
    Thread& me = *machine.me;
    if (!(mask >> me.lane() & 1u)) {
        fault(headline("absent lane") + at(place_of(pc), myself(), std::string("calls ") + name_of(operation)) +
              "\nThe mask does not name the lane of this thread, " + std::to_string(me.lane()) + ".");
    }
    me.operation = operation;
    me.mask = mask;
    me.value = value;
    me.argument = argument;
    me.width = width;
    me.reduce = reduce;
    me.is_signed = is_signed;
    wait(State::Warp, pc);
    return me.result;
}

void allow_dynamic(size_t bytes) { machine.dynamic_limit = std::min<size_t>(bytes, 227 << 10); }

// The caller's work before and after is on the caller's stream: on another nothing orders it.
void need_stream(const char* what, cudaStream_t stream) {
    const auto name = [](uint64_t number) {
        return number ? "stream " + std::to_string(number) : std::string("the default stream");
    };
    const uint64_t found = reinterpret_cast<uint64_t>(stream);
    if (found == machine.wanted.stream) return;
    fault(std::string("another stream: ") + what + " is on " + name(found) + ", and the caller is on " +
          name(machine.wanted.stream) + "\nNothing orders two streams: it may run before its inputs are there, or after"
          " its result is read. The stream comes in as an argument: <<<blocks, threads, bytes, stream>>>.");
}

void launch(const char* kernel, const Config& asked, void (*run)(void*), void* arguments, size_t bytes) {
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
    need_stream(call.c_str(), config.stream);
    machine.on_host = false;
    machine.kernel = kernel;
    machine.config = config;
    machine.run = run;
    machine.arguments = arguments;
    machine.launches.push_back({.kernel = kernel, .grid = config.grid, .block = config.block, .stream = machine.wanted.stream, .dynamic_bytes = config.shared, .variables = {}, .lines = {}});
    machine.block_size = config.block.x * config.block.y * config.block.z;
    const uint64_t blocks = uint64_t{config.grid.x} * config.grid.y * config.grid.z;
    machine.launch_first = machine.next_thread;
    machine.next_thread += static_cast<uint32_t>(blocks * machine.block_size);
    machine.fences.clear();
    machine.atomics.clear();
    machine.threads.resize(machine.block_size);
    Region held;
    held.low = reinterpret_cast<uintptr_t>(arguments);
    held.high = held.low + bytes;
    held.space = Space::Arguments;
    Region* region = machine.regions.add(std::move(held));
    for (uint64_t number : order(blocks)) run_block(number);
    machine.regions.remove(region);
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

using simt::machine;

void __syncthreads() {
    machine.me->value = 0;
    simt::wait(simt::State::Barrier, SIMT_HERE);
}
static int counted(int predicate, const void* pc) {
    machine.me->value = predicate != 0;
    simt::wait(simt::State::Barrier, pc);
    return static_cast<int>(machine.me->result);
}
int __syncthreads_count(int predicate) { return counted(predicate, SIMT_HERE); }
int __syncthreads_and(int predicate) { return counted(predicate, SIMT_HERE) == static_cast<int>(machine.block_size); }
int __syncthreads_or(int predicate) { return counted(predicate, SIMT_HERE) != 0; }
void __threadfence() { simt::fence(); }

// ---- What host code calls

cudaError_t cudaPeekAtLastError() { return machine.error; }
cudaError_t cudaGetLastError() { return std::exchange(machine.error, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "no error";
        case cudaErrorInvalidValue: return "invalid argument";
        case cudaErrorMemoryAllocation: return "out of memory";
        case cudaErrorInvalidConfiguration: return "invalid configuration argument";
        case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
        case cudaErrorNotYetImplemented: return "API call is not supported in the installed CUDA driver";
    }
    return "unrecognized error code";
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: *value = static_cast<int>(machine.wanted.most_threads); break;
        case cudaDevAttrMaxSharedMemoryPerBlock: *value = simt::MOST_SHARED; break;
        case cudaDevAttrWarpSize: *value = simt::LANES; break;
        case cudaDevAttrMultiProcessorCount: *value = machine.wanted.processors; break;
        case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
        default: return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* found, int) {
    *found = {"simulated", simt::MOST_SHARED, simt::LANES, static_cast<int>(machine.wanted.most_threads), machine.wanted.processors, 2048};
    return cudaSuccess;
}

cudaError_t simt_malloc(void** pointer, size_t bytes) {
    *pointer = std::aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (!*pointer) return cudaErrorMemoryAllocation;
    simt::Region region;
    region.low = reinterpret_cast<uintptr_t>(*pointer);
    region.high = region.low + bytes;
    region.mode = simt::Mode::Scratch;
    region.name = "scratch";
    region.watch();
    machine.regions.add(std::move(region));
    return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
    if (!pointer) return cudaSuccess;
    for (simt::Region* region : machine.regions.all) {
        if (region->low == reinterpret_cast<uintptr_t>(pointer) && region->mode == simt::Mode::Scratch) {
            machine.regions.remove(region);
            std::free(pointer);
            return cudaSuccess;
        }
    }
    return cudaErrorInvalidValue;
}

static bool inside(const void* pointer, size_t bytes, bool write) {
    const auto low = reinterpret_cast<uintptr_t>(pointer);
    simt::Region* region = machine.regions.find(low);
    if (!region || low + bytes > region->high) return false;
    if (write && region->written) {
        for (uintptr_t at = low; at < low + bytes; at += uintptr_t{1} << region->shift) {
            region->written[(at - region->low) >> region->shift] = 1;
        }
    }
    return !write || region->mode != simt::Mode::In;
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
    simt::need_stream("a cudaMemset", stream);
    if (bytes && !inside(pointer, bytes, true)) return machine.error = cudaErrorInvalidValue;
    std::memset(pointer, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    simt::need_stream("a cudaMemcpy", stream);
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const simt::Region* read = machine.regions.find(reinterpret_cast<uintptr_t>(from));
    if (bytes && read && !machine.regions.find(reinterpret_cast<uintptr_t>(to)) && kind != cudaMemcpyDeviceToDevice) {
        simt::fault("copy to the host: a cudaMemcpy of " + read->name +
                    "\nThe host would wait for the device, and then do what kernels are for.");
    }
    if (bytes && to_device && !inside(to, bytes, true)) return machine.error = cudaErrorInvalidValue;
    if (bytes && from_device && !inside(from, bytes, false)) return machine.error = cudaErrorInvalidValue;
    std::memmove(to, from, bytes);
    return cudaSuccess;
}

// ---- What -fsanitize=thread calls

#define PLAIN_ACCESS(NAME, BYTES, KIND)                                                                  \
    extern "C" void __tsan_##NAME(void* address) {                                                       \
        simt::touch(reinterpret_cast<uintptr_t>(address), BYTES, simt::Kind::KIND, SIMT_HERE);           \
    }
#define SIZED_ACCESS(BYTES)                      \
    PLAIN_ACCESS(read##BYTES, BYTES, Read)       \
    PLAIN_ACCESS(write##BYTES, BYTES, Write)     \
    PLAIN_ACCESS(unaligned_read##BYTES, BYTES, Read) \
    PLAIN_ACCESS(unaligned_write##BYTES, BYTES, Write)
SIZED_ACCESS(1)
SIZED_ACCESS(2)
SIZED_ACCESS(4)
SIZED_ACCESS(8)
SIZED_ACCESS(16)

static void range(const void* address, size_t bytes, simt::Kind kind, const void* pc) {
    const auto low = reinterpret_cast<uintptr_t>(address);
    // Most copies are between a thread's own variables, as of threadIdx.
    if (!machine.me && bytes) simt::touch(low, 1, kind, pc);
    if (!machine.me || low - reinterpret_cast<uintptr_t>(machine.me->low) < simt::STACK) return;
    const unsigned step = low % 4 == 0 && bytes % 4 == 0 ? 4 : 1;
    for (size_t at = 0; at < bytes; at += step) simt::touch(low + at, step, kind, pc);
}
extern "C" void __tsan_read_range(void* address, size_t bytes) { range(address, bytes, simt::Kind::Read, SIMT_HERE); }
extern "C" void __tsan_write_range(void* address, size_t bytes) { range(address, bytes, simt::Kind::Write, SIMT_HERE); }
extern "C" void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
    range(from, bytes, simt::Kind::Read, SIMT_HERE);
    range(to, bytes, simt::Kind::Write, SIMT_HERE);
    return std::memmove(to, from, bytes);
}
extern "C" void* __tsan_memmove(void* to, const void* from, size_t bytes) {
    range(from, bytes, simt::Kind::Read, SIMT_HERE);
    range(to, bytes, simt::Kind::Write, SIMT_HERE);
    return std::memmove(to, from, bytes);
}
extern "C" void* __tsan_memset(void* to, int value, size_t bytes) {
    range(to, bytes, simt::Kind::Write, SIMT_HERE);
    return std::memset(to, value, bytes);
}
extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_vptr_update(void**, void*) {}
extern "C" void __tsan_vptr_read(void**) {}

// ---- What the operator around a kernel calls

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
    machine.shared_used = 0;
    machine.dynamic = nullptr;
    machine.dynamic_limit = simt::MOST_SHARED;
}

// Says what the runs from now on are like, see `Wanted`.
extern "C" void kata_simt_set(uint64_t stream, int processors, unsigned most_threads, int order, unsigned refused, unsigned grid,
                              unsigned block) {
    machine.wanted = {stream, processors, most_threads, order, refused, grid, block};
}

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
