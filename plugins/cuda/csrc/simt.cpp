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

#define SIMT_SIMULATOR
#include "simt.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <array>
#include <cstdarg>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "counts.h"
#include "fiber.h"
#include "lines.h"
#include "memory.h"
#include "order.h"

// The linker's names for the section that SIMT_DEVICE puts variables into, if there is any.
extern "C" char __start_simt_device[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_simt_device[] __attribute__((weak, visibility("hidden")));

// Constants, as kernels know them; side by side, for `touch` to pass them by.
#define SIMT_INDEX __attribute__((section("simt_index")))
SIMT_INDEX uint3 threadIdx{}, blockIdx{};
SIMT_INDEX dim3 blockDim, gridDim;
extern "C" char __start_simt_index[] __attribute__((visibility("hidden")));
extern "C" char __stop_simt_index[] __attribute__((visibility("hidden")));

namespace simt {
namespace {

// Kept out of the functions that every access goes through, which stay short.
#define SIMT_RARE __attribute__((noinline, cold))

constexpr unsigned MOST_Z = 64, MOST_GRID_YZ = 65535;
constexpr size_t MOST_SHARED = 48 << 10;
constexpr size_t HOST_STACK = 2;  // times STACK
// How many threads and blocks a multiprocessor has room for.
constexpr unsigned MOST_THREADS = 2048, MOST_RESIDENT = 32;
constexpr size_t SHARED_ROOM = 1 << 20, SHARED_GAP = 256;

// Spin: it repeats an atomic operation that changes nothing, and lets others run. Poll: it waits
// until `ready` says so.
enum class State : uint8_t { Ready, Barrier, Warp, Spin, Poll, Grid, Done };

// How far a thread's fence reaches: its own clock, its block's last barrier, its warp's lanes.
struct Fence {
    uint32_t clock = 0, barrier = 0;
    std::array<uint32_t, LANES> known{};
};

// A load of what others change by atomic operations. It is no race if all the thread does with the value
// is to compare it, in an operation that changes nothing if it is old: so CUDA's guide makes atomic
// operations that the device lacks.
struct Doubt {
    Region* region = nullptr;
    uintptr_t address = 0;
    char value[4] = {};
    Mark mark;
    uint32_t place = 0;
};
constexpr size_t MOST_DOUBTS = 8;

// What a register of a thread holds, by the access that it comes from; `key` has the place of that, and
// whether it is a store.
struct Held {
    uint32_t key;
    uint32_t batch, number;  // in the counts
    uintptr_t low, high;
};
constexpr size_t MOST_HELD = 16;

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
    bool met = false;  // whether `known` has anything
    Knowledge learned;
    Fence near, far;
    std::array<Doubt, MOST_DOUBTS> doubts;
    uint32_t doubted = 0, loads = 0;
    std::array<Held, MOST_HELD> held;
    uint32_t holds = 0;
    bool (*ready)(void*) = nullptr;
    void* waits_for = nullptr;
    const char* waits_in = "";
    // What it gives to a call of its warp.
    void* given = nullptr;
    void (*made)(void* const*) = nullptr;
    // The atomic operation before, to know one that is repeated.
    uintptr_t spun_at = 0;
    uint32_t spun_place = 0, spins = 0, polls = 0;
    uint64_t spun_value = 0;

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

// A variable at file scope; `initial` is what every run begins with.
struct Watched {
    Where where;
    void* address;
    Variable about;
    std::vector<char> initial;
};
std::vector<Watched>& variables() {
    static std::vector<Watched> all;
    return all;
}

// Dynamic shared memory that is declared at file scope, where its address must be known.
constexpr size_t MOST_DYNAMIC = 227 << 10;
char* file_dynamic() {
    static char* memory = static_cast<char*>(std::aligned_alloc(1024, MOST_DYNAMIC + 2048));
    return memory + 1024;
}
const char* file_dynamic_name = nullptr;
unsigned file_dynamic_element = 1;
bool file_dynamic_wide = false;

// Several lanes of a warp store to one place: no race if the value is the same, which is known
// when the second store has been made. In a trial, what to put back when a load has been made.
struct Same {
    unsigned bytes = 0;
    bool restore = false;
    uintptr_t address = 0;
    char value[16];
    Region* region = nullptr;
    Mark mark;
    uint32_t place = 0;
};

// In a copy of the process: where to it reports, the read that is a fault, by line, address and the
// thread that writes there, and what the read finds there.
struct Trial {
    int pipe = -1, filler = 0;
    uint32_t place = 0, writer = 0;
    uintptr_t address = 0;
    bool found = false;
};

// What is known of a place in the code: the statement that it belongs to, and the buffers that it has read
// and written last in a launch, and whether it has others before.
struct Site {
    struct Last {
        uint32_t launch = 0;
        uint32_t region : 31 = 0;
        uint32_t others : 1 = 0;
    };
    uint64_t statement = 0;
    Last read, write;
    Last& of(Kind kind) { return kind == Kind::Read ? read : write; }
};
constexpr uint64_t NO_STATEMENT = ~uint64_t{0};
std::vector<const char*>& statements() {
    static std::vector<const char*> all;
    return all;
}

// In a copy of the process: the place of an access past the end of some buffer, and where to report the
// buffer that other threads access there.
struct Probe {
    int pipe = -1;
    uint32_t place = 0;
    Kind kind = Kind::Read;
};

// In the place of an access: the variable is volatile.
constexpr uint32_t VOLATILE = 1u << 31;

// Threads of several warps that wait for each other, but not for their block.
struct Tile {
    unsigned arrived = 0;
    uint32_t generation = 0;
};

// A copy that has begun.
struct Copy {
    Thread* thread;
    uint32_t batch;
    const void* owner;
    char* to;
    const char* from;
    size_t bytes, zeros;
    unsigned step;
    const void* pc;
};

// A block whose threads wait while those of another run.
struct Block {
    uint64_t number = 0;
    uint3 index{};
    std::vector<Thread> threads;
    std::vector<uint32_t> warps, lanes;
    uint32_t first = 0, serial = 0, barrier_clock = 0;
    Knowledge learned;
    Fences fences;
    // Since the last barrier.
    bool fenced = false;
    bool stored = false, finished = false;
    size_t static_bytes = 0;
    std::set<const void*> declared;
    std::map<std::pair<unsigned, unsigned>, Tile> tiles;
    std::vector<Copy> copies;
    std::map<std::pair<const Thread*, const void*>, uint32_t> batches;
    std::map<const void*, unsigned> counts;
    std::map<unsigned, std::array<char, 64>> board;
    struct Shared {
        std::vector<char> bytes;
        Cell* cells;
        uint32_t* written;
    };
    std::map<Region*, Shared> shared;
};

// A stream of the source's own: its number (0 is the caller's), whether it waits for the caller's, and
// whether the default stream and it wait for each other.
struct Stream {
    uint32_t id;
    bool waits, blocking;
};

// For each stream, the number of its last piece of work that is done before one begins.
using Done = std::map<uint32_t, uint32_t>;
void merge(Done& into, const Done& from) {
    for (const auto& [stream, number] : from) into[stream] = std::max(into[stream], number);
}

// A kernel, or a copy that counts as one thread. The first of the threads tells whose an access is.
struct Work {
    uint32_t first_thread, stream, number;
    std::string what;
};

// What streams do, once the source has one of its own.
struct Streams {
    uint32_t last_id = 0;
    std::vector<Work> works;
    std::map<uint32_t, Done> done;
    std::map<const void*, Done> events;
    Done host;
};

struct Machine {
    std::mutex mutex;
    Regions regions;
    Stacks stacks;
    Counter counter;
    std::vector<Launch> launches;
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
    // Whether all threads must come to each barrier, and no lane that has left be in a mask.
    bool strict = false, strict_masks = false;
    int asked = -1, habit = 0;
    std::vector<Stream*> streams;
    Streams order;
    std::vector<double*> events;
    std::map<const void*, bool> event_waits;

    // Where a function was called last that accesses memory for its caller.
    const void* called = nullptr;

    // The launch, the block and the thread that run.
    const char* kernel = nullptr;
    Config config{dim3(), dim3()};
    bool cooperative = false;
    Block block;
    Thread* me = nullptr;
    bool on_host = false;
    char* host_low = nullptr;
    uint32_t launch_first = 1, next_thread = 1, block_first = 1, block_size = 1;
    // Counts the launches of all runs.
    uint32_t serial = 0;
    uint32_t clock = 0, block_serial = 0, last_serial = 0;
    // The clocks of the last barriers: of the block, and of the grid.
    uint32_t barrier_clock = 0, grid_clock = 0;
    Same same;
    Trial trial;
    Probe probe;
    // What an atomic operation that compares expects to find.
    const void* compare = nullptr;
    // The blocks of the launch, in their order, and which of them runs.
    std::vector<uint32_t> numbers;
    size_t position = 0;
    // Blocks of it that wait for others, each with its part of the stacks.
    std::vector<std::pair<Block, size_t>> aside;
    size_t room = 1;
    Region* dynamic = nullptr;
    // Shared memory: 256 bytes that no thread may touch lie between two variables.
    std::vector<char> shared_memory = std::vector<char>(2 * SHARED_ROOM);
    size_t shared_used = 0;
    uint32_t runs = 0;
    void (*run)(void*) = nullptr;
    void* arguments = nullptr;
    Chains chains;
    std::vector<Region*> file_shared;

    int (*thunk)(void*) = nullptr;
    void* closure = nullptr;
    int status = 0;

    double seconds = 5.0;
    volatile sig_atomic_t late = 0;
    pthread_t runner{};
};

Machine machine;
uintptr_t image_low = 0, image_high = 0;
// The part of it that is code, and what is known of each place there.
uintptr_t code_low = 0, code_high = 0;
Site* sites = nullptr;

// ---- Words

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

// ---- Reads whose value nothing uses

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

// ---- Races

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

// `change` if both read, change and write the element, as in `count += 1`.
[[noreturn]] SIMT_RARE void race(const Region& region, uintptr_t address, const Mark& mark, const char* before,
                       const char* now, uint32_t place, bool change = false, bool useless = false) {
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
    } else if (same_warp(mark)) {
        found += "\nNo __syncthreads() or __syncwarp() stands between the two";
    } else {
        found += "\nNo __syncthreads() stands between the two";
    }
    fault(found + ": either may come first." + (useless ? USELESS : ""));
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

const char* verb_of(Kind kind) {
    return kind == Kind::Read ? "reads" : kind == Kind::Write ? "writes" : "changes (atomically)";
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
    const bool change = kind == Kind::Read && (read_here(cell.read) || read_here(cell.other));
    // A load of a volatile variable that another warp stores to is no race, nor is an atomic operation
    // on it: so threads wait for each other. Two stores are, for what one adds the other loses, unless
    // one thread has seen what the other stored after a fence.
    const bool waits = place & VOLATILE || kind == Kind::Atomic;
    const auto handed = [&](const Mark& mark) { return waits && mark.place & VOLATILE && !same_warp(mark); };
    if (unordered(cell.write) && !(handed(cell.write) && (kind != Kind::Write || seen(cell.write, me, region, address)))) {
        if (kind != Kind::Write || !perhaps_same(cell.write, region, address, place)) {
            const Use use = kind == Kind::Read ? use_of_value(place, address, cell.write.thread) : Use::Unknown;
            if (use != Use::Trial) race(region, address, cell.write, "writes", verb_of(kind), place, change && use != Use::None, use == Use::None);
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
        if (use != Use::Trial) race(region, address, *read, "reads", verb_of(kind), place, false, use == Use::None);
        if (!machine.trial.found) run_block_again();
    }
    // An atomic operation does not hide the write before it from the blocks that follow.
    if (kind == Kind::Write) cell = {.write = now, .atomic = {}, .read = cell.read, .other = cell.other};
    if (kind == Kind::Atomic) cell.atomic = now;
}

// ---- Accesses

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

// ---- Which buffer an access outside all of them meant

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

// Whether the address is beside a variable at file scope, in what nothing may touch.
bool among_variables(uintptr_t address) {
    const auto low = reinterpret_cast<uintptr_t>(__start_simt_device), high = reinterpret_cast<uintptr_t>(__stop_simt_device);
    return address - low < high - low;
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

// ---- Threads and warps

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
    threadIdx = thread.index;
    blockIdx = machine.block.index;
    swap(machine.scheduler, thread.context);
    machine.me = nullptr;
}

struct Progress {
    bool moved = false, spinning = false;
    Progress& operator|=(const Progress& other) {
        moved |= other.moved;
        spinning |= other.spinning;
        return *this;
    }
};

// Runs the lanes of a warp until each of them waits for others or has returned.
Progress advance(const Lanes& lanes, const std::vector<uint32_t>& lane_order) {
    Progress progress;
    for (Thread* thread : lanes) {
        if (thread && thread->state == State::Poll && thread->ready(thread->waits_for)) thread->state = State::Ready;
    }
    // A lane that spins has its turn after the others, once.
    for (uint32_t lane : lane_order) {
        Thread* thread = lanes[lane];
        if (!thread || thread->state != State::Spin) continue;
        thread->state = State::Ready;
        resume(*thread);
        progress.moved |= thread->state != State::Spin;
        progress.spinning |= thread->state == State::Spin;
    }
    do {
        unsigned alive = 0;
        for (const Thread* thread : lanes) alive += thread && thread->state != State::Done;
        for (bool ready = true; ready;) {
            ready = false;
            for (uint32_t lane : lane_order) {
                Thread* thread = lanes[lane];
                if (!thread || thread->state != State::Ready) continue;
                resume(*thread);
                progress.moved = true;
                ready |= thread->state == State::Ready;
                progress.spinning |= thread->state == State::Spin;
            }
            machine.counter.flush(alive);
        }
    } while (resolve(lanes));
    return progress;
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
                                                     std::string("waits in ") + name_of(first) + ", mask " + mask);
    for (unsigned lane = 0; lane < LANES; ++lane) {
        const uint32_t id = first.id / LANES * LANES + lane;
        if (!(first.mask >> lane & 1u) || id >= machine.block_size) continue;
        const Thread& other = machine.block.threads[id];
        if (other.state == State::Done) continue;
        if (other.state == State::Warp && other.operation == first.operation && other.mask == first.mask) continue;
        const char* where = other.state == State::Barrier ? "__syncthreads"
                            : other.state == State::Poll  ? other.waits_in
                            : other.state == State::Grid  ? "grid.sync"
                                                          : name_of(other);
        found += at(other.place, "lane " + std::to_string(lane), std::string("waits in ") + where);
        break;
    }
    fault(found + "\nEvery lane that the mask names must come to the same call, with the same mask.");
}

[[noreturn]] void stuck() {
    std::map<uint32_t, std::vector<const Thread*>> barriers, grids, polls;
    std::vector<const Thread*> done;
    for (const Thread& thread : machine.block.threads) {
        if (thread.state == State::Warp) stuck_in_warp(thread);
        if (thread.state == State::Done) done.push_back(&thread);
        if (thread.state == State::Barrier) barriers[thread.place].push_back(&thread);
        if (thread.state == State::Grid) grids[thread.place].push_back(&thread);
        if (thread.state == State::Poll) polls[thread.place].push_back(&thread);
    }
    std::string found = headline(polls.empty() ? "divergent barrier" : "waits for ever");
    for (const auto* places : {&polls, &grids, &barriers}) {
        for (const auto& [place, threads] : *places) {
            const std::string in = places == &polls   ? std::string(" in ") + threads.front()->waits_in
                                   : places == &grids ? " in grid.sync"
                                   : polls.empty()    ? ""
                                                      : " in __syncthreads";
            found += at(place, several(threads), plural(threads, "waits", "wait") + in);
        }
    }
    if (!done.empty()) found += "\n  " + several(done) + " " + plural(done, "has", "have") + " returned";
    if (!polls.empty()) fault(found + "\nNo thread is left that could end the wait.");
    found += grids.empty() ? "\nAll threads of a block must come to the same __syncthreads()."
                           : "\nAll threads of the grid must come to the same grid.sync().";
    if (grids.empty() && barriers.size() > 1) {
        found += " CUDA's guide allows it in a branch only if the whole block takes the branch: else the code is likely to hang,"
                 " or to do what no one meant. Where whole warps take a branch each, a GPU that counts arrivals may go on.";
    }
    if (!done.empty() && machine.strict) {
        found += "\nThis is stricter than a GPU: since Volta it waits for those only that have not returned. But CUDA's guide"
                 " allows the barrier in a branch only if all threads of the block take it, and a barrier that counts"
                 " (cuda::barrier) would wait for ever.";
    }
    fault(found);
}

void release_barrier() {
    Block& block = machine.block;
    const Thread* first = nullptr;
    uint64_t count = 0, present = 0;
    for (const Thread& thread : block.threads) {
        // Since Volta the barrier waits for those that have not returned.
        if (thread.state == State::Done && !machine.strict) continue;
        if (thread.state != State::Barrier || (first && thread.place != first->place)) stuck();
        first = &thread;
        count += thread.value != 0;
        present += 1;
        for (const Learned& what : thread.learned) learn(block.learned, what);
    }
    for (Thread& thread : block.threads) {
        if (thread.state != State::Barrier) continue;
        thread.state = State::Ready;
        thread.result = count << 32 | present;
    }
    if (std::exchange(block.fenced, false)) {
        std::vector<Fenced> fences;
        for (const Thread& thread : block.threads) fences.push_back({thread.near.clock, thread.far.clock});
        block.fences = std::make_shared<const std::vector<Fenced>>(std::move(fences));
    }
    machine.barrier_clock = machine.clock;
    machine.launches.back().barriers += 1;
}

// Overwrites old values, which a kernel could use by accident.
Region* poisoned(Region* region) {
    std::memset(reinterpret_cast<void*>(region->low), 0xff, region->high - region->low);
    return region;
}

void begin_block(uint64_t number, size_t first_stack) {
    Block& block = machine.block;
    block.number = number;
    block.index = block_of(number);
    machine.block_first = machine.launch_first + static_cast<uint32_t>(number) * machine.block_size;
    machine.block_serial = ++machine.last_serial;
    machine.barrier_clock = 0;
    block.learned.clear();
    block.stored = block.finished = block.fenced = false;
    block.fences.reset();
    block.static_bytes = 0;
    block.declared.clear();
    block.tiles.clear();
    block.copies.clear();
    block.batches.clear();
    block.counts.clear();
    block.board.clear();
    block.threads.resize(machine.block_size);
    if (machine.dynamic) poisoned(machine.dynamic);
    for (Region* region : machine.file_shared) poisoned(region);
    for (uint32_t id = 0; id < machine.block_size; ++id) {
        Thread& thread = block.threads[id];
        thread.state = State::Ready;
        thread.id = id;
        thread.index = index_of(id);
        thread.low = machine.stacks.at(first_stack + id);
        thread.value = 0;
        thread.active = false;
        thread.spins = thread.polls = 0;
        thread.spun_at = 0;
        if (thread.met) thread.known = {};
        if (thread.met || thread.near.clock) thread.near = thread.far = {};
        thread.met = false;
        thread.doubted = thread.holds = 0;
        thread.learned.clear();
        prepare(thread.context, thread.low, entry);
    }
    block.warps = order((machine.block_size + LANES - 1) / LANES);
    block.lanes = order(LANES);
}

// Runs the block until all threads have returned, or wait for the grid, or spin.
void run_block() {
    Block& block = machine.block;
    const auto all = [&](auto... states) {
        return std::all_of(block.threads.begin(), block.threads.end(), [&](const Thread& t) { return ((t.state == states) || ...); });
    };
    for (;;) {
        Progress progress;
        for (uint32_t warp : block.warps) progress |= advance(lanes_of(warp), block.lanes);
        if (all(State::Done)) {
            block.finished = true;
            return;
        }
        if (machine.cooperative && all(State::Grid, State::Done)) return;
        // It may wait for another block.
        if (!progress.moved && progress.spinning) return;
        if (all(State::Barrier, State::Done)) {
            release_barrier();
        } else if (!progress.moved && !progress.spinning) {
            stuck();
        }
    }
}

void run_in_turn();

void again_entry() {
    machine.me = nullptr;
    // What was done before is no other thread's doing now.
    machine.grid_clock = machine.clock;
    machine.trial.found = false;
    run_in_turn();
    end_trial();
}

void run_block_again() {
    void* stack = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || machine.same.bytes) _exit(1);
    static Context again, left;
    prepare(again, static_cast<char*>(stack), again_entry);
    swap(left, again);
    _exit(1);
}

// Exchanges what is a block's own in the machine, and the content of shared memory.
void exchange(Block& other) {
    Block& block = machine.block;
    for (Region* region : machine.regions.all) {
        if (region->space != Space::Shared) continue;
        const auto* low = reinterpret_cast<const char*>(region->low);
        block.shared[region] = {{low, low + (region->high - region->low)}, region->cells, region->written};
        const auto found = other.shared.find(region);
        if (found != other.shared.end()) {
            std::memcpy(reinterpret_cast<void*>(region->low), found->second.bytes.data(), found->second.bytes.size());
            region->cells = found->second.cells;
            region->written = found->second.written;
            other.shared.erase(found);
        } else {
            region->watch();
            poisoned(region);
        }
    }
    block.first = machine.block_first;
    block.serial = machine.block_serial;
    block.barrier_clock = machine.barrier_clock;
    std::swap(block, other);
    machine.block_first = block.first;
    machine.block_serial = block.serial;
    machine.barrier_clock = block.barrier_clock;
}

void forget_shared(Block& block) {
    for (auto& [region, held] : block.shared) {
        std::free(held.cells);
        std::free(held.written);
    }
}

// Blocks run one after the other. One that does nothing but wait stands aside while those after it run,
// as many as the device has room for.
void run_in_turn() {
    auto& aside = machine.aside;
    size_t& position = machine.position;
    while (position < machine.numbers.size() || !aside.empty()) {
        if (position < machine.numbers.size() && aside.size() < machine.room) {
            size_t place = 0;
            const auto taken = [&](const auto& other) { return other.second == place; };
            while (std::any_of(aside.begin(), aside.end(), taken)) ++place;
            begin_block(machine.numbers[position], place * machine.block_size);
            run_block();
            ++position;
            if (!machine.block.finished) {
                aside.emplace_back(Block{}, place);
                exchange(aside.back().first);
            }
        }
        for (size_t i = 0; i < aside.size(); ++i) {
            exchange(aside[i].first);
            run_block();
            exchange(aside[i].first);
        }
        std::erase_if(aside, [](auto& waited) {
            if (waited.first.finished) forget_shared(waited.first);
            return waited.first.finished;
        });
    }
}

// All blocks of a cooperative launch are there at once: each runs until it waits for the others.
void run_together(const std::vector<uint32_t>& numbers) {
    std::vector<Block> blocks(numbers.size());
    for (size_t i = 0; i < blocks.size(); ++i) {
        if (i) exchange(blocks[i]);
        begin_block(numbers[i], i * machine.block_size);
        if (i) exchange(blocks[i]);
    }
    // The first is in the machine, and its place holds what was there before.
    const auto with = [&](size_t i, auto&& work) {
        if (i) exchange(blocks[i]);
        work();
        if (i) exchange(blocks[i]);
    };
    for (;;) {
        size_t finished = 0, waiting = 0;
        for (size_t i = 0; i < blocks.size(); ++i) {
            with(i, [&] {
                if (!machine.block.finished) run_block();
                finished += machine.block.finished;
                waiting += !machine.block.finished && std::all_of(machine.block.threads.begin(), machine.block.threads.end(), [](const Thread& t) {
                    return t.state == State::Grid || t.state == State::Done;
                });
            });
        }
        if (finished == blocks.size()) break;
        if (finished + waiting < blocks.size()) continue;
        for (size_t i = 0; i < blocks.size(); ++i) {
            with(i, [&] {
                // Told about a block that waits.
                bool waits = false, together = finished == 0;
                for (const Thread& thread : machine.block.threads) {
                    waits |= thread.state == State::Grid;
                    together &= thread.state == State::Grid && thread.place == machine.block.threads[0].place;
                }
                if (waits && !together) stuck();
                for (Thread& thread : machine.block.threads) {
                    if (waits) thread.state = State::Ready;
                }
                machine.barrier_clock = machine.clock;
            });
        }
        machine.grid_clock = machine.clock;
        machine.launches.back().barriers += blocks.size();
    }
    for (Block& block : blocks) forget_shared(block);
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

// A signal of the processor in a kernel is the thread's fault; any other is for the one who was asked
// before.
struct sigaction before_segv{}, before_bus{}, before_fpe{};

void struck(int number, siginfo_t* info, void* context) {
    const auto at_address = reinterpret_cast<uintptr_t>(info->si_addr);
    if (machine.me) {
        uint32_t place = machine.me->place;
#if defined(__x86_64__) && defined(__linux__)
        const auto pc = static_cast<uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
        if (pc - image_low < image_high - image_low) place = static_cast<uint32_t>(pc - image_low);
#endif
        if (number == SIGFPE) {
            fault(headline("division by zero") + at(place, myself(), "divides whole numbers, and the divisor is 0") +
                  "\nA GPU goes on with a result that means nothing.");
        }
        if (at_address >= reinterpret_cast<uintptr_t>(machine.me->low) - STACK_GAP && at_address < reinterpret_cast<uintptr_t>(machine.me->low)) {
            fault(headline("too much local memory") + at(place, myself(), "has more variables of its own than 512 KB") +
                  "\nAn array among a thread's own variables is too large, or a function calls itself without end.");
        }
    }
    sigaction(number, number == SIGFPE ? &before_fpe : number == SIGBUS ? &before_bus : &before_segv, nullptr);
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
        struct sigaction strike{};
        strike.sa_sigaction = struck;
        strike.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
        sigaction(SIGSEGV, &strike, &before_segv);
        sigaction(SIGBUS, &strike, &before_bus);
        sigaction(SIGFPE, &strike, &before_fpe);
        // The thread's own stack is at its end.
        static char* room = static_cast<char*>(std::malloc(SIGNAL_STACK));
        stack_t alternative{};
        alternative.ss_sp = room;
        alternative.ss_size = SIGNAL_STACK;
        sigaltstack(&alternative, &before_stack);
        set(machine.seconds, 1.0);
    }
    ~Alarm() {
        set(0.0, 0.0);
        sigaction(SIGVTALRM, &before, nullptr);
        sigaction(SIGSEGV, &before_segv, nullptr);
        sigaction(SIGBUS, &before_bus, nullptr);
        sigaction(SIGFPE, &before_fpe, nullptr);
        sigaltstack(&before_stack, nullptr);
    }

  private:
    static constexpr size_t SIGNAL_STACK = 64 << 10;
    struct sigaction before{};
    stack_t before_stack{};

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

// ---- What kernels call

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

void fence(Scope scope) {
    Thread& me = *machine.me;
    if (machine.same.bytes) settle();
    me.holds = 0;
    me.near.clock = ++machine.clock;
    me.near.barrier = machine.barrier_clock;
    if (me.met) me.near.known = me.known;
    if (scope == Scope::Device) me.far = me.near;
    machine.block.fenced = true;
}

unsigned thread_rank() { return machine.me->id; }
bool cooperative() { return machine.cooperative; }

uint64_t block_sync(uint64_t value, const void* here) {
    machine.me->value = value;
    wait(State::Barrier, here);
    return machine.me->result;
}

void grid_sync(const void* here) {
    if (!machine.cooperative) {
        fault(headline("no cooperative launch") + at(place_of(here), myself(), "calls grid.sync") +
              "\nIts blocks may not all run at once, and then wait for ever: launch the kernel by cudaLaunchCooperativeKernel.");
    }
    wait(State::Grid, here);
}

void release(const void* object) {
    Thread& me = *machine.me;
    if (machine.same.bytes) settle();
    const Fence now{++machine.clock, machine.barrier_clock, me.known};
    publish(chain_of(object, Space::Shared), me, now, now);
}

void acquire(const void* object) {
    const uint64_t chain = chain_of(object, Space::Shared);
    if (machine.chains.has(chain)) learn(machine.me->learned, {chain, ++machine.clock});
}

void wait_until(bool (*ready)(void*), void* argument, const char* what, const void* here) {
    Thread& me = *machine.me;
    me.place = place_of(here);
    if (machine.late) overdue(me.place);
    if (ready(argument)) return;
    me.ready = ready;
    me.waits_for = argument;
    me.waits_in = what;
    wait(State::Poll, here);
}

void* board(unsigned thread, size_t bytes) {
    if (bytes > sizeof machine.block.board[thread]) fault(headline("too large a value") + "\nA tile of several warps exchanges up to 64 bytes.");
    return machine.block.board[thread].data();
}

void tile_sync(unsigned first, unsigned count, const void* here, bool order) {
    struct Wait {
        Tile* tile;
        uint32_t generation;
    };
    Tile& tile = machine.block.tiles[{first, count}];
    Wait self{&tile, tile.generation};
    if (order) release(&tile);
    unsigned left = 0;
    for (unsigned id = first; id < first + count && id < machine.block_size; ++id) left += machine.block.threads[id].state != State::Done;
    if (++tile.arrived >= left) {
        tile.arrived = 0;
        tile.generation += 1;
    }
    wait_until([](void* given) { return static_cast<Wait*>(given)->tile->generation != static_cast<Wait*>(given)->generation; },
               &self, "sync of a tile", here);
    if (order) acquire(&tile);
}

void warp_call(unsigned mask, void* given, void (*made)(void* const*), const char* what, const void* here) {
    Thread& me = *machine.me;
    me.given = given;
    me.made = made;
    me.waits_in = what;
    warp(Warp::Call, mask, 0, 0, 32, Reduce::Add, false, here);
}

void copy_later(void* to, const void* from, size_t bytes, size_t zeros, unsigned step, const void* owner, const void* here) {
    Thread& me = *machine.me;
    const auto low = reinterpret_cast<uintptr_t>(to);
    machine.called = here;
    for (size_t at = 0; at < bytes; at += step) touch(reinterpret_cast<uintptr_t>(from) + at, step, Kind::Read, here);
    for (size_t at = 0; at < bytes + zeros; at += step) touch(low + at, step, Kind::Write, here);
    if (low - reinterpret_cast<uintptr_t>(me.low) < STACK) {
        std::memcpy(to, from, bytes);
        return;
    }
    if (machine.same.bytes) settle();
    Region* region = machine.regions.find(low);
    if (region && region->cells) {
        for (uintptr_t part = low; part < low + bytes + zeros; part += size_t{1} << region->shift) {
            region->written[(part - region->low) >> region->shift] = IN_FLIGHT;
        }
    }
    const uint32_t batch = machine.block.batches[{owner ? nullptr : &me, owner}];
    machine.block.copies.push_back({&me, batch, owner, static_cast<char*>(to), static_cast<const char*>(from), bytes, zeros, step, here});
}

namespace {

void perform(const Copy& copy) {
    std::memcpy(copy.to, copy.from, copy.bytes);
    std::memset(copy.to + copy.bytes, 0, copy.zeros);
    const auto low = reinterpret_cast<uintptr_t>(copy.to);
    Region* region = machine.regions.find(low);
    if (!region || !region->cells) return;
    const Mark now{machine.block_first + copy.thread->id, 0, ++machine.clock, place_of(copy.pc)};
    for (uintptr_t part = low; part < low + copy.bytes + copy.zeros; part += size_t{1} << region->shift) {
        const size_t i = (part - region->low) >> region->shift;
        region->written[i] = stamp_of(*region);
        region->cells[i].write = now;
    }
}

}  // namespace

// A pipeline without an owner is the thread's own, as that of __pipeline_commit().
void commit(const void* owner) { machine.block.batches[{owner ? nullptr : machine.me, owner}] += 1; }

void complete(const void* owner, unsigned leave) {
    Block& block = machine.block;
    const uint32_t committed = block.batches[{owner ? nullptr : machine.me, owner}];
    std::erase_if(block.copies, [&](const Copy& copy) {
        if (copy.owner != owner || (!owner && (copy.thread != machine.me || copy.batch + leave >= committed))) return false;
        perform(copy);
        // A thread that waits for the owner sees the copy, though another thread began it.
        if (owner) {
            const Published seen{machine.clock, machine.clock, machine.clock};
            machine.chains.publish(chain_of(owner, Space::Shared), machine.block_first + copy.thread->id, seen);
        }
        return true;
    });
}

void count(const void* place) {
    release(place);
    machine.block.counts[place] += 1;
}

unsigned counted(const void* place) { return machine.block.counts[place]; }

void wait_count(const void* place, unsigned wanted, const char* what, const void* here) {
    struct Wait {
        const void* place;
        unsigned wanted;
    } wait{place, wanted};
    wait_until([](void* given) { return counted(static_cast<Wait*>(given)->place) >= static_cast<Wait*>(given)->wanted; }, &wait, what, here);
    acquire(place);
}

void report(const char* what, const void* here, const char* why, ...) {
    char text[512];
    va_list values;
    va_start(values, why);
    std::vsnprintf(text, sizeof text, why, values);
    va_end(values);
    fault(headline(what) + at(place_of(here), myself(), text));
}

long long ticks() {
    Thread* me = machine.me;
    // A thread that looks at the time may wait for others.
    if (me) {
        me->state = State::Spin;
        swap(me->context, machine.scheduler);
        if (machine.late) overdue(me->place);
    }
    return machine.clock += 1;
}

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

void widen(const void* address) {
    if (Region* region = machine.regions.find(reinterpret_cast<uintptr_t>(address))) region->wide_launch = machine.attempts + 1;
}

Statements::Statements(const char* text) { statements().push_back(text); }

void allow_dynamic(size_t bytes) { machine.dynamic_limit = std::max(machine.dynamic_limit, std::min(bytes, MOST_DYNAMIC)); }

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

using simt::machine;

void __syncthreads() { simt::block_sync(0, SIMT_HERE); }
int __syncthreads_count(int predicate) { return static_cast<int>(simt::block_sync(predicate != 0, SIMT_HERE) >> 32); }
int __syncthreads_and(int predicate) {
    const uint64_t counted = simt::block_sync(predicate != 0, SIMT_HERE);
    return counted >> 32 == (counted & 0xffffffffu);
}
int __syncthreads_or(int predicate) { return simt::block_sync(predicate != 0, SIMT_HERE) >> 32 != 0; }

// ---- What a GPU has no words for

// Instead of the C library's, which ends the process.
extern "C" void __assert_fail(const char* what, const char* file, unsigned line, const char* function) noexcept(true) {
    if (machine.me) simt::report("assertion failed", SIMT_HERE, "finds that this is not true: %s", what);
    std::fprintf(stderr, "%s:%u: %s: assertion `%s' failed.\n", file, line, function, what);
    std::abort();
}
void __trap() { simt::report("trap", SIMT_HERE, "calls __trap()"); }
extern "C" clock_t clock() noexcept(true) { return static_cast<clock_t>(simt::ticks()); }

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
        case cudaErrorInvalidDevice: return "invalid device ordinal";
        case cudaErrorNotReady: return "device not ready";
        case cudaErrorCooperativeLaunchTooLarge: return "too many blocks in cooperative launch";
        case cudaErrorNotYetImplemented: return "API call is not supported in the installed CUDA driver";
    }
    return "unrecognized error code";
}

const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "cudaSuccess";
        case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
        case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
        case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
        case cudaErrorLaunchOutOfResources: return "cudaErrorLaunchOutOfResources";
        case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
        case cudaErrorNotReady: return "cudaErrorNotReady";
        case cudaErrorCooperativeLaunchTooLarge: return "cudaErrorCooperativeLaunchTooLarge";
        case cudaErrorNotYetImplemented: return "cudaErrorStubLibrary";
    }
    return "unrecognized error code";
}

// What is 0 the device has not: textures, surfaces, clusters, other devices. It has no speed, but clocks
// that make round numbers.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* found, int device) {
    if (device != 0) return machine.error = cudaErrorInvalidDevice;
    *found = {};
    std::strcpy(found->name, "simulated");
    found->totalGlobalMem = size_t{1} << 33;
    found->sharedMemPerBlock = simt::MOST_SHARED;
    found->sharedMemPerBlockOptin = simt::MOST_DYNAMIC;
    found->reservedSharedMemPerBlock = 1 << 10;
    found->sharedMemPerMultiprocessor = simt::MOST_DYNAMIC + found->reservedSharedMemPerBlock;
    found->regsPerBlock = found->regsPerMultiprocessor = 64 << 10;
    found->warpSize = simt::LANES;
    found->memPitch = INT_MAX;
    found->textureAlignment = found->surfaceAlignment = 512;
    found->texturePitchAlignment = 32;
    found->maxThreadsPerBlock = found->maxThreadsDim[0] = found->maxThreadsDim[1] = static_cast<int>(machine.wanted.most_threads);
    found->maxThreadsDim[2] = simt::MOST_Z;
    found->maxGridSize[0] = INT_MAX;
    found->maxGridSize[1] = found->maxGridSize[2] = simt::MOST_GRID_YZ;
    found->totalConstMem = 64 << 10;
    found->major = __CUDA_ARCH__ / 100;
    found->minor = __CUDA_ARCH__ / 10 % 10;
    found->multiProcessorCount = machine.wanted.processors;
    found->maxThreadsPerMultiProcessor = simt::MOST_THREADS;
    found->maxBlocksPerMultiProcessor = simt::MOST_RESIDENT;
    found->concurrentKernels = found->asyncEngineCount = found->deviceOverlap = 1;
    found->unifiedAddressing = found->managedMemory = found->concurrentManagedAccess = 1;
    found->globalL1CacheSupported = found->localL1CacheSupported = 1;
    found->cooperativeLaunch = found->memoryPoolsSupported = found->hostRegisterSupported = 1;
    found->unifiedFunctionPointers = 1;
    found->memoryBusWidth = 256;
    found->l2CacheSize = 4 << 20;
    found->hostNumaId = -1;
    found->clockRate = found->memoryClockRate = 1000000;
    found->singleToDoublePrecisionPerfRatio = 2;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    cudaDeviceProp all;
    if (cudaGetDeviceProperties(&all, device) != cudaSuccess) return machine.error;
    const auto found = [&](auto what) {
        *value = static_cast<int>(what);
        return cudaSuccess;
    };
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: return found(all.maxThreadsPerBlock);
        case cudaDevAttrMaxBlockDimX: return found(all.maxThreadsDim[0]);
        case cudaDevAttrMaxBlockDimY: return found(all.maxThreadsDim[1]);
        case cudaDevAttrMaxBlockDimZ: return found(all.maxThreadsDim[2]);
        case cudaDevAttrMaxGridDimX: return found(all.maxGridSize[0]);
        case cudaDevAttrMaxGridDimY: return found(all.maxGridSize[1]);
        case cudaDevAttrMaxGridDimZ: return found(all.maxGridSize[2]);
        case cudaDevAttrMaxSharedMemoryPerBlock: return found(all.sharedMemPerBlock);
        case cudaDevAttrTotalConstantMemory: return found(all.totalConstMem);
        case cudaDevAttrWarpSize: return found(all.warpSize);
        case cudaDevAttrMaxPitch: return found(all.memPitch);
        case cudaDevAttrMaxRegistersPerBlock: return found(all.regsPerBlock);
        case cudaDevAttrClockRate: return found(all.clockRate);
        case cudaDevAttrTextureAlignment: return found(all.textureAlignment);
        case cudaDevAttrGpuOverlap: return found(all.deviceOverlap);
        case cudaDevAttrMultiProcessorCount: return found(all.multiProcessorCount);
        case cudaDevAttrSurfaceAlignment: return found(all.surfaceAlignment);
        case cudaDevAttrConcurrentKernels: return found(all.concurrentKernels);
        case cudaDevAttrMemoryClockRate: return found(all.memoryClockRate);
        case cudaDevAttrGlobalMemoryBusWidth: return found(all.memoryBusWidth);
        case cudaDevAttrL2CacheSize: return found(all.l2CacheSize);
        case cudaDevAttrMaxThreadsPerMultiProcessor: return found(all.maxThreadsPerMultiProcessor);
        case cudaDevAttrAsyncEngineCount: return found(all.asyncEngineCount);
        case cudaDevAttrUnifiedAddressing: return found(all.unifiedAddressing);
        case cudaDevAttrTexturePitchAlignment: return found(all.texturePitchAlignment);
        case cudaDevAttrComputeCapabilityMajor: return found(all.major);
        case cudaDevAttrComputeCapabilityMinor: return found(all.minor);
        case cudaDevAttrGlobalL1CacheSupported: return found(all.globalL1CacheSupported);
        case cudaDevAttrLocalL1CacheSupported: return found(all.localL1CacheSupported);
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return found(all.sharedMemPerMultiprocessor);
        case cudaDevAttrMaxRegistersPerMultiprocessor: return found(all.regsPerMultiprocessor);
        case cudaDevAttrManagedMemory: return found(all.managedMemory);
        case cudaDevAttrSingleToDoublePrecisionPerfRatio: return found(all.singleToDoublePrecisionPerfRatio);
        case cudaDevAttrConcurrentManagedAccess: return found(all.concurrentManagedAccess);
        case cudaDevAttrCooperativeLaunch: return found(all.cooperativeLaunch);
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: return found(all.sharedMemPerBlockOptin);
        case cudaDevAttrHostRegisterSupported: return found(all.hostRegisterSupported);
        case cudaDevAttrMaxBlocksPerMultiprocessor: return found(all.maxBlocksPerMultiProcessor);
        case cudaDevAttrReservedSharedMemoryPerBlock: return found(all.reservedSharedMemPerBlock);
        case cudaDevAttrMemoryPoolsSupported: return found(all.memoryPoolsSupported);
        case cudaDevAttrHostNumaId: return found(all.hostNumaId);
        default: break;
    }
    // The numbers go on to 147, with some left out.
    if (attribute < cudaDevAttrMaxThreadsPerBlock || attribute > cudaDevAttrOnlyPartialHostNativeAtomicSupported) return machine.error = cudaErrorInvalidValue;
    return found(0);
}

cudaError_t simt_malloc(void** pointer, size_t bytes, bool managed) {
    *pointer = std::aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (!*pointer) return cudaErrorMemoryAllocation;
    simt::Region region;
    region.low = reinterpret_cast<uintptr_t>(*pointer);
    region.high = region.low + bytes;
    region.mode = simt::Mode::Scratch;
    region.name = "scratch";
    region.managed = managed;
    region.watch();
    simt::poisoned(machine.regions.add(std::move(region)));
    return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
    if (!pointer) return cudaSuccess;
    cudaDeviceSynchronize();
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
    return !write || region->mode != simt::Mode::In || region->variable;
}

// A copy is one access to each granule, by a thread of its own.
static void copied(const void* pointer, size_t bytes, bool write) {
    const auto low = reinterpret_cast<uintptr_t>(pointer);
    simt::Region* region = machine.regions.find(low);
    if (machine.order.works.empty() || !region || !region->cells || low + bytes > region->high) return;
    const simt::Work& now = machine.order.works.back();
    for (uintptr_t part = low; part < low + bytes; part += uintptr_t{1} << region->shift) {
        simt::Cell& cell = region->cells[(part - region->low) >> region->shift];
        for (const simt::Mark* mark : {&cell.write, &cell.atomic, &cell.read, &cell.other}) {
            const bool reads = mark == &cell.read || mark == &cell.other;
            const simt::Work* work = reads && !write ? nullptr : simt::still_running(*mark, now);
            if (!work) continue;
            simt::fault("race between streams: " + now.what + (write ? " writes " : " reads ") + region->element_at(part) + ", and " + work->what +
                        " on another stream " + (reads ? "reads" : "writes") + " it" + simt::STREAMS);
        }
        (write ? cell.write : cell.read) = {machine.next_thread, 0, ++machine.clock, 0};
    }
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
    simt::need_stream("a cudaMemset", stream);
    simt::begin_work(stream, "cudaMemset");
    copied(pointer, bytes, true);
    machine.next_thread += 1;
    if (bytes && !inside(pointer, bytes, true)) return machine.error = cudaErrorInvalidValue;
    std::memset(pointer, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    simt::need_stream("a cudaMemcpy", stream);
    simt::begin_work(stream, "cudaMemcpy");
    copied(from, bytes, false);
    copied(to, bytes, true);
    machine.next_thread += 1;
    // By default the addresses say where the copy goes.
    if (kind == cudaMemcpyDefault) {
        const bool to_any = machine.regions.find(reinterpret_cast<uintptr_t>(to)), from_any = machine.regions.find(reinterpret_cast<uintptr_t>(from));
        kind = to_any ? (from_any ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice)
                      : (from_any ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost);
    }
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

// ---- Streams and events

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
#define VOLATILE_ACCESS(NAME, BYTES, KIND)                                                                \
    extern "C" void __tsan_##NAME(void* address) {                                                       \
        simt::touch<true>(reinterpret_cast<uintptr_t>(address), BYTES, simt::Kind::KIND, SIMT_HERE);     \
    }
#define SIZED_VOLATILE(BYTES)                                     \
    VOLATILE_ACCESS(volatile_read##BYTES, BYTES, Read)            \
    VOLATILE_ACCESS(volatile_write##BYTES, BYTES, Write)          \
    VOLATILE_ACCESS(unaligned_volatile_read##BYTES, BYTES, Read)  \
    VOLATILE_ACCESS(unaligned_volatile_write##BYTES, BYTES, Write)
SIZED_VOLATILE(1)
SIZED_VOLATILE(2)
SIZED_VOLATILE(4)
SIZED_VOLATILE(8)
SIZED_VOLATILE(16)
SIZED_ACCESS(1)
SIZED_ACCESS(2)
SIZED_ACCESS(4)
SIZED_ACCESS(8)

// What is copied whole, as a structure is: an access to each 4 bytes, or 8 of a structure with such an
// alignment, which clang does not say and g++ says only of some sizes.
static void range(const void* address, size_t bytes, simt::Kind kind, const void* pc) {
    const auto low = reinterpret_cast<uintptr_t>(address);
    // Most copies are between a thread's own variables.
    if (!machine.me && bytes) simt::touch(low, 1, kind, pc);
    if (!machine.me || low - reinterpret_cast<uintptr_t>(machine.me->low) < simt::STACK) return;
    const simt::Region* region = machine.regions.find(low);
    const auto by = [&](unsigned step) { return low % step == 0 && bytes % step == 0; };
    const bool wide = region && (region->wide || region->wide_launch == machine.attempts);
    const unsigned step = wide && by(8) ? 8 : by(4) ? 4 : by(2) ? 2 : 1;
    const bool whole = region && region->space != simt::Space::Arguments && bytes <= region->high - low;
    const bool free = whole && simt::held(*machine.me, *region, low, low + bytes, kind, simt::place_of(pc));
    for (size_t at = 0; at < bytes; at += step) simt::touch(low + at, step, kind, pc, free ? simt::Tally::No : simt::Tally::Yes);
}
#define WIDE_ACCESS(NAME, KIND) \
    extern "C" void __tsan_##NAME(void* address) { range(address, 16, simt::Kind::KIND, SIMT_HERE); }
WIDE_ACCESS(read16, Read)
WIDE_ACCESS(write16, Write)
WIDE_ACCESS(unaligned_read16, Read)
WIDE_ACCESS(unaligned_write16, Write)
extern "C" void __tsan_read_range(void* address, size_t bytes) { range(address, bytes, simt::Kind::Read, SIMT_HERE); }
extern "C" void __tsan_write_range(void* address, size_t bytes) { range(address, bytes, simt::Kind::Write, SIMT_HERE); }
extern "C" void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
    machine.called = SIMT_HERE;
    range(from, bytes, simt::Kind::Read, SIMT_HERE);
    range(to, bytes, simt::Kind::Write, SIMT_HERE);
    return std::memmove(to, from, bytes);
}
extern "C" void* __tsan_memmove(void* to, const void* from, size_t bytes) {
    machine.called = SIMT_HERE;
    range(from, bytes, simt::Kind::Read, SIMT_HERE);
    range(to, bytes, simt::Kind::Write, SIMT_HERE);
    return std::memmove(to, from, bytes);
}
extern "C" void* __tsan_memset(void* to, int value, size_t bytes) {
    range(to, bytes, simt::Kind::Write, SIMT_HERE);
    return std::memset(to, value, bytes);
}
// What std::atomic becomes, and the counts of a std::shared_ptr, which host code may use.
#define ATOMIC_CHANGE(BITS, NAME, WORK)                                                                  \
    extern "C" uint##BITS##_t __tsan_atomic##BITS##_##NAME(volatile uint##BITS##_t* at, uint##BITS##_t value, int) { \
        simt::touch(reinterpret_cast<uintptr_t>(at), BITS / 8, simt::Kind::Atomic, SIMT_HERE);           \
        return __atomic_##WORK(at, value, __ATOMIC_SEQ_CST);                                             \
    }
#define ATOMIC_COMPARE(BITS, NAME)                                                                       \
    extern "C" int __tsan_atomic##BITS##_##NAME(volatile uint##BITS##_t* at, uint##BITS##_t* expected, uint##BITS##_t value, int, int) { \
        simt::touch(reinterpret_cast<uintptr_t>(at), BITS / 8, simt::Kind::Atomic, SIMT_HERE);           \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }
#define ATOMIC_OPERATIONS(BITS)                                                                          \
    extern "C" uint##BITS##_t __tsan_atomic##BITS##_load(const volatile uint##BITS##_t* at, int) {       \
        simt::touch(reinterpret_cast<uintptr_t>(at), BITS / 8, simt::Kind::Atomic, SIMT_HERE);           \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                    \
    }                                                                                                    \
    extern "C" void __tsan_atomic##BITS##_store(volatile uint##BITS##_t* at, uint##BITS##_t value, int) { \
        simt::touch(reinterpret_cast<uintptr_t>(at), BITS / 8, simt::Kind::Atomic, SIMT_HERE);           \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                   \
    }                                                                                                    \
    extern "C" uint##BITS##_t __tsan_atomic##BITS##_compare_exchange_val(volatile uint##BITS##_t* at, uint##BITS##_t expected, uint##BITS##_t value, int, int) { \
        simt::touch(reinterpret_cast<uintptr_t>(at), BITS / 8, simt::Kind::Atomic, SIMT_HERE);           \
        __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
        return expected;                                                                                 \
    }                                                                                                    \
    ATOMIC_COMPARE(BITS, compare_exchange_strong)                                                        \
    ATOMIC_COMPARE(BITS, compare_exchange_weak)                                                          \
    ATOMIC_CHANGE(BITS, exchange, exchange_n)                                                            \
    ATOMIC_CHANGE(BITS, fetch_add, fetch_add)                                                            \
    ATOMIC_CHANGE(BITS, fetch_sub, fetch_sub)                                                            \
    ATOMIC_CHANGE(BITS, fetch_and, fetch_and)                                                            \
    ATOMIC_CHANGE(BITS, fetch_or, fetch_or)                                                              \
    ATOMIC_CHANGE(BITS, fetch_xor, fetch_xor)                                                            \
    ATOMIC_CHANGE(BITS, fetch_nand, fetch_nand)
ATOMIC_OPERATIONS(8)
ATOMIC_OPERATIONS(16)
ATOMIC_OPERATIONS(32)
ATOMIC_OPERATIONS(64)
extern "C" void __tsan_atomic_thread_fence(int) {
    if (machine.me) simt::fence(simt::Scope::Device);
}
extern "C" void __tsan_atomic_signal_fence(int) {}

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
